"""Servers of each engine whose counters of all units take long, in simulated time, and what each object really did.

Object 0 waits most, 1 by ``fall`` less, and so on. The time of one object is its part of the time of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from connectors.db2.names import Part, Tables, physical_id
from connectors.db2.sampler import MonitorSampler
from connectors.kit.contract import TimedOut
from connectors.model.observation import I64, Sample
from connectors.oracle.catalog import CountedSegments
from connectors.oracle.sampler import SegmentSampler
from connectors.postgresql.sampler import StatisticsSampler
from connectors.postgresql.sessions import query
from tests.oracle.made import server
from tests.sqlserver.slow_counters import SlowCounters
from tests.virtual_clock import VirtualClock

INTERVAL, HOUR = 60.0, 3600.0
FIRST_ID = 20_001


@dataclass(slots=True)
class SlowServer:
    """Time and truth; engines answer by it in their own rows.

    Attributes:
        objects: with one unit each.
        seconds: that the call for all of them takes.
        statement_timeout: after which the server ends a call.
        fall: what an object waits of what the one before it does.
        by_id: whether some objects take less than all: a view without an index is looked through for one as for all.
    """

    clock: VirtualClock
    objects: int = 500
    seconds: float = 70.0
    statement_timeout: float = 60.0
    fall: float = 0.7
    by_id: bool = True
    spent: float = 0.0
    asked: list[tuple[float, int]] = field(default_factory=list)  # when, and object; -1: all
    limits: list[float | None] = field(default_factory=list)  # of each call

    def pace(self, number: int) -> float:
        """Reads of an object in a second."""
        return float(1000.0 * self.fall**number)

    def count(self, number: int) -> int:
        """Its reads until now."""
        return int(self.pace(number) * self.clock.monotonic())

    def spend(self, numbers: Sequence[int] | None, limit: float | None) -> None:
        """Take the time of a call for these objects; None: for all.

        Raises:
            TimedOut: that is more than it may take.
        """
        self.limits.append(limit)
        self.asked += [(self.clock.monotonic(), each) for each in ([-1] if numbers is None else numbers)]
        needed = self.seconds if numbers is None or not self.by_id else self.seconds * len(numbers) / self.objects
        given = min(self.statement_timeout, limit or self.statement_timeout)
        self.clock.sleep(min(needed, given))
        self.spent += min(needed, given)
        if needed > given:
            raise TimedOut(f"it took longer than {given:g} s")

    @property
    def ids(self) -> I64:
        """Engines that number objects number them so."""
        return np.arange(FIRST_ID, FIRST_ID + self.objects, dtype=np.int64)


@dataclass(slots=True)
class SlowPostgresql(SlowServer):
    """Stands in for a session."""

    version: int = 180000

    def copy(self, statement: bytes, take: object, *, doing: str, limit: float | None = None) -> list[I64]:
        """Of the counters: columns as ``bigint_rows`` makes them."""
        self.spend(None, limit)
        rows = [self._row(each) for each in range(self.objects)]
        return [column.copy() for column in np.array(rows, dtype=np.int64).reshape(-1, 10).T]

    def rows(
        self,
        statement: bytes,
        values: Mapping[str, Any] | None = None,
        *,
        doing: str,
        limit: float | None = None,
    ) -> list[tuple[Any, ...]]:
        """Of some relations, and of the database."""
        if statement == query("database"):
            return [(0, 0.0, 0.0, 0, 0.0, True, True, "since then", 0, 0, 0, 0, 0)]
        if values is None:
            return []
        numbers = [each - FIRST_ID for each in values["ids"]]
        self.spend(numbers, limit)
        return [self._row(each) for each in numbers]

    def processors(self) -> tuple[None, None, None]:
        """Not to be seen."""
        return None, None, None

    def _row(self, number: int) -> tuple[int, ...]:
        return FIRST_ID + number, 0, 10 * self.count(number), 9 * self.count(number), 0, 0, 0, 0, 0, 0

    def sampler(self) -> StatisticsSampler:
        """One that samples it."""
        return StatisticsSampler(self, self.clock, lambda: (self.ids, self.ids))  # type: ignore[arg-type]  # answers like a session


@dataclass(slots=True)
class SlowDb2(SlowServer):
    """Stands in for a session."""

    def parts(
        self,
        name: str,
        take: Callable[[list[Any]], Any],
        *,
        doing: str,
        limit: float | None = None,
    ) -> list[Any]:
        """Of all tables; none has an index."""
        if name != "sample_tables":
            return []
        self.spend(None, limit)
        rows = [self._row(each) for each in range(self.objects)]
        return [take(rows)] if rows else []

    def rows(self, name: str, values: Sequence[Any] = (), *, doing: str, limit: float | None = None) -> list[Any]:
        """Of one table."""
        if name != "sample_tables_of":
            return []
        number = int(values[1][1:])
        self.spend([number], limit)
        return [self._row(number)]

    def optional_rows(self, name: str, values: Sequence[Any] = (), *, doing: str) -> None:
        """None that may be read."""
        return

    def _row(self, number: int) -> tuple[Any, ...]:
        data = (10 * self.count(number), self.count(number), *[0] * 9)
        return ("APP", f"T{number}", None, 0, 4, number, *data, *[0] * 3, 9 * self.count(number), 0, 0)

    def _tables(self) -> Tables:
        names = tuple(("APP", f"T{each}") for each in range(self.objects))
        ids = np.array([physical_id(Part.TABLE, *name, 0, None) for name in names], dtype=np.int64)
        order = np.argsort(ids)
        return Tables(ids[order], order.astype(np.int64), names)

    def sampler(self) -> MonitorSampler:
        """One that samples it."""
        tables = self._tables()
        return MonitorSampler(self, self.clock, by_group=False, tables=lambda: tables)  # type: ignore[arg-type]  # answers like a session


@dataclass(slots=True)
class SlowOracle(SlowServer):
    """Stands in for all instances."""

    def rows(
        self,
        name: str,
        values: Mapping[str, Any] | None = None,
        *,
        doing: str,
        limit: float | None = None,
    ) -> list[Any]:
        """Of the counters, and of the epoch."""
        if name == "sample":
            self.spend(None, limit)
            return [self._row(each) for each in range(self.objects)]
        if name == "sample_some":
            assert values is not None
            asked = [values[f"i{at}"] for at in range(20)]
            assert [each and each + 1 for each in asked] == [values[f"d{at}"] for at in range(20)]
            numbers = [each - FIRST_ID for each in asked if each is not None]
            self.spend(numbers, limit)
            return [self._row(each) for each in numbers]
        return [("x", 1)] if name.startswith("epoch") else []

    def _row(self, number: int) -> tuple[int, ...]:
        reads = self.count(number)
        return FIRST_ID + number, FIRST_ID + number + 1, 10 * reads, reads, 0, reads, 0, 0, 0, 0

    def sampler(self) -> SegmentSampler:
        """One that samples it."""
        asked = CountedSegments(self.ids, self.ids, self.ids + 1)
        return SegmentSampler(self, self.clock, server, asked=lambda: asked)  # type: ignore[arg-type]  # answers like them


@dataclass(slots=True)
class SlowSqlserver(SlowServer):
    """Asks the stand-in of SQL Server's own tests."""

    inner: SlowCounters = field(init=False)

    def __post_init__(self) -> None:
        """With the same time."""
        self.inner = SlowCounters(self.clock, self.objects, self.seconds, self.statement_timeout, self.fall)

    def rows(self, name: str, *values: object, doing: str, limit: float | None = None) -> list[Any]:
        """Of the counters only."""
        self.inner.objects = self.objects
        if name == "sample":
            self.spend(None, limit)
            return [self.inner._row(each) for each in self.inner.ids()]
        if name == "sample_object":
            object_id = int(str(values[0]))
            self.spend([object_id - self.inner.ids()[0]], limit)
            return [self.inner._row(object_id)]
        return self.inner.rows(name, *values, doing=doing)

    def _units(self) -> I64:
        self.inner.objects = self.objects
        return self.inner.units()

    def sampler(self) -> Any:  # as of the other engines
        """One that samples it."""
        from connectors.sqlserver.sampler import DmvSampler

        return DmvSampler(self, self.clock, budget_seconds=10.0, units=self._units)  # type: ignore[arg-type]  # answers like a session


