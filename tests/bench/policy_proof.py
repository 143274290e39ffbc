"""A proof that no plan brings much more than a given value, where HiGHS alone finds none in minutes.

Branch and bound (Land and Doig) over linear relaxations that HiGHS solves. What holds such instances up are one or two
units as large as all the room that is left: the relaxation takes a part of them, and every other unit stays open until
it is said whether they move. So of all units of which a relaxation takes a part the largest is decided first, the node
with the highest bound before the others; and whatever its reduced cost settles is left out of the nodes below.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog

from connectors.model import F64, I64, Bools
from tests.bench.policy_instances import ROUNDING, Program, rows_of

_WHOLE = 1e-7  # nearer to 0 or 1 a binary is no part


@dataclass(frozen=True)
class _Node:
    """What is still open, and its relaxation."""

    asked: Program
    settled: float  # gain of what is decided
    bound: float  # no answer of this node brings more
    taken: F64  # (v,) of each binary by the relaxation
    worth: F64  # (v,) reduced cost: what is lost by deciding the binary the other way

    def halves(self, threshold: float) -> Iterator[tuple[Program, float]]:
        """The open rest and what is settled, split in two.

        Where more passes than finds room: with room for the largest, and without anything as large. Otherwise with the
        largest part taken, and without it.
        """
        size = self.too_large()
        if size:
            yield replace(self.asked, passed=size), self.settled
            yield self.asked.only(self.asked.passes < size), self.settled
            return
        parts = np.abs(self.taken - np.rint(self.taken)) > _WHOLE
        surely = (self.bound - np.abs(self.worth) < threshold) & ~parts
        largest = int(np.argmax(np.where(parts, np.abs(self.asked.use).max(axis=0), -1.0)))
        taken = surely & (self.taken > 0.5)
        asked, settled = _without(self.asked, taken, surely)
        here = np.arange(len(asked.gain)) == np.count_nonzero(~_gone(self.asked, taken, surely)[:largest])
        nothing = np.zeros_like(here)
        for take in (here, nothing):
            rest, more = _without(asked, take, here)
            yield rest, self.settled + settled + more

    def too_large(self) -> float:
        """The largest of which a part passes without as much free as it takes; 0 where there is none."""
        found = self.asked.free + float(self.asked.leaves @ self.taken)
        large = (self.taken > _WHOLE) & (self.asked.passes > found + _WHOLE)
        return float(self.asked.passes[large].max(initial=0.0))

    def whole(self) -> bool:
        """Whether the relaxation takes no parts, so that its bound is reached."""
        return bool(np.all(np.abs(self.taken - np.rint(self.taken)) <= _WHOLE)) and not self.too_large()


def proven_bound(asked: Program, value: float, *, near: float = 1e-4, seconds: float = 40.0) -> float:
    """What no answer to a program beats; ``value * (1 + near)`` at best, as nodes below that are not looked at.

    Args:
        asked: the program of an instance.
        value: of some plan.
        near: share of the value.
        seconds: after which the highest bound of what is open counts.
    """
    threshold, end = value * (1.0 + near), time.monotonic() + seconds
    root = _node(asked, 0.0)
    nodes = [(-root.bound, 0, root)]
    made, reached = 1, threshold
    while nodes and -nodes[0][0] > reached and time.monotonic() < end:
        node = heapq.heappop(nodes)[2]
        if node.whole():
            reached = max(reached, node.bound)
            continue
        for rest, settled in node.halves(threshold):
            half = _node(rest, settled)
            if half.bound > reached:
                heapq.heappush(nodes, (-half.bound, made, half))
                made += 1
    return max(reached, -nodes[0][0] if nodes else reached)


def _gone(asked: Program, taken: Bools, decided: Bools) -> Bools:
    """Binaries that are decided, and those of a unit of which another one is taken."""
    return np.asarray(decided | np.isin(asked.unit, asked.unit[taken]), dtype=np.bool_)


def _without(asked: Program, taken: Bools, decided: Bools) -> tuple[Program, float]:
    """The rest of a program once some binaries are decided, and the gain of those taken."""
    left: I64 = np.flatnonzero(~_gone(asked, taken, decided))
    rest = replace(
        asked.only(left),
        room=asked.room - asked.use[:, taken].sum(axis=1),
        free=asked.free + float(asked.leaves[taken].sum()),
        passed=max(asked.passed, float(asked.passes[taken].max(initial=0.0))),
    )
    return rest, float(asked.gain[taken].sum())


def _node(asked: Program, settled: float) -> _Node:
    """A program's relaxation; where it has no answer its bound is -inf."""
    asked = asked.only(asked.affordable())
    unit = max(float(np.abs(asked.gain).max(initial=0.0)), 1e-300)
    if not len(asked.gain):
        possible = np.all(asked.room >= -ROUNDING) and asked.passed <= asked.free + ROUNDING
        return _Node(asked, settled, settled if possible else -np.inf, taken=asked.gain, worth=asked.gain)
    rows = rows_of(asked)
    cost, bounds = np.append(-asked.gain / unit, 0.0), np.column_stack((rows.lower, rows.upper))
    done = linprog(cost, A_ub=rows.left, b_ub=rows.right, bounds=bounds, method="highs")
    if done.x is None:
        return _Node(asked, settled, -np.inf, taken=asked.gain, worth=asked.gain)
    worth = (np.asarray(done.lower.marginals) - np.asarray(done.upper.marginals))[:-1] * unit
    return _Node(asked, settled, settled - float(done.fun) * unit, taken=done.x[:-1], worth=worth)
