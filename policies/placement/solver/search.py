"""Beam search with bounds over the items that prices leave open.

``Relaxation`` bounds thousands of search states at once. At each of a dozen prices the undecided items take their best
option. That gives an upper bound on what a state can still reach. Where the options fit its residual capacity, it also
gives a complete feasible choice, that is a lower bound. Suffix sums over the items in front are kept per price, so
bounding a state costs a few additions, however many items follow.

``search`` is branch and bound over the core, breadth first, at most ``width`` states at a time. States with an upper
bound no better than the best lower bound are pruned. If too many survive, half of those kept have the best upper bounds
and half the best lower bounds: upper bounds alone follow hopes that end infeasible, lower bounds alone stop at the
first local optimum. Items are fixed for good once every other option loses more than any state can still win.

Prices are optimised again after the first item, and then after longer and longer stages, for a few states that differ
(``dual``), and the items are reordered by importance. Residual capacities differ once large items are decided, and with
them the optimal prices and the critical items.

The answer is optimal if no state was dropped for width. Otherwise, or if the search stops at its target, the best upper
bound among the dropped states is kept, so every answer comes with a proven bound.

Depth-first branch and bound is no alternative: with several capacities and items of very different size, the root's
bound is loose until the large items are decided, and the search spends its time below one early wrong decision. Nor is
dynamic programming: its table has one dimension per resource, in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from connectors.model.observation import F64, I8, I64, Bools
from policies.placement.solver.dual import DualEvaluator, importance, reprice
from policies.placement.solver.offers import SLACK, STAY, Offers


class Relaxation:
    """Suffix sums by price over the items from the ``t``-th on, ``t`` running through the items in front."""

    def __init__(self, offers: Offers, price: F64, front: int) -> None:
        """Relax the items, which are in the order in which they are decided.

        Args:
            offers: of the items.
            price: shape ``(p, k)``; any non-negative prices give valid bounds, near-optimal ones tight bounds.
            front: items that are decided with this relaxation.
        """
        self.price = price
        self.choice, self.margin, self.worth, self.gain, self.consumption = _sums(offers, price, front)
        release = np.maximum(-offers.consumption.min(axis=1), 0.0)
        self.release = _from(release[:, :front], release[:, front:].sum(axis=1))  # (k, front + 1)

    def optimistic_gain(self, gain: F64, residual: F64, item: int) -> F64:
        """Upper bounds of each state by price, shape ``(p, m)``: the lowest of them holds.

        Args:
            gain: of each state so far.
            residual: capacity left of each resource, shape ``(k, m)``.
            item: the next that is decided.
        """
        # Added in place: prices times states is the largest array of a search, and each temporary copy of it would be
        # written and read again for every item.
        optimistic_gain = self.price @ residual
        optimistic_gain += self.worth[:, item, np.newaxis]
        optimistic_gain += gain
        return np.asarray(optimistic_gain, dtype=np.float64)

    def can_fit(self, residual: F64, item: int) -> Bools:
        """States from which the undecided items could still release what is overdrawn. Shape ``(m,)``."""
        # A state may be overdrawn for now, since an item that releases may be decided after the one that needs its
        # room. Only what all the rest together could not repay is dropped.
        can_fit = np.ones(residual.shape[1], dtype=np.bool_)
        for of, release in zip(
            residual, self.release[:, item], strict=True
        ):  # quicker than all(axis=0) of a few long rows
            can_fit &= of + release >= -SLACK
        return can_fit

    def certain_gain(self, gain: F64, residual: F64, item: int) -> F64:
        """The lower bound of each state: its gain with the best completion that fits, else ``-inf``. Shape ``(m,)``."""
        fits = np.ones((len(self.price), len(gain)), dtype=np.bool_)
        for of, consumption in zip(residual, self.consumption, strict=True):
            fits &= of + SLACK >= consumption[:, item, np.newaxis]
        more = np.where(fits, self.gain[:, item, np.newaxis], -np.inf)
        return np.asarray(gain + more.max(axis=0), dtype=np.float64)

    def completion(self, residual: F64, item: int) -> I8:
        """The options of the items from one on in the best completion that fits one state's residual, ``(k,)``."""
        fits = (residual[:, np.newaxis] + SLACK >= self.consumption[:, :, item]).all(axis=0)
        price = int(np.where(fits, self.gain[:, item], -np.inf).argmax())
        return self.choice[price, item:]


