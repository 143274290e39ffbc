"""ALTER TABLE ... SWITCH, by the numbers of the message catalog for what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.labs.sqlserver.changes.copying import refuse_while_held
from tests.labs.sqlserver.changes.partitions import same_index
from tests.labs.sqlserver.changes.work import SCHEMA_MODIFICATION, Work
from tests.labs.sqlserver.instance import Database
from tests.labs.sqlserver.language.partition_statements import Limit, Side, Switch
from tests.labs.sqlserver.objects import Index, Partition, PartitionFunction, Table
from tests.labs.sqlserver.storage import IN_ROW
from tests.labs.tds.backend import ServerError


@dataclass(frozen=True, slots=True)
class _Part:
    """A whole table, or one partition of it."""

    table: Table
    number: int | None
    function: PartitionFunction | None

    def of(self, index: Index) -> Partition:
        return index.partitions[(self.number or 1) - 1]

    @property
    def name(self) -> str:
        return f"{self.table.schema}.{self.table.name}"


def switch(work: Work, asked: Switch) -> None:
    """Exchange the pages of two partitions; nothing is copied.

    Raises:
        ServerError: 49xx and others, whatever stands in the way.
    """
    source, target = _part(work, asked.source), _part(work, asked.target)
    for part in (source, target):
        refuse_while_held(work.database, part.table)
        work.hold(part.table, SCHEMA_MODIFICATION, asked.low_priority_minutes)
    for applies, number, words in _against(work.database, source, target):
        if applies:
            raise ServerError(number, f"ALTER TABLE SWITCH statement failed. {words}")
    with work.instance.lock:
        pairs = [(source.of(i), target.of(_like(target.table, i))) for i in source.table.indexes.values()]
        _exchange(pairs)
        work.on_rollback(lambda: _exchange(pairs))


def _part(work: Work, side: Side) -> _Part:
    table, number = work.table(side[0]), side[1]
    scheme = work.database.schemes.get(table.base.data_space)
    if scheme is None:
        return _Part(table, None, None)
    if number is None:
        message = "Cannot specify a partitioned table without partition number in ALTER TABLE SWITCH statement."
        raise ServerError(4911, message)
    if not 1 <= number <= scheme.function.fanout:
        raise ServerError(4950, f"partition number {number} does not exist in table '{table.name}'.")
    return _Part(table, number, scheme.function)


def _exchange(pairs: list[tuple[Partition, Partition]]) -> None:
    for one, other in pairs:
        one.rows, other.rows = other.rows, one.rows
        one.hidden, other.hidden = other.hidden, one.hidden
        one.version, other.version = other.version, one.version
        one.miscounted, other.miscounted = other.miscounted, one.miscounted
        one.units, other.units = other.units, one.units


def _like(table: Table, index: Index) -> Index:
    if index.index_id <= 1:
        return table.base
    return next(other for other in table.indexes.values() if same_index(other, index))


def _against(database: Database, source: _Part, target: _Part) -> Iterator[tuple[object, int, str]]:
    one, other = source.table, target.table
    yield one is other, 4955, "source and target are the same"
    yield target.of(other.base).rows, 4904 if target.number else 4905, f"the target '{target.name}' must be empty"
    yield database.change_feed, 22750, "change feed is enabled"
    yield one.change_tracked or other.change_tracked, 4900, "change tracking is enabled"
    yield one.fulltext or other.fulltext, 4918, "a full-text index is there"
    yield one.temporal_type, 13546, "the source is system-versioned"
    yield one.referenced, 4967, f"source table '{source.name}' contains primary key for a constraint"
    yield other.references and not one.references, 4968, f"target table '{target.name}' has a foreign key"
    yield other.checks and not one.checks, 4971, f"target table '{target.name}' has a check constraint"
    yield from _columns(one, other)
    yield (one.base.type == 0) is not (other.base.type == 0), 4913, "one of them has a clustered index"
    for part in (source, target):
        scheme = part.table.base.data_space
        strange = [i.name for i in part.table.indexes.values() if part.number and i.data_space != scheme]
        yield strange, 7733, f"index {strange} is not partitioned"
    for index in other.indexes.values():
        twin = any(same_index(index, found) for found in one.indexes.values())
        yield not twin, 4947, f"There is no identical index in source table '{source.name}' for '{index.name}'"
        if twin:
            yield from _places(database, source, target, index)
    yield from _range(source, target)


def _columns(one: Table, other: Table) -> Iterator[tuple[object, int, str]]:
    yield len(one.columns) != len(other.columns), 4943, "the tables have different numbers of columns"
    for mine, yours in zip(one.columns, other.columns, strict=False):
        yield mine.name != yours.name, 4942, f"column '{mine.name}' has another name than '{yours.name}'"
        same = (mine.type_name, mine.max_length, mine.scale) == (yours.type_name, yours.max_length, yours.scale)
        yield not same, 4944, f"column '{mine.name}' has another type"
        yield mine.nullable is not yours.nullable, 4985, f"column '{mine.name}' has another nullability"


def _places(database: Database, source: _Part, target: _Part, index: Index) -> Iterator[tuple[object, int, str]]:
    mine = source.of(_like(source.table, index))
    yours = target.of(index)
    groups = [part.units[IN_ROW].filegroup for part in (mine, yours)]
    number = 4940 if not source.number and not target.number else 4938 if source.number and target.number else 4939
    names = [database.storage.filegroups[group].name for group in groups]
    yield (
        groups[0] != groups[1],
        number,
        f"'{source.name}' is in filegroup '{names[0]}', '{target.name}' in '{names[1]}'",
    )
    yield mine.compression != yours.compression, 11406, "DATA_COMPRESSION differs"


def _range(source: _Part, target: _Part) -> Iterator[tuple[object, int, str]]:
    """Whether the source's CHECK keeps its rows within the range of the target's partition."""
    if target.number is None or target.function is None or source.function is not None:
        return
    column = target.table.base.partition_column or ""
    limits = [limit for limit in source.table.limits if limit[0].lower() == column.lower()]
    wanted = list(_wanted(target.function, target.number))
    nullable = next(c.nullable for c in source.table.columns if c.name.lower() == column.lower())
    kept = all(any(_implies(limit, sign, value) for limit in limits) for sign, value in wanted)
    kept = kept and (not nullable or target.number == 1 or any(sign == "IS NOT NULL" for _, sign, _ in limits))
    words = f"Check constraints of source table '{source.name}' allow values that are not allowed by range defined by "
    yield not kept, 4982, f"{words}partition {target.number} on target table '{target.name}'."


def _wanted(function: PartitionFunction, number: int) -> Iterator[tuple[str, object]]:
    if number > 1:
        yield (">=" if function.right else ">"), function.boundaries[number - 2]
    if number <= len(function.boundaries):
        yield ("<" if function.right else "<="), function.boundaries[number - 1]


def _implies(limit: Limit, sign: str, value: object) -> bool:
    """The same limit, or a narrower one by its value; both of one type."""
    _, own, bound = limit
    if type(bound) is not type(value) or own[:1] != sign[:1]:
        return False
    if bound == value:
        return own == sign or sign in (">=", "<=")
    return bool(bound > value if sign[0] == ">" else bound < value)  # type: ignore[operator]  # values of one column
