"""Index builds: CREATE INDEX with and without DROP_EXISTING, DROP INDEX ... MOVE TO, and resumable ones."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from tests.labs.sqlserver.instance import Database, Operation
from tests.labs.sqlserver.objects import (
    CLUSTERED,
    CLUSTERED_COLUMNSTORE,
    HEAP,
    NONCLUSTERED_COLUMNSTORE,
    Index,
    Partition,
    PartitionScheme,
    Table,
)
from tests.labs.sqlserver.options import Build
from tests.labs.sqlserver.statements import AlterIndex, CreateIndex, DropIndex, read_statement
from tests.labs.sqlserver.storage import LOB, AllocationUnit
from tests.labs.sqlserver.work import SCHEMA_MODIFICATION, SHARED, Work
from tests.labs.tds.backend import Cancelled, ServerError

ONLINE_EDITIONS = frozenset({3, 5, 8})
CHUNKS = 20
LOG_FACTOR = 1.2
COLUMNSTORE = frozenset({CLUSTERED_COLUMNSTORE, NONCLUSTERED_COLUMNSTORE})


@dataclass(slots=True)
class Target:
    """Where an index goes: its data space, and the filegroup of each partition."""

    space_id: int
    filegroups: list[int]
    partitioned: bool


def create_index(work: Work, asked: CreateIndex) -> None:
    """Run it to its end. Raises ServerError, or Cancelled after taking back what it did, or pausing."""
    table = work.table(asked.table)
    old = _replaced(table, asked, work)
    target = target_of(work.database, asked.space, old or table.base)
    _check_edition(work, asked.build, table, asked.kind)
    new = _new_index(work, asked, table, old, target)
    source = old if asked.build.drop_existing and old else table.base
    _build(work, table, source, new, asked.build)
    if old is not None and old is not source:
        _free(work.database, old)
    table.indexes = dict(sorted({**_without(table, old), new.index_id: new}.items()))


def drop_index(work: Work, asked: DropIndex) -> None:
    """Take an index away; a clustered one leaves a heap, in the filegroup that MOVE TO names."""
    table = work.table(asked.table)
    old = table.index_named(asked.name)
    if old is None:
        message = f"Cannot drop the index '{asked.name}', because it does not exist or you do not have permission."
        raise ServerError(3701, message, severity=11)
    if old.constraint:
        raise ServerError(3723, f"An explicit DROP INDEX is not allowed on index '{asked.name}'.")
    if old.type != CLUSTERED:
        work.lock(table, SCHEMA_MODIFICATION)
        _free(work.database, table.indexes.pop(old.index_id))
        return
    _check_edition(work, asked.build, table, HEAP)
    target = target_of(work.database, asked.build.move_to, old)
    heap = Index(0, None, HEAP, target.space_id, [])
    _plan_partitions(work.database, old, heap, target)
    _build(work, table, old, heap, asked.build)
    table.indexes = dict(sorted({**_without(table, old), 0: heap}.items()))


def alter_index(work: Work, asked: AlterIndex) -> None:
    """PAUSE, RESUME or ABORT of a resumable build."""
    table = work.table(asked.table)
    operation = _operation_on(work.database, table, asked.name)
    if operation is None:
        message = f"The operation failed because there is no pending resumable index operation for '{asked.name}'."
        raise ServerError(10638, message)
    if asked.action == "PAUSE":
        if operation.paused:
            raise ServerError(10641, f"The resumable index operation for '{asked.name}' is not running.")
        operation.paused = True
    elif asked.action == "ABORT":
        work.database.operations.remove(operation)
    else:
        again = read_statement(operation.sql, work.instance.major)
        assert isinstance(again, CreateIndex), "only CREATE INDEX is resumable here"
        work.sql = operation.sql
        create_index(work, again)


def target_of(database: Database, space: str | None, default: Index) -> Target:
    """The data space of that name, or of the index that it defaults to."""
    if space is None:
        found = database.schemes.get(default.data_space) or database.storage.filegroups[default.data_space]
    else:
        named = database.space_named(space)
        if named is None:
            raise ServerError(1921, f"Invalid filegroup '{space}' specified.")
        found = named
    if isinstance(found, PartitionScheme):
        return Target(found.space_id, list(found.filegroups), partitioned=True)
    if not database.storage.files_of(found.space_id):
        raise ServerError(1922, f"Filegroup '{found.name}' has no files assigned to it.")
    if found.read_only:
        raise ServerError(1924, f"Filegroup '{found.name}' is read-only.")
    return Target(found.space_id, [found.space_id], partitioned=False)


def _replaced(table: Table, asked: CreateIndex, work: Work) -> Index | None:
    """What the new index takes the place of: one of its name, or the heap."""
    old = table.index_named(asked.name)
    if asked.build.drop_existing:
        if old is None:
            raise ServerError(7999, f"Could not find any index named '{asked.name}' for table '{table.name}'.")
        if asked.build.resumable and not work.instance.resumable_with_drop_existing:
            raise ServerError(10665, "CREATE INDEX with DROP_EXISTING option is not supported with RESUMABLE option.")
        _check_replacement(table, old, asked)
        return old
    if old is not None:
        raise ServerError(1913, f"The index '{asked.name}' already exists on table '{table.name}'.")
    if asked.kind not in (CLUSTERED, CLUSTERED_COLUMNSTORE):
        return None
    if HEAP not in table.indexes:
        raise ServerError(1902, f"Cannot create more than one clustered index on table '{table.name}'.")
    return table.indexes[HEAP]


def _check_replacement(table: Table, old: Index, asked: CreateIndex) -> None:
    if old.type == CLUSTERED and asked.kind != CLUSTERED:
        raise ServerError(1925, "Cannot convert a clustered index to a nonclustered index by using DROP_EXISTING.")
    same = [(name.lower(), down) for name, down in old.keys] == [(name.lower(), down) for name, down in asked.keys]
    if old.constraint and not (same and asked.unique and old.type == asked.kind):
        raise ServerError(
            1907, f"Cannot recreate index '{old.name}'. The new definition does not match the constraint."
        )
    if old.constraint == "PK" and table.has_xml_index:
        raise ServerError(1996, f"Could not create index enforcing primary key constraint '{old.name}': XML index.")
    known = {column.name.lower() for column in table.columns}
    if wrong := [name for name, _ in asked.keys if name.lower() not in known]:
        raise ServerError(1911, f"Column name '{wrong[0]}' does not exist in the target table or view.")


def _check_edition(work: Work, build: Build, table: Table, kind: int) -> None:
    if not build.online:
        return
    if work.instance.engine_edition not in ONLINE_EDITIONS:
        message = "Online index operations can only be performed in Enterprise edition of SQL Server."
        raise ServerError(1712, message)
    if kind == HEAP and table.lob_space():
        raise ServerError(2725, "An online operation cannot be performed because the index contains large columns.")


def _new_index(work: Work, asked: CreateIndex, table: Table, old: Index | None, target: Target) -> Index:
    """What it will be: everything by the statement alone, nothing inherited but the constraint."""
    replaced = old if old is not None and asked.build.drop_existing else None
    if asked.kind in (CLUSTERED, CLUSTERED_COLUMNSTORE):
        number = 1
    else:
        number = replaced.index_id if replaced else next(n for n in count(2) if n not in table.indexes)
    new = Index(
        number,
        asked.name,
        asked.kind,
        target.space_id,
        [],
        keys=asked.keys,
        included=asked.included,
        partition_column=asked.partition_column if target.partitioned else None,
        unique=asked.unique,
        constraint=replaced.constraint if replaced else None,
        where=asked.where,
        options=asked.build.kept,
    )
    _plan_partitions(work.database, replaced or table.base, new, target)
    for partition in new.partitions:
        default = "COLUMNSTORE" if asked.kind in COLUMNSTORE else "NONE"
        everywhere = asked.build.compression.get(0, default)
        partition.compression = asked.build.compression.get(partition.number, everywhere)
    return new


def _plan_partitions(database: Database, old: Index, new: Index, target: Target) -> None:
    """Empty partitions in the target; LOB_DATA stays unless the rebuild changes between partitioned and not."""
    switches = target.partitioned != (old.data_space in database.schemes)
    for at, group in enumerate(target.filegroups):
        same = old.partitions[at] if len(old.partitions) == len(target.filegroups) else None
        units: dict[int, AllocationUnit] = {}
        for kind in old.partitions[0].units:
            stays = kind == LOB and not switches and same is not None
            units[kind] = same.units[LOB] if stays and same else database.storage.new_unit(kind, group)
        new.partitions.append(Partition(database.next_id("partition"), at + 1, 0, units))


def _build(work: Work, table: Table, source: Index, new: Index, build: Build) -> None:
    """Copy under the locks that it takes, then put the new one in the place of the old."""
    if any(operation.table is table and not operation.paused for operation in work.database.operations):
        raise ServerError(1912, f"Could not proceed with index DDL operation on table '{table.name}'.")
    wanted = _wanted_pages(source, new)
    total = sum(pages for _, pages in wanted)
    operation = _resumed(work, table, new, build) or Operation(table, new.name or "", work.sql, total, build.resumable)
    operation.paused = False
    work.database.operations.append(operation)
    try:
        low_priority = build.low_priority_minutes
        work.lock(table, SHARED if build.online else SCHEMA_MODIFICATION, low_priority)
        work.fail_if_told()
        _copy(work, operation, wanted, online=build.online)
        work.lock(table, SHARED if build.online and new.type > CLUSTERED else SCHEMA_MODIFICATION, low_priority)
        work.pause(0)
    except (ServerError, Cancelled):
        _take_back(work, operation, wanted)
        raise
    work.database.operations.remove(operation)
    work.database.log_used = 128
    with work.instance.lock:
        _hand_over(work.database, source, new)


def _resumed(work: Work, table: Table, new: Index, build: Build) -> Operation | None:
    """A paused build of that index, which the same statement goes on with."""
    operation = _operation_on(work.database, table, new.name or "")
    if operation is None:
        return None
    if not build.resumable:
        raise ServerError(10637, f"Cannot perform this operation on '{table.name}' while a resumable build is paused.")
    work.database.operations.remove(operation)
    return operation


def _operation_on(database: Database, table: Table, name: str) -> Operation | None:
    found = (o for o in database.operations if o.table is table and o.index_name.lower() == name.lower())
    return next((operation for operation in found if operation.resumable), None)


def _wanted_pages(source: Index, new: Index) -> list[tuple[AllocationUnit, int]]:
    """Pages each new unit will take. Rows go partition to partition, or all into the last one."""
    olds = {id(unit) for partition in source.partitions for unit in partition.units.values()}
    wanted: list[tuple[AllocationUnit, int]] = []
    for at, partition in enumerate(new.partitions):
        takes = source.partitions[at : at + 1] if len(source.partitions) == len(new.partitions) else []
        if len(source.partitions) != len(new.partitions) and at == len(new.partitions) - 1:
            takes = source.partitions
        partition.rows = sum(old.rows for old in takes)
        for kind, unit in partition.units.items():
            pages = sum(old.units[kind].total for old in takes if kind in old.units)
            if id(unit) not in olds and pages:
                wanted.append((unit, pages))
    return wanted


def _copy(work: Work, operation: Operation, wanted: list[tuple[AllocationUnit, int]], *, online: bool) -> None:
    """Page by page, in chunks, while time passes and the log grows."""
    done = 0
    for unit, pages in wanted:
        for chunk in _chunks(pages):
            if done >= operation.copied_pages:  # what a paused build has copied costs no time again
                work.pause(work.instance.build_seconds * chunk / max(operation.total_pages, 1))
            if operation.paused:
                raise ServerError(1219, "Your session has been disconnected because of a high priority DDL operation.")
            with work.instance.lock:
                work.database.storage.grow(unit, chunk)
                done += chunk
                operation.copied_pages = max(done, operation.copied_pages)
                if online:
                    _log(work.database, chunk)


def _chunks(pages: int) -> list[int]:
    size = max(-(-pages // CHUNKS), 1)
    return [min(size, pages - at) for at in range(0, pages, size)]


def _log(database: Database, pages: int) -> None:
    database.log_used += int(pages * LOG_FACTOR)
    if database.log_used > database.log_pages:
        message = f"The transaction log for database '{database.name}' is full due to 'ACTIVE_TRANSACTION'."
        raise ServerError(9002, message, severity=17, state=4)


def _take_back(work: Work, operation: Operation, wanted: list[tuple[AllocationUnit, int]]) -> None:
    """Roll back; a resumable build is paused instead, whatever interrupted it."""
    with work.instance.lock:
        for unit, _ in wanted:
            work.database.storage.free(unit)
        work.database.log_used = 128
        if operation.resumable and operation.copied_pages:
            operation.paused = True
        else:
            work.database.operations.remove(operation)


def _hand_over(database: Database, source: Index, new: Index) -> None:
    """Free the pages of the old index that the new one did not keep. A new nonclustered index frees nothing."""
    if source.index_id in (HEAP, CLUSTERED) and new.type > CLUSTERED and new.type != CLUSTERED_COLUMNSTORE:
        return
    kept = {id(unit) for partition in new.partitions for unit in partition.units.values()}
    for partition in source.partitions:
        for unit in partition.units.values():
            if id(unit) not in kept:
                database.storage.free(unit)


def _free(database: Database, index: Index) -> None:
    for partition in index.partitions:
        for unit in partition.units.values():
            database.storage.free(unit)


def _without(table: Table, old: Index | None) -> dict[int, Index]:
    return {number: index for number, index in table.indexes.items() if index is not old}
