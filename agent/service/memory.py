"""Gives the memory of large columns back to the system as soon as they are gone."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

LARGE_BYTES = 2**19  # below the columns of 100,000 units; each page is faulted in again, a few milliseconds a cycle
SMALLER_BYTES = 2**17  # while there is time
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # of malloc.h


def return_large_blocks() -> bool:
    """Have large blocks allocated in mappings of their own, all others in one place; whether the C library listens.

    glibc begins that way, but after the first large block that is freed it keeps blocks up to that size in its arenas,
    one for each thread, and hardly gives any of it back: columns of 100,000 units take twice what they hold. To set
    the threshold is to keep it (mallopt(3), "M_MMAP_THRESHOLD"). Other C libraries decide for themselves. Our threads
    hardly ever compute at a time, so an arena for each would only be another place with holes ("M_ARENA_MAX").
    """
    return _set(_M_MMAP_THRESHOLD, LARGE_BYTES) and _set(_M_ARENA_MAX, 1)


@contextmanager
def smaller_blocks_returned() -> Iterator[None]:
    """Have smaller blocks allocated in mappings of their own too, for work that is rare and holds most: a plan."""
    _set(_M_MMAP_THRESHOLD, SMALLER_BYTES)
    try:
        yield
    finally:
        _set(_M_MMAP_THRESHOLD, LARGE_BYTES)


def _set(parameter: int, value: int) -> bool:
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(parameter, value))


def return_free_blocks() -> bool:
    """Give back what lies free between small blocks, after work that took many; whether anything was given.

    Each kind of work leaves holes in the arenas that the next kind does not fit into, so without this call their peaks
    add up. It takes a few milliseconds after every sample and plan (malloc_trim(3)).
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return False
    return bool(trim(0))
