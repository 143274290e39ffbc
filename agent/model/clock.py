"""The real clock. Everything else takes a ``connectors.base.Clock`` and never asks the system for the time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from connectors.base import Clock


class SystemClock:
    """Time as this machine tells it."""

    def now(self) -> datetime:
        """Wall-clock time, aware, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


@runtime_checkable
class SteppedClock(Protocol):
    """A clock that moves only when somebody sleeps: it calls by itself what runs beside."""

    def beside(self, every_seconds: float, action: Callable[[], None]) -> AbstractContextManager[None]:
        """Call ``action`` that often while the block lasts."""
        ...


def beside(clock: Clock, every_seconds: float, action: Callable[[], None]) -> AbstractContextManager[None]:
    """Call ``action`` that often while the block lasts: from a thread, or from the clock itself in a simulation."""
    if isinstance(clock, SteppedClock):
        return clock.beside(every_seconds, action)
    return _in_a_thread(every_seconds, action)


@contextmanager
def _in_a_thread(every_seconds: float, action: Callable[[], None]) -> Iterator[None]:
    done = threading.Event()

    def repeat() -> None:
        while not done.wait(every_seconds):
            action()

    thread = threading.Thread(target=repeat, name="beside", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
