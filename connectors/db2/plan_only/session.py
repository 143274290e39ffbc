"""A session on Db2 for i (pyodbc and IBM i Access) or z/OS (ibm_db) that sends our queries and nothing else.

Neither system can be had where hotplace is built: what is tried is what is sent, against documented columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from connectors.db2.errors import diagnosis_of, translate
from connectors.db2.sessions import Platform, Query, fit, insist_on, platform_of, query
from connectors.db2.settings import Db2Settings
from connectors.kit.contract import CannotConnect, ConnectorError, DriverMissing, ObjectGone, PrivilegeMissing
from connectors.kit.registry import install_command
from connectors.kit.sessions import abandonable

PACKAGE = "connectors.db2.plan_only"
Row = tuple[Any, ...]


class PlanOnlyCursor(Protocol):
    """As much of a DB-API cursor as is used here."""

    description: Sequence[Sequence[Any]] | None

    def execute(self, operation: str, /) -> object:
        """Prepare and execute."""
        ...

    def fetchall(self) -> Sequence[Sequence[Any]]:
        """Every row."""
        ...

    def close(self) -> object:
        """Free it."""
        ...


class PlanOnlyConnection(Protocol):
    """As much of a DB-API connection as is used here."""

    def cursor(self) -> PlanOnlyCursor:
        """A new cursor."""
        ...

    def close(self) -> object:
        """End the session."""
        ...


Opener = Callable[[Db2Settings], tuple[PlanOnlyConnection, str, str]]  # connection, SQL_DBMS_NAME, version


class PlanSession:
    """One session; opens at first use."""

    def __init__(self, settings: Db2Settings, platform: Platform, opener: Opener | None = None) -> None:
        """Args: settings, which product it has to be, and what opens a connection (a test's own)."""
        self._settings = settings
        self._platform = platform
        self._opener = opener or (open_i if platform is Platform.I else open_zos)
        self._connection: PlanOnlyConnection | None = None
        self._columns: dict[str, frozenset[str]] = {}
        self.version = ""
        self.missing: dict[str, ConnectorError] = {}

    def rows(self, name: str) -> list[Row]:
        """Every row of a query; an empty list where this system or login does not answer it (see ``missing``).

        Raises:
            ConnectorError: it failed for another reason.
        """
        connection = self._open()
        wanted = query(name, PACKAGE)
        try:
            return self._fetch(connection, fit(wanted, lambda asked: self._columns_of(connection, asked)))
        except _errors() as error:
            found = translate(diagnosis_of(error), f"reading {name}")
            if not isinstance(found, ObjectGone | PrivilegeMissing):
                raise found from error
            self.missing[name] = found
            return []

    def has(self, name: str, column: str) -> bool:
        """Whether the source of that query has that column; False where it does not answer."""
        return column in self._columns.get(query(name, PACKAGE).source, frozenset())

    def open(self) -> str:
        """Connect, and which version answers.

        Raises:
            CannotConnect: or what else connecting raises; another product than was configured.
        """
        self._open()
        return self.version

    def close(self) -> None:
        """End it."""
        if self._connection is not None:
            with suppress(*_errors()):  # nothing is left to do with it
                self._connection.close()
            self._connection = None

    def _open(self) -> PlanOnlyConnection:
        if self._connection is None:
            connection, name, self.version = self._opener(self._settings)
            insist_on(self._platform, platform_of(name), self._settings.where())
            self._connection = connection
        return self._connection

    def _columns_of(self, connection: PlanOnlyConnection, asked: Query) -> frozenset[str]:
        if asked.source not in self._columns:
            cursor = connection.cursor()
            cursor.execute(asked.probe)
            self._columns[asked.source] = frozenset(column[0].upper() for column in cursor.description or ())
            cursor.close()
        return self._columns[asked.source]

    def _fetch(self, connection: PlanOnlyConnection, statement: str) -> list[Row]:
        cursor = connection.cursor()
        try:
            cursor.execute(statement)
            return [
                tuple(value.rstrip() if isinstance(value, str) else value for value in row) for row in cursor.fetchall()
            ]
        finally:
            cursor.close()


def open_i(settings: Db2Settings) -> tuple[PlanOnlyConnection, str, str]:
    """Through pyodbc and the IBM i Access ODBC driver, which wants no Db2 Connect licence.

    Raises:
        DriverMissing: pyodbc is not there.
        CannotConnect: the server did not let us in.
    """
    try:
        import pyodbc
    except ImportError as error:
        raise DriverMissing(
            f"pyodbc cannot be loaded: {error}",
            advice=f"Run: {install_command('sqlserver')}; install IBM i Access with its ODBC driver.",
        ) from error
    seconds = max(1, round(settings.connect_timeout))
    try:
        connection = abandonable(
            lambda: pyodbc.connect(odbc_string(settings), autocommit=True, timeout=seconds), pyodbc.Connection.close
        )
    except pyodbc.Error as error:
        raise CannotConnect(
            f"cannot connect to {settings.where()}: {diagnosis_of(error).words}",
            advice="Is the IBM i Access ODBC Driver installed (odbcinst -q -d), and is the host right?",
        ) from None  # its frames hold the password
    connection.timeout = max(1, round(settings.query_timeout))
    return connection, connection.getinfo(pyodbc.SQL_DBMS_NAME), connection.getinfo(pyodbc.SQL_DBMS_VER)


def odbc_string(settings: Db2Settings) -> str:
    """What the IBM i Access driver is given: never log this. Values in braces, a closing one doubled.

    Raises:
        SecretUnavailable: the password's place is empty.
    """
    words = {
        "DRIVER": settings.odbc_driver,
        "SYSTEM": settings.host,
        "UID": settings.user,
        "PWD": "" if settings.password is None else settings.password.read().get_secret_value(),
        "DATABASE": settings.dbname,
        "SSL": "1" if settings.security == "SSL" else "",
        "CONNTYPE": "2",  # read-only: nothing but SELECT
    }
    return "".join(f"{name}={{{value.replace('}', '}}')}}};" for name, value in words.items() if value)


def open_zos(settings: Db2Settings) -> tuple[PlanOnlyConnection, str, str]:
    """Through ibm_db, which wants a Db2 Connect licence for it (SQL1598N without).

    Raises:
        CannotConnect: or what else connecting raises.
    """
    import ibm_db

    from connectors.db2.sessions import connect_any

    connection = connect_any(settings, statement_seconds=settings.query_timeout)
    info = ibm_db.server_info(connection.conn_handler)
    return connection, str(info.DBMS_NAME), str(info.DBMS_VER)


def _errors() -> tuple[type[Exception], ...]:
    """Errors of the drivers that are here."""
    found: list[type[Exception]] = []
    for module in ("pyodbc", "ibm_db_dbi"):
        # Either driver does; where neither is installed, opening the session says so.
        with suppress(ImportError):
            found.append(__import__(module).Error)
    return tuple(found)
