"""A server whose counters of all units take long, in simulated time, with the truth of what each object did."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from connectors.kit.contract import TimedOut
from connectors.sqlserver.keys import unit_ids
from connectors.sqlserver.sampler import COUNTERS, DmvSampler
from connectors.sqlserver.sessions import Row
from tests.virtual_clock import VirtualClock

_WAITS, _WAIT_MS = COUNTERS.index("io_waits"), COUNTERS.index("io_wait_ms")


@dataclass(slots=True)
class SlowCounters:
    """Stands in for a session. Object 1001 waits most, 1002 a tenth less, and so on.

    Attributes:
        objects: with one unit each.
        seconds: that the call for all of them takes; the time of one is its part of that.
        statement_timeout: after which the server ends a call.
        fall: by which the wait of an object is less than that of the one before it.
    """

    clock: VirtualClock
    objects: int = 500
    seconds: float = 70.0
    statement_timeout: float = 60.0
    fall: float = 0.7
    spent: float = 0.0
    asked: list[tuple[float, str, int]] = field(default_factory=list)  # when, query, object

    def rows(self, name: str, *values: object, doing: str, limit: float | None = None) -> list[Row]:
        """Of the counters only."""
        if name not in ("sample", "sample_object"):
            return []
        alone = name == "sample_object"
        self.asked.append((self.clock.monotonic(), name, int(str(values[0])) if alone else 0))
        needed = self.seconds / self.objects if alone else self.seconds
        given = min(self.statement_timeout, limit or self.statement_timeout)
        self.clock.sleep(min(needed, given))
        self.spent += min(needed, given)
        if needed > given:
            raise TimedOut(f"{doing}: it took longer than {given:g} s")
        return [self._row(int(str(values[0])))] if alone else [self._row(each) for each in self.ids()]

    def ids(self) -> range:
        """Of the objects."""
        return range(1001, 1001 + self.objects)

    def pace(self, object_id: int) -> float:
        """Milliseconds that sessions wait for it in a second: the truth."""
        return float(1000.0 * self.fall ** (object_id - 1001))

    def _row(self, object_id: int) -> Row:
        counters = [0] * len(COUNTERS)
        counters[_WAIT_MS] = int(self.pace(object_id) * self.clock.monotonic())
        counters[_WAITS] = counters[_WAIT_MS]
        return (object_id, 1, 1, *counters)

    def units(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Physical ids of the catalog."""
        ids = np.array(self.ids(), dtype=np.int64)
        ones = np.ones(len(ids), dtype=np.int64)
        return unit_ids(ids, ones, ones, np.zeros(len(ids), dtype=np.int64))

    def sampler(self) -> DmvSampler:
        """One that samples it."""
        return DmvSampler(self, self.clock, budget_seconds=10.0, units=self.units)  # type: ignore[arg-type]  # answers like a session
