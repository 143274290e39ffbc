"""What the calendar asks of a partitioned table: a template to be signed, and what is due under one."""

from __future__ import annotations

from datetime import datetime

from connectors.model import NoRoute, Route
from connectors.sqlserver.reading.time_ranges import PartitionedTable, read_time_ranges, table_named
from connectors.sqlserver.routes.by_calendar import next_routes, next_template
from connectors.sqlserver.session.sessions import ReadSession
from connectors.sqlserver.settings import SqlserverSettings
from connectors.templates import StatementTemplate, TemplateKind

# A filegroup belongs to the scheme: another one for a filled partition is a rebuild of the whole index on a second
# scheme, or a copy with tables, CHECK constraints and boundaries of its own. Both differ from one time to the next.
_AGED = (
    "on SQL Server no statement moves a filled partition: its index is rebuilt whole, or the partition is copied into "
    "tables that are made for it, so no template holds the statements. Pin the partitions, or plan with partitions: "
    "switched, and approve each move"
)


def template_of(
    session: ReadSession, settings: SqlserverSettings, kind: TemplateKind, table: str, to_space: str, seconds: int
) -> StatementTemplate | NoRoute:
    """See ``FillsTemplates.template``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if kind is TemplateKind.AGED_PARTITION:
        return NoRoute(code="no_aged_template", sentence=_AGED)
    if settings.move_by == "filegroup":
        sentence = "move_by: filegroup moves files, and no partition is made by that"
        return NoRoute(code="by_filegroup", sentence=sentence, setting="move_by")
    found = _read(session, table, to_space)
    if isinstance(found, str):
        return NoRoute(code="not_by_time", sentence=found)
    return next_template(found, to_space, seconds, settings)


def routes_due(
    session: ReadSession, settings: SqlserverSettings, template: StatementTemplate, now: datetime
) -> tuple[Route, ...]:
    """See ``FillsTemplates.routes_due``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = _read(session, template.table, template.space)
    if isinstance(found, str) or template.kind is not TemplateKind.NEXT_PARTITION:
        return ()
    return tuple(next_routes(found, template, now, settings))


def _read(session: ReadSession, table: str, to_space: str) -> PartitionedTable | str:
    name = table_named(table)
    return f"there is no partitioned table {table}" if name is None else read_time_ranges(session, name, to_space)
