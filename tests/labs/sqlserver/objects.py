"""Tables, indexes, partitions and their operational counters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields, replace

from tests.labs.sqlserver.storage import LOB, AllocationUnit

HEAP, CLUSTERED, NONCLUSTERED, CLUSTERED_COLUMNSTORE, NONCLUSTERED_COLUMNSTORE, JSON = 0, 1, 2, 5, 6, 9
TYPE_NAMES = {
    HEAP: "HEAP",
    CLUSTERED: "CLUSTERED",
    NONCLUSTERED: "NONCLUSTERED",
    CLUSTERED_COLUMNSTORE: "CLUSTERED COLUMNSTORE",
    NONCLUSTERED_COLUMNSTORE: "NONCLUSTERED COLUMNSTORE",
    JSON: "JSON",
}


@dataclass(slots=True)
class ColumnOf:
    """A column of a table; ``type_name`` as in sys.types."""

    column_id: int
    name: str
    type_name: str
    max_length: int
    nullable: bool = True
    identity: bool = False
    scale: int = 0  # digits of a second


@dataclass(slots=True)
class Options:
    """What CREATE INDEX sets, with the defaults it falls back to when the statement says nothing."""

    fill_factor: int = 0
    pad_index: bool = False
    ignore_dup_key: bool = False
    suppress_messages: bool = False
    allow_row_locks: bool = True
    allow_page_locks: bool = True
    optimize_for_sequential_key: bool = False
    no_recompute: bool = False
    incremental: bool = False
    compression_delay: int | None = None


@dataclass(slots=True)
class Partition:
    """One partition of a heap or index."""

    partition_id: int
    number: int
    rows: int
    units: dict[int, AllocationUnit]
    compression: str = "NONE"
    counters: Counter[str] = field(default_factory=Counter)
    hidden: int = 0  # of its rows, those that a security predicate of the table hides from whoever reads
    version: int = 0  # of what its rows say: an UPDATE makes it another one
    miscounted: int = 0  # by so many rows the storage's own count is off
    merged: dict[object, int] = field(
        default_factory=dict
    )  # boundary that MERGE took away -> rows that came from there

    @property
    def pages(self) -> int:
        """Of all kinds."""
        return sum(unit.total for unit in self.units.values())


@dataclass(slots=True)
class Index:
    """A heap (index_id 0) or an index."""

    index_id: int
    name: str | None
    type: int
    data_space: int
    partitions: list[Partition]
    keys: tuple[tuple[str, bool], ...] = ()  # column, descending
    included: tuple[str, ...] = ()
    partition_column: str | None = None
    unique: bool = False
    constraint: str | None = None  # PK or UQ
    where: str | None = None
    disabled: bool = False
    options: Options = field(default_factory=Options)
    properties: dict[str, str] = field(default_factory=dict)  # extended ones
    persisted_sample: float | None = None  # PERSIST_SAMPLE_PERCENT of its statistics

    @property
    def pages(self) -> int:
        """Of all partitions."""
        return sum(partition.pages for partition in self.partitions)


@dataclass(slots=True)
class Table:
    """A table with its heap or clustered index and the others."""

    object_id: int
    schema: str
    name: str
    columns: list[ColumnOf]
    indexes: dict[int, Index] = field(default_factory=dict)
    has_xml_index: bool = False
    memory_optimized: bool = False
    fulltext: bool = False
    temporal_type: int = 0
    replicated: bool = False
    change_tracked: bool = False
    captured: bool = False
    references: bool = False  # it has a foreign key
    referenced: bool = False  # by one of another table
    checks: bool = False
    predicates: tuple[str, ...] = ()  # security policies with a filter predicate on it
    limits: tuple[tuple[str, str, object], ...] = ()  # of a CHECK: column, comparison, value
    check: str = ""  # the name of that CHECK
    lock_holders: dict[int, str] = field(default_factory=dict)  # session -> mode
    grants: tuple[tuple[str, str], ...] = ()  # permission, to whom
    properties: dict[str, str] = field(default_factory=dict)  # extended ones
    written: list[str] = field(default_factory=list)  # statements that wrote its rows

    def index_named(self, name: str) -> Index | None:
        """Names compare without case."""
        return next((i for i in self.indexes.values() if (i.name or "").lower() == name.lower()), None)

    @property
    def base(self) -> Index:
        """Heap or clustered index: the rows themselves."""
        return self.indexes[0] if 0 in self.indexes else self.indexes[1]

    def visible(self, partition: Partition) -> int:
        """Rows of a partition that a statement reads; predicates hide the others from everybody, owners included."""
        return partition.rows - (partition.hidden if self.predicates else 0)

    def lob_space(self) -> int:
        """lob_data_space_id: 0 where it has no large objects."""
        unit = self.base.partitions[0].units.get(LOB)
        return unit.filegroup if unit else 0


def copied(options: Options, **changes: object) -> Options:
    """Options with some of them changed; TypeError for a name that is none."""
    known = {f.name for f in fields(Options)}
    if not changes.keys() <= known:
        raise TypeError(f"no index options: {changes.keys() - known}")
    return replace(options, **changes)  # type: ignore[arg-type]  # fields by name


@dataclass(slots=True)
class PartitionFunction:
    """Boundaries of a column's values."""

    function_id: int
    name: str
    boundaries: list[object]
    right: bool = True

    @property
    def fanout(self) -> int:
        """How many partitions it makes."""
        return len(self.boundaries) + 1


@dataclass(slots=True)
class PartitionScheme:
    """Where each partition lies: filegroups in order."""

    space_id: int
    name: str
    function: PartitionFunction
    filegroups: list[int]
    next_used: int | None = None
