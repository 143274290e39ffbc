"""Between which two times a copy will end: an interval learned from what copies took before. Pure.

A model of devices and queues gives one figure. What it does not know (a loaded machine, transactions that a rebuild
waits for, the costs of a small copy that do not shrink with it) shows in how many times as long earlier copies took.
Their logarithms are weighed: those of the same route and tiers in full, others by a part, and each less the more it
differs in length, because the costs that a copy has at any size rule short ones. The interval is that of the next such
copy: a Student's t distribution about their mean, wide before anything was seen and narrower with each copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

from policies.model.settings import TaughtCopy

CERTAINTY = 0.9
PRIOR_FACTOR = 2.0  # times the figure of the model, before a copy was seen: what it does not know slows copies down
PRIOR_SPREAD = 0.7  # standard deviation of the logarithm, likewise
PRIOR_COPIES = 1.0  # that the prior counts as
OTHER_KIND = 0.2  # weight of a copy by another route, or between other tiers
LIKE_LENGTH = 1.5  # standard deviation of the logarithm of lengths that teach each other
MOST_FACTOR = 100.0  # a copy further off was held up by something else
# Of Student's t with 2, 3, ... degrees of freedom: 95 % lie below. Beyond the last, as of the normal distribution.
_T95 = (2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740)
_Z95 = 1.645


@dataclass(frozen=True, slots=True)
class Interval:
    """Seconds; ``CERTAINTY`` of copies lie between the ends."""

    low: float
    middle: float
    high: float

    def scaled(self, times: float) -> Interval:
        """Of so many times as long a copy."""
        return Interval(times * self.low, times * self.middle, times * self.high)


def copy_interval(taught: Sequence[TaughtCopy], kind: tuple[str, str, str], predicted_seconds: float) -> Interval:
    """When the next copy of a kind ends that a model gives so many seconds.

    Args:
        taught: finished copies, in any order.
        kind: route, tier it leaves, tier it comes to.
        predicted_seconds: by the model, factors aside.
    """
    weights = [_weight(each, kind, predicted_seconds) for each in taught]
    logs = [log(min(max(each.seconds / each.predicted_seconds, 1 / MOST_FACTOR), MOST_FACTOR)) for each in taught]
    seen = sum(weights)
    total = PRIOR_COPIES + seen
    mean = (PRIOR_COPIES * log(PRIOR_FACTOR) + sum(w * x for w, x in zip(weights, logs, strict=True))) / total
    squares = sum(w * (x - mean) ** 2 for w, x in zip(weights, logs, strict=True))
    prior = PRIOR_COPIES * (PRIOR_SPREAD**2 + (log(PRIOR_FACTOR) - mean) ** 2 / total)
    spread = sqrt((prior + squares) / total * (1.0 + 1.0 / total))
    half = _quantile(total + 1.0) * spread
    return Interval(exp(mean - half), exp(mean), exp(mean + half)).scaled(predicted_seconds)


def _weight(copy: TaughtCopy, kind: tuple[str, str, str], predicted_seconds: float) -> float:
    if not copy.predicted_seconds > 0 or not copy.seconds > 0:
        return 0.0
    apart = log(copy.predicted_seconds / max(predicted_seconds, 1e-9)) / LIKE_LENGTH
    return (1.0 if copy.kind == kind else OTHER_KIND) * exp(-0.5 * apart**2)


def _quantile(degrees: float) -> float:
    """Of Student's t, 95 %; between whole degrees of freedom by a straight line."""
    at = max(0.0, degrees - 2.0)
    if at >= len(_T95) - 1:
        return _Z95 + (_T95[-1] - _Z95) * (len(_T95) + 1) / degrees
    below = int(at)
    return _T95[below] + (at - below) * (_T95[below + 1] - _T95[below])
