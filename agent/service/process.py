"""Ends the process where its orderly end is held up, gives memory back, and tells processes apart.

Ends the process where its orderly end is held up: by a driver that waits for a server, which nothing can cancel.

That is no worse than a crash: the journal holds each statement before it is sent, and the next start reconciles.

Gives the memory of large columns back to the system as soon as they are gone.

Tells processes apart that had the same number, one after the other.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue

from agent.model.logs import EventLog

log = EventLog(__name__)


class LastResort:
    """A thread that sleeps until an end is asked for."""

    def __init__(self, seconds: float, leave: Callable[[], None] | None = None) -> None:
        """Begin to sleep.

        Args:
            seconds: from ``begin`` to the end of the process.
            leave: ends it; None: at once, with code 0.
        """
        self._seconds = seconds
        self._leave = leave or leave_at_once
        self._asked: SimpleQueue[None] = SimpleQueue()
        self._dismissed = threading.Event()
        threading.Thread(target=self._wait, name="last resort", daemon=True).start()

    def begin(self) -> None:
        """An end is asked for. Safe from a signal handler."""
        self._asked.put(None)  # not an Event, whose lock the handler may have interrupted

    def dismiss(self) -> None:
        """Nothing is held up."""
        self._dismissed.set()
        self._asked.put(None)

    def _wait(self) -> None:
        self._asked.get()
        if not self._dismissed.wait(self._seconds):
            log.warning("ends without waiting any longer", seconds=self._seconds)
            self._leave()


def leave_at_once() -> None:
    """End the process with code 0, whatever its other threads wait for."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # its reader has gone
            stream.flush()
    # sys.exit would end the calling thread alone, and the interpreter waits at its end for the very threads that hang.
    os._exit(0)


BOOT = Path("/proc/sys/kernel/random/boot_id")
STARTED = 19  # of the fields of /proc/PID/stat behind the name, which may hold blanks and parentheses: proc(5)


def start_of(pid: int) -> str:
    """When a process began, comparable with itself only; "" if there is none, or if this system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return f"{BOOT.read_text(encoding='ascii').strip()} {fields[STARTED]}"
    except (OSError, IndexError):
        return ""


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
        # Not glibc: its allocator gives memory back in its own way.
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
