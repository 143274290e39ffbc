"""The real clock. All other code takes a ``connectors.kit.contract.Clock`` and never reads the system's time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from connectors.kit.contract import Clock


class SystemClock:
    """The time of this machine."""

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
    """A clock that moves only while its user sleeps, and calls background actions from within that sleep."""

    def repeat_in_background(self, every_seconds: float, action: Callable[[], None]) -> AbstractContextManager[None]:
        """Call ``action`` every ``every_seconds`` while the block lasts."""
        ...


def repeat_in_background(
    clock: Clock, every_seconds: float, action: Callable[[], None]
) -> AbstractContextManager[None]:
    """Call ``action`` every ``every_seconds`` while the block lasts: from a thread, in a simulation from the clock."""
    # A thread next to a stepped clock would run at a different virtual time on each run, and the simulation could not
    # be repeated.
    if isinstance(clock, SteppedClock):
        return clock.repeat_in_background(every_seconds, action)
    return _repeat_in_thread(every_seconds, action)


@contextmanager
def _repeat_in_thread(every_seconds: float, action: Callable[[], None]) -> Iterator[None]:
    done = threading.Event()

    def repeat() -> None:
        while not done.wait(every_seconds):
            action()

    thread = threading.Thread(target=repeat, name="repeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
