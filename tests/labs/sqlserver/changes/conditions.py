"""IF ... THROW: rows of tables are read as any reader reads them, under locks of their hints; views answer the rest."""

from __future__ import annotations

from tests.labs.sqlserver.changes.work import EXCLUSIVE, SCHEMA_MODIFICATION, SHARED, Work
from tests.labs.sqlserver.instance import Database
from tests.labs.sqlserver.language.conditions import PartitionOf, Question, RefuseIf, RowsOf
from tests.labs.sqlserver.objects import Partition, Table
from tests.labs.sqlserver.rights import owns_rows
from tests.labs.sqlserver.views.query import select
from tests.labs.sqlserver.views.relations import Viewer
from tests.labs.tds.backend import ServerError


def refuse_if(work: Work, asked: RefuseIf) -> None:
    """Raise the error where the condition is true; one that is unknown is not."""
    text = " ".join(part if isinstance(part, str) else _answer(work, part) for part in asked.parts)
    viewer = Viewer(work.instance, work.database, work.account, work.connected)
    found = select(viewer, f"SELECT CASE WHEN {text} THEN 1 ELSE 0 END AS refused", {})
    if next(iter(found.rows))[0]:
        raise asked.error


def _answer(work: Work, asked: Question) -> str:
    """The question as a constant of the condition."""
    table = _readable(work, asked.table)
    if not isinstance(asked, RowsOf):
        own, other = _parts(work.database, table, asked.part), _parts(work.database, _readable(work, asked.other), None)
        return "1 = 1" if {p.version for p in own} - {p.version for p in other} else "1 = 0"
    if asked.hints:
        work.hold(table, EXCLUSIVE if "TABLOCKX" in asked.hints else SHARED)
    rows = sum(map(table.visible, _parts(work.database, table, asked.part)))
    return ("1 = 1" if rows else "1 = 0") if asked.any else str(rows)


def _readable(work: Work, name: tuple[str, str]) -> Table:
    table = work.table(name)
    if not owns_rows(work.account, table.schema):
        raise ServerError(229, f"The SELECT permission was denied on the object '{table.name}'.", severity=14)
    with work.instance.lock:
        work.instance.scans_under_lock += table.lock_holders.get(work.spid) == SCHEMA_MODIFICATION
    return table


def _parts(database: Database, table: Table, part: PartitionOf | None) -> list[Partition]:
    if part is None:
        return table.base.partitions
    return [table.base.partitions[partition_number(database, table, part) - 1]]


def partition_number(database: Database, table: Table, rows: PartitionOf) -> int:
    """The partition that $PARTITION names, where the table is partitioned by that function and column."""
    scheme = database.schemes.get(table.base.data_space)
    if scheme is None or scheme.function.name.lower() != rows.function.lower():
        raise ServerError(208, f"Invalid object name '{rows.function}'.")
    if (table.base.partition_column or "").lower() != rows.column.lower():
        raise ServerError(50000, "the emulated server looks for rows of a partition by the partitioning column only")
    if not 1 <= rows.number <= scheme.function.fanout:
        raise ServerError(50000, f"there is no partition {rows.number}: the copy would be empty")
    return rows.number
