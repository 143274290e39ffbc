"""Splits that are struck in the middle of a statement: the server stops, disks are full, tables change, agents die."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial

import psycopg
import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow
from agent.model.clock import SystemClock
from agent.model.proposals import Proposal
from agent.model.states import MoveState
from agent.moving.leftovers import leftovers_of
from agent.planning.undo import propose_undo
from agent.service.watch import Watch
from connectors.kit.contract import ConnectorError
from connectors.model.moves import Step
from connectors.postgresql.mover import PostgresqlMover
from tests.labs.postgresql import Cluster, fill_disk, installations, running_cluster, wait_until
from tests.labs.test_close import RANGES
from tests.labs.test_long_transactions import Place
from tests.labs.test_split import ADD, KEY, LEFT, AgentDied, approved, orders, place
from tests.labs.test_split_rows import CONTENTS

__all__ = ["orders", "place"]
pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(not installations(), reason="no PostgreSQL server here"),
    pytest.mark.xdist_group("split faults"),
]
AHEAD, INSIDE = 1_000_000, 1805  # borders: beyond all rows, and among them
WAITS = (
    "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'hotplace move' AND wait_event_type = 'Lock'"
)
KIND = "SELECT relkind::text FROM pg_class WHERE oid = 'orders'::regclass"


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    """The newest server here, in place of the one that all tests share: this one is stopped."""
    with running_cluster(max(installations())) as running:
        yield running


@pytest.fixture
def cluster(own_cluster: Cluster) -> Cluster:
    """The server of this module."""
    return own_cluster


@dataclass(frozen=True, slots=True)
class Middle:
    """A statement of a split, and what another session does so that it waits in its middle."""

    border: int
    step: int
    held: str
    closes: bool = False  # it is one of a closing of the open part

    def approve(self, watch: Watch, ledger: Ledger) -> tuple[Proposal, int]:
        """Its proposal, which waits for its turn."""
        if not self.closes:
            return approved(watch, ledger, self.border)
        proposal = watch.close_part(KEY, str(self.border), "fast").proposal
        assert proposal is not None
        number = ledger.proposals.store(proposal)
        ledger.proposals.approve(number, who="ann", origin="test", digest=proposal.digest)
        return proposal, number


MIDDLES = {
    "check": Middle(AHEAD, 0, "LOCK TABLE orders IN ACCESS SHARE MODE"),
    "validate": Middle(AHEAD, 1, "LOCK TABLE orders IN SHARE UPDATE EXCLUSIVE MODE"),
    # Foreign keys come after the table has been renamed.
    "switch": Middle(AHEAD, 2, "LOCK TABLE customers IN ROW EXCLUSIVE MODE"),
    # Each row that moves is checked against its customer: some have moved by then.
    "move": Middle(INSIDE, 0, "SELECT FROM customers WHERE id = 5 FOR UPDATE"),
}


# Statements of closings, each of the part that the one before has left open.
CLOSINGS = (
    Middle(2 * AHEAD, 0, "LOCK TABLE orders_p1 IN ACCESS SHARE MODE", closes=True),
    Middle(3 * AHEAD, 1, "LOCK TABLE orders_p2 IN SHARE UPDATE EXCLUSIVE MODE", closes=True),
    # The next part has the foreign key, too.
    Middle(4 * AHEAD, 2, "LOCK TABLE customers IN ROW EXCLUSIVE MODE", closes=True),
)


class Struck:
    """An agent that carries a split out, and what happens before or during one of its statements."""

    def __init__(self, place: Place, cluster: Cluster, middle: Middle, *, lock_timeout: str = "10s") -> None:
        place.dba.execute("VACUUM (ANALYZE) orders")
        text = place.path.read_text()
        place.path.write_text(text.replace("lock_timeout: 0.2s, online", f"lock_timeout: {lock_timeout}, online"))
        self._place, self._cluster, self._middle = place, cluster, middle

    def act(self, before: Callable[[], object], during: Callable[[], object] | None = None) -> MoveRow:
        """The move once the agent has carried it out as far as it came.

        Args:
            before: the statement is sent.
            during: it, once it waits for a lock.
        """
        execute, strikers = PostgresqlMover.execute, list[threading.Thread]()

        def strikes(mover: PostgresqlMover, each: Step) -> None:
            if each == steps[self._middle.step] and not strikers:
                before()
                strikers.append(threading.Thread(target=self._when_it_waits, args=(during,)))
                strikers[0].start()
            execute(mover, each)

        with self._place.agent() as (watch, ledger):
            proposal, number = self._middle.approve(watch, ledger)
            steps = proposal.moves[0].route.steps
            with pytest.MonkeyPatch.context() as patch, suppress(ConnectorError):
                patch.setattr(PostgresqlMover, "execute", strikes)
                watch.act()
            strikers[0].join()
            (row,) = ledger.moves.rows(proposal_id=number)
            return row

    def _when_it_waits(self, during: Callable[[], object] | None) -> None:
        def waits() -> bool:
            row = session.execute(WAITS.encode()).fetchone()
            return row is not None and row[0]

        if during is None:
            return
        with self._cluster.session() as session:
            wait_until(waits, "the statement waits for its lock", 8.0)
            with suppress(psycopg.Error):  # the server may be gone then
                during()

    def act_to_the_end(self) -> None:
        """What the daemon does next, once a moment."""
        with self._place.agent() as (watch, ledger):
            until = time.monotonic() + 20
            while (row := ledger.moves.rows()[-1]).state is not MoveState.PLACED:
                assert time.monotonic() < until, row
                assert row.state not in {MoveState.FAILED, MoveState.SKIPPED}, row.reason
                with suppress(ConnectorError):  # the server went away; the next try connects again
                    watch.act()
                time.sleep(0.05)
            assert ledger.audit.verify().ok


@pytest.mark.parametrize("middle", MIDDLES)
def test_the_server_stops_in_the_middle(
    cluster: Cluster, dbname: str, place: Place, middle: str, monkeypatch: pytest.MonkeyPatch, cleanup: ExitStack
) -> None:
    """At once and with no checkpoint; once it is back the split is done, with the same rows and no constraint left."""
    monkeypatch.setattr("agent.moving.executor.LOOK_AGAIN_SECONDS", 0.1)
    seen, holder = place.dba.execute(CONTENTS).fetchall(), cluster.session(dbname)
    cleanup.callback(holder.close)

    def stop() -> None:
        cluster.server.stop("immediate")
        cluster.server.start()

    struck = Struck(place, cluster, MIDDLES[middle])
    row = struck.act(lambda: holder.execute(f"BEGIN; {MIDDLES[middle].held}".encode()), stop)
    assert row.state not in {MoveState.PLACED, MoveState.FAILED}, "it was not hit in its middle"
    struck.act_to_the_end()
    with cluster.session(dbname) as dba:
        assert dba.execute(CONTENTS).fetchall() == seen
        assert dba.execute(LEFT).fetchone() == (0,)
        assert dba.execute(KIND).fetchone() == ("p",)


@pytest.mark.parametrize("middle", ["switch", "move"])
def test_the_table_changes_in_the_middle(cluster: Cluster, dbname: str, place: Place, middle: str) -> None:
    """A column that comes while the statement waits for its lock: the split ends, and the table is plain."""
    seen, holder = place.dba.execute(CONTENTS).fetchall(), cluster.session(dbname)
    struck = Struck(place, cluster, MIDDLES[middle])
    row = struck.act(lambda: holder.execute("BEGIN; ALTER TABLE orders ADD more int"), holder.commit)
    holder.close()
    assert row.state in {MoveState.FAILED, MoveState.SKIPPED}, row
    assert "other columns than were approved" in row.reason
    assert place.dba.execute(KIND).fetchone() == ("r",)
    with place.agent() as (watch, _):
        watch.act()
    assert place.dba.execute(LEFT).fetchone() == (0,)
    place.dba.execute("ALTER TABLE orders DROP more")
    assert place.dba.execute(CONTENTS).fetchall() == seen


SWAPS = "ALTER TABLE orders RENAME TO orders_old; ALTER TABLE orders_new RENAME TO orders"
FREE = "INSERT INTO {} (id, customer) OVERRIDING SYSTEM VALUE VALUES (3000000, 5)"


def test_the_name_goes_to_another_table_while_the_constraint_waits(cluster: Cluster, dbname: str, place: Place) -> None:
    """The other table gets no constraint, which would refuse its rows at once."""
    holder = cluster.session(dbname)
    place.dba.execute("CREATE TABLE orders_new (id bigint PRIMARY KEY, customer int)")
    struck = Struck(place, cluster, MIDDLES["check"])
    row = struck.act(lambda: holder.execute(f"BEGIN; {SWAPS}".encode()), holder.commit)
    holder.close()
    assert row.state in {MoveState.FAILED, MoveState.SKIPPED}, row
    with place.agent() as (_, ledger):
        (step,) = ledger.moves.steps(row.id)  # nothing to drop afterwards: the statement took itself back
    assert "another object under the approved name" in step.detail
    assert place.dba.execute(LEFT).fetchone() == (0,)


@pytest.mark.parametrize(
    ("change", "now"),
    [
        ("ALTER TABLE orders RENAME TO orders_old", "orders_old"),
        ("CREATE SCHEMA more; ALTER TABLE orders SET SCHEMA more", "more.orders"),
        (f"CREATE TABLE orders_new (LIKE orders INCLUDING ALL); {SWAPS}", "orders"),
    ],
)
def test_the_table_gets_another_name_before_the_switch(cluster: Cluster, place: Place, change: str, now: str) -> None:
    """The constraint goes with it, and goes away: it would refuse rows once the border is reached."""
    row = Struck(place, cluster, MIDDLES["switch"]).act(lambda: place.dba.execute(change.encode()))
    assert row.state in {MoveState.FAILED, MoveState.SKIPPED}, row
    assert place.dba.execute(LEFT).fetchone() == (0,)
    place.dba.execute(FREE.format(now).encode())
    with place.agent() as (_, ledger):
        assert leftovers_of(ledger, "real") == ()


def test_a_stop_names_the_constraint_that_it_leaves(cluster: Cluster, dbname: str, place: Place) -> None:
    """A stop sends nothing, so the constraint stays; it is named with the statement that a person may send."""
    holder = cluster.session(dbname)

    def stop() -> None:
        with place.agent() as (_, ledger):
            ledger.stops.begin(["real"], who="ann", origin="test", reason="incident")
        holder.rollback()

    struck = Struck(place, cluster, MIDDLES["validate"])
    row = struck.act(lambda: holder.execute(f"BEGIN; {MIDDLES['validate'].held}".encode()), stop)
    holder.close()
    assert row.state is MoveState.APPROVED, row.reason
    assert place.dba.execute(LEFT).fetchone() == (1,)
    with place.agent() as (_, ledger):
        (left,) = leftovers_of(ledger, "real")
        assert "nothing is sent" in left.why
        place.dba.execute(left.sql.encode())
    place.dba.execute(FREE.format("orders").encode())


@pytest.mark.parametrize("middle", ["switch", "move"])
def test_the_disk_is_full(cluster: Cluster, place: Place, middle: str) -> None:
    """Nothing of it is there afterwards, in the catalog or on the disk, and the next proposal does it."""
    if not cluster.limited:
        pytest.skip("needs root and a file system that may be mounted")
    seen, files = place.dba.execute(CONTENTS).fetchall(), _files(cluster)
    filled = fill_disk(cluster.fast)
    struck = Struck(place, cluster, MIDDLES[middle])
    row = struck.act(filled.__enter__)
    filled.__exit__(None, None, None)
    assert "No space left on device" in row.reason
    assert place.dba.execute(CONTENTS).fetchall() == seen
    place.dba.execute("CHECKPOINT")
    assert _files(cluster) == files
    if row.state is MoveState.FAILED:
        struck.act(lambda: None)
    struck.act_to_the_end()
    assert place.dba.execute(CONTENTS).fetchall() == seen
    assert place.dba.execute(LEFT).fetchone() == (0,)


def _files(cluster: Cluster) -> set[str]:
    return {str(path) for path in cluster.fast.rglob("*") if path.is_file()}


def test_rows_whose_table_is_in_use(cluster: Cluster, dbname: str, place: Place) -> None:
    """A lock that is not had in time puts a split that moves rows off, and it is done once the table is free."""
    seen = place.dba.execute(CONTENTS).fetchall()
    with cluster.session(dbname) as user:
        struck = Struck(place, cluster, MIDDLES["move"], lock_timeout="0.2s")
        row = struck.act(lambda: user.execute("BEGIN; SELECT FROM orders LIMIT 1"))
        assert row.state is MoveState.APPROVED, row.reason
        assert place.dba.execute(KIND).fetchone() == ("r",)
    struck.act_to_the_end()
    assert place.dba.execute(CONTENTS).fetchall() == seen


def test_an_agent_that_dies_once_rows_have_moved(cluster: Cluster, place: Place) -> None:
    """The next one finds what was done, and does nothing twice."""
    seen = place.dba.execute(CONTENTS).fetchall()
    struck = Struck(place, cluster, MIDDLES["move"])
    execute = PostgresqlMover.execute

    def dies(mover: PostgresqlMover, each: Step) -> None:
        execute(mover, each)
        raise AgentDied

    with place.agent() as (watch, ledger), pytest.MonkeyPatch.context() as patch:
        approved(watch, ledger, INSIDE)
        patch.setattr(PostgresqlMover, "execute", dies)
        with pytest.raises(AgentDied):
            watch.act()
    struck.act_to_the_end()
    assert place.dba.execute(KIND).fetchone() == ("p",)
    assert place.dba.execute(CONTENTS).fetchall() == seen


@pytest.fixture
def split_place(place: Place) -> Place:
    """Where the table is split, with rows in both parts."""
    with place.agent() as (watch, ledger):
        approved(watch, ledger, AHEAD)
        watch.act()
    place.dba.execute(f"SELECT setval('orders_id_seq', {AHEAD})".encode())
    place.dba.execute(ADD.encode())
    return place


def ranges(dba: psycopg.Connection) -> list[tuple[str, str]]:
    """Each part, and where it ends."""
    return [(name, bound.partition(" TO ")[2]) for name, bound in dba.execute(RANGES)]


def test_the_server_stops_while_a_part_is_closed(
    cluster: Cluster, dbname: str, split_place: Place, monkeypatch: pytest.MonkeyPatch, cleanup: ExitStack
) -> None:
    """In the middle of each statement: once it is back the part has its end, with the same rows in the table."""
    monkeypatch.setattr("agent.moving.executor.LOOK_AGAIN_SECONDS", 0.1)
    seen = split_place.dba.execute(CONTENTS).fetchall()

    def stop() -> None:
        cluster.server.stop("immediate")
        cluster.server.start()

    for middle in CLOSINGS:
        split_place.dba = cluster.session(dbname)  # the one before is gone with its server
        cleanup.callback(split_place.dba.close)
        struck = Struck(split_place, cluster, middle)
        row = struck.act(partial(split_place.dba.execute, f"BEGIN; {middle.held}".encode()), stop)
        assert row.state not in {MoveState.PLACED, MoveState.FAILED}, "it was not hit in its middle"
        struck.act_to_the_end()
    with cluster.session(dbname) as dba:
        assert dba.execute(CONTENTS).fetchall() == seen
        assert dba.execute(LEFT).fetchone() == (0,)
        assert ranges(dba) == [
            ("orders_p0", "('1000000')"), ("orders_p1", "('2000000')"), ("orders_p2", "('3000000')"),
            ("orders_p3", "('4000000')"), ("orders_p4", "(MAXVALUE)"),
        ]  # fmt: skip


def test_agents_that_die_while_parts_are_closed(cluster: Cluster, split_place: Place) -> None:
    """After each statement, there and on the way back: the next agent finds what was done, and does the rest."""
    seen, before = split_place.dba.execute(CONTENTS).fetchall(), ranges(split_place.dba)
    moves = []
    for middle in CLOSINGS:
        with split_place.agent() as (watch, ledger):
            moves.append(_dies(watch, middle.step, middle.approve(watch, ledger)))
        Struck(split_place, cluster, middle).act_to_the_end()
        assert split_place.dba.execute(LEFT).fetchone() == (0,)
    assert len(ranges(split_place.dba)) == len(before) + len(CLOSINGS)
    for step, number in enumerate(reversed(moves)):
        with split_place.agent() as (watch, ledger):
            rows = ledger.moves.rows(proposal_id=number)
            back = propose_undo(rows, watch.database, watch.connector, ledger, SystemClock().now())
            proposal = ledger.proposals.row(back).proposal
            ledger.proposals.approve(back, who="ann", origin="test", digest=proposal.digest)
            _dies(watch, step, (proposal, back))
        Struck(split_place, cluster, CLOSINGS[step]).act_to_the_end()
        assert split_place.dba.execute(LEFT).fetchone() == (0,)
    assert ranges(split_place.dba) == before
    assert split_place.dba.execute(CONTENTS).fetchall() == seen


def _dies(watch: Watch, step: int, approved_one: tuple[Proposal, int]) -> int:
    """The agent dies once that statement is done; the proposal's number."""
    proposal, number = approved_one
    execute = PostgresqlMover.execute

    def dies(mover: PostgresqlMover, each: Step) -> None:
        execute(mover, each)
        if each == proposal.moves[0].route.steps[step]:
            raise AgentDied

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PostgresqlMover, "execute", dies)
        with pytest.raises(AgentDied):
            watch.act()
    return number


