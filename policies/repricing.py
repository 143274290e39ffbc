"""The best prices for several rests of room at once, over the same items.

Once large items are decided, what is left of the room is worth something else in every state of a search. Each rest of
room has a dual of its own; what the items are worth at some prices is the same for all of them. So one ellipsoid each
is cut side by side (see ``prices``). They start around prices that are known to be near, need not hold the best ones
and stop early: whatever comes out is a bound, a good one for most.
"""

from __future__ import annotations

import numpy as np

from connectors.model import F64, I8
from policies.offers import STAY, Offers

_ROUNDS = 24  # of cutting
_REACH = 2.0  # times the prices at the start, in every direction
_LEAST = 0.2  # of the dearest start, where a resource costs less or nothing
_STEADY = 0.5  # times what its options cost: an item that loses more by another choice is taken to keep to its own
_NEAR = 1e-4  # of what is at stake: a choice that loses less is open
_TINY = 1e-12
_SMALLEST = 1e-200  # of what may be at stake, in whatever unit


def repriced(offers: Offers, left: F64, start: F64, close: float) -> F64:
    """Prices at which several states promise least, as far as they were looked for. Shape ``(s, k)``.

    Args:
        offers: the items that are open in all states; their room does not matter.
        left: of each resource in each state, shape ``(k, s)``.
        start: prices near the best ones, shape ``(s, k)``.
        close: gain by which a bound may be too high.
    """
    market, left = _nearby(offers, left, start)
    centre, best, least = start, start.copy(), np.full(len(start), np.inf)
    radius = _REACH * np.maximum(start, np.maximum(_LEAST * start.max(axis=0), 1e-300))
    shape = radius[:, :, np.newaxis] ** 2 * np.eye(start.shape[1])
    state = np.arange(len(start))  # those that are still looked for
    for _ in range(_ROUNDS):
        value, slope = market.evaluate(centre, left)
        lowest = centre.argmin(axis=1)
        deficit = -centre[np.arange(len(state)), lowest]
        outside = deficit > 0
        slope[outside] = -np.eye(len(left))[lowest[outside]]
        better = ~outside & (value < least[state])
        least[state[better]], best[state[better]] = value[better], centre[better]
        step = (shape @ slope[:, :, np.newaxis])[:, :, 0]
        reach = np.sqrt(np.maximum((step * slope).sum(axis=1), 0.0))
        excess = np.where(outside, deficit, value - least[state])
        live = (excess < reach) & (outside | (reach > close))
        if not live.all():
            state, left, centre, shape = state[live], left[:, live], centre[live], shape[live]
            step, reach, excess = step[live], reach[live], excess[live]
        if not len(state):
            break
        centre, shape = _cut(centre, shape, step / reach[:, np.newaxis], excess / reach)
    return best


class Market:
    """Items side by side, one row of prices per state."""

    def __init__(self, offers: Offers) -> None:
        resources, options, items = offers.use.shape
        self._gain, self._use = offers.gain, offers.use.reshape(resources, options * items)
        self._by_option = [np.ascontiguousarray(offers.use[:, option].T) for option in range(options)]

    def reduced(self, price: F64) -> F64:
        """Gain of each option less what it uses, shape ``(s, o, n)``."""
        cost = (price @ self._use).reshape(len(price), *self._gain.shape)
        return np.asarray(self._gain - cost, dtype=np.float64)

    def evaluate(self, price: F64, left: F64) -> tuple[F64, F64]:
        """What each state promises at its prices, shape ``(s,)``, and subgradients, shape ``(s, k)``."""
        reduced = self.reduced(price)
        worth = np.zeros((len(price), reduced.shape[2]))
        for each in reduced.swapaxes(0, 1):
            np.maximum(worth, each, out=worth)
        slope = left.T.copy()
        takes = worth > 0
        for option, use in enumerate(self._by_option):
            here = takes & (reduced[:, option] == worth)
            slope -= here.astype(np.float64) @ use
            takes &= ~here
        return (price * left.T).sum(axis=1) + worth.sum(axis=1), slope

    def ranked(self, price: F64) -> tuple[I8, F64, F64]:
        """Per price each item's best option, what it is worth, and what it is worth more than the second best.

        All of shape ``(s, n)``. Staying put is an option too, worth nothing.
        """
        reduced = self.reduced(price)
        choice = np.full((len(price), reduced.shape[2]), STAY, dtype=np.int8)
        worth, second = np.zeros(choice.shape), np.full(choice.shape, -np.inf)
        for option, each in enumerate(reduced.swapaxes(0, 1)):
            second = np.maximum(second, np.minimum(worth, each))
            choice[each > worth] = option
            worth = np.maximum(worth, each)
        return choice, worth, worth - second

    def weight(self, price: F64) -> F64:
        """What the dearest option of each item costs or frees, shape ``(s, n)``."""
        cost = (price @ np.abs(self._use)).reshape(len(price), *self._gain.shape)
        return np.asarray(np.where(np.isfinite(self._gain), cost, 0.0).max(axis=1), dtype=np.float64)


def importance(offers: Offers, price: F64) -> F64:
    """How much items matter and how little certain they are, at the prices where it is most. Shape ``(n,)``."""
    market = Market(offers)
    _, worth, margin = market.ranked(price)
    stake = max(float(worth.sum(axis=1).max()), _SMALLEST)
    return np.asarray(((market.weight(price) + _TINY * stake) / (margin + _NEAR * stake)).max(axis=0), dtype=np.float64)


def _nearby(offers: Offers, left: F64, start: F64) -> tuple[Market, F64]:
    """The items that might choose otherwise at prices not far from the start, and the room that all others leave."""
    market = Market(offers)
    choice, _, margin = market.ranked(start)
    steady = (choice == choice[0]).all(axis=0) & (margin.min(axis=0) > _STEADY * market.weight(start).max(axis=0))
    kept = np.flatnonzero(steady & (choice[0] != STAY))
    left = left - offers.use[:, choice[0, kept], kept].sum(axis=1)[:, np.newaxis]
    return Market(offers.only(~steady)), left


def _cut(centre: F64, shape: F64, step: F64, depth: F64) -> tuple[F64, F64]:
    """``prices._cut`` of several ellipsoids."""
    n = centre.shape[1]
    along, deep = step[:, :, np.newaxis] * step[:, np.newaxis, :], depth[:, np.newaxis, np.newaxis]
    if n == 1:
        return centre - step * (1 + depth[:, np.newaxis]) / 2, shape * ((1 - deep) / 2) ** 2
    centre = centre - step * ((1 + n * depth[:, np.newaxis]) / (n + 1))
    narrower = shape - along * (2 * (1 + n * deep) / ((n + 1) * (1 + deep)))
    return centre, narrower * (n * n / (n * n - 1) * (1 - deep * deep))
