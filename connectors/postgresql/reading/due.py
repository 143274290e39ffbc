"""What the calendar asks of a partitioned table: a template to be signed, and what is due under one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from connectors.model import NoRoute, Route
from connectors.postgresql.moving.relation import find_relation
from connectors.postgresql.reading.closing import close_routes, close_template, open_range
from connectors.postgresql.reading.partitions import PartitionedTable, read_partitions
from connectors.postgresql.reading.replication import Replication, read_replication
from connectors.postgresql.routes.available import routes_of
from connectors.postgresql.routes.by_calendar import aged_route, aged_template, next_routes, next_template
from connectors.postgresql.session.sessions import ReadSession
from connectors.postgresql.settings import PostgresqlSettings
from connectors.rolling.filling import aged_bundle, is_aged
from connectors.rolling.ranges import Range
from connectors.templates import StatementTemplate, TemplateKind


def template_of(
    session: ReadSession, settings: PostgresqlSettings, kind: TemplateKind, table: str, to_space: str, seconds: int
) -> StatementTemplate | NoRoute:
    """See ``FillsTemplates.template``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if kind is TemplateKind.CLOSED_PART:
        return close_template(session, settings, table, to_space, seconds)
    found = read_partitions(session, table, to_space)
    if found is None:
        return NoRoute(code="no_table", sentence=f"there is no partitioned table {table}")
    if found.why_not:
        return NoRoute(code="not_by_time", sentence=found.why_not)
    if kind is TemplateKind.NEXT_PARTITION:
        return next_template(found, to_space, seconds, settings)
    return _aged_template(session, settings, found, to_space, seconds)


def routes_due(
    session: ReadSession, settings: PostgresqlSettings, template: StatementTemplate, now: datetime
) -> tuple[Route, ...]:
    """See ``FillsTemplates.routes_due``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if template.kind is TemplateKind.CLOSED_PART:
        return close_routes(session, settings, template, now)
    found = read_partitions(session, template.table, template.space)
    if found is None or found.why_not:
        return ()
    if template.kind is TemplateKind.NEXT_PARTITION:
        return tuple(next_routes(found, template, now, settings))
    return tuple(_aged_routes(session, settings, found, template, now))


def _aged_template(
    session: ReadSession, settings: PostgresqlSettings, found: PartitionedTable, to_space: str, seconds: int
) -> StatementTemplate | NoRoute:
    """By the youngest partition elsewhere: those that follow it will age where it is."""
    last = open_range(session, found.key)
    ranges = (*found.ranges, *(() if last is None else (last,)))
    example = next((each for each in reversed(ranges) if each.space != to_space), None)
    if example is None:
        return NoRoute(code="already_there", sentence=f"all partitions of {found.key} are in {to_space}")
    route = _way(session, settings, example, to_space, read_replication(session))
    if isinstance(route, NoRoute):
        return route
    return aged_template(example, route, found.key, seconds)


def _aged_routes(
    session: ReadSession, settings: PostgresqlSettings, found: PartitionedTable, template: StatementTemplate,
    now: datetime,
) -> Iterator[Route]:  # fmt: skip
    """The oldest first, whether or not their statements still are those of the template."""
    replication = read_replication(session)
    for partition in found.ranges:
        if is_aged(partition, template, now):
            route = _way(session, settings, partition, template.space, replication)
            if isinstance(route, Route):
                yield aged_route(partition, route)


def _way(
    session: ReadSession, settings: PostgresqlSettings, partition: Range, to_space: str, replication: Replication
) -> Route | NoRoute:
    """The kindest way of one partition there."""
    relation = find_relation(session, partition.key, to_space)
    answer = routes_of(relation, aged_bundle(partition), to_space, settings, replication)
    return answer if isinstance(answer, NoRoute) else answer[0]
