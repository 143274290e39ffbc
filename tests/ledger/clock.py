"""Time that only moves when a test says so."""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.unit.samples import MADE_AT


class StillClock:
    """Stands still until it is moved."""

    def __init__(self, at: datetime = MADE_AT) -> None:
        self._start = at
        self.at = at

    def now(self) -> datetime:
        """Wall-clock time."""
        return self.at

    def monotonic(self) -> float:
        """Seconds since the start."""
        return (self.at - self._start).total_seconds()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.at += timedelta(seconds=seconds)
