"""What others have set, made or put between must not change what is read, nor what is changed."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from psycopg import sql

from agent.demo.server import private_server
from connectors.kit.contract import CannotConnect, ConnectorError, LockNotObtained, ObjectGone, StatementFailed
from connectors.model.moves import Border
from connectors.model.observation import Demand, Home, Interval, Signal
from connectors.postgresql.connector import PostgresqlConnector
from connectors.postgresql.sessions import open_connection
from connectors.postgresql.settings import PostgresqlSettings
from policies.evidence.counter_deltas import difference
from tests.contract.asking import bundle_of, reads_of, route_to, run
from tests.labs.postgresql import SERVER_SETTINGS, Cluster, flush, installations, wait_until
from tests.labs.test_moving import in_background, table, waits_for_lock

HIJACK = """
CREATE FUNCTION public.quote_ident(name) RETURNS text LANGUAGE sql AS $$ SELECT 'taken over' $$;
CREATE FUNCTION public.unnest(text[], text[]) RETURNS TABLE (name text, value text) LANGUAGE sql
    AS $$ SELECT 'search_path', 'public' $$;
"""


def reads_during(connector: PostgresqlConnector, signal: Signal, cluster: Cluster, *work: str) -> dict[str, float]:
    """Blocks by unit that those statements read in that way."""
    catalog, before = connector.catalog(), connector.sample()
    with cluster.session(connector.identify().database) as session:
        for statement in work:
            session.execute(statement.encode())
        flush(session)
    interval = difference(before, connector.sample(), longest_seconds=3600.0)
    assert isinstance(interval, Interval)
    demand: Demand = connector.classify(interval, catalog)
    return reads_of(demand, catalog, signal)


def test_a_partition_is_read_like_any_other_table(
    cluster: Cluster, dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """The same bitmap scan of the same rows is read ahead in a partition as in a table that is none."""
    dba.execute("CREATE TABLE whole (k int, filler text) PARTITION BY RANGE (k)")
    dba.execute("CREATE TABLE part PARTITION OF whole FOR VALUES FROM (0) TO (100); CREATE TABLE plain (LIKE whole)")
    for name in ("part", "plain"):
        rows = "SELECT g / 1000, repeat('x', 400) FROM generate_series(1, 20000) AS g"
        dba.execute(f"INSERT INTO {name} {rows}; CREATE INDEX ON {name} (k)".encode())
        dba.execute(f"VACUUM (ANALYZE) {name}".encode())
    flush(dba)
    scans = [f"SELECT sum(length(filler)) FROM {name} WHERE k BETWEEN 2 AND 15" for name in ("part", "plain")]
    only = "SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off"
    found = reads_during(connector, Signal.PREFETCHED_READ, cluster, only, *scans)
    assert found["public.plain"] > 500
    assert found["public.part"] == pytest.approx(found["public.plain"], rel=0.05)


def test_vacuum_makes_no_toast_hot(cluster: Cluster, dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """What VACUUM reads of values out of line nobody waits for."""
    dba.execute("CREATE TABLE lob (id int, filler text); ALTER TABLE lob ALTER filler SET STORAGE EXTERNAL")
    dba.execute("INSERT INTO lob SELECT g, repeat('x', 20000) FROM generate_series(1, 400) AS g")
    dba.execute("VACUUM (ANALYZE) lob")
    dba.execute("DELETE FROM lob WHERE id % 5 = 0")
    flush(dba)
    vacuum = "VACUUM lob"
    assert reads_during(connector, Signal.PREFETCHED_READ, cluster, vacuum)["public.lob"] > 500
    dba.execute("DELETE FROM lob WHERE id % 5 = 1")
    flush(dba)
    assert reads_during(connector, Signal.SYNC_READ, cluster, vacuum).get("public.lob", 0.0) < 50


def test_nobodys_functions_are_called_in_place_of_the_servers(
    dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """A function that fits better and lies in the search path is not run by our login."""
    table(dba)
    dba.execute(HIJACK.encode())
    assert list(connector.catalog().units.key) == ["public.thing", "public.thing_pkey"]
    connector.sample()
    run(connector, route := route_to(connector, "public.thing", "fast"))
    assert connector.inspect(route).home is Home.TARGET


def test_keys_do_not_depend_on_settings(cluster: Cluster, dba: psycopg.Connection, cleanup: ExitStack) -> None:
    """quote_all_identifiers, set by a DBA for the database, changes the key of no unit."""
    table(dba)
    name = sql.Identifier(dba.info.dbname)
    dba.execute(sql.SQL("ALTER DATABASE {} SET quote_all_identifiers = on").format(name))
    connector = cluster.connector(dba.info.dbname)
    cleanup.callback(connector.close)
    assert list(connector.catalog().units.key) == ["public.thing", "public.thing_pkey"]


def test_a_move_has_no_other_time_limit_than_its_own(
    cluster: Cluster, dba: psycopg.Connection, cleanup: ExitStack
) -> None:
    """A limit meant for an application's sessions does not end a move that waits for its lock."""
    limit = sql.Identifier("transaction_timeout" if cluster.major >= 17 else "statement_timeout")
    table(dba)
    dba.execute(sql.SQL("ALTER DATABASE {} SET {} = '300ms'").format(sql.Identifier(dba.info.dbname), limit))
    connector = cluster.connector(dba.info.dbname, lock_timeout="10s")
    cleanup.callback(connector.close)
    route = route_to(connector, "public.thing", "fast")
    reader = cleanup.enter_context(cluster.session(dba.info.dbname))
    reader.execute(sql.SQL("SET {} = 0").format(limit))
    with reader.transaction():
        reader.execute("SELECT count(*) FROM thing")
        with in_background(lambda: run(connector, route)) as raised:
            wait_until(lambda: waits_for_lock(dba, route.steps[0]), "the move waits for its lock")
            threading.Event().wait(0.6)
            reader.execute("COMMIT")
    assert raised == []
    assert connector.inspect(route).home is Home.TARGET


