"""Whom the locks of a move would wait for, seen before it is sent: transactions that have been open for long.

A build that has copied for hours asks for its last lock then, and gives up when it does not get it. A young transaction
is no obstacle: most end soon, and a busy table always has some.
"""

from __future__ import annotations

from connectors.base import PrivilegeMissing
from connectors.formatting import format_seconds
from connectors.model import Blocker, Route
from connectors.sqlserver.reading.definition import find
from connectors.sqlserver.reading.keys import name_of
from connectors.sqlserver.session.sessions import ReadSession

LONG_SECONDS = 60  # a transaction as old as that is not expected to end while a move waits for it


def find_blockers(session: ReadSession, route: Route) -> tuple[Blocker, ...]:
    """Sessions with an old transaction and a lock on the table; () where this login may not look.

    Raises:
        ConnectorError: the server did not answer.
    """
    if route.bundle.container or not route.bundle.unit_keys:
        return ()
    definition = find(session, name_of(route.bundle.key))
    if definition is None:
        return ()
    try:
        rows = session.rows("blockers", definition.owner.object_id, LONG_SECONDS, doing="looking for long transactions")
    except PrivilegeMissing:
        return ()
    return tuple(
        Blocker(
            sentence=f"session {number} of {login or 'an unknown login'} ({program or 'no program name'}, {status}) "
            f"has a lock on {route.bundle.key} in a transaction of {format_seconds(float(seconds))}"
        )
        for number, login, program, status, seconds in rows
    )
