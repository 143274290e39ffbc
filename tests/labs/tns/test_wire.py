"""The real python-oracledb in thin mode against the emulated TNS server, over a real socket."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import oracledb
import pytest

from tests.labs.tns.backend import Answer, Bind, OracleError
from tests.labs.tns.certificate import self_signed
from tests.labs.tns.echo import EchoDatabase, EchoSession, Reply, rows
from tests.labs.tns.server import TnsServer, serving
from tests.labs.tns.values import OracleType

QUERY = "SELECT * FROM t"
NUMBER, TEXT, DATE, STAMP = OracleType.NUMBER, OracleType.VARCHAR, OracleType.DATE, OracleType.TIMESTAMP
NOON = datetime(2026, 11, 20, 12, 0, 5)  # Oracle's DATE has no zone


@contextmanager
def talking(reply: Reply) -> Iterator[tuple[oracledb.Connection, TnsServer, EchoDatabase]]:
    """A driver's connection to a server that replies like that."""
    database = EchoDatabase(reply)
    with serving(database) as server:
        with oracledb.connect(user="scott", password="tiger", dsn=f"127.0.0.1:{server.port}/echo") as connection:
            yield connection, server, database
        assert server.complaints == []


def one(answer: Answer) -> Reply:
    """Always the same answer."""
    return lambda *_: answer


def nothing(*_: object) -> Answer:
    """No rows, none changed."""
    return Answer()


def _code(caught: pytest.ExceptionInfo[oracledb.Error]) -> str:
    return str(caught.value.args[0].full_code)


@pytest.mark.parametrize(("user", "password"), [("scott", "lion"), ("nobody", "tiger"), ("scott", "tiger ")])
def test_a_wrong_password_is_refused(user: str, password: str) -> None:
    """Emulated server: whoever does not know the password gets ORA-01017, known user or not."""
    with serving(EchoDatabase(nothing)) as server, pytest.raises(oracledb.Error) as caught:
        oracledb.connect(user=user, password=password, dsn=f"127.0.0.1:{server.port}/echo")
    assert _code(caught) == "ORA-01017"


def test_an_unknown_service_is_refused() -> None:
    """Emulated server: the listener's ORA-12514 reaches the driver, which has a code of its own for it."""
    with serving(EchoDatabase(nothing)) as server, pytest.raises(oracledb.Error) as caught:
        oracledb.connect(user="scott", password="tiger", dsn=f"127.0.0.1:{server.port}/other")
    assert "DPY-6001" in str(caught.value)


def test_a_locked_account_is_told() -> None:
    """Emulated server: ORA-28000 after the right password."""
    database = EchoDatabase(nothing)
    database.refusal = OracleError(28000, "The account is locked.")
    with serving(database) as server, pytest.raises(oracledb.Error) as caught:
        oracledb.connect(user="scott", password="tiger", dsn=f"127.0.0.1:{server.port}/echo")
    assert _code(caught) == "ORA-28000"


def test_types_arrive_as_they_are() -> None:
    """Emulated server: numbers exact, texts in Unicode, dates to the second, time stamps to the microsecond, NULLs."""
    columns = [("N", NUMBER), ("T", TEXT), ("D", DATE), ("S", STAMP), ("L", OracleType.LONG), ("R", OracleType.RAW)]
    later = NOON + timedelta(microseconds=678_901)
    values = [(10**30, "Ünïcödé 表", NOON, later, "x" * 40_000, b"\0\xff"), (None,) * 6]
    with talking(one(rows(columns, values))) as (connection, _, _):
        assert connection.cursor().execute(QUERY).fetchall() == values


LARGE = "Ünïcödé 表 " * 9000
LOB_COLUMNS = [("N", NUMBER), ("C", OracleType.CLOB), ("B", OracleType.BLOB)]
LOB_ROWS = [(1, LARGE, b"\0\xff" * 40_000), (2, "short", b"\1"), (3, None, None)]


def test_large_objects_come_by_locator() -> None:
    """Emulated server: a locator for each, with its length; what it stands for is read by calls, in parts if wanted."""
    with talking(one(rows(LOB_COLUMNS, LOB_ROWS))) as (connection, _, _):
        found = connection.cursor().execute(QUERY).fetchall()
        assert [row[0] for row in found] == [1, 2, 3]
        assert found[2][1:] == (None, None)
        (_, text, data), (_, short, _), _ = found
        assert (text.size(), data.size()) == (len(LARGE), 80_000)
        assert text.read() == LARGE
        assert data.read() == LOB_ROWS[0][2]
        assert short.read(2, 3) == "hor"
        assert (short.read(6), text.getchunksize()) == ("", 8132)


def test_large_objects_come_inline_where_that_is_wanted() -> None:
    """Emulated server: without fetch_lobs the driver defines them as long columns; a second execute does so again."""
    with talking(one(rows(LOB_COLUMNS, LOB_ROWS))) as (connection, _, _):
        oracledb.defaults.fetch_lobs = False
        try:
            cursor = connection.cursor()
            assert cursor.execute(QUERY).fetchall() == LOB_ROWS
            assert cursor.execute(QUERY).fetchall() == LOB_ROWS
        finally:
            oracledb.defaults.fetch_lobs = True


