"""How sure a predicted saving is: an interval around the mean, for one unit and for a whole plan.

Three things make a prediction wrong, and each has its standard error as a share:

- demand: it varies from interval to interval (``heat``: variance, thinned by its own persistence);
- the speed of a tier: configured or fitted (``device``), shared by everything on that tier;
- the model itself: per-class waits that do not know of queues or neighbours.

Demand is positive and varies by factors, so its interval is log-normal: ``mean * exp(+-z * error)``. Errors of a plan's
moves are taken to be independent in demand and common in speed and model; they add up as squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from connectors.model import F64

# The laboratory's errors of this model were 4, 4 and 12 % (root mean square 8 %) where everything else was known.
MODEL_ERROR = 0.08


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Ends of a range, in the unit of what it is about."""

    low: float
    high: float


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
    gains = saved > 0
    variance = np.square(demand_error)
    for wait, error in zip((before, after), speed_errors, strict=True):
        part = np.divide(wait * error, saved, out=np.zeros(len(saved)), where=gains)
        variance = variance + np.square(part)
    return np.where(gains, np.exp(-spread(certainty) * np.sqrt(variance)), 1.0)


def plan_interval(shifts: Sequence[Shift], speed_errors: Sequence[float], certainty: float) -> Interval:
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
        ends = sorted((own * np.exp(-z * shift.error), own * np.exp(z * shift.error)))
        down += (own - ends[0]) ** 2
        up += (ends[1] - own) ** 2
    common = z * z * (float(np.square(by_tier * np.asarray(speed_errors)).sum()) + (MODEL_ERROR * saved) ** 2)
    return Interval(low=float(saved - np.sqrt(down + common)), high=float(saved + np.sqrt(up + common)))
