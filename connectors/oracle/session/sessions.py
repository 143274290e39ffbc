"""Sessions: how they are opened, what every one of them is called, and one that cannot write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from connectors.base import ConnectorError, StatementFailed
from connectors.oracle.session.driver import Connection, Driver, code_of
from connectors.oracle.session.errors import cannot_connect, connection_broke, no_answer, translate
from connectors.oracle.session.queries import name_of
from connectors.oracle.settings import OracleSettings
from connectors.recording.tap import Tap
from connectors.sessions.interruptible import TakesTooLong, abandonable
from connectors.sessions.retrying_session import BrokenConnection, RetryingSession
from connectors.settings import answer_seconds

Row = tuple[Any, ...]
MODULE = "hotplace"
ACTION_CHARACTERS = 32  # of V$SESSION.ACTION up to 11.2; later releases take 64
FETCH_ROWS = 2000  # a round trip; a sample has a row for each segment
_READS = re.compile(r"\s*(SELECT|WITH)\b", re.IGNORECASE)


def open_connection(driver: Driver, settings: OracleSettings, *, action: str) -> Connection:
    """A connection that a DBA recognises by module, action and client identifier.

    Raises:
        AuthenticationFailed: the server does not let this user in.
        CannotConnect: it did not answer, or refused for another reason.
        SecretUnavailable: the password's place is empty.
    """
    try:
        # tcp_connect_timeout of the driver ends with the connection's first packet, not with its last
        connection = abandonable(
            partial(driver.connect, settings),
            lambda late: late.close(),
            seconds=answer_seconds(settings.connect_timeout),
        )
    except TakesTooLong as late:
        raise no_answer(str(late), settings.where()) from None
    except driver.error as error:
        raise cannot_connect(error, settings.where()) from None  # a cause could hold the arguments
    connection.autocommit = False
    connection.module = MODULE
    connection.action = action[:ACTION_CHARACTERS]
    connection.client_identifier = MODULE
    driver.limit_calls(connection, settings.statement_timeout)
    return connection


class ReadSession(RetryingSession[Connection, Exception]):
    """A session that cannot write."""

    _server_log = "the server's alert log"

    def __init__(
        self, driver: Driver, settings: OracleSettings, *, action: str = "watch", tap: Tap | None = None
    ) -> None:
        super().__init__(settings.where(), driver.error, tap)
        self._driver = driver
        self._settings = settings
        self._action = action

    def rows(self, statement: str, values: Mapping[str, object] | None = None, *, doing: str) -> list[Row]:
        """Every row of a query, read in a transaction that cannot write.

        Args:
            statement: as loaded from a file.
            values: bound by name, never pasted.
            doing: what it is for; begins the message when it fails.

        Raises:
            StatementFailed: it is no query.
            ConnectorError: a subclass that says what may be done.
        """
        if not _READS.match(statement):
            raise StatementFailed(f"{doing}: a reading session sends queries only", advice="Use a mover.")

        def ask() -> list[Row]:
            return self._with_retry(lambda connection: self._read(connection, statement, values or {}), doing)

        return self._tapped(name_of(statement), tuple((values or {}).values()), ask, doing)

    def _read(self, connection: Connection, statement: str, values: Mapping[str, object]) -> list[Row]:
        self._driver.limit_calls(connection, self._settings.statement_timeout)
        with connection.cursor() as cursor:
            cursor.arraysize = FETCH_ROWS
            cursor.execute("SET TRANSACTION READ ONLY")
            try:
                cursor.execute(statement, dict(values))
                found = cursor.fetchall()
            finally:
                # Ended even though it only reads: the next SET TRANSACTION has to be the first statement of its
                # transaction (ORA-01453).
                connection.rollback()
        return found

    def _connect(self) -> Connection:
        return open_connection(self._driver, self._settings, action=self._action)

    def _disconnect(self, connection: Connection) -> None:
        end(self._driver, connection)

    def _cancel(self, connection: Connection) -> None:
        with suppress(self._driver.error):  # a session that is gone has nothing to cancel
            connection.cancel()

    def _explain(self, error: Exception, doing: str) -> ConnectorError | BrokenConnection:
        if connection_broke(error):
            return BrokenConnection(native_code=code_of(error))
        return translate(error, doing, reading=True)


def end(driver: Driver, connection: Connection) -> None:
    """Close it; a session that is gone is closed already, and one that was cancelled late may say so now."""
    with suppress(driver.error):
        connection.close()
