"""Ends the process where its orderly end is held up: by a driver that waits for a server, which nothing can cancel.

That is no worse than a crash: the journal holds each statement before it is sent, and the next start reconciles.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

from agent.logs import EventLog

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
