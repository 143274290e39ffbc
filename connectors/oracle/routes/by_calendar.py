"""Next partitions and aged ones of tables that are partitioned by time: their templates, and routes made of them. Pure.

``ALTER TABLE ... ADD PARTITION`` puts a partition behind the last one, and leaves indexes usable (VLDB and Partitioning
Guide, "Adding a Partition to a Range-Partitioned Table"). Pieces of local indexes are made where those indexes have a
default, else with the partition ("Adding Index Partitions"). It waits for its lock as long as DDL_LOCK_TIMEOUT says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from connectors.model import NoRoute, Route
from connectors.move_effects import Locked
from connectors.oracle.reading.names import quote
from connectors.oracle.reading.partitions import DATE, PartitionedTable
from connectors.oracle.routes import statements
from connectors.oracle.routes.operations import adding_partition
from connectors.oracle.routes.statements import TAG, Statement
from connectors.oracle.settings import OracleSettings
from connectors.rolling import filling
from connectors.rolling.filling import HIGH, PARTITION, TAG_NAME
from connectors.rolling.ranges import Range, refusal_of_name
from connectors.templates import StatementTemplate, TemplateKind, texts_of

_LONGEST_NAME = 128  # since 12.2; 30 before


def next_template(
    table: PartitionedTable, to_space: str, ahead_seconds: int, settings: OracleSettings
) -> StatementTemplate | NoRoute:
    """The template that makes partitions which begin within the time ahead, or why there is none."""
    refusal = table.refusal or refusal_of_name(table)
    if refusal is not None:
        return refusal
    parameters = filling.next_parameters(table, ahead_seconds)
    places = filling.places_of(parameters)
    last = table.ranges[-1]
    example = _creation(table, last, filling.name_with(last, places[PARTITION]), to_space, places, settings)
    return StatementTemplate(
        kind=TemplateKind.NEXT_PARTITION, table=table.key, space=to_space, texts=texts_of(example),
        parameters=parameters,
    )  # fmt: skip


def next_routes(
    table: PartitionedTable, template: StatementTemplate, now: datetime, settings: OracleSettings
) -> Iterator[Route]:
    """Partitions whose time has come by the template, in order, whether or not their statements still are its own."""
    for made, values in filling.next_ranges(table, template, now):
        yield _creation(table, made, made.name, made.space, values, settings)


def _creation(
    table: PartitionedTable, made: Range, name: str, space: str, values: Mapping[str, str], settings: OracleSettings
) -> Route:
    """The route that makes a range."""
    elsewhere = ", ".join(table.elsewhere)
    sent = Statement(
        f"ALTER TABLE {quote(table.schema, table.name)} ADD PARTITION {quote(name)} VALUES LESS THAN "
        f"({_bound(table.bound, values[HIGH])}) TABLESPACE {quote(space)}",
        adding_partition(table.schema, table.name, name),
    )
    step = statements.step(
        f"{TAG} {values[TAG_NAME]} ", "step", 1, sent, f"make {made.key} in {space}", settings.move_timeout
    )
    return Route(
        name="add partition",
        bundle=filling.bundle_to_make(made),
        to_space=space,
        prologue=statements.prologue(settings),
        steps=(step,),
        undo_steps=(),
        online=False,
        locks=f"exclusive DDL lock on {table.key} for a moment; it waits for open transactions, others queue meanwhile",
        locked=Locked.BRIEFLY,
        lock_seconds=settings.lock_timeout,
        log_bytes=0,
        transient_bytes=0,
        notes=(f"pieces of local indexes are made where these have their default: {elsewhere}",) if elsewhere else (),
        arguments=filling.arguments_of(values),
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
    return filling.aged_template(route, table, seconds, {own: place}, filling.tag_of(route, TAG), _LONGEST_NAME)


def _names_another(statement: str, own: str) -> bool:
    return " PARTITION " in statement and own not in statement


def aged_route(partition: Range, route: Route) -> Route:
    """The route of an aged partition, with the arguments of its template."""
    return filling.aged_route(partition, route, filling.tag_of(route, TAG))
