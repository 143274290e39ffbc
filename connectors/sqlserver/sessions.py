"""Sessions with SQL Server: queries, errors, statements that run, and how sessions are opened.

``translate`` turns what pyodbc raises into an error of the contract. It goes by the server's own number, because
drivers disagree on the SQLSTATE, and never by the words of a message.

``query`` loads a statement from its file, as the server's version takes it.

``RunningStatement`` is the statement that a session runs, which another thread may cancel.

``open_connection`` makes the settings of every session. ``ReadSession`` sends only the queries of ``sql/``: SQL Server
has no read-only session, so the rights of the login must do the rest.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any

import pyodbc

from connectors.kit.contract import (
    AuthenticationFailed,
    CannotConnect,
    ConnectorError,
    DriverMissing,
    Interrupted,
    LockNotObtained,
    ObjectGone,
    OutcomeUnknown,
    PrivilegeMissing,
    SpaceFull,
    StatementFailed,
    Tap,
    TimedOut,
)
from connectors.kit.sessions import BrokenConnection, RetryingSession, abandonable
from connectors.sqlserver.settings import SqlserverSettings, connection_string, is_that_driver, kind_of

TIMED_OUT, CANCELLED = "HYT00", "HY008"  # SQLSTATEs that the drivers make themselves
NO_SUCH_DRIVER = frozenset({"IM002", "IM003", "IM004"})  # of the driver manager: unknown name, not loaded, not set up
LIBRARY_NOT_OPENED = "01000"  # of unixODBC, without a number; FreeTDS gives it to errors of its own, which have one
GONE_OR_FORBIDDEN = frozenset({1088, 3701, 4902, 15151})  # the server will not say which
NOTHING_TO_PAUSE = frozenset({10638, 10641})  # no such build, or it does not run

_LATER = "Another session uses the object; hotplace tries again later."
_PLAN = "The table or index is not what it was when this was planned; plan again."
_FALL_BACK = "This edition or version cannot do it that way; take another route."
_GRANT = "Run hotplace doctor: it prints the GRANT."
_GONE = "It was dropped or renamed; plan again."
_LOGIN = "Check the user and where its password comes from."
_DRIVER = (
    "Install that driver, or set driver to one that odbcinst -q -d lists or to a library's path: Microsoft's "
    "msodbcsql18, or FreeTDS (Debian: tdsodbc), which wants encrypt: no or trust_server_certificate."
)
_ROOM = "Make room in the target, or choose another filegroup."

Meaning = tuple[type[ConnectorError], str]


def _all(numbers: tuple[int, ...], kind: type[ConnectorError], advice: str) -> dict[int, Meaning]:
    return dict.fromkeys(numbers, (kind, advice))


_BY_NUMBER: dict[int, Meaning] = {
    **_all((18456, 18452, 18470, 18487, 18488), AuthenticationFailed, _LOGIN),
    **_all((4060, 911, 916), CannotConnect, "Check database, and that the login has a user in it."),
    **_all((40613, 976, 978, 983, 17142, 921, 922), CannotConnect, "The database is not open here now; wait."),
    **_all((1222, 1912, 49516, 10666), LockNotObtained, _LATER),
    **_all((1205, 10660), LockNotObtained, "A deadlock was resolved against this statement; it is tried again later."),
    **_all((1101, 1105), SpaceFull, _ROOM),
    9002: (SpaceFull, "Back up the log or let it grow; an online build keeps it from being truncated."),
    **_all((229, 230, 262, 297, 300, 371, 2571, 5011, 15247, 11423), PrivilegeMissing, _GRANT),
    **_all((208, 1911, 1921, 2501, 7999, 15225), ObjectGone, _GONE),
    **_all((1907, 1922, 1924, 1925, 1930, 1968, 1979, 1996, 10637), StatementFailed, _PLAN),
    **_all((1712, 2725, 10633, 10635, 10639, 10644, 10665, 10679, 10681, 11905), StatementFailed, _FALL_BACK),
    **_all(
        (823, 824, 825), StatementFailed, "The disk returned a damaged page: run DBCC CHECKDB before anything else."
    ),
    5123: (StatementFailed, "Make the folder on the server, and let its service account write there."),
    5042: (StatementFailed, "Something went into the file again; empty it once more."),
    3906: (StatementFailed, "The database is read-only here: a secondary replica; connect to the primary."),
}
# Killed or shut down; from 20000 on FreeTDS' own: read, write, end of file, bad token, dead process.
_SESSION_ENDED = frozenset({596, 6005, 6006, 10053, 10054, 20003, 20004, 20006, 20017, 20020, 20047})
_NUMBER = re.compile(r"\((-?\d+)\)(?: \(SQL\w+\))?(?=;|$)")
_TEXT = re.compile(r"^(?:\[[^\]]*\]\s*)+")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a driver said: SQLSTATE, the server's numbers in order, and the server's words on one line."""

    state: str
    numbers: tuple[int, ...]
    words: str

    @property
    def number(self) -> int:
        """The number that means something to us, else the first one, else 0."""
        known = (n for n in self.numbers if n in _BY_NUMBER or n in GONE_OR_FORBIDDEN)
        return next(known, self.numbers[0] if self.numbers else 0)

    @property
    def code(self) -> str:
        """For ``ConnectorError.native_code``."""
        return str(self.number) if self.number else self.state