def test_a_part_that_is_in_use_or_changes(cluster: Cluster, dbname: str, split_place: Place) -> None:
    """A lock that is not had puts a closing off; a column that comes in its middle ends it, and nothing is left."""
    place, before = split_place, ranges(split_place.dba)
    seen = place.dba.execute(CONTENTS).fetchall()
    with cluster.session(dbname) as user:
        struck = Struck(place, cluster, CLOSINGS[0], lock_timeout="0.2s")
        row = struck.act(lambda: user.execute("BEGIN; SELECT FROM orders LIMIT 1"))
        assert row.state is MoveState.APPROVED, row.reason
        assert (ranges(place.dba), place.dba.execute(LEFT).fetchone()) == (before, (0,))
    struck.act_to_the_end()
    last = Middle(3 * AHEAD, 2, "", closes=True)
    with cluster.session(dbname) as user:
        struck = Struck(place, cluster, last, lock_timeout="10s")
        row = struck.act(lambda: user.execute("BEGIN; ALTER TABLE orders ADD more int"), user.commit)
    assert row.state in {MoveState.FAILED, MoveState.SKIPPED}, row
    assert "other columns than were approved" in row.reason
    with place.agent() as (watch, _):
        watch.act()
    assert place.dba.execute(LEFT).fetchone() == (0,)
    place.dba.execute("ALTER TABLE orders DROP more")
    assert place.dba.execute(CONTENTS).fetchall() == seen
