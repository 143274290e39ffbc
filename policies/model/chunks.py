"""Slices of long columns, so that what is computed from some thousand rows stays in the processor's cache.

An expression over whole columns of a million rows writes each intermediate result to memory and reads it again.
"""

from __future__ import annotations

from collections.abc import Iterator

AT_ONCE = 8192  # rows


def row_chunks(count: int) -> Iterator[slice]:
    """Slices that cover so many rows, in order."""
    for first in range(0, count, AT_ONCE):
        yield slice(first, first + AT_ONCE)
