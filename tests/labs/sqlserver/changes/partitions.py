"""What CREATE TABLE, INSERT ... SELECT, SWITCH, SPLIT, MERGE and NEXT USED do, in a transaction or alone.

Rows are numbers here. Those that MERGE has put beside others stay known by their boundary, so that SPLIT can take them
out again; how many have changed partitions that way is ``instance.rows_moved``: 0 where all was metadata only.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.labs.sqlserver.changes import builds
from tests.labs.sqlserver.changes.conditions import partition_number
from tests.labs.sqlserver.changes.copying import refuse_while_held
from tests.labs.sqlserver.changes.work import SCHEMA_MODIFICATION, SHARED, Work
from tests.labs.sqlserver.instance import Database, all_indexes
from tests.labs.sqlserver.language.partition_statements import (
    AddCheck,
    AddKey,
    CreateTable,
    DropConstraint,
    InsertSelect,
    Limit,
    NextUsed,
    Reshape,
    Truncate,
)
from tests.labs.sqlserver.language.statements import CreateIndex
from tests.labs.sqlserver.objects import (
    CLUSTERED,
    HEAP,
    NONCLUSTERED,
    Index,
    Partition,
    PartitionFunction,
    PartitionScheme,
    Table,
)
from tests.labs.sqlserver.rights import may_alter_spaces, may_create_tables, owns_rows
from tests.labs.sqlserver.storage import IN_ROW, LOB
from tests.labs.tds.backend import ServerError

CHUNKS = 20


def create_table(work: Work, asked: CreateTable) -> None:
    """CREATE TABLE: a heap, until it gets a clustered index."""
    database, (schema, name) = work.database, asked.table
    if not may_create_tables(work.account, schema):
        raise ServerError(262, f"CREATE TABLE permission denied in database '{database.name}'.", severity=14)
    if schema.lower() not in (known.lower() for known in database.schemas):
        raise ServerError(2760, f'The specified schema name "{schema}" either does not exist or is not permitted.')
    if database.table_named(schema, name):
        raise ServerError(2714, f"There is already an object named '{name}' in the database.")
    where = database.space_named(asked.space)
    if where is None:
        raise ServerError(1921, f"Invalid filegroup '{asked.space}' specified.")
    groups = where.filegroups if isinstance(where, PartitionScheme) else [where.space_id]
    large = _large_space(work, asked, partitioned=isinstance(where, PartitionScheme))
    heap = []
    for at, group in enumerate(groups, start=1):
        units = {IN_ROW: database.storage.new_unit(IN_ROW, group)}
        if large is not None:
            units[LOB] = database.storage.new_unit(LOB, large or group)
        compression = asked.build.compression.get(at, asked.build.compression.get(0, "NONE"))
        heap.append(Partition(database.next_id("partition"), at, 0, units, compression))
    table = Table(database.next_id("object"), schema, name, asked.columns, limits=asked.limits, check=asked.check)
    table.indexes[HEAP] = Index(0, None, HEAP, where.space_id, heap, partition_column=asked.column)
    database.tables[table.object_id] = table


def _large_space(work: Work, asked: CreateTable, *, partitioned: bool) -> int | None:
    """Where large values go: TEXTIMAGE_ON, else the default filegroup; 0: with each partition; None: there are none."""
    groups = work.database.storage.filegroups.values()
    if not any(column.max_length == -1 for column in asked.columns):
        if asked.large is not None:
            raise ServerError(1709, "Cannot use TEXTIMAGE_ON when a table has no large columns.")
        return None
    if partitioned:
        if asked.large is not None:
            raise ServerError(50000, "TEXTIMAGE_ON does not go with a partition scheme; its number is not established")
        return 0
    if asked.large is None:
        return next(group.space_id for group in groups if group.is_default)
    named = work.database.storage.filegroup_named(asked.large)
    if named is None:
        raise ServerError(1921, f"Invalid filegroup '{asked.large}' specified.")
    return named.space_id


def add_key(work: Work, asked: AddKey) -> None:
    """ADD CONSTRAINT PRIMARY KEY or UNIQUE, which builds an index."""
    kind = CLUSTERED if asked.clustered else NONCLUSTERED
    index = CreateIndex(
        asked.name, asked.table, kind, True, asked.keys, (), None, asked.build, asked.space, asked.column
    )
    builds.create_index(work, index)
    made = work.table(asked.table).index_named(asked.name)
    assert made is not None, "it was just made"
    made.constraint = asked.constraint


def insert_select(work: Work, asked: InsertSelect) -> None:
    """Copy one partition under a shared lock, which is kept to the end of the transaction."""
    target, source = work.table(asked.target), work.table(asked.source)
    if not owns_rows(work.account, source.schema):
        raise ServerError(229, f"The SELECT permission was denied on the object '{source.name}'.", severity=14)
    if len(target.base.partitions) > 1 or target.base.partitions[0].rows:
        raise ServerError(50000, "the emulated server copies into an empty table without partitions only")
    work.hold(source, SHARED)
    _check_columns(source, target, asked.columns)
    number = partition_number(work.database, source, asked.rows)
    work.on_rollback(lambda: _emptied(work.database, target))
    work.fail_if_told()
    base = source.base.partitions[number - 1]
    work.row_count = source.visible(base)
    for new in target.indexes.values():
        old = _counterpart(source, new).partitions[number - 1]
        _fill(work, new.partitions[0], old, unseen=base.rows - work.row_count)


def _fill(work: Work, new: Partition, old: Partition, *, unseen: int) -> None:
    """Chunk by chunk, while time passes; rows that a predicate hides are not read."""
    pages = old.units[IN_ROW].total
    size = max(-(-pages // CHUNKS), 1)
    for at in range(0, pages, size):
        work.pause(work.instance.build_seconds * size / max(pages, 1))
        with work.instance.lock:
            work.database.storage.grow(new.units[IN_ROW], min(size, pages - at))
    new.rows, new.version = old.rows - unseen, old.version


def _emptied(database: Database, table: Table) -> None:
    for index in table.indexes.values():
        for partition in index.partitions:
            partition.rows = partition.hidden = 0
            for unit in partition.units.values():
                database.storage.free(unit)


def _check_columns(source: Table, target: Table, columns: list[str]) -> None:
    known = {column.name.lower() for column in source.columns} & {column.name.lower() for column in target.columns}
    if wrong := [name for name in columns if name.lower() not in known]:
        raise ServerError(207, f"Invalid column name '{wrong[0]}'.")
    if len(columns) < len(target.columns):
        raise ServerError(50000, "the emulated server copies whole rows only")


def _counterpart(table: Table, index: Index) -> Index:
    """The index of the other table whose rows this one holds."""
    if index.index_id <= CLUSTERED:
        return table.base
    found = next((other for other in table.indexes.values() if same_index(other, index)), None)
    if found is None:
        raise ServerError(50000, f"the emulated server knows no index of {table.name} like {index.name}")
    return found


def same_index(one: Index, other: Index) -> bool:
    """Whether SWITCH takes them for identical; names and fill factors do not matter."""

    def shape(index: Index) -> tuple[object, ...]:
        keys = tuple((name.lower(), down) for name, down in index.keys)
        included = frozenset(name.lower() for name in index.included)
        return index.type, keys, included, index.unique, index.where, index.constraint

    return shape(one) == shape(other)


def add_check(work: Work, asked: AddCheck) -> None:
    """WITH CHECK ADD CONSTRAINT: rows are read under Sch-M; that they keep it is not looked at, they are numbers."""
    table = work.table(asked.table)
    work.hold(table, SCHEMA_MODIFICATION)
    if table.check:
        raise ServerError(50000, "the emulated server keeps one CHECK constraint of a table")
    _with_check(work, table, asked.name, asked.limits)


def drop_constraint(work: Work, asked: DropConstraint) -> None:
    """DROP CONSTRAINT of a CHECK."""
    table = work.table(asked.table)
    if table.check.lower() != asked.name.lower():
        raise ServerError(3728, f"'{asked.name}' is not a constraint.")
    work.hold(table, SCHEMA_MODIFICATION)
    _with_check(work, table, "", ())


def _with_check(work: Work, table: Table, name: str, limits: tuple[Limit, ...]) -> None:
    before = table.check, table.limits

    def put_back() -> None:
        table.check, table.limits = before

    work.on_rollback(put_back)
    table.check, table.limits = name, limits


def truncate(work: Work, asked: Truncate) -> None:
    """All rows go; their pages when it commits."""
    table = work.table(asked.table)
    work.hold(table, SCHEMA_MODIFICATION)
    every = [partition for index in table.indexes.values() for partition in index.partitions]
    parts = [partition for partition in every if not asked.partitions or partition.number in asked.partitions]
    rows = [(partition, partition.rows) for partition in parts]

    def put_back() -> None:
        for partition, count in rows:
            partition.rows = count

    def free() -> None:
        for partition in parts:
            for unit in partition.units.values():
                work.database.storage.free(unit)

    work.on_rollback(put_back)
    work.on_commit(free)
    for partition in parts:
        partition.rows = partition.hidden = 0


def next_used(work: Work, asked: NextUsed) -> None:
    """ALTER PARTITION SCHEME ... NEXT USED."""
    scheme = work.database.space_named(asked.scheme)
    if not isinstance(scheme, PartitionScheme) or not may_alter_spaces(work.account):
        raise _cannot_alter("partition scheme", asked.scheme)
    group = work.database.storage.filegroup_named(asked.filegroup) if asked.filegroup else None
    if asked.filegroup and group is None:
        raise ServerError(208, f"Invalid object name '{asked.filegroup}'.")
    before = scheme.next_used
    work.on_rollback(lambda: setattr(scheme, "next_used", before))
    scheme.next_used = group.space_id if group else None


def reshape(work: Work, asked: Reshape) -> None:
    """ALTER PARTITION FUNCTION: every table on it is locked and changes."""
    function = work.database.functions.get(asked.function.lower())
    if function is None or not may_alter_spaces(work.account):
        raise _cannot_alter("partition function", asked.function)
    schemes = [s for s in work.database.schemes.values() if s.function is function]
    for table in _tables_on(work.database, schemes):
        refuse_while_held(work.database, table)
        work.hold(table, SCHEMA_MODIFICATION)
    with work.instance.lock:
        for scheme in schemes:
            _remember(work, function, scheme)
        (_merge if asked.action == "MERGE" else _split)(work, function, schemes, asked.value)


def _tables_on(database: Database, schemes: list[PartitionScheme]) -> Iterator[Table]:
    spaces = {scheme.space_id for scheme in schemes}
    for table in database.tables.values():
        if any(index.data_space in spaces for index in table.indexes.values()):
            yield table


def _remember(work: Work, function: PartitionFunction, scheme: PartitionScheme) -> None:
    """What a rollback puts back."""
    boundaries, groups, used = list(function.boundaries), list(scheme.filegroups), scheme.next_used
    partitions = [(index, list(index.partitions)) for index in _on(work.database, scheme)]

    def put_back() -> None:
        function.boundaries[:] = boundaries
        scheme.filegroups[:], scheme.next_used = groups, used
        for index, before in partitions:
            index.partitions[:] = before
            _number(index)

    work.on_rollback(put_back)


def _on(database: Database, scheme: PartitionScheme) -> list[Index]:
    return [index for index in all_indexes(database) if index.data_space == scheme.space_id]


def _number(index: Index) -> None:
    for at, partition in enumerate(index.partitions, start=1):
        partition.number = at


def _merge(work: Work, function: PartitionFunction, schemes: list[PartitionScheme], value: object) -> None:
    """The partition that holds the boundary goes, with its filegroup; its rows, if any, go to the one beside it."""
    if value not in function.boundaries:
        raise ServerError(7715, "The specified partition range value could not be found.")
    at = function.boundaries.index(value)
    gone = at + function.right
    stays = at if function.right else at + 1
    for scheme in schemes:
        for index in _on(work.database, scheme):
            _join(work, index.partitions[gone], index.partitions[stays], value)
            del index.partitions[gone]
            _number(index)
        del scheme.filegroups[gone]
    del function.boundaries[at]


def _join(work: Work, gone: Partition, stays: Partition, value: object) -> None:
    if gone.rows and work.in_transaction:
        raise ServerError(50000, "the emulated server does not MERGE a range with rows in a transaction")
    if gone.rows:
        stays.merged[value] = gone.rows
        work.instance.rows_moved += gone.rows
        work.database.storage.grow(stays.units[IN_ROW], gone.units[IN_ROW].total)
        work.database.storage.free(gone.units[IN_ROW])
    stays.rows += gone.rows


def _split(work: Work, function: PartitionFunction, schemes: list[PartitionScheme], value: object) -> None:
    """The side that holds the boundary becomes a partition in the filegroup that is NEXT USED, which is used up."""
    if value in function.boundaries:
        raise ServerError(7721, "Duplicate range boundary values are not allowed in partition function.")
    for scheme in schemes:
        if scheme.next_used is None:
            message = (
                f"The associated partition function '{function.name}' generates more partitions than there are file "
            )
            raise ServerError(7707, f"{message}groups mentioned in the scheme '{scheme.name}'.")
    at = sum(boundary < value for boundary in function.boundaries)  # type: ignore[operator]  # values of one column
    new, old = (at + 1, at) if function.right else (at, at)
    for scheme in schemes:
        group = scheme.next_used
        assert group is not None, "refused above"
        for index in _on(work.database, scheme):
            index.partitions.insert(new, _taken_out(work, index, index.partitions[old], group, value))
            _number(index)
        scheme.filegroups.insert(new, group)
        scheme.next_used = None
    function.boundaries.insert(at, value)


def _taken_out(work: Work, index: Index, old: Partition, group: int, value: object) -> Partition:
    """The new partition, compressed as the one that it was part of, with the rows that belong to it."""
    if index.type > NONCLUSTERED and old.rows:
        raise ServerError(35346, "SPLIT clause of ALTER PARTITION statement failed because the partition is not empty.")
    rows = old.merged.pop(value, 0)
    work.instance.rows_moved += rows
    old.rows -= rows
    units = {kind: work.database.storage.new_unit(kind, group) for kind in old.units}
    return Partition(work.database.next_id("partition"), 0, rows, units, old.compression)


def _cannot_alter(what: str, name: str) -> ServerError:
    message = f"Cannot alter the {what} '{name}', because it does not exist or you do not have permission."
    return ServerError(15151, message)
