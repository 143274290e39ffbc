"""What the calendar asks of a partitioned table: a template of its next partitions, and those that are due."""

from __future__ import annotations

from datetime import datetime

from connectors.db2.reading.storage import Storage, TableSpace
from connectors.db2.reading.time_ranges import PartitionedTable, home_of, read_partitions, table_named, table_of
from connectors.db2.routes.by_calendar import next_routes, next_template
from connectors.db2.routes.target_placement import landing_in
from connectors.db2.session.sessions import ReadSession
from connectors.db2.settings import Db2Settings
from connectors.model import NoRoute, Route
from connectors.templates import StatementTemplate


def template_of(
    session: ReadSession, settings: Db2Settings, storage: Storage, table: str, to_space: str, seconds: int
) -> StatementTemplate | NoRoute:
    """See ``FillsTemplates.template``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = _read(session, settings, storage, table, to_space)
    return found if isinstance(found, NoRoute) else next_template(found, to_space, seconds, settings)


def routes_due(
    session: ReadSession, settings: Db2Settings, storage: Storage, template: StatementTemplate, now: datetime
) -> tuple[Route, ...]:
    """See ``FillsTemplates.routes_due``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = _read(session, settings, storage, template.table, template.space)
    if isinstance(found, NoRoute):
        return ()
    return tuple(next_routes(found, template, now, settings))


def _read(
    session: ReadSession, settings: Db2Settings, storage: Storage, table: str, to_space: str
) -> PartitionedTable | NoRoute:
    key = table_named(table)
    rows = [] if key is None else read_partitions(session, key)
    if key is None or not rows:
        return NoRoute(code="no_table", sentence=f"there is no partitioned table {table}")
    landing = _landing(settings, storage, to_space, home_of(rows[-1], storage))
    if isinstance(landing, NoRoute):
        return landing
    answer = table_of(key, rows, storage, landing)
    return NoRoute(code="not_by_time", sentence=answer) if isinstance(answer, str) else answer


def _landing(settings: Db2Settings, storage: Storage, to_space: str, last: TableSpace | None) -> TableSpace | NoRoute:
    """The table space of the next partition: the target itself, or one of the storage group that is the target."""
    if settings.by_group:
        return landing_in(storage, to_space, last, settings)
    found = storage.space_named(to_space)
    return NoRoute(code="no_space", sentence=f"there is no table space {to_space}") if found is None else found
