"""The session of ``hotplace lab prove``: it makes, reads, compares and drops what is in the scratch schema."""

from __future__ import annotations

from connectors.base import Clock, ConnectorError, StatementFailed
from connectors.db2.session.errors import diagnosis_of, outcome_unknown, translate
from connectors.db2.session.sessions import DriverError, close_quietly, fetch, open_connection, send
from connectors.db2.settings import Db2Settings
from connectors.proving.files import first_words
from connectors.proving.proof import Row

LEAST_SECONDS = 60.0  # that a statement may take
PATIENCE_SECONDS = 10  # for a lock: a read may wait for a move of ours, never for long


class Db2ProofSession:
    """One connection in autocommit."""

    def __init__(self, settings: Db2Settings, _clock: Clock) -> None:
        """Connect.

        Raises:
            StatementFailed: by these settings what moves is no single table.
            CannotConnect: or what else connecting raises.
        """
        if settings.by_group:
            raise StatementFailed(
                f"prove moves single tables between two table spaces, and move_by is {settings.move_by}",
                advice="Give prove a configuration with `move_by: table`, whose tiers name table spaces.",
            )
        seconds = max(LEAST_SECONDS, settings.query_timeout)
        self._connection = open_connection(settings, statement_seconds=seconds)
        self._closed = False
        self.run(f"SET CURRENT LOCK TIMEOUT {PATIENCE_SECONDS}")

    def run(self, statement: str) -> None:
        """Carry out one statement; in autocommit it is committed."""
        try:
            send(self._connection, statement)
        except DriverError as error:
            raise self._error(error, statement) from error

    def rows(self, statement: str) -> list[Row]:
        """The result of a query; none of a statement that has no result."""
        if not statement.lstrip().upper().startswith("SELECT"):
            self.run(statement)
            return []
        try:
            return fetch(self._connection, statement)
        except DriverError as error:
            raise self._error(error, statement) from error

    def hold(self, statement: str) -> None:
        """Run the statement in a transaction that is left open."""
        self._connection.set_autocommit(False)
        self.run(statement)

    def let_go(self) -> None:
        """Roll back; harmless without a transaction."""
        try:
            self._connection.rollback()
        except DriverError as error:
            raise self._error(error, "rolling back") from error
        self._connection.set_autocommit(True)

    def close(self) -> None:
        """End the session; harmless the second time."""
        if not self._closed:
            self._closed = True
            close_quietly(self._connection)

    def _error(self, error: DriverError, statement: str) -> ConnectorError:
        found = diagnosis_of(error)
        lost = self._closed or found.broke
        return (outcome_unknown if lost else translate)(found, first_words(statement))


open_session = Db2ProofSession
