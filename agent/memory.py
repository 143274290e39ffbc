"""Gives the memory of large columns back to the system as soon as they are gone."""

from __future__ import annotations

import ctypes

LARGE_BYTES = 2**20  # with 2**18 a cycle takes half as much processor time again, for 3 % less memory
_M_MMAP_THRESHOLD = -3  # of malloc.h


def return_large_blocks() -> bool:
    """Have every large block allocated in a mapping of its own; whether the C library lets itself be told.

    glibc begins that way, but after the first large block that is freed it keeps blocks up to that size in its arenas,
    one for each thread, and hardly gives any of it back: columns of 100,000 units take twice what they hold. To set
    the threshold is to keep it (mallopt(3), "M_MMAP_THRESHOLD"). Other C libraries decide for themselves.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES))


def return_free_blocks() -> bool:
    """Give back what lies free between small blocks, after work that took many; whether anything was given.

    Each kind of work leaves holes in the arenas that the next kind does not fit into, so that their peaks add up where
    nobody does this: a few milliseconds after every sample and plan (malloc_trim(3)).
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return False
    return bool(trim(0))
