"""The session of ``hotplace lab prove``: it makes, reads, compares and drops what is in the scratch schema."""

from __future__ import annotations

from connectors.base import Clock
from connectors.oracle.session.driver import load_driver
from connectors.oracle.session.errors import connection_broke, outcome_unknown, translate
from connectors.oracle.session.sessions import end, open_connection
from connectors.oracle.settings import OracleSettings
from connectors.proving.proof import Row

SHOWN = 50  # characters of a statement that failed
PATIENCE_SECONDS = 10  # for a lock of DDL: what is dropped may be used for a moment, never for long


class OracleProofSession:
    """One connection that commits each statement, but what it holds."""

    def __init__(self, settings: OracleSettings, _clock: Clock) -> None:
        """Connect.

        Raises:
            CannotConnect: or what else connecting raises.
        """
        self._driver = load_driver(settings)
        self._connection = open_connection(self._driver, settings, action="prove")
        self._driver.limit_calls(self._connection, max(60.0, settings.statement_timeout))
        self._connection.autocommit = True
        self.run(f"ALTER SESSION SET DDL_LOCK_TIMEOUT = {PATIENCE_SECONDS}")

    def run(self, statement: str) -> None:
        """Carry out one statement, committed."""
        self._execute(statement)

    def rows(self, statement: str) -> list[Row]:
        """The result of a query."""
        return self._execute(statement)

    def hold(self, statement: str) -> None:
        """Run the statement in a transaction that is left open."""
        self._connection.autocommit = False
        self._execute(statement)

    def let_go(self) -> None:
        """Roll back; harmless without a transaction."""
        try:
            self._connection.rollback()
        except self._driver.error as error:
            raise translate(error, "rolling back") from error
        self._connection.autocommit = True

    def close(self) -> None:
        """End the session; what it holds is rolled back."""
        end(self._driver, self._connection)

    def _execute(self, statement: str) -> list[Row]:
        try:
            with self._connection.cursor() as cursor:
                return cursor.fetchall() if cursor.execute(statement) is not None else []
        except self._driver.error as error:
            words = " ".join(statement.split())
            doing = words if len(words) <= SHOWN else f"{words[:SHOWN]}..."
            raise (outcome_unknown if connection_broke(error) else translate)(error, doing) from error


open_session = OracleProofSession
