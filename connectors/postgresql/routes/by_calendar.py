"""Next partitions and aged ones of tables that are partitioned by time: their templates, and routes made of them. Pure.

``CREATE TABLE ... PARTITION OF`` takes ACCESS EXCLUSIVE on the partitioned table for a moment (the manual, CREATE
TABLE). ATTACH PARTITION takes less, but needs two statements and could leave a table behind. Indexes of the partition
are born in the same tablespace by ``default_tablespace``, unless the table's own indexes name another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial

from psycopg import sql

from connectors.model import NoRoute, Route, Step
from connectors.postgresql.reading.partitions import PartitionedTable
from connectors.postgresql.routes.available import TAG, prologue_of
from connectors.postgresql.settings import PostgresqlSettings
from connectors.rolling import filling
from connectors.rolling.filling import HIGH, LOW, PARTITION, TAG_NAME
from connectors.rolling.ranges import Range
from connectors.templates import StatementTemplate

_NAMED = (filling.partition_word(63),)


def next_template(
    table: PartitionedTable, to_space: str, ahead_seconds: int, settings: PostgresqlSettings
) -> StatementTemplate | NoRoute:
    """See ``filling.next_template``."""
    return filling.next_template(table, to_space, ahead_seconds, partial(_creation, table, settings))


def next_routes(
    table: PartitionedTable, template: StatementTemplate, now: datetime, settings: PostgresqlSettings
) -> Iterator[Route]:
    """See ``filling.next_routes``."""
    return filling.next_routes(table, template, now, partial(_creation, table, settings))


def _creation(table: PartitionedTable, settings: PostgresqlSettings, made: Range, values: Mapping[str, str]) -> Route:
    """The route that makes a range: what comes before it, and the one step."""
    statement = sql.SQL("CREATE TABLE {} PARTITION OF {} FOR VALUES FROM ({}) TO ({}) TABLESPACE {}").format(
        sql.Identifier(made.schema, made.name), sql.Identifier(table.schema, table.name),
        sql.Literal(values[LOW]), sql.Literal(values[HIGH]), sql.Identifier(made.space),
    )  # fmt: skip
    step = f"{TAG} {values[TAG_NAME]} step 1 */ {statement.as_string(None)}"
    return filling.making_route(
        made,
        values,
        name="create partition",
        prologue=(
            sql.SQL("SET ROLE {}").format(sql.Identifier(table.owner)).as_string(None),
            sql.SQL("SET default_tablespace = {}").format(sql.Literal(made.space)).as_string(None),
            *prologue_of(settings.lock_timeout, settings.move_timeout),
        ),
        steps=(Step(sql=step, purpose=f"make {made.key} in {made.space}"),),
        locks=f"ACCESS EXCLUSIVE on {table.key} for a moment; others queue while it waits for that",
        lock_seconds=settings.lock_timeout,
        notes=("it belongs to the owner of the table; grants on single partitions are not repeated",),
    )


def aged_template(partition: Range, route: Route, table: str, seconds: int) -> StatementTemplate:
    """The template of moves like one route of one partition, for those whose last row came so long ago.

    Args:
        partition: which the route brings to its space.
        route: the example.
        table: key of the partitioned table.
        seconds: the least age.
    """
    own, place = (
        sql.Identifier(partition.schema, name).as_string(None) for name in (partition.name, f"{{{PARTITION}}}")
    )
    return filling.aged_template(route, table, seconds, {own: place}, filling.tag_of(route, TAG), _NAMED)


def aged_route(partition: Range, route: Route) -> Route:
    """The route of an aged partition, with the arguments of its template."""
    return filling.aged_route(route, filling.tag_of(route, TAG), filling.name_and_age(partition))
