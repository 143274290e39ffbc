"""What a site could do instead: rules that rank by a figure and move without guards."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from connectors.model.moves import UnitKind
from connectors.model.observation import F64, I64, Bools, Signal
from tests.bench.policies.stage import Hop, Past, saving
from tests.workloads.catalogue import Catalogue

Score = Callable[[F64, I64], F64]  # mean rates (SIGNALS, n), sizes (n,) -> what ranks, (n,)


def busiest(rates: F64, size: I64) -> F64:
    """Logical reads, whatever they cost: the top of every monitor's list."""
    logical: F64 = rates[Signal.LOGICAL_READ]
    return logical


def misses_per_byte(rates: F64, size: I64) -> F64:
    """Physical reads per byte, waited for or not: what an array or a plain miss rate sees."""
    return np.asarray((rates[Signal.SYNC_READ] + rates[Signal.PREFETCHED_READ]) / size, dtype=np.float64)


def saving_per_byte(rates: F64, size: I64) -> F64:
    """Foreground wait saved per byte: hotplace's own figure, without its memory and its guards."""
    return saving(rates) / size


class Ranker:
    """Every ``every`` hours: rank by the mean of the last ``window`` hours, fill the tier from the top."""

    def __init__(
        self, name: str, score: Score, catalogue: Catalogue, capacity: int, *, every: int, window: int
    ) -> None:
        self.name = name
        self._score = score
        self._size = catalogue.size_bytes
        self._capacity = capacity
        self._every = every
        self._window: deque[F64] = deque(maxlen=window)

    def decide(self, hour: int, fast: Bools) -> list[Hop]:
        """Up what the ranking wants, down the lowest of the others as far as room is needed."""
        if not self._window or hour % self._every:
            return []
        score = self._score(sum(self._window, np.zeros_like(self._window[0])) / len(self._window), self._size)
        wanted = filled(score, self._size, self._capacity)
        leaving = [int(row) for row in np.argsort(score) if fast[row] and not wanted[row]]
        return swaps(score, wanted & ~fast, leaving, self._size, self._capacity - int(self._size[fast].sum()))

    def saw(self, past: Past) -> None:
        """Remember the hour."""
        self._window.append(past.rates)


class AllIndexes:
    """The DBA's rule: every index on fast storage, the smallest first, once and for all."""

    name = "all indexes"

    def __init__(self, catalogue: Catalogue, capacity: int) -> None:
        score = np.where(catalogue.kind == UnitKind.INDEX, 1.0 / catalogue.size_bytes, 0.0)
        self._rows = [int(row) for row in np.flatnonzero(filled(score, catalogue.size_bytes, capacity))]

    def decide(self, hour: int, fast: Bools) -> list[Hop]:
        """Whatever is not there yet."""
        return [Hop(row, up=True) for row in self._rows if not fast[row]]

    def saw(self, past: Past) -> None:
        """It does not look."""


def filled(score: F64, size: I64, capacity: int) -> Bools:
    """Who fits, from the top of the ranking, skipping what does not fit; nobody without a score."""
    chosen = np.zeros(len(score), dtype=np.bool_)
    room = capacity
    for row in np.argsort(-score, kind="stable"):
        if score[row] > 0 and size[row] <= room:
            chosen[row] = True
            room -= int(size[row])
    return chosen


def swaps(score: F64, coming: Bools, leaving: list[int], size: I64, room: int) -> list[Hop]:
    """Each that comes, the best first, behind the demotions that make room for it."""
    hops: list[Hop] = []
    rows = np.flatnonzero(coming)
    for row in rows[np.argsort(-score[rows], kind="stable")]:
        while room < size[row] and leaving:
            gone = leaving.pop(0)
            room += int(size[gone])
            hops.append(Hop(gone, up=False))
        if room >= size[row]:
            room -= int(size[row])
            hops.append(Hop(int(row), up=True))
    return hops
