"""The best prices for several rests of room at once, over the same items.

Once large items are decided, what is left of the room is worth something else in every state of a search. Each rest of
room has a dual of its own; what the items are worth at some prices is the same for all of them. So one ellipsoid each
is cut side by side (see ``prices``). They start around prices that are known to be near, need not hold the best ones
and stop early: whatever comes out is a bound, a good one for most.
"""

from __future__ import annotations

import numpy as np

from connectors.model import F64, I8
from policies.solver.ellipsoid import rest
from policies.solver.offers import STAY, Offers

_ROUNDS = 24  # of cutting
_REACH = 2.0  # times the prices at the start, in every direction
_LEAST = 0.2  # of the dearest start, where a resource costs less or nothing
_STEADY = 0.5  # times what its options cost: an item that loses more by another choice is taken to keep to its own
_NEAR = 1e-4  # of what is at stake: a choice that loses less is open
_TINY = 1e-12
_SMALLEST = 1e-200  # of what may be at stake, in whatever unit


def reprice(offers: Offers, left: F64, start: F64, close: float) -> F64:
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
    axes = radius[:, :, np.newaxis] * np.eye(start.shape[1])
    state = np.arange(len(start))  # those that are still looked for
    for _ in range(_ROUNDS):
        value, slope = market.evaluate(centre, left)
        lowest = centre.argmin(axis=1)
        deficit = -centre[np.arange(len(state)), lowest]
        outside = deficit > 0
        slope[outside] = -np.eye(len(left))[lowest[outside]]
        better = ~outside & (value < least[state])
        least[state[better]], best[state[better]] = value[better], centre[better]
        towards = (slope[:, np.newaxis] @ axes)[:, 0]
        reach = np.sqrt((towards * towards).sum(axis=1))
        excess = np.where(outside, deficit, value - least[state])
        live = (excess < reach) & (outside | (reach > close))
        if not live.all():
            state, left, centre, axes = state[live], left[:, live], centre[live], axes[live]
            towards, reach, excess = towards[live], reach[live], excess[live]
        if not len(state):
            break
        centre, axes = _cut(centre, axes, towards / reach[:, np.newaxis], excess / reach)
    return best


class Market:
    """Items side by side, one row of prices per state."""

    def __init__(self, offers: Offers) -> None:
        resources, options, items = offers.use.shape
        self._gain, self._use = offers.gain, offers.use.reshape(resources, options * items)
        self._by_option = [np.ascontiguousarray(offers.use[:, option].T) for option in range(options)]

    def reduced_gain(self, price: F64) -> F64:
        """Gain of each option less what it uses, shape ``(s, o, n)``."""
        cost = (price @ self._use).reshape(len(price), *self._gain.shape)
        return np.asarray(self._gain - cost, dtype=np.float64)

    def evaluate(self, price: F64, left: F64) -> tuple[F64, F64]:
        """What each state promises at its prices, shape ``(s,)``, and subgradients, shape ``(s, k)``."""
        reduced = self.reduced_gain(price)
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

    def rank_options(self, price: F64) -> tuple[I8, F64, F64]:
        """Per price each item's best option, what it is worth, and what it is worth more than the second best.

        All of shape ``(s, n)``. Staying put is an option too, worth nothing.
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
        """What the dearest option of each item costs or frees, shape ``(s, n)``."""
        cost = (price @ np.abs(self._use)).reshape(len(price), *self._gain.shape)
        return np.asarray(np.where(np.isfinite(self._gain), cost, 0.0).max(axis=1), dtype=np.float64)


def importance(offers: Offers, price: F64) -> F64:
    """How much items matter and how little certain they are, at the prices where it is most. Shape ``(n,)``."""
    market = Market(offers)
    _, worth, margin = market.rank_options(price)
    stake = max(float(worth.sum(axis=1).max()), _SMALLEST)
    return np.asarray(((market.weight(price) + _TINY * stake) / (margin + _NEAR * stake)).max(axis=0), dtype=np.float64)


def _nearby(offers: Offers, left: F64, start: F64) -> tuple[Market, F64]:
    """The items that might choose otherwise at prices not far from the start, and the room that all others leave."""
    market = Market(offers)
    choice, _, margin = market.rank_options(start)
    steady = (choice == choice[0]).all(axis=0) & (margin.min(axis=0) > _STEADY * market.weight(start).max(axis=0))
    kept = np.flatnonzero(steady & (choice[0] != STAY))
    left = left - offers.use[:, choice[0, kept], kept].sum(axis=1)[:, np.newaxis]
    return Market(offers.only(~steady)), left


def _cut(centre: F64, axes: F64, towards: F64, depth: F64) -> tuple[F64, F64]:
    """Centres ``(s, k)`` and axes ``(s, k, k)`` of what cuts leave of ellipsoids.

    Args:
        centre: of each.
        axes: of each.
        towards: normal of each cut, of length one, in the ball that the axes make the ellipsoid of, shape ``(s, k)``.
        depth: of each cut, shape ``(s,)``.
    """
    shift, kept, growth = rest(centre.shape[1], depth[:, np.newaxis])
    step = (axes @ towards[:, :, np.newaxis])[:, :, 0]
    shorter = step[:, :, np.newaxis] * (towards * (1 - kept))[:, np.newaxis]
    return centre - step * shift, (axes - shorter) * growth[:, :, np.newaxis]
