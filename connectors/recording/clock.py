"""The time of a recording: it stands still between two events, so that it is the same when they are played again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from connectors.base import Clock
from connectors.recording.events import Moment
from connectors.recording.reading import EPOCH

MICROSECOND = timedelta(microseconds=1)


class EventClock:
    """Shows the moment of the last event."""

    def __init__(self, pause: Callable[[float], None], at: Moment) -> None:
        """Take what waits, and the moment to begin with."""
        self.at = at
        self._pause = pause

    def now(self) -> datetime:
        """Wall-clock time, aware, UTC."""
        return wall_time(self.at)

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        return self.at.steady / 1e6

    def sleep(self, seconds: float) -> None:
        """Wait; the time shown stays."""
        self._pause(seconds)


def moment_of(clock: Clock) -> Moment:
    """Now."""
    return Moment((clock.now() - EPOCH) // MICROSECOND, round(clock.monotonic() * 1e6))


def wall_time(moment: Moment) -> datetime:
    """The instant on the wall, aware, UTC."""
    return EPOCH + moment.wall * MICROSECOND
