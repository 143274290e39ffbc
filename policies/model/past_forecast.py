"""What outcomes teach of the error of forecasts: how far the next one may be off, whatever its model believes.

An earlier forecast that missed names a cause that the model does not have. It is not known which one, so it widens the
interval: each end is at least as far from the forecast as earlier outcomes were, by factors. A forecast of a smaller
change is off by less: what a hidden queue holds back is no more than the whole change, so its logarithm is the limit,
or as many times of it as was seen. The worst of the last ``OUTCOMES`` counts: were all of them drawn
alike, the next would lie beyond it once in ten (split conformal prediction: Vovk, Gammerman and Shafer, "Algorithmic
Learning in a Random World", 2005).

Nothing is excluded because the model has learnt since (that work arrives by itself, that another limit holds it): such
a model forecasts a smaller change, and the earlier error shrinks with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import copysign, hypot, isfinite, log

from policies.model.confidence import MODEL_ERROR

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
        past: in any order; those of which something is unknown say nothing.
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
