"""Linear relaxations of one program after some decisions, thousands of them, from the prices of the one before.

A relaxation has a handful of scarce things and thousands of binaries of which all but some hundred are where any
prices near the best would have them. HiGHS gets those hundred - the core - and keeps its basis from one call to the
next; the others stay where they are until its prices say otherwise, and join the core then (column generation).

The bound is not HiGHS's word: at any prices that are not negative the price of all room and the best of each unit at
these prices is more than any whole answer brings (Lagrange), and that sum is made here, over all binaries. HiGHS finds
the prices where it is lowest, which is what the relaxation comes to. Rows that cut away parts (``policy_cuts``) are
scarce things like the others, so the sum holds with them as it does without.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import highspy
import numpy as np
from scipy.optimize import linprog

from connectors.model.observation import F64, I64, Bools
from tests.bench.policy_cuts import WHOLE, Row, cuts
from tests.bench.policy_instances import Program

_NEAR = 300  # units that are in the core from the start
_ENTER = 100  # units that join it in one round
_CLOSE = 1e-7  # of the bound: less is no reason to join
_DEAR = 1e6  # times the dearest first price: what it takes more than there is costs that, so there is always an answer
_ROUNDS, _AT_ONCE = 60, 12  # of cutting at most, and rows that one adds at most
_LATELY, _WORTH = 6, 0.02  # cutting ends when as many rounds lower what is open by less than this share
_INF = highspy.kHighsInf


@dataclass(frozen=True)
class Decided:
    """What is decided: some binaries, and what passes between limited tiers."""

    binaries: tuple[tuple[int, bool], ...] = ()  # and whether they are taken
    passed: float = 0.0  # room for as much is found
    below: float = _INF  # nothing passes that is as large

    def taken(self) -> I64:
        """Binaries that are taken."""
        return np.array([binary for binary, taken in self.binaries if taken], dtype=np.int64)

    def barred(self) -> I64:
        """Binaries that are not."""
        return np.array([binary for binary, taken in self.binaries if not taken], dtype=np.int64)


@dataclass(frozen=True)
class Relaxed:
    """The relaxation of what is still open."""

    bound: float  # no whole answer brings more
    taken: F64 | None  # (v,) of each binary; None: the bound is no higher than was asked for


class Relaxation:
    """The relaxations of one program."""

    def __init__(self, asked: Program, floor: float) -> None:
        """A program, without binaries that answers above a floor do not take."""
        asked = asked.only(asked.affordable())
        asked = asked.only(np.argsort(asked.unit, kind="stable"))
        self._take(asked, [])
        self._narrow(_first_prices(asked), floor)

    def tighten(self, floor: float, end: float) -> None:
        """Cut away parts until that hardly lowers the bound any more, or the processor's time is ``end``."""
        bounds = list[float]()
        while len(bounds) < _ROUNDS and time.process_time() < end:
            relaxed = self.solved(Decided(), floor)
            bounds.append(relaxed.bound)
            if relaxed.taken is None or _stalls(bounds, floor):
                return
            added = cuts(self.asked, relaxed.taken, self._cuts, _AT_ONCE)
            if not added:
                return
            self._cut(added, floor)

    def _cut(self, added: list[Row], floor: float) -> None:
        """With more rows, and without those whose price is nothing."""
        first = len(self._room) - len(self._cuts)
        price, holds = self._price, self._price[first:] > 0
        held = [row for row, each in zip(self._cuts, holds, strict=True) if each]
        self._take(self.asked, [*held, *added])
        self._narrow(np.concatenate((price[:first], price[first:][holds], np.zeros(len(added)))), floor)

    def _narrow(self, price: F64, floor: float) -> None:
        """Without binaries that answers above a floor do not take, as some prices show."""
        reduced, best = self._best(price, Decided())
        bound = float(price @ self._room + best.sum())
        kept = bound - best[self._group] + reduced > floor
        self._take(self.asked.only(kept), [cut.only(kept) for cut in self._cuts])
        self._start(price)

    def _take(self, asked: Program, rows: list[Row]) -> None:
        self.asked, self._cuts = asked, rows
        self._first = np.flatnonzero(np.append(True, asked.unit[1:] != asked.unit[:-1]))[: len(asked.unit)]
        self._group = np.repeat(np.arange(len(self._first)), np.diff(np.append(self._first, len(asked.unit))))
        self._use = np.vstack((asked.use, -asked.leaves, *(row.left for row in rows)))
        self._room = np.concatenate((asked.room, [asked.free], [row.right for row in rows]))

    def _start(self, price: F64) -> None:
        """Everybody is where first prices put them; the nearest to another choice make up the core."""
        reduced, best = self._best(price, Decided())
        self._at_rest = (reduced == best[self._group]) & (reduced > 0)
        self._at_rest[1:] &= ~(self._at_rest[:-1] & (self._group[1:] == self._group[:-1]))  # of equals one
        self._unit = max(float(np.abs(self.asked.gain).max(initial=0.0)), 1e-300)
        self._inside, self._single = np.zeros(len(self._first), dtype=np.bool_), np.zeros(len(self._first), np.bool_)
        self._core, self._column = np.zeros(0, dtype=np.int64), np.full(len(self._group), -1)
        self._now, self._below = dict[int, bool](), _INF
        self._highs = _quiet(len(self._room), _DEAR * max(float(price.max()) / self._unit, 1e-9))
        doubt = np.full(len(self._first), _INF)
        np.minimum.at(doubt, self._group, np.where(self._at_rest, reduced, best[self._group] - reduced))
        self._enter(np.argsort(doubt)[:_NEAR])

    def solved(self, decided: Decided, floor: float) -> Relaxed:
        """The relaxation where that is above a floor; below it, no more than that."""
        room = self._room.copy()
        room[len(self.asked.room)] -= decided.passed
        self._decide(decided)
        while True:
            price, taken = self._asked_highs(room - self._use[:, self._at_rest].sum(axis=1))
            reduced, best = self._best(price, decided)
            must = decided.taken()
            bound = float(price @ room + best.sum() + (reduced - best[self._group])[must].sum())
            if bound <= floor:
                return Relaxed(bound, None)
            if not self._grown(reduced, best, taken, _CLOSE * abs(bound)):
                all_taken = self._at_rest.astype(np.float64)
                all_taken[self._core] = taken
                return Relaxed(bound, all_taken)

    def _best(self, price: F64, decided: Decided) -> tuple[F64, F64]:
        """Of each binary what it gains less what it uses, and of each unit the best that may still be decided."""
        reduced = self.asked.gain - price @ self._use
        open_ = reduced
        if decided.binaries or decided.below < _INF:
            open_ = np.where(self.asked.passes >= decided.below, -np.inf, reduced)
            open_[decided.barred()] = -np.inf
        if not len(reduced):
            return reduced, reduced
        return reduced, np.maximum(np.maximum.reduceat(open_, self._first), 0.0)

    def _grown(self, reduced: F64, best: F64, taken: F64, close: float) -> bool:
        """Whether somebody joins the core who is at rest elsewhere than prices have it, or is taken twice in it."""
        resting = np.zeros(len(best))
        np.add.at(resting, self._group[self._at_rest], reduced[self._at_rest])
        wrong = np.where(self._inside, 0.0, best - resting)
        twice = np.bincount(self._group[self._core], weights=taken, minlength=len(best)) > 1.0 + WHOLE
        twice &= ~self._single
        for unit in np.flatnonzero(twice):
            columns = self._column[self._group == unit]
            self._highs.addRow(-_INF, 1.0, len(columns), columns.astype(np.int32), np.ones(len(columns)))
        self._single |= twice
        enters = float(wrong.sum()) > close
        if enters:
            most = np.argsort(-wrong)[:_ENTER]
            self._enter(most[wrong[most] > 0])
        return enters or bool(twice.any())

    def _enter(self, units: I64) -> None:
        """Units join the core."""
        self._inside[units] = True
        new = np.flatnonzero(np.isin(self._group, units))
        self._at_rest[new] = False
        self._column[new] = len(self._room) + len(self._core) + np.arange(len(new))
        self._core = np.concatenate((self._core, new))
        for binary in new:
            rows = np.flatnonzero(self._use[:, binary]).astype(np.int32)
            lower, upper = self._bounds(int(binary))
            gain = -self.asked.gain[binary] / self._unit
            self._highs.addCol(gain, lower, upper, len(rows), rows, self._use[rows, binary])

    def _bounds(self, binary: int) -> tuple[float, float]:
        decided = self._now.get(binary)
        if decided is None:
            return 0.0, float(self.asked.passes[binary] < self._below)
        return float(decided), float(decided)

    def _decide(self, decided: Decided) -> None:
        """Tell HiGHS what is decided now that was not before, and what no longer is."""
        before, below = self._now, self._below
        self._now, self._below = dict(decided.binaries), decided.below
        outside = self._at_rest & (self.asked.passes >= decided.below)
        outside[list(self._now)] |= ~self._inside[self._group[list(self._now)]]
        if outside.any():
            self._enter(np.unique(self._group[outside]))
        changed = {binary for binary, _ in before.items() ^ self._now.items()}
        if below != decided.below:
            changed.update(self._core[self.asked.passes[self._core] >= min(below, decided.below)].tolist())
        if changed:
            which = list(changed)
            lower, upper = zip(*(self._bounds(binary) for binary in which), strict=True)
            columns = self._column[which].astype(np.int32)
            self._highs.changeColsBounds(len(which), columns, np.array(lower), np.array(upper))

    def _asked_highs(self, room: F64) -> tuple[F64, F64]:
        """Prices, and what is taken of the core."""
        for row, most in enumerate(room):
            self._highs.changeRowBounds(row, -_INF, float(most))
        self._highs.run()
        found = self._highs.getSolution()
        # Prices that rounding has made negative would be no bound any more; at any others the sum is one.
        self._price = np.maximum(-np.array(found.row_dual[: len(room)]), 0.0) * self._unit
        return self._price, np.array(found.col_value[len(room) :])

    def affordable(self, decided: Decided, which: I64) -> Bools:
        """Binaries of some beside which what is decided still leaves the budget that they need."""
        asked, taken = self.asked, decided.taken()
        left = replace(
            asked.only(which),
            room=asked.room - asked.use[:, taken].sum(axis=1),
            free=asked.free + float(asked.leaves[taken].sum()),
            passed=max(decided.passed, float(asked.passes[taken].max(initial=0.0))),
        )
        return left.affordable()

    def others(self, binary: int) -> list[int]:
        """The other binaries of a binary's unit."""
        return [int(other) for other in np.flatnonzero(self._group == self._group[binary]) if other != binary]