def test_no_session_goes_through_a_pooler(
    cluster: Cluster, dbname: str, connector: PostgresqlConnector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where another backend answers than the one that was greeted, nothing is set there and nothing is held."""
    monkeypatch.setattr(psycopg.ConnectionInfo, "backend_pid", property(lambda _: -7))  # a pooler makes up its own
    executed: list[object] = []
    execute = psycopg.Connection.execute

    def listening(self: psycopg.Connection, *given: Any, **other: Any) -> Any:
        executed.append(cursor := execute(self, *given, **other))
        return cursor

    monkeypatch.setattr(psycopg.Connection, "execute", listening)
    for opening in (connector.identify, connector.open_mover, lambda: connector.acquire_lease("one")):
        with pytest.raises(CannotConnect, match="pooler"):
            opening()
    assert [cursor.rowcount for cursor in executed if isinstance(cursor, psycopg.Cursor)] == [0, 0, 0]


def test_a_server_that_does_not_count_is_not_idle(
    cluster: Cluster, dba: psycopg.Connection, cleanup: ExitStack
) -> None:
    """With track_counts off there is no sample, so nothing cools down."""
    dba.execute(sql.SQL("ALTER DATABASE {} SET track_counts = off").format(sql.Identifier(dba.info.dbname)))
    connector = cluster.connector(dba.info.dbname)
    cleanup.callback(connector.close)
    with pytest.raises(ConnectorError, match="track_counts is off"):
        connector.sample()


def test_a_name_in_no_encoding_keeps_nothing_else_from_being_read(
    cluster: Cluster, dba: psycopg.Connection, cleanup: ExitStack
) -> None:
    """A database that takes any bytes as a name: that table is left out and named, all others are watched."""
    name = sql.Identifier(raw := f"raw_{dba.info.dbname}")
    encoding = "ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    dba.execute(sql.SQL("CREATE DATABASE {} {}").format(name, sql.SQL(encoding)))
    cleanup.callback(dba.execute, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
    with cluster.session(raw) as session:
        session.execute(b'CREATE TABLE "caf\xe9" (id int PRIMARY KEY); CREATE TABLE caf\xc3\xa9 (id int)')
        session.execute(b'CREATE ROLE "r\xf4le"; CREATE TABLE plain (id int); ALTER TABLE plain OWNER TO "r\xf4le"')
    connector = cluster.connector(raw)
    cleanup.callback(connector.close)
    keys = list(connector.catalog().units.key)
    assert {"public.plain", 'public."café"'} <= set(keys)
    assert not [key for key in keys if "caf" in key and "é" not in key and not key.endswith('_pkey"')]
    found = [each for each in connector.doctor() if each.code == "names_unreadable"]
    assert len(found) == 1
    assert 'public."caf\\xe9"' in found[0].sentence
    assert connector.sample().epoch
    with cluster.session(raw) as session:
        session.execute(b'CREATE TABLE parts (id int PRIMARY KEY, "n\xf6" text)')
    bundle = bundle_of(connector.catalog(), "public.parts")
    with pytest.raises(StatementFailed, match=r"public\.parts: it has a name.*not UTF-8"):
        connector.routes_split(bundle, Border(column="id", value="100"), "fast")
    other = cluster.connector(dba.info.dbname)  # where roles of all databases are seen
    cleanup.callback(other.close)
    assert other.doctor()
    assert other.sample().epoch
    with cluster.session(raw) as session:
        session.execute(b'DROP OWNED BY "r\xf4le"; DROP ROLE "r\xf4le"')


BLOCK, TIB = 8192, 2**40


@pytest.mark.parametrize(
    ("table", "toast"), [(100 * 2**20, 22 * TIB), (9 * TIB, 7.5 * TIB), (31 * TIB, 31 * TIB), (22 * TIB, 0)]
)
def test_sizes_of_many_tebibytes_are_added_up(
    dba: psycopg.Connection, connector: PostgresqlConnector, table: float, toast: float
) -> None:
    """The catalog counts pages in 32 bits without a sign, in a column with one; their sum takes more."""
    dba.execute("CREATE TABLE vast (id int, filler text); INSERT INTO vast VALUES (1, 'x')")
    for oid, size in (("oid", table), ("reltoastrelid", toast)):
        pages = int(size / BLOCK)
        signed = pages - 2**32 if pages >= 2**31 else pages
        which = f"(SELECT {oid} FROM pg_class WHERE relname = 'vast')"
        dba.execute(f"UPDATE pg_class SET relpages = {signed} WHERE oid = {which}".encode())
    units = connector.catalog().units
    row = list(units.key).index("public.vast")
    assert int(units.size_bytes[row]) == pytest.approx(table + toast, abs=4 * BLOCK)
    dba.execute("BEGIN; LOCK TABLE vast IN ACCESS EXCLUSIVE MODE")
    now = int(connector.exact_sizes(units.physical_id[row : row + 1])[0])
    assert now == pytest.approx(table + toast, abs=4 * BLOCK)
    dba.execute("ROLLBACK")


def test_the_size_of_toast_that_was_never_vacuumed_is_asked_for(
    dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """The catalog knows pages of the table and none of its TOAST, which has nearly all the bytes."""
    dba.execute("CREATE TABLE wide (id int, filler text); ALTER TABLE wide ALTER filler SET STORAGE EXTERNAL")
    dba.execute("INSERT INTO wide SELECT g, repeat('x', 20000) FROM generate_series(1, 200) AS g; ANALYZE wide")
    row = dba.execute("SELECT pg_table_size('wide')").fetchone()
    assert row is not None
    assert row[0] > 4_000_000
    units = connector.catalog().units
    assert int(units.size_bytes[list(units.key).index("public.wide")]) == pytest.approx(row[0], rel=0.02)


@pytest.mark.parametrize("change", ["made", "dropped"])
def test_a_tablespace_that_comes_or_goes_meanwhile(
    cluster: Cluster,
    dba: psycopg.Connection,
    connector: PostgresqlConnector,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    """Each unit is in its own space, or the catalog is to be read again; never is it in another's."""
    table(dba)
    folder = cluster.server.make_folder(f"between_{dba.info.dbname}")
    make = sql.SQL("CREATE TABLESPACE between_two LOCATION {}").format(sql.Literal(str(folder))).as_string(dba)
    changes = {
        "made": (
            ("reading the catalog", make),
            ("reading the catalog", "ALTER TABLE thing SET TABLESPACE between_two"),
        ),
        "dropped": (
            ("reading tablespaces", "ALTER TABLE thing SET TABLESPACE fast"),
            ("reading tablespaces", "DROP TABLESPACE between_two"),
        ),
    }
    if change == "dropped":
        dba.execute(make.encode())
        dba.execute("ALTER TABLE thing SET TABLESPACE between_two")
    session = connector._session

    def with_changes(method: Any) -> Any:
        def asked(*given: Any, doing: str, **more: Any) -> Any:
            for when, statement in changes[change]:
                if when == doing:
                    dba.execute(statement.encode())
            return method(*given, doing=doing, **more)

        return asked

    monkeypatch.setattr(session, "rows", with_changes(session.rows))
    monkeypatch.setattr(session, "copy", with_changes(session.copy))
    if change == "dropped":
        with pytest.raises(ObjectGone, match="dropped while the catalog was read"):
            connector.catalog()
        return
    catalog = connector.catalog()
    homes = {
        key: catalog.spaces[int(row)].name for key, row in zip(catalog.units.key, catalog.units.space, strict=True)
    }
    assert homes == {"public.thing": "between_two", "public.thing_pkey": "slow"}
    dba.execute("DROP TABLE thing; ")
    dba.execute("DROP TABLESPACE between_two")


@pytest.mark.postgresql
@pytest.mark.skipif(not installations(), reason="no PostgreSQL server here")
def test_a_dead_machine_is_noticed_within_minutes(cleanup: ExitStack) -> None:
    """Both ends of a session over TCP ask whether the other one lives, so that no lease outlives its agent for long."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {**SERVER_SETTINGS, "listen_addresses": "127.0.0.1", "port": str(port)}
    cleanup.enter_context(private_server(installations()[max(installations())], settings))
    tcp = PostgresqlSettings(host="127.0.0.1", port=port, dbname="postgres", user="postgres")
    connection = cleanup.enter_context(open_connection(tcp, name="test", options={}))
    names = ("idle", "interval", "count")
    by_server = [connection.execute(f"SHOW tcp_keepalives_{name}".encode()).fetchone() for name in names]
    assert by_server == [("60",), ("10",), ("6",)]
    with socket.socket(fileno=os.dup(connection.fileno())) as ours:
        options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        assert [ours.getsockopt(socket.IPPROTO_TCP, option) for option in options] == [60, 10, 6]


def test_who_cannot_have_its_lock_is_told_of_autovacuum(
    cluster: Cluster, dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """With lock_timeout below deadlock_timeout, a table that is being vacuumed cannot be had; the error says so."""
    table(dba)
    route = route_to(connector, "public.thing", "fast")
    with cluster.session(dba.info.dbname) as reader, reader.transaction():
        reader.execute("SELECT count(*) FROM thing")
        with pytest.raises(LockNotObtained) as caught:
            run(connector, route)
    assert "deadlock_timeout" in caught.value.advice
