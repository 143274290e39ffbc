"""Next partitions and aged ones of tables that are partitioned by time: their templates, and routes made of them. Pure.

``CREATE TABLE ... PARTITION OF`` takes ACCESS EXCLUSIVE on the partitioned table for a moment (the manual, CREATE
TABLE). ATTACH PARTITION takes less, but needs two statements and could leave a table behind. Indexes of the partition
are born in the same tablespace by ``default_tablespace``, unless the table's own indexes name another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from psycopg import sql

from connectors.model import NoRoute, Route, Step
from connectors.move_effects import Locked
from connectors.postgresql.reading.partitions import PartitionedTable
from connectors.postgresql.routes.available import TAG, prologue_of
from connectors.postgresql.settings import PostgresqlSettings
from connectors.rolling import filling
from connectors.rolling.filling import HIGH, LOW, PARTITION, TAG_NAME
from connectors.rolling.ranges import Range, refusal_of_name
from connectors.templates import StatementTemplate, StatementText, TemplateKind

_LONGEST_NAME = 63


def next_template(
    table: PartitionedTable, to_space: str, ahead_seconds: int, settings: PostgresqlSettings
) -> StatementTemplate | NoRoute:
    """The template that makes partitions which begin within the time ahead, or why there is none."""
    refusal = table.refusal or refusal_of_name(table)
    if refusal is not None:
        return refusal
    parameters = filling.next_parameters(table, ahead_seconds)
    places = filling.places_of(parameters)
    name = filling.name_with(table.ranges[-1], places[PARTITION])
    return StatementTemplate(
        kind=TemplateKind.NEXT_PARTITION, table=table.key, space=to_space,
        texts=_creation_texts(table, name, to_space, places, settings), parameters=parameters,
    )  # fmt: skip


def next_routes(
    table: PartitionedTable, template: StatementTemplate, now: datetime, settings: PostgresqlSettings
) -> Iterator[Route]:
    """Partitions whose time has come by the template, in order, whether or not their statements still are its own."""
    for made, values in filling.next_ranges(table, template, now):
        yield _creation(table, made, values, settings)


def _creation(
    table: PartitionedTable, made: Range, values: Mapping[str, str], settings: PostgresqlSettings
) -> Route:  # fmt: skip
    """The route that makes a range."""
    *prologue, step = _creation_texts(table, made.name, made.space, values, settings)
    return Route(
        name="create partition",
        bundle=filling.bundle_to_make(made),
        to_space=made.space,
        prologue=tuple(text.sql for text in prologue),
        steps=(Step(sql=step.sql, purpose=f"make {made.key} in {made.space}"),),
        undo_steps=(),
        online=False,
        locks=f"ACCESS EXCLUSIVE on {table.key} for a moment; others queue while it waits for that",
        locked=Locked.BRIEFLY,
        lock_seconds=settings.lock_timeout,
        log_bytes=0,
        transient_bytes=0,
        notes=("it belongs to the owner of the table; grants on single partitions are not repeated",),
        arguments=filling.arguments_of(values),
    )


def _creation_texts(
    table: PartitionedTable, name: str, space: str, values: Mapping[str, str], settings: PostgresqlSettings
) -> tuple[StatementText, ...]:
    """What the creation of a partition sends: what comes before it, and the one step."""
    statement = sql.SQL("CREATE TABLE {} PARTITION OF {} FOR VALUES FROM ({}) TO ({}) TABLESPACE {}").format(
        sql.Identifier(table.ranges[-1].schema, name), sql.Identifier(table.schema, table.name),
        sql.Literal(values[LOW]), sql.Literal(values[HIGH]), sql.Identifier(space),
    )  # fmt: skip
    before = (
        sql.SQL("SET ROLE {}").format(sql.Identifier(table.owner)).as_string(None),
        sql.SQL("SET default_tablespace = {}").format(sql.Literal(space)).as_string(None),
        *prologue_of(settings.lock_timeout, settings.move_timeout),
    )
    step = f"{TAG} {values[TAG_NAME]} step 1 */ {statement.as_string(None)}"
    return (*(StatementText(role="before", sql=text) for text in before), StatementText(role="step 1", sql=step))


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
    return filling.aged_template(route, table, seconds, {own: place}, filling.tag_of(route, TAG), _LONGEST_NAME)


def aged_route(partition: Range, route: Route) -> Route:
    """The route of an aged partition, with the arguments of its template."""
    return filling.aged_route(partition, route, filling.tag_of(route, TAG))
