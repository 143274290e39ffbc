"""What a split leaves behind: dead entries of moved rows and missing statistics, mended by an approved statement."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import ExitStack

import psycopg
import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow
from agent.model.states import MoveState
from agent.moving.leftovers import leftovers_of
from connectors.kit.contract import LockNotObtained, StatementFailed
from connectors.model.moves import Step
from connectors.postgresql.mover import PostgresqlMover
from tests.labs.postgresql import Cluster, client, flush, installations
from tests.labs.test_long_transactions import Place
from tests.labs.test_split import PARTS, AgentDied, approved, described, only_newest, orders, place
from tests.labs.test_split_rows import CONTENTS

__all__ = ["orders", "place"]
pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(not installations(), reason="no PostgreSQL server here"),
]
INSIDE = 1985  # the border: so few rows are moved that a plain VACUUM leaves their index entries
WIDE = '''UPDATE orders SET "a ""Note""" = repeat($$x$$, 500)'''  # so many pages that two of them are few
DEAD = "SELECT pg_stat_get_dead_tuples('orders_p0'::regclass)"
ANALYZED = "SELECT reltuples >= 0 FROM pg_class WHERE oid = 'orders'::regclass"
ENTRIES = "SELECT reltuples FROM pg_class WHERE oid = 'orders_pkey_p0'::regclass"  # that VACUUM left
VISIBLE = "SELECT relallvisible > 0 FROM pg_class WHERE oid = 'orders_p1'::regclass"


def one(dba: psycopg.Connection, question: str) -> object:
    """The one value of a query."""
    row = dba.execute(question.encode()).fetchone()
    assert row is not None
    return row[0]


def split_with(place: Place, execute: Callable[[PostgresqlMover, Step], None] | None = None) -> MoveRow:
    """The split of orders as its agent left it; ``execute``: in place of the mover's own."""
    place.dba.execute(WIDE.encode())
    flush(place.dba)
    place.dba.execute("VACUUM (ANALYZE) orders")
    with place.agent() as (watch, ledger), pytest.MonkeyPatch.context() as patch:
        _, number = approved(watch, ledger, INSIDE)
        if execute is not None:
            patch.setattr(PostgresqlMover, "execute", execute)
        watch.act()
        (row,) = ledger.moves.rows(proposal_id=number)
        return row


MENDED = (0, 1980, True, True)


def state_of(dba: psycopg.Connection) -> tuple[object, ...]:
    """By the counters, by what was found in an index, and by the catalog."""
    flush(dba)
    return tuple(one(dba, question) for question in (DEAD, ENTRIES, ANALYZED, VISIBLE))


def left(ledger: Ledger) -> list[str]:
    """What is remembered of moves."""
    return [each.sentence for each in leftovers_of(ledger, "real")]


@only_newest
def test_dead_entries_of_moved_rows_go(place: Place) -> None:
    """They are gone once the split is placed, although few pages hold them, and every part has its statistics."""
    row = split_with(place)
    assert row.state is MoveState.PLACED, row.reason
    assert "left behind" not in row.reason
    assert state_of(place.dba) == MENDED
    with place.agent() as (_, ledger):
        assert left(ledger) == []


@only_newest
def test_an_old_snapshot_keeps_them(place: Place, cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """VACUUM succeeds and removes nothing: the split is placed, says who is in the way, and is mended later."""
    user = cleanup.enter_context(cluster.session(dbname))
    user.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
    row = split_with(place)
    assert row.state is MoveState.PLACED, row.reason
    assert "holds an old snapshot" in row.reason
    assert state_of(place.dba) != MENDED
    user.execute("COMMIT")
    with place.agent() as (watch, ledger):
        assert len(left(ledger)) == 1
        watch.act()
        assert left(ledger) == []
    assert state_of(place.dba) == MENDED


@pytest.mark.parametrize("error", [LockNotObtained, StatementFailed])
@only_newest
def test_mending_that_fails(place: Place, error: type[LockNotObtained | StatementFailed]) -> None:
    """Whatever the reason, the split is placed, never failed; what is left is remembered and done by a later cycle."""
    execute = PostgresqlMover.execute

    def fails(mover: PostgresqlMover, step: Step) -> None:
        if "VACUUM" in step.sql:
            raise error("not now")
        execute(mover, step)

    row = split_with(place, fails)
    assert row.state is MoveState.PLACED, row.reason
    assert "not now" in row.reason
    with place.agent() as (watch, ledger):
        assert len(left(ledger)) == 1
        watch.act()
        assert left(ledger) == []
    assert state_of(place.dba) == MENDED


@only_newest
def test_an_agent_that_dies_before_mending(place: Place) -> None:
    """The next one finds the split done and does what is left of it."""
    execute = PostgresqlMover.execute

    def dies(mover: PostgresqlMover, step: Step) -> None:
        if "VACUUM" in step.sql:
            raise AgentDied
        execute(mover, step)

    with pytest.raises(AgentDied):
        split_with(place, dies)
    with place.agent() as (watch, ledger):
        watch.act()
        (row,) = ledger.moves.rows()
        assert (row.state, left(ledger)) == (MoveState.PLACED, []), row.reason
    assert state_of(place.dba) == MENDED


@only_newest
def test_a_split_ahead_is_analyzed(place: Place) -> None:
    """No row moves and none is dead; the table that users name has statistics of its own."""
    with place.agent() as (watch, ledger):
        approved(watch, ledger)
        watch.act()
        (row,) = ledger.moves.rows()
        assert (row.state, row.reason) == (MoveState.PLACED, "public.orders is partitioned")
    assert one(place.dba, ANALYZED) is True
    assert one(place.dba, "SELECT count(*) > 0 FROM pg_stats WHERE tablename = 'orders'") is True


@only_newest
def test_a_dump_restores_a_split_table(cluster: Cluster, dbname: str, place: Place, cleanup: ExitStack) -> None:
    """pg_dump writes both parts with their rows, and a restore has the same definition, rows and tablespaces."""
    assert split_with(place).state is MoveState.PLACED
    where = ["-h", str(cluster.server.folder), "-U", "postgres"]
    dump = subprocess.run([str(client("pg_dump", cluster.major)), *where, dbname], check=True, capture_output=True)
    restored = cleanup.enter_context(cluster.database())
    with cluster.session(restored) as other:
        other.execute("ALTER SCHEMA public OWNER TO postgres")
    subprocess.run(
        [str(client("psql", cluster.major)), *where, "-v", "ON_ERROR_STOP=1", "-q", restored], input=dump.stdout,
        check=True, capture_output=True,
    )  # fmt: skip
    with cluster.session(restored) as other:
        for question in (CONTENTS, PARTS):
            assert other.execute(question.encode()).fetchall() == place.dba.execute(question.encode()).fetchall()
    assert described(cluster, restored, "orders*") == described(cluster, dbname, "orders*")
