"""Two ways for the same units, never both: each by itself, or all of a group as a whole.

Once it is said for every group which way it goes, the question is an ordinary one, and the ``solver`` answers it. What
is to be said is decided at prices, as there: at given ones a group brings the more of what it brings as a whole and of
what its members bring, each for itself. The sum of that, at the prices where it is lowest, is a bound on all answers of
both kinds. A group whose better way is better by more than all that could still be won is settled; the others are
tried, all ways where they are few, one after the other where not. Everything by itself and everything as a whole are
always tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from connectors.model import F64, I64, Bools
from policies.solver.ellipsoid import Ellipsoid
from policies.solver.offers import SLACK, STAY, Offers, best_options
from policies.solver.placement import Placement, place

ALONE = -1  # the group of an item that has none
_CLOSE = 2e-5  # of the bound: nearer to it, another try is not worth its time
_FEW = 6  # groups that are tried in all ways
_ITEMS_TRIED = 300_000  # in all questions together, but for ...
_TRIES = 8, 24  # ... so many, which are always tried, and so many, which are enough
_CUTS = 400  # times the number of resources
_TOLERANCE = 1e-9  # of the bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """Offers for ``n`` items by themselves, and for ``g`` groups of some of them as a whole.

    Both have the same options and resources, and their items in canonical order.
    """

    narrow: Offers
    wide: Offers  # one item a group
    group: I64  # (n,) item of ``wide`` that holds each of ``narrow`` too, or ALONE

    def __len__(self) -> int:
        return len(self.narrow) + len(self.wide)

    def offers(self, whole: Bools) -> tuple[Offers, I64, I64]:
        """The ordinary question: those groups as a whole, everything else by itself; and which items that leaves."""
        alone = np.flatnonzero((self.group == ALONE) | ~np.append(whole, False)[self.group])  # ALONE reads the last
        together = np.flatnonzero(whole)
        return (
            Offers(
                gain=np.concatenate((self.narrow.gain[:, alone], self.wide.gain[:, together]), axis=1),
                use=np.concatenate((self.narrow.use[:, :, alone], self.wide.use[:, :, together]), axis=2),
                room=self.narrow.room,
            ),
            alone,
            together,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """Which way every group goes, and what that is worth."""

    whole: Bools  # (g,)
    placement: Placement  # of ``Ways.offers(whole)``; its bound is one on the answers of both kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Dual:
    """The lowest bound found, and how much better each group is as a whole at its prices."""

    bound: float
    lead: F64  # (g,) negative where the members are worth more by themselves


@dataclass(slots=True)
class _Tries:
    """Answers to the ordinary questions asked so far."""

    ways: Ways
    best: Decided | None = None
    bounds: dict[bytes, float] = field(default_factory=dict)

    def try_(self, whole: Bools) -> float:
        """Ask, unless that was asked before. The bound of that question."""
        name = whole.tobytes()
        if name not in self.bounds:
            answer = place(self.ways.offers(whole)[0])
            self.bounds[name] = answer.bound
            if self.best is None or answer.gain > self.best.placement.gain:
                self.best = Decided(whole=whole.copy(), placement=answer)
        return self.bounds[name]

    @property
    def gain(self) -> float:
        """The best so far."""
        return 0.0 if self.best is None else self.best.placement.gain

    def answer(self, limit: float) -> Decided:
        """The best so far, where no answer of either kind is above that limit."""
        assert self.best is not None, "at least one question was asked"
        found = self.best.placement
        limit = found.bound if len(self.bounds) == 1 else max(found.gain, limit)
        return replace(self.best, placement=replace(found, bound=limit))

    def questions_left(self) -> int:
        """How many more questions there is time for."""
        return int(np.clip(_ITEMS_TRIED // max(1, len(self.ways)), *_TRIES)) - len(self.bounds)


def decide(ways: Ways) -> Decided:
    """The better way of every group, as far as tries show it; of a few groups and some dozen items, the best there is.

    Never worse than with every group as a whole, or none.
    """
    groups = len(ways.wide)
    tries = _Tries(ways)
    tries.try_(np.zeros(groups, dtype=np.bool_))
    if not groups:
        return tries.answer(np.inf)  # the only question there is
    tries.try_(np.ones(groups, dtype=np.bool_))
    dual = shared_dual(ways)
    start = dual.lead > 0
    tries.try_(start)
    if dual.bound - tries.gain > _CLOSE * dual.bound:
        tries.try_(_dive(ways, dual))
    open_ = _unsettled_groups(dual, tries.gain)
    if dual.bound - tries.gain <= _CLOSE * dual.bound:
        return tries.answer(dual.bound)
    if len(open_) <= _FEW and 2 ** len(open_) <= tries.questions_left():
        proven = max(tries.try_(each) for each in _all_ways(start, open_))
        return tries.answer(min(proven, dual.bound))
    _flip(tries, open_)
    return tries.answer(dual.bound)


def _unsettled_groups(dual: Dual, gain: float) -> I64:
    """Groups whose worse way might still be part of a better answer, the most doubtful first."""
    doubt = np.abs(dual.lead)
    open_ = np.flatnonzero(doubt <= dual.bound - gain)
    return open_[np.argsort(doubt[open_], kind="stable")]


def _dive(ways: Ways, dual: Dual) -> Bools:
    """Ways said step by step: of the groups still open those that are surest, at prices that know what was said before.

    At the first prices hardly anybody fits beside a few whole groups at the threshold; as these are said, prices move.
    """
    whole = np.zeros(len(ways.wide), dtype=np.bool_)
    said = np.zeros(len(ways.wide), dtype=np.bool_)
    while not said.all():
        left = np.flatnonzero(~said)
        surest = left[np.argsort(-np.abs(dual.lead[left]), kind="stable")][: max(1, len(left) // 3)]
        whole[surest], said[surest] = dual.lead[surest] > 0, True
        dual = shared_dual(_fix_ways(ways, whole, said))
    return whole


def _fix_ways(ways: Ways, whole: Bools, said: Bools) -> Ways:
    """The question where some groups have only one way left."""
    gone = np.append(said & whole, False)[ways.group]  # ALONE reads the last
    return replace(
        ways,
        narrow=replace(ways.narrow, gain=np.where(gone, -np.inf, ways.narrow.gain)),
        wide=replace(ways.wide, gain=np.where(said & ~whole, -np.inf, ways.wide.gain)),
    )


def _all_ways(start: Bools, open_: I64) -> Iterator[Bools]:
    """Every combination of the open groups, the others as they are."""
    for choice in product((False, True), repeat=len(open_)):
        whole = start.copy()
        whole[open_] = choice
        yield whole


def _flip(tries: _Tries, open_: I64) -> None:
    """The other way for one group after the other, kept where that is better."""
    for group in open_:
        if tries.questions_left() <= 0:
            break
        assert tries.best is not None, "at least one question was asked"
        whole = tries.best.whole.copy()
        whole[group] = not whole[group]
        tries.try_(whole)


def shared_dual(ways: Ways) -> Dual:
    """A bound on all answers of both kinds, by an ellipsoid that is cut (``solver.ellipsoid``).

    What is overdrawn from the start counts as just used up: with more room nothing is worth less.
    """
    ways = _scarce(ways)
    room = ways.narrow.room
    scale = _scale(ways, room)
    best = _evaluate_dual(ways, room, np.zeros(len(room)))[0]
    held = Ellipsoid.around(len(room))
    held.least = best.bound

    def look(price: F64) -> tuple[float, F64]:
        nonlocal best
        found, slope = _evaluate_dual(ways, room, price * scale)
        best = found if found.bound < best.bound else best
        return found.bound, slope * scale

    for _ in range(_CUTS * len(room)):
        if not held.cut(look, _TOLERANCE):
            break
    return best


def _scarce(ways: Ways) -> Ways:
    """The same without resources that could not run out, and without options that no other could make room for."""
    room = np.maximum(ways.narrow.room, 0.0)
    sides = [replace(each, use=np.where(np.isfinite(each.gain), each.use, 0.0)) for each in (ways.narrow, ways.wide)]
    rows = sum((each.most_taken() for each in sides), 0 * room) > room
    left = sum((each.most_given() for each in sides), room + SLACK)[rows, np.newaxis, np.newaxis]
    narrow, wide = (
        Offers(
            gain=np.where(np.all(each.use[rows] <= left, axis=0), each.gain, -np.inf),
            use=each.use[rows],
            room=room[rows],
        )
        for each in sides
    )
    return Ways(narrow=narrow, wide=wide, group=ways.group)


def _evaluate_dual(ways: Ways, room: F64, price: F64) -> tuple[Dual, F64]:
    """The figure at some prices, and which way it rises."""
    groups = len(ways.wide)
    (alone, own), (together, whole) = (best_options(each.reduced_gain(price)) for each in (ways.narrow, ways.wide))
    members = np.bincount(ways.group + 1, weights=own, minlength=groups + 1)
    lead = whole - members[1:]
    taken = lead > 0
    by_itself = np.where((ways.group == ALONE) | ~np.append(taken, False)[ways.group], alone, STAY)
    used = ways.narrow.used(by_itself) + ways.wide.used(np.where(taken, together, STAY))
    bound = float(price @ room + members.sum() + lead[taken].sum())
    return Dual(bound=bound, lead=lead), room - used


def _scale(ways: Ways, room: F64) -> F64:
    """No best price is above this: what all room is worth cannot be more than all there is to gain and to lose."""
    sides = ways.narrow, ways.wide
    stake, given = sum(offers.at_stake() for offers in sides), sum((offers.most_given() for offers in sides), room)
    return np.asarray(max(stake, 1e-300) / np.maximum(given, 1e-12), dtype=np.float64)
