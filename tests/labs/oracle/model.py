"""What the emulated database consists of: tablespaces, files, segments, tables, indexes, users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

BLOCK = 8192
UNLIMITED = -1
BEHIND = "/background"  # ends the name of an event as background processes wait for it
STARTED = datetime(2026, 1, 5, 6, 0, 0)  # STARTUP_TIME is a DATE of the database host


@dataclass(slots=True)
class DataFile:
    """One data file with its I/O counters, per instance."""

    number: int
    path: str
    bytes: int
    max_bytes: int = 0  # 0: does not extend itself
    counters: list[Counter[str]] = field(default_factory=list)
    moving: bool = False


@dataclass(slots=True)
class Tablespace:
    """What a move names."""

    name: str
    number: int
    files: list[DataFile]
    contents: str = "PERMANENT"
    status: str = "ONLINE"
    encrypted: bool = False
    automatic: bool = True  # segment space management
    block_size: int = BLOCK
    ballast: int = 0  # bytes taken by what the model does not know
    transient: int = 0  # temporary segments of running moves

    @property
    def bytes(self) -> int:
        """Size of its files as they are now."""
        return sum(file.bytes for file in self.files)

    @property
    def most_bytes(self) -> int:
        """Size they may grow to."""
        return sum(max(file.bytes, file.max_bytes) for file in self.files)


@dataclass(slots=True)
class Segment:
    """What is stored somewhere and counted: a table, a partition of one, an index, a LOB."""

    object_id: int
    data_object_id: int
    owner: str
    name: str
    kind: str  # SEGMENT_TYPE of DBA_SEGMENTS
    tablespace: str
    bytes: int
    part: str = ""  # partition or subpartition
    group: str = ""  # the partition of a subpartition
    created: bool = True  # False: deferred, no segment yet
    compress_for: str = ""
    counters: list[Counter[str]] = field(default_factory=list)
    used: int = 0  # blocks that a scan reads, of one whose rows are known

    @property
    def blocks(self) -> int:
        """Its size in blocks."""
        return self.bytes // BLOCK

    @property
    def touched(self) -> bool:
        """Whether V$SEGSTAT has rows for it."""
        return any(self.counters)


@dataclass(slots=True)
class Lob:
    """A LOB column: one segment and one LOB index for each segment of the table."""

    column: str
    index_name: str
    segments: list[Segment]
    indexes: list[Segment]
    object_id: int = 0
    securefile: bool = True


@dataclass(slots=True)
class Column:
    """A column of a table that a statement has made."""

    name: str
    kind: str  # DATA_TYPE
    length: int  # DATA_LENGTH, bytes
    precision: int | None = None
    scale: int | None = None
    nullable: bool = True
    default: str = ""  # its text
    comment: str = ""
    distinct: int | None = None  # values, as statistics have it


@dataclass(slots=True)
class Constraint:
    """A constraint of such a table. It is listed; rows are not held against it."""

    name: str
    kind: str  # CONSTRAINT_TYPE: P, U, C or R
    columns: tuple[str, ...]
    condition: str = ""  # of C
    index: str = ""  # of P and U
    refers_to: tuple[str, str] = ("", "")  # owner and name of the constraint, of R
    generated: bool = False  # its name is the server's


@dataclass(slots=True)
class Index:
    """An index; partitioned ones have several segments."""

    owner: str
    name: str
    object_id: int
    segments: list[Segment]
    unique: bool = False
    kind: str = "NORMAL"
    local: bool = False  # one segment for each of the table
    partitioned: bool = False
    degree: str = "1"
    default_tablespace: str = ""  # of later partitions
    indexing: str = "FULL"  # or "PARTIAL": no entries for partitions with INDEXING OFF
    failed: bool = False  # a domain index whose own tables were altered
    unusable: set[str] = field(default_factory=set)  # partitions, "" for the whole of one that has none
    rebuilding: bool = False  # an online rebuild was interrupted (ORA-08104)
    keys: tuple[tuple[str, str], ...] = ()  # column or expression, with ASC or DESC
    compressed: bool = False
    rows: int | None = None  # as statistics have it
    analyzed: datetime | None = None


@dataclass(slots=True)
class Table:
    """A table with all that hangs on it."""

    owner: str
    name: str
    object_id: int
    segments: list[Segment]
    partitioned: bool = False
    composite: bool = False
    default_tablespace: str = ""  # of later partitions
    interval: str = ""  # of one whose next partitions the server makes with their first rows
    iot: bool = False
    long_column: bool = False
    clustered: bool = False
    temporary: bool = False
    nested: bool = False
    parent: str = ""  # the table whose nested column this one stores
    cluster: str = ""  # where its rows are, if it has no segment of its own
    queue: bool = False
    read_only: bool = False
    mview_log: str = ""  # "ROWID" or "PRIMARY KEY"
    compress_for: str = ""
    degree: str = "1"
    logging: bool = True
    ado: bool = False  # a policy of the database itself may move it
    sorts_rows: bool = False  # attribute clustering: MOVE sorts them again
    indexes: list[Index] = field(default_factory=list)
    lobs: list[Lob] = field(default_factory=list)
    overflow: Segment | None = None  # of an index-organised table
    mapping: Segment | None = None  # mapping table of an index-organised table
    domain_index: str = ""  # this table belongs to that domain index of its owner's
    archive: str = ""  # its history table in a flashback archive
    dropped: bool = False  # in the recycle bin
    history: bool = False  # it is such a history table
    not_indexed: set[str] = field(default_factory=set)  # partitions with INDEXING OFF
    columns: list[Column] = field(default_factory=list)  # of one that a statement has made
    constraints: list[Constraint] = field(default_factory=list)
    comment: str = ""
    pct_free: int = 10
    partition_key: str = ""  # column
    bounds: dict[str, str] = field(default_factory=dict)  # partition -> the text of VALUES LESS THAN
    rows: int | None = None  # as statistics have it
    analyzed: datetime | None = None

    def everything(self) -> Iterator[Segment]:
        """All its segments, indexes and LOBs included."""
        yield from self.segments
        if self.overflow is not None:
            yield self.overflow
        if self.mapping is not None:
            yield self.mapping
        for lob in self.lobs:
            yield from lob.segments
            yield from lob.indexes
        for index in self.indexes:
            yield from index.segments


@dataclass(slots=True)
class User:
    """A schema that may log in."""

    name: str
    password: str
    user_id: int
    privileges: set[str] = field(default_factory=set)
    roles: set[str] = field(default_factory=set)
    grants: set[tuple[str, str]] = field(default_factory=set)  # (privilege, OWNER.OBJECT)
    quotas: dict[str, int] = field(default_factory=dict)  # bytes, UNLIMITED
    default_tablespace: str = "USERS"
    status: str = "OPEN"
    proxies: set[str] = field(default_factory=set)  # who may connect through
    maintained: bool = False  # Oracle's own


@dataclass(slots=True)
class LongOperation:
    """A row of V$SESSION_LONGOPS."""

    session_id: int
    serial: int
    user: str
    name: str
    target: str
    total_blocks: int
    started: datetime
    done_blocks: int = 0


@dataclass(frozen=True, slots=True)
class Quirks:
    """What a test may set apart from the usual."""

    edition: str = "EE"  # or "SE2"
    instances: int = 1
    buffers: int = 2048  # of the cache of each instance
    container: str = "ORCLPDB1"  # "" before 12.1
    statistics_level: str = "TYPICAL"
    role: str = "PRIMARY"
    standbys: int = 0
    xml: bool = True  # XML DB is installed, with DBA_XML_TABLES
    cloud_service: str = ""  # of an Autonomous Database
    online_ddl_times_out: bool = False  # whether DDL_LOCK_TIMEOUT ends the wait of online DDL
    xml_lobs_follow: bool = False  # whether the LOB of an XML column moves along with its table
    dead_entries: bool = True  # V$SEGSTAT keeps rows of segments that are gone
    hostile_synonyms: bool = False  # somebody with CREATE PUBLIC SYNONYM has put objects of his behind every bare name


# Names of V$SEGSTAT_NAME with whether 11.2 has them and whether they are sampled.
STATISTICS: tuple[tuple[int, str, bool, bool], ...] = (
    (0, "logical reads", True, True),
    (1, "buffer busy waits", True, False),
    (2, "gc buffer busy", True, False),
    (3, "db block changes", True, True),
    (4, "physical reads", True, False),
    (5, "physical writes", True, False),
    (6, "physical read requests", True, False),
    (7, "physical write requests", True, False),
    (8, "physical reads direct", True, False),
    (9, "physical writes direct", True, False),
    (11, "optimized physical reads", True, False),
    (12, "optimized physical writes", False, False),
    (13, "gc cr blocks received", True, False),
    (14, "gc current blocks received", True, False),
    (15, "ITL waits", True, False),
    (16, "row lock waits", True, False),
    (19, "space used", True, False),
    (20, "space allocated", True, False),
    (22, "segment scans", True, False),
)


@dataclass(slots=True, kw_only=True)
class LoadSession:
    """A session of the load that is not over the wire, as it is at this moment."""

    user: str = "SHOP"
    program: str = "till@desk"
    module: str | None = None
    active: bool = False
    event: str = "SQL*Net message from client"
    transaction: bool = False
    seconds: float = 0.0  # since it is in a call, or since it is not
    instance: int = 1
