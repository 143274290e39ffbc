"""T-SQL of moves, and what may be built while the table is used. Pure.

``rebuild`` to ``drop_function`` write the statements. Names are quoted by QUOTENAME's rules; filters are the catalog's
own text. Unlike ALTER INDEX, CREATE INDEX inherits nothing: what is not stated falls back to its default. So every
property that the catalog knows of an index is stated (sql-docs, CREATE INDEX; the list is that of SMO's index
scripter).

``may_build_online`` and ``may_be_paused`` decide what may be built while the table is used, and what of that can be
paused. Sources: sql-docs, "Guidelines for online index operations", CREATE INDEX; the message catalog for the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from connectors.sqlserver.definition import (
    CLUSTERED,
    CLUSTERED_COLUMNSTORE,
    HEAP,
    KEY_TYPES,
    NONCLUSTERED,
    NONCLUSTERED_COLUMNSTORE,
    OLD_LOB_TYPES,
    Definition,
    IndexColumn,
    IndexDefinition,
    Partition,
    TableColumn,
)
from connectors.sqlserver.keys import Name, quote

FULL_PAGES = 100  # per cent
LOW_PRIORITY_SINCE = 16  # of CREATE INDEX; ALTER INDEX had it in 12
RESUMABLE_STATED_SINCE = 15  # else ELEVATE_RESUMABLE of the database would decide
_STATED_SINCE = {"sequential_key": 15, "incremental": 12, "delay": 13, "suppress": 14, "xml": 16, "columnstore": 12}


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """How an index is built; none of it outlives the statement."""

    major: int  # version of the server
    online: bool
    maxdop: int
    sort_in_tempdb: bool
    low_priority_minutes: int
    resumable: bool = False
    compared: bool = False  # its statements are compared and never sent

    def without_method(self) -> Build:
        """The same for everything that builds the same, whichever way: to compare what statements build."""
        return replace(self, online=False, maxdop=0, sort_in_tempdb=False, low_priority_minutes=0, compared=True)


def quoted_table(name: Name) -> str:
    """``[schema].[table]``."""
    return f"{quote(name.schema)}.{quote(name.table)}"


def waits_at_low_priority(kind: int, build: Build) -> bool:
    """Whether a build of that kind of index can wait for its last lock without holding others up.

    CREATE COLUMNSTORE INDEX has ONLINE = ON alone in its grammar.
    """
    columnstore = kind in {CLUSTERED_COLUMNSTORE, NONCLUSTERED_COLUMNSTORE}
    return build.online and build.major >= LOW_PRIORITY_SINCE and not columnstore


def rebuild(table: Name, index: IndexDefinition, build: Build, on: str, *, name: str = "") -> str:
    """CREATE INDEX on a data space, every property as it was.

    Args:
        table: its name.
        index: as the catalog shows it.
        build: how.
        on: a quoted filegroup, or a quoted scheme with its column in parentheses.
        name: of a second index next to the old one; "": it replaces the old one.
    """
    existing = () if name else ("DROP_EXISTING = ON",)
    options = ", ".join((*existing, *_own_properties(index, build), *_how(index, build), *_compression(index, build)))
    return (
        f"CREATE {_kind(index)} INDEX {quote(name or index.name or '')} ON {quoted_table(table)}{_columns(index)}"
        f"{_filter(index)} WITH ({options}) ON {on}"
    )


def add_key(table: Name, index: IndexDefinition, build: Build, on: str, *, name: str) -> str:
    """A PRIMARY KEY or UNIQUE constraint of another table with the properties of that index."""
    kind = "PRIMARY KEY" if index.primary_key else "UNIQUE"
    order = "CLUSTERED" if index.kind == CLUSTERED else "NONCLUSTERED"
    options = ", ".join((*_own_properties(index, build), *_compression(index, build)))
    return (
        f"ALTER TABLE {quoted_table(table)} ADD CONSTRAINT {quote(name)} {kind} {order}{_columns(index)} "
        f"WITH ({options}) ON {on}"
    )


def alter(table: Name, index: str, action: str) -> str:
    """PAUSE or ABORT of a resumable build of that index, from any session."""
    return f"ALTER INDEX {quote(index)} ON {quoted_table(table)} {action}"


def resume(table: Name, index: str, build: Build) -> str:
    """Go on with it; it keeps the MAXDOP that it began with (10667)."""
    return f"{alter(table, index, 'RESUME')} WITH ({_low_priority(build)})"


def drop_index(table: Name, index: str) -> str:
    """Of an index that no constraint needs."""
    return f"DROP INDEX {quote(index)} ON {quoted_table(table)}"


def swap(table: Name, new: str, old: str) -> str:
    """Let a new index take the place and name of an old one, in one transaction."""
    item = text(f"{quoted_table(table)}.{quote(new)}")
    return (
        f"BEGIN TRANSACTION; {drop_index(table, old)}; "
        f"EXEC sys.sp_rename @objname = {item}, @newname = {text(old)}, @objtype = N'INDEX'; COMMIT TRANSACTION"
    )


def text(value: str) -> str:
    """A literal by T-SQL's rules; DDL takes no parameters."""
    return "N'" + value.replace("'", "''") + "'"


