"""Next partitions and aged ones of tables that are partitioned by time: their templates, and routes made of them. Pure.

``CREATE TABLE ... PARTITION OF`` takes ACCESS EXCLUSIVE on the partitioned table for a moment (the manual, CREATE
TABLE). ATTACH PARTITION takes less, but needs two statements and could leave a table behind. Indexes of the partition
are born in the same tablespace by ``default_tablespace``, unless the table's own indexes name another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from psycopg import sql

from connectors.model import Bundle, NoRoute, Route, Step, UnitKind
from connectors.move_effects import Locked
from connectors.postgresql.reading.partitions import PartitionedTable, Range
from connectors.postgresql.routes.available import TAG, prologue_of
from connectors.postgresql.settings import PostgresqlSettings
from connectors.route import Argument
from connectors.templates import (
    StatementTemplate,
    StatementText,
    TemplateKind,
    TemplateParameter,
    ValueKind,
    texts_of,
)

DAY = 86400
MOST_AT_ONCE = 100  # partitions: a mistake in a range must not make thousands
LONGEST_AGE = 100 * 366 * DAY
# How names say when a range begins. Longer ones first: a year and month are the beginning of a day, too.
_NAMES = ("%Y_%m_%d_%H", "%Y%m%d%H", "%Y_%m_%d", "%Y%m%d", "%Y_%m", "%Y%m")
PARTITION, LOW, HIGH, LAST_ROW, TAG_NAME = "partition", "low", "high", "last_row", "tag"  # parameters
_TAG_PARAMETER = TemplateParameter(name=TAG_NAME, kind=ValueKind.WORD, least=8, most=8)


def next_template(
    table: PartitionedTable, to_space: str, ahead_seconds: int, settings: PostgresqlSettings
) -> StatementTemplate | NoRoute:
    """The template that makes partitions which begin within the time ahead, or why there is none."""
    high = table.next_high
    if table.why_no_more:
        return NoRoute(code="no_next_partition", sentence=table.why_no_more)
    if high is None:
        return NoRoute(code="no_common_length", sentence=f"the last two ranges of {table.key} are of different lengths")
    last = table.ranges[-1]
    form = _name_format(last)
    if not form:
        why = f"the name {last.name} does not say that its rows begin at {last.low:%F %T} UTC"
        return NoRoute(code="no_name", sentence=f"{table.key}: {why}")
    said = last.low.strftime(form)
    longest = int((high - last.high).total_seconds()) + 31 * DAY  # months differ
    parameters = (
        TemplateParameter(name=PARTITION, kind=ValueKind.WORD, least=len(said), most=len(said)),
        TemplateParameter(name=LOW, kind=ValueKind.TIME, least=-366 * DAY, most=ahead_seconds),
        TemplateParameter(name=HIGH, kind=ValueKind.TIME, least=-366 * DAY, most=ahead_seconds + longest),
        _TAG_PARAMETER,
    )
    places = {each.name: f"{{{each.name}}}" for each in parameters}
    texts = _creation_texts(table, last.name.replace(said, places[PARTITION]), to_space, places, settings)
    return StatementTemplate(
        kind=TemplateKind.NEXT_PARTITION, table=table.key, space=to_space, texts=texts, parameters=parameters
    )


def next_routes(
    table: PartitionedTable, template: StatementTemplate, now: datetime, settings: PostgresqlSettings
) -> Iterator[Route]:
    """Partitions whose time has come by the template, in order, whether or not their statements still are its own."""
    until = now + timedelta(seconds=template.bounds(LOW).most)
    for _ in range(MOST_AT_ONCE):
        high = table.next_high
        form = _name_format(table.ranges[-1]) if table.ranges else ""
        if table.why_no_more or high is None or not form or table.ranges[-1].high > until:
            return
        route, made = _creation(table, high, form, template.space, settings)
        yield route
        table = replace(table, ranges=(*table.ranges, made))


def _creation(
    table: PartitionedTable, high: datetime, form: str, space: str, settings: PostgresqlSettings
) -> tuple[Route, Range]:
    """The route that makes the range behind the last one, and the range."""
    last = table.ranges[-1]
    before, said = last.low.strftime(form), last.high.strftime(form)
    name, key = last.name.replace(before, said), last.key.replace(before, said)
    values = {PARTITION: said, LOW: table.literal(last.high), HIGH: table.literal(high)}
    values[TAG_NAME] = hashlib.sha256(f"{table.key};{values};{space}".encode()).hexdigest()[:8]
    *prologue, step = _creation_texts(table, name, space, values, settings)
    route = Route(
        name="create partition",
        bundle=Bundle(key=key, physical_ids=(), unit_keys=(), kind=UnitKind.TABLE_PARTITION, size_bytes=0, space=space),
        to_space=space,
        prologue=tuple(text.sql for text in prologue),
        steps=(Step(sql=step.sql, purpose=f"make {key} in {space}"),),
        undo_steps=(),
        online=False,
        locks=f"ACCESS EXCLUSIVE on {table.key} for a moment; others queue while it waits for that",
        locked=Locked.BRIEFLY,
        lock_seconds=settings.lock_timeout,
        log_bytes=0,
        transient_bytes=0,
        notes=("it belongs to the owner of the table; grants on single partitions are not repeated",),
        arguments=_arguments(values),
    )
    made = replace(last, oid=0, name=name, key=key, low=last.high, high=high, space=space, size_bytes=0)
    return route, made


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


def aged_template(schema: str, name: str, route: Route, table: str, seconds: int) -> StatementTemplate | NoRoute:
    """The template of moves like one route of one partition, for those whose last row came so long ago.

    Args:
        schema: of the partition.
        name: of the partition.
        route: that brings it to the space.
        table: key of the partitioned table.
        seconds: the least age.
    """
    parameters = (
        TemplateParameter(name=PARTITION, kind=ValueKind.WORD, least=1, most=63),
        TemplateParameter(name=LAST_ROW, kind=ValueKind.TIME, least=-LONGEST_AGE, most=-seconds),
        _TAG_PARAMETER,
    )
    own, tag = sql.Identifier(schema, name).as_string(None), _tag(route)
    place = sql.Identifier(schema, f"{{{PARTITION}}}").as_string(None)
    texts = tuple(
        StatementText(role=each.role, sql=each.sql.replace(own, place).replace(f"{TAG} {tag} ", f"{TAG} {{tag}} "))
        for each in texts_of(route)
    )
    return StatementTemplate(
        kind=TemplateKind.AGED_PARTITION, table=table, space=route.to_space, from_space=route.bundle.space,
        texts=texts, parameters=parameters,
    )  # fmt: skip


def aged_route(partition: Range, route: Route) -> Route:
    """The route of an aged partition, with the arguments of its template."""
    values = {PARTITION: partition.name, LAST_ROW: partition.high.strftime("%Y-%m-%d %H:%M:%S"), TAG_NAME: _tag(route)}
    return replace(route, arguments=_arguments(values))


def aged_bundle(partition: Range) -> Bundle:
    """The bundle of one partition, whose indexes move on their own."""
    return Bundle(
        key=partition.key, physical_ids=(partition.oid,), unit_keys=(partition.key,), kind=UnitKind.TABLE_PARTITION,
        size_bytes=partition.size_bytes, space=partition.space, table_ids=(partition.oid,),
    )  # fmt: skip


def _tag(route: Route) -> str:
    """The digest in the comment that begins every statement of a route."""
    return route.steps[0].sql.removeprefix(f"{TAG} ").partition(" ")[0]


def _arguments(values: Mapping[str, str]) -> tuple[Argument, ...]:
    return tuple(Argument(name=name, value=value) for name, value in values.items())


def _name_format(partition: Range) -> str:
    """How the partition's name says when its range begins; "" where it does not, or says it twice."""
    said = ((form, partition.low.strftime(form)) for form in _NAMES)
    return next((form for form, text in said if partition.name.count(text) == partition.key.count(text) == 1), "")
