"""Watches one running statement from a second session, and stops it when it waits or runs too long.

Online DDL waits for every open transaction on its table, whatever DDL_LOCK_TIMEOUT says; and a client's own time-out
leaves it unknown what the server did. So the statement is cancelled from here, which the server confirms (ORA-01013).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum
from types import TracebackType
from typing import Self

from connectors.base import Clock

LOOK_EVERY_SECONDS = 2.0  # each look is a query
BREAK_EVERY_SECONDS = 0.5


class Verdict(Enum):
    """Why a statement was cancelled."""

    NONE = "not by us"
    ASKED = "on request"
    BLOCKED = "it waited for another session"
    LATE = "it ran out of time"


class Watcher:
    """A thread that lives as long as the ``with`` block around the statement."""

    def __init__(
        self,
        *,
        clock: Clock,
        limit_seconds: float,
        longest_wait: float,
        seconds_blocked: Callable[[], float],
        cancel: Callable[[], None],
    ) -> None:
        """Nothing starts yet.

        Args:
            clock: measures the limit.
            limit_seconds: of the statement; 0: none.
            longest_wait: how long it may be blocked by another session.
            seconds_blocked: how long it has been, 0 when it is not.
            cancel: breaks the statement.
        """
        self.verdict = Verdict.NONE
        self._clock = clock
        self._limit = limit_seconds
        self._longest_wait = longest_wait
        self._seconds_blocked = seconds_blocked
        self._cancel = cancel
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="hotplace watcher", daemon=True)

    def __enter__(self) -> Self:
        self._began = self._clock.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def stop(self, verdict: Verdict) -> None:
        """Break the statement; again and again until it has ended, because a break may come before its statement."""
        # The first reason stays: a statement cancelled on request may run out of time while it rolls back.
        if self.verdict is Verdict.NONE and verdict is not Verdict.NONE:
            self.verdict = verdict
            self._cancel()

    def _watch(self) -> None:
        while not self._ended.wait(self._pause()):
            if self.verdict is Verdict.NONE:
                self.stop(self._judge())
            else:
                self._cancel()

    def _pause(self) -> float:
        """Until the next look, the deadline, or the next break."""
        if self.verdict is not Verdict.NONE:
            return BREAK_EVERY_SECONDS
        left = self._limit - (self._clock.monotonic() - self._began) if self._limit else LOOK_EVERY_SECONDS
        return min(LOOK_EVERY_SECONDS, max(BREAK_EVERY_SECONDS, left))

    def _judge(self) -> Verdict:
        if self._limit and self._clock.monotonic() - self._began > self._limit:
            return Verdict.LATE
        return Verdict.BLOCKED if self._seconds_blocked() > self._longest_wait else Verdict.NONE
