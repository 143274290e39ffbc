"""Rules that people use instead of hotplace: who goes on the SSD, by one figure a unit. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

MOST_TRIED = 18  # a quarter of a million subsets


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A heap or an index, as the statistics views have it."""

    key: str
    index: bool
    size_bytes: int
    misses: int  # blocks that the buffer pool did not have, read ahead or not


Rule = Callable[[Sequence[Candidate], int], frozenset[str]]


def nothing(units: Sequence[Candidate], room: int) -> frozenset[str]:
    """Everything stays on the hdd."""
    return frozenset()


def all_indexes(units: Sequence[Candidate], room: int) -> frozenset[str]:
    """Every index, those with most misses first should they not all fit."""
    return filled(sorted((u for u in units if u.index), key=lambda u: (-u.misses, u.key)), room)


def largest_first(units: Sequence[Candidate], room: int) -> frozenset[str]:
    """By size, skipping what does not fit."""
    return filled(sorted(units, key=lambda u: (-u.size_bytes, u.key)), room)


def hottest_first(units: Sequence[Candidate], room: int) -> frozenset[str]:
    """By misses, whatever their size and whoever waited for them, skipping what does not fit."""
    return filled(sorted((u for u in units if u.misses > 0), key=lambda u: (-u.misses, u.key)), room)


def fewest_misses(units: Sequence[Candidate], room: int) -> frozenset[str]:
    """Who together has most misses and fits, by trying every subset of the ``MOST_TRIED`` with most misses."""
    tried = sorted((u for u in units if u.misses > 0), key=lambda u: (-u.misses, u.key))[:MOST_TRIED]
    subsets = np.arange(1 << len(tried))
    size, misses = np.zeros(len(subsets), dtype=np.int64), np.zeros(len(subsets), dtype=np.int64)
    for bit, unit in enumerate(tried):
        inside = (subsets >> bit) & 1
        size += inside * unit.size_bytes
        misses += inside * unit.misses
    best = int(np.argmax(np.where(size <= room, misses, -1)))
    return frozenset(unit.key for bit, unit in enumerate(tried) if best >> bit & 1)


def filled(ranked: Sequence[Candidate], room: int) -> frozenset[str]:
    """Who fits, from the top of a ranking."""
    chosen = set()
    for unit in ranked:
        if unit.size_bytes <= room:
            chosen.add(unit.key)
            room -= unit.size_bytes
    return frozenset(chosen)


RULES: dict[str, Rule] = {
    "nothing": nothing,
    "all indexes": all_indexes,
    "largest first": largest_first,
    "hottest first": hottest_first,
}
