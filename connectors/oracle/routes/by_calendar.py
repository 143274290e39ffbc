"""Next partitions and aged ones of tables that are partitioned by time: their templates, and routes made of them. Pure.

``ALTER TABLE ... ADD PARTITION`` puts a partition behind the last one, and leaves indexes usable (VLDB and Partitioning
Guide, "Adding a Partition to a Range-Partitioned Table"). Pieces of local indexes are made where those indexes have a
default, else with the partition ("Adding Index Partitions"). It waits for its lock as long as DDL_LOCK_TIMEOUT says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial

from connectors.model import NoRoute, Route
from connectors.oracle.reading.names import quote
from connectors.oracle.reading.partitions import DATE, PartitionedTable
from connectors.oracle.routes import statements
from connectors.oracle.routes.operations import adding_partition
from connectors.oracle.routes.statements import TAG, Statement
from connectors.oracle.settings import OracleSettings
from connectors.rolling import filling
from connectors.rolling.filling import HIGH, PARTITION, TAG_NAME
from connectors.rolling.ranges import Range
from connectors.templates import StatementTemplate, texts_of

_NAMED = (filling.partition_word(128),)  # letters since 12.2; 30 before


def next_template(
    table: PartitionedTable, to_space: str, ahead_seconds: int, settings: OracleSettings
) -> StatementTemplate | NoRoute:
    """See ``filling.next_template``."""
    return filling.next_template(table, to_space, ahead_seconds, partial(_addition, table, settings))


def next_routes(
    table: PartitionedTable, template: StatementTemplate, now: datetime, settings: OracleSettings
) -> Iterator[Route]:
    """See ``filling.next_routes``."""
    return filling.next_routes(table, template, now, partial(_addition, table, settings))


def _addition(table: PartitionedTable, settings: OracleSettings, made: Range, values: Mapping[str, str]) -> Route:
    """The route that makes a range."""
    elsewhere = ", ".join(table.elsewhere)
    sent = Statement(
        f"ALTER TABLE {quote(table.schema, table.name)} ADD PARTITION {quote(made.name)} VALUES LESS THAN "
        f"({_bound(table.bound, values[HIGH])}) TABLESPACE {quote(made.space)}",
        adding_partition(table.schema, table.name, made.name),
    )
    purpose, tag = f"make {made.key} in {made.space}", f"{TAG} {values[TAG_NAME]} "
    return filling.making_route(
        made,
        values,
        name="add partition",
        prologue=statements.prologue(settings),
        steps=(statements.step(tag, "step", 1, sent, purpose, settings.move_timeout),),
        locks=f"exclusive DDL lock on {table.key} for a moment; it waits for open transactions, others queue meanwhile",
        lock_seconds=settings.lock_timeout,
        notes=(f"pieces of local indexes are made where these have their default: {elsewhere}",) if elsewhere else (),
    )


def _bound(kind: str, at: str) -> str:
    """Whatever the formats and the calendar of the session are."""
    if kind == DATE:
        return f"TO_DATE('{at}', 'SYYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN')"
    return f"TIMESTAMP '{at}'"


def aged_template(partition: Range, route: Route, table: str, seconds: int) -> StatementTemplate | NoRoute:
    """The template of moves like one route of one partition, for those whose last row came so long ago.

    Args:
        partition: which the route brings to its space.
        route: the example.
        table: key of the partitioned table.
        seconds: the least age.
    """
    own, place = (f"PARTITION {quote(name)}" for name in (partition.name, f"{{{PARTITION}}}"))
    if named := next((text.sql for text in texts_of(route) if _names_another(text.sql, own)), ""):
        sentence = f"a piece of a local index is not named after {partition.key}, so no template names it: {named}"
        return NoRoute(code="piece_name", sentence=sentence)
    return filling.aged_template(route, table, seconds, {own: place}, filling.tag_of(route, TAG), _NAMED)


def _names_another(statement: str, own: str) -> bool:
    return " PARTITION " in statement and own not in statement


def aged_route(partition: Range, route: Route) -> Route:
    """The route of an aged partition, with the arguments of its template."""
    return filling.aged_route(route, filling.tag_of(route, TAG), filling.name_and_age(partition))
