"""The exact part of the solver: a search through the choices that matter, held to a width.

Items are decided one after the other. Every state - what was decided so far - is judged at a dozen prices at once
(``outlook``): what the rest can still bring at most, and what it is sure to bring. States whose bound is no better than
the best certain gain are dropped for good. Where more states are left than the width allows, half of those kept have
the best bounds and half the best certain gains: either alone loses its way, one among hopes that end in nothing, the
other at the first hill. Items that would lose more by another choice than any state promises above the best certain
gain are settled for good, and nobody looks at them again.

Once large items are decided the room that is left is worth something else in every state, and other items are in doubt.
So after the first item, and then after more and more of them, the best prices are asked for anew, of several states
that differ (``repricing``), and those items come next that matter most and are least certain at the new ones.

As long as nothing was dropped for width the answer is the optimum; what was dropped is remembered as its best bound, so
the answer always comes with a proven limit of what it may miss. The same holds where it stops because it has enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from connectors.model import F64, I64, Bools
from policies.solver.offers import STAY, Offers
from policies.solver.outlook import Outlook
from policies.solver.repricing import importance, reprice

_LOOK_EVERY = 4  # items, at certain gains, while all states fit the width
_STAGES = (1, 2, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 40, 60, 100, 140)  # items until states are judged anew
_ASKED_FOR = 6  # states that get prices of their own
_PRICES_KEPT = 12  # beside those asked for anew
_CLOSE = 0.02  # of what is still to be won, by which a bound may be too high


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best choice that the search met, if it beats the floor it was given, and what it proves."""

    choice: I64 | None  # (n,) option of each item, None: nothing better than the floor
    gain: float  # of the choice, otherwise the floor
    bound: float  # no choice brings more
    looked: int  # states that were judged


def search(
    offers: Offers,
    price: F64,
    width: int,
    floor: float = -np.inf,
    depth: int | None = None,
    enough: float = np.inf,
) -> Found:
    """The best choice, looked for with at most ``width`` states at a time.

    Args:
        offers: the items in the order in which they are decided first, those that matter most before the others.
        price: at which states are judged, shape ``(prices, k)``; any prices are right, good ones are quick.
        width: states.
        floor: gain that is to be beaten.
        depth: items that are decided, None: all; the others do what they would at one of the prices.
        enough: gain at which the search ends.
    """
    depth = len(offers) if depth is None else min(depth, len(offers))
    waiting = np.arange(len(offers))
    return _Search(offers=offers, width=width, gain=floor, price=price, waiting=waiting, enough=enough).run(depth)


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
        # ``take``, as indexing the second axis takes three times as long
        left = self.left.take(which, axis=1)
        return _States(self.gain.take(which), left, self.parent.take(which), self.taken.take(which))


