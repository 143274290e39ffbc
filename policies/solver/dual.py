"""The Lagrangian dual: items at prices, many prices at once, and the prices at which the bound is lowest.

With the capacities priced into the objective every item takes its best option independently of the others. The sum of
those reduced gains plus the value of all capacity at these prices is an upper bound on every feasible choice,
whatever the prices.
"""

from __future__ import annotations

import numpy as np

from connectors.model import F64, I8, I64
from policies.solver.ellipsoid import CLOSE, minimise, minimise_within
from policies.solver.offers import STAY, Offers

_ROUNDS = 24  # most cuts of each state
_REACH = 2.0  # radius of a state's first ellipsoid, times the starting price of each resource
_LEAST = 0.2  # the same, at least, times the highest starting price of the resource
_NEAR = 1e-3  # of the relaxed gain: added to margins, so that among near ties size decides
_TINY = 1e-12
_SMALLEST = 1e-200  # least relaxed gain, in whatever unit; avoids a division by 0


def minimise_dual(offers: Offers, scale: F64, worth: float = 0.0, close: float = CLOSE) -> F64:
    """Prices tried while minimising the dual, the best first, shape ``(tries, k)``.

    Args:
        offers: the open items.
        scale: upper bound of the optimal price of each resource.
        worth: gain of all other items, of which the tolerance is a share too.
        close: relative tolerance of the bound.
    """
    evaluator = DualEvaluator(offers)

    def evaluate(_row: I64, price: F64) -> tuple[F64, F64]:
        return evaluator.evaluate(price, offers.capacity[:, np.newaxis])

    return minimise_within(evaluate, scale, worth, close)


def reprice(offers: Offers, residual: F64, start: F64, close: float) -> F64:
    """The prices with the lowest bound found for each of several states. Shape ``(s, k)``.

    Once large items are decided, the residual capacity differs from state to state, and so do its optimal prices. The
    first ellipsoids are those around prices that are known to be near; they need not contain the optimum, and the
    search ends early: any prices prove a valid bound, and these prove a tight one for most states.

    Args:
        offers: the items that are open in all states; their capacity is not used.
        residual: capacity left of each resource in each state, shape ``(k, s)``.
        start: prices near the optimal ones, shape ``(s, k)``.
        close: absolute tolerance of a bound.
    """
    evaluator = DualEvaluator(offers)

    def evaluate(row: I64, price: F64) -> tuple[F64, F64]:
        return evaluator.evaluate(price, residual[:, row])

    radius = _REACH * np.maximum(start, np.maximum(_LEAST * start.max(axis=0), 1e-300))
    return minimise(evaluate, start, radius, _ROUNDS, absolute=close).price


def importance(offers: Offers, price: F64, stake: float) -> F64:
    """The price of each item's options over its margin, at the prices where that is highest. Shape ``(n,)``.

    A large item may be far from the threshold by its gain and still decide how much capacity is left for all others.

    Args:
        offers: the items.
        price: shape ``(s, k)``.
        stake: what there is to gain; tells what a near tie is.
    """
    evaluator, stake = DualEvaluator(offers), max(stake, _SMALLEST)
    margin = evaluator.rank_options(price)[2]
    return np.asarray(
        ((evaluator.weight(price) + _TINY * stake) / (margin + _NEAR * stake)).max(axis=0), dtype=np.float64
    )


class DualEvaluator:
    """Evaluates the relaxed items at several prices at once, one row of prices per state."""

    def __init__(self, offers: Offers) -> None:
        resources, options, items = offers.consumption.shape
        self._gain, self._use = offers.gain, offers.consumption.reshape(resources, options * items)
        self._by_option = [np.ascontiguousarray(offers.consumption[:, option].T) for option in range(options)]

    def _price_of(self, price: F64, use: F64) -> F64:
        """The price of what each option uses, shape ``(s, o, n)``."""
        return np.asarray((price @ use).reshape(len(price), *self._gain.shape), dtype=np.float64)

    def evaluate(self, price: F64, residual: F64) -> tuple[F64, F64]:
        """The dual bound of each state at its prices, shape ``(s,)``, and subgradients, shape ``(s, k)``."""
        reduced = self._gain - self._price_of(price, self._use)
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
        reduced = self._gain - self._price_of(price, self._use)
        choice = np.full((len(price), reduced.shape[2]), STAY, dtype=np.int8)
        worth, second = np.zeros(choice.shape), np.full(choice.shape, -np.inf)
        for option, each in enumerate(reduced.swapaxes(0, 1)):
            second = np.maximum(second, np.minimum(worth, each))
            choice[each > worth] = option
            worth = np.maximum(worth, each)
        return choice, worth, worth - second

    def weight(self, price: F64) -> F64:
        """The price of the most expensive option of each item, consumed or released, shape ``(s, n)``."""
        # Absolute: a large bundle that leaves decides as much as one that comes, since its release is what lets others
        # in. And only of options that exist, or others would bring items into the core that have nothing to decide.
        cost = self._price_of(price, np.abs(self._use))
        return np.asarray(np.where(np.isfinite(self._gain), cost, 0.0).max(axis=1), dtype=np.float64)
