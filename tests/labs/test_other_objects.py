"""What has the approved name on a real server, but is another object, is not moved."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest

from agent.model.states import MoveState
from connectors.postgresql.connector import PostgresqlConnector
from tests.labs.postgresql import Cluster, wait_until
from tests.labs.test_long_transactions import TABLE, Place, place, pytestmark, the_move

__all__ = ["place", "pytestmark"]


@pytest.mark.parametrize("key", ["public.thing", "public.thing_pkey"])
def test_a_table_made_again_is_skipped(place: Place, connector: PostgresqlConnector, key: str) -> None:
    """Dropped and made again under its name between approval and move, with its index."""
    place.approve(connector, key)
    place.dba.execute("DROP TABLE thing")
    place.dba.execute(TABLE.encode())
    with place.agent() as (watch, ledger):
        watch.act()
        row = the_move(ledger)
    assert row.state is MoveState.SKIPPED
    assert "another object under the approved name" in row.reason


def test_an_index_that_was_rebuilt_is_still_the_same(place: Place, connector: PostgresqlConnector) -> None:
    """A rebuild gives it another id; its table, and so what was approved, is the same."""
    place.approve(connector, "public.thing_pkey")
    before = place.dba.execute("SELECT 'thing_pkey'::regclass::oid").fetchone()
    place.dba.execute("REINDEX INDEX CONCURRENTLY thing_pkey")
    assert before != place.dba.execute("SELECT 'thing_pkey'::regclass::oid").fetchone()
    with place.agent() as (watch, ledger):
        watch.act()
        row = the_move(ledger)
    assert row.state is MoveState.PLACED, row.reason


PARTITIONED = """
    ALTER TABLE thing RENAME TO thing_old; ALTER INDEX thing_pkey RENAME TO thing_old_pkey;
    CREATE TABLE thing (LIKE thing_old) PARTITION BY RANGE (id);
    ALTER TABLE thing ATTACH PARTITION thing_old FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
    CREATE UNIQUE INDEX thing_pkey ON thing (id);
"""
VIEW = "ALTER TABLE thing RENAME TO thing_old; CREATE VIEW thing AS SELECT * FROM thing_old"


@pytest.mark.parametrize(
    ("key", "changed"),
    [("public.thing", PARTITIONED), ("public.thing_pkey", PARTITIONED), ("public.thing", VIEW)],
)
def test_what_has_no_storage_is_not_moved(place: Place, connector: PostgresqlConnector, key: str, changed: str) -> None:
    """A table that was partitioned since, or a view: nobody has approved to rebuild the indexes of all parts."""
    place.approve(connector, key)
    place.dba.execute(changed.encode())
    with place.agent() as (watch, ledger):
        watch.act()
        row = the_move(ledger)
        assert ledger.moves.steps(row.id) == []
    assert row.state is MoveState.SKIPPED
    assert "another object under the approved name" in row.reason


WAITS = (
    b"SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'hotplace move' AND wait_event_type = 'Lock'"
)
SPACES = b"SELECT oid, reltablespace, relfilenode FROM pg_class WHERE relname LIKE 'thing%' ORDER BY oid"
OTHERS = {
    "thing": "ALTER TABLE thing RENAME TO thing_old; ALTER TABLE thing_new RENAME TO thing",
    "thing_pkey": "ALTER INDEX thing_pkey RENAME TO thing_old_pkey; ALTER INDEX thing_new_pkey RENAME TO thing_pkey",
}


@pytest.mark.parametrize(
    ("name", "way", "same"), [("thing", "fast", True), ("thing_pkey", "fast", True), ("thing_pkey", "online", False)]
)
def test_a_name_that_goes_to_another_while_the_statement_waits(
    place: Place, cluster: Cluster, dbname: str, cleanup: ExitStack, name: str, way: str, same: bool
) -> None:
    """The server looks the name up again behind the lock: what has it then is not approved, and stays where it is.

    An online rebuild has no transaction that could be rolled back: it has rebuilt the other index, and says so.
    """
    place.path.write_text(place.path.read_text().replace("lock_timeout: 0.2s, online", "lock_timeout: 10s, online"))
    place.path.write_text(place.path.read_text().replace("online_lock_timeout: 0.8s", "online_lock_timeout: 10s"))
    place.dba.execute("CREATE TABLE thing_new (id int PRIMARY KEY); INSERT INTO thing_new SELECT generate_series(1, 9)")
    connector = cluster.connector(dbname, index_route=way)
    cleanup.callback(connector.close)
    place.approve(connector, f"public.{name}")
    before = place.dba.execute(SPACES).fetchall()
    threads: list[threading.Thread] = []
    with cluster.session(dbname) as holder, place.agent(lambda: threads[0].start()) as (watch, ledger):
        holder.execute(f"BEGIN; {OTHERS[name]}".encode())

        def swap() -> None:
            with cluster.session() as session:
                wait_until(lambda: bool(session.execute(WAITS).fetchone() == (True,)), "it waits for its lock")
            holder.execute("COMMIT")

        threads.append(threading.Thread(target=swap))
        watch.act()
        threads[0].join()
        row = the_move(ledger)
    assert row.state in {MoveState.FAILED, MoveState.SKIPPED}, row
    assert "another object under the approved name" in row.reason
    assert (place.dba.execute(SPACES).fetchall() == before) is same
