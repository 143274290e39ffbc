"""One table with all that belongs to it, as the catalog shows it.

One table with all that belongs to it, as the catalog shows it: what routes are made of and inspect() believes.

What is known of a table's partition function: its boundaries, who else uses it, what SWITCH would refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from connectors.sqlserver.keys import TABLE_INDEX, Name
from connectors.sqlserver.sessions import ReadSession, Row

HEAP, CLUSTERED, NONCLUSTERED, XML, SPATIAL, CLUSTERED_COLUMNSTORE, NONCLUSTERED_COLUMNSTORE = range(7)
# What the connector knows how to move, or what becomes of it when its table moves. Any other value is one that came
# with a later version: it is refused by its name.
KNOWN_INDEXES = frozenset(range(7))
NAMES_OF_LATER_INDEXES = {7: "hash", 9: "JSON"}  # sys.indexes.type; of a vector index the page has no number
KNOWN_COMPRESSIONS = frozenset({"NONE", "ROW", "PAGE", "COLUMNSTORE", "COLUMNSTORE_ARCHIVE"})
KNOWN_TEMPORAL_TYPES = frozenset({None, 0, 1, 2})
OLD_LOB_TYPES = frozenset({"text", "ntext", "image"})
# Of columns that may be a key, and that a table of the same shape may have: a type that comes with a later version, as
# vector did, is not among them.
KEY_TYPES = frozenset(
    {
        "bit", "tinyint", "smallint", "int", "bigint", "decimal", "numeric", "smallmoney", "money", "real", "float",
        "date", "time", "smalldatetime", "datetime", "datetime2", "datetimeoffset", "char", "varchar", "nchar",
        "nvarchar", "binary", "varbinary", "uniqueidentifier",
    }
)  # fmt: skip
MAX_LENGTH = -1


@dataclass(frozen=True, slots=True)
class Owner:
    """A row of ``sql/object.sql``, in its order."""

    object_id: int
    object_type: str
    is_ms_shipped: int
    is_memory_optimized: int | None
    temporal_type: int | None
    is_external: int | None
    is_stretched: int | None
    is_filetable: int | None
    is_replicated: int | None
    is_published: int | None
    is_merge_published: int | None
    lob_space_id: int | None
    filestream_space_id: int | None
    fulltext_indexes: int
    recovery_model: str
    updateability: str

    @property
    def is_table(self) -> bool:
        """And not a view."""
        return self.object_type.strip() == "U"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A row of ``sql/columns.sql``, in its order."""

    name: str
    type_name: str
    max_length: int
    precision: int
    scale: int
    collation: str | None
    nullable: int
    computed: int

    @property
    def large(self) -> bool:
        """Its values may lie in LOB_DATA pages."""
        return self.max_length == MAX_LENGTH or self.type_name in OLD_LOB_TYPES | {"xml"}


@dataclass(frozen=True, slots=True)
class IndexColumn:
    """A row of ``sql/index_columns.sql``, in its order, without the index."""

    name: str
    key_ordinal: int
    partition_ordinal: int
    descending: int
    included: int
    store_ordinal: int


@dataclass(frozen=True, slots=True)
class Partition:
    """A row of ``sql/partitions.sql``, in its order, without the index."""

    number: int
    compression: str
    xml_compression: int
    row_space_id: int | None
    row_pages: int
    lob_space_id: int | None
    lob_pages: int
    rows: int = 1  # a count that may lag; what matters is whether there are any


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """A row of ``sql/indexes.sql``, in its order, with its columns and partitions."""

    index_id: int
    name: str | None
    kind: int
    unique: int
    space_id: int
    ignore_dup_key: int
    primary_key: int
    unique_constraint: int
    fill_factor: int
    padded: int
    disabled: int
    row_locks: int
    page_locks: int
    has_filter: int
    filter: str | None
    compression_delay: int | None
    suppress_messages: int | None
    sequential_key: int | None
    no_recompute: int | None
    incremental: int | None
    columns: tuple[IndexColumn, ...] = ()
    partitions: tuple[Partition, ...] = ()

    @property
    def keys(self) -> tuple[IndexColumn, ...]:
        """Key columns in order."""
        return tuple(sorted((c for c in self.columns if c.key_ordinal > 0), key=lambda c: c.key_ordinal))

    @property
    def columnstore(self) -> bool:
        """Clustered or not."""
        return self.kind in {CLUSTERED_COLUMNSTORE, NONCLUSTERED_COLUMNSTORE}


