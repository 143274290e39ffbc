"""Whom a move would wait for is seen, and named, before a statement is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import psycopg
import pytest

from connectors.model.observation import Home
from connectors.postgresql.connector import PostgresqlConnector
from connectors.postgresql.mover import PostgresqlMover
from tests.contract.asking import route_to, run
from tests.labs.postgresql import Cluster, flush, wait_until

TABLE = """
    CREATE TABLE thing (id int PRIMARY KEY, filler text);
    INSERT INTO thing SELECT g, repeat('x', 500) FROM generate_series(1, 5000) AS g;
    CREATE TABLE other (id int)
"""


@pytest.fixture
def thing(dba: psycopg.Connection) -> None:
    """A table with a primary key in the slow space, and another one."""
    dba.execute(TABLE.encode())


@pytest.mark.usefixtures("thing")
def test_old_transactions_are_named(
    cluster: Cluster, dba: psycopg.Connection, dbname: str, connector: PostgresqlConnector
) -> None:
    """A snapshot is in the way of a rebuild only, a lock in that of every way; a young transaction is in no way."""
    table, index = (route_to(connector, key, "fast") for key in ("public.thing", "public.thing_pkey"))
    with cluster.session(dbname) as old:
        old.execute("SET application_name = 'report'")

        def is_in_no_way() -> bool:
            old.execute("ROLLBACK")
            old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            old.execute("SELECT count(*) FROM other")
            return connector.blockers(index) == ()

        # On a busy machine it is no longer young when the question arrives.
        wait_until(is_in_no_way, "young transactions end soon")
        dba.execute("SELECT pg_sleep(0.6)")  # longer than lock_timeout, and than a quarter of online_lock_timeout
        (snapshot,) = connector.blockers(index)
        assert (
            f"process {old.info.backend_pid} (report, user postgres, local): idle in transaction (SELECT) since 2"
            in str(snapshot)
        )
        assert snapshot.sentence.endswith("holds an old snapshot")
        assert not snapshot.gives_way
        assert connector.blockers(table) == ()
        assert connector.blockers(index, tidying=True) == (), "to drop what is left waits for no snapshot"
        old.execute("SELECT count(*) FROM thing")
        for route, tidying in ((table, False), (index, False), (index, True)):
            (holder,) = connector.blockers(route, tidying=tidying)
            assert holder.sentence.endswith("holds AccessShareLock on it")
    assert connector.blockers(table) == connector.blockers(index) == ()


@contextmanager
def autovacuum(cluster: Cluster, dba: psycopg.Connection, table: str) -> Iterator[None]:
    """An autovacuum worker is at that table, and would be for minutes."""
    slowly = "autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_limit = 1"
    dba.execute(f"ALTER TABLE {table} SET ({slowly}, autovacuum_vacuum_cost_delay = 100)".encode())
    dba.execute(f"DELETE FROM {table} WHERE id % 2 = 0".encode())
    flush(dba)
    with cluster.session() as admin:
        admin.execute("ALTER SYSTEM SET autovacuum = on")
        admin.execute("ALTER SYSTEM SET autovacuum_naptime = '1s'")
        admin.execute("SELECT pg_reload_conf()")
        try:
            wait_until(lambda: _vacuumed(dba, table), "an autovacuum worker is at the table")
            yield
        finally:
            admin.execute("ALTER SYSTEM RESET autovacuum_naptime")
            admin.execute("ALTER SYSTEM RESET autovacuum")
            admin.execute("SELECT pg_reload_conf()")


def _vacuumed(dba: psycopg.Connection, table: str) -> bool:
    found = dba.execute("SELECT count(*) FROM pg_stat_progress_vacuum WHERE relid = %s::regclass", (table,)).fetchone()
    return found == (1,)


@pytest.mark.usefixtures("thing")
def test_autovacuum_gives_way(cluster: Cluster, dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """A worker is told apart from a session; the move waits as long as it takes to make it give way, and not longer."""
    route = route_to(connector, "public.thing", "fast")
    assert route.prologue[0] == "SET lock_timeout = '500ms'"
    assert route.patient_prologue[0] == "SET lock_timeout = '1500ms'", "deadlock_timeout and lock_timeout"
    assert "1.5 s where only autovacuum, which gives way then, and younger transactions at work hold it" in route.locks
    with autovacuum(cluster, dba, "thing"):
        (worker,) = connector.blockers(route)
        assert worker.gives_way
        assert worker.sentence.startswith("autovacuum (process ")
        run(connector, route)
    assert connector.inspect(route).home is Home.TARGET


@pytest.mark.usefixtures("thing")
def test_a_session_next_to_autovacuum_makes_the_move_impatient(
    cluster: Cluster, dba: psycopg.Connection, dbname: str, connector: PostgresqlConnector
) -> None:
    """That one of both gives way does not shorten the other: who queues behind the move would wait for it as long."""
    route = route_to(connector, "public.thing", "fast")
    with autovacuum(cluster, dba, "thing"), cluster.session(dbname) as other, connector.open_mover() as mover:
        assert isinstance(mover, PostgresqlMover)
        mover.prepare(route)
        assert mover._session.execute("SHOW lock_timeout").fetchone() == ("1500ms",)
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM thing")
        dba.execute("SELECT pg_sleep(0.6)")  # a younger transaction is no blocker
        assert {each.gives_way for each in connector.blockers(route)} == {False, True}
        mover.prepare(route)
        assert mover._session.execute("SHOW lock_timeout").fetchone() == ("500ms",)


@pytest.mark.usefixtures("thing")
def test_a_transaction_that_should_end_in_time_is_waited_for(
    cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack
) -> None:
    """Of a busy table somebody is always older than lock_timeout: the move waits its patient time all the same."""
    dba.execute(f"ALTER DATABASE {dbname} SET deadlock_timeout = '5s'".encode())  # patience enough for a busy machine
    connector = cluster.connector(dbname)
    cleanup.callback(connector.close)
    route = route_to(connector, "public.thing", "fast")
    with cluster.session(dbname) as busy, connector.open_mover() as mover:
        assert isinstance(mover, PostgresqlMover)
        busy.execute("BEGIN")
        busy.execute("SELECT count(*) FROM thing")
        wait_until(lambda: connector.blockers(route) != (), "it is older than lock_timeout")
        (idle,) = connector.blockers(route)
        assert not idle.gives_way

        def work() -> None:
            with suppress(psycopg.errors.QueryCanceled):
                busy.execute("SELECT pg_sleep(5)")

        working = threading.Thread(target=work)
        working.start()
        try:
            wait_until(lambda: connector.blockers(route)[0].gives_way, "it is at work again")
            mover.prepare(route)
            assert mover._session.execute("SHOW lock_timeout").fetchone() == ("5500ms",)
        finally:
            busy.cancel_safe()
            working.join(30)


@pytest.mark.usefixtures("thing")
def test_without_patience_autovacuum_is_waited_for(
    cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack
) -> None:
    """Where deadlock_timeout is so long that others would queue for too long, a worker is a blocker like any other."""
    dba.execute(f"ALTER DATABASE {dbname} SET deadlock_timeout = '1min'".encode())
    connector = cluster.connector(dbname)
    cleanup.callback(connector.close)
    route = route_to(connector, "public.thing", "fast")
    assert route.patient_prologue == ()
    assert "autovacuum" not in route.locks


@pytest.mark.usefixtures("thing")
def test_a_prepared_transaction_is_named_and_only_its_table_waits(
    cluster: Cluster, dba: psycopg.Connection, dbname: str, connector: PostgresqlConnector
) -> None:
    """It has no session, and may hold its locks for days; before a restart and after one it is the same."""
    dba.execute("CREATE TABLE free_one (id int PRIMARY KEY)")
    keys = "public.thing", "public.thing_pkey"
    with cluster.session(dbname) as other:
        other.execute("BEGIN; UPDATE thing SET filler = 'y' WHERE id = 1; PREPARE TRANSACTION 'order 7'")
    try:
        dba.execute("SELECT pg_sleep(0.6)")
        for key in keys:
            (holder,) = connector.blockers(route_to(connector, key, "fast"))
            assert "order 7" in holder.sentence
            assert "prepared" in holder.sentence
            assert not holder.gives_way
        assert connector.blockers(route_to(connector, "public.free_one", "fast")) == ()
        assert connector.blockers(route_to(connector, "public.free_one_pkey", "fast")) == ()
    finally:
        dba.execute("ROLLBACK PREPARED 'order 7'")
    assert connector.blockers(route_to(connector, keys[0], "fast")) == ()
