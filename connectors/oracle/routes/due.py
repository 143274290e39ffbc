"""What the calendar asks of a partitioned table: a template to be signed, and what is due under one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from connectors.model import Bundle, NoRoute, Route
from connectors.oracle.reading.partitions import PartitionedTable, read_partitions
from connectors.oracle.routes.by_calendar import aged_route, aged_template, next_routes, next_template
from connectors.oracle.session.server import Server
from connectors.oracle.session.sessions import ReadSession
from connectors.oracle.settings import OracleSettings
from connectors.rolling.filling import aged_bundle, is_aged
from connectors.rolling.ranges import Range
from connectors.templates import StatementTemplate, TemplateKind

Ways = Callable[[Bundle, str], tuple[Route, ...] | NoRoute]  # ``Connector.routes``


class Calendar:
    """Answers for one connector."""

    def __init__(self, session: ReadSession, server: Server, settings: OracleSettings, ways: Ways) -> None:
        self._session = session
        self._server = server
        self._settings = settings
        self._ways = ways

    def template(self, kind: TemplateKind, table: str, to_space: str, seconds: int) -> StatementTemplate | NoRoute:
        """See ``FillsTemplates.template``.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        if self._settings.move_by == "tablespace":
            sentence = "move_by: tablespace moves data files, and no partition is made or moved by that"
            return NoRoute(code="by_tablespace", sentence=sentence, setting="move_by")
        if not self._server.writable:
            sentence = f"the database is {self._server.role}, {self._server.open_mode}: no DDL here"
            return NoRoute(code="standby", sentence=sentence)
        found = read_partitions(self._session, table, to_space)
        if found is None:
            return NoRoute(code="no_table", sentence=f"there is no partitioned table {table}")
        if found.why_not:
            return NoRoute(code="not_by_time", sentence=found.why_not)
        if kind is TemplateKind.NEXT_PARTITION:
            return next_template(found, to_space, seconds, self._settings)
        return self._aged_template(found, to_space, seconds)

    def routes_due(self, template: StatementTemplate, now: datetime) -> tuple[Route, ...]:
        """See ``FillsTemplates.routes_due``.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        found = read_partitions(self._session, template.table, template.space)
        if found is None or found.why_not or not self._server.writable:
            return ()
        if template.kind is TemplateKind.NEXT_PARTITION:
            return tuple(next_routes(found, template, now, self._settings))
        return tuple(self._aged_routes(found, template, now))

    def _aged_template(self, found: PartitionedTable, to_space: str, seconds: int) -> StatementTemplate | NoRoute:
        """By the youngest partition with rows elsewhere: those that follow it will age where it is."""
        elsewhere = (each for each in reversed(found.ranges) if each.space != to_space and each.size_bytes)
        example = next(elsewhere, None)
        if example is None:
            return NoRoute(code="already_there", sentence=f"all partitions of {found.key} with rows are in {to_space}")
        route = self._way(example, to_space)
        return route if isinstance(route, NoRoute) else aged_template(example, route, found.key, seconds)

    def _aged_routes(self, found: PartitionedTable, template: StatementTemplate, now: datetime) -> Iterator[Route]:
        """The oldest first, whether or not their statements still are those of the template.

        A partition without a segment has no row to move.
        """
        for partition in found.ranges:
            if partition.size_bytes and is_aged(partition, template, now):
                route = self._way(partition, template.space)
                if isinstance(route, Route):
                    yield aged_route(partition, route)

    def _way(self, partition: Range, to_space: str) -> Route | NoRoute:
        """The kindest way of one partition there."""
        answer = self._ways(aged_bundle(partition), to_space)
        return answer if isinstance(answer, NoRoute) else answer[0]
