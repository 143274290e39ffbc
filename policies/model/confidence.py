"""How sure a figure is, and how far earlier forecasts were off.

``plan_interval`` puts an interval around a predicted saving. Three errors go in, each a standard error as a share:

- demand, which varies from interval to interval (``heat``: variance, thinned by its own persistence);
- the speed of a tier, configured or fitted (``device``), shared by everything on that tier;
- the model itself: per-class waits that do not know of queues or neighbours.

Demand is positive and varies by factors, so intervals are log-normal: ``mean * exp(+-z * error)``. Errors of a plan's
moves are independent in demand and common in speed and model; they add up as squares.

``reach_of`` widens the interval of a forecast by how far earlier ones were off. A forecast that missed shows that the
model lacks some cause, without showing which. So each end lies at least as far out as earlier outcomes did, by factors.
A hidden queue holds back at most the whole change, so the logarithm of the change is the limit, or as many times that
logarithm as was seen. The worst of the last ``OUTCOMES`` counts: were all drawn alike, the next would lie beyond it
once in ten (split conformal prediction: Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005). No
outcome is dropped because the model has learnt since (that the load is open, that another limit holds it). Such a model
forecasts a smaller change, and the earlier error shrinks with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import copysign, exp, hypot, isfinite, log
from statistics import NormalDist

import numpy as np

from connectors.model.observation import F64, I64
from policies.model.moves import Kind, PredictionError, taught_variance

# The laboratory's errors of this model were 4, 4 and 12 % (root mean square 8 %) where everything else was known.
MODEL_ERROR = 0.08
NO_KINDS: Mapping[Kind, float] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceInterval:
    """Ends of a range, in the unit of what it is about."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Everything that has a tier, before and after a plan: columns by bundle, waits in any one unit per hour."""

    wait_before: F64
    wait_after: F64
    tier_before: I64
    tier_after: I64
    error: F64  # of demand, as a share


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """One move as the interval sees it; waits in any one unit per hour."""

    from_tier: int
    to_tier: int
    wait_before: float  # where it is
    wait_after: float  # where it goes
    error: float  # of its demand, as a share


def spread(certainty: float) -> float:
    """Standard errors from the mean to either end of an interval that holds that share of outcomes.

    Raises:
        ValueError: the share is not between 0 and 1.
    """
    if not 0 < certainty < 1:
        raise ValueError(f"an interval that holds {certainty} of all outcomes does not exist; say more than 0, below 1")
    return NormalDist().inv_cdf((1 + certainty) / 2)


def certain_share(
    saved: F64, before: F64, after: F64, demand_error: F64, speed_errors: tuple[F64, F64], certainty: float
) -> F64:
    """The lower end of each saving as a share of its mean: 1 where everything is sure, towards 0 the less it is.

    Args:
        saved: ``before - after``, shape ``(m,)``; where it is not positive the share is 1.
        before: wait where each is.
        after: wait on the tier it would go to.
        demand_error: of each, as a share.
        speed_errors: of the tier each is on and of the one it would go to, columns of ``m`` or of one.
        certainty: share of outcomes that the interval is to hold.
    """
    share = np.ones(len(saved))
    rows = np.flatnonzero(saved > 0)
    variance = np.square(np.broadcast_to(demand_error, len(saved))[rows])
    for wait, error in zip((before, after), speed_errors, strict=True):
        variance += np.square(wait[rows] * np.broadcast_to(error, len(saved))[rows] / saved[rows])
    share[rows] = np.exp(-spread(certainty) * np.sqrt(variance))
    return share


def plan_interval(shifts: Sequence[Shift], speed_errors: Sequence[float], certainty: float) -> ConfidenceInterval:
    """Interval of what moves save together, in the unit of their waits.

    Args:
        shifts: the moves.
        speed_errors: of each tier, as a share, fastest first.
        certainty: share of outcomes that the interval is to hold.
    """
    z = spread(certainty)
    saved = sum(shift.wait_before - shift.wait_after for shift in shifts)
    by_tier = np.zeros(len(speed_errors))
    down = up = 0.0
    for shift in shifts:
        by_tier[shift.from_tier] += shift.wait_before
        by_tier[shift.to_tier] -= shift.wait_after
        own = shift.wait_before - shift.wait_after
        ends = own * exp(-z * shift.error), own * exp(z * shift.error)
        down += (own - min(ends)) ** 2
        up += (max(ends) - own) ** 2
    common = z * z * (float(np.square(by_tier * np.asarray(speed_errors)).sum()) + (MODEL_ERROR * saved) ** 2)
    return ConfidenceInterval(low=float(saved - np.sqrt(down + common)), high=float(saved + np.sqrt(up + common)))