def _sums(offers: Offers, price: F64, front: int) -> tuple[I8, F64, F64, F64, F64]:
    """Per price: options and margins of all items; suffix sums of relaxed gain, plain gain and consumption."""
    choice, worth, margin = DualEvaluator(offers).rank_options(price)
    near, far = choice[:, :front], choice[:, front:]
    # STAY (-1) would index the last option; the entries read for it are masked below.
    option, item = np.maximum(near, 0), np.arange(front)
    gain = np.where(near != STAY, offers.gain[option, item], 0.0)
    consumption = np.where(near != STAY, offers.consumption[:, option, item], 0.0)
    # Items behind the front enter as one total by matrix products. Suffix sums item by item over the whole core would
    # be an array of prices x resources x items, whose next stages are computed at other prices anyway.
    takes = [(far == each).astype(np.float64) for each in range(len(offers.gain))]
    # In a matrix product 0 times -inf is NaN, so options that do not exist must not enter it.
    real = np.where(np.isfinite(offers.gain[:, front:]), offers.gain[:, front:], 0.0)
    gain_behind = sum((each @ of for each, of in zip(takes, real, strict=True)), np.zeros(len(price)))
    behind = np.zeros((len(offers.capacity), len(price)))
    for each, of in zip(takes, offers.consumption.swapaxes(0, 1), strict=True):
        behind += of[:, front:] @ each.T
    worth = _from(worth[:, :front], worth[:, front:].sum(axis=1))
    return choice, margin, worth, _from(gain, gain_behind), _from(consumption, behind)


