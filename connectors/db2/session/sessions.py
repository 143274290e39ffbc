"""Sessions: how they are opened and what is read over them. The only module that touches the driver.

One connection serves one thread (``threadsafety`` of ibm_db_dbi is 0). Sessions that read are in autocommit, so that no
transaction stays open between two samples; those that act commit each statement themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeAlias, TypeVar

import ibm_db
import ibm_db_dbi

from connectors.base import ConnectorError, ObjectGone, PrivilegeMissing, StatementFailed
from connectors.db2.plan_only.platforms import Platform, insist_on, platform_of
from connectors.db2.session.errors import MISSING_CODES, cannot_connect, diagnosis_of, translate
from connectors.db2.session.queries import Query, fit, query
from connectors.db2.session.routines import NO_ROUTINE, execute_missing, function_of
from connectors.db2.settings import Db2Settings
from connectors.recording.tap import Tap
from connectors.sessions.interruptible import abandonable
from connectors.sessions.retrying_session import BrokenConnection, RetryingSession
from connectors.settings import answer_seconds

log = logging.getLogger(__name__)
ROWS_AT_ONCE = 4096  # taken from the driver
NO_SUCH_NAME = "no such object: hotplace asks for columns"  # "" would be all: ADMIN_GET_TAB_INFO looks at each table
CLOSE_SECONDS = 2  # for the answer to the last roll-back; what has no answer ends with its connection
Row = tuple[Any, ...]
Result = TypeVar("Result")
DriverError: TypeAlias = ibm_db_dbi.Error


class Cursor(Protocol):
    """As much of ibm_db_dbi.Cursor as is used here."""

    description: Sequence[Sequence[Any]] | None

    def execute(self, operation: str, parameters: tuple[object, ...] = ..., /) -> object:
        """Prepare and execute."""
        ...

    def fetchmany(self, size: int, /) -> list[Row]:
        """So many rows, fewer at the end."""
        ...

    def close(self) -> object:
        """Free the statement."""
        ...


class Connection(Protocol):
    """As much of ibm_db_dbi.Connection as is used here."""

    def cursor(self) -> Cursor:
        """A new cursor."""
        ...

    def commit(self) -> object:
        """End the transaction for good."""
        ...

    def rollback(self) -> object:
        """End the transaction and take it back."""
        ...

    def close(self) -> object:
        """End the session."""
        ...

    def set_option(self, options: dict[int, int], /) -> object:
        """Attributes of the session."""
        ...

    def set_autocommit(self, is_on: bool, /) -> object:
        """Whether each statement is a transaction of its own."""
        ...


# By default the path ends with the schema of the user's own name, which whoever may make schemas can fill with
# functions. Where the driver connects again by itself it is lost: then the server's own functions come first, and only
# one whose parameters fit better would be called in the place of another.
SYSTEM_PATH = "SET CURRENT PATH = SYSTEM PATH"


def open_connection(settings: Db2Settings, *, statement_seconds: float, autocommit: bool = True) -> Connection:
    """A connection of ibm_db_dbi to Db2 for Linux, UNIX and Windows.

    Raises:
        AuthenticationFailed: the server does not let this user in.
        CannotConnect: it did not answer, refused for another reason, or is Db2 for i or z/OS.
        SecretUnavailable: the password's place is empty.
    """
    connection = connect_any(settings, statement_seconds=statement_seconds)
    insist_on(Platform.LUW, platform_of(str(ibm_db.server_info(connection.conn_handler).DBMS_NAME)), settings.where())
    connection.set_autocommit(autocommit)
    opened: Connection = connection
    return opened


def connect_any(settings: Db2Settings, *, statement_seconds: float) -> Any:  # noqa: ANN401  # the driver has no types
    """A connection of ibm_db_dbi, in autocommit, to whichever Db2 it is.

    Raises:
        AuthenticationFailed: the server does not let this user in.
        CannotConnect: it did not answer, or refused for another reason.
        SecretUnavailable: the password's place is empty.
    """
    words = settings.connection_string(statement_seconds=statement_seconds)
    try:
        connection = abandonable(lambda: ibm_db_dbi.connect(words), close_quietly)
    except DriverError as error:
        raise cannot_connect(diagnosis_of(error), settings.where()) from None  # its frames hold the password
    # QueryTimeout asks the server to stop and waits for its answer; a server that has gone silent gives none, ever.
    limit = round(answer_seconds(max(1, round(statement_seconds))))
    connection.set_option({ibm_db.SQL_ATTR_RECEIVE_TIMEOUT: limit})
    connection.set_autocommit(True)
    try:
        send(connection, SYSTEM_PATH)
    except DriverError as error:
        close_quietly(connection)
        raise cannot_connect(diagnosis_of(error), settings.where()) from error
    return connection


def close_quietly(connection: Connection) -> None:
    """End a session, whatever has become of it: closing rolls back, and a silent server never answers that."""
    with suppress(DriverError):  # it may be gone already
        connection.set_option({ibm_db.SQL_ATTR_RECEIVE_TIMEOUT: CLOSE_SECONDS})
        connection.close()


def fetch(connection: Connection, statement: str, values: Sequence[object] = ()) -> list[Row]:
    """Every row of a query, CHAR columns without their padding.

    Raises:
        ibm_db_dbi.Error: as the driver says.
    """
    return [row for part in fetch_parts(connection, statement, _strip_rows, values) for row in part]


def fetch_parts(
    connection: Connection, statement: str, take: Callable[[list[Row]], Result], values: Sequence[object] = ()
) -> list[Result]:
    """What is made of each some thousand rows of a query while they come; all rows at once are held nowhere.

    Args:
        connection: to ask over.
        statement: a query.
        take: makes something of rows, at least one, as the driver gives them: CHAR columns are padded.
        values: bound by the server, never pasted.

    Raises:
        ibm_db_dbi.Error: as the driver says.
    """
    taken: list[Result] = []
    with _cursor(connection) as cursor:
        cursor.execute(statement, tuple(values)) if values else cursor.execute(statement)
        while rows := _fetch_some(cursor):
            taken.append(take(rows))
            # A short part is the last one: to ask once more costs a round trip for every query.
            if len(rows) < ROWS_AT_ONCE:
                break
    return taken


def _fetch_some(cursor: Cursor) -> list[Row]:
    """The next rows.

    Raises:
        ibm_db_dbi.Error: also for what ibm_db raises as a plain Exception: a line that was cut between two blocks.
    """
    try:
        return cursor.fetchmany(ROWS_AT_ONCE)
    except DriverError:
        raise
    except Exception as error:  # what ibm_db raises has no class of its own; its subclasses are faults of ours
        if type(error) is not Exception:
            raise
        raise DriverError(str(error)) from error


def _strip_rows(rows: list[Row]) -> list[Row]:
    return [tuple(value.rstrip() if isinstance(value, str) else value for value in row) for row in rows]


def send(connection: Connection, statement: str) -> None:
    """Send a statement and discard its rows, if it has any.

    Raises:
        ibm_db_dbi.Error: as the driver says.
    """
    with _cursor(connection) as cursor:
        cursor.execute(statement)


def send_once(connection: Connection, statement: str) -> None:
    """A statement that must never be sent twice, in a transaction of its own (see ``sql/begin.sql``).

    Args:
        connection: opened without autocommit.
        statement: takes effect with the commit, or commits on its own.

    Raises:
        ibm_db_dbi.Error: as the driver says; nothing is left open.
    """
    try:
        fetch(connection, query("begin").text)
        send(connection, statement)
        connection.commit()
    except DriverError:
        with suppress(DriverError):  # of a broken connection; the first error is the one to tell
            connection.rollback()
        raise


@contextmanager
def _cursor(connection: Connection) -> Iterator[Cursor]:
    cursor = connection.cursor()
    try:
        yield cursor
    finally:
        with suppress(DriverError):  # of a broken connection; the first error is the one to tell
            cursor.close()


class ReadSession(RetryingSession[Connection, DriverError]):
    """A session that only reads.

    Db2 has no read-only session; what keeps this one from writing is that it sends SELECT and nothing else, and that
    the account behind it is granted nothing more (db2-observe.sql).
    """

    _server_log = "db2diag.log of the server"
    _cancel_again_seconds = None

    def __init__(self, settings: Db2Settings, tap: Tap | None = None) -> None:
        super().__init__(settings.where(), DriverError, tap)
        self._settings = settings
        self._columns: dict[str, frozenset[str]] = {}
        self.missing: dict[str, ConnectorError] = {}  # optional queries that this server or login does not answer

    def rows(self, name: str, values: Sequence[object] = (), *, doing: str) -> list[Row]:
        """Every row of a query.

        Args:
            name: of its file.
            values: bound by the server, never pasted.
            doing: what it is for; begins the message when it fails.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        wanted = query(name)

        def read(connection: Connection) -> list[Row]:
            return fetch(connection, self._fit_query(connection, wanted), values)

        return self._tapped(name, tuple(values), lambda: self._ask(wanted, read, doing), doing)

    def parts(self, name: str, take: Callable[[list[Row]], Result], *, doing: str) -> list[Result]:
        """What is made of the rows of a query, see ``fetch_parts``; read again from the start if the session had died.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        if self._tap is not None:  # whole rows are what it takes
            rows = self.rows(name, doing=doing)
            return [take(rows)] if rows else []
        wanted = query(name)
        return self._ask(
            wanted, lambda connection: fetch_parts(connection, self._fit_query(connection, wanted), take), doing
        )

    def optional_rows(self, name: str, values: Sequence[object] = (), *, doing: str) -> list[Row] | None:
        """As ``rows``; None where this server has no such source or this login may not ask it (see ``missing``).

        Raises:
            ConnectorError: it failed for another reason.
        """
        try:
            found = self.rows(name, values, doing=doing)
        except (ObjectGone, PrivilegeMissing) as error:
            self.missing[name] = error
            return None
        except StatementFailed as error:
            if error.native_code not in {str(code) for code in MISSING_CODES}:
                raise
            self.missing[name] = error
            return None
        self.missing.pop(name, None)
        return found

    def select(self, statement: str, *, doing: str) -> list[Row]:
        """Every row of a statement that is no file: only ever a SELECT.

        Raises:
            StatementFailed: it is something else; it was not sent.
            ConnectorError: a subclass that says what may be done.
        """
        if not statement.lstrip().upper().startswith("SELECT "):
            raise StatementFailed(f"{doing}: this session only reads", advice="Moves go through open_mover().")
        return self._with_retry(lambda connection: fetch(connection, statement), doing)

    def _ask(self, wanted: Query, read: Callable[[Connection], Result], doing: str) -> Result:
        """Read; a function that may not be executed is told from one that this version lacks."""
        try:
            return self._with_retry(read, doing)
        except ObjectGone as error:
            function = function_of(wanted)
            if error.native_code != NO_ROUTINE or not function:
                raise
            forms = self.optional_rows("routines", (function,), doing=f"looking for {function}")
            if not forms:
                raise
            specific = [str(row[0]) for row in forms]
            raise execute_missing(error, function, specific, self._settings.user) from error

    def _fit_query(self, connection: Connection, wanted: Query) -> str:
        return fit(wanted, lambda asked: self._columns_of(connection, asked))

    def _columns_of(self, connection: Connection, asked: Query) -> frozenset[str]:
        if asked.source not in self._columns:
            values = (NO_SUCH_NAME,) * asked.source.count("?")
            with _cursor(connection) as cursor:
                cursor.execute(asked.probe, values) if values else cursor.execute(asked.probe)
                self._columns[asked.source] = frozenset(column[0].upper() for column in cursor.description or ())
        return self._columns[asked.source]

    def _connect(self) -> Connection:
        return open_connection(self._settings, statement_seconds=self._settings.query_timeout)

    def _disconnect(self, connection: Connection) -> None:
        close_quietly(connection)
        self._columns.clear()  # the next server may be another version

    def _cancel(self, connection: Connection) -> None:  # noqa: ARG002  # the base class gives it
        """Only say that it waits: IBM's driver has no way to cancel a statement, its time limit ends it."""
        log.warning("waits for a statement that cannot be cancelled", extra={"fields": {
            "at_most": f"{answer_seconds(self._settings.query_timeout):g}s", "limited_by": "query_timeout",
        }})  # fmt: skip

    def _explain(self, error: DriverError, doing: str) -> ConnectorError | BrokenConnection:
        diagnosis = diagnosis_of(error)
        if diagnosis.broke:
            return BrokenConnection(native_code=diagnosis.native, words=diagnosis.words)
        return translate(diagnosis, doing)
