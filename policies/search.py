"""The exact part of the solver: a search through the choices that matter, held to a width.

Items are decided one after the other. Every state - what was decided so far - is judged at a few dozen prices at once.
Each price says how much the rest can still bring at most (a bound), and what the rest would choose; where that fits, it
is a whole choice and its gain is certain. States whose bound is no better than the best certain gain are dropped for
good. Where more states are left than the width allows, half of those kept have the best bounds and half the best
certain gains: either alone loses its way, one among hopes that end in nothing, the other at the first hill. Once the
large items are decided other prices are the best ones, so they are asked for anew on the way, for the state that
promises most.

As long as nothing was dropped for width the answer is the optimum; what was dropped is remembered as its best bound, so
the answer always comes with a proven limit of what it may miss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from connectors.model import F64, I64, Bools
from policies.offers import SLACK, STAY, Offers, best_options
from policies.prices import prices

_LOOK_EVERY = 4  # items, at certain gains, while all states fit the width
_NO_STATE = -1
_ASKED_AT_MOST = 20_000  # uses, so that prices are quickly found
_ASKED_ANEW = (7, 23, 63, 159)  # items after which states are judged at one more price


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best choice that the search met, if it beats the floor it was given, and what it proves."""

    choice: I64 | None  # (n,) option of each item, None: nothing better than the floor
    gain: float  # of the choice, otherwise the floor
    bound: float  # no choice brings more


@dataclass(slots=True)
class _States:
    """What was decided, one column per state."""

    gain: F64  # (m,) so far
    left: F64  # (k, m) of each resource
    parent: I64  # (m,) column among the states one item earlier
    taken: I64  # (m,) option of the last item, STAY for none

    def __len__(self) -> int:
        return len(self.gain)

    def only(self, which: I64) -> _States:
        return _States(self.gain[which], self.left[:, which], self.parent[which], self.taken[which])

    def bound(self, price: F64, worth: F64) -> F64:
        """No state brings more, shape ``(m,)``: gain so far, the room that is left and what the rest is worth.

        Args:
            price: shape ``(prices, k)``.
            worth: of the items that are left at each price, shape ``(prices,)``.
        """
        hope = price @ self.left
        hope += worth[:, np.newaxis]
        return np.asarray(hope.min(axis=0) + self.gain, dtype=np.float64)


class _Rest:
    """What the items from the ``t``-th on would choose at each price, added up from the end."""

    def __init__(self, offers: Offers, price: F64) -> None:
        resources, n = len(offers.room), len(offers)
        self.price = np.zeros((0, resources))
        self.choice = np.zeros((0, n), dtype=np.int64)  # (prices, n)
        self.worth = self.gain = np.zeros((0, n + 1))  # (prices, n + 1)
        self.use = np.zeros((resources, 0, n + 1))
        self.given = _from_the_end(np.maximum(-offers.use.min(axis=1), 0.0))  # (k, n + 1)
        self.judge(offers, price)

    def judge(self, offers: Offers, price: F64) -> None:
        """Ask at more prices, shape ``(prices, k)``."""
        chosen = [best_options(offers.reduced(at_price)) for at_price in price]
        choice = np.array([choice for choice, _ in chosen], dtype=np.int64)
        takes = choice != STAY
        option, item = np.maximum(choice, 0), np.arange(len(offers))
        gain = _from_the_end(np.where(takes, offers.gain[option, item], 0.0))
        use = _from_the_end(np.where(takes, offers.use[:, option, item], 0.0))
        self.price = np.concatenate((self.price, price))
        self.choice = np.concatenate((self.choice, choice))
        self.worth = np.concatenate((self.worth, _from_the_end(np.array([worth for _, worth in chosen]))))
        self.gain = np.concatenate((self.gain, gain))
        self.use = np.concatenate((self.use, use), axis=1)


def search(offers: Offers, price: F64, width: int, floor: float = -np.inf, depth: int | None = None) -> Found:
    """The best choice, looked for with at most ``width`` states at a time.

    Args:
        offers: the items in the order in which they are decided, those that matter most first.
        price: at which states are judged, shape ``(prices, k)``; any prices are right, good ones are quick.
        width: states.
        floor: gain that is to be beaten.
        depth: items that are decided, None: all; the others do what they would at one of the prices.
    """
    depth = len(offers) if depth is None else min(depth, len(offers))
    rest, same = _Rest(offers, price), _same_as_before(offers)
    states = _start(offers)
    trail: list[tuple[I64, I64]] = []
    best: tuple[int, int, int] | None = None  # item, state and price of the best certain gain
    gain, missed = floor, -np.inf
    for item in range(depth):
        states = _decided(states, offers, item, same=bool(same[item]))
        bound = states.bound(rest.price, rest.worth[:, item + 1])
        alive = np.flatnonzero((bound > gain) & _possible(states, rest, item + 1))
        states, bound = states.only(alive), bound[alive]
        if len(states) > width or item % _LOOK_EVERY == 0 or item == depth - 1:
            certain = _certain(states, rest, item + 1)
            at = int(certain.argmax()) if len(certain) else _NO_STATE
            kept = np.arange(len(states))
            if at != _NO_STATE and certain[at] > gain:
                gain, best = float(certain[at]), (item, at, _at_price(states, rest, item + 1, at))
                trail.append((states.parent, states.taken))
                found = _traced(trail, best, rest, len(offers))
                trail.pop()
                kept = np.flatnonzero(bound > gain)
            if len(kept) > width:
                narrow = _narrowed(bound[kept], certain[kept], width)
                missed = max(missed, float(bound[kept[~narrow]].max()))
                kept = kept[narrow]
            states = states.only(kept)
        trail.append((states.parent, states.taken))
        if not len(states):
            break
        if item in _ASKED_ANEW and item < depth - 1 and offers.use.size <= _ASKED_AT_MOST:
            _judge_anew(states, offers, rest, item + 1)
    if depth < len(offers) and len(states):
        missed = max(missed, float(states.bound(rest.price, rest.worth[:, depth]).max()))
    return Found(choice=None if best is None else found, gain=gain, bound=max(gain, missed))


