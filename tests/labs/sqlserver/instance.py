"""The whole emulated server: databases, logins, sessions, locks, and what tests may set and drive."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from uuid import UUID

from tests.labs.sqlserver.objects import (
    HEAP,
    Index,
    Partition,
    PartitionFunction,
    PartitionScheme,
    Table,
)
from tests.labs.sqlserver.pool import Pool
from tests.labs.sqlserver.statements_kept import Run, Statements
from tests.labs.sqlserver.storage import EXTENT, AllocationUnit, DataFile, FileCounters, Filegroup, Storage, Volume

STARTED = datetime(2026, 1, 2, 3, 4, 5)  # the server's own time has no zone
READ_AHEAD_PAGES = 64
LOOKUP_MICROSECONDS = 50  # of a processor, for a look-up
AZURE_DATABASE = 5  # EngineEdition of Azure SQL Database


@dataclass(slots=True)
class Account:
    """A login with its rights; the administrator has all."""

    name: str
    password: str
    server_rights: frozenset[str] = frozenset()
    database_rights: frozenset[str] = frozenset()
    administrator: bool = False
    denied: frozenset[str] = frozenset()  # system views on which SELECT is denied
    hidden: frozenset[str] = frozenset()  # tables on which VIEW DEFINITION is denied
    owns: frozenset[str] = frozenset()  # schemas, in lower case


@dataclass(slots=True)
class Operation:
    """An index build: running or paused. ``wanted``: each new allocation unit with the pages it will have."""

    table: Table
    new: Index
    sql: str
    wanted: list[tuple[AllocationUnit, int]]
    resumable: bool
    begun: bool = False  # it has had its first lock: from now on it is paused where another one is rolled back
    paused: bool = False
    asked_to_pause: bool = False
    paused_at: datetime | None = None
    spid: int = 0

    @property
    def index_name(self) -> str:
        """Of the index that is built."""
        return self.new.name or ""

    @property
    def total_pages(self) -> int:
        """That it will have."""
        return sum(pages for _, pages in self.wanted)

    @property
    def copied_pages(self) -> int:
        """That it has."""
        return sum(unit.total for unit, _ in self.wanted)


@dataclass(slots=True)
class Request:
    """What a session runs now."""

    sql: str
    command: str
    wait_type: str | None = None
    blocker: int = 0
    percent: float = 0.0


@dataclass(slots=True, kw_only=True)
class Client:
    """A session of the load that is not over the wire, as it is at this moment."""

    login: str = "shop"
    program: str = "till"
    database: str = "shop"
    running: bool = False
    wait_type: str | None = None  # of its request
    began: float = 0.0  # seconds ago, its last request
    ended: float | None = 0.0  # seconds ago, the one before; None: never
    open_transactions: int = 0


@dataclass(slots=True)
class Connected:
    """A session as other sessions see it."""

    spid: int
    login: str
    program: str
    host: str
    database: str
    cut: threading.Event
    request: Request | None = None
    waits: Counter[str] = field(default_factory=Counter)  # microseconds by type, and how often under "<type>/n"
    reads: int = 0  # pages from files, by requests that have ended
    logical_reads: int = 0


@dataclass(slots=True)
class Database:
    """One user database."""

    database_id: int
    name: str
    storage: Storage
    broker_guid: UUID
    tables: dict[int, Table] = field(default_factory=dict)
    functions: dict[str, PartitionFunction] = field(default_factory=dict)
    schemes: dict[int, PartitionScheme] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    schemas: list[str] = field(default_factory=lambda: ["dbo"])
    ids: Counter[str] = field(default_factory=lambda: Counter(object=245575000, partition=72057594050000000, space=0))
    recovery_model: str = "SIMPLE"
    updateability: str = "READ_WRITE"
    group: UUID | None = None  # group_database_id, in an availability group
    log_pages: int = 262144
    log_used: int = 128
    log_max_size: int | None = None  # in pages; -1: until the disk is full; None: as large as it is, it does not grow
    log_growth: int = 0
    log_since_backup: int | None = None  # pages written since its last backup; None: those in use
    unsent_share: float = 0.0  # of the log that is written, which no secondary has been sent yet
    unsent_kib: float = 0.0
    log_volume: Volume | None = None  # None: that of the first file
    log_reuse_wait: str = "NOTHING"  # log_reuse_wait_desc
    log_counters: FileCounters = field(default_factory=FileCounters)
    transactions: int = 0
    statements: Statements = field(default_factory=Statements)  # Query Store, and its part of the plan cache
    owners: dict[str, str] = field(default_factory=dict)  # schema -> its owner, where that is not dbo
    database_snapshots: list[str] = field(default_factory=list)  # CREATE DATABASE ... AS SNAPSHOT OF this one
    mirrored: bool = False
    modules: dict[tuple[str, str], str] = field(
        default_factory=dict
    )  # functions; policies with the name of their table
    encryption_state: int = 0  # 3: encrypted; 2, 4, 5, 6: it is being changed
    physical_name: str = ""  # in the cloud a GUID, which counters are named by; "": its name
    counted_as: str = ""  # the name of its counters, where that is neither
    change_feed: bool = False  # for Fabric or Azure Synapse Link

    def next_id(self, kind: str) -> int:
        """A new number of that kind."""
        self.ids[kind] += 1
        return self.ids[kind]

    def table_named(self, schema: str, name: str) -> Table | None:
        """Names compare without case."""
        wanted = (schema.lower(), name.lower())
        return next((t for t in self.tables.values() if (t.schema.lower(), t.name.lower()) == wanted), None)

    def space_named(self, name: str) -> Filegroup | PartitionScheme | None:
        """Filegroup or partition scheme."""
        scheme = next((s for s in self.schemes.values() if s.name.lower() == name.lower()), None)
        return scheme or self.storage.filegroup_named(name)

    def add_filegroup(self, name: str, volume: Volume, *, pages: int, max_size: int = -1) -> Filegroup:
        """A filegroup with one file on that volume."""
        group = Filegroup(self.next_id("space"), name, is_default=not self.storage.filegroups)
        self.storage.filegroups[group.space_id] = group
        self.add_file(f"{self.name}_{name}", group.space_id, volume, pages=pages, max_size=max_size)
        return group

    def add_file(
        self, name: str, space: int, volume: Volume, *, pages: int, max_size: int = -1, path: str = ""
    ) -> DataFile:
        """One more file; file 2 is the log's."""
        file_id = max(self.storage.files, default=0) + 1
        file_id += file_id == 2
        file = DataFile(file_id, name, path or f"{volume.mount}{name}.ndf", space, volume, pages, max_size)
        self.storage.files[file_id] = file
        return file


