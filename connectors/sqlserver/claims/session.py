"""The session of ``hotplace lab prove``: it makes, reads, compares and drops what is in the scratch schema."""

from __future__ import annotations

import pyodbc

from connectors.base import Clock, ConnectorError
from connectors.proving.files import first_words
from connectors.proving.proof import Row
from connectors.sqlserver.session.errors import connection_broke, diagnose, outcome_unknown, translate
from connectors.sqlserver.session.sessions import (
    close_quietly,
    fetch,
    lock_timeout_statement,
    open_connection,
    whole_seconds,
)
from connectors.sqlserver.settings import SqlserverSettings

LEAST_SECONDS = 60.0  # that a statement may take
PATIENCE_SECONDS = 10.0  # for a lock: a read may wait for a move of ours, never for long


class SqlserverProofSession:
    """One connection in autocommit."""

    def __init__(self, settings: SqlserverSettings, _clock: Clock) -> None:
        """Connect.

        Raises:
            CannotConnect: or what else connecting raises.
        """
        self._connection = open_connection(settings, name="hotplace lab prove")
        self._connection.timeout = whole_seconds(max(LEAST_SECONDS, settings.statement_timeout))
        self._closed = False
        self.run(lock_timeout_statement(PATIENCE_SECONDS))

    def run(self, statement: str) -> None:
        """Carry out one statement; in autocommit it is committed."""
        self.rows(statement)

    def rows(self, statement: str) -> list[Row]:
        """The result of a query."""
        try:
            return fetch(self._connection, statement, ())
        except pyodbc.Error as error:
            raise self._error(error, first_words(statement)) from error

    def hold(self, statement: str) -> None:
        """Begin a transaction with the statement and leave it open."""
        self.run("BEGIN TRANSACTION")
        self.run(statement)

    def let_go(self) -> None:
        """Roll back; harmless without a transaction."""
        self.run("IF @@TRANCOUNT > 0 ROLLBACK TRAN")

    def close(self) -> None:
        """End the session; harmless the second time."""
        if not self._closed:
            self._closed = True
            close_quietly(self._connection)

    def _error(self, error: pyodbc.Error, doing: str) -> ConnectorError:
        found = diagnose(error)
        lost = self._closed or connection_broke(found)
        return outcome_unknown(found, doing) if lost else translate(found, doing)


open_session = SqlserverProofSession