def test_counters_beyond_a_double_arrive_whole() -> None:
    """Emulated server: whole NUMBERs come as int of any size, fetch_decimals off; the connector reads no others."""
    large = [(2**53 + 1,), (10**30 + 7,)]
    with talking(one(rows([("N", NUMBER)], large))) as (connection, _, _):
        assert connection.cursor().execute(QUERY).fetchall() == large


def test_fractions_are_exact_as_decimals() -> None:
    """Emulated server: with fetch_decimals a NUMBER that is no integer keeps every digit."""
    exact = Decimal("12345678901234567.891")
    with talking(one(rows([("N", NUMBER)], [(exact,)]))) as (connection, _, _):
        cursor = connection.cursor()
        cursor.execute(QUERY, fetch_decimals=True)
        assert cursor.fetchall() == [(exact,)]


def test_many_rows_come_in_batches() -> None:
    """Emulated server: every row once and in order, however many round trips it takes; a second execute starts anew."""
    values = [(n, f"row {n}") for n in range(5003)]
    with talking(one(rows([("N", NUMBER), ("T", TEXT)], values))) as (connection, _, _):
        cursor = connection.cursor()
        cursor.arraysize = 500
        assert cursor.execute(QUERY).fetchall() == values
        assert cursor.execute(QUERY).fetchall() == values


def test_binds_arrive_in_order() -> None:
    """Emulated server: by name and by position, NULL and dates included, and again with other values."""
    seen: list[list[object]] = []

    def reply(_: EchoSession, __: str, binds: Sequence[Bind], ___: int) -> Answer:
        seen.append([bind.values[0] for bind in binds])
        return rows([("N", NUMBER)], [(1,)])

    with talking(reply) as (connection, _, _):
        cursor = connection.cursor()
        cursor.execute("SELECT :a, :b, :c FROM dual", {"a": 7, "b": "sieben", "c": None}).fetchall()
        cursor.execute("SELECT :a, :b, :c FROM dual", {"a": -8, "b": "y" * 300, "c": None}).fetchall()
        cursor.execute("SELECT :1 FROM dual", [NOON]).fetchall()
    assert seen == [[7, "sieben", None], [-8, "y" * 300, None], [NOON]]


def test_rows_changed_are_counted() -> None:
    """Emulated server: executemany sends all rows at once."""
    seen: list[int] = []

    def reply(_: EchoSession, __: str, binds: Sequence[Bind], executions: int) -> Answer:
        seen.extend(binds[0].values)
        return Answer(rowcount=executions)

    with talking(reply) as (connection, _, _):
        cursor = connection.cursor()
        cursor.executemany("INSERT INTO t VALUES (:1)", [(n,) for n in range(9)])
        assert cursor.rowcount == 9
    assert seen == list(range(9))


def test_plsql_assigns_binds() -> None:
    """Emulated server: an OUT bind of a block comes back."""

    def reply(_: EchoSession, __: str, binds: Sequence[Bind], ___: int) -> Answer:
        binds[0].out, binds[0].assigned = 42, True
        return Answer()

    with talking(reply) as (connection, _, _):
        cursor = connection.cursor()
        answer = cursor.var(int)
        cursor.execute("BEGIN :answer := f(:given); END;", {"answer": answer, "given": 1})
        assert answer.getvalue() == 42


def test_errors_have_their_number() -> None:
    """Emulated server: the native number arrives and the connection stays usable."""

    def reply(_: EchoSession, sql: str, *__: object) -> Answer:
        if "missing" in sql:
            raise OracleError(942, "table or view does not exist")
        return rows([("N", NUMBER)], [(1,)])

    with talking(reply) as (connection, _, _):
        with pytest.raises(oracledb.DatabaseError) as caught:
            connection.cursor().execute("SELECT * FROM missing")
        assert _code(caught) == "ORA-00942"
        assert connection.cursor().execute("SELECT 1 FROM dual").fetchall() == [(1,)]


def _slow(session: EchoSession, sql: str, *_: object) -> Answer:
    if "slow" in sql:
        session.waiting.set()
        session.wait(30)
    return rows([("N", NUMBER)], [(1,)])


def test_a_call_timeout_leaves_the_connection_usable() -> None:
    """Emulated server: DPY-4024 after the time, the statement cancelled, the next one answered."""
    with talking(_slow) as (connection, _, _):
        connection.call_timeout = 1000  # the server's answer to the break has to come within it, too
        with pytest.raises(oracledb.Error) as caught:
            connection.cursor().execute("ALTER slow")
        assert _code(caught) == "DPY-4024"
        connection.call_timeout = 0
        assert connection.cursor().execute("SELECT 1 FROM dual").fetchall() == [(1,)]