CLIENTS = 1000  # number of the first of them


class Instance:
    """One emulated server. ``lock`` guards everything in it; ``major`` and ``edition`` are what tests vary."""

    def __init__(self, *, major: int = 16, engine_edition: int = 3) -> None:
        self.name = "EMULATED"
        self.major = major
        self.engine_edition = engine_edition
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.databases: dict[str, Database] = {}
        self.accounts: dict[str, Account] = {}
        self.sessions: dict[int, Connected] = {}
        self.app_locks: dict[tuple[str, str], int] = {}  # by principal and resource: who holds it
        self.started = STARTED
        self.performance: Counter[str] = Counter()
        self.tempdb = FileCounters()
        self.waits: Counter[str] = Counter()  # of sys.dm_os_wait_stats: milliseconds, and how often under "<type>/n"
        self.replicas: list[dict[str, object]] = []
        self.extra_requests: list[str] = []  # commands somebody else runs: BACKUP DATABASE ...
        self.later = timedelta()  # by so much the server's clock has gone on
        self.build_seconds = 0.0  # how long any copy takes
        self.last_lock_seconds = 0.0  # for how long an online build keeps its last lock
        self.minute = 1.0  # seconds that a minute of WAIT_AT_LOW_PRIORITY lasts here
        self.next_errors: list[int] = []  # error numbers the next builds end with
        self.resumable_with_drop_existing = False
        self.pool_extension_kib = 0  # of the buffer-pool extension's file; 0: there is none
        self.query_profiles: list[dict[str, int]] = []  # columns of operators of running queries
        self.pool_pages = 1_000_000  # of all databases: as many buffers has the pool
        self.pool = Pool(lambda: self.pool_pages)
        self.buffer_microseconds = 0.07  # that a walk over the pool takes for each of its buffers
        self.ramps_up = False  # a page that is read brings in its extent
        self.flushers: set[str] = set()  # logins that may EXECUTE dbo.hotplace_flush, which a DBA has installed
        self.pool_walks = 0  # queries of sys.dm_os_buffer_descriptors that were run
        self.page_life_seconds = 4200
        self.batches = 0  # that clients have sent, parameterised ones included
        self.rows_moved = 0  # from one partition to another, by SPLIT and MERGE
        self.builds = 0  # index builds that have begun to copy
        self.scans_under_lock = 0  # whole tables that were counted while no other session could read them
        self.queued_seconds = 0.0  # that locks were waited for with others queued behind: not at low priority
        self.default_fill_factor = 0  # of sys.configurations: 'fill factor (%)'
        self.requests_elsewhere: list[str] = []  # commands that somebody runs in the context of master
        self.tempdb_volume: Volume | None = None  # where its files may grow; None: as much as anyone asks for
        self.rebuild_loses: frozenset[str] = frozenset()  # of builds.LOSSES, with every DROP_EXISTING
        self.lock_timeout_beats_low_priority = True  # which of the two limits a wait at low priority is not documented
        self.stop_at = ""  # a statement that has this text waits until a test says otherwise
        self.stopped = threading.Event()  # one is waiting
        self.clients: list[Client] = []  # whose numbers begin at ``CLIENTS``
        self.batch_ms: Counter[str] = Counter()  # Batch Resp Statistics: by instance, summed over classes of duration
        self.processor_ms, self.schedulers = 0, 8
        self.snapshots: dict[int, int] = {}  # session -> seconds that it has been reading a snapshot
        self.transactions: dict[int, float] = {}  # session that is not over the wire -> seconds since it began one
        self._ids = count(5)
        self._random = random.Random(1)

    @property
    def version(self) -> tuple[int, int, int]:
        """As LOGINACK and ProductVersion say."""
        return (self.major, 0, 4000)

    def now(self) -> datetime:
        """The server's time, in UTC; it stands still until a test lets it go on."""
        return STARTED + self.later

    def add_database(self, name: str) -> Database:
        """An empty one, without filegroups."""
        number = next(self._ids)
        database = Database(number, name, Storage(name), UUID(int=0xABCD0000 + number))
        self.databases[name.lower()] = database
        return database

    def read_randomly(self, database: Database, partition: Partition, reads: int, *, by: str = "") -> None:
        """Look-ups that miss the buffer pool: each waits for one page of one file, as long as its disk takes.

        Their pages are in the pool then; those that were there have left it between.
        ``by`` is the text of the statement that does one in each execution; "": nothing remembers it.
        """
        with self.lock:
            if not partition.pages:
                return  # a move has put another in its place while the reader was on its way
            unit, file = _rows_of(partition), _file_of(database, partition)
            waited = round(reads * file.volume.random_read_ms)
            for position in self._random.sample(range(unit.total), min(reads, unit.total)):
                self.pool.read(unit, position, microseconds=round(file.volume.random_read_ms * 1000))
            partition.counters.update(
                singleton_lookup_count=reads, page_io_latch_wait_count=reads, page_io_latch_wait_in_ms=waited
            )
            file.counters.read(reads, reads, waited)
            self.performance.update({"Page lookups/sec": reads * 3, "Page reads/sec": reads})
            database.transactions += reads
            if by:
                work = reads * LOOKUP_MICROSECONDS
                database.statements.run(by, Run(
                    executions=reads, elapsed=waited * 1000 + work, worker=work, waited=waited * 1000, pages=reads,
                    operations=reads, logical=reads * 3, rows=reads,
                ))  # fmt: skip

    def look_up(
        self, database: Database, index: Index, partition: Partition, positions: Iterable[int], *, write: bool = False
    ) -> int:
        """Look-ups of rows on these pages, by position; how many waited for a read.

        In an index each goes over its root and the page above the leaf, which are in the pool most of the time.
        """
        with self.lock:
            unit, file = _rows_of(partition), _file_of(database, partition)
            microseconds = round(file.volume.random_read_ms * 1000)
            looked, missed, above = 0, 0, 0
            for position in positions:
                for parent in parents(index, unit, position):
                    above += self.pool.touch(unit, parent, microseconds=microseconds)
                missed += self.pool.touch(unit, position, microseconds=microseconds, write=write)
                looked += 1
            waits = {"page_io_latch_wait": missed + above, "tree_page_io_latch_wait": above}
            for name, waited in waits.items():
                partition.counters.update({
                    f"{name}_count": waited, f"{name}_in_ms": waited * microseconds // 1000
                })  # fmt: skip
            partition.counters.update(singleton_lookup_count=looked, leaf_update_count=looked * write)
            reads = missed + above
            file.counters.read(reads, reads, reads * microseconds // 1000)
            self.performance.update({"Page lookups/sec": looked * 3, "Page reads/sec": reads})
            database.transactions += looked
            return reads

    def flush(self) -> None:
        """CHECKPOINT and DBCC DROPCLEANBUFFERS: nothing is in memory."""
        with self.lock:
            self.pool.checkpoint()
            self.pool.clear()

    def read_by(
        self, session: Connected, database: Database, index: Index, partition: Partition, positions: Iterable[int]
    ) -> None:
        """Look-ups of a session, as ``look_up``; with ``ramps_up`` each page that is read brings in its extent."""
        with self.lock:
            unit, file = _rows_of(partition), _file_of(database, partition)
            if not self.ramps_up:
                wanted = list(positions)
                self._tell(session, file, self.look_up(database, index, partition, wanted), len(wanted))
                return
            waits = pages = looked = 0
            microseconds = round(file.volume.random_read_ms * 1000)
            for position in positions:
                looked += 1
                for page in (*parents(index, unit, position), position):
                    if self.pool.holds(unit, page):
                        continue
                    extent = range(page // EXTENT * EXTENT, min(page // EXTENT * EXTENT + EXTENT, unit.total))
                    pages += sum(self.pool.touch(unit, each, microseconds=microseconds) for each in extent)
                    waits += 1
            waited = waits * microseconds // 1000
            partition.counters.update(
                singleton_lookup_count=looked, page_io_latch_wait_count=waits, page_io_latch_wait_in_ms=waited
            )
            file.counters.read(waits, pages, waited)
            self._tell(session, file, waits, looked, pages=pages)

    def scan_by(self, session: Connected, database: Database, partition: Partition) -> None:
        """A scan of a session: what is not in memory is read 64 pages at a time, and it waits for each piece."""
        with self.lock:
            unit, file = _rows_of(partition), _file_of(database, partition)
            milliseconds = round(file.volume.scan_read_ms)
            pages = sum(
                self.pool.touch(unit, position, microseconds=milliseconds * 1000) for position in range(unit.total)
            )
            pieces = -(-pages // READ_AHEAD_PAGES)
            waited = pieces * milliseconds
            partition.counters.update(
                range_scan_count=1, page_io_latch_wait_count=pieces, page_io_latch_wait_in_ms=waited
            )
            file.counters.read(pieces, pages, waited)
            session.reads += pages
            session.logical_reads += unit.total
            session.waits.update({"PAGEIOLATCH_SH": waited * 1000, "PAGEIOLATCH_SH/n": pieces})

    @staticmethod
    def _tell(session: Connected, file: DataFile, waits: int, looked: int, *, pages: int | None = None) -> None:
        session.reads += waits if pages is None else pages
        session.logical_reads += looked
        microseconds = waits * round(file.volume.random_read_ms * 1000)
        session.waits.update({"PAGEIOLATCH_SH": microseconds, "PAGEIOLATCH_SH/n": waits})

    def scan(self, database: Database, partition: Partition, *, by: str = "") -> None:
        """Read it all in order, 64 pages ahead: nobody waits but for the first page; ``by``: the statement's text."""
        with self.lock:
            pages, file = partition.pages, _file_of(database, partition)
            for position in range(_rows_of(partition).total):
                self.pool.touch(_rows_of(partition), position, microseconds=round(file.volume.scan_read_ms * 1000))
            pieces = -(-pages // READ_AHEAD_PAGES)
            partition.counters.update(range_scan_count=1, page_io_latch_wait_count=1, page_io_latch_wait_in_ms=1)
            file.counters.read(pieces, pieces * READ_AHEAD_PAGES, round(pieces * file.volume.scan_read_ms))
            counted = {"Page lookups/sec": pages, "Page reads/sec": pages, "Readahead pages/sec": pages - 1}
            self.performance.update(counted)
            database.transactions += 1
            if by:
                elapsed = round(pieces * file.volume.scan_read_ms * 1000)
                database.statements.run(by, Run(
                    executions=1, elapsed=elapsed, worker=elapsed // 2, waited=1000, pages=pages, operations=pieces,
                    logical=pages, rows=partition.rows,
                ))  # fmt: skip

    def commit(self, database: Database, transactions: int, *, milliseconds: int = 4, log_bytes: int = 1024) -> None:
        """One after the other: each waits until its log record is written."""
        with self.lock:
            log, waited = database.log_counters, transactions * milliseconds
            log.writes += transactions
            log.bytes_written += transactions * log_bytes
            log.write_ms += waited
            self.waits.update({"WRITELOG": waited, "WRITELOG/n": transactions})
            database.transactions += transactions

    def spill(self, pages: int, *, milliseconds: int = 20) -> None:
        """A sort that does not fit its memory: written to tempdb 64 pages at a time, and read back."""
        with self.lock:
            calls = -(-pages // READ_AHEAD_PAGES)
            temp, stalled = self.tempdb, calls * milliseconds
            temp.writes, temp.reads = temp.writes + calls, temp.reads + calls
            temp.bytes_written, temp.bytes_read = temp.bytes_written + pages * 8192, temp.bytes_read + pages * 8192
            temp.write_ms, temp.read_ms = temp.write_ms + stalled, temp.read_ms + stalled
            self.waits.update({"IO_COMPLETION": 2 * stalled, "IO_COMPLETION/n": 2 * calls})

    def join_group(self, database: Database) -> None:
        """Put it into an availability group of two, of which this server is the primary; the other keeps up."""
        database.group = UUID(int=0x6009)
        self.replicas = [_replica(database, number) for number in range(2)]

    def add_secondary(self, database: Database) -> dict[str, object]:
        """One more in its group; its row, to be changed by the columns of sys.dm_hadr_database_replica_states."""
        self.replicas.append(_replica(database, len(self.replicas)))
        return self.replicas[-1]

    def fail_over(self, database: Database) -> None:
        """The other replica becomes the primary: here the database is read-only, and every session in it has ended."""
        with self.lock:
            database.updateability = "READ_ONLY" if database.updateability == "READ_WRITE" else "READ_WRITE"
            for row in self.replicas:
                row["is_primary_replica"] = not row["is_primary_replica"]
            cut = [s for s in self.sessions.values() if s.database.lower() == database.name.lower()]
        for session in cut:
            session.cut.set()

    def restart(self) -> None:
        """All counters begin anew, as after a restart of the service; sessions stay, unlike there."""
        with self.lock:
            self.started = self.started.replace(minute=(self.started.minute + 1) % 60)
            self.performance.clear()
            self.batch_ms.clear()
            self.processor_ms = 0
            self.pool = Pool(lambda: self.pool_pages)
            self.waits.clear()
            self.tempdb = FileCounters()
            for database in self.databases.values():
                database.statements.evict()
                database.log_counters = FileCounters()
                for file in database.storage.files.values():
                    file.counters = type(file.counters)()
                for index in all_indexes(database):
                    for partition in index.partitions:
                        partition.counters.clear()


def _replica(database: Database, number: int) -> dict[str, object]:
    """Number 0 is the primary, on this server: of itself it has no queues. KiB, KiB/s and seconds."""
    local = number == 0
    queues = ("log_send_queue_size", "log_send_rate", "redo_queue_size", "redo_rate", "secondary_lag_seconds")
    return {
        "database_id": database.database_id, "group_id": str(UUID(int=0x6000)).upper(),
        "replica_id": str(UUID(int=0x6100 + number)).upper(), "group_database_id": str(database.group),
        "is_local": local, "is_primary_replica": local, "is_suspended": False, "is_commit_participant": True,
        "synchronization_state": 2, "synchronization_state_desc": "SYNCHRONIZED", "synchronization_health": 2,
        "synchronization_health_desc": "HEALTHY", "database_state": 0, "database_state_desc": "ONLINE",
        **dict.fromkeys(queues, None if local else 0),
    }  # fmt: skip


def all_indexes(database: Database) -> list[Index]:
    """Heaps and indexes of every table."""
    return [index for table in database.tables.values() for index in table.indexes.values()]


IAM, ROOT = 0, 1  # positions of the page that maps an allocation unit's extents, and of an index's root
FAN_OUT = 200  # pages below one


def level_of(index: Index, position: int) -> int:
    """Of a page in its index: 0 is a leaf. Pages above the leaves lie among those, as an index grows."""
    if index.index_id == HEAP or position == IAM:
        return 0
    return 2 if position == ROOT else int(position % FAN_OUT == ROOT + 1)


def parents(index: Index, unit: AllocationUnit, position: int) -> tuple[int, ...]:
    """Positions of the pages that a look-up goes over on its way to a leaf."""
    if index.index_id == HEAP or unit.total <= ROOT + 1:
        return ()
    return ROOT, (position - ROOT - 1) // FAN_OUT * FAN_OUT + ROOT + 1


def _rows_of(partition: Partition) -> AllocationUnit:
    """The allocation unit of a partition's rows."""
    return next(iter(partition.units.values()))


def _file_of(database: Database, partition: Partition) -> DataFile:
    """The file that a partition's rows are read from: the first of those it has pages in."""
    return database.storage.files[min(next(iter(partition.units.values())).pages)]
