"""What the calendar asks of a partitioned table: a template to be signed, and what is due under one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import islice

from connectors.model import Bundle, NoRoute, Route
from connectors.rolling.filling import MOST_AT_ONCE, is_aged
from connectors.sqlserver.reading.definition import Definition
from connectors.sqlserver.reading.keys import name_of
from connectors.sqlserver.reading.time_ranges import PartitionedTable, read_time_ranges, table_named
from connectors.sqlserver.routes.aging import aged_route, aged_template, bundle_of
from connectors.sqlserver.routes.by_calendar import next_routes, next_template
from connectors.sqlserver.session.sessions import ReadSession
from connectors.sqlserver.settings import SqlserverSettings
from connectors.templates import StatementTemplate, TemplateKind

Exchange = Callable[[Definition, Bundle, str], Route | NoRoute]  # of a partition of a table as it was read
_BY_FILES = NoRoute(
    code="by_filegroup", setting="move_by",
    sentence="move_by: filegroup moves files, and no partition is made or moved by that",
)  # fmt: skip
# Otherwise a filled partition moves by a rebuild of its whole index on a second scheme, of which nothing stays the same
# from one time to the next.
_ONE_BY_ONE = NoRoute(
    code="not_switched", setting="partitions",
    sentence="aged partitions are exchanged one by one, with their indexes: set partitions: switched",
)  # fmt: skip
_IN_PLACE = NoRoute(
    code="not_offline", setting="offline_moves",
    sentence="writes wait while an aged partition is copied, which offline_moves: false excludes",
)  # fmt: skip


class Calendar:
    """Answers for one connector."""

    def __init__(self, session: ReadSession, settings: SqlserverSettings, exchange: Exchange) -> None:
        self._session = session
        self._settings = settings
        self._exchange = exchange

    def template(self, kind: TemplateKind, table: str, to_space: str, seconds: int) -> StatementTemplate | NoRoute:
        """See ``FillsTemplates.template``.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        against = self._against(kind)
        if against is not None:
            return against
        found = self._read(table, to_space)
        if isinstance(found, str):
            return NoRoute(code="not_by_time", sentence=found)
        if kind is TemplateKind.NEXT_PARTITION:
            return next_template(found, to_space, seconds, self._settings)
        return self._aged_template(found, to_space, seconds)

    def routes_due(self, template: StatementTemplate, now: datetime) -> tuple[Route, ...]:
        """See ``FillsTemplates.routes_due``.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        found = self._read(template.table, template.space)
        if isinstance(found, str) or self._against(template.kind) is not None:
            return ()
        if template.kind is TemplateKind.NEXT_PARTITION:
            return tuple(next_routes(found, template, now, self._settings))
        return tuple(islice(self._aged_routes(found, template, now), MOST_AT_ONCE))

    def _against(self, kind: TemplateKind) -> NoRoute | None:
        """What the settings exclude."""
        if self._settings.move_by == "filegroup":
            return _BY_FILES
        if kind is TemplateKind.NEXT_PARTITION:
            return None
        if self._settings.partitions != "switched":
            return _ONE_BY_ONE
        return None if self._settings.offline_moves else _IN_PLACE

    def _aged_template(self, found: PartitionedTable, to_space: str, seconds: int) -> StatementTemplate | NoRoute:
        """By the youngest partition with rows elsewhere: those that follow it will age where it is."""
        if not found.filled:
            sentence = f"no partition of {found.key} between two boundaries has rows"
            return NoRoute(code="no_aged_partition", sentence=sentence)
        example = next((number for number, each in reversed(found.filled) if each.space != to_space), None)
        if example is None:
            return NoRoute(code="already_there", sentence=f"all partitions of {found.key} with rows are in {to_space}")
        route = self._way(found, example, to_space)
        return route if isinstance(route, NoRoute) else aged_template(found, example, route, seconds)

    def _aged_routes(self, found: PartitionedTable, template: StatementTemplate, now: datetime) -> Iterator[Route]:
        """The oldest first, whether or not their statements still are those of the template."""
        for number, partition in found.filled:
            if is_aged(partition, template, now):
                route = self._way(found, number, template.space)
                if isinstance(route, Route):
                    yield aged_route(found, number, route)

    def _way(self, found: PartitionedTable, number: int, to_space: str) -> Route | NoRoute:
        """The exchange of one partition."""
        bundle = bundle_of(found, number)
        return self._exchange(replace(found.definition, name=name_of(bundle.key)), bundle, to_space)

    def _read(self, table: str, to_space: str) -> PartitionedTable | str:
        name = table_named(table)
        if name is None:
            return f"there is no partitioned table {table}"
        return read_time_ranges(self._session, name, to_space)
