"""Rows written and read. They are numbers here: how many there are, on how many pages, and which statements wrote them.

A checksum stands for those statements: the same ones have written the same rows.
"""

from __future__ import annotations

import zlib

from tests.labs.sqlserver.changes.work import INTENT_EXCLUSIVE, INTENT_SHARED, SCHEMA_MODIFICATION, Work
from tests.labs.sqlserver.instance import IAM
from tests.labs.sqlserver.language.row_statements import (
    CreatePolicy,
    CreateRowFunction,
    DropModule,
    Grant,
    InsertRows,
    ReadPages,
    ReadRows,
    UpdateRow,
)
from tests.labs.sqlserver.objects import CLUSTERED, CLUSTERED_COLUMNSTORE, ColumnOf, Index, Partition, Table
from tests.labs.sqlserver.rights import may_alter, may_create, owns_rows
from tests.labs.sqlserver.storage import IN_ROW, LOB
from tests.labs.tds.backend import Rows, ServerError
from tests.labs.tds.values import Column, Kind

PAGE_BYTES = 8060  # of rows
ROW_BYTES, POINTER_BYTES = 10, 16  # of a row's head; of a reference to a large value
STORE_SHRINKS = 10  # how much smaller a columnstore is: any number would do


def insert_rows(work: Work, asked: InsertRows) -> None:
    """INSERT ... SELECT TOP (n): n rows in every index, spread evenly over the partitions."""
    table = _table(work, asked.table, "INSERT")
    _check_names(table, asked.columns)
    work.hold(table, INTENT_EXCLUSIVE)
    with work.instance.lock:
        for index in table.indexes.values():
            _add(work, table, index, asked.rows)
        table.written.append(asked.text)


