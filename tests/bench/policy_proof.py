"""A proof that no plan brings much more than a given value, where HiGHS alone finds none in minutes.

Branch and bound (Land and Doig) over linear relaxations (``policy_relaxation``). What holds such instances up are few
units as large as all the room that is left: the relaxation takes a part of them, and every other unit stays open until
it is said whether they move. The node with the highest bound goes before the others. No rule for which
unit to decide is best everywhere, and it may be hundreds of times quicker than another: so one search tries each of
which a part is taken and decides what lowers the bounds most (strong branching), and where that does not end soon
another one decides the largest. First rows are added that cut away such parts (``policy_cuts``), which alone brings
many bounds down to the plan. What no longer fits beside what is decided is barred, and where more passes than finds
room it is decided first how much does.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, replace

import numpy as np

from connectors.model.observation import F64
from tests.bench.policy_cuts import WHOLE
from tests.bench.policy_instances import Program
from tests.bench.policy_relaxation import Decided, Relaxation

_SEARCHES = ((6, 0.25), (1, 0.75))  # parts that are tried at most, and share of the time
_CUTTING = 0.3  # share of the time
_LEAST = 1e-9  # of a bound, as what a half lowers it by at least


@dataclass(frozen=True)
class _Node:
    """What is decided, and its relaxation."""

    decided: Decided
    bound: float  # no answer of this node brings more
    passing: float = 0.0  # the largest of which a part passes without room for it; 0: none
    parts: tuple[int, ...] = ()  # binaries of which a part is taken, the largest first

    def ways(self, relaxation: Relaxation) -> list[list[Decided]]:
        """Ways to split what is open in two; none where nothing is."""
        if self.passing:
            return [self._by_passing(relaxation)]
        decided, ways = self.decided, []
        for part in self.parts:
            others = tuple((other, False) for other in relaxation.others(part))
            halves = ((part, True), *others), ((part, False),)
            ways.append([replace(decided, binaries=(*decided.binaries, *more)) for more in halves])
        return ways

    def _by_passing(self, relaxation: Relaxation) -> list[Decided]:
        """With room for the largest that passes, and without anything as large."""
        decided, largest, halves = self.decided, self.passing, []
        if decided.passed < largest:
            halves.append(replace(decided, passed=largest))
        if max(decided.passed, float(relaxation.asked.passes[decided.taken()].max(initial=0.0))) < largest:
            halves.append(replace(decided, below=largest))
        return halves


def proven_bound(asked: Program, value: float, *, near: float = 1e-4, seconds: float = 40.0) -> float:
    """What no answer to a program beats; ``value * (1 + near)`` at best, as nodes below that are not looked at.

    Args:
        asked: the program of an instance.
        value: of some plan.
        near: share of the value.
        seconds: of processor time, after which the highest bound of what is open counts.
    """
    floor, proven = value * (1.0 + near), np.inf
    started = time.process_time()
    relaxation = Relaxation(asked, floor)
    relaxation.tighten(floor, started + _CUTTING * seconds)
    left = started + seconds - time.process_time()
    for tried, share in _SEARCHES:
        end = time.process_time() + share * left
        proven = min(proven, _searched(relaxation, floor, tried, end))
        if time.process_time() < end:  # nothing is open
            break
    return float(proven)


def _searched(relaxation: Relaxation, floor: float, tried: int, end: float) -> float:
    """What no answer beats, or the floor."""
    root = _node(relaxation, Decided(), floor)
    nodes, made, reached = [(-root.bound, 0, root)], 1, floor
    while nodes and -nodes[0][0] > reached and time.process_time() < end:
        above, _, node = heapq.heappop(nodes)
        halves = _halves(relaxation, node, reached, tried)
        if not halves:  # nothing is open: the bound is reached, or as good as
            reached = max(reached, -above)
        for half in halves:
            if half.bound > reached:
                # No half brings more than its whole, whatever rounding makes of its relaxation. Of equal bounds the
                # older goes first: nodes themselves have no order.
                heapq.heappush(nodes, (max(-half.bound, above), made, half))
                made += 1
    return max(reached, -nodes[0][0] if nodes else reached)


def _halves(relaxation: Relaxation, node: _Node, floor: float, tried: int) -> list[_Node]:
    """The halves of a node, of some ways to split it those whose bounds are lowest."""
    best, most = list[_Node](), -1.0
    for way in node.ways(relaxation)[:tried]:
        halves = [_node(relaxation, decided, floor) for decided in way]
        lowered = [max(node.bound - max(half.bound, floor), _LEAST * abs(node.bound)) for half in halves]
        if float(np.prod(lowered)) > most:
            best, most = halves, float(np.prod(lowered))
        if all(half.bound <= floor for half in halves):
            break
    return best


def _node(relaxation: Relaxation, decided: Decided, floor: float) -> _Node:
    """The node of what is decided, and of what that bars."""
    while True:
        relaxed = relaxation.solved(decided, floor)
        if relaxed.taken is None:
            return _Node(decided, relaxed.bound)
        parts = np.flatnonzero(np.abs(relaxed.taken - np.rint(relaxed.taken)) > WHOLE)
        parts = np.setdiff1d(parts, [binary for binary, _ in decided.binaries])  # what HiGHS leaves of them is an error
        passing = _too_large(relaxation.asked, relaxed.taken)
        if passing or not len(parts):
            return _Node(decided, relaxed.bound, passing=passing)
        barred = parts[~relaxation.affordable(decided, parts)]
        if not len(barred):
            largest = np.argsort(-np.abs(relaxation.asked.use[:, parts]).max(axis=0), kind="stable")
            return _Node(decided, relaxed.bound, parts=tuple(parts[largest].tolist()))
        decided = replace(decided, binaries=(*decided.binaries, *((int(each), False) for each in barred)))


def _too_large(asked: Program, taken: F64) -> float:
    """The largest of which a part passes without as much free as it takes; 0 where there is none."""
    found = asked.free + float(asked.leaves @ taken)
    large = (taken > WHOLE) & (asked.passes > found + WHOLE)
    return float(asked.passes[large].max(initial=0.0))