@dataclass(slots=True, kw_only=True)
class _Search:
    """A search as far as it has come."""

    offers: Offers
    width: int
    gain: float  # to be beaten, or of the best choice
    price: F64
    waiting: I64  # items that are not decided, in order
    enough: float  # gain at which nothing better is looked for
    decided: list[int] = field(default_factory=list)
    trail: list[tuple[I64, I64]] = field(default_factory=list)  # parents and options, item after item
    settled: I64 = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (n,) options
    choice: I64 | None = None
    missed: float = -np.inf  # the best bound of what was dropped for width
    looked: int = 0  # states that were judged

    def run(self, depth: int) -> Found:
        """Decide so many items, stage after stage."""
        states, stage = _start(self.offers), 0
        self.settled = np.full(len(self.offers), STAY, dtype=np.int64)
        while len(states) and (open_ := min(depth - len(self.decided), len(self.waiting))):
            front = min(_STAGES[min(stage, len(_STAGES) - 1)], open_)
            states = self._stage(states, front, last=front == open_)
            stage += 1
        if len(states) and len(self.waiting):
            bound = self._outlook(0)[1].bound(states.gain, states.left, 0)
            self.missed = max(self.missed, float(bound.max()))
        return Found(choice=self.choice, gain=self.gain, bound=max(self.gain, self.missed), looked=self.looked)

    def _outlook(self, front: int) -> tuple[Offers, Outlook]:
        offers = self.offers.only(self.waiting)
        return offers, Outlook(offers, self.price, front)

    def _stage(self, states: _States, front: int, *, last: bool) -> _States:
        """Decide the items in front, then ask for prices anew."""
        offers, outlook = self._outlook(front)
        waiting, same = self.waiting, _same_as_before(offers.only(np.arange(front)))
        for item in range(front):
            states = _branch(states, offers, item, same=bool(same[item]))
            self.looked += len(states)
            self.decided.append(int(waiting[item]))
            self.waiting = waiting[item + 1 :]
            states = self._keep(states, outlook, item + 1, look=item % _LOOK_EVERY == 0 or item == front - 1)
            self.trail.append((states.parent, states.taken))
            if not len(states):
                return states
        if last:
            return states
        return self._judge_anew(states, offers, outlook, front)

    def _keep(self, states: _States, outlook: Outlook, item: int, *, look: bool) -> _States:
        """States that might beat the best choice, no more than the width; a better choice is noted on the way."""
        bound = outlook.bound(states.gain, states.left, item)
        alive = np.flatnonzero((bound > self.gain) & outlook.possible(states.left, item))
        states, bound = states.only(alive), bound[alive]
        if not len(states) or not (look or len(states) > self.width):
            return states
        certain = outlook.certain(states.gain, states.left, item)
        at = int(certain.argmax())
        kept = np.arange(len(states))
        if certain[at] > self.gain:
            self.gain = float(certain[at])
            self.choice = self._trace(states, at, outlook, item)
            kept = np.flatnonzero(bound > self.gain)
            if self.gain >= self.enough and len(kept):
                self.missed = max(self.missed, float(bound[kept].max()))
                return states.only(kept[:0])
        if len(kept) > self.width:
            narrow = _select_beam(bound[kept], certain[kept], self.width)
            self.missed = max(self.missed, float(bound[kept[~narrow]].max()))
            kept = kept[narrow]
        return states.only(kept)

    def _trace(self, states: _States, at: int, outlook: Outlook, item: int) -> I64:
        """The choice that a state stands for, with what the rest surely chooses."""
        choice = self.settled.copy()
        choice[self.waiting] = outlook.chosen(states.left[:, at], item)
        parent, taken = states.parent, states.taken
        for of, before in zip(reversed(self.decided), [*reversed(self.trail), None], strict=True):
            choice[of] = taken[at]
            at = int(parent[at])
            parent, taken = before or (parent, taken)
        return choice

    def _judge_anew(self, states: _States, offers: Offers, outlook: Outlook, item: int) -> _States:
        """Prices for some states: for those that each price says least of, the most hopeful first; and a new order."""
        bound, at, most = outlook.hope(states.gain, states.left, item)
        states, offers = self._settle(states, offers, outlook, most, item)
        order = np.argsort(-bound, kind="stable")
        _, first = np.unique(at[order], return_index=True)
        first = np.sort(first)
        asked = order[np.concatenate((first, np.delete(np.arange(len(order)), first)))[:_ASKED_FOR]]
        stake = float(bound.max()) - self.gain if np.isfinite(self.gain) else abs(float(bound.max()))
        found = reprice(offers, states.left[:, asked], outlook.price[at[asked]], _CLOSE * stake)
        often = np.bincount(at, minlength=len(outlook.price))
        kept = np.sort(np.argsort(-often, kind="stable")[:_PRICES_KEPT])
        self.price = np.concatenate((outlook.price[kept], found))
        self.waiting = self.waiting[np.argsort(-importance(offers, found), kind="stable")]
        return states

    def _settle(
        self, states: _States, offers: Offers, outlook: Outlook, most: F64, item: int
    ) -> tuple[_States, Offers]:
        """The states with what is the same in all that could still beat the best choice; and the offers still open.

        Where another choice of an item costs more than any state promises above the best, it keeps to its own. The
        least certain stays open, so that states are looked at once more with what the others do.
        """
        margin = outlook.margin[:, item:]
        sure = margin > (most - self.gain)[:, np.newaxis]
        done = np.asarray(sure.any(axis=0), dtype=np.bool_)
        done[margin.max(axis=0).argmin()] = False
        behind = offers.only(np.arange(item, len(offers)))
        choice = np.where(done, outlook.choice[sure.argmax(axis=0), item + np.arange(len(behind))], np.int64(STAY))
        self.settled[self.waiting[done]] = choice[done]
        self.waiting = self.waiting[~done]
        left = states.left - behind.used(choice)[:, np.newaxis]
        return replace(states, gain=states.gain + behind.total_gain(choice), left=left), behind.only(~done)


def _start(offers: Offers) -> _States:
    zero = np.zeros(1, dtype=np.int64)
    return _States(np.zeros(1), offers.room[:, np.newaxis], zero, zero + STAY)


def _branch(states: _States, offers: Offers, item: int, *, same: bool) -> _States:
    """Every state with every option of an item.

    Args:
        states: before the item.
        offers: of the items in front.
        item: that is decided.
        same: it is like the item before it in everything, so of the two the earlier one goes first.
    """
    options = np.flatnonzero(np.isfinite(offers.gain[:, item]))
    gain, use = np.append(0.0, offers.gain[options, item]), offers.use[:, options, item]
    use = np.hstack((np.zeros((len(use), 1)), use))
    grown = _States(
        gain=(states.gain + gain[:, np.newaxis]).ravel(),
        left=(states.left[:, np.newaxis] - use[:, :, np.newaxis]).reshape(len(use), -1),
        parent=np.tile(np.arange(len(states), dtype=np.int64), len(gain)),
        taken=np.repeat(np.append(STAY, options), len(states)),
    )
    if not same:
        return grown
    return grown.only(np.flatnonzero((grown.taken == STAY) | (states.taken[grown.parent] >= grown.taken)))


def _select_beam(bound: F64, certain: F64, width: int) -> Bools:
    """Which states are kept."""
    hopeful = width // 2
    by_bound = np.argpartition(-bound, hopeful)
    others = by_bound[hopeful:]
    kept = np.zeros(len(bound), dtype=np.bool_)
    kept[by_bound[:hopeful]] = True
    kept[others[np.argpartition(-certain[others], width - hopeful)[: width - hopeful]]] = True
    return kept


def _same_as_before(offers: Offers) -> Bools:
    """Items that equal the one before them in everything. Shape ``(n,)``."""
    same = np.zeros(len(offers), dtype=np.bool_)
    if len(offers) > 1:
        gain = (offers.gain[:, 1:] == offers.gain[:, :-1]).all(axis=0)
        same[1:] = gain & (offers.use[:, :, 1:] == offers.use[:, :, :-1]).all(axis=(0, 1))
    return same
