"""How far the replicas of an availability group are behind: a move floods the log, and all of it goes to them."""

from __future__ import annotations

from connectors.base import Crowding, PrivilegeMissing
from connectors.formatting import format_bytes
from connectors.sqlserver.session.sessions import ReadSession
from connectors.sqlserver.settings import SqlserverSettings

MIB, KIB = 1024 * 1024, 1024


def find_crowding(session: ReadSession, settings: SqlserverSettings) -> Crowding:
    """The replica that is furthest behind, against both limits; nothing where this login may not look.

    Raises:
        ConnectorError: the server did not answer.
    """
    try:
        rows = session.rows("replicas", doing="looking at replicas")
    except PrivilegeMissing:
        return Crowding()
    behind = max(
        (max(sending or 0, redoing or 0) * KIB for local, _, sending, redoing, _ in rows if not local), default=0
    )
    hold, abort = settings.replica_queue_mib, settings.replica_queue_abort_mib
    said = f"a replica of this database is {format_bytes(behind)} of log behind"
    return Crowding(
        hold=f"{said} (replica_queue_mib: {hold})" if behind > hold * MIB else "",
        abort=f"{said} (replica_queue_abort_mib: {abort})" if behind > abort * MIB else "",
    )
