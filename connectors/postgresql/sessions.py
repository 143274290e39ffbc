"""Sessions with PostgreSQL: queries, patience, copied rows, processor time, and how sessions are opened.

``LimitedConnection`` gives up on a silent server. libpq waits for an answer without end. The server's own time limits
end a statement, but not the silence of a server that is frozen or cut off: its kernel, or one on the way, goes on
acknowledging what is sent.

``to_copy`` and ``from_copy`` convert rows to the output of COPY ... TO STDOUT (FORMAT binary) and back, for answers
that are kept or brought as rows. Module ``rows`` takes the same format apart into columns, for many rows.

``server_processors`` reads the processor time of a server on this machine from /proc (Linux only). Over a Unix socket,
the kernel names the process that listens: the postmaster (unix(7), SO_PEERCRED). Its own time, that of its processes
and that of ended ones (proc(5), ``cutime`` and ``cstime``) make up the server's. A pooler listens on such sockets too,
so only the process that has the session's own backend among its children counts as the postmaster. Quotas of control
groups are ignored. What these processors do for everybody (proc(5), ``/proc/stat``) says what other programs leave;
niced ones give way to a server that is not niced itself, so what they take is left too.

``open_connection`` makes the settings of every session, and ``ReadSession`` is one that cannot write.
"""

from __future__ import annotations

import math
import os
import re
import select
import socket
import struct
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg import pq
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.conninfo import make_conninfo
from psycopg.pq.abc import PGconn

from connectors.kit.contract import CannotConnect, ConnectorError, Tap
from connectors.kit.sessions import BrokenConnection, RetryingSession, abandonable
from connectors.kit.settings import answer_seconds
from connectors.model.formatting import format_seconds
from connectors.postgresql.errors import cannot_connect, connection_broke, translate
from connectors.postgresql.settings import PostgresqlSettings


@cache
def query(name: str) -> bytes:
    """The text of ``sql/<name>.sql``, ready for psycopg (bytes, which invite no formatting)."""
    return (files("connectors.postgresql") / "sql" / f"{name}.sql").read_bytes()


def in_extension(statement: bytes, schema: str) -> bytes:
    """The statement for an extension in that schema, given as quoted: each of its objects is named with it."""
    return statement.replace(b"extension_schema.", schema.encode().replace(b"%", b"%%") + b".")


def without_files(statement: bytes, spaces: Iterable[int]) -> bytes:
    """The statement so that it asks for no file in those tablespaces, given by oid: what the catalog knows must do."""
    return statement.replace(b"'{}'::bigint[]", f"'{{{','.join(map(str, spaces))}}}'::bigint[]".encode())