def _stalls(bounds: list[float], floor: float) -> bool:
    """Whether the last rounds lowered what is open above a floor by hardly anything."""
    return len(bounds) > _LATELY and bounds[-_LATELY - 1] - bounds[-1] < _WORTH * (bounds[-1] - floor)


def _quiet(rows: int, dear: float) -> highspy.Highs:
    """HiGHS with a row for each scarce thing, of which more than there is can be had, though dear."""
    highs: highspy.Highs = highspy.Highs()  # type: ignore[no-untyped-call]  # highspy has no types
    for name, value in (("output_flag", "off"), ("presolve", "off"), ("solver", "simplex"), ("threads", "1")):
        highs.setOptionValue(name, value)
    for _ in range(rows):
        highs.addRow(-_INF, 0.0, 0, np.zeros(0, dtype=np.int32), np.zeros(0))
    for row in range(rows):
        highs.addCol(dear, 0.0, _INF, 1, np.array([row], dtype=np.int32), np.array([-1.0]))
    return highs


def _first_prices(asked: Program) -> F64:
    """Prices of everything scarce, and of what leaves, before anything is decided."""
    unit = max(float(np.abs(asked.gain).max(initial=0.0)), 1e-300)
    if not len(asked.gain):
        return np.zeros(len(asked.room) + 1)
    done = linprog(-asked.gain / unit, A_ub=asked.use, b_ub=asked.room, bounds=(0, 1), method="highs")
    if done.x is None:
        return np.zeros(len(asked.room) + 1)
    return np.append(np.maximum(-done.ineqlin.marginals, 0.0) * unit, 0.0)
