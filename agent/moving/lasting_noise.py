"""How long the noise of read waits lasts, by the days before the moves, and what a mean over some time misses by. Pure.

A device is slower for hours while a backup, a scrub or a neighbour uses it. Within one such spell hundreds of intervals
say the same thing, and by their scatter around it a mean seems sure. So the autocovariance of what the usual wait does
not explain is summed over as many lags as it lasts (the long-run variance, Newey and West 1987), over some days. How
often that length fits into these days says how much is known of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from agent.moving.usual_wait import Evidence, UsualWait, runs
from connectors.model.observation import F64

MOST_STEPS = 288  # that the days before are cut into
FADED = 0.1  # autocorrelation below which noise has ended
REGRESSORS = 8  # of the usual wait: each takes some of the slowest noise with it
MOST_TAKEN = 0.6  # of its variance, as far as that is made good
LEAST_STEPS = 12
REPEATED_DAYS = 1.8  # seen before hours count as usual: what one day shows at an hour may be noise that lasts for hours
LEAST_TIMES = 10  # as long as the noise lasts: fewer say nothing for sure
LEAST_TIMES_AFTER = 2  # the same of the time after the moves


@dataclass(frozen=True, slots=True, kw_only=True)
class LastingNoise:
    """What is left over of the logarithm of the wait, in steps of equal length."""

    step_seconds: float
    left: F64  # by step, less its mean
    covariance: F64  # of steps so many apart as the place says, until it has faded; what the fit took is made good
    length: float  # steps for which it lasts: of an exponential decay, twice its time constant

    @property
    def lasts_seconds(self) -> float:
        """How long noise lasts."""
        return self.step_seconds * self.length

    @property
    def times(self) -> float:
        """How often that fits into the time that was seen."""
        return len(self.left) / self.length

    def greatest_rise(self, seconds: float) -> float:
        """The most that a mean over so long a time lay above the rest, at any date without a move (placebo dates)."""
        count = min(max(1, round(seconds / self.step_seconds)), len(self.left) // 2)
        means = runs(self.left, count) / count
        rest = len(self.left) / (len(self.left) - count)  # of what is left over the sum is nothing
        return float(means.max()) * rest

    def error_over(self, seconds: float) -> float:
        """Standard error of a mean over that time."""
        return math.sqrt(_variance_of_mean(self.covariance, max(1.0, seconds / self.step_seconds)))


def lasting_noise(history: Evidence) -> LastingNoise | None:
    """The noise of some days without moves; None where too little was seen.

    Args:
        history: intervals with reads, in the order of time.
    """
    history = history.with_reads()
    if len(history) < LEAST_STEPS:
        return None
    steps = history.merge(max(1, -(-len(history) // MOST_STEPS)))
    if len(steps) < LEAST_STEPS:
        return None
    usual = UsualWait(steps, max(1, len(steps) // 24), REPEATED_DAYS)
    left = np.log(steps.waited / usual.expect(steps))
    left = left - left.mean()
    covariance, length = _covariance(left)
    step = float(np.median(np.diff(steps.at)))
    return LastingNoise(step_seconds=step, left=left, covariance=covariance, length=length)


def _covariance(left: F64) -> tuple[F64, float]:
    """By lag until it has faded, and for how many steps it lasts; what the fit has taken of both is made good."""
    count = len(left)
    found = np.array([left[: count - lag] @ left[lag:] / (count - lag) for lag in range(max(1, count // 3))])
    if not found[0] > 0:
        return np.zeros(1), 1.0
    faded = np.flatnonzero(found < FADED * found[0])
    kept = found[: int(faded[0]) if len(faded) else len(found)]
    # The mean and the hours of the day were fitted to the same time: of noise that lasts for a good part of it they
    # have taken that part.
    length = max(1.0, float(2.0 * kept.sum() / kept[0] - 1.0))
    stays = 1.0 - min(MOST_TAKEN, REGRESSORS * length / count)
    return np.asarray(kept / stays), length / stays if length > 1.0 else length


def _variance_of_mean(covariance: F64, count: float) -> float:
    lags = np.arange(1, len(covariance))
    weights = np.maximum(0.0, 1.0 - lags / count)
    return float((covariance[0] + 2.0 * (weights * covariance[1:]).sum()) / count)
