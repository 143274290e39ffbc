"""A program of the site: it can die at any call, and what it had begun ends as its machine and its server decide."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from connectors.base import HotplaceError
from tests.virtual_clock import VirtualClock


class Killed(BaseException):
    """The process is gone: nothing after this line runs that anybody could see, no handler either."""


class Process:
    """One life of a program. Its calls go through ``check``, which lets nothing through once it is dead."""

    def __init__(self, name: str, clock: VirtualClock, fault: Callable[[str, BaseException], None]) -> None:
        self.name = name
        self.alive = True
        self.depth = 0  # calls of it on the stack: it is called again from within its own sleep
        self.clock = ProcessClock(self, clock)
        self._fault = fault

    def check(self) -> None:
        """Go on, if it lives."""
        if not self.alive:
            raise Killed

    def run(self, work: Callable[[], object]) -> None:
        """Let it do something. An error that no program may end with is a fault of the agent."""
        if not self.alive:
            return
        self.depth += 1
        try:
            work()
        except Killed:
            self.alive = False
        except HotplaceError:
            raise
        except Exception as error:  # whatever it is, it is none that hotplace raises on purpose
            if "fault_simulation" in traceback.extract_tb(error.__traceback__)[-1].filename:
                raise
            self._fault(f"{self.name} ended with an error that is none of its own: {error!r}", error)
        finally:
            self.depth -= 1


class ProcessClock:
    """The clock of the site as one program sees it."""

    def __init__(self, process: Process, clock: VirtualClock) -> None:
        self.process = process
        self._clock = clock

    def now(self) -> datetime:
        """Wall-clock time, aware, UTC."""
        return self._clock.now()

    def monotonic(self) -> float:
        """Seconds that never jump."""
        return self._clock.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let time pass; others act meanwhile, and may end this process."""
        self.process.check()
        self._clock.sleep(seconds)
        self.process.check()

    @contextmanager
    def repeat_in_background(self, every_seconds: float, action: Callable[[], None]) -> Iterator[None]:
        """What a thread would do."""
        with self._clock.repeat_in_background(every_seconds, lambda: self.process.run(action)):
            yield