def cluster_heap(
    name: Name, index: str, columns: Sequence[IndexColumn], heap: Partition, build: Build, on: str, *, unique: bool
) -> str:
    """A clustered index that carries a heap to another filegroup."""
    options = ", ".join((*_how(None, build), f"DATA_COMPRESSION = {heap.compression}"))
    keys = ", ".join(f"{quote(c.name)} {'DESC' if c.descending else 'ASC'}" for c in columns)
    kind = "UNIQUE CLUSTERED" if unique else "CLUSTERED"
    return f"CREATE {kind} INDEX {quote(index)} ON {quoted_table(name)} ({keys}) WITH ({options}) ON {on}"


def uncluster_heap(name: Name, index: str, build: Build, on: str) -> str:
    """Drop that index again; its rows become a heap on the data space ``on``."""
    online = "ON" if build.online else "OFF"
    return (
        f"DROP INDEX {quote(index)} ON {quoted_table(name)} "
        f"WITH (ONLINE = {online}, MAXDOP = {build.maxdop}, MOVE TO {on})"
    )


def create_scheme(scheme: str, function: str, filegroups: Sequence[str]) -> str:
    """A partition scheme that maps each partition of a function to a filegroup."""
    spaces = ", ".join(quote(filegroup) for filegroup in filegroups)
    return f"CREATE PARTITION SCHEME {quote(scheme)} AS PARTITION {quote(function)} TO ({spaces})"


def drop_scheme(scheme: str) -> str:
    """Refused by the server while anything lies on it."""
    return f"DROP PARTITION SCHEME {quote(scheme)}"


def create_function(function: str, column_type: str) -> str:
    """A partition function of two ranges, the first of them empty: NULL is below every value, and goes right of it."""
    return f"CREATE PARTITION FUNCTION {quote(function)} ({column_type}) AS RANGE RIGHT FOR VALUES (NULL)"


def drop_function(function: str) -> str:
    """Refused by the server while a scheme uses it."""
    return f"DROP PARTITION FUNCTION {quote(function)}"


def type_of(column: TableColumn) -> str | None:
    """The type as a partition function takes it; None where it takes none such."""
    if column.large or column.type_name not in KEY_TYPES or column.computed:
        return None
    if column.type_name in {"decimal", "numeric"}:
        return f"{column.type_name}({column.precision},{column.scale})"
    if column.type_name in {"time", "datetime2", "datetimeoffset"}:
        return f"{column.type_name}({column.scale})"
    if column.type_name in {"char", "varchar", "binary", "varbinary"}:
        collate = f" COLLATE {column.collation}" if column.collation else ""
        return f"{column.type_name}({column.max_length}){collate}"
    if column.type_name in {"nchar", "nvarchar"}:
        return f"{column.type_name}({column.max_length // 2}) COLLATE {column.collation}"
    return column.type_name


def partition_column(index: IndexDefinition) -> str | None:
    """The column that decides the partition of a row."""
    return next((c.name for c in index.columns if c.partition_ordinal > 0), None)


def _kind(index: IndexDefinition) -> str:
    if index.kind == CLUSTERED_COLUMNSTORE:
        return "CLUSTERED COLUMNSTORE"
    if index.kind == NONCLUSTERED_COLUMNSTORE:
        return "NONCLUSTERED COLUMNSTORE"
    order = "CLUSTERED" if index.kind == CLUSTERED else "NONCLUSTERED"
    return f"UNIQUE {order}" if index.unique else order


def _columns(index: IndexDefinition) -> str:
    """Keys and included columns; of a columnstore the columns that it has or the order that it keeps."""
    if index.columnstore:
        return _store_columns(index)
    keys = ", ".join(f"{quote(c.name)} {'DESC' if c.descending else 'ASC'}" for c in index.keys)
    included = ", ".join(quote(c.name) for c in index.columns if c.included)
    return f" ({keys})" + (f" INCLUDE ({included})" if included else "")


