"""What a unit of each scarce resource is worth: the Lagrangian dual of the choice, and with it the bound.

At given prices every item takes its best option, whatever the others do; what that brings, plus the price of all the
room, is more than any choice within the room can bring. The lowest such figure is the bound (it equals the linear
relaxation's), and the prices where it is reached say what is worth its room.

The figure is convex in the prices, and how much more is used than there is tells which way is down: each evaluation
cuts away a half of an ellipsoid that holds the best prices (Shor; Yudin and Nemirovski). Items whose choice is the same
everywhere in what is left of it need not be looked at again, so a million items cost little more than one look.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from connectors.model import F64
from policies.offers import STAY, Offers, best_options

_TOLERANCE = 1e-6  # of the bound, while many items are looked at
_CLOSE = 1e-10  # of the bound, once they are few
_ROUNDS = 400  # of cutting, times the number of resources
_SETTLE_EVERY = 8  # cuts, times the number of resources
_MANY = 20_000  # items
_FEW = 200  # items that are not worth settling


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The best prices found, those tried on the way, and the bound that they prove."""

    bound: float  # no choice brings more
    price: F64  # (k,) per unit of each resource
    tried: F64  # (tries, k), the best first


@dataclass(slots=True)
class _Market:
    """The items that are not settled yet, and the sums of those that are. Prices in units of their largest value."""

    offers: Offers
    worth: float = 0.0  # of the settled items
    use: F64 = field(default_factory=lambda: np.zeros(0))  # of the settled items, (k,)

    def evaluate(self, price: F64) -> tuple[float, F64]:
        """The figure at some prices, and a subgradient."""
        offers = self.offers
        choice, worth = best_options(offers.reduced(price))
        left = offers.room - self.use
        return float(price @ left + worth.sum() + self.worth), left - offers.used(choice)

    def settle(self, price: F64, shape: F64) -> None:
        """Set aside items that choose the same everywhere in the ellipsoid."""
        offers = self.offers
        reduced = offers.reduced(price)
        spread = np.sqrt(np.maximum(0.0, np.einsum("kon,kl,lon->on", offers.use, shape, offers.use, optimize=True)))
        stays = np.all(reduced + spread <= 0, axis=0)
        best, surely = best_options(reduced - spread)
        items = np.arange(len(offers))
        rivals = reduced + spread
        rivals[best, items] = -np.inf  # of those without a best option the last entry, which does no harm
        takes = (best != STAY) & np.all(surely > rivals, axis=0)
        choice = np.where(takes, best, STAY)
        self.worth += offers.gained(choice)
        self.use = self.use + offers.used(choice)
        self.offers = offers.only(~(takes | stays))


def prices(offers: Offers) -> Prices:
    """The dual of some offers, at least one resource."""
    resources = len(offers.room)
    scale = _largest(offers)
    market = _Market(
        Offers(gain=offers.gain, use=offers.use * scale[:, np.newaxis, np.newaxis], room=offers.room * scale),
        use=np.zeros(resources),
    )
    centre, shape = np.full(resources, 0.5), np.eye(resources) * (resources / 4)
    tried: list[tuple[float, F64]] = []
    for at in range(_ROUNDS * resources):
        lowest = int(np.argmin(centre))
        if centre[lowest] < 0:
            slope, excess = -np.eye(resources)[lowest], -float(centre[lowest])
        else:
            value, slope = market.evaluate(centre)
            tried.append((value, centre * scale))
            excess = value - min(value for value, _ in tried)
        reach = float(np.sqrt(max(slope @ shape @ slope, 0.0)))
        close = _TOLERANCE if len(market.offers) > _MANY and resources > 1 else _CLOSE
        if excess >= reach or (centre[lowest] >= 0 and reach <= close * abs(value)):
            break
        centre, shape = _cut(centre, shape, slope / reach, excess / reach)
        if at % (_SETTLE_EVERY * resources) == _SETTLE_EVERY * resources - 1 and len(market.offers) > _FEW:
            market.settle(centre, shape)
    tried.sort(key=lambda pair: pair[0])
    return Prices(bound=tried[0][0], price=tried[0][1], tried=np.array([price for _, price in tried]))


def _largest(offers: Offers) -> F64:
    """No best price is above this: what all room is worth cannot be more than all there is to gain and to lose."""
    real = np.where(np.isfinite(offers.gain), offers.gain, 0.0)
    stake = np.maximum(real.max(axis=0), 0.0).sum() + np.maximum(-real.min(axis=0), 0.0).sum()
    given = np.maximum(-offers.use.min(axis=1), 0.0).sum(axis=1)
    return np.asarray(max(stake, 1e-300) / np.maximum(np.maximum(offers.room, 0.0) + given, 1e-12), dtype=np.float64)


def _cut(centre: F64, shape: F64, slope: F64, depth: float) -> tuple[F64, F64]:
    """The smallest ellipsoid around what is left of one beyond a cut.

    Args:
        centre: of the ellipsoid.
        shape: its matrix, ``(x - centre) shape^-1 (x - centre) <= 1``.
        slope: normal of the cut, of length one in the ellipsoid's own measure.
        depth: of the cut, 0 through the centre to 1 at the far end.
    """
    n, step = len(centre), shape @ slope
    if n == 1:
        return centre - step * (1 + depth) / 2, shape * ((1 - depth) / 2) ** 2
    centre = centre - step * ((1 + n * depth) / (n + 1))
    narrower = shape - np.outer(step, step) * (2 * (1 + n * depth) / ((n + 1) * (1 + depth)))
    shape = narrower * (n * n / (n * n - 1) * (1 - depth * depth))
    return centre, (shape + shape.T) / 2
