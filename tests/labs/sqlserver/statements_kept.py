"""What the server remembers of statements: Query Store of one database, and its part of the plan cache.

Times are microseconds, as in both; the clock is the server's own, which has no zone.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

STATES = ("OFF", "READ_ONLY", "READ_WRITE", "ERROR")  # by number, as sys.database_query_store_options has them
INTERVAL = timedelta(hours=1)
FULL = 65536  # readonly_reason: the store has reached its largest size


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What executions of one statement came to, all together."""

    executions: int
    elapsed: int
    worker: int = 0
    waited: int = 0  # of it, for pages of files
    pages: int = 0  # that were read from files
    operations: int = 0  # by which they were
    logical: int = 0
    rows: int = 0

    def __add__(self, other: Run) -> Run:
        return Run(**{name: getattr(self, name) + getattr(other, name) for name in Run.__slots__})


NOTHING = Run(executions=0, elapsed=0)


@dataclass(slots=True)
class Plan:
    """One plan of one statement."""

    plan_id: int
    query_id: int
    number: int  # of the statement's plans


@dataclass(slots=True, kw_only=True)
class Tally:
    """What was done by one plan since something began."""

    first: datetime
    last: datetime
    total: Run = NOTHING

    def add(self, done: Run, now: datetime) -> None:
        """Executions that have ended now."""
        self.total, self.last = self.total + done, now


@dataclass(slots=True, kw_only=True)
class Cached(Tally):
    """A plan in the cache with what was done by it since it came there."""

    text: str
    plan: int


@dataclass(slots=True, kw_only=True)
class Stored(Tally):
    """A row of sys.query_store_runtime_stats."""

    plan_id: int
    interval_id: int
    on_disk: bool = False


@dataclass(slots=True)
class Interval:
    """A row of sys.query_store_runtime_stats_interval."""

    interval_id: int
    start: datetime

    @property
    def end(self) -> datetime:
        """When the next begins."""
        return self.start + INTERVAL


def hash_of(text: str) -> bytes:
    """A query_hash: eight bytes, the same wherever the text is."""
    return hashlib.sha256(text.encode()).digest()[:8]


def handle_of(text: str, plan: int = 0) -> bytes:
    """A sql_handle, or of a plan a plan_handle: so many bytes that no session's handle is like it."""
    return hashlib.sha256(f"{plan}/{text}".encode()).digest()


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)


@dataclass(slots=True)
class Statements:
    """Of one database. For whoever holds the instance's lock."""

    desired: str = "OFF"
    actual: str = "OFF"
    queries: dict[str, int] = field(default_factory=dict)  # text -> query_id, which is its query_text_id too
    plans: dict[tuple[str, int], Plan] = field(default_factory=dict)
    stored: list[Stored] = field(default_factory=list)
    intervals: list[Interval] = field(default_factory=list)
    cached: dict[tuple[str, int], Cached] = field(default_factory=dict)
    _plan_ids: count[int] = field(default_factory=lambda: count(1))

    def run(self, text: str, done: Run, plan: int = 1) -> None:
        """Executions of a statement by its first plan, or by another."""
        now = _now()
        cached = self.cached.setdefault((text, plan), Cached(text=text, plan=plan, first=now, last=now))
        cached.add(done, now)
        if self.actual == "READ_WRITE":
            self._store(text, done, plan, now)

    def _store(self, text: str, done: Run, plan: int, now: datetime) -> None:
        query = self.queries.setdefault(text, len(self.queries) + 1)
        key = (text, plan)
        if key not in self.plans:
            self.plans[key] = Plan(next(self._plan_ids), query, plan)
        if not self.intervals:
            self.intervals.append(Interval(1, now.replace(minute=0, second=0)))
        interval, plan_id = self.intervals[-1].interval_id, self.plans[key].plan_id
        for row in self.stored:
            if (row.plan_id, row.interval_id, row.on_disk) == (plan_id, interval, False):
                row.add(done, now)
                return
        self.stored.append(Stored(plan_id=plan_id, interval_id=interval, first=now, last=now, total=done))

    def flush(self) -> None:
        """What is in memory goes to disk; what comes in the same interval has a row of its own."""
        for row in self.stored:
            row.on_disk = True

    def next_interval(self) -> None:
        """An hour later."""
        self.flush()
        last = self.intervals[-1] if self.intervals else Interval(0, _now().replace(minute=0, second=0) - INTERVAL)
        self.intervals.append(Interval(last.interval_id + 1, last.end))

    def evict(self, text: str = "") -> None:
        """A statement's plans leave the cache, or all do, with their counters; Query Store keeps its own."""
        self.cached = {key: plan for key, plan in self.cached.items() if text and key[0] != text}

    def clear(self) -> None:
        """ALTER DATABASE ... SET QUERY_STORE CLEAR, or what it did by itself once it was too large."""
        self.queries, self.plans, self.stored, self.intervals = {}, {}, [], []

    def switch(self, desired: str, actual: str = "") -> None:
        """Into a state that somebody wants; the one that it is in can be another."""
        self.desired, self.actual = desired, actual or desired