@dataclass(slots=True)
class DataSpace:
    """A filegroup, or a partition scheme with the filegroup of each partition."""

    number: int
    name: str
    scheme: bool
    read_only: bool
    files: int
    function: str | None = None
    fanout: int = 0
    destinations: dict[int, int] = field(default_factory=dict)  # partition number -> filegroup; one more: NEXT USED
    on_right: bool = True  # a boundary's value lies in the partition to its right

    @property
    def next_used(self) -> int | None:
        """The filegroup of the partition that the next SPLIT makes; None: SPLIT of the function fails with 7707."""
        return self.destinations.get(self.fanout + 1)

    @property
    def next_or_last(self) -> int:
        """The filegroup of the next partition: what is NEXT USED, else that of the last one."""
        return self.next_used or self.destinations[self.fanout]


@dataclass(frozen=True, slots=True)
class PartitionScheme:
    """The function of one table's partition scheme.

    Attributes:
        boundaries: values as text, in order.
        shared: another scheme of the function, or another table on the scheme, would change with it.
        alone: no other index lies on the scheme.
        hindrances: why SWITCH is not for this table, in words.
    """

    boundaries: tuple[str, ...]
    shared: bool
    hindrances: tuple[str, ...] = ()
    alone: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Everything about one unit's table."""

    name: Name
    owner: Owner
    indexes: tuple[IndexDefinition, ...]
    columns: tuple[TableColumn, ...]
    spaces: dict[int, DataSpace]
    partitioning: PartitionScheme | None = None  # None: not read yet

    @property
    def index(self) -> IndexDefinition | None:
        """The heap or index that the unit belongs to; None when it was dropped."""
        if self.name.index is None:
            return next((i for i in self.indexes if i.index_id <= TABLE_INDEX), None)
        return next((i for i in self.indexes if i.name == self.name.index and i.index_id > TABLE_INDEX), None)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Those of the unit: one of them, or the only one there is."""
        index = self.index
        if index is None:
            return ()
        if self.name.partition is None:
            return index.partitions
        return tuple(p for p in index.partitions if p.number == self.name.partition)

    def space_named(self, name: str) -> DataSpace | None:
        """The filegroup of that name."""
        return next((s for s in self.spaces.values() if s.name == name and not s.scheme), None)

    def scheme_named(self, name: str) -> DataSpace | None:
        """The partition scheme of that name."""
        return next((s for s in self.spaces.values() if s.name == name and s.scheme), None)

    def homes(self) -> frozenset[str]:
        """Filegroups where the unit lies."""
        index = self.index
        found: set[int] = set()
        for partition in self.partitions:
            rows = partition.row_space_id
            lob = partition.lob_space_id
            in_lob = self.name.lob or (index is not None and index.columnstore)
            at = (lob or rows) if in_lob else rows
            found |= {at} if at is not None else set()
        return frozenset(self.spaces[at].name for at in found if at in self.spaces)

    def bytes(self) -> int:
        """Size of the unit."""
        store = self.index is not None and self.index.columnstore
        if self.name.lob:
            return sum(p.lob_pages for p in self.partitions) * 8192
        return sum(p.row_pages + (p.lob_pages if store else 0) for p in self.partitions) * 8192


def find(session: ReadSession, name: Name) -> Definition | None:
    """The table of that unit, None when there is none; the index may be gone all the same.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    doing = f"looking up {name.key}"
    found = session.rows("object", name.schema, name.table, doing=doing)
    if not found:
        return None
    owner = Owner(*found[0])
    number = owner.object_id
    columns = _group_rows(session.rows("index_columns", number, doing=doing))
    partitions = _group_rows(session.rows("partitions", number, doing=doing))
    indexes = tuple(
        IndexDefinition(
            *(
                *row,
                tuple(IndexColumn(*c) for c in columns.get(row[0], [])),
                tuple(Partition(*p) for p in partitions.get(row[0], [])),
            )
        )
        for row in session.rows("indexes", number, doing=doing)
    )
    return Definition(
        name=name,
        owner=owner,
        indexes=indexes,
        columns=tuple(TableColumn(*row) for row in session.rows("columns", number, doing=doing)),
        spaces=data_spaces(session),
    )


