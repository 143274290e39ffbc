"""A program of the site: it can die at any call, and what it had begun ends as its machine and its server decide."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from connectors.kit.contract import HotplaceError
from tests.virtual_clock import VirtualClock


class Killed(BaseException):
    """The process is gone: nothing after this line runs that anybody could see, no handler either."""


@dataclass(slots=True)
class Machine:
    """Of a program, with its network. Until when, on the monotonic clock, something is not as it should be."""

    skew: float = 0.0  # seconds that its clock is ahead
    frozen_until: float = 0.0  # nothing of the program runs
    no_ledger_until: float = 0.0  # the ledger's server cannot be reached from it
    no_database_until: float = 0.0  # the database cannot


class Process:
    """One life of a program. Its calls go through ``check``, which lets nothing through once it is dead."""

    def __init__(
        self, name: str, clock: VirtualClock, fault: Callable[[str, BaseException], None], machine: Machine
    ) -> None:
        self.name = name
        self.machine = machine
        self.alive = True
        self.depth = 0  # calls of it on the stack: it is called again from within its own sleep
        self.clock = ProcessClock(self, clock)
        self._fault = fault

    def check(self) -> None:
        """Go on, if it lives."""
        if not self.alive:
            raise Killed

    @property
    def is_frozen(self) -> bool:
        """Whether nothing of it runs just now."""
        return self.clock.monotonic() < self.machine.frozen_until

    def run(self, work: Callable[[], object]) -> None:
        """Let it do something. An error that no program may end with is a fault of the agent."""
        if not self.alive or self.is_frozen:
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
        return self._clock.now() + timedelta(seconds=self.process.machine.skew)

    def monotonic(self) -> float:
        """Seconds that never jump."""
        return self._clock.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let time pass; others act meanwhile, and may end this process."""
        self.process.check()
        self._clock.sleep(seconds)
        self.thaw()
        self.process.check()

    def thaw(self) -> None:
        """Wait until nothing freezes the process."""
        while (left := self.process.machine.frozen_until - self._clock.monotonic()) > 0:
            self._clock.sleep(left)

    @contextmanager
    def repeat_in_background(self, every_seconds: float, action: Callable[[], None]) -> Iterator[None]:
        """What a thread would do."""
        with self._clock.repeat_in_background(every_seconds, lambda: self.process.run(action)):
            yield