def diagnose(error: pyodbc.Error) -> Diagnosis:
    """Take a driver's error apart.

    pyodbc gives ``(state, "[state] [vendor]...message (number) (function); [state] ... (number)")``.
    """
    state = str(error.args[0]) if error.args else ""
    text = " ".join(str(error.args[1]).split()) if len(error.args) > 1 else str(error)
    numbers = tuple(int(found) for found in _NUMBER.findall(text) if int(found) > 0)
    return Diagnosis(state, numbers, _TEXT.sub("", text))


def connection_broke(seen: Diagnosis) -> bool:
    """Whether the session is lost, so that the outcome of its statement is unknown."""
    if seen.state in {TIMED_OUT, CANCELLED}:
        return False
    if seen.state == "HY000" and not seen.numbers:
        return True  # FreeTDS of a session that ended while it was idle; whatever a server says has a number
    return seen.state.startswith("08") or any(number in _SESSION_ENDED for number in seen.numbers)


def translate(seen: Diagnosis, doing: str) -> ConnectorError:
    """The error of the contract for a statement that failed while its session lives on.

    Args:
        seen: from ``diagnose``.
        doing: what was tried, to begin the message with; holds no secret.
    """
    kind, advice = _BY_NUMBER.get(seen.number, (StatementFailed, ""))
    if seen.number in GONE_OR_FORBIDDEN:
        kind, advice = PrivilegeMissing, f"It does not exist, or this login may not alter it. {_GRANT}"
    if seen.state == TIMED_OUT:
        kind, advice = TimedOut, "Raise statement_timeout, or look at what the server is busy with."
    if seen.state == CANCELLED:
        kind, advice = Interrupted, "Ask who cancelled it before trying again."
    return kind(f"{doing}: {seen.words}", advice=advice, native_code=seen.code)


def object_gone(seen: Diagnosis, doing: str) -> ObjectGone:
    """For one of ``GONE_OR_FORBIDDEN`` when the object is not there any more."""
    return ObjectGone(f"{doing}: {seen.words}", advice=_GONE, native_code=seen.code)


def outcome_unknown(seen: Diagnosis, doing: str) -> OutcomeUnknown:
    """The session broke under a statement that changes something."""
    # Neither a failure nor a success: the server may have finished it before the link broke, or still run it. Sending
    # it again could build the index twice, so only the catalog decides.
    return OutcomeUnknown(
        f"{doing}: the session ended before the server answered ({seen.words})",
        advice="The catalog is asked what became of it.",
        native_code=seen.code,
    )


def cannot_connect(seen: Diagnosis, where: str) -> CannotConnect | DriverMissing:
    """A refused or failed connection, or no driver to try it with; the driver's words never hold the password."""
    if seen.state in NO_SUCH_DRIVER or (seen.state == LIBRARY_NOT_OPENED and not seen.numbers):
        return DriverMissing(f"cannot connect to {where}: {seen.words}", advice=_DRIVER, native_code=seen.code)
    kind, advice = _BY_NUMBER.get(seen.number, (CannotConnect, "Check host and port, and that the server runs."))
    if seen.state == "28000":
        kind, advice = AuthenticationFailed, _LOGIN
    if not issubclass(kind, CannotConnect):
        kind = CannotConnect
    return kind(f"cannot connect to {where}: {seen.words}", advice=advice, native_code=seen.code)