def _store_columns(index: IndexDefinition) -> str:
    ordered = sorted((c for c in index.columns if c.store_ordinal), key=lambda c: c.store_ordinal)
    order = f" ORDER ({', '.join(quote(c.name) for c in ordered)})" if ordered else ""
    if index.kind == CLUSTERED_COLUMNSTORE:
        return order
    held = ", ".join(quote(c.name) for c in index.columns if c.included)
    return f" ({held}){order}"


def _filter(index: IndexDefinition) -> str:
    return f" WHERE {index.filter}" if index.has_filter else ""


def _own_properties(index: IndexDefinition, build: Build) -> tuple[str, ...]:
    """Properties that are the index's own. A fill factor of 0 is 100; unstated it would be the server's default.

    What is only compared leaves it out, as statements did that were stored before it was stated.
    """
    if index.columnstore:
        return ()
    major = build.major
    stated = [
        f"PAD_INDEX = {_on(index.padded)}",
        f"STATISTICS_NORECOMPUTE = {_on(index.no_recompute)}",
        f"IGNORE_DUP_KEY = {_duplicates(index, major)}",
        f"ALLOW_ROW_LOCKS = {_on(index.row_locks)}",
        f"ALLOW_PAGE_LOCKS = {_on(index.page_locks)}",
    ]
    if index.fill_factor or not build.compared:
        stated.append(f"FILLFACTOR = {index.fill_factor or FULL_PAGES}")
    if index.incremental and major >= _STATED_SINCE["incremental"]:
        stated.append("STATISTICS_INCREMENTAL = ON")
    if major >= _STATED_SINCE["sequential_key"]:
        stated.append(f"OPTIMIZE_FOR_SEQUENTIAL_KEY = {_on(index.sequential_key)}")
    return tuple(stated)


def _duplicates(index: IndexDefinition, major: int) -> str:
    if index.ignore_dup_key and index.suppress_messages and major >= _STATED_SINCE["suppress"]:
        return "ON (SUPPRESS_MESSAGES = ON)"
    return _on(index.ignore_dup_key)


def _how(index: IndexDefinition | None, build: Build) -> tuple[str, ...]:
    if index is not None and index.columnstore:  # versions that cannot build one online do not know the word there
        return (f"MAXDOP = {build.maxdop}", *(("ONLINE = ON",) if build.online else ()))
    stated = (f"RESUMABLE = {_on(build.resumable)}",) if build.major >= RESUMABLE_STATED_SINCE else ()
    sort = f"SORT_IN_TEMPDB = {_on(build.sort_in_tempdb)}"
    return (sort, f"MAXDOP = {build.maxdop}", f"ONLINE = {_online(build)}", *stated)


def _online(build: Build) -> str:
    """Since 2022 the wait for the last lock need not hold others up; before, only the lock time-out ends it."""
    if not build.online or build.major < LOW_PRIORITY_SINCE:
        return _on(build.online)
    return f"ON ({_low_priority(build)})"


def _low_priority(build: Build) -> str:
    return f"WAIT_AT_LOW_PRIORITY (MAX_DURATION = {build.low_priority_minutes} MINUTES, ABORT_AFTER_WAIT = SELF)"


def _compression(index: IndexDefinition, build: Build) -> tuple[str, ...]:
    """Stated once where all partitions agree, else by ranges of partitions; of a columnstore its delay, too."""
    if index.columnstore and build.major < _STATED_SINCE["columnstore"]:
        return ()
    clauses = _by_ranges("DATA_COMPRESSION", [(p.number, p.compression) for p in index.partitions])
    if any(p.xml_compression for p in index.partitions) and build.major >= _STATED_SINCE["xml"]:
        clauses += _by_ranges("XML_COMPRESSION", [(p.number, _on(p.xml_compression)) for p in index.partitions])
    delayed = index.columnstore and index.compression_delay is not None and build.major >= _STATED_SINCE["delay"]
    return (*clauses, f"COMPRESSION_DELAY = {index.compression_delay}") if delayed else clauses


def _by_ranges(option: str, values: list[tuple[int, str]]) -> tuple[str, ...]:
    distinct = sorted({value for _, value in values})
    if len(distinct) == 1:
        return (f"{option} = {distinct[0]}",)
    return tuple(
        f"{option} = {value} ON PARTITIONS ({_ranges([number for number, v in values if v == value])})"
        for value in distinct
    )