def _add(work: Work, table: Table, index: Index, rows: int) -> None:
    parts = len(index.partitions)
    width = _width(table, index)
    for at, partition in enumerate(index.partitions):
        partition.rows += rows // parts + (at < rows % parts)
        wanted = {IN_ROW: -(-partition.rows * width // PAGE_BYTES), LOB: partition.rows}  # a large value takes a page
        for kind, unit in partition.units.items():
            work.database.storage.grow(unit, max(wanted.get(kind, 0) - unit.total, 0))


def _width(table: Table, index: Index) -> int:
    """Bytes of a row: variable columns are half full."""
    if index.type > CLUSTERED and index.type != CLUSTERED_COLUMNSTORE:
        names = {name.lower() for name, _ in index.keys} | {name.lower() for name in index.included}
        return ROW_BYTES + 8 + sum(_bytes(column) for column in table.columns if column.name.lower() in names)
    whole = ROW_BYTES + sum(_bytes(column) for column in table.columns)
    return max(whole // STORE_SHRINKS, 1) if index.type == CLUSTERED_COLUMNSTORE else whole


def _bytes(column: ColumnOf) -> int:
    if column.max_length == -1:
        return POINTER_BYTES
    return column.max_length // 2 if "var" in column.type_name else column.max_length


def update_row(work: Work, asked: UpdateRow) -> None:
    """UPDATE of one row by its key, to what it was."""
    table = _table(work, asked.table, "UPDATE")
    _check_names(table, [*asked.columns, asked.key])
    work.hold(table, INTENT_EXCLUSIVE)
    with work.instance.lock:
        table.base.partitions[0].counters.update(singleton_lookup_count=1, leaf_update_count=1)


def read_rows(work: Work, asked: ReadRows) -> Rows:
    """SELECT COUNT_BIG(*) or CHECKSUM_AGG(...): keys are 1 to the number of rows, each once."""
    table = _table(work, asked.table, "SELECT")
    _check_names(table, [asked.key] if asked.key else [])
    (work.hold if asked.keep else work.lock)(table, INTENT_SHARED)
    with work.instance.lock:
        rows = sum(map(table.visible, table.base.partitions))
        counted = {"singleton_lookup_count": 1} if asked.key else {"range_scan_count": 1}
        table.base.partitions[0].counters.update(counted)
        if asked.what == "COUNT_BIG":
            found = int(1 <= asked.value <= rows) if asked.key else rows
            return Rows((Column(asked.name, Kind.BIGINT),), [(found,)])
    number = zlib.crc32("\n".join([str(rows), *table.written]).encode()) & 0x7FFFFFFF
    return Rows((Column(asked.name, Kind.INT),), [(number,)])


def read_pages(work: Work, asked: ReadPages, keys: list[int]) -> Rows:
    """A scan of the table, or the rows with these keys through an index; what is not in memory is waited for."""
    table = _table(work, asked.table, "SELECT")
    _check_names(table, asked.columns)
    work.lock(table, INTENT_SHARED)
    (base,) = table.base.partitions
    if not asked.index:
        work.instance.scan_by(work.connected, work.database, base)
        return Rows((Column(asked.name, Kind.BIGINT),), [(base.rows,)])
    index = table.index_named(asked.index)
    if index is None:
        name = f"{table.schema}.{table.name}"
        raise ServerError(
            308, f"Index '{asked.index}' on table '{name}' (specified in the FROM clause) does not exist."
        )
    (part,) = index.partitions
    found = [key for key in keys if 1 <= key <= base.rows]
    work.instance.read_by(work.connected, work.database, index, part, _positions(part, found))
    held = {name.lower() for name, _ in index.keys} | {name.lower() for name in index.included}
    if {name.lower() for name in asked.columns} - held and index is not table.base:
        work.instance.read_by(work.connected, work.database, table.base, base, _positions(base, found))
    return Rows((Column(asked.name, Kind.BIGINT),), [(len(found),)])


def _positions(partition: Partition, keys: list[int]) -> list[int]:
    """Pages of the rows with these keys: 1 to the number of rows lie in that order, behind the page of the map."""
    unit = partition.units[IN_ROW]
    return [min(IAM + 1 + (key - 1) * unit.total // partition.rows, unit.total - 1) for key in keys]


def grant(work: Work, asked: Grant) -> None:
    """GRANT on a table."""
    table = work.table(asked.table)
    table.grants = (*table.grants, (asked.right, asked.grantee))


def create_row_function(work: Work, asked: CreateRowFunction) -> None:
    """CREATE FUNCTION of rows, of which only the name is kept."""
    _need(work, "CREATE FUNCTION", asked.name[0])
    work.database.modules[asked.name] = ""


def create_policy(work: Work, asked: CreatePolicy) -> None:
    """CREATE SECURITY POLICY with a filter: every third row is hidden, whatever the function says."""
    _need(work, "ALTER ANY SECURITY POLICY", asked.name[0])
    if asked.function not in work.database.modules:
        raise ServerError(208, f"Invalid object name '{'.'.join(asked.function)}'.")
    table = work.table(asked.table)
    _check_names(table, [asked.column])
    work.hold(table, SCHEMA_MODIFICATION)
    work.database.modules[asked.name] = asked.table[1]
    table.predicates = (*table.predicates, asked.name[1])
    for index in table.indexes.values():
        for partition in index.partitions:
            partition.hidden = partition.rows // 3


def drop_module(work: Work, asked: DropModule) -> None:
    """DROP FUNCTION or DROP SECURITY POLICY; a function that a policy uses cannot go (3729)."""
    if asked.name not in work.database.modules or not may_alter(work.account, asked.name[0]):
        what = f"the {asked.what.lower()} '{asked.name[1]}'"
        raise ServerError(3701, f"Cannot drop {what}, because it does not exist or you do not have permission.")
    if asked.what == "FUNCTION" and any(work.database.modules.values()):
        raise ServerError(3729, f"Cannot DROP FUNCTION '{asked.name[1]}' because it is being referenced by a policy.")
    of = work.database.modules.pop(asked.name)
    table = work.database.table_named(asked.name[0], of)
    if table is not None:
        table.predicates = tuple(each for each in table.predicates if each != asked.name[1])


def _need(work: Work, right: str, schema: str) -> None:
    if not may_create(work.account, right, schema):
        raise ServerError(262, f"{right} permission denied in database '{work.database.name}'.", severity=14)


def add_property(work: Work, arguments: dict[str, object]) -> None:
    """sp_addextendedproperty of a table, or of an index of it."""
    table = work.table((str(arguments.get("@level0name")), str(arguments.get("@level1name"))))
    index = table.index_named(str(arguments["@level2name"])) if "@level2name" in arguments else None
    if "@level2name" in arguments and (index is None or arguments.get("@level2type") != "INDEX"):
        raise ServerError(15135, "Object is invalid. Extended properties are not permitted, or it does not exist.")
    properties = index.properties if index is not None else table.properties
    name = str(arguments["@name"])
    if name in properties:
        raise ServerError(15233, f"Property cannot be added. Property '{name}' already exists for '{table.name}'.")
    work.on_rollback(lambda: properties.__delitem__(name))
    properties[name] = str(arguments["@value"])


def _table(work: Work, name: tuple[str, str], right: str) -> Table:
    found = work.database.table_named(*name)
    if found is None:
        raise ServerError(208, f"Invalid object name '{'.'.join(name)}'.")
    if not (owns_rows(work.account, found.schema) or may_alter(work.account, found.schema)):
        raise ServerError(229, f"The {right} permission was denied on the object '{found.name}'.", severity=14)
    return found


def _check_names(table: Table, names: list[str]) -> None:
    known = {column.name.lower() for column in table.columns}
    if wrong := [name for name in names if name.lower() not in known]:
        raise ServerError(207, f"Invalid column name '{wrong[0]}'.")
