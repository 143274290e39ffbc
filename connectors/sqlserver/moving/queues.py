"""How far the replicas of an availability group are behind: a move floods the log, and all of it goes to them."""

from __future__ import annotations

from connectors.base import Crowding, PrivilegeMissing
from connectors.crowding import of_followers
from connectors.sqlserver.session.sessions import ReadSession
from connectors.sqlserver.settings import SqlserverSettings

KIB = 1024


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
    return of_followers(
        "a replica of this database", behind, settings.replica_queue_mib, settings.replica_queue_abort_mib
    )
