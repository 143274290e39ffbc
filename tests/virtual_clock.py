"""A clock for simulated time: it advances only in ``sleep``."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


class VirtualClock:
    """Time that ``sleep`` advances at once. For one thread: ``call_later`` schedules what would run concurrently."""

    def __init__(self, start: datetime = EPOCH) -> None:
        self._wall = start
        self._elapsed = 0.0
        self._scheduled: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = 0

    def copy(self) -> VirtualClock:
        """Another one that shows the same time, with nothing scheduled."""
        made = VirtualClock(self._wall)
        made._elapsed = self._elapsed
        return made

    def now(self) -> datetime:
        """Wall-clock time, aware, UTC."""
        return self._wall + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Seconds since this clock was made."""
        return self._elapsed

    def sleep(self, seconds: float) -> None:
        """Let that much time pass, calling what falls due on the way, in order.

        Raises:
            ValueError: ``seconds`` is negative.
        """
        if seconds < 0:
            raise ValueError(f"cannot sleep {seconds} s")
        until = self._elapsed + seconds
        while self._scheduled and self._scheduled[0][0] <= until:
            due, _, action = heapq.heappop(self._scheduled)
            self._elapsed = max(self._elapsed, due)
            action()
        self._elapsed = max(self._elapsed, until)

    def call_later(self, seconds: float, action: Callable[[], None]) -> None:
        """Call ``action`` when that much more time has passed, from within a later ``sleep``."""
        self._serial += 1
        heapq.heappush(self._scheduled, (self._elapsed + seconds, self._serial, action))

    @contextmanager
    def repeat_in_background(self, every_seconds: float, action: Callable[[], None]) -> Iterator[None]:
        """Call ``action`` that often, from within the sleeps of the block; as a thread would, never twice at a time."""
        lasting, acting = True, False

        def repeat() -> None:
            nonlocal acting
            if not lasting:
                return
            self.call_later(every_seconds, repeat)
            if acting:
                return
            acting = True
            try:
                action()
            finally:
                acting = False

        self.call_later(every_seconds, repeat)
        try:
            yield
        finally:
            lasting = False

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an operator or NTP would; the monotonic clock does not notice."""
        self._wall += timedelta(seconds=seconds)
