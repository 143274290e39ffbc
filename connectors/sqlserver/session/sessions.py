"""Sessions: how they are opened, what every one of them sets, and that a reading one sends nothing but our queries."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial
from typing import Any

import pyodbc

from connectors.base import CannotConnect, ConnectorError, StatementFailed
from connectors.recording.tap import Tap
from connectors.sessions.interruptible import abandonable
from connectors.sessions.retrying_session import BrokenConnection, RetryingSession
from connectors.sqlserver.session.drivers import connection_string, is_that_driver, kind_of
from connectors.sqlserver.session.errors import cannot_connect, connection_broke, diagnose, translate
from connectors.sqlserver.session.queries import NEWEST, query, query_names
from connectors.sqlserver.session.running import Running
from connectors.sqlserver.settings import SqlserverSettings

Row = tuple[Any, ...]
CLOUD_EDITIONS = frozenset({5, 8, 11, 12})  # EngineEdition of what always reports version 12
PROGRAM_BYTES = 128
# Indexes with a filter or on computed columns can be built under these only (errors 1934, 1935).
_REQUIRED = (
    "SET NOCOUNT ON; SET XACT_ABORT ON; SET DEADLOCK_PRIORITY LOW; SET ANSI_NULLS ON; SET ANSI_PADDING ON; "
    "SET ANSI_WARNINGS ON; SET ARITHABORT ON; SET CONCAT_NULL_YIELDS_NULL ON; SET QUOTED_IDENTIFIER ON; "
    "SET NUMERIC_ROUNDABORT OFF; "
)

pyodbc.pooling = False  # a pooled session would come back with another one's settings and locks


def lock_timeout_statement(seconds: float) -> str:
    """SET takes no parameter; the number is ours. 0 would mean not to wait at all, -1 for ever."""
    return f"SET LOCK_TIMEOUT {max(1, round(seconds * 1000))}"


def whole_seconds(seconds: float) -> int:
    """ODBC time limits are whole seconds, and 0 is none."""
    return max(1, math.ceil(seconds))


def open_connection(settings: SqlserverSettings, *, name: str) -> pyodbc.Connection:
    """An autocommit connection with its session settings in place.

    Args:
        settings: where and who.
        name: program_name, what a DBA sees.

    Raises:
        AuthenticationFailed: the server does not let this user in.
        CannotConnect: it did not answer, or refused for another reason.
        DriverMissing: there is no ODBC driver of that name here.
        SecretUnavailable: the password's place is empty.
    """
    wish, failure = settings.wish(), None
    try:
        connection = abandonable(partial(_connect, settings, name), pyodbc.Connection.close)
    except pyodbc.Error as error:
        failure = cannot_connect(diagnose(error), settings.where())
    if failure is not None:
        raise failure  # outside the handler: the driver's error is not dragged along
    library = str(connection.getinfo(pyodbc.SQL_DRIVER_NAME))
    if not is_that_driver(kind_of(wish.driver), library):
        connection.close()
        raise CannotConnect(
            f"driver {wish.driver!r} loaded {library}, which ignores the options chosen for it",
            advice="Name the library's path as driver, or mend odbcinst.ini.",
        )
    connection.timeout = whole_seconds(settings.statement_timeout)
    try:
        connection.execute(_REQUIRED + lock_timeout_statement(settings.lock_timeout)).close()
    except pyodbc.Error as error:
        connection.close()
        raise translate(diagnose(error), f"setting up a session with {settings.where()}") from error
    return connection


def _connect(settings: SqlserverSettings, name: str) -> pyodbc.Connection:
    """As the driver connects: only this frame holds the password, and the driver's error is what holds the frame."""
    return pyodbc.connect(
        connection_string(settings.wish(), settings.secret(), program=name[:PROGRAM_BYTES]),
        autocommit=True,
        timeout=whole_seconds(settings.connect_timeout),
    )


def fetch(
    connection: pyodbc.Connection, statement: str, values: tuple[object, ...], running: Running | None = None
) -> list[Row]:
    """Rows of the one result that a batch has; the results after it are read too, because errors may come with them.

    Args:
        connection: to ask over.
        statement: a batch.
        values: bound by the server, never pasted.
        running: by which another thread may cancel it.

    Raises:
        pyodbc.Error: as the driver raises it.
    """
    rows: list[Row] = []
    with (running or Running()).cursor(connection) as cursor:
        cursor.execute(statement, *values)
        more = True
        while more:
            if cursor.description is not None:
                rows += [tuple(row) for row in cursor.fetchall()]
            more = bool(cursor.nextset())
    return rows


class ReadSession(RetryingSession[pyodbc.Connection, pyodbc.Error]):
    """Sends queries of ``sql/`` only. SQL Server has no read-only session: the rights of the login do the rest."""

    def __init__(self, settings: SqlserverSettings, *, name: str = "hotplace", tap: Tap | None = None) -> None:
        super().__init__(settings.where(), pyodbc.Error, tap)
        self._settings = settings
        self._name = name
        self._server: tuple[int, int] | None = None
        self._running = Running()

    def look(self, settings: SqlserverSettings, *, name: str) -> ReadSession:
        """Another session for one look, with settings of its own; the caller closes it."""
        return ReadSession(settings, name=name, tap=self._tap)

    @property
    def major(self) -> int:
        """Version that queries are written for; ``NEWEST`` in the cloud."""
        return self._identify()[0]

    @property
    def edition(self) -> int:
        """SERVERPROPERTY('EngineEdition')."""
        return self._identify()[1]

    def _identify(self) -> tuple[int, int]:
        if self._server is None:
            doing = "identifying"
            rows = self._tapped("identify", (), lambda: self._fetch(query("identify"), (), doing), doing)
            version, edition, *_ = rows[0]
            major = NEWEST if edition in CLOUD_EDITIONS else int(str(version).partition(".")[0])
            self._server = major, int(edition)
        return self._server

    def rows(self, name: str, *values: object, doing: str) -> list[Row]:
        """Every row of a query.

        Args:
            name: of the file in ``sql/``.
            values: bound by the server, never pasted.
            doing: what it is for; begins the message when it fails.

        Raises:
            StatementFailed: there is no query of that name.
            ConnectorError: another subclass that says what may be done.
        """
        if name not in query_names():
            raise StatementFailed(
                f"{doing}: a reading session sends only the queries of this connector",
                advice="Use open_mover() for approved moves.",
            )
        return self._tapped(name, values, lambda: self._fetch(query(name, self.major), values, doing), doing)

    def _fetch(self, statement: str, values: tuple[object, ...], doing: str) -> list[Row]:
        return self._with_retry(lambda connection: fetch(connection, statement, values, self._running), doing)

    def _connect(self) -> pyodbc.Connection:
        return open_connection(self._settings, name=self._name)

    def _disconnect(self, connection: pyodbc.Connection) -> None:
        close_quietly(connection)

    def _cancel(self, connection: pyodbc.Connection) -> None:  # noqa: ARG002  # Running knows its cursor
        with suppress(ConnectorError):  # then it ends by its time limit
            self._running.cancel()

    def _explain(self, error: pyodbc.Error, doing: str) -> ConnectorError | BrokenConnection:
        diagnosis = diagnose(error)
        if connection_broke(diagnosis):
            return BrokenConnection(native_code=diagnosis.code)
        return translate(diagnosis, doing)


def close_quietly(connection: pyodbc.Connection) -> None:
    """Close; a connection that has broken already is closed enough."""
    try:
        connection.close()
    except pyodbc.Error as error:
        if not connection_broke(diagnose(error)):
            raise
