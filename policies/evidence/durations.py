"""Between which two times a copy will end: an interval learned from what copies took before. Pure.

A model of devices and queues gives one figure. What it does not know (a loaded machine, transactions that a rebuild
waits for, the costs of a small copy that do not shrink with it) shows in how many times as long earlier copies took.
Their logarithms are weighed: those of the same route and tiers in full, of the same route between other tiers by a
part, others by little. Each counts less the more it differs in length, because the costs that a copy has at any size
rule short ones, and the longer ago it was.

Two things are not known at first and narrow at different speeds. How fast the machine is for a kind of copy differs
by a factor of two between machines (``MACHINES_APART``), and a few copies tell it. By how much two such copies differ
on one machine is less (``COPIES_APART``), and remains. The interval is that of the next copy: a Student's t
distribution about the mean, wide before anything was seen.

What a copy waits for (old transactions) may be over when it begins: the lower end leaves it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

from policies.model.settings import TaughtCopy

CERTAINTY = 0.9
PRIOR_FACTOR = 2.0  # times the figure of the model, before a copy was seen: what it does not know slows copies down
MACHINES_APART = 0.7  # standard deviation of the logarithm, between machines, of what a kind of copy takes on average
COPIES_APART = 0.25  # the same between copies of one kind on one machine, before any was seen
PRIOR_COPIES = 2.0  # that this counts as
OTHER_TIERS = 0.6  # weight of a copy by the same route between other tiers
OTHER_ROUTE = 0.04  # and by another route
KEPT = 0.98  # of a copy's weight, with each one after it
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


def copy_interval(
    taught: Sequence[TaughtCopy], kind: tuple[str, str, str], predicted_seconds: float, waited_seconds: float = 0.0
) -> Interval:
    """When the next copy of a kind ends that a model gives so many seconds.

    Args:
        taught: finished copies, the oldest first.
        kind: route, tier it leaves, tier it comes to.
        predicted_seconds: by the model, factors aside.
        waited_seconds: how many of them it is predicted to wait for transactions of others.
    """
    age = range(len(taught) - 1, -1, -1)
    weights = [KEPT**ago * _weight(each, kind, predicted_seconds) for ago, each in zip(age, taught, strict=True)]
    logs = [log(min(max(each.seconds / each.predicted_seconds, 1 / MOST_FACTOR), MOST_FACTOR)) for each in taught]
    seen = sum(weights)
    machine = (COPIES_APART / MACHINES_APART) ** 2  # copies that what is known of other machines counts as
    total = machine + seen
    mean = (machine * log(PRIOR_FACTOR) + sum(w * x for w, x in zip(weights, logs, strict=True))) / total
    squares = sum(w * (x - mean) ** 2 for w, x in zip(weights, logs, strict=True))
    squares += machine * (log(PRIOR_FACTOR) - mean) ** 2
    spread = sqrt((PRIOR_COPIES * COPIES_APART**2 + squares) / (PRIOR_COPIES + seen) * (1.0 + 1.0 / total))
    half = _quantile(PRIOR_COPIES + seen + 1.0) * spread
    # A wait may be over when the copy begins.
    low = exp(mean - half) * max(0.0, predicted_seconds - waited_seconds)
    return Interval(low, exp(mean) * predicted_seconds, exp(mean + half) * predicted_seconds)


def _weight(copy: TaughtCopy, kind: tuple[str, str, str], predicted_seconds: float) -> float:
    if not copy.predicted_seconds > 0 or not copy.seconds > 0:
        return 0.0
    apart = log(copy.predicted_seconds / max(predicted_seconds, 1e-9)) / LIKE_LENGTH
    alike = 1.0 if copy.kind == kind else OTHER_TIERS if copy.kind[0] == kind[0] else OTHER_ROUTE
    return alike * exp(-0.5 * apart**2)


def _quantile(degrees: float) -> float:
    """Of Student's t, 95 %; between whole degrees of freedom by a straight line."""
    at = max(0.0, degrees - 2.0)
    if at >= len(_T95) - 1:
        return _Z95 + (_T95[-1] - _Z95) * (len(_T95) + 1) / degrees
    below = int(at)
    return _T95[below] + (at - below) * (_T95[below + 1] - _T95[below])