def _judge_anew(states: _States, offers: Offers, rest: _Rest, item: int) -> None:
    """Judge at one more price: the best one for what the most hopeful state leaves open."""
    hopeful = int(states.bound(rest.price, rest.worth[:, item]).argmax())
    open_ = Offers(gain=offers.gain[:, item:], use=offers.use[:, :, item:], room=states.left[:, hopeful])
    rest.judge(offers, prices(open_).price[np.newaxis])


def _start(offers: Offers) -> _States:
    zero = np.zeros(1, dtype=np.int64)
    return _States(np.zeros(1), offers.room[:, np.newaxis], zero, zero + STAY)


def _decided(states: _States, offers: Offers, item: int, *, same: bool) -> _States:
    """Every state with every option of an item.

    Args:
        states: before the item.
        offers: of the search.
        item: that is decided.
        same: it is like the item before it in everything, so of the two the earlier one goes first.
    """
    options = [STAY, *np.flatnonzero(np.isfinite(offers.gain[:, item])).tolist()]
    here = np.arange(len(states), dtype=np.int64)
    from_ = [np.flatnonzero(states.taken >= option) if same and option != STAY else here for option in options]
    gain, left = [states.gain], [states.left]
    for option, which in zip(options[1:], from_[1:], strict=True):
        before = states.only(which) if same else states
        gain.append(before.gain + offers.gain[option, item])
        left.append(before.left - offers.use[:, option, item, np.newaxis])
    return _States(
        np.concatenate(gain),
        np.concatenate(left, axis=1),
        np.concatenate(from_),
        np.repeat(np.array(options, dtype=np.int64), [len(which) for which in from_]),
    )


def _possible(states: _States, rest: _Rest, item: int) -> Bools:
    """States from which the items that are left could still give back what is overdrawn."""
    return np.asarray((states.left + rest.given[:, item, np.newaxis] >= -SLACK).all(axis=0), dtype=np.bool_)


def _certain(states: _States, rest: _Rest, item: int) -> F64:
    """The best gain that each state is sure of, with what the rest would choose at one of the prices."""
    fits = np.ones((len(rest.gain), len(states)), dtype=np.bool_)
    for left, use in zip(states.left, rest.use, strict=True):
        fits &= left + SLACK >= use[:, item, np.newaxis]
    more = np.where(fits, rest.gain[:, item, np.newaxis], -np.inf)
    return np.asarray(states.gain + more.max(axis=0), dtype=np.float64)


def _at_price(states: _States, rest: _Rest, item: int, at: int) -> int:
    """The price at which what the rest would choose gives one state its best certain gain."""
    fits = (states.left[:, at, np.newaxis] + SLACK >= rest.use[:, :, item]).all(axis=0)
    return int(np.where(fits, rest.gain[:, item], -np.inf).argmax())


def _narrowed(bound: F64, certain: F64, width: int) -> Bools:
    """Which states are kept."""
    hopeful = width // 2
    by_bound = np.argpartition(-bound, hopeful)
    others = by_bound[hopeful:]
    kept = np.zeros(len(bound), dtype=np.bool_)
    kept[by_bound[:hopeful]] = True
    kept[others[np.argpartition(-certain[others], width - hopeful)[: width - hopeful]]] = True
    return kept


def _traced(trail: list[tuple[I64, I64]], best: tuple[int, int, int], rest: _Rest, items: int) -> I64:
    """The choice that a state stands for, with what the rest chooses at a price."""
    last, state, price = best
    choice = np.full(items, STAY, dtype=np.int64)
    choice[last + 1 :] = rest.choice[price, last + 1 :]
    for item in range(last, -1, -1):
        parent, taken = trail[item]
        choice[item] = taken[state]
        state = int(parent[state])
    return choice


def _same_as_before(offers: Offers) -> Bools:
    """Items that equal the one before them in everything. Shape ``(n,)``."""
    same = np.zeros(len(offers), dtype=np.bool_)
    if len(offers) > 1:
        gain = (offers.gain[:, 1:] == offers.gain[:, :-1]).all(axis=0)
        same[1:] = gain & (offers.use[:, :, 1:] == offers.use[:, :, :-1]).all(axis=(0, 1))
    return same


def _from_the_end(column: F64) -> F64:
    """Sums of the last none, one, two ... entries of each line; position ``t`` holds those from ``t`` on."""
    sums = np.zeros((*column.shape[:-1], column.shape[-1] + 1))
    sums[..., :-1] = np.cumsum(column[..., ::-1], axis=-1)[..., ::-1]
    return sums
