"""The Lagrangian dual of few items, minimised by the ellipsoid method with deep cuts (Shor; Yudin and Nemirovski).

The dual is convex and piecewise linear in the prices, and a subgradient is free: capacity less consumption. With two to
eight resources an ellipsoid in price space shrinks fast, needs no step size, and ends with a proof of how near it is.
Subgradient descent needs tuned steps and has no such proof; bisection works for a single resource only.

While the ellipsoid shrinks, items whose best option is the same in all of it are settled and left out of later
evaluations.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from connectors.model import F64
from policies.solver.ellipsoid import Ellipsoid
from policies.solver.offers import STAY, Offers, best_options
from policies.solver.repricing import DualEvaluator

CLOSE = 1e-9  # relative tolerance of the bound
_ROUNDS = 400  # most cuts, times the number of resources
_SETTLE_EVERY = 8  # cuts, times the number of resources
_FEW = 200  # with fewer open items settling costs more than it saves


@dataclass(slots=True)
class _Open:
    """The items that are not settled yet, and the gain of those that are."""

    offers: Offers
    worth: float = 0.0  # gain of the settled items; ``offers.capacity`` is what they leave
    evaluator: DualEvaluator = field(init=False)

    def __post_init__(self) -> None:
        self.evaluator = DualEvaluator(self.offers)

    def evaluate(self, price: F64) -> tuple[float, F64]:
        """The dual bound at some prices, and a subgradient."""
        value, slope = self.evaluator.evaluate(price[np.newaxis], self.offers.capacity[:, np.newaxis])
        return float(value[0]) + self.worth, slope[0]

    def settle(self, price: F64, axes: F64) -> None:
        """Settle the items whose best option is the same everywhere in the ellipsoid."""
        offers = self.offers
        # Within ``price + axes @ ball`` a linear function differs from its value at the centre by at most the length
        # of its gradient in the ball's coordinates.
        reduced = offers.reduced_gain(price)
        spread = np.linalg.norm(np.tensordot(axes, offers.consumption, (0, 0)), axis=0)
        stays = np.all(reduced + spread <= 0, axis=0)
        best, surely = best_options(reduced - spread)
        items = np.arange(len(offers))
        # Lower end against upper ends, though both are rarely reached at the same prices: an item settled by mistake
        # would make the bound false, one left open only costs time.
        rivals = reduced + spread
        rivals[best, items] = -np.inf  # STAY indexes the last option: harmless, since ``takes`` excludes those items
        takes = (best != STAY) & np.all(surely > rivals, axis=0)
        choice = np.where(takes, best, STAY)
        self.worth += offers.total_gain(choice)
        self.offers = replace(
            offers.only(~(takes | stays)), capacity=offers.capacity - offers.total_consumption(choice)
        )
        self.evaluator = DualEvaluator(self.offers)


def minimise_dual(offers: Offers, scale: F64, worth: float = 0.0, close: float = CLOSE) -> F64:
    """Prices tried while minimising the dual, the best first, shape ``(tries, k)``.

    Args:
        offers: the open items.
        scale: upper bound of the optimal price of each resource.
        worth: gain of all other items.
        close: relative tolerance of the bound.
    """
    resources = len(scale)
    # Scaled so that every optimal price lies between 0 and 1: the first ellipsoid is the ball around that cube,
    # whatever unit gains are in. A ball around unscaled prices would be as large as the highest of them in every
    # direction.
    scaled = replace(
        offers, consumption=offers.consumption * scale[:, np.newaxis, np.newaxis], capacity=offers.capacity * scale
    )
    items, ellipsoid = _Open(scaled, worth), Ellipsoid.around(resources)
    tried: list[tuple[float, F64]] = []

    def look(price: F64) -> tuple[float, F64]:
        value, slope = items.evaluate(price)
        tried.append((value, price * scale))
        return value, slope

    for at in range(_ROUNDS * resources):
        if not ellipsoid.cut(look, close):
            break
        if at % (_SETTLE_EVERY * resources) == _SETTLE_EVERY * resources - 1 and len(items.offers) > _FEW:
            items.settle(ellipsoid.centre, ellipsoid.axes)
    # By the value alone: of two equal values Python would go on to compare the price arrays, which raises.
    tried.sort(key=lambda pair: pair[0])
    return np.array([price for _, price in tried])