def ratio_interval(
    placed: Placed,
    speed_errors: Sequence[float],
    certainty: float,
    learned: Sequence[PredictionError] = (),
    kinds: Mapping[Kind, float] = NO_KINDS,
) -> ConfidenceInterval:
    """Interval of the share of all wait that a plan saves, at most 1: what an outcome measures per transaction.

    What all units have in common cancels: twice the load, or a disk twice as slow for everybody, leaves the share as it
    is. So this is much surer than the saving itself. The share that remains is positive and errs by factors.

    Args:
        placed: all managed bundles.
        speed_errors: of each tier, as a share, fastest first.
        certainty: share of outcomes that the interval is to hold.
        learned: how far earlier predictions were off.
        kinds: of moves, with the share of the saving that each has.
    """
    before, after = (float(wait.sum()) for wait in (placed.wait_before, placed.wait_after))
    if before <= 0:
        return ConfidenceInterval(low=0.0, high=0.0)
    if after <= 0:
        return ConfidenceInterval(low=1.0, high=1.0)
    demand = (placed.wait_after / after - placed.wait_before / before) * placed.error
    tiers = len(speed_errors)
    by_tier = np.bincount(placed.tier_after, placed.wait_after, tiers) / after
    by_tier -= np.bincount(placed.tier_before, placed.wait_before, tiers) / before
    changed = MODEL_ERROR if not np.array_equal(placed.tier_before, placed.tier_after) else 0.0
    variance = np.square(demand).sum() + np.square(by_tier * np.asarray(speed_errors)).sum() + changed**2
    if changed:
        variance = taught_variance(float(variance), learned, kinds)
    reach = float(np.exp(spread(certainty) * np.sqrt(variance)))
    return ConfidenceInterval(low=1 - after / before * reach, high=1 - after / before / reach)


OUTCOMES = 9  # that are remembered, the newest
LARGEST = log(1000)  # residual: one that was off by more than that factor teaches no more
UNCHANGED = MODEL_ERROR  # error of a forecast that nothing changes, as a logarithm


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """One figure before moves, as forecast with them done, and as it came; in one unit. NaN: not known."""

    before: float
    said: float
    came: float

    @property
    def known(self) -> bool:
        """Whether all three are there to be compared."""
        return all(isfinite(each) and each > 0 for each in (self.before, self.said, self.came))

    @property
    def residual(self) -> float:
        """Logarithm of what came over what was said; below 0: less came."""
        return max(-LARGEST, min(LARGEST, log(self.came) - log(self.said)))

    def residual_at(self, change: float) -> float:
        """The error to be expected of a forecast that changes the figure by that factor, as a logarithm."""
        off = abs(self.residual)
        times = max(1.0, off / _size(log(self.said) - log(self.before)))
        return copysign(min(off, times * _size(log(change))), self.residual)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastForecast:
    """What was forecast of one proposal, next to what came."""

    rate: Foretold  # transactions a second
    latency: Foretold  # seconds of a transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far the ends of an interval are from its middle at least, as logarithms, and by which forecasts."""

    down: float = 0.0
    up: float = 0.0
    too_high: Foretold | None = None  # the forecast that ``down`` comes from; None: none was too high
    too_low: Foretold | None = None


def reach_of(past: Iterable[Foretold], change: float) -> Reach:
    """What earlier forecasts of a figure say of the next.

    Args:
        past: in any order; those with something unknown say nothing.
        change: of the figure by the next forecast, as a factor.
    """
    found = [(each.residual_at(change), each) for each in past if each.known] if change > 0 else []
    least = min(found, default=(0.0, None), key=lambda each: each[0])
    most = max(found, default=(0.0, None), key=lambda each: each[0])
    return Reach(
        down=max(0.0, -least[0]),
        up=max(0.0, most[0]),
        too_high=least[1] if least[0] < 0 else None,
        too_low=most[1] if most[0] > 0 else None,
    )


def _size(change: float) -> float:
    """Of a change given as a logarithm; that of what hardly changes is the model's own error."""
    return hypot(change, UNCHANGED)