def data_spaces(session: ReadSession) -> dict[int, DataSpace]:
    """Filegroups and partition schemes by number.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found: dict[int, DataSpace] = {}
    for number, name, kind, read_only, files, function, fanout, destination, goes_to, right in session.rows(
        "data_spaces", doing="reading data spaces"
    ):
        space = found.setdefault(
            number, DataSpace(number, name, kind.strip() == "PS", bool(read_only), files, function, fanout or 0)
        )
        space.on_right = bool(right)
        if destination is not None:
            space.destinations[destination] = goes_to
    return found


def _group_rows(rows: list[Row]) -> dict[int, list[Row]]:
    """Rows by their first column, without it."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row[1:])
    return found


_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "decimal", "numeric"})
_MOMENTS = frozenset({"date", "datetime", "datetime2", "smalldatetime"})
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_NARROW, _NATIONAL = frozenset({"char", "varchar"}), frozenset({"nchar", "nvarchar"})


@dataclass(frozen=True, slots=True)
class Hindrances:
    """The row of ``sql/hindrances.sql``, in its order."""

    foreign_keys: int
    check_constraints: int
    change_tracking: int
    change_capture: int
    indexed_views: int
    odd_columns: int
    guarded_columns: int
    security_predicates: int
    ansi_nulls: int
    ledger: int
    graph: int
    change_feed: int = 0  # of the database; a recording from before has no such column

    def sentences(self) -> Iterator[str]:
        """Each of them in words, with the error that SWITCH would end with where there is one."""
        said = (
            (self.foreign_keys, "it has foreign keys or is referenced by some (4967, 4968)"),
            (self.check_constraints, "it has CHECK constraints (4971)"),
            (self.change_tracking, "its changes are tracked (4900)"),
            (self.change_capture, "its changes are captured, which would miss or repeat the rows"),
            (self.indexed_views, "the database has indexed views (11402, 11420)"),
            (self.odd_columns, "a column is an identity, computed, sparse or of a type of its own"),
            (self.guarded_columns, "a column is encrypted, masked or always generated"),
            (
                self.security_predicates,
                "a security policy filters its rows, of which a copy would have those alone that it shows",
            ),
            (not self.ansi_nulls, "it was made with ANSI_NULLS OFF"),
            (self.ledger, "it is a ledger table"),
            (self.graph, "it is a node or an edge of a graph"),
            (self.change_feed, "the database has a change feed, whose tables refuse SWITCH (22750, 22751)"),
        )
        return (words for applies, words in said if applies)


def knowing(session: ReadSession, definition: Definition | None) -> Definition | None:
    """The same with ``partitioning`` filled in, where the unit is one partition; else as it was.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    scheme = None if definition is None else scheme_of(definition)
    if definition is None or scheme is None or scheme.function is None:
        return definition
    doing, number = f"looking at the partition function {scheme.function}", definition.owner.object_id
    boundaries = session.rows("boundaries", scheme.function, doing=doing)
    users = session.rows("function_users", scheme.function, doing=doing)
    hindrances = session.rows("hindrances", number, doing=doing)
    shared = any(space != scheme.number or object_id != number for space, object_id, _ in users)
    own = None if definition.index is None else definition.index.index_id
    on_scheme = {(object_id, index_id) for space, object_id, index_id in users if space == scheme.number and object_id}
    on_scheme.add((number, own))  # also where the index is not there yet, but will be once a move before has ended
    found = PartitionScheme(
        alone=len(on_scheme) <= 1,
        boundaries=tuple(value for _, value in boundaries),
        shared=shared,
        hindrances=tuple(words for row in hindrances for words in Hindrances(*row).sentences()),
    )
    return replace(definition, partitioning=found)


def scheme_of(definition: Definition) -> DataSpace | None:
    """The partition scheme that a unit of one partition lies on."""
    index = definition.index
    if index is None or definition.name.partition is None:
        return None
    space = definition.spaces.get(index.space_id)
    return space if space is not None and space.scheme else None


def own_boundary(scheme: DataSpace, number: int) -> int | None:
    """The boundary (boundary_id) that MERGE takes away with that partition: the one whose value lies in it."""
    boundary = number - 1 if scheme.on_right else number
    return boundary if 1 <= boundary < scheme.fanout else None


def literal(type_name: str, value: str) -> str | None:
    """A boundary as T-SQL writes it, without a conversion that would hide it from SWITCH; None: not for this type."""
    quoted = "'" + value.replace("'", "''") + "'"
    if type_name in _NUMBERS:
        return value if _NUMBER.fullmatch(value) else None
    if type_name in _NARROW:
        return quoted
    return f"N{quoted}" if type_name in _MOMENTS | _NATIONAL else None
