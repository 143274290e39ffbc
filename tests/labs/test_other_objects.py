"""What has the approved name on a real server, but is another object, is not moved."""

from __future__ import annotations

import pytest

from agent.model.states import MoveState
from connectors.postgresql.connector import PostgresqlConnector
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