def _ranges(numbers: list[int]) -> str:
    """``1, 3 TO 5`` of 1, 3, 4, 5."""
    runs = []
    for _, run in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        found = [number for _, number in run]
        runs.append(str(found[0]) if len(found) == 1 else f"{found[0]} TO {found[-1]}")
    return ", ".join(runs)


def _on(value: object) -> str:
    return "ON" if value else "OFF"


ONLINE_EDITIONS = frozenset({3, 5, 8})  # EngineEdition: Enterprise and Developer, Azure SQL Database, Managed Instance
CLOUD = frozenset({5, 8})  # the services, which place files themselves
RESUMABLE_SINCE = 15  # of CREATE INDEX; ALTER INDEX REBUILD had it in 14
_ONLINE_SINCE = {CLUSTERED_COLUMNSTORE: 15, NONCLUSTERED_COLUMNSTORE: 14}
_ORDERED_ONLINE_SINCE = 17
PARTITIONING_FOR_ALL_SINCE = 13
_BESIDE_COLUMNSTORE_SINCE = 14  # rowstore indexes of a table with a nonclustered columnstore; before, error 35352


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFeatures:
    """Properties that decide which statements it takes."""

    major: int
    edition: int  # EngineEdition


def may_partition(server: ServerFeatures) -> bool:
    """Whether the edition makes partition functions: before 2016 SP1 Enterprise alone (error 7736)."""
    return server.major >= PARTITIONING_FOR_ALL_SINCE or server.edition in ONLINE_EDITIONS


def may_build_online(definition: Definition, server: ServerFeatures) -> bool:
    """By edition, version, and what the index holds."""
    index = definition.index
    assert index is not None, "refused before"
    if server.edition not in ONLINE_EDITIONS or server.major < _ONLINE_SINCE.get(index.kind, 0):
        return False
    if index.kind == CLUSTERED_COLUMNSTORE and any(c.store_ordinal for c in index.columns):
        return server.major >= _ORDERED_ONLINE_SINCE
    on_columnstore = any(i.kind == CLUSTERED_COLUMNSTORE for i in definition.indexes)
    if index.kind == NONCLUSTERED and on_columnstore:
        return server.major >= _ONLINE_SINCE[CLUSTERED_COLUMNSTORE]
    beside = not index.columnstore and any(i.kind == NONCLUSTERED_COLUMNSTORE for i in definition.indexes)
    if beside and server.major < _BESIDE_COLUMNSTORE_SINCE:
        return False
    if index.kind == HEAP:
        return not any(column.large for column in definition.columns)
    return not (index.kind == CLUSTERED and any(c.type_name in OLD_LOB_TYPES for c in definition.columns))


def may_be_paused(definition: Definition, server: ServerFeatures) -> bool:
    """Whether a resumable build of the index is possible: none of errors 10639, 10644, 10668 to 10674, 11905."""
    index = definition.index
    assert index is not None, "refused before"
    if server.major < RESUMABLE_SINCE or not may_build_online(definition, server):
        return False
    if index.kind not in {CLUSTERED, NONCLUSTERED} or not definition.owner.is_table:
        return False
    others = {other.kind for other in definition.indexes}
    filtered = any(other.has_filter for other in definition.indexes)
    if HEAP in others or _odd_keys(definition, index):
        return False
    if index.kind == CLUSTERED:
        return not filtered and NONCLUSTERED_COLUMNSTORE not in others
    return not index.has_filter and CLUSTERED_COLUMNSTORE not in others and not _includes_large(definition, index)


def may_have_twin(definition: Definition, server: ServerFeatures) -> bool:
    """Whether another index may take its place: no constraint, no foreign key and no full-text index hangs on it."""
    index = definition.index
    assert index is not None, "refused before"
    plain = index.kind == NONCLUSTERED and not index.unique and definition.name.partition is None
    return plain and may_be_paused(definition, server)


def _odd_keys(definition: Definition, index: IndexDefinition) -> bool:
    """A timestamp or computed column among its keys, its partitioning columns, or those of the clustered index."""
    odd = {c.name for c in definition.columns if c.computed or c.type_name == "timestamp"}
    clustered = [other for other in definition.indexes if other.kind == CLUSTERED]
    return any(
        c.name in odd for owner in (index, *clustered) for c in owner.columns if c.key_ordinal or c.partition_ordinal
    )


def _includes_large(definition: Definition, index: IndexDefinition) -> bool:
    large = {column.name for column in definition.columns if column.large}
    return any(column.included and column.name in large for column in index.columns)
