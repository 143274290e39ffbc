"""The wire of the emulated server, seen by real drivers: types, parameters, errors, timeouts, cancel, TLS, faults."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.labs.tds.backend import Cancelled, Count, Login, LoginRefused, Result, Rows, ServerError
from tests.labs.tds.certificate import make_certificate, tls_context
from tests.labs.tds.drivers import OdbcDriver, drivers
from tests.labs.tds.login import Encryption
from tests.labs.tds.server import TdsServer, running_server
from tests.labs.tds.values import Column, Kind, Value
from tests.labs.tds.wire import FaultKind

PASSWORD = "päss;w=rd"
WHOLE = datetime(2026, 2, 3, 4, 5, 6)  # T-SQL's datetime has no zone
MOMENT = WHOLE.replace(microsecond=123456)
EVERY_TYPE: tuple[tuple[Column, Value], ...] = (
    (Column("bit", Kind.BIT), True),
    (Column("tinyint", Kind.TINYINT), 255),
    (Column("smallint", Kind.SMALLINT), -32768),
    (Column("int", Kind.INT), 2**31 - 1),
    (Column("bigint", Kind.BIGINT), -(2**63)),
    (Column("real", Kind.REAL), 1.5),
    (Column("float", Kind.FLOAT), 0.1),
    (Column("decimal", Kind.DECIMAL, 18, 4), Decimal("-12345.6789")),
    (Column("nvarchar", Kind.NVARCHAR, 100), "Ünïcödé 表 𝄞"),
    (Column("long", Kind.NVARCHAR), "x" * 9000),
    (Column("varchar", Kind.VARCHAR, 10), "plain"),
    (Column("varbinary", Kind.VARBINARY, 10), b"\x00\xff"),
    (Column("guid", Kind.UNIQUEIDENTIFIER), uuid.UUID(int=2**64 + 1)),
    (Column("datetime", Kind.DATETIME), WHOLE),
    (Column("datetime2", Kind.DATETIME2), MOMENT),
    (Column("date", Kind.DATE), date(2026, 2, 3)),
)


class EchoSession:
    """Understands four words and gives parameters back."""

    def __init__(self, database: str, waiting: threading.Event) -> None:
        self.database = database
        self.cancelled = threading.Event()
        self.ended = False
        self.waiting = waiting

    def run(self, sql: str, parameters: Mapping[str, Value]) -> Iterator[Result]:
        """TYPES, NULLS, MANY, WAIT, FAIL; anything else echoes its parameters."""
        word = sql.split()[0].upper()
        columns = tuple(column for column, _ in EVERY_TYPE)
        if word == "TYPES":
            yield Rows(columns, [[value for _, value in EVERY_TYPE]])
        elif word == "NULLS":
            yield Rows(columns, [[None] * len(columns)])
        elif word == "MANY":
            yield Rows(
                (Column("n", Kind.INT), Column("t", Kind.NVARCHAR, 20)), [(n, f"row {n}") for n in range(20_000)]
            )
        elif word == "WAIT":
            self.waiting.set()
            if self.cancelled.wait(20):
                raise Cancelled
        elif word == "FAIL":
            raise ServerError(1222, "Lock request time out period exceeded.")
        elif word == "ECHO":
            names = [Column(name, Kind.NVARCHAR, 200) for name in parameters]
            yield Rows(tuple(names), [[None if v is None else str(v) for v in parameters.values()]])
        else:
            yield Count()

    def call(self, procedure: str, arguments: Iterable[tuple[str, Value]]) -> Iterator[Result]:
        """It has none."""
        raise ServerError(2812, f"Could not find stored procedure '{procedure}'.")

    def begin(self) -> None:
        """Nothing to remember."""

    commit = rollback = close = begin


class EchoBackend:
    """Lets one user in."""

    name = "ECHO"
    version = (16, 0, 4000)

    def __init__(self) -> None:
        self.waiting = threading.Event()  # a session has come to its WAIT

    def login(self, login: Login, spid: int, cut: threading.Event) -> EchoSession:
        """By password."""
        if (login.user, login.password) != ("me", PASSWORD):
            raise LoginRefused(18456, f"Login failed for user '{login.user}'.", severity=14)
        return EchoSession(login.database or "master", self.waiting)


def _driver(which: OdbcDriver) -> OdbcDriver:
    if which.missing:
        pytest.skip(which.missing)
    return which


@pytest.fixture(params=drivers(), ids=lambda driver: driver.name)
def driver(request: pytest.FixtureRequest) -> OdbcDriver:
    """Each driver there is."""
    return _driver(request.param)


@pytest.fixture
def backend() -> EchoBackend:
    """What the server asks."""
    return EchoBackend()


@pytest.fixture
def server(backend: EchoBackend) -> Iterator[TdsServer]:
    """Without TLS."""
    with running_server(backend) as running:
        yield running


def connect(driver: OdbcDriver, server: TdsServer, **options: Any) -> Any:
    """A connection in autocommit."""
    import pyodbc

    pyodbc.pooling = False
    string = driver.string(server.port, "me", options.pop("password", PASSWORD), options=options.pop("options", ""))
    return pyodbc.connect(string, autocommit=options.pop("autocommit", True), timeout=5)


@pytest.fixture
def cursor(driver: OdbcDriver, server: TdsServer) -> Iterator[Any]:
    """A cursor on an emulated server."""
    connection = connect(driver, server)
    yield connection.cursor()
    connection.close()


def test_every_type_arrives(cursor: Any) -> None:
    """Each column type and NULL reach the driver unchanged."""
    row = cursor.execute("TYPES").fetchone()
    for (column, value), got in zip(EVERY_TYPE, row, strict=True):
        assert str(got).lower() == str(value).lower(), column.name
    assert all(got is None for got in cursor.execute("NULLS").fetchone())


def test_many_rows(cursor: Any) -> None:
    """A result larger than a packet arrives whole."""
    rows = cursor.execute("MANY").fetchall()
    assert len(rows) == 20_000
    assert tuple(rows[-1]) == (19_999, "row 19999")


def test_parameters_arrive(cursor: Any) -> None:
    """Numbers, text, times and NULL reach the server as they were."""
    given = (1, -(2**40), 1.5, "Ünïcödé 表", Decimal("12.50"), MOMENT, None)
    got = cursor.execute(f"ECHO {', '.join('?' * len(given))}", given).fetchone()
    assert [int(got[0]), int(got[1]), float(got[2]), got[3], Decimal(got[4])] == list(given[:5])
    assert got[5].startswith("2026-02-03 04:05:06.123")
    assert got[6] is None


def test_a_statement_is_prepared_once_and_runs_often(cursor: Any) -> None:
    """Executing the same text again gives the new parameters."""
    assert [cursor.execute("ECHO ?", n).fetchone()[0] for n in range(3)] == ["0", "1", "2"]


def test_an_error_has_its_number(cursor: Any) -> None:
    """The driver names the native error number, and the connection goes on."""
    import pyodbc

    with pytest.raises(pyodbc.Error, match="1222"):
        cursor.execute("FAIL")
    assert cursor.execute("MANY").fetchone()[0] == 0


def test_a_timeout_cancels(driver: OdbcDriver, server: TdsServer) -> None:
    """A query timeout ends the statement by an attention with HYT00, and the connection goes on."""
    import pyodbc

    connection = connect(driver, server)
    connection.timeout = 1
    with pytest.raises(pyodbc.Error, match="HYT00"):
        connection.cursor().execute("WAIT")
    connection.timeout = 0  # what follows may take its time
    assert connection.cursor().execute("MANY").fetchone()[0] == 0
    connection.close()


def test_cancel_from_another_thread(cursor: Any, backend: EchoBackend) -> None:
    """Cursor.cancel() ends the statement with HY008, and the cursor goes on."""
    import pyodbc

    canceller = threading.Thread(target=lambda: backend.waiting.wait(20) and cursor.cancel())
    canceller.start()
    with pytest.raises(pyodbc.Error, match="HY008"):
        cursor.execute("WAIT")
    canceller.join()
    assert cursor.execute("MANY").fetchone()[0] == 0


def test_transactions(driver: OdbcDriver, server: TdsServer) -> None:
    """Without autocommit a driver begins, commits and rolls back over the wire."""
    connection = connect(driver, server, autocommit=False)
    connection.cursor().execute("MANY").fetchall()
    connection.commit()
    connection.rollback()
    connection.close()


def test_a_wrong_password(driver: OdbcDriver, server: TdsServer) -> None:
    """It is refused with error 18456."""
    import pyodbc

    with pytest.raises(pyodbc.Error, match="18456"):
        connect(driver, server, password="guess")


@pytest.mark.parametrize("offered", [Encryption.LOGIN_ONLY, Encryption.FULL], ids=["login only", "full"])
def test_tls(driver: OdbcDriver, tmp_path: Path, offered: Encryption) -> None:
    """Login and, where asked for, everything travels in TLS."""
    encrypted = offered is Encryption.FULL
    with running_server(EchoBackend(), encryption=offered, tls=tls_context(make_certificate(tmp_path))) as server:
        connection = connect(driver, server, options=driver.options(encrypted=encrypted))
        assert len(connection.cursor().execute("MANY").fetchall()) == 20_000
        connection.close()


def test_an_untrusted_certificate(tmp_path: Path) -> None:
    """Microsoft's driver does not talk to a server whose certificate it cannot verify."""
    driver = _driver(drivers()[1])
    import pyodbc

    tls = tls_context(make_certificate(tmp_path))
    with (
        running_server(EchoBackend(), encryption=Encryption.FULL, tls=tls) as server,
        pytest.raises(pyodbc.Error, match="certificate verify failed"),
    ):
        connect(driver, server, options=driver.options(encrypted=True, trusted=False))


@pytest.mark.parametrize("kind", [FaultKind.DROP, FaultKind.HALF])
def test_a_lost_connection(driver: OdbcDriver, server: TdsServer, kind: FaultKind) -> None:
    """An answer that ends early is an error: 08S01 of Microsoft's driver, 20017 (SQLSTATE 01000) of FreeTDS."""
    import pyodbc

    connection = connect(driver, server)
    server.faults.arm(kind)
    with pytest.raises(pyodbc.Error, match=r"08S01|20017"):
        connection.cursor().execute("MANY").fetchall()


def test_silence_ends_by_timeout(driver: OdbcDriver, server: TdsServer) -> None:
    """A server that answers nothing costs no more than the query timeout."""
    import pyodbc

    connection = connect(driver, server)
    connection.timeout = 1
    server.faults.arm(FaultKind.SILENCE)
    with pytest.raises(pyodbc.Error, match="HYT00"):
        connection.cursor().execute("MANY").fetchall()
    connection.close()
