"""Sessions with Db2: queries, platforms, how sessions are opened, and what the server is.

``Platform`` is the Db2 that answers: three products share the name, each with a catalog and statements of its own.

``query`` loads a statement from its file, and ``fit`` adapts it to the columns that the server has. SQL0440N means that
no routine of that name exists, or that this login may not execute it; the catalog tells which. ``execute_missing`` is
the error of the second case. (Practice, not seen on a server: a routine without EXECUTE is not among the candidates for
its name, so the error is not SQL0551N.)

Connections (``open_connection`` to ``ReadSession``) are the only code that touches the driver. Each serves one thread:
``threadsafety`` of ibm_db_dbi is 0. Reading sessions use autocommit, so that no transaction stays open between two
samples; acting sessions commit each statement themselves.

``Server`` holds the version, the kind of instance, and the settings that decide which figures can be believed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Protocol, TypeAlias, TypeVar

import ibm_db
import ibm_db_dbi

from connectors.db2.errors import EXECUTE_GIVES, MISSING_CODES, cannot_connect, diagnosis_of, translate
from connectors.db2.names import identifier
from connectors.db2.settings import Db2Settings
from connectors.kit.contract import CannotConnect, ConnectorError, ObjectGone, PrivilegeMissing, StatementFailed, Tap
from connectors.kit.findings import Remedy
from connectors.kit.sessions import BrokenConnection, RetryingSession, abandonable
from connectors.kit.settings import answer_seconds
from connectors.model.observation import Identity


class Platform(StrEnum):
    """The products."""

    LUW = "luw"
    I = "i"  # noqa: E741  # IBM calls it so
    ZOS = "zos"


TITLES = {Platform.LUW: "Db2", Platform.I: "Db2 for i", Platform.ZOS: "Db2 for z/OS"}
_PRODUCTS = {"SQL": Platform.LUW, "DSN": Platform.ZOS, "QSQ": Platform.I}  # first letters of a DRDA product id


def platform_of(dbms_name: str, product: str = "") -> Platform | None:
    """The product by SQL_DBMS_NAME, else by its product id; None: it says neither.

    LUW names its operating system (``DB2/LINUXX8664``), z/OS says ``DB2`` and no more, i says ``AS`` through IBM's CLI
    driver and ``DB2/400 SQL`` through that of IBM i Access.
    """
    name = dbms_name.strip().upper()
    if name.startswith(("DB2/400", "DB2 FOR I")) or name in {"AS", "QDB2"}:
        return Platform.I
    if name.startswith("DB2/"):
        return Platform.LUW
    return Platform.ZOS if name == "DB2" else _PRODUCTS.get(product[:3].upper())


def insist_on(wanted: Platform, found: Platform | None, where: str) -> None:
    """Refuse to go on with another product than was configured; one that says nothing is taken at the word.

    Raises:
        CannotConnect: with the setting that fits.
    """
    if found is not None and found is not wanted:
        raise CannotConnect(
            f"{where} is {TITLES[found]}, and the configuration speaks of {TITLES[wanted]}",
            advice=f"Set platform: {found} in its connection; for i and zos there are plans only.",
        )


_SOURCE = re.compile(r"\bFROM\s+(TABLE\(.+\)|[\w.]+)\s+AS\s+(\w+)")
_SOURCES = re.compile(r"\b(?:FROM|JOIN)\s+(TABLE\(.+?\)\)|[A-Z]\w*\.\w+)\s+AS\s+\w+")
_OPTIONAL = re.compile(r"(?P<before>.*?)(?P<alias>\w+)\.(?P<column>\w+)(?P<comma>,?)\s*-- since [\d.]+, (?P<type>.+)")


@dataclass(frozen=True, slots=True)
class Query:
    """One statement with the columns that not every version has."""

    name: str
    text: str  # without its header
    source: str  # what follows FROM; "" where it reads nothing
    optional: frozenset[str]

    def fit(self, columns: frozenset[str]) -> str:
        """The statement with typed NULLs for the optional columns that are not among ``columns``; no comments."""
        return "\n".join(_fit_line(line, columns) for line in self.text.splitlines())

    @property
    def sources(self) -> tuple[str, ...]:
        """Everything that it reads."""
        return tuple(found[1] for found in _SOURCES.finditer(self.text))

    @property
    def probe(self) -> str:
        """Asks for the names of all columns and for no row."""
        return f"SELECT * FROM {self.source} AS T WHERE 1 = 0"  # noqa: S608  # the source is a line of our own file


@cache
def query(name: str, package: str = "connectors.db2") -> Query:
    """The query of ``sql/<name>.sql`` in that package."""
    whole = (files(package) / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    text = "\n".join(line for line in whole.splitlines() if not line.startswith("--"))
    source = _SOURCE.search(text)
    optional = frozenset(found["column"] for found in map(_OPTIONAL.fullmatch, text.splitlines()) if found)
    return Query(name, text, source[1] if source else "", optional)


def fit(wanted: Query, columns_of: Callable[[Query], frozenset[str]]) -> str:
    """The statement as this server understands it; asks for its columns only where any are optional."""
    return wanted.fit(columns_of(wanted) if wanted.optional else frozenset())


def _fit_line(line: str, columns: frozenset[str]) -> str:
    found = _OPTIONAL.fullmatch(line)
    if found is None:
        return line
    name = found["column"]
    value = f"{found['alias']}.{name}" if name in columns else f"CAST(NULL AS {found['type']}) AS {name}"
    return f"{found['before']}{value}{found['comma']}"


NO_ROUTINE = "-440"
_FUNCTION = re.compile(r"TABLE\(SYSPROC\.(\w+)\(")


def function_of(asked: Query) -> str:
    """The function that a query reads; "" where it reads a view."""
    found = _FUNCTION.match(asked.source)
    return found[1] if found else ""


def execute_missing(error: ConnectorError, function: str, specific: Sequence[str], user: str) -> PrivilegeMissing:
    """The error of a function that the catalog has and this login may not execute, with its GRANT.

    Args:
        error: SQL0440N as it was reported.
        function: of SYSPROC.
        specific: specific names of all forms of it, at least one; where there are more, a GRANT has to name one.
        user: that may not execute it.
    """
    names = [function] if len(specific) == 1 else specific
    word = "FUNCTION" if len(specific) == 1 else "SPECIFIC FUNCTION"
    grants = [f"GRANT EXECUTE ON {word} SYSPROC.{name} TO USER {identifier(user.upper())}" for name in names]
    sentence = f"{error} (SYSCAT.ROUTINES has {function}: {user} may not execute it)"
    advice = Remedy("; ".join(grants), EXECUTE_GIVES.format(function))
    return PrivilegeMissing(sentence, advice=advice, native_code=error.native_code)


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


# By default the path ends with the schema of the user's own name, which any user who may make schemas can fill
# with functions. Where the driver reconnects automatically it is lost: then the server's own functions come first, and
# only one whose parameters fit better would be called in the place of another.
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

    def rows(self, name: str, values: Sequence[object] = (), *, doing: str, limit: float | None = None) -> list[Row]:
        """Every row of a query.

        Args:
            name: of its file.
            values: bound by the server, never pasted.
            doing: what it is for; begins the message when it fails.
            limit: seconds that it may take, if that is less than ``query_timeout``.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        wanted = query(name)

        def read(connection: Connection) -> list[Row]:
            text = self._fit_query(connection, wanted)
            with self._time_limit(connection, limit):
                return fetch(connection, text, values)

        return self._tapped(name, tuple(values), lambda: self._ask(wanted, read, doing), doing)

    def parts(
        self, name: str, take: Callable[[list[Row]], Result], *, doing: str, limit: float | None = None
    ) -> list[Result]:
        """What is made of the rows of a query, see ``fetch_parts``; read again from the start if the session had died.

        ``limit``: as of ``rows``.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        if self._tap is not None:  # whole rows are what it takes
            rows = self.rows(name, doing=doing, limit=limit)
            return [take(rows)] if rows else []
        wanted = query(name)

        def read(connection: Connection) -> list[Result]:
            text = self._fit_query(connection, wanted)
            with self._time_limit(connection, limit):
                return fetch_parts(connection, text, take)

        return self._ask(wanted, read, doing)

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
        """Read; a function that may not be executed is distinguished from one that this version lacks."""
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

    @contextmanager
    def _time_limit(self, connection: Connection, limit: float | None) -> Iterator[None]:
        """Within, a statement may take so many seconds at most; the driver takes whole ones, at least 1."""
        usual = self._settings.query_timeout
        if limit is None or limit >= usual:
            yield
            return
        connection.set_option({ibm_db.SQL_ATTR_QUERY_TIMEOUT: max(1, round(limit))})
        try:
            yield
        finally:
            with suppress(DriverError):  # of a broken connection; the first error is the one to tell
                connection.set_option({ibm_db.SQL_ATTR_QUERY_TIMEOUT: max(1, round(usual))})

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


EXTENDED = "EXTENDED"
FIRST_WITH_OBJECTS = (10, 1)
# logfilsiz counts pages of this size, whatever pages the table spaces have.
LOG_PAGE = 4096
ENDLESS = -1  # logsecond: as much as the disk holds
STANDARD, STANDBY = "STANDARD", "STANDBY"  # hadr_db_role; PRIMARY is the third


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What identify(), capabilities() and doctor() say, in their own words."""

    version: tuple[int, ...]  # (12, 1, 4, 0)
    database: str
    created: str
    edition: str
    members: int
    partitions: int
    purescale: bool
    object_metrics: tuple[str, ...]  # mon_obj_metrics of each member
    request_metrics: tuple[str, ...]
    hadr_role: str
    auto_reval: str = ""  # "": not to be read
    blocknonlogged: str = ""  # YES: a LOAD that leaves no copy is refused
    archives: bool | None = None  # logs are archived, so that a restored database rolls forward; None: not to be read
    log_bytes: int | None = None  # that one member's active log may take; None: endless, or not to be read

    @property
    def topology(self) -> str:
        """Of the four that Db2 knows."""
        if self.purescale:
            return "purescale"
        if self.hadr_role == STANDBY:
            return "replica"
        return "partitioned" if self.partitions > 1 else "single"

    @property
    def counts_objects(self) -> bool:
        """Whether reads of each object are counted on every member; otherwise they stay 0, and zero is not cold."""
        return bool(self.object_metrics) and all(value == EXTENDED for value in self.object_metrics)

    @property
    def too_old_for_objects(self) -> bool:
        """9.7 knows reads of table spaces only."""
        return self.version[:2] < FIRST_WITH_OBJECTS

    def identity(self) -> Identity:
        """As the rest of hotplace knows it."""
        return Identity(
            engine="db2",
            version=".".join(str(part) for part in self.version),
            version_number=self.version,
            edition=self.edition,
            database=self.database,
            fingerprint=f"{self.database}@{self.created}",
            topology=self.topology,
            writable=self.hadr_role != STANDBY,
        )