def _from(column: F64, behind: F64) -> F64:
    """Suffix sums of each line, plus the sum over the items behind the front."""
    sums = np.empty((*column.shape[:-1], column.shape[-1] + 1))
    sums[..., -1] = 0.0
    sums[..., :-1] = np.cumsum(column[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray(sums + behind[..., np.newaxis], dtype=np.float64)


_LOOK_EVERY = 4  # items between two computations of lower bounds while all states fit the width
_STAGES = (1, 2, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 40, 60, 100, 140)  # items decided between two repricings
_STATES_REPRICED = 6  # states that get prices of their own
_PRICES_KEPT = 12  # earlier prices kept next to the new ones
_CLOSE = 0.02  # tolerance of repricing, as a share of what can still be won


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The best choice found, if it beats the given floor, and the proven bound."""

    choice: I64 | None  # (n,) option of each item, None: nothing better than the floor
    gain: float  # of the choice, otherwise the floor
    bound: float  # upper bound on every choice, at least ``gain``


def search(
    offers: Offers,
    price: F64,
    width: int,
    floor: float = -np.inf,
    depth: int | None = None,
    enough: float = np.inf,
) -> SearchResult:
    """The best choice found with at most ``width`` states at a time.

    Args:
        offers: the items in the order in which they are decided, the most important first.
        price: at which states are bounded, shape ``(prices, k)``; any non-negative prices are valid.
        width: of the beam, in states.
        floor: gain that is to be beaten.
        depth: items that are decided, None: all; the others take their relaxed options.
        enough: gain at which the search ends.
    """
    depth = len(offers) if depth is None else min(depth, len(offers))
    waiting = np.arange(len(offers))
    return _Search(offers=offers, width=width, gain=floor, price=price, waiting=waiting, enough=enough).run(depth)


@dataclass(slots=True)
class _States:
    """Partial choices, one column per state."""

    gain: F64  # (m,) so far
    residual: F64  # (k, m) of each resource
    parent: I64  # (m,) column among the states one item earlier
    taken: I64  # (m,) option of the last item, STAY for none

    def __len__(self) -> int:
        return len(self.gain)

    def only(self, which: I64) -> _States:
        """The states of some columns."""
        # ``take``: indexing the second axis takes three times as long.
        residual = self.residual.take(which, axis=1)
        return _States(self.gain.take(which), residual, self.parent.take(which), self.taken.take(which))


@dataclass(slots=True, kw_only=True)
class _Search:
    """A beam search in progress."""

    offers: Offers
    width: int
    gain: float  # lower bound: the floor, or the gain of the best choice
    price: F64
    waiting: I64  # undecided items, in order
    enough: float  # gain at which the search ends
    decided: list[int] = field(default_factory=list)
    # Parents and options item by item, traced back for the few choices that are recorded: a complete choice in each
    # state would be copied, for thousands of states, at every item.
    trail: list[tuple[I64, I64]] = field(default_factory=list)  # parents and options, item after item
    settled: I64 = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (n,) options
    choice: I64 | None = None
    missed: float = -np.inf  # the best upper bound among states dropped for width

    def run(self, depth: int) -> SearchResult:
        """Decide so many items, stage after stage."""
        states, stage = _start(self.offers), 0
        self.settled = np.full(len(self.offers), STAY, dtype=np.int64)
        while len(states) and (open_ := min(depth - len(self.decided), len(self.waiting))):
            front = min(_STAGES[min(stage, len(_STAGES) - 1)], open_)
            states = self._stage(states, front, last=front == open_)
            stage += 1
        if len(states) and len(self.waiting):
            bound = self._relax(0)[1].optimistic_gain(states.gain, states.residual, 0)
            self.missed = max(self.missed, float(bound.min(axis=0).max()))
        return SearchResult(choice=self.choice, gain=self.gain, bound=max(self.gain, self.missed))

    def _relax(self, front: int) -> tuple[Offers, Relaxation]:
        offers = self.offers.only(self.waiting)
        return offers, Relaxation(offers, self.price, front)

    def _stage(self, states: _States, front: int, *, last: bool) -> _States:
        """Decide the items in front, then optimise prices again."""
        offers, relaxation = self._relax(front)
        waiting, same = self.waiting, _same_as_before(offers.only(np.arange(front)))
        for item in range(front):
            states = _branch(states, offers, item, same=bool(same[item]))
            self.decided.append(int(waiting[item]))
            self.waiting = waiting[item + 1 :]
            states = self._keep(states, relaxation, item + 1, look=item % _LOOK_EVERY == 0 or item == front - 1)
            self.trail.append((states.parent, states.taken))
            if not len(states):
                return states
        if last:
            return states
        return self._reprice_and_reorder(states, offers, relaxation, front)

    def _keep(self, states: _States, relaxation: Relaxation, item: int, *, look: bool) -> _States:
        """Prune by bounds and cut down to the width; a better complete choice is recorded on the way."""
        bound = relaxation.optimistic_gain(states.gain, states.residual, item).min(axis=0)
        alive = np.flatnonzero((bound > self.gain) & relaxation.can_fit(states.residual, item))
        states, bound = states.only(alive), bound[alive]
        # Lower bounds need a comparison for every price and resource, so they wait for some items while nothing has to
        # be dropped.
        if not len(states) or not (look or len(states) > self.width):
            return states
        certain_gain = relaxation.certain_gain(states.gain, states.residual, item)
        at = int(certain_gain.argmax())
        kept = np.arange(len(states))
        if certain_gain[at] > self.gain:
            self.gain = float(certain_gain[at])
            self.choice = self._trace(states, at, relaxation, item)
            kept = np.flatnonzero(bound > self.gain)
            if self.gain >= self.enough and len(kept):
                self.missed = max(self.missed, float(bound[kept].max()))
                return states.only(kept[:0])
        if len(kept) > self.width:
            narrow = _select_beam(bound[kept], certain_gain[kept], self.width)
            self.missed = max(self.missed, float(bound[kept[~narrow]].max()))
            kept = kept[narrow]
        return states.only(kept)

    def _trace(self, states: _States, at: int, relaxation: Relaxation, item: int) -> I64:
        """The complete choice of a state: its decisions, traced back by parent, and the relaxed completion."""
        choice = self.settled.copy()
        choice[self.waiting] = relaxation.completion(states.residual[:, at], item)
        parent, taken = states.parent, states.taken
        for of, before in zip(reversed(self.decided), [*reversed(self.trail), None], strict=True):
            choice[of] = taken[at]
            at = int(parent[at])
            parent, taken = before or (parent, taken)
        return choice

    def _reprice_and_reorder(self, states: _States, offers: Offers, relaxation: Relaxation, item: int) -> _States:
        """Optimise prices for some states, and order the undecided items by importance at the new prices.

        Repriced are the states with the best upper bounds, at first one for each price that proves the bound of some
        state.
        """
        optimistic = relaxation.optimistic_gain(states.gain, states.residual, item)
        bound, at = optimistic.min(axis=0), optimistic.argmin(axis=0)
        states, offers = self._settle(states, offers, relaxation, optimistic.max(axis=1), item)
        order = np.argsort(-bound, kind="stable")
        _, first = np.unique(at[order], return_index=True)
        first = np.sort(first)
        repriced = order[np.concatenate((first, np.delete(np.arange(len(order)), first)))[:_STATES_REPRICED]]
        stake = float(bound.max()) - self.gain if np.isfinite(self.gain) else abs(float(bound.max()))
        new_prices = reprice(offers, states.residual[:, repriced], relaxation.price[at[repriced]], _CLOSE * stake)
        # Earlier prices stay where they prove most bounds: the new ones are tight for the few states they were
        # optimised for, and may be loose for all others.
        often = np.bincount(at, minlength=len(relaxation.price))
        kept = np.sort(np.argsort(-often, kind="stable")[:_PRICES_KEPT])
        self.price = np.concatenate((relaxation.price[kept], new_prices))
        self.waiting = self.waiting[np.argsort(-importance(offers, new_prices, stake), kind="stable")]
        return states

    def _settle(
        self, states: _States, offers: Offers, relaxation: Relaxation, most: F64, item: int
    ) -> tuple[_States, Offers]:
        """Fix items whose other options lose more than any state can still win.

        Returns the states with the fixed items' gain and consumption, and the offers of the items that stay open. The
        item of the smallest margin stays open in any case, so that lower bounds are computed once more after the
        fixing.
        """
        margin = relaxation.margin[:, item:]
        sure = margin > (most - self.gain)[:, np.newaxis]
        done = np.asarray(sure.any(axis=0), dtype=np.bool_)
        done[margin.max(axis=0).argmin()] = False
        behind = offers.only(np.arange(item, len(offers)))
        choice = np.where(done, relaxation.choice[sure.argmax(axis=0), item + np.arange(len(behind))], np.int64(STAY))
        self.settled[self.waiting[done]] = choice[done]
        self.waiting = self.waiting[~done]
        residual = states.residual - behind.total_consumption(choice)[:, np.newaxis]
        return replace(states, gain=states.gain + behind.total_gain(choice), residual=residual), behind.only(~done)


def _start(offers: Offers) -> _States:
    zero = np.zeros(1, dtype=np.int64)
    return _States(np.zeros(1), offers.capacity[:, np.newaxis], zero, zero + STAY)


def _branch(states: _States, offers: Offers, item: int, *, same: bool) -> _States:
    """Every state with every option of an item.

    Args:
        states: before the item.
        offers: of the items in front.
        item: that is decided.
        same: whether it equals the item before it in everything; then of two symmetric states only the one is built in
            which the earlier item takes the option of the higher number.
    """
    options = np.flatnonzero(np.isfinite(offers.gain[:, item]))
    gain, consumption = np.append(0.0, offers.gain[options, item]), offers.consumption[:, options, item]
    consumption = np.hstack((np.zeros((len(consumption), 1)), consumption))
    grown = _States(
        gain=(states.gain + gain[:, np.newaxis]).ravel(),
        residual=(states.residual[:, np.newaxis] - consumption[:, :, np.newaxis]).reshape(len(consumption), -1),
        parent=np.tile(np.arange(len(states), dtype=np.int64), len(gain)),
        taken=np.repeat(np.append(STAY, options), len(states)),
    )
    if not same:
        return grown
    # Ordered states instead of a set of those seen: equal items lie next to each other, so comparing with the parent's
    # option is enough.
    return grown.only(np.flatnonzero((grown.taken == STAY) | (states.taken[grown.parent] >= grown.taken)))


def _select_beam(bound: F64, certain_gain: F64, width: int) -> Bools:
    """The states that are kept: half by upper bound, half by lower bound."""
    hopeful = width // 2
    by_bound = np.argpartition(-bound, hopeful)
    others = by_bound[hopeful:]
    kept = np.zeros(len(bound), dtype=np.bool_)
    kept[by_bound[:hopeful]] = True
    kept[others[np.argpartition(-certain_gain[others], width - hopeful)[: width - hopeful]]] = True
    return kept


def _same_as_before(offers: Offers) -> Bools:
    """Items that equal the one before them in everything. Shape ``(n,)``."""
    same = np.zeros(len(offers), dtype=np.bool_)
    if len(offers) > 1:
        gain = (offers.gain[:, 1:] == offers.gain[:, :-1]).all(axis=0)
        same[1:] = gain & (offers.consumption[:, :, 1:] == offers.consumption[:, :, :-1]).all(axis=(0, 1))
    return same
