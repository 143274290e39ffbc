"""The Lagrangian dual of few items, minimised by the ellipsoid method with deep cuts (Shor; Yudin and Nemirovski).

The dual is convex and piecewise linear in the prices, and a subgradient is free: capacity less consumption. With two to
eight resources an ellipsoid in price space shrinks fast, needs no step size, and ends with a proof of how near it is.
Subgradient descent needs tuned steps and has no such proof; bisection works for a single resource only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from connectors.model import F64
from policies.solver.ellipsoid import Ellipsoid
from policies.solver.offers import Offers
from policies.solver.repricing import DualEvaluator

CLOSE = 1e-9  # relative tolerance of the bound
_ROUNDS = 400  # most cuts, times the number of resources


def minimise(evaluate: Callable[[F64], tuple[float, F64]], scale: F64, close: float = CLOSE) -> list[tuple[float, F64]]:
    """Values and the prices that they were found at, the lowest value first; none if there is no resource.

    Args:
        evaluate: a dual and one of its subgradients at some prices.
        scale: upper bound of the optimal price of each resource.
        close: relative tolerance of the value.
    """
    ellipsoid, tried = Ellipsoid.around(len(scale)), list[tuple[float, F64]]()

    def look(price: F64) -> tuple[float, F64]:
        # Scaled so that every optimal price lies between 0 and 1: the first ellipsoid is the ball around that cube,
        # whatever unit gains are in. A ball around unscaled prices would be as large as the highest of them in every
        # direction.
        value, slope = evaluate(price * scale)
        tried.append((value, price * scale))
        return value, slope * scale

    for _ in range(_ROUNDS * len(scale)):
        if not ellipsoid.cut(look, close):
            break
    # By the value alone: of two equal values Python would go on to compare the price arrays, which raises.
    return sorted(tried, key=lambda pair: pair[0])


def minimise_dual(offers: Offers, scale: F64, worth: float = 0.0, close: float = CLOSE) -> F64:
    """Prices tried while minimising the dual, the best first, shape ``(tries, k)``.

    Args:
        offers: the open items.
        scale: upper bound of the optimal price of each resource.
        worth: gain of all other items.
        close: relative tolerance of the bound.
    """
    evaluator = DualEvaluator(offers)

    def evaluate(price: F64) -> tuple[float, F64]:
        values, slopes = evaluator.evaluate(price[np.newaxis], offers.capacity[:, np.newaxis])
        return float(values[0]) + worth, slopes[0]

    return np.array([price for _, price in minimise(evaluate, scale, close)])