def test_a_cancel_from_another_thread() -> None:
    """Emulated server: ORA-01013, and the connection goes on."""
    with talking(_slow) as (connection, _, database):
        (session,) = database.sessions

        def cancel() -> None:
            assert session.waiting.wait(10)
            connection.cancel()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(oracledb.Error) as caught:
            connection.cursor().execute("ALTER slow")
        canceller.join()
        assert _code(caught) == "ORA-01013"
        assert connection.cursor().execute("SELECT 1 FROM dual").fetchall() == [(1,)]


def test_silence_ends_the_connection() -> None:
    """Emulated server: who never hears again gives up after twice the time; the statement itself had run."""
    ran: list[str] = []

    def reply(_: EchoSession, sql: str, *__: object) -> Answer:
        ran.append(sql)
        return Answer()

    database = EchoDatabase(reply)
    with serving(database) as server:
        connection = oracledb.connect(user="scott", password="tiger", dsn=f"127.0.0.1:{server.port}/echo")
        server.faults.silence = "ALTER"
        connection.call_timeout = 200
        with pytest.raises(oracledb.Error) as caught:
            connection.cursor().execute("ALTER TABLE t MOVE")
        assert _code(caught) in ("DPY-4011", "DPY-4024")
    assert ran == ["ALTER TABLE t MOVE"]


@pytest.mark.parametrize(("fault", "ran"), [("drop", True), ("drop_before", False)])
def test_a_dropped_connection(fault: str, ran: bool) -> None:
    """Emulated server: DPY-4011 looks the same whether the statement had run or not."""
    seen: list[str] = []

    def reply(_: EchoSession, sql: str, *__: object) -> Answer:
        seen.append(sql)
        return Answer()

    database = EchoDatabase(reply)
    with serving(database) as server:
        connection = oracledb.connect(user="scott", password="tiger", dsn=f"127.0.0.1:{server.port}/echo")
        setattr(server.faults, fault, "ALTER")
        with pytest.raises(oracledb.Error) as caught:
            connection.cursor().execute("ALTER TABLE t MOVE")
        assert _code(caught) == "DPY-4011"
    assert bool(seen) == ran


def test_transactions_end_as_told() -> None:
    """Emulated server: commit, rollback and logoff arrive; what is open at the end is rolled back by the driver."""
    with talking(one(Answer(rowcount=1))) as (connection, _, database):
        cursor = connection.cursor()
        cursor.execute("INSERT INTO t VALUES (1)")
        connection.commit()
        cursor.execute("INSERT INTO t VALUES (2)")
        connection.rollback()
        cursor.execute("INSERT INTO t VALUES (3)")
    session = database.sessions[0]
    _until(lambda: session.ended[-1:] == ["logoff"])
    assert session.ended == ["commit", "rollback", "rollback", "logoff"]


def _until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_session_says_whose_it_is() -> None:
    """Emulated server: module, action and client identifier travel with the next call."""
    with talking(one(Answer())) as (connection, _, database):
        connection.module, connection.action, connection.client_identifier = "hotplace", "move 1", "somebody"
        connection.ping()
        client = database.sessions[0].client
        assert (client.module, client.action, client.client_identifier) == ("hotplace", "move 1", "somebody")


def test_a_pool_shares_connections() -> None:
    """Emulated server: two acquires at once are two sessions, one after the other are one."""
    database = EchoDatabase(one(rows([("N", NUMBER)], [(1,)])))
    with serving(database) as server:
        dsn = f"127.0.0.1:{server.port}/echo"
        pool = oracledb.create_pool(user="scott", password="tiger", dsn=dsn, min=1, max=2)
        with pool.acquire() as first, pool.acquire() as second:
            assert [c.cursor().execute(QUERY).fetchone() for c in (first, second)] == [(1,), (1,)]
        pool.close()
    assert len(database.sessions) == 2


def test_large_statements_take_several_packets() -> None:
    """Emulated server: a statement and a bind larger than a packet arrive whole."""
    seen: list[tuple[int, int]] = []

    def reply(_: EchoSession, sql: str, binds: Sequence[Bind], __: int) -> Answer:
        seen.append((len(sql), len(binds[0].values[0])))
        return rows([("N", NUMBER)], [(1,)])

    sql = f"SELECT /*{'x' * 30_000}*/ :t FROM dual"
    with talking(reply) as (connection, _, _):
        connection.cursor().execute(sql, {"t": "y" * 20_000}).fetchall()
    assert seen == [(len(sql), 20_000)]


def test_tcps(tmp_path: Path) -> None:
    """Emulated server: TLS with a wallet that trusts the certificate; without it the driver refuses."""
    with serving(EchoDatabase(one(rows([("N", NUMBER)], [(1,)]))), self_signed(tmp_path)) as server:
        at = {"user": "scott", "password": "tiger", "dsn": f"tcps://localhost:{server.port}/echo"}
        with oracledb.connect(**at, wallet_location=str(tmp_path)) as connection:
            assert connection.cursor().execute(QUERY).fetchall() == [(1,)]
        with pytest.raises(oracledb.Error):
            oracledb.connect(**at)
