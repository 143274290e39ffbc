"""Columns of units: slices of long ones, value per byte and the canonical order by it.

``row_chunks`` keeps intermediate results in the processor's cache. An expression over whole columns of a million rows
writes each of them to memory and reads it again.

``densest_first`` ranks by value per byte, the greedy rule of the fractional knapsack (Dantzig, "Discrete-variable
extremum problems", Operations Research 5, 1957). It is optimal for items that may be cut, so the items it takes first
are the safest ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from connectors.model.observation import F64, I64

CHUNK = 8192  # rows


def row_chunks(count: int) -> Iterator[slice]:
    """Slices that cover so many rows, in order."""
    for first in range(0, count, CHUNK):
        yield slice(first, first + CHUNK)


def compute_density(value: F64, size: F64 | I64) -> F64:
    """Value per byte, shape ``(n,)``; an empty unit counts as one byte.

    Args:
        value: of each unit, in any unit of measure, shape ``(n,)``.
        size: bytes, shape ``(n,)``.
    """
    return np.asarray(value / np.maximum(size, 1).astype(np.float64), dtype=np.float64)


def densest_first(value: F64, size: I64 | F64, key: Sequence[str]) -> I64:
    """Positions by falling value per byte; ties by rising size, then by key. Shape ``(n,)``."""
    return canonical_order(compute_density(value, size), np.maximum(size, 1).astype(np.float64), key)


def canonical_order(score: F64, size: F64, key: Sequence[str]) -> I64:
    """Positions by falling score, then rising size, then key: independent of the order of the input.

    A full sort by (score, size, key) would compare a million strings, which takes longer than the rest of a plan. So
    scores are sorted as numbers, and keys are compared only within runs of equal scores.
    """
    order = np.argsort(-score).astype(np.int64)
    same = score[order[1:]] == score[order[:-1]]
    edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(np.int8)))
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        tied = order[begin : end + 1]
        order[begin : end + 1] = sorted(tied, key=lambda at: (size[at], key[at]))
    return order


class KeysOf(Sequence[str]):
    """A view of selected keys. Only ties are looked up, so no list of a million strings is built."""

    def __init__(self, keys: Sequence[str], items: I64) -> None:
        self._keys = keys
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, at: int) -> str:  # type: ignore[override]  # slices are not needed
        return self._keys[int(self._items[at])]
