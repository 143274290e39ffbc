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
from tests.labs.db2.tables.definition import Definition

PAGE_SIZE, EXTENT = 4096, 32
MEGABYTE = 2**20
OF_THE_SYSTEM = ("BLOK", "DIM", "CPMA", "MDST")  # kinds of indexes that nobody creates or drops
CREATED = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
FORBIDS = {
    "IS": ("X",),
    "IX": ("S", "X"),
    "S": ("IX", "X"),
    "X": ("IS", "IX", "S", "X"),
}  # modes of others, by one's own
Counts = defaultdict[int, Counter[str]]  # member -> counter -> total


def counts() -> Counts:
    """No event yet on any member."""
    return defaultdict(Counter)


def taken(pages: int) -> int:
    """Pages that an object takes in a table space that the database manages: whole extents, and one of its map."""
    return (-(-pages // EXTENT) + 1) * EXTENT if pages else 0


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
    """Extents on their way from one storage group, or from files of a table space's own, to others."""

    started: datetime
    extents: int
    source: str  # storage group that is left; "": files are
    mode: str = "REV_REBAL"  # for two passes "2PASS": forward into what is new, then out of what is dropped
    processed: float = 0.0
    suspended: bool = False
    seen: float = field(default_factory=time.monotonic)

    def advance(self, extents_per_second: float) -> None:
        """Let the time since the last look pass."""
        now = time.monotonic()
        if not self.suspended:
            # Worked out when somebody looks, in place of a thread that copies: so a test may change the speed in the
            # middle.
            self.processed = min(self.extents, self.processed + (now - self.seen) * extents_per_second)
        self.seen = now

    def shown_mode(self) -> str:
        """TBSP_REBALANCER_MODE."""
        if self.mode != "2PASS":
            return self.mode
        return "FWD_REBAL_OF_2PASS" if self.processed * 2 < self.extents else "REV_REBAL_OF_2PASS"


@dataclass(frozen=True)
class Place:
    """One container: a file in a storage path, named by the server, or one that somebody chose."""

    group: StorageGroup  # whose file system it takes room of
    path: str  # "" in a storage path
    pages: int  # of a chosen file


@dataclass
class TableSpace:
    """Where objects live."""

    id: int
    name: str
    group: str  # storage group; "" where it is managed by its own containers (DMS)
    data_type: str = "L"  # A any, L large, T system temporary, U user temporary
    state: str = "NORMAL"
    waiting_from: str = ""  # the storage group it should leave, when no rebalance has started yet
    rebalance: Rebalance | None = None
    file_cached: bool = False
    caching_tier: str = ""
    system_managed: bool = False  # SMS: a folder of the file system, whose files grow
    partition_group: str = "IBMDEFAULTGROUP"
    max_pages: int = 0  # that it may grow to; 0: no limit
    files: dict[str, int] = field(default_factory=dict)  # containers of its own: pages by path
    leaving: dict[str, int] = field(default_factory=dict)  # those that a rebalance empties, or waits to
    counts: Counts = field(default_factory=counts)

    @property
    def left_group(self) -> str:
        """The storage group that it has containers in and should have none, "" if there is none."""
        old = self.rebalance.source if self.rebalance else self.waiting_from
        return "" if old == self.group else old


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
        """Pages that data and LOBs take by table space; indexes know theirs."""
        found = Counter({self.data: taken(self.pages)})
        found[self.long] += taken(self.lob_pages)
        return dict(found)


@dataclass
class Index:
    """An index; it lives where its part says."""

    iid: int
    schema: str
    name: str
    pages: int
    unique: str = "U"
    columns: str = "+C0"  # of the key, with their order
    kind: str = "REG"  # INDEXTYPE
    on_expression: bool = False
    catalog: dict[str, str | int | None] = field(default_factory=dict)  # other columns of its row in SYSCAT.INDEXES
    analysed: bool = True  # statistics were collected
    analysed_at: datetime = CREATED
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
    orphans: int = 0  # rows whose parent no other table has: somebody wrote them while no key was there to forbid it
    more_columns: list[str] = field(default_factory=list)  # of its foreign keys
    dependents: dict[str, str] = field(default_factory=dict)  # views and query tables in its schema: DTYPE by name
    invalid: set[str] = field(default_factory=set)  # of its views
    triggers: dict[str, str] = field(default_factory=dict)  # VALID by name
    trigger_columns: dict[str, str | None] = field(default_factory=dict)  # others of their rows in SYSCAT.TRIGGERS
    constraints: dict[str, dict[str, str | None]] = field(
        default_factory=dict
    )  # checks: columns of TABCONST and CHECKS
    grants: dict[str, str] = field(default_factory=dict)  # of each role, by SYSCAT.TABAUTH: "SELECT=Y INSERT=G"
    column_grants: dict[str, str] = field(default_factory=dict)  # of each role, by SYSCAT.COLAUTH: "C0=U C1=RG"
    packages: list[str] = field(default_factory=list)  # of static SQL that use it
    monitors: list[str] = field(default_factory=list)  # event monitors that write to it
    xml_schemas: list[str] = field(default_factory=list)
    history_of: str = ""  # a temporal table of its schema
    staging: bool = False
    control: str = ""  # row and column access control
    protection: str = ""  # by security labels
    capture: str = "N"
    checks: int = 0
    generated: int = 0  # columns
    analysed: bool = True
    analysed_at: datetime = CREATED
    clustered: str = ""  # by Y dimensions or T the time of insertion
    lob_type: str = "SYSIBM.CLOB"  # of its LOBs; a distinct type has a schema of its own
    owner: str = "DB2INST1"
    ranges: list[tuple[str, str]] = field(default_factory=list)  # of each data partition: from, up to
    made: Definition | None = None  # what the statements said that made it
    available: bool = True
    reorg_pending: bool = False
    load_status: str = ""  # PENDING or IN_PROGRESS

    def set_statistics(self, when: datetime | None) -> None:
        """Those of the table and its indexes are as of then, or there are none."""
        measured: list[Table | Index] = [self, *self.indexes]
        for one in measured:
            one.analysed = when is not None
            one.analysed_at = when or one.analysed_at

    def pages_by_space(self) -> Counter[str]:
        """Everything it takes, by table space."""
        total: Counter[str] = Counter()
        for part in self.parts:
            total.update(part.spaces())
        total[self.parts[0].index] += taken(sum(index.pages for index in self.indexes))
        return total


@dataclass(frozen=True, kw_only=True)
class ForeignKey:
    """A referential constraint; tables by schema and name."""

    name: str
    child: tuple[str, str]
    columns: tuple[str, ...]
    parent: tuple[str, str]
    parent_columns: tuple[str, ...]
    on_delete: str = "A"  # as in SYSCAT.REFERENCES: A no action, C cascade, N set null, R restrict
    on_update: str = "A"
    enforced: bool = True
    trusted: bool = True  # where it is not enforced
    optimized: bool = True
    columns_of_catalog: tuple[tuple[str, str | None], ...] = ()  # others of its row in SYSCAT.TABCONST


@dataclass
class Statement:
    """A section of the package cache on one member."""

    text: str
    number: int
    inserted: datetime
    updated: datetime
    counts: Counter[str] = field(default_factory=Counter)


@dataclass
class Standby:
    """What MON_GET_HADR tells of one standby."""

    number: int
    state: str = "PEER"
    syncmode: str = "NEARSYNC"
    connected: str = "CONNECTED"
    gap: int | None = 0  # bytes of log that it has not received; None: it was never connected
    replay_gap: int | None = 0  # bytes that it has received and not replayed
    log_wait_ms: int = 0  # that sessions waited for it, since activation
    log_waits: int = 0
    log_wait_now_ms: int = 0  # for how long the log writer waits just now
    log_position: int = 1_000_000
    unsent_share: float = 0.0  # of the log that copies write, which it receives later
    unsent: float = 0.0  # bytes of that

    def write(self, size: int) -> None:
        """So many bytes of log were written at the primary."""
        self.log_position += size
        self.unsent += size * self.unsent_share


@dataclass
class LoadConnection:
    """A connection of the load that is not over the wire: what it has done so far, on one member."""

    handle: int
    started: datetime
    user: str
    application: str
    figures: dict[str, int] = field(default_factory=dict)  # by column of MON_GET_CONNECTION
    member: int = 0


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
    mon_act_metrics: str = "BASE"
    pool_keeps: bool = False  # look-ups of statements find their pages in the buffer pool; else each comes from storage
    extents_per_second: float = 1e9
    rebalance_starts: bool = True  # by itself, at the commit of USING STOGROUP
    phase_seconds: float = 0.0  # that a phase of ADMIN_MOVE_TABLE takes, and USING STOGROUP itself; heard meanwhile
    slow_phase: str = ""  # the only phase that takes that long; "": each
    copied_share: float | None = None  # of the rows, where COPY is; None: as far as its time has passed
    lock_seconds: float = 1.0  # LOCKTIMEOUT
    silent: bool = False  # the server takes requests and answers none
    cut_between_blocks: bool = False  # connections end when the driver asks for the next block of rows
    cut_mid_answer: bool = False  # connections end in the middle of the next rows
    end_with: int = 0  # the next statement gets that SQLCODE (-1024 ...), and its connection ends
    end_next_change_with: int = 0  # likewise of the next statement that changes the emulated database
    looks_for_clients: bool = False  # a statement whose client is gone ends; otherwise it runs to its end
    swap_loses: tuple[str, ...] = ()  # of move.LOSSES: what a SWAP does not bring along
    moves_keys: bool = False  # ADMIN_MOVE_TABLE takes tables with foreign keys, and keeps them
    swap_deadlocks: bool = False  # the next SWAP is the victim of a deadlock
    auto_reval: str = "DEFERRED"
    rebalance_fails: bool = False  # half-way, as when the new paths fill up: old and new containers stay
    pure_scale: bool = False
    members: int = 1
    processors: int = 4  # online on each host
    hosts: tuple[str, ...] = ("db2host",)  # of the members, in turn; each numbers its file systems alike
    untouched: tuple[str, ...] = ()  # table spaces without a row in MON_GET_TABLESPACE
    hadr_role: str = "STANDARD"
    blocknonlogged: str = "NO"
    logarchmeth1: str = "OFF"  # DISK:/db2/archive/ and others: a restored database rolls forward
    locked_seconds: float = 0.0  # for which COPY with ALLOW_READ_ACCESS, and SWAP, keep their locks of the table
    hostile_functions: bool = False  # each user's schema has functions of others that fit better than the server's
    log_files: tuple[int, int, int] = (1024, 13, 12)  # logfilsiz in pages of 4 KB, logprimary, logsecond


class World:
    """The whole database. Every method needs ``lock`` held, but ``changed`` may be read at any time."""

    def __init__(self, groups: list[StorageGroup], spaces: list[TableSpace], version: tuple[int, ...]) -> None:
        self.lock = threading.RLock()
        self.version = version
        self.groups = {group.name: group for group in groups}
        self.spaces = {space.name: space for space in spaces}
        self.tables: dict[tuple[str, str], Table] = {}
        self.types: dict[str, str] = {}  # distinct types: what each is made of, by schema and name
        self.statements: dict[tuple[str, int], Statement] = {}  # by text and member
        self.standbys = [Standby(1)]  # shown while the database is a primary or a standby
        self.log_used = 0  # bytes of active log that transactions hold
        self.log_held_by = 0  # handle of the application whose transaction is the oldest
        self.last_backup: datetime | None = None
        self.foreign_keys: list[ForeignKey] = []
        self.moves: dict[tuple[str, str], Move] = {}
        self.protocol_exists = False
        self.utilities: dict[int, Utility] = {}
        self.load: list[LoadConnection] = []
        self.wire: dict[int, LoadConnection] = {}  # by handle; those over the wire that have read something
        self.locked: set[tuple[str, str]] = set()
        self.schemas: dict[str, str] = {}  # those whose tables are made by statements: owner by name
        self.held: dict[int, dict[tuple[str, str], str]] = {}  # locks of tables: mode, by connection and table
        self.unrecoverable: set[tuple[str, str]] = set()  # no log and no copy has what was loaded into them
        self.behaviour = Behaviour()
        self.executable: defaultdict[str, set[str]] = defaultdict(set)  # routines that a GRANT has given each user
        self.authorities: dict[str, set[str]] = {}  # of each user and PUBLIC: DBADM, SQLADM, CREATETAB, "USE TS_FAST"
        self.started = datetime.now(UTC)
        self.activated: dict[int, datetime] = {}  # members that were activated later than that
        self.database: Counts = counts()
        self.changed = 0
        self._file_id = 3

    def read_by_sessions(self) -> Counter[str]:
        """Pages that agents read themselves, by the columns of MON_GET_CONNECTION, and their waits for reads."""
        found: Counter[str] = Counter()
        for counted in (each for space in self.spaces.values() for each in space.counts.values()):
            for kind in ("DATA", "INDEX", "XDA"):
                found[f"POOL_{kind}_P_READS"] += counted[f"POOL_{kind}_P_READS"] - counted[f"POOL_ASYNC_{kind}_READS"]
            found["POOL_READ_TIME"] += counted["POOL_READ_TIME"] - counted["POOL_ASYNC_READ_TIME"]
            found["PREFETCH_WAIT_TIME"] += counted["PREFETCH_WAIT_TIME"]
        return found

    def count_for(self, handle: int, user: str, before: Counter[str]) -> None:
        """Count for a connection over the wire what was read since ``before``."""
        rise = self.read_by_sessions()
        rise.subtract(before)
        if any(rise.values()):
            own = self.wire.setdefault(handle, LoadConnection(handle, datetime.now(UTC), user, "hotplace"))
            for name, value in rise.items():
                own.figures[name] = own.figures.get(name, 0) + value

    def touch(self) -> None:
        """Something changed: what was shown of it is out of date."""
        self.changed += 1

    def replace(self, other: World) -> None:
        """Become what another one is, but for the numbers that must not come twice."""
        kept = {name: getattr(self, name) for name in ("lock", "changed", "_file_id")}
        vars(self).update({**vars(other), **kept})
        self.touch()

    def tick(self) -> None:
        """Let rebalances get on; the finished ones leave their old containers."""
        for space in self.spaces.values():
            moving = space.rebalance
            if moving is None:
                continue
            moving.advance(self.behaviour.extents_per_second)
            self.touch()
            if self.behaviour.rebalance_fails and moving.processed * 2 >= moving.extents:
                space.waiting_from, space.rebalance = moving.source, None
            elif moving.processed >= moving.extents:
                space.rebalance, space.leaving = None, {}

    def is_over(self, phase: str, began: float) -> bool:
        """Whether a phase, or a change of a table space, that began then has taken its time."""
        slow = self.behaviour.slow_phase in ("", phase)
        return not slow or time.monotonic() - began >= self.behaviour.phase_seconds

    def table(self, schema: str, name: str) -> Table:
        """The table of that name.

        Raises:
            Refusal: SQL0204N.
        """
        if (schema, name) not in self.tables:
            raise refusals.undefined(f"{schema}.{name}")
        return self.tables[schema, name]

    def keys_of(self, schema: str, name: str) -> list[ForeignKey]:
        """Those that a table has, and those that refer to it."""
        return [key for key in self.foreign_keys if (schema, name) in (key.child, key.parent)]

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

    def system_index(self) -> str:
        """A name that the server invents for an index of its own."""
        return f"SQL{self.next_file_id():015}"

    def lock_table(self, handle: int, name: tuple[str, str], mode: str) -> bool:
        """Lock a table for a connection, as long as no other has a lock that forbids it; whether it has it."""
        others = {held.get(name, "") for other, held in self.held.items() if other != handle}
        if mode == "X" and name in self.locked:  # by whomever
            return False
        if any(other in FORBIDS[mode] for other in others):
            return False
        mine = self.held.setdefault(handle, {})
        mine[name] = max(mine.get(name, "IS"), mode, key=list(FORBIDS).index)
        self.touch()
        return True

    def unlock(self, handle: int) -> None:
        """End of a transaction."""
        if self.held.pop(handle, None):
            self.touch()

    def used_pages(self) -> Counter[str]:
        """Pages in use by table space."""
        total: Counter[str] = Counter(dict.fromkeys(self.spaces, EXTENT * 3))
        for table in self.tables.values():
            total.update(table.pages_by_space())
        return total

    def places(self, space: TableSpace) -> list[Place]:
        """Containers of a table space, the newest first; those that it leaves are there until a rebalance has ended."""
        groups = [name for name in (space.group, space.left_group) if name]
        chosen = {**space.files, **space.leaving}
        return [
            *(Place(self.groups[name], "", 0) for name in groups),
            *(Place(self.file_system(path), path, pages) for path, pages in chosen.items()),
        ]

    def file_system(self, path: str) -> StorageGroup:
        """Whose file system a path is on: each storage group has one of its own, mounted at its path.

        Raises:
            Refusal: SQL0298N: it is on none.
        """
        for group in self.groups.values():
            if path.startswith(f"{group.path}/"):
                return group
        raise refusals.bad_path(path)

    def used_bytes(self, group: StorageGroup) -> int:
        """Bytes taken in the group's file system, by whomever; a chosen file takes its whole size."""
        used, total = self.used_pages(), group.foreign
        for space in self.spaces.values():
            here = [place for place in self.places(space) if place.group is group]
            total += sum(place.pages * PAGE_SIZE for place in here)
            total += sum(used[space.name] * PAGE_SIZE for place in here if not place.path)
        return total

    def free_bytes(self, group: StorageGroup) -> int:
        """Room in the group's file system."""
        return max(group.capacity - self.used_bytes(group), 0)

    def room(self, space: TableSpace) -> int:
        """Bytes that objects in a table space can still take, by its storage and by its own limit."""
        used = self.used_pages()[space.name]
        if space.group:
            free = self.free_bytes(self.groups[space.group])
        elif space.system_managed:
            free = self.free_bytes(self.file_system(next(iter(space.files))))
        else:
            free = (sum(space.files.values()) - used) * PAGE_SIZE
        return min(free, (space.max_pages - used) * PAGE_SIZE) if space.max_pages else free
