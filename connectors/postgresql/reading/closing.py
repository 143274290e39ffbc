"""What closing the open part of a partitioned table asks of the catalog: a route, a template, what is due."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from connectors.formatting import format_seconds
from connectors.model import NoRoute, Route
from connectors.postgresql.moving.closable import find_closable, refuse_now
from connectors.postgresql.moving.open_part import read_open_part
from connectors.postgresql.moving.split_table import read_border
from connectors.postgresql.reading.partitions import FORMATS
from connectors.postgresql.routes.close import Closable, route_of_closing, values_of_closing
from connectors.postgresql.routes.split import ahead_needed
from connectors.postgresql.session.sessions import ReadSession
from connectors.postgresql.settings import PostgresqlSettings
from connectors.rolling.closing import closing_template, next_end
from connectors.rolling.filling import DAY, HIGH, LOW, OPENED, PARTITION, TAG_NAME, arguments_of, seconds_of
from connectors.rolling.ranges import Range, instant_of
from connectors.templates import StatementTemplate, texts_of

_PLACES = {name: f"{{{name}}}" for name in (PARTITION, OPENED, LOW, HIGH, TAG_NAME)}


def route_close(
    session: ReadSession, settings: PostgresqlSettings, table: str, border: str, to_space: str
) -> Route | NoRoute:
    """See ``ClosesParts.route_close``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = find_closable(session, table, to_space)
    if isinstance(found, NoRoute):
        return found
    value = read_border(session, found.column, border)
    refusal = refuse_now(session, found, value)
    return refusal or route_of_closing(found, values_of_closing(found, value.text), to_space, settings)


def close_template(
    session: ReadSession, settings: PostgresqlSettings, table: str, to_space: str, seconds: int
) -> StatementTemplate | NoRoute:
    """The template of closing a part each so many seconds, or why there is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = _closable_by_times(session, table, to_space, seconds)
    if isinstance(found, NoRoute):
        return found
    closable, _ = found
    return closing_template(table, to_space, seconds, texts_of(route_of_closing(closable, _PLACES, to_space, settings)))


def close_routes(
    session: ReadSession, settings: PostgresqlSettings, template: StatementTemplate, now: datetime
) -> tuple[Route, ...]:
    """The closing that is due, if one is, whether or not its statements still are those of the template.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    seconds = seconds_of(template)
    known = _closable_by_times(session, template.table, template.space, seconds)
    if isinstance(known, NoRoute):
        return ()
    found, low = known
    end = next_end(low, seconds, now, ahead_needed(found.table))
    if end is None:
        return ()
    begins, ends = (at.astimezone(UTC).strftime(FORMATS[found.column.type]) for at in (low, end))
    if refuse_now(session, found, read_border(session, found.column, ends)):
        return ()
    values = values_of_closing(found, ends, begins)
    route = route_of_closing(found, values, template.space, settings)
    return (replace(route, arguments=arguments_of(values)),)


def open_range(session: ReadSession, table: str) -> Range | None:
    """The open part as a range that ends where it begins, as an example of what will age; None: there is none."""
    found = read_open_part(session, table)
    if found is None or found.part is None or not found.by.low:
        return None
    begins, by = instant_of(found.by.low), found.by
    return Range(
        id=found.part.oid, schema=by.schema, name=by.name, key=by.key, low=None, high=begins, space=by.space,
        size_bytes=found.part.heap_bytes,
    )  # fmt: skip


def _closable_by_times(
    session: ReadSession, table: str, to_space: str, seconds: int
) -> tuple[Closable, datetime] | NoRoute:
    """The open part and when it begins; why none can be closed each so many seconds."""
    found = find_closable(session, table, to_space)
    if isinstance(found, NoRoute):
        return found
    low = _beginning(found, seconds)
    return low if isinstance(low, NoRoute) else (found, low)


def _beginning(found: Closable, seconds: int) -> datetime | NoRoute:
    """Where the part begins; why no calendar can close it: no times, no whole ones, or no time to read it."""
    kind = found.column.type
    if kind not in FORMATS:
        return NoRoute(code="not_by_time", sentence=f"its ranges are of {kind}, not of dates or times")
    try:
        low = instant_of(found.by.low)
    except ValueError:  # infinity, or another DateStyle
        return NoRoute(code="no_beginning", sentence=f"its open part begins at {found.by.low}, which is no plain time")
    least = DAY if kind == "date" else 1
    if low.microsecond or seconds < least or seconds % least:
        what = "days" if least == DAY else "seconds"
        return NoRoute(code="no_whole_ranges", sentence=f"its ranges begin and end with whole {what}")
    if ahead_needed(found.table) > seconds:
        needed = format_seconds(ahead_needed(found.table))
        return NoRoute(code="too_short", sentence=f"to close its open part may take {needed}: make parts longer")
    return low
