"""Columns of a million, a part at a time: what is worked out of a few thousand rows stays near the processor.

Each step over whole columns would write them to memory, and the next one read them again.
"""

from __future__ import annotations

from collections.abc import Iterator

AT_ONCE = 8192  # rows


def parts(count: int) -> Iterator[slice]:
    """Slices that cover so many rows, in order."""
    for first in range(0, count, AT_ONCE):
        yield slice(first, first + AT_ONCE)
