"""The best prices of few items: each look at the dual cuts away a half of an ellipsoid that holds them.

The dual is convex in the prices, and how much more is used than there is tells which way is down (Shor; Yudin and
Nemirovski). Items whose choice is the same everywhere in what is left of the ellipsoid need not be looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from connectors.model import F64
from policies.solver.ellipsoid import Ellipsoid
from policies.solver.offers import STAY, Offers, best_options
from policies.solver.repricing import Market

CLOSE = 1e-9  # of the bound: near enough
_ROUNDS = 400  # of cutting, times the number of resources
_SETTLE_EVERY = 8  # cuts, times the number of resources
_FEW = 200  # items that are not worth settling


@dataclass(slots=True)
class _Open:
    """The items that are not settled yet, and what those that are bring."""

    offers: Offers
    worth: float = 0.0  # of the settled items; the room is what they leave
    market: Market = field(init=False)

    def __post_init__(self) -> None:
        self.market = Market(self.offers)

    def evaluate(self, price: F64) -> tuple[float, F64]:
        """The figure at some prices, and a subgradient."""
        value, slope = self.market.evaluate(price[np.newaxis], self.offers.room[:, np.newaxis])
        return float(value[0]) + self.worth, slope[0]

    def settle(self, price: F64, axes: F64) -> None:
        """Set aside items that choose the same everywhere in the ellipsoid."""
        offers = self.offers
        reduced = offers.reduced_gain(price)
        spread = np.linalg.norm(np.tensordot(axes, offers.use, (0, 0)), axis=0)
        stays = np.all(reduced + spread <= 0, axis=0)
        best, surely = best_options(reduced - spread)
        items = np.arange(len(offers))
        rivals = reduced + spread
        rivals[best, items] = -np.inf  # of those without a best option the last entry, which does no harm
        takes = (best != STAY) & np.all(surely > rivals, axis=0)
        choice = np.where(takes, best, STAY)
        self.worth += offers.total_gain(choice)
        self.offers = replace(offers.only(~(takes | stays)), room=offers.room - offers.used(choice))
        self.market = Market(self.offers)


def cheapest(offers: Offers, scale: F64, worth: float = 0.0, close: float = CLOSE) -> F64:
    """Prices tried on the way to the best ones, those first, shape ``(tries, k)``.

    Args:
        offers: the items that may choose.
        scale: of the prices; no best price is above it.
        worth: what all others bring.
        close: of the bound, near enough.
    """
    resources = len(scale)
    scaled = replace(offers, use=offers.use * scale[:, np.newaxis, np.newaxis], room=offers.room * scale)
    items, held = _Open(scaled, worth), Ellipsoid.around(resources)
    tried: list[tuple[float, F64]] = []

    def look(price: F64) -> tuple[float, F64]:
        value, slope = items.evaluate(price)
        tried.append((value, price * scale))
        return value, slope

    for at in range(_ROUNDS * resources):
        if not held.cut(look, close):
            break
        if at % (_SETTLE_EVERY * resources) == _SETTLE_EVERY * resources - 1 and len(items.offers) > _FEW:
            items.settle(held.centre, held.axes)
    tried.sort(key=lambda pair: pair[0])
    return np.array([price for _, price in tried])