@cache
def name_of(statement: bytes) -> str:
    """The name of the query of that text; "" of none."""
    folder = files("connectors.postgresql") / "sql"
    names = [entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return next((name for name in names if query(name) == statement), "")


Result = TypeVar("Result")
Waiting = Generator[Any, Any, Result]  # of psycopg: yields what it waits for, receives what has come


class AnyText(Loader):
    r"""Reads texts of any bytes: those that are no UTF-8 are shown escaped, as ``caf\xe9``.

    A database in SQL_ASCII takes any bytes as a name, and roles and tablespaces are those of all databases:
    one of them must not keep all other rows of an answer from being read.
    """

    def load(self, data: Buffer) -> str:
        """The text."""
        return bytes(data).decode(errors="backslashreplace")


_TEXTS = "text", "name", "varchar", "bpchar", '"char"'


def _read_any_text(connection: psycopg.Connection) -> None:
    """Have texts come as they are stored where no encoding is known, and read them whatever their bytes."""
    for name in _TEXTS:
        connection.adapters.register_loader(name, AnyText)
    if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
        # In any other the server refuses the whole answer for one name that is invalid there.
        connection.execute("SET client_encoding = 'SQL_ASCII'")


class ServerSilent(psycopg.OperationalError):
    """Nothing came from the server for too long; the connection was closed."""


class LimitedConnection(psycopg.Connection):
    """One that is closed where nothing comes from the server for ``patience_seconds`` while an answer is waited for."""

    patience_seconds: float = math.inf

    def wait(self, gen: Waiting[Result], *args: object, **options: object) -> Result:
        """Wait as psycopg does, which calls this for each request.

        Raises:
            ServerSilent: for too long.
        """
        return super().wait(_until_silent(gen, self.pgconn, self.patience_seconds), *args, **options)  # type: ignore[arg-type]  # handed on as they are


def _until_silent(waiting: Waiting[Result], connection: PGconn, seconds: float) -> Waiting[Result]:
    """Go through ``waiting``, which hears of nothing several times a second, until nothing came for too long."""
    last = time.monotonic()
    try:
        wants = next(waiting)
        while True:
            ready = yield wants
            now = time.monotonic()
            if ready:
                last = now
            elif now - last > seconds:
                connection.finish()
                raise ServerSilent(f"the server has not answered for {format_seconds(seconds)}")
            wants = waiting.send(ready)
    except StopIteration as end:
        result: Result = end.value
        return result


SIGNATURE = b"PGCOPY\n\xff\r\n\0"
TRAILER = b"\xff\xff"
_COUNT, _LENGTH, _NUMBER = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")


def to_copy(rows: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    """Rows of whole numbers and texts as the server would send them.

    Raises:
        struct.error: a value is neither.
    """
    yield SIGNATURE + struct.pack(">ii", 0, 0)
    for row in rows:
        yield _COUNT.pack(len(row)) + b"".join(map(_field, row))
    yield TRAILER


def from_copy(data: bytes, *, text_last: bool) -> list[tuple[Any, ...]]:
    """Rows of bigints, the last field of each a text if ``text_last``, from what the server sent.

    Raises:
        struct.error: the data has another shape.
    """
    at, rows = len(SIGNATURE) + 8 + _LENGTH.unpack_from(data, len(SIGNATURE) + 4)[0], []
    while (fields := _COUNT.unpack_from(data, at)[0]) >= 0:
        at, row = at + _COUNT.size, []
        for _ in range(fields):
            length = _LENGTH.unpack_from(data, at)[0]
            at += _LENGTH.size
            row.append(data[at : at + length])
            at += length
        numbers = [_NUMBER.unpack(value)[0] for value in (row[:-1] if text_last else row)]
        # Escaped where it is no UTF-8, as in ``AnyText``.
        rows.append((*numbers, row[-1].decode(errors="backslashreplace")) if text_last else tuple(numbers))
    return rows


def _field(value: object) -> bytes:
    if isinstance(value, str):
        text = value.encode()
        return _LENGTH.pack(len(text)) + text
    return _LENGTH.pack(_NUMBER.size) + _NUMBER.pack(value)


_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid
_USER, _CHILDREN_SYSTEM = 11, 14  # of the fields after the name: utime, stime, cutime, cstime
_LOOKS = 3  # until no process has come or gone meanwhile; where they always do, one may be missed or counted twice


ProcessorTime = tuple[float | None, float | None, float | None]
UNKNOWN_PROCESSORS: ProcessorTime = None, None, None
_NICED = 2  # of a line of /proc/stat
_BUSY = (1, _NICED, 3, 6, 7, 8)  # of it: user, nice, system, irq, softirq, steal


def server_processors(descriptor: int, backend: int) -> ProcessorTime:
    """Seconds of the server so far, how many processors it may use, and seconds used of these by who gives no way.

    None where the system does not tell.

    Args:
        descriptor: of the socket of a connection to the server.
        backend: process that the server says it has for it.
    """
    try:
        pid = _listener(descriptor)
        children = _children(pid) if pid else []
        if str(backend) not in children:
            return UNKNOWN_PROCESSORS
        for _ in range(_LOOKS):
            ticks = sum(_ticks(each) for each in [*children, str(pid)])
            looked_at, children = children, _children(pid)
            if children == looked_at:
                break
        usable, per_second = os.sched_getaffinity(pid), os.sysconf("SC_CLK_TCK")
        niced = os.getpriority(os.PRIO_PROCESS, pid) > 0
        return ticks / per_second, float(len(usable)), _busy_ticks(usable, niced=niced) / per_second
    except (OSError, AttributeError, ValueError):  # hidden, gone, or another system
        return UNKNOWN_PROCESSORS


def _busy_ticks(processors: Iterable[int], *, niced: bool) -> int:
    """That those processors have worked, time that a hypervisor gave to others among it.

    Args:
        processors: their numbers.
        niced: whether to count niced programs, which give way to all others.
    """
    names, columns = {f"cpu{each}" for each in processors}, [at for at in _BUSY if niced or at != _NICED]
    lines = (line.split() for line in Path("/proc/stat").read_text(encoding="ascii").splitlines())
    return sum(int(line[at]) for line in lines if line[:1] and line[0] in names for at in columns)


def _listener(descriptor: int) -> int:
    """Process that listens at the other end of a Unix socket; 0: none that is seen from here."""
    with closing(socket.socket(fileno=os.dup(descriptor))) as found:
        if found.family != socket.AF_UNIX:
            return 0
        credentials = found.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(credentials)[0])


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()


def _ticks(pid: str) -> int:
    """Of a process and of those of its own that have ended; 0 where it is gone itself."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    fields = text.rpartition(")")[2].split()  # the name may hold anything
    return sum(int(each) for each in fields[_USER : _CHILDREN_SYSTEM + 1])


Row = tuple[Any, ...]
Part = bytes | bytearray | memoryview  # of the output of a COPY
CANCEL_SECONDS = 5.0  # that a request to cancel may take
WITH_TEXT = frozenset({"units"})  # queries by COPY whose last column is a text; all others are bigint
LONGEST_MS = 2**31 - 1  # that a setting takes, 24 days
OF_EVERY_SESSION = {
    "idle_session_timeout": "0",  # between two samples, and while it holds the lease, it is idle on purpose
    "transaction_timeout": "0",  # since 17: each statement has a time limit of its own, and a move takes long
    # Otherwise a transaction would see the table as it was before it had its lock on it, and would drop what it has not
    # seen; and a reading one that is SERIALIZABLE and DEFERRABLE would wait until no other is under way.
    "default_transaction_isolation": "read committed",
    "default_transaction_deferrable": "off",
    # An agent whose machine is gone says nothing: a silent network costs its lease after two minutes, not two hours.
    "tcp_keepalives_idle": "60",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "6",
    "tcp_user_timeout": "120000",  # ms; for data that was sent and not acknowledged
}
OF_QUERIES = {  # what a DBA or a role sets must not change what a query means
    "search_path": "pg_catalog, pg_temp",  # no user's function can take the place of the server's
    "quote_all_identifiers": "off",  # keys of units are quoted names, and stay the same
    "row_security": "off",  # rows that a policy hides are an error; its functions are never called
    # Settings that change texts on the way in or out, among them those of the server's own pg_get_ functions: bounds of
    # partitions, defaults, definitions of indexes.
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "standard_conforming_strings": "on",  # patterns of our queries have backslashes
    "backslash_quote": "safe_encoding",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "lc_numeric": "C",
    "lc_monetary": "C",
    "xmlbinary": "base64",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "citus.show_shards_for_app_name_prefixes": "*",  # it hides them from pg_class, and they hold the rows
}
_STATE_IN_TRACE = re.compile(rb'ErrorResponse\t.{0,200}? C "([0-9A-Z]{5})"')  # severities come before it


def open_connection(settings: PostgresqlSettings, *, name: str, options: Mapping[str, str]) -> LimitedConnection:
    """An autocommit connection with its session settings in place, whose patience fits ``statement_timeout``.

    Args:
        settings: where and who.
        name: application_name, what a DBA sees.
        options: server settings of the session; those this version does not know are left out.

    Raises:
        AuthenticationFailed: the server does not let this user in.
        CannotConnect: it did not answer, refused for another reason, or a pooler answered.
        SecretUnavailable: the password's place is empty.
    """
    arguments = settings.connect_arguments() | {"application_name": name}
    try:
        connection = abandonable(
            lambda: LimitedConnection.connect(**arguments, autocommit=True, prepare_threshold=None),
            psycopg.Connection.close,
        )
    except psycopg.Error as error:
        raise cannot_connect(error, settings.where(), _refusal_state(error, arguments)) from None  # holds the arguments
    connection.patience_seconds = answer_seconds(settings.statement_timeout)
    wanted = {**OF_EVERY_SESSION, **options}
    values = {"names": list(wanted), "values": list(wanted.values()), "pid": connection.info.backend_pid}
    try:
        taken = connection.execute(query("session"), values).fetchall()
    except psycopg.Error as error:
        connection.close()
        raise translate(error, f"setting up a session with {settings.where()}") from error
    if not taken:
        connection.close()
        raise CannotConnect(
            f"a connection pooler answers at {settings.where()}: it would share the session's settings and its lease",
            advice="Give the host and port of the server itself.",
        )
    return connection


def ask(
    connection: psycopg.Connection,
    statement: bytes,
    values: Mapping[str, object] | None = None,
    limit: float | None = None,
) -> list[Row]:
    """Every row of a query, in a transaction that cannot write.

    Raises:
        psycopg.Error: as psycopg raises it.
    """
    with reading(connection, limit):
        return connection.execute(statement, values).fetchall()


@contextmanager
def reading(connection: psycopg.Connection, limit: float | None = None) -> Iterator[None]:
    """A transaction that cannot write, whatever a function that a query calls sets in the session.

    The default of a session does not do: any function may change it, and the next statement writes.

    Args:
        connection: in autocommit.
        limit: seconds that each of its statements may take; None: what the session says.
    """
    connection.execute("BEGIN READ ONLY")
    try:
        if limit is not None:
            connection.execute("SELECT set_config('statement_timeout', %s, true)", [milliseconds(limit)])
        yield
    except BaseException:
        with suppress(psycopg.Error):  # a session that broke has rolled back
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def milliseconds(seconds: float) -> str:
    """As PostgreSQL takes it; never 0, which would mean no limit, and never more than a setting holds."""
    return f"{min(LONGEST_MS, max(1, round(seconds * 1000)))}ms"


def _refusal_state(error: psycopg.Error, arguments: Mapping[str, Any]) -> str:
    """SQLSTATE of a refused connection, "" when the server never spoke.

    libpq keeps the state of a refusal to itself, so the refusal is provoked once more with libpq's own protocol trace
    on, and read from there. The trace lives in anonymous memory and is gone when this returns.
    """
    if isinstance(error, psycopg.errors.ConnectionTimeout) or not hasattr(os, "memfd_create"):
        return ""
    if error.pgconn is not None and error.pgconn.needs_password:
        return "28P01"
    conninfo = make_conninfo("", **{k: v for k, v in arguments.items() if v is not None}).encode()
    attempt = pq.PGconn.connect_start(conninfo)
    trace = os.memfd_create("refusal")
    try:
        attempt.trace(trace)
        _poll(attempt, float(arguments["connect_timeout"]))
        attempt.untrace()
        found = _STATE_IN_TRACE.search(os.pread(trace, 65536, 0))
    finally:
        attempt.finish()
        os.close(trace)
    return found[1].decode() if found else ""


def _poll(attempt: pq.abc.PGconn, seconds: float) -> None:
    """Drive a connection attempt to its end or to the limit."""
    until = time.monotonic() + seconds
    status = pq.PollingStatus.WRITING
    while status in {pq.PollingStatus.READING, pq.PollingStatus.WRITING} and time.monotonic() < until:
        if attempt.status == pq.ConnStatus.BAD:
            return
        waiting = select.poll()
        waiting.register(attempt.socket, select.POLLIN if status == pq.PollingStatus.READING else select.POLLOUT)
        waiting.poll(max(0.0, until - time.monotonic()) * 1000)
        status = pq.PollingStatus(attempt.connect_poll())


def _room(path: str) -> tuple[int | None, int | None]:
    try:
        at = os.statvfs(Path(path))
    except OSError:
        return None, None
    # f_bavail, not f_bfree: file systems keep a part for root, which the server cannot use.
    return at.f_bavail * at.f_frsize, at.f_blocks * at.f_frsize


def _folder(path: str) -> tuple[bool, bool, int | None]:
    """Whether a folder is there, whether it can be written to, and its device; None where it cannot be seen."""
    try:
        device = Path(path).stat().st_dev
        return True, not os.statvfs(path).f_flag & os.ST_RDONLY, device
    except (FileNotFoundError, NotADirectoryError):
        return False, False, None
    except OSError:  # seen by the server alone
        return True, True, None


class ReadSession(RetryingSession[psycopg.Connection, psycopg.Error]):
    """A session that cannot write."""

    def __init__(
        self,
        settings: PostgresqlSettings,
        *,
        name: str = "hotplace",
        tap: Tap | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """``options``: server settings of this session, in place of those that reading sessions have."""
        super().__init__(settings.where(), psycopg.Error, tap)
        self._settings = settings
        self._name = name
        self._own_options = dict(options or {})

    def rows(
        self,
        statement: bytes,
        values: Mapping[str, object] | None = None,
        *,
        doing: str,
        name: str = "",
        limit: float | None = None,
    ) -> list[Row]:
        """Every row of a query.

        Args:
            statement: as loaded from a file.
            values: bound by the server, never pasted.
            doing: what it is for; begins the message when it fails.
            name: of its file, where the statement is no longer its very text.
            limit: seconds that it may take, if that is less than ``statement_timeout``.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        limit = self._less_than_usual(limit)

        def answer() -> list[Row]:
            return self._with_retry(lambda connection: ask(connection, statement, values, limit), doing)

        return self._tapped(name or name_of(statement), tuple((values or {}).values()), answer, doing)

    def copy(
        self,
        statement: bytes,
        take: Callable[[Iterable[Part]], Result],
        *,
        doing: str,
        name: str = "",
        limit: float | None = None,
    ) -> Result:
        """What ``take`` makes of the output of a COPY TO STDOUT, which it gets part by part as the server sends it.

        It may be called again, with the output from its start, when the session turns out to have died. ``name``,
        ``limit``: as of ``rows``.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        limit = self._less_than_usual(limit)

        def read(connection: psycopg.Connection) -> Result:
            with reading(connection, limit), connection.cursor() as cursor, cursor.copy(statement) as copy:
                return take(copy)

        if self._tap is None:
            return self._with_retry(read, doing)
        name = name or name_of(statement)
        return take(to_copy(self._tapped(name, (), lambda: self._copied_rows(statement, doing, name), doing)))

    def _less_than_usual(self, limit: float | None) -> float | None:
        """The limit of a call where it is less than that of the session."""
        return limit if limit is not None and limit < self._settings.statement_timeout else None

    @property
    def host_address(self) -> str:
        """Address of the server as the session sees it; "" over a unix socket."""
        return str(self._connection_facts()[0])

    @property
    def version(self) -> int:
        """Of the server, as libpq has it: 160004 is 16.4."""
        return int(self._connection_facts()[1])

    def room(self, path: str) -> tuple[int | None, int | None]:
        """Free and total bytes of the file system at ``path`` of this machine; None where it cannot be seen."""
        free, total = self._tapped("room", (path,), lambda: [_room(path)], "looking at a file system")[0]
        return free, total

    def folder(self, path: str) -> tuple[bool, bool, int | None]:
        """Whether a folder of this machine is there and can be written to, and its device where that can be seen."""
        there, writable, device = self._tapped(
            "folder", (path,), lambda: [_folder(path)], "looking at a tablespace's folder"
        )[0]
        return there, writable, device

    def processors(self) -> ProcessorTime:
        """Processor seconds that the server has taken, how many processors it may use, and seconds that all took.

        None where the connection is not over a Unix socket of the server itself, or the system does not tell.

        Raises:
            ConnectorError: there is no connection.
        """

        def look() -> list[Row]:
            connection = self._open().pgconn
            return [server_processors(connection.socket, connection.backend_pid)]

        seconds, count, *used = self._tapped("processors", (), look, "looking at processor time")[0]
        return seconds, count, used[0] if used else None  # an earlier version recorded two

    def _copied_rows(self, statement: bytes, doing: str, name: str) -> list[Row]:
        """The output of a COPY as rows, which are what a tap takes."""

        def read(connection: psycopg.Connection) -> bytes:
            with reading(connection), connection.cursor() as cursor, cursor.copy(statement) as copy:
                return b"".join(map(bytes, copy))

        return from_copy(self._with_retry(read, doing), text_last=name in WITH_TEXT)

    def _connection_facts(self) -> Row:
        def facts() -> list[Row]:
            info = self._open().info
            return [(info.hostaddr, info.server_version)]

        return self._tapped("connection", (), facts, "looking at the connection")[0]

    def _options(self) -> dict[str, str]:
        return {
            **OF_QUERIES,
            # Not of sessions that move: rows that they copy are checked in the zone of their role, as the user's are.
            "TimeZone": "UTC",
            "default_transaction_read_only": "on",
            "statement_timeout": milliseconds(self._settings.statement_timeout),
            "lock_timeout": milliseconds(self._settings.lock_timeout),
            "stats_fetch_consistency": "none",  # since 15: no copy of the statistics in our backend's memory
            "jit": "off",  # a large scan is no reason to compile
            **self._own_options,
        }

    def _connect(self) -> psycopg.Connection:
        connection = open_connection(self._settings, name=self._name, options=self._options())
        _read_any_text(connection)
        return connection

    def _is_usable(self, connection: psycopg.Connection) -> bool:
        return not connection.closed

    def _disconnect(self, connection: psycopg.Connection) -> None:
        connection.close()

    def _cancel(self, connection: psycopg.Connection) -> None:
        with suppress(psycopg.Error):  # where the server cannot be asked, the time limit ends the query
            connection.cancel_safe(timeout=CANCEL_SECONDS)

    def _explain(self, error: psycopg.Error, doing: str) -> ConnectorError | BrokenConnection:
        assert self._connection is not None, "the query was sent over it"
        if isinstance(error, ServerSilent):  # another try would wait as long again
            return CannotConnect(f"{doing}: {error}", advice="Look at whether the server or the network is stuck.")
        if connection_broke(error, self._connection):
            return BrokenConnection(native_code=error.sqlstate or "")
        return translate(error, doing)