ENGINES: Mapping[str, Callable[[VirtualClock], SlowServer]] = {
    "postgresql": SlowPostgresql, "db2": SlowDb2, "oracle": SlowOracle, "sqlserver": SlowSqlserver,
}  # fmt: skip


@dataclass(slots=True)
class Turn:
    """One sample that was due."""

    at: float
    spent: float  # by the server until then
    sample: Sample | None  # None: it was not answered


def watch(slow: Any, hours: float) -> list[Turn]:  # a SlowServer with a sampler
    """Sample each minute, or as soon after it as the last sample has ended."""
    clock, sampler, due = slow.clock, slow.sampler(), slow.clock.monotonic()
    ends, turns = due + hours * HOUR, []
    while clock.monotonic() < ends:
        clock.sleep(max(0.0, due - clock.monotonic()))
        due = clock.monotonic() + INTERVAL
        turns.append(Turn(clock.monotonic(), slow.spent, None))
        try:
            turns[-1].sample = sampler.sample()
        except TimedOut:
            continue
    return turns


def core_share(turns: Sequence[Turn]) -> float:
    """What the server spent of the time after the first hour."""
    after = next(turn for turn in turns if turn.at >= turns[0].at + HOUR)
    return (turns[-1].spent - after.spent) / (turns[-1].at - after.at)


def wait_seen(slow: SlowServer, turns: Sequence[Turn], waits: float = 0.95) -> float:
    """Of the fewest objects that have so much of the true wait, the part that was read in two intervals; on average."""
    paces = np.cumsum([slow.pace(each) for each in range(slow.objects)])
    hot = set(range(int(np.searchsorted(paces, waits * paces[-1])) + 1))
    found = []
    for turn in turns:
        if turn.at < turns[0].at + HOUR:
            continue
        read = {number for at, number in slow.asked if turn.at - 2 * INTERVAL <= at <= turn.at}
        found.append(1.0 if -1 in read else len(hot & read) / len(hot))
    return float(np.mean(found))
