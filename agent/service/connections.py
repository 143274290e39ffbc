"""The open connections of the HTTP server: few at a time, so that the agent keeps its files and threads for its work.

A client that opens connections and says nothing, or asks byte by byte, costs the others nothing: where all places are
taken, the connection that has kept the server waiting longest gives way to a new one.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from connectors.kit.contract import HotplaceError

MOST_CONNECTIONS = 64  # and threads: each connection takes a file and a thread
REQUEST_SECONDS = 10.0  # to ask, and again to take the answer
PATIENCE_SECONDS = 2.0  # with one that takes its answer slowly, where all places are taken


class CannotListen(HotplaceError):
    """The address of the metrics endpoint is taken or not ours."""


@dataclass(slots=True)
class _Open:
    since: float  # monotonic
    asked: bool = False  # its request was read; the answer is on its way


class Connections:
    """Those that are open; for the accepting thread and those that serve."""

    def __init__(self, monotonic: Callable[[], float], most: int = MOST_CONNECTIONS) -> None:
        self._monotonic = monotonic
        self._most = most
        self._open: dict[socket.socket, _Open] = {}  # the oldest first
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def admit(self, connection: socket.socket) -> bool:
        """Whether a new connection gets a place; another one may have to go for it."""
        with self._lock:
            # The slowest one goes and not the newest is refused: otherwise 64 silent connections would keep the scraper
            # out for good.
            while len(self._open) >= self._most:
                slowest = self._slowest()
                if slowest is None:
                    return False
                self._end(slowest)
            self._open[connection] = _Open(self._monotonic())
            return True

    def note_asked(self, connection: socket.socket) -> bool:
        """Its request was read, and is worked on: it gives way only when it takes its answer slowly.

        Returns:
            Whether it still has its place; if not, no answer reaches it.
        """
        with self._lock:
            if connection not in self._open:
                return False
            self._open[connection] = _Open(self._monotonic(), asked=True)
            return True

    def forget(self, connection: socket.socket) -> None:
        """It is closed."""
        with self._lock:
            self._open.pop(connection, None)

    def end_late(self) -> None:
        """End those that have not asked, or not taken their answer, in time."""
        with self._lock:
            now = self._monotonic()
            for connection in [each for each, found in self._open.items() if now - found.since > REQUEST_SECONDS]:
                self._end(connection)

    def _slowest(self) -> socket.socket | None:
        """The one that has kept the server waiting longest; None where all are being served."""
        waiting = next((each for each, found in self._open.items() if not found.asked), None)
        if waiting is not None:
            return waiting
        late = self._monotonic() - PATIENCE_SECONDS
        return next((each for each, found in self._open.items() if found.since < late), None)

    def _end(self, connection: socket.socket) -> None:
        """Wake the thread that serves it, which closes it; its place is free at once."""
        del self._open[connection]
        with suppress(OSError):  # the other side was quicker
            # Shut down, not closed: the thread that serves it still uses the number of the file, which would soon be
            # another connection's.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)  # of TLS too, without its farewell
