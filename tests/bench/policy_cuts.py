"""Cutting planes: rows that every whole answer to a program obeys, and a relaxation that takes parts does not.

They are made by rounding (mixed-integer rounding; Nemhauser and Wolsey 1990, Marchand and Wolsey 2001). Where
``sum(a * x) <= b`` holds for whole ``x``, so does for any step ``s`` ``sum(G(a / s) * x) <= floor(b / s)`` with
``G(d) = floor(d) + max(0, d - floor(d) - f) / (1 - f)`` and ``f`` what ``b / s`` is above its floor.

What is rounded are the scarce things, one by one and added up. Room and budget together say most: who comes takes
room and budget, who leaves gives as much room as it takes of the budget, so hardly anything is below zero in their sum.
Each unit is counted from what the relaxation takes most of - staying put or one of its ways - since a row says most of
a relaxation where little is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from connectors.model.observation import F64, I64, Bools
from tests.bench.policy_instances import Program

WHOLE = 1e-7  # nearer to 0 or 1 a binary is no part
_WEIGHTS = range(3)  # of the scarce things that are added up
_PASSING = 4  # rows of the largest that pass
_STEPS = 20  # largest amounts of a row that are tried as steps, and their parts
_SHARES = (1.0, 0.5, 1 / 3, 0.25)
_REST = 0.02  # of a step: a rest nearer to nothing or all is not told from an error of rounding
_LEAST = 1e-3  # by which a row is broken, in units of its length
_ALIKE = 0.98  # cosine of two rows of which one is enough


@dataclass(frozen=True)
class Row:
    """``left @ x <= right`` for every whole answer."""

    left: F64  # (v,)
    right: float

    def only(self, which: I64 | Bools) -> Row:
        """Of some of the binaries."""
        return Row(self.left[which], self.right)

    def alike(self, other: Row) -> bool:
        """Whether it cuts the same corner."""
        length = float(np.linalg.norm(self.left) * np.linalg.norm(other.left))
        return abs(float(self.left @ other.left)) > _ALIKE * length


def cuts(asked: Program, taken: F64, rows: list[Row], most: int) -> list[Row]:
    """Rows that a relaxation breaks, the deepest first.

    Args:
        asked: the program, its binaries in the order of units.
        taken: of each binary by the relaxation. Shape ``(v,)``.
        rows: that are known to hold beside the program's.
        most: so many at most.
    """
    counted, found = _counted(asked, taken), list[tuple[float, float, Row]]()
    for row in [*_summed(asked), *_passing(asked, taken), *rows]:
        depth, step = counted.deepest(row)
        if depth > _LEAST:
            found.append((depth, step, row))
    cut = list[Row]()
    for _, step, row in sorted(found, key=lambda each: -each[0]):
        new = counted.rounded(row, step)
        if len(cut) < most and not any(new.alike(other) for other in cut):
            cut.append(new)
    return cut


def _summed(asked: Program) -> list[Row]:
    """The scarce things added up, each some times, without multiples."""
    weights = np.array([each for each in product(_WEIGHTS, repeat=len(asked.room)) if np.gcd.reduce(each) == 1])
    return [Row(left, float(right)) for left, right in zip(weights @ asked.use, weights @ asked.room, strict=True)]


def _passing(asked: Program, taken: F64) -> list[Row]:
    """Who passes takes what is free with what leaves: the largest of which something passes, each by itself."""
    rows = [Row(asked.use[-1] - asked.leaves, float(asked.room[-1]) + asked.free)]
    large = np.flatnonzero((taken > WHOLE) & (asked.passes > asked.free))
    for binary in large[np.argsort(-(asked.passes * taken)[large], kind="stable")][:_PASSING]:
        left = -asked.leaves
        left[binary] += asked.passes[binary]
        rows.append(Row(left, asked.free))
    return rows


@dataclass(frozen=True)
class _Counted:
    """Units, each counted from the choice of which a relaxation takes most."""

    unit: I64  # (v,) of each binary
    origin: I64  # (units,) the binary of which most is taken; -1: it stays
    binaries: I64  # of units of which parts are taken
    staying: I64  # units of which parts are taken, and that are not counted from staying
    parts: F64  # of these binaries, and of staying of these units

    def deepest(self, row: Row) -> tuple[float, float]:
        """How deep the relaxation breaks what a row becomes when it is rounded, and the step at which that is most."""
        origin = self._origin(row)
        left = np.concatenate((row.left[self.binaries] - origin[self.unit[self.binaries]], -origin[self.staying]))
        amounts = np.unique(np.abs(left[np.abs(left) > WHOLE]))[-_STEPS:]
        steps = np.unique(np.outer(_SHARES, amounts))
        above = (row.right - origin.sum()) / steps
        rest = above - np.floor(above)
        fine = (rest > _REST) & (rest < 1.0 - _REST)
        if not fine.any():
            return 0.0, 1.0
        steps, above, rest = steps[fine], above[fine], rest[fine]
        rounded = _rounded(left / steps[:, np.newaxis], rest[:, np.newaxis])
        broken = rounded @ self.parts - np.floor(above)
        depth = broken / np.maximum(np.linalg.norm(rounded, axis=1), WHOLE)
        at = int(np.argmax(depth))
        return float(depth[at]), float(steps[at])

    def rounded(self, row: Row, step: float) -> Row:
        """The row, rounded at a step and told of the binaries again, at most 1 for each."""
        origin = self._origin(row)
        above = (row.right - float(origin.sum())) / step
        rest = above - np.floor(above)
        left = _rounded((row.left - origin[self.unit]) / step, rest)
        left[self.origin[self.origin >= 0]] = 0.0
        stays = np.where(self.origin >= 0, _rounded(-origin / step, rest), 0.0)
        left, right = left - stays[self.unit], float(np.floor(above) - stays.sum())
        largest = float(np.abs(left).max())
        return Row(left / largest, right / largest)

    def _origin(self, row: Row) -> F64:
        return np.where(self.origin >= 0, row.left[self.origin], 0.0)


def _counted(asked: Program, taken: F64) -> _Counted:
    """Every unit, counted from what most is taken of."""
    first = np.flatnonzero(np.append(True, asked.unit[1:] != asked.unit[:-1]))
    unit = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(asked.unit))))
    stays = 1.0 - np.add.reduceat(taken, first)
    largest = np.maximum.reduceat(taken, first)
    origin = np.full(len(first), -1)
    binaries = np.flatnonzero((taken == largest[unit]) & (largest > stays)[unit])
    origin[unit[binaries]] = binaries
    parted = np.maximum(largest, stays) < 1.0 - WHOLE
    some = np.flatnonzero(parted[unit] & (origin[unit] != np.arange(len(unit))) & (taken > WHOLE))
    staying = np.flatnonzero(parted & (origin >= 0) & (stays > WHOLE))
    return _Counted(unit, origin, some, staying, np.concatenate((taken[some], stays[staying])))


def _rounded(amounts: F64, rest: F64 | float) -> F64:
    """``G`` of a rest ``f``."""
    whole = np.floor(amounts)
    return np.asarray(whole + np.maximum(amounts - whole - rest, 0.0) / (1.0 - rest))