def unpack_version(number: int) -> tuple[int, ...]:
    """Version, release, modification and fix pack of VVRRMMFF: 12010400 is (12, 1, 4, 0)."""
    return (number // 1_000_000, number // 10_000 % 100, number // 100 % 100, number % 100)


def read_server(session: ReadSession) -> Server:
    """Six small queries; all but the first two are optional.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    database, created = session.rows("identify", doing="identifying")[0]
    number = session.rows("version", doing="reading the version")[0][0]
    instance = session.optional_rows("instance", doing="reading the instance") or [("", 1, 1)]
    products = session.optional_rows("edition", doing="reading the edition") or []
    facilities = session.optional_rows("purescale", doing="looking for pureScale") or [(0,)]
    settings = session.optional_rows("configuration", doing="reading the configuration") or []
    return Server(
        version=unpack_version(int(number)),
        database=str(database),
        created=str(created),
        edition=", ".join(sorted(str(row[0]) for row in products)),
        partitions=int(instance[0][1] or 1),
        members=int(instance[0][2] or instance[0][1] or 1),
        purescale=int(facilities[0][0]) > 0,
        object_metrics=_values(settings, "mon_obj_metrics"),
        request_metrics=_values(settings, "mon_req_metrics"),
        hadr_role=next(iter(_values(settings, "hadr_db_role")), STANDARD),
        auto_reval=next(iter(_values(settings, "auto_reval")), ""),
        blocknonlogged=next(iter(_values(settings, "blocknonlogged")), ""),
        archives=_archives(settings),
        log_bytes=_log_bytes(settings),
    )


def _archives(settings: Sequence[tuple[object, ...]]) -> bool | None:
    """Whether any member has an archive of its logs."""
    said = [*_values(settings, "logarchmeth1"), *_values(settings, "logarchmeth2")]
    return any(value != "OFF" for value in said) if said else None


def _log_bytes(settings: Sequence[tuple[object, ...]]) -> int | None:
    """Bytes of all log files that may be active at once: (LOGPRIMARY + LOGSECOND) * LOGFILSIZ pages of 4 KB."""
    numbers = [next(iter(_values(settings, name)), "") for name in ("logfilsiz", "logprimary", "logsecond")]
    if not all(number.lstrip("-").isdigit() for number in numbers):
        return None
    size, primary, secondary = map(int, numbers)
    return None if secondary == ENDLESS else (primary + secondary) * size * LOG_PAGE


def _values(settings: Sequence[tuple[object, ...]], name: str) -> tuple[str, ...]:
    return tuple(str(row[1] or "").strip().upper() for row in settings if str(row[0]).strip().lower() == name)
