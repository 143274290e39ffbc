"""One agent acts on a database at a time: an application lock of the database, on a session of its own."""

from __future__ import annotations

import pyodbc

from connectors.sessions.leases import take_lease
from connectors.sqlserver.session.errors import diagnose, translate
from connectors.sqlserver.session.queries import query
from connectors.sqlserver.session.sessions import close_quietly, fetch, open_connection
from connectors.sqlserver.settings import SqlserverSettings

TAKEN = frozenset({0, 1})  # answers of sp_getapplock that mean granted


class SqlserverLease:
    """Held as long as its session lives; the server releases it when the process or the connection dies."""

    def __init__(self, connection: pyodbc.Connection) -> None:
        self._connection: pyodbc.Connection | None = connection

    def is_held(self) -> bool:
        """Whether this very session still holds the lock."""
        if self._connection is None:
            return False
        try:
            return bool(fetch(self._connection, query("lease_held"), ())[0][0] == "Exclusive")
        except pyodbc.Error:
            return False  # a session that cannot answer holds nothing that can be relied on

    def release(self) -> None:
        """Unlock, so that the next one need not wait for the server to notice that the session has ended; end it."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            fetch(connection, query("lease_release"), ())
        except pyodbc.Error:
            return  # a session that is gone holds nothing
        finally:
            close_quietly(connection)


def acquire_lease(settings: SqlserverSettings, holder: str) -> SqlserverLease:
    """Take the lease.

    Raises:
        LeaseHeld: another agent has it.
        CannotConnect: or what else connecting raises.
    """
    connection = take_lease(
        lambda: open_connection(settings, name=f"hotplace lease {holder}"), _try_take, _find_holder, close_quietly
    )
    return SqlserverLease(connection)


def _try_take(connection: pyodbc.Connection) -> bool:
    try:
        return fetch(connection, query("lease_take"), ())[0][0] in TAKEN
    except pyodbc.Error as error:
        raise translate(diagnose(error), "taking the lease") from error


def _find_holder(connection: pyodbc.Connection) -> str:
    """The holder's name, as far as this login may see it."""
    try:
        holders = fetch(connection, query("lease_holder"), ())
    except pyodbc.Error:
        return ""
    for session, program, host, login in holders:
        return f"{program or 'a session'} (session {session}, from {host}), login {login}"
    return ""
