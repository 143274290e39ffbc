"""How one budget of fast storage is best shared by several databases: at one price for all of them.

Each database has a curve: sizes and what each of them saves. One size of each is chosen, so that all together fit the
budget and save the most: a multiple-choice knapsack (Kellerer, Pferschy and Pisinger, "Knapsack Problems", 2004,
chapter 11).

At a price ``p`` per byte each database takes the size with the largest value less price: the shadow price is the one at
which these just fit, and there the last byte is worth the same everywhere. What this choice leaves of the budget is
filled exactly: any choice falls short of the bound at that price by the sum of what its sizes lose against the best
ones, and by the price of what it leaves free. So a size that loses more than the bound exceeds the best choice known is
in no better one, and dynamic programming over the few others finds the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from connectors.model.observation import F64, I64

MOST_STATES = 1500  # kept after each database: beyond them the best choice is known to about a millionth
_TINY = 1e-12  # of the bound: differences below it are rounding


@dataclass(frozen=True, slots=True)
class SizeCurve:
    """What sizes of a database's fast storage save."""

    name: str
    bytes: I64  # (n,) rising, n >= 1; the first is what it has at least
    saved: F64  # (n,) per hour, by any unit; never falls


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """The best use of a budget."""

    chosen: tuple[int, ...]  # index of the size of each curve
    bytes: int  # of all of them
    saved: float
    bound: float  # no choice saves more
    exact: bool  # False: better ones may exist, up to the bound
    price: float  # that the next byte of the budget saves at most


class PoolTooSmall(ValueError):
    """The least sizes of all curves do not fit the budget."""


def share_pool(curves: Sequence[SizeCurve], budget: int) -> PoolPlan:
    """The sizes that save the most within a budget of bytes.

    Raises:
        PoolTooSmall: not even the least ones fit.
    """
    least = sum(int(curve.bytes[0]) for curve in curves)
    if least > budget:
        raise PoolTooSmall(f"the least sizes take {least} bytes, the pool has {budget}")
    best, price, bound = _relax(curves, budget)
    search = _Search(curves, budget, best, price, bound)
    chosen, exact = search.run()
    value = _value(curves, chosen)
    return PoolPlan(
        chosen=chosen,
        bytes=_size(curves, chosen),
        saved=value,
        bound=value if exact else bound,
        exact=exact,
        price=price,
    )


def _size(curves: Sequence[SizeCurve], chosen: Sequence[int]) -> int:
    return sum(int(curve.bytes[at]) for curve, at in zip(curves, chosen, strict=True))


def _value(curves: Sequence[SizeCurve], chosen: Sequence[int]) -> float:
    return float(sum(curve.saved[at] for curve, at in zip(curves, chosen, strict=True)))


def _relax(curves: Sequence[SizeCurve], budget: int) -> tuple[list[int], float, float]:
    """The choice that takes the steps of all upper hulls by falling density as long as they fit; price and bound."""
    steps = [(density, at, to) for at, curve in enumerate(curves) for density, to in _hull_steps(curve)]
    steps.sort(key=lambda step: (-step[0], step[1], step[2]))
    chosen, used = [0] * len(curves), sum(int(curve.bytes[0]) for curve in curves)
    value = _value(curves, chosen)
    for density, at, to in steps:
        more = int(curves[at].bytes[to] - curves[at].bytes[chosen[at]])
        if used + more > budget:
            return chosen, density, value + density * (budget - used)
        value += float(curves[at].saved[to] - curves[at].saved[chosen[at]])
        chosen[at], used = to, used + more
    return chosen, 0.0, value


def _hull_steps(curve: SizeCurve) -> Iterator[tuple[float, int]]:
    """Density and end of each step of the upper hull from the first size on, where it still rises."""
    at, last = 0, len(curve.bytes) - 1
    while at < last:
        density = (curve.saved[at + 1 :] - curve.saved[at]) / (curve.bytes[at + 1 :] - curve.bytes[at])
        steepest = float(density.max())
        if steepest <= 0:
            return
        at += 1 + int(np.flatnonzero(density == steepest)[-1])  # the longest of equal steps
        yield steepest, at


class _Search:
    """Dynamic programming around a choice at a price: over what other sizes take more, and save more, than it."""

    def __init__(self, curves: Sequence[SizeCurve], budget: int, base: list[int], price: float, bound: float) -> None:
        self._base = base
        self._room = budget - _size(curves, base)
        self._price, self._gap = price, bound - _value(curves, base)
        self._tiny = _TINY * max(abs(bound), 1e-300)
        takes = [curve.bytes - curve.bytes[at] for curve, at in zip(curves, base, strict=True)]
        saves = [curve.saved - curve.saved[at] for curve, at in zip(curves, base, strict=True)]
        # What each size loses against the best one at the price: the base itself loses nothing.
        loses = [np.maximum(0.0, price * take - save) for take, save in zip(takes, saves, strict=True)]
        self._others = [
            (at, kept, takes[at][kept], saves[at][kept])
            for at in range(len(curves))
            if len(kept := np.flatnonzero(loses[at] <= self._gap + self._tiny)) > 1
        ]
        # Those first whose other sizes lose least: they find better choices early, and the rest is cut by them.
        self._others.sort(key=lambda each: float(np.partition(loses[each[0]][each[1]], 1)[1]))
        self.exact = True

    def run(self) -> tuple[tuple[int, ...], bool]:
        """The best choice, and whether none better can exist."""
        size, value = np.zeros(1, dtype=np.int64), np.zeros(1)
        freed = np.array([max(0, -int(each[2].min())) for each in self._others], dtype=np.int64)
        later = np.append(np.cumsum(freed[::-1])[::-1], 0)  # bytes that the databases from here on can give back
        path: list[tuple[I64, I64]] = []
        best = 0.0
        for stage, (_, _, take, save) in enumerate(self._others):
            size, value, parent, option = _merge(size, value, take, save)
            best = max(best, float(value[size <= self._room].max(initial=0.0)))
            # Whatever follows falls short of the bound by what was lost so far at least.
            lost = self._price * size - value
            kept = np.flatnonzero((size <= self._room + later[stage + 1]) & (lost <= self._gap - best + self._tiny))
            if len(kept) > MOST_STATES:
                self.exact = False
                # The best choice so far goes on in any case.
                rank = np.where((value == best) & (size <= self._room), -np.inf, lost)[kept]
                kept = kept[np.sort(np.argsort(rank, kind="stable")[:MOST_STATES])]
            size, value, parent, option = size[kept], value[kept], parent[kept], option[kept]
            path.append((parent, option))
        return self._follow(size, value, path), self.exact

    def _follow(self, size: I64, value: F64, path: list[tuple[I64, I64]]) -> tuple[int, ...]:
        """The sizes of the best state that fits."""
        chosen = list(self._base)
        at = int(np.argmax(np.where(size <= self._room, value, -np.inf)))
        for (curve, kept, _, _), (parent, option) in zip(self._others[::-1], path[::-1], strict=True):
            chosen[curve] = int(kept[option[at]])
            at = int(parent[at])
        return tuple(chosen)


def _merge(size: I64, value: F64, take: I64, save: F64) -> tuple[I64, F64, I64, I64]:
    """Each state with each option, without those that take as much as another and save no more."""
    sizes, values = (size[:, None] + take).ravel(), (value[:, None] + save).ravel()
    order = np.lexsort((-values, sizes))
    best_before = np.concatenate(([-np.inf], np.maximum.accumulate(values[order])[:-1]))
    kept = order[values[order] > best_before]
    return sizes[kept], values[kept], kept // len(take), kept % len(take)
