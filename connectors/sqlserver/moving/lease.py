"""One agent acts on a database at a time: an application lock of the database, on a session of its own."""

from __future__ import annotations

import pyodbc

from connectors.base import LeaseHeld
from connectors.sqlserver.session.errors import diagnose, translate
from connectors.sqlserver.session.queries import query
from connectors.sqlserver.session.sessions import Row, close_quietly, fetch, open_connection
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
        LeaseHeld: somebody else has it.
        CannotConnect: or what else connecting raises.
    """
    connection = open_connection(settings, name=f"hotplace lease {holder}")
    try:
        if fetch(connection, query("lease_take"), ())[0][0] in TAKEN:
            return SqlserverLease(connection)
        holders = _holders(connection)
    except pyodbc.Error as error:
        close_quietly(connection)
        raise translate(diagnose(error), "taking the lease") from error
    close_quietly(connection)
    raise LeaseHeld(_held_by(holders), advice="Stop the other agent, or let it act and only watch from here.")


def _holders(connection: pyodbc.Connection) -> list[Row]:
    """Who it is, as far as this login may know."""
    try:
        return fetch(connection, query("lease_holder"), ())
    except pyodbc.Error:
        return []


def _held_by(holders: list[Row]) -> str:
    if not holders:
        return "another agent holds the lease of this database"
    session, program, host = holders[0]
    return f"another agent acts on this database: {program or 'a session'} (session {session}, from {host})"
