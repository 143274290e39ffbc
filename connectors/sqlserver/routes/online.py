"""What may be built while the table is used, and what of that may be paused. Pure.

Sources: sql-docs, "Guidelines for online index operations", CREATE INDEX; the message catalog for the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from connectors.sqlserver.reading.definition import (
    CLUSTERED,
    CLUSTERED_COLUMNSTORE,
    HEAP,
    NONCLUSTERED,
    NONCLUSTERED_COLUMNSTORE,
    OLD_LOB_TYPES,
    Definition,
    IndexDefinition,
)

ONLINE_EDITIONS = frozenset({3, 5, 8})  # EngineEdition: Enterprise and Developer, Azure SQL Database, Managed Instance
CLOUD = frozenset({5, 8})  # the services, which place files themselves
RESUMABLE_SINCE = 15  # of CREATE INDEX; ALTER INDEX REBUILD had it in 14
_ONLINE_SINCE = {CLUSTERED_COLUMNSTORE: 15, NONCLUSTERED_COLUMNSTORE: 14}
_ORDERED_ONLINE_SINCE = 17
PARTITIONING_FOR_ALL_SINCE = 13
_BESIDE_COLUMNSTORE_SINCE = 14  # rowstore indexes of a table with a nonclustered columnstore; before, error 35352


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Properties that decide which statements it takes."""

    major: int
    edition: int  # EngineEdition


def may_partition(server: Server) -> bool:
    """Whether the edition makes partition functions: before 2016 SP1 Enterprise alone (error 7736)."""
    return server.major >= PARTITIONING_FOR_ALL_SINCE or server.edition in ONLINE_EDITIONS


def may_build_online(definition: Definition, server: Server) -> bool:
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


def may_be_paused(definition: Definition, server: Server) -> bool:
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


def may_have_twin(definition: Definition, server: Server) -> bool:
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
