"""What an emulated Db2 database consists of: storage groups, table spaces, tables, counters, moves in progress.

Nothing here speaks SQL. Sizes are pages of the table space unless said otherwise; times of reads are milliseconds, as
in Db2's own counters. Times at which things happen are ``time.monotonic()`` seconds.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.labs.db2 import refusals

PAGE_SIZE, EXTENT = 4096, 32
MEGABYTE = 2**20
Counts = defaultdict[int, Counter[str]]  # member -> counter -> total


def counts() -> Counts:
    """No event yet on any member."""
    return defaultdict(Counter)


@dataclass
class StorageGroup:
    """Paths on one class of storage."""

    id: int
    name: str
    path: str
    read_ms: float  # of one page that a session waits for
    capacity: int  # bytes of its file system
    overhead: float
    read_rate: float
    foreign: int = 0  # bytes that something else takes there
    default: bool = False


@dataclass
class Rebalance:
    """Extents on their way from one storage group to another."""

    started: datetime
    extents: int
    source: str
    processed: float = 0.0
    suspended: bool = False
    seen: float = field(default_factory=time.monotonic)

    def advance(self, extents_per_second: float) -> None:
        """Let the time since the last look pass."""
        now = time.monotonic()
        if not self.suspended:
            self.processed = min(self.extents, self.processed + (now - self.seen) * extents_per_second)
        self.seen = now


@dataclass
class TableSpace:
    """Where objects live."""

    id: int
    name: str
    group: str
    data_type: str = "L"  # A any, L large, T system temporary, U user temporary
    state: str = "NORMAL"
    waiting_from: str = ""  # the storage group it should leave, when no rebalance has started yet
    rebalance: Rebalance | None = None
    file_cached: bool = False
    counts: Counts = field(default_factory=counts)

    def containers(self) -> list[str]:
        """Names of the storage groups it has containers in, the newest first."""
        old = self.rebalance.source if self.rebalance else self.waiting_from
        return [self.group, *([old] if old and old != self.group else [])]


@dataclass
class Part:
    """One data partition; a table that is not partitioned has one."""

    id: int
    name: str
    file_id: int
    data: str  # table spaces
    index: str
    long: str
    pages: int
    lob_pages: int = 0
    counts: Counts = field(default_factory=counts)

    def spaces(self) -> dict[str, int]:
        """Pages of data and LOBs by table space; indexes know theirs."""
        found = Counter({self.data: self.pages})
        found[self.long] += self.lob_pages
        return dict(found)


@dataclass
class Index:
    """An index; it lives where its part says."""

    iid: int
    schema: str
    name: str
    pages: int
    unique: str = "U"
    counts: Counts = field(default_factory=counts)


@dataclass
class Table:
    """A table with its parts and indexes."""

    schema: str
    name: str
    rows: int
    parts: list[Part]
    indexes: list[Index]
    type: str = "T"
    organized: str = "R"
    parents: int = 0  # referential constraints
    children: int = 0

    def pages_by_space(self) -> Counter[str]:
        """Everything it takes, by table space."""
        total: Counter[str] = Counter()
        for part in self.parts:
            total.update(part.spaces())
        total[self.parts[0].index] += sum(index.pages for index in self.indexes)
        return total


@dataclass
class Utility:
    """One row of MON_GET_UTILITY."""

    id: int
    kind: str
    schema: str
    table: str
    handle: int
    started: datetime


@dataclass
class Move:
    """The protocol of one ADMIN_MOVE_TABLE."""

    owner: str
    target: Table  # empty after INIT, a copy after COPY, what was the source after SWAP
    protocol: dict[str, str]


@dataclass
class Behaviour:
    """What a test may change while the lab runs."""

    mon_obj_metrics: str = "EXTENDED"
    extents_per_second: float = 1e9
    rebalance_starts: bool = True  # by itself, at the commit of USING STOGROUP
    phase_seconds: float = 0.0  # how long a phase of ADMIN_MOVE_TABLE takes, and USING STOGROUP itself
    lock_seconds: float = 1.0  # LOCKTIMEOUT
    silent: bool = False  # the server takes requests and answers none
    cut_mid_answer: bool = False  # connections end in the middle of the next rows
    pure_scale: bool = False
    members: int = 1


class World:
    """The whole database. Every method needs ``lock`` held, but ``changed`` may be read at any time."""

    def __init__(self, groups: list[StorageGroup], spaces: list[TableSpace], version: tuple[int, ...]) -> None:
        self.lock = threading.RLock()
        self.version = version
        self.groups = {group.name: group for group in groups}
        self.spaces = {space.name: space for space in spaces}
        self.tables: dict[tuple[str, str], Table] = {}
        self.moves: dict[tuple[str, str], Move] = {}
        self.protocol_exists = False
        self.utilities: dict[int, Utility] = {}
        self.locked: set[tuple[str, str]] = set()
        self.behaviour = Behaviour()
        self.activated = datetime.now(UTC)
        self.database: Counts = counts()
        self.changed = 0
        self._file_id = 3

    def touch(self) -> None:
        """Something changed: what was shown of it is out of date."""
        self.changed += 1

    def tick(self) -> None:
        """Let rebalances get on; the finished ones leave their old containers."""
        for space in self.spaces.values():
            moving = space.rebalance
            if moving is None:
                continue
            moving.advance(self.behaviour.extents_per_second)
            self.touch()
            if moving.processed >= moving.extents:
                space.rebalance = None

    def table(self, schema: str, name: str) -> Table:
        """The table of that name.

        Raises:
            Refusal: SQL0204N.
        """
        if (schema, name) not in self.tables:
            raise refusals.undefined(f"{schema}.{name}")
        return self.tables[schema, name]

    def space(self, name: str) -> TableSpace:
        """The table space of that name.

        Raises:
            Refusal: SQL0204N.
        """
        if name not in self.spaces:
            raise refusals.undefined(name)
        return self.spaces[name]

    def group(self, name: str) -> StorageGroup:
        """The storage group of that name.

        Raises:
            Refusal: SQL0204N.
        """
        if name not in self.groups:
            raise refusals.undefined(name)
        return self.groups[name]

    def next_file_id(self) -> int:
        """A number for a new object."""
        self._file_id += 1
        return self._file_id

    def used_pages(self) -> Counter[str]:
        """Pages in use by table space."""
        total: Counter[str] = Counter(dict.fromkeys(self.spaces, EXTENT * 3))
        for table in self.tables.values():
            total.update(table.pages_by_space())
        return total

    def used_bytes(self, group: StorageGroup) -> int:
        """Bytes taken in the group's file system, by whomever."""
        used = self.used_pages()
        mine = (s.name for s in self.spaces.values() if group.name in s.containers())
        return group.foreign + sum(used[name] for name in mine) * PAGE_SIZE

    def free_bytes(self, group: StorageGroup) -> int:
        """Room in the group's file system."""
        return max(group.capacity - self.used_bytes(group), 0)
