"""The Lagrangian dual for several residual capacities at once, over the same items.

Once large items are decided, the residual capacity differs from state to state, and so do its optimal prices. The
relaxed items are the same for all states, so one ellipsoid per state is cut in a single vectorised pass
(``ellipsoid``). The ellipsoids start around prices that are known to be near, need not contain the optimum, and stop
early: any prices prove a valid bound, and these prove a tight one for most states.
"""

from __future__ import annotations

import numpy as np

from connectors.model import F64, I8
from policies.solver.ellipsoid import enclosing_cut
from policies.solver.offers import STAY, Offers

_ROUNDS = 24  # most cuts
_REACH = 2.0  # radius of the first ellipsoid, times the starting price of each resource
_LEAST = 0.2  # the same, at least, times the highest starting price of the resource
_STEADY = 0.5  # an item whose margin exceeds this share of its options' price is taken to keep its option
_NEAR = 1e-4  # of the relaxed gain: added to margins, so that among near ties size decides
_TINY = 1e-12
_SMALLEST = 1e-200  # least relaxed gain, in whatever unit; avoids a division by 0


def reprice(offers: Offers, residual: F64, start: F64, close: float) -> F64:
    """The prices with the lowest bound found for each of several states. Shape ``(s, k)``.

    Args:
        offers: the items that are open in all states; their capacity is not used.
        residual: capacity left of each resource in each state, shape ``(k, s)``.
        start: prices near the optimal ones, shape ``(s, k)``.
        close: absolute tolerance of a bound.
    """
    # Not the prices of the root for all states: after the large items one state may have spent a resource that
    # another still has in plenty, and one set of prices then bounds neither well.
    evaluator = DualEvaluator(offers)
    centre, best, lowest_value = start, start.copy(), np.full(len(start), np.inf)
    radius = _REACH * np.maximum(start, np.maximum(_LEAST * start.max(axis=0), 1e-300))
    axes = radius[:, :, np.newaxis] * np.eye(start.shape[1])
    state = np.arange(len(start))  # those whose ellipsoid is still being cut
    for _ in range(_ROUNDS):
        value, slope = evaluator.evaluate(centre, residual)
        lowest = centre.argmin(axis=1)
        # Negative prices prove no bound and are cut back, see ``ellipsoid``; there it saves the evaluation, here all
        # states are evaluated in one pass anyway.
        deficit = -centre[np.arange(len(state)), lowest]
        outside = deficit > 0
        slope[outside] = -np.eye(len(residual))[lowest[outside]]
        better = ~outside & (value < lowest_value[state])
        lowest_value[state[better]], best[state[better]] = value[better], centre[better]
        direction = (slope[:, np.newaxis] @ axes)[:, 0]
        half_width = np.sqrt((direction * direction).sum(axis=1))
        excess = np.where(outside, deficit, value - lowest_value[state])
        live = (excess < half_width) & (outside | (half_width > close))
        if not live.all():
            state, residual, centre, axes = state[live], residual[:, live], centre[live], axes[live]
            direction, half_width, excess = direction[live], half_width[live], excess[live]
        if not len(state):
            break
        centre, axes = _cut(centre, axes, direction / half_width[:, np.newaxis], excess / half_width)
    return best


class DualEvaluator:
    """Evaluates the relaxed items at several prices at once, one row of prices per state."""

    def __init__(self, offers: Offers) -> None:
        resources, options, items = offers.consumption.shape
        self._gain, self._use = offers.gain, offers.consumption.reshape(resources, options * items)
        self._by_option = [np.ascontiguousarray(offers.consumption[:, option].T) for option in range(options)]

    def reduced_gain(self, price: F64) -> F64:
        """Reduced gain of each option, shape ``(s, o, n)``."""
        cost = (price @ self._use).reshape(len(price), *self._gain.shape)
        return np.asarray(self._gain - cost, dtype=np.float64)

    def evaluate(self, price: F64, residual: F64) -> tuple[F64, F64]:
        """The dual bound of each state at its prices, shape ``(s,)``, and subgradients, shape ``(s, k)``."""
        reduced = self.reduced_gain(price)
        worth = np.zeros((len(price), reduced.shape[2]))
        for each in reduced.swapaxes(0, 1):
            np.maximum(worth, each, out=worth)
        slope = residual.T.copy()
        takes = worth > 0
        for option, consumption in enumerate(self._by_option):
            # Of options that tie only the first counts: with both, the slope would be that of a choice that takes an
            # item twice.
            here = takes & (reduced[:, option] == worth)
            slope -= here.astype(np.float64) @ consumption
            takes &= ~here
        return (price * residual.T).sum(axis=1) + worth.sum(axis=1), slope

    def rank_options(self, price: F64) -> tuple[I8, F64, F64]:
        """Per price each item's best option, its reduced gain, and its margin over the second best.

        All of shape ``(s, n)``. Staying is an option too, with a gain of 0.
        """
        reduced = self.reduced_gain(price)
        choice = np.full((len(price), reduced.shape[2]), STAY, dtype=np.int8)
        worth, second = np.zeros(choice.shape), np.full(choice.shape, -np.inf)
        for option, each in enumerate(reduced.swapaxes(0, 1)):
            second = np.maximum(second, np.minimum(worth, each))
            choice[each > worth] = option
            worth = np.maximum(worth, each)
        return choice, worth, worth - second

    def weight(self, price: F64) -> F64:
        """The price of the most expensive option of each item, consumed or released, shape ``(s, n)``."""
        cost = (price @ np.abs(self._use)).reshape(len(price), *self._gain.shape)
        return np.asarray(np.where(np.isfinite(self._gain), cost, 0.0).max(axis=1), dtype=np.float64)


def importance(offers: Offers, price: F64) -> F64:
    """The price of each item's options over its margin, at the prices where that is highest. Shape ``(n,)``."""
    evaluator = DualEvaluator(offers)
    _, worth, margin = evaluator.rank_options(price)
    stake = max(float(worth.sum(axis=1).max()), _SMALLEST)
    return np.asarray(
        ((evaluator.weight(price) + _TINY * stake) / (margin + _NEAR * stake)).max(axis=0), dtype=np.float64
    )


def _cut(centre: F64, axes: F64, direction: F64, depth: F64) -> tuple[F64, F64]:
    """Centres ``(s, k)`` and axes ``(s, k, k)`` of several ellipsoids after one cut each.

    Args:
        centre: of each.
        axes: of each.
        direction: unit normal of each cut, in the coordinates of the ball that the axes map, shape ``(s, k)``.
        depth: of each cut, shape ``(s,)``.
    """
    shift, kept, growth = enclosing_cut(centre.shape[1], depth[:, np.newaxis])
    step = (axes @ direction[:, :, np.newaxis])[:, :, 0]
    shorter = step[:, :, np.newaxis] * (direction * (1 - kept))[:, np.newaxis]
    return centre - step * shift, (axes - shorter) * growth[:, :, np.newaxis]