YEARS = {11: "2012", 12: "2014", 13: "2016", 14: "2017", 15: "2019", 16: "2022", 17: "2025"}
NEWEST = 99  # Managed Instance and Azure SQL Database report version 12 and are newer than any
_GATED = re.compile(
    r"^(?P<indent> *)(?P<select>SELECT )?(?P<now>.+?) AS (?P<name>\w+)(?P<comma>,?) --@(?P<since>\d+) (?P<before>.+)$"
)


@cache
def query(name: str, major: int = NEWEST) -> str:
    """The text of ``sql/<name>.sql`` without its head.

    Args:
        name: of the file.
        major: version of the server; expressions that it does not know are replaced by what stands in for them.

    Raises:
        FileNotFoundError: there is no such query.
    """
    return "\n".join(_for_version(line, major) for line in _lines(name)).strip()


def printed_query(name: str) -> str:
    """The same for a person: of the newest release, with what each earlier one needs as a comment in its line."""
    return "\n".join(_with_earlier(line) for line in _lines(name)).strip()


def _lines(name: str) -> list[str]:
    """A query as its file has it, without its head."""
    text = (files("connectors.sqlserver") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("--")]


@cache
def query_names() -> frozenset[str]:
    """Every query there is."""
    folder = files("connectors.sqlserver") / "sql"
    return frozenset(entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql"))


def _for_version(line: str, major: int) -> str:
    gate = _GATED.match(line)
    if gate is None:
        return line
    chosen = gate["now"] if major >= int(gate["since"]) else gate["before"]
    return f"{gate['indent']}{gate['select'] or ''}{chosen} AS {gate['name']}{gate['comma']}"


def _with_earlier(line: str) -> str:
    gate = _GATED.match(line)
    if gate is None:
        return line
    return f"{_for_version(line, NEWEST)} -- before {YEARS[int(gate['since'])]}: {gate['before']}"


class RunningStatement:
    """Cursors of one session, one at a time."""

    def __init__(self) -> None:
        self._lives = threading.Lock()
        self._cursor: pyodbc.Cursor | None = None

    @contextmanager
    def cursor(self, connection: pyodbc.Connection) -> Iterator[pyodbc.Cursor]:
        """A new cursor, closed at the end."""
        cursor = connection.cursor()
        with self._lives:
            self._cursor = cursor
        try:
            yield cursor
        finally:
            with self._lives:
                self._cursor = None
                _close(cursor)

    def cancel(self) -> None:
        """Cancel what runs; the cursor must not be freed meanwhile, which would take the process down.

        Raises:
            ConnectorError: the driver refused.
        """
        with self._lives:
            if self._cursor is None:
                return
            try:
                self._cursor.cancel()
            except pyodbc.Error as error:
                seen = diagnose(error)
                if not connection_broke(seen):
                    raise translate(seen, "cancelling the running statement") from error


def _close(cursor: pyodbc.Cursor) -> None:
    """Close; with its session broken it is closed already."""
    try:
        cursor.close()
    except pyodbc.Error as error:
        seen = diagnose(error)
        if not connection_broke(seen) and seen.state != "HY000":
            raise


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
    connection: pyodbc.Connection, statement: str, values: tuple[object, ...], running: RunningStatement | None = None
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
    with (running or RunningStatement()).cursor(connection) as cursor:
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
        self._running = RunningStatement()

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

    def rows(self, name: str, *values: object, doing: str, limit: float | None = None) -> list[Row]:
        """Every row of a query.

        Args:
            name: of the file in ``sql/``.
            values: bound by the server, never pasted.
            doing: what it is for; begins the message when it fails.
            limit: seconds that it may take, if that is less than ``statement_timeout``.

        Raises:
            StatementFailed: there is no query of that name.
            ConnectorError: another subclass that says what may be done.
        """
        if name not in query_names():
            raise StatementFailed(
                f"{doing}: a reading session sends only the queries of this connector",
                advice="Use open_mover() for approved moves.",
            )
        return self._tapped(name, values, lambda: self._fetch(query(name, self.major), values, doing, limit), doing)

    def _fetch(self, statement: str, values: tuple[object, ...], doing: str, limit: float | None = None) -> list[Row]:
        seconds = self._settings.statement_timeout if limit is None else min(limit, self._settings.statement_timeout)

        def read(connection: pyodbc.Connection) -> list[Row]:
            connection.timeout = whole_seconds(seconds)  # of cursors that are opened from now on
            return fetch(connection, statement, values, self._running)

        return self._with_retry(read, doing)

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
