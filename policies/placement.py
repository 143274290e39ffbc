"""The solver: which bundles deserve the room of a tier, given what is there already.

With existing placement this stays one 0/1 knapsack: what is inside counts with what leaving would lose (times its
resident bonus, plus the cost of moving it), what is outside with what coming would save (less the cost). Density,
value per byte, orders both lists as one. Greedy by density with fill is within 0.1 % of the optimum from some thousand
items on; few or large items are its weak side, so the items around the threshold, where greedy errs, are decided
exactly. With at most ``CORE`` items that is the optimum.

A limit on the number of moves is a price per move, found by bisection (Lagrange), not a cut: the first fifty by density
would be fifty tiny ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import exp, inf, log

import numpy as np

from connectors.model import F64, I64, Bools

CORE = 16  # items decided by trying every subset
_FILL_ROUNDS = 200
_LARGE = 8  # large residents per move that may yet have to go


@dataclass(frozen=True, slots=True, kw_only=True)
class Knapsack:
    """Items in canonical order, so that ties are broken the same way whatever order they came in."""

    size: F64  # bytes, whole numbers, > 0
    value: F64  # of being inside, whole microseconds per hour
    inside: Bools  # there now
    capacity: float  # bytes for all items, those inside included
    moves: int  # at most this many items may change sides

    def __len__(self) -> int:
        return len(self.size)


def select(sack: Knapsack) -> Bools:
    """Which items to have inside: never over capacity, and worth at least as much as leaving all as it is.

    Residents that are not selected need not leave: they are the first to go where room is needed. More changes than
    ``moves`` may come out only by such residents.
    """
    if len(sack) <= CORE:
        return _best_subset(sack)
    free = _solve(sack, 0.0)
    if _changes(sack, free) <= sack.moves:
        return free
    narrow, positions = _narrowed(sack, free)
    chosen = free & sack.inside
    chosen[positions] = _priced(narrow)
    return chosen


def bound(sack: Knapsack) -> float:
    """No selection adds more value than this to what is inside now.

    Linear relaxation (Dantzig); where the limit of moves binds, with a price per move. Any price gives a bound, and the
    bound is convex in it with slope ``moves - changes``, so bisection on the changes finds the best one.
    """
    now = float(sack.value[sack.inside].sum())
    best, changes = _relaxed(sack, 0.0)
    if changes > sack.moves:
        gains = np.sort(sack.value[~sack.inside])[::-1]
        low, high = max(1, min(sack.moves, len(gains))), len(gains)
        while high - low > max(1, low // 20):
            middle = _between(low, high)
            relaxed, changes = _relaxed(sack, float(gains[middle]))
            best = min(best, relaxed)
            low, high = (low, middle) if changes > sack.moves else (middle, high)
    return max(0.0, best - now)


def _priced(sack: Knapsack) -> Bools:
    """The best selection found under the limit of moves, by bisecting on how many outsiders are dear enough."""
    gains = np.sort(sack.value[~sack.inside])[::-1]
    low, high = max(1, min(sack.moves, len(gains) - 1)), len(gains)  # low: few enough for sure
    best = _solve(sack, float(gains[low]) if low < len(gains) else 0.0)
    while high - low > max(1, low // 50):
        middle = _between(low, high)
        chosen = _solve(sack, float(gains[middle]))
        if _changes(sack, chosen) > sack.moves:
            high = middle
            continue
        low = middle
        if _worth(sack, chosen) > _worth(sack, best):
            best = chosen
    return best


def _narrowed(sack: Knapsack, free: Bools) -> tuple[Knapsack, I64]:
    """The knapsack without the residents that stay anyway, and the positions of what it still holds.

    Whoever stays while moves cost nothing stays when they cost something, but for large ones: with few moves, one of
    those may go in the place of many small ones.
    """
    staying = np.flatnonzero(sack.inside & free)
    large = np.argsort(-sack.size[staying], kind="stable")[: _LARGE * max(1, sack.moves)]
    settled = np.zeros(len(sack), dtype=np.bool_)
    settled[staying] = True
    settled[staying[large]] = False
    open_ = np.flatnonzero(~settled)
    room = sack.capacity - float(sack.size[settled].sum())
    narrow = Knapsack(
        size=sack.size[open_], value=sack.value[open_], inside=sack.inside[open_], capacity=room, moves=sack.moves
    )
    return narrow, open_


def _between(low: int, high: int) -> int:
    """A rank strictly between two, in the middle of their logarithms."""
    return max(low + 1, min(high - 1, round(exp((log(low) + log(high)) / 2))))


def _changes(sack: Knapsack, chosen: Bools) -> int:
    """How many items change sides, residents without value left out: they go only if their room is needed."""
    return int(((chosen != sack.inside) & (sack.value > 0)).sum())


def _worth(sack: Knapsack, chosen: Bools) -> float:
    return float(sack.value[chosen].sum())


def _values(sack: Knapsack, price: float) -> F64:
    """Value of being inside when a change of sides costs ``price``: staying is dearer, coming is cheaper by it."""
    return np.where(sack.inside, sack.value + price, sack.value - price)


def _by_density(size: F64, value: F64) -> I64:
    """Positions of the items that are worth something, densest first."""
    worth = np.flatnonzero(value > 0)
    return worth[np.argsort(-(value[worth] / size[worth]), kind="stable")]


def _relaxed(sack: Knapsack, price: float) -> tuple[float, int]:
    """Value of the best fractional selection when a change of sides costs ``price``, and its changes.

    The limit of moves is relaxed into the price: what moves cost, less what ``sack.moves`` of them would.
    """
    value = _values(sack, price)
    worth = np.flatnonzero(value > 0)
    order = worth[np.argsort(-(value[worth] / sack.size[worth]))]
    filled = np.cumsum(sack.size[order])
    whole = int(np.searchsorted(filled, sack.capacity, side="right"))
    total = float(value[order[:whole]].sum())
    if whole < len(order):
        room = sack.capacity - (float(filled[whole - 1]) if whole else 0.0)
        total += float(value[order[whole]] * max(0.0, room) / sack.size[order[whole]])
    taken = np.zeros(len(sack), dtype=np.bool_)
    taken[order[:whole]] = True
    return total + price * (sack.moves - float(sack.inside.sum())), _changes(sack, taken)


def _solve(sack: Knapsack, price: float) -> Bools:
    """Greedy by density with fill, and the core around the threshold decided exactly; the better of the two."""
    value = _values(sack, price)
    order = _by_density(sack.size, value)
    plain, cut = _filled(sack.size, order, sack.capacity)
    core = order[max(0, cut - CORE // 2) : cut + CORE // 2]
    before, after = order[: max(0, cut - CORE // 2)], order[cut + CORE // 2 :]
    room = sack.capacity - float(sack.size[before].sum())
    within = core[_subset(sack.size[core], value[core], room)]
    rest, _ = _filled(sack.size, after, room - float(sack.size[within].sum()))
    exact = np.concatenate((before, within, rest))
    better = exact if value[exact].sum() > value[plain].sum() else plain
    chosen = np.zeros(len(sack), dtype=np.bool_)
    chosen[better] = True
    return chosen


def _filled(size: F64, order: I64, capacity: float) -> tuple[I64, int]:
    """Take items in that order while they fit, skipping those that do not; also where the first one was skipped."""
    taken: list[I64] = []
    first_skipped = len(order)
    for attempt in range(_FILL_ROUNDS):
        filled = np.cumsum(size[order])
        count = int(np.searchsorted(filled, capacity, side="right"))
        if attempt == 0:
            first_skipped = count
        taken.append(order[:count])
        if count == len(order):
            break
        capacity -= float(filled[count - 1]) if count else 0.0
        order = order[count + 1 :]
        order = order[size[order] <= capacity]
        if not len(order):
            break
    return np.concatenate(taken), first_skipped


@cache
def _subsets(items: int) -> F64:
    """Every subset of that many items as rows of 0 and 1. Shape ``(2 ** items, items)``."""
    return ((np.arange(2**items)[:, np.newaxis] >> np.arange(items)) & 1).astype(np.float64)


def _subset(size: F64, value: F64, room: float) -> Bools:
    """The most valuable subset that fits; the first of equals."""
    rows = _subsets(len(size))
    worth = np.where(rows @ size <= room, rows @ value, -inf)
    return np.asarray(rows[int(np.argmax(worth))] > 0, dtype=np.bool_)


def _best_subset(sack: Knapsack) -> Bools:
    """The optimum of at most ``CORE`` items, changes limited."""
    rows = _subsets(len(sack))
    changed = (rows > 0) != sack.inside
    changes = changed @ (sack.value > 0).astype(np.float64)
    allowed = (rows @ sack.size <= sack.capacity) & (changes <= sack.moves)
    worth = np.where(allowed, rows @ sack.value, -inf)
    return np.asarray(rows[int(np.argmax(worth))] > 0, dtype=np.bool_)
