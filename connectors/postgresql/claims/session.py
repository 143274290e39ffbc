"""The session of ``hotplace lab prove``: it makes, reads, compares and drops what is in the scratch schema."""

from __future__ import annotations

import psycopg

from connectors.base import Clock, ConnectorError
from connectors.postgresql.session.errors import connection_broke, outcome_unknown, translate
from connectors.postgresql.session.sessions import OF_QUERIES, milliseconds, open_connection
from connectors.postgresql.settings import PostgresqlSettings
from connectors.proving.files import first_words
from connectors.proving.proof import Row
from connectors.settings import answer_seconds

PATIENCE_SECONDS = 10.0  # for a lock: a read may wait for a move of ours, never for long


class PostgresqlProofSession:
    """One connection in autocommit."""

    def __init__(self, settings: PostgresqlSettings, _clock: Clock) -> None:
        """Connect.

        Raises:
            CannotConnect: or what else connecting raises.
        """
        limit = max(60.0, settings.statement_timeout)
        options = {
            **OF_QUERIES,
            "statement_timeout": milliseconds(limit),
            "lock_timeout": milliseconds(PATIENCE_SECONDS),
        }
        self._connection = open_connection(settings, name="hotplace lab prove", options=options)
        self._connection.patience_seconds = answer_seconds(limit)

    def run(self, statement: str) -> None:
        """Carry out one statement; in autocommit it is committed."""
        self._execute(statement)

    def rows(self, statement: str) -> list[Row]:
        """The result of a query."""
        return self._execute(statement).fetchall()

    def hold(self, statement: str) -> None:
        """Begin a transaction with the statement and leave it open."""
        self._execute("BEGIN")
        self._execute(statement)

    def let_go(self) -> None:
        """Roll back; harmless without a transaction."""
        try:
            self._connection.rollback()
        except psycopg.Error as error:
            raise self._error(error, "rolling back") from error

    def close(self) -> None:
        """End the session."""
        self._connection.close()

    def _execute(self, statement: str) -> psycopg.Cursor[Row]:
        try:
            return self._connection.execute(statement.encode())
        except psycopg.Error as error:
            raise self._error(error, first_words(statement)) from error

    def _error(self, error: psycopg.Error, doing: str) -> ConnectorError:
        lost = connection_broke(error, self._connection)
        return outcome_unknown(error, doing) if lost else translate(error, doing)


open_session = PostgresqlProofSession
