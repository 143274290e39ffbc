"""Reasons not to start a move now: a paused build, no room in the log, a replica that lags behind."""

from __future__ import annotations

from connectors.base import PrivilegeMissing
from connectors.formatting import format_bytes
from connectors.model import NoRoute, Route
from connectors.sqlserver.moving.resumable_operations import operations
from connectors.sqlserver.reading.definition import Definition
from connectors.sqlserver.reading.keys import quote
from connectors.sqlserver.reading.log_room import NOTHING, read_log_room
from connectors.sqlserver.routes.ddl import quoted_table
from connectors.sqlserver.session.sessions import ReadSession

MIB = 1024 * 1024
KIB = 1024


def against(session: ReadSession, route: Route, *, queue_mib: int) -> NoRoute | None:
    """The reason not to, None where there is none or this login may not look.

    Raises:
        ConnectorError: the server did not answer.
    """
    try:
        return _log_full(session, route) or _replica_behind(session, queue_mib)
    except PrivilegeMissing:
        return None


def paused_build(session: ReadSession, definition: Definition | None) -> NoRoute | None:
    """A build of the table that is paused or runs: it blocks DDL, and the same statement would resume it (10645).

    Raises:
        ConnectorError: the server did not answer.
    """
    found = () if definition is None else operations(session, definition.owner.object_id)
    if definition is None or not found:
        return None
    index, table = quote(found[0].index), quoted_table(definition.name)
    return NoRoute(
        code="paused_build",
        sentence=f"a resumable build of {index} is open: ALTER INDEX {index} ON {table} RESUME or ABORT comes first",
    )


def _log_full(session: ReadSession, route: Route) -> NoRoute | None:
    """What counts is what is free in the log and on its volume: 2 TB is what every log may grow to."""
    log = read_log_room(session)
    if log is None or log.room is None or log.room >= route.log_bytes:
        return None
    held = "" if log.held_by == NOTHING else f", and what is used cannot be used again because of {log.held_by}"
    return NoRoute(
        code="log_full",
        sentence=f"the transaction log has room for {format_bytes(log.room)}{held}; moving {route.bundle.key} writes "
        f"about {format_bytes(route.log_bytes)}",
    )


def _replica_behind(session: ReadSession, queue_mib: int) -> NoRoute | None:
    for local, suspended, send_queue, redo_queue, _ in session.rows("replicas", doing="looking at replicas"):
        if suspended:
            return NoRoute(code="replica_suspended", sentence="a replica of this database is suspended")
        behind = max(send_queue or 0, redo_queue or 0) * KIB
        if not local and behind > queue_mib * MIB:
            sentence = f"a replica of this database is {format_bytes(behind)} of log behind"
            return NoRoute(code="replica_behind", sentence=sentence)
    return None
