"""Long transactions and moves on a real server: waits are named, nothing stays behind, nothing is built twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from agent.config.files import load
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow
from agent.ledger.state_names import WAITING_MOVES
from agent.model.clock import SystemClock
from agent.model.proposals import ProposedMove, with_ways_back
from agent.model.states import MoveState
from agent.moving.leftovers import leftovers_of
from agent.moving.progress import Listener, MoveEvent
from agent.service.watch import Watch
from connectors.kit.contract import Lease, LeaseHeld
from connectors.model.moves import Route
from connectors.model.observation import Inspection
from connectors.postgresql.connector import PostgresqlConnector
from tests.contract.asking import route_to
from tests.labs.postgresql import Cluster, installations, wait_until
from tests.labs.test_moving import every_route
from tests.unit.samples import a_move, a_proposal

THING = "public.thing"
NEWEST = max(installations(), default=0)
pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(not installations(), reason="no PostgreSQL server here"),
    pytest.mark.parametrize(
        "cluster", [pytest.param(NEWEST, marks=pytest.mark.xdist_group(f"postgresql {NEWEST}"))], indirect=True
    ),
]
TABLE = """
    CREATE TABLE thing (id int PRIMARY KEY, filler text);
    INSERT INTO thing SELECT g, repeat('x', 500) FROM generate_series(1, 20000) AS g;
"""
CONFIG = """
dry_run: false
ledger: {{path: ledger.db}}
databases:
  - name: real
    engine: postgresql
    connection: {{host: {host}, dbname: {dbname}, user: postgres, lock_timeout: 0.2s, online_lock_timeout: 0.8s}}
    retries: 1
    tiers:
      - {{name: ssd, spaces: [fast]}}
      - {{name: hdd, spaces: [{{name: slow, capacity: 1 GiB}}]}}
"""


class Place:
    """A table in the slow space, and agents that come and go."""

    def __init__(self, folder: Path, cluster: Cluster, dba: psycopg.Connection) -> None:
        dba.execute(TABLE.encode())
        dba.execute("VACUUM (ANALYZE) thing")
        self.dba = dba
        self.path = folder / "hotplace.yaml"
        self.path.write_text(CONFIG.format(host=cluster.server.folder, dbname=dba.info.dbname))
        self._ledger_path = folder / "ledger.db"

    @contextmanager
    def agent(
        self, before_statement: Callable[[], object] | None = None, listener: Listener | None = None
    ) -> Iterator[tuple[Watch, Ledger]]:
        """One agent's life; what is given happens once, when it has looked and is about to send a move's statement."""
        to_do = [] if before_statement is None else [before_statement]

        def hear(event: MoveEvent) -> None:
            if to_do and event.sentence.startswith(("rebuild ", "copy ")):
                to_do.pop()()

        config, clock = load(self.path), SystemClock()
        with Ledger.open(self._ledger_path, clock) as ledger:
            watch = Watch(
                config.database(), ledger, clock, level=config.level, dry_run=config.dry_run, listener=listener or hear
            )
            try:
                yield watch, ledger
            finally:
                watch.close(save=False)

    def approve(self, connector: PostgresqlConnector, key: str) -> Route:
        """Have the move of that unit to the fast space approved; its route."""
        route = route_to(connector, key, "fast")
        with self.agent() as (watch, ledger):
            now = SystemClock().now()
            move: ProposedMove = a_move(key=key, route=route, size_bytes=route.bundle.size_bytes)
            proposal = a_proposal(
                move, database="real", fingerprint=watch.identity.fingerprint, created_at=now,
                expires_at=now.replace(year=now.year + 1),
            )  # fmt: skip
            number = ledger.proposals.store(proposal)
            ledger.proposals.approve(number, who="ann", origin="test", digest=proposal.digest)
        return route

    def indexes(self) -> dict[str, tuple[str, bool]]:
        """Every index of the table with its space, and whether it is valid."""
        found = self.dba.execute(
            "SELECT c.relname, coalesce(t.spcname, 'slow'), i.indisvalid FROM pg_index AS i"
            " JOIN pg_class AS c ON c.oid = indexrelid LEFT JOIN pg_tablespace AS t ON t.oid = c.reltablespace"
            " WHERE indrelid = 'thing'::regclass"
        )
        return {name: (space, valid) for name, space, valid in found}

    def fast_bytes(self) -> int:
        """That the fast space holds."""
        row = self.dba.execute("SELECT pg_tablespace_size('fast')").fetchone()
        assert row is not None
        return int(row[0])


@pytest.fixture
def place(tmp_path: Path, cluster: Cluster, dba: psycopg.Connection) -> Place:
    """Such a place."""
    return Place(tmp_path, cluster, dba)


def the_move(ledger: Ledger) -> MoveRow:
    """The only one."""
    (row,) = ledger.moves.rows(database="real")
    return row


def act_until(watch: Watch, ledger: Ledger, true: Callable[[], bool]) -> None:
    """What the daemon does, until that is true or the move has failed."""

    def acted() -> bool:
        watch.act()
        assert the_move(ledger).state not in {MoveState.FAILED, MoveState.SKIPPED}, the_move(ledger).reason
        return true()

    wait_until(acted, "what the agent was to do")


def use(session: psycopg.Connection, level: str = "READ COMMITTED") -> None:
    """Read the table and stay in the transaction."""
    session.execute(f"BEGIN ISOLATION LEVEL {level}".encode())
    session.execute("SELECT count(*) FROM thing")


def sent(ledger: Ledger, word: str) -> int:
    """How many statements with that word were sent, or about to be."""
    return sum(word in step.sql for step in ledger.moves.steps(the_move(ledger).id))


def test_an_old_snapshot_is_waited_for(
    cluster: Cluster, dbname: str, connector: PostgresqlConnector, place: Place
) -> None:
    """Nothing is sent while it is there, it is named to who looks, and once it has ended the index moves; no junk."""
    route = place.approve(connector, "public.thing_pkey")
    before = place.fast_bytes()
    with place.agent() as (watch, ledger):
        with cluster.session(dbname) as dump:
            use(dump, "REPEATABLE READ")
            place.dba.execute("SELECT pg_sleep(0.3)")
            assert [watch.act() for _ in range(3)] == [(), (), ()]
            assert the_move(ledger).state is MoveState.APPROVED
            waiting = ledger.state.load_document("real", WAITING_MOVES)
            assert waiting is not None
            assert f"waits for process {dump.info.backend_pid}" in waiting[1][str(the_move(ledger).id)]
            assert ledger.moves.steps(the_move(ledger).id) == []
            assert place.fast_bytes() == before
        act_until(watch, ledger, lambda: the_move(ledger).state is MoveState.PLACED)
        assert place.indexes() == {"thing_pkey": ("fast", True)}
        assert place.fast_bytes() - before <= 1.2 * route.bundle.size_bytes
        assert leftovers_of(ledger, "real") == ()


def test_what_cannot_be_dropped_is_remembered(
    cluster: Cluster, dbname: str, connector: PostgresqlConnector, place: Place
) -> None:
    """A dump that begins with the rebuild: one leftover, told, and never two; dropped once the dump has ended."""
    route = place.approve(connector, "public.thing_pkey")
    before = place.fast_bytes()
    with cluster.session(dbname) as dump:
        with place.agent(lambda: use(dump, "REPEATABLE READ")) as (watch, ledger):
            watch.act()
            row = the_move(ledger)
            assert row.state is MoveState.APPROVED
            assert f"process {dump.info.backend_pid}" in row.reason
            assert place.indexes() == {"thing_pkey": ("slow", True), "thing_pkey_ccnew": ("fast", False)}
            (left,) = leftovers_of(ledger, "real")
            assert (left.move, left.space, left.by_hand) == (row.id, "fast", False)
            assert left.bytes == place.fast_bytes() - before or left.bytes
            assert watch.snapshot.leftovers == (left,)
        with place.agent() as (watch, ledger):  # after a restart
            assert watch.snapshot.leftovers == (left,)
            place.dba.execute("SELECT pg_sleep(0.3)")
            for _ in range(3):
                watch.act()
            assert sent(ledger, "REINDEX") == 1, "no try while a leftover is there"
            assert sent(ledger, "DROP") == 0, "it would wait for the dump, too"
            assert place.fast_bytes() - before <= 1.2 * route.bundle.size_bytes
            dump.close()
            act_until(watch, ledger, lambda: the_move(ledger).state is MoveState.PLACED)
            assert place.indexes() == {"thing_pkey": ("fast", True)}
            assert not leftovers_of(ledger, "real")
            assert not watch.snapshot.leftovers


def test_what_is_left_of_an_index_that_was_dropped_goes(
    cluster: Cluster, dbname: str, connector: PostgresqlConnector, place: Place
) -> None:
    """The index goes while what its rebuild has left cannot: that is removed all the same, and the move skipped."""
    place.approve(connector, "public.thing_pkey")
    with cluster.session(dbname) as dump, place.agent(lambda: use(dump, "REPEATABLE READ")) as (watch, ledger):
        watch.act()
        assert "thing_pkey_ccnew" in place.indexes()
        dump.close()
        place.dba.execute("ALTER TABLE thing DROP CONSTRAINT thing_pkey")
        wait_until(lambda: watch.act() is not None and not place.indexes(), "what was built is dropped")
        assert the_move(ledger).state is MoveState.SKIPPED
        assert leftovers_of(ledger, "real") == ()


@pytest.mark.parametrize("end", ["timed out", "killed"])
def test_arrived_means_finished(
    cluster: Cluster, dbname: str, connector: PostgresqlConnector, place: Place, end: str
) -> None:
    """The new index is in use and the removal of the old one failed: it is not built again, the old one goes later."""
    place.approve(connector, "public.thing_pkey")
    reader = cluster.session(dbname)  # of which stays a lock, and no snapshot
    with reader, place.agent(lambda: use(reader)) as (watch, ledger):
        acting = threading.Thread(target=watch.act)
        acting.start()
        if end == "killed":
            wait_until(lambda: "thing_pkey_ccold" in place.indexes(), "the new index has taken its place")
            place.dba.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hotplace move'"
            )
        acting.join(30)
        act_until(watch, ledger, lambda: the_move(ledger).state is MoveState.PLACED)
        assert place.indexes() == {"thing_pkey": ("fast", True), "thing_pkey_ccold": ("slow", False)}
        assert [left.space for left in leftovers_of(ledger, "real")] == ["slow"]
        assert "left behind" in the_move(ledger).reason
        reader.close()
        act_until(watch, ledger, lambda: not leftovers_of(ledger, "real"))
        assert place.indexes() == {"thing_pkey": ("fast", True)}
        assert sent(ledger, "REINDEX") == 1
        assert sent(ledger, "DROP") <= 2, "the reader may still have been young after the first look"


def test_a_reader_is_waited_for_and_others_hardly_wait(
    cluster: Cluster, dbname: str, connector: PostgresqlConnector, place: Place
) -> None:
    """A reader comes just before the statement and stays: one try, then it is named; the move goes on when it ends."""
    place.approve(connector, "public.thing")
    longest, done = [0.0], threading.Event()

    def look_up() -> None:
        with cluster.session(dbname) as other:
            while not done.wait(0.01):
                began = time.monotonic()
                other.execute("SELECT 1 FROM thing WHERE id = 1")
                longest[0] = max(longest[0], time.monotonic() - began)

    others = threading.Thread(target=look_up)
    reader = cluster.session(dbname)
    with reader, place.agent(lambda: use(reader)) as (watch, ledger):
        others.start()
        try:
            ends = time.monotonic() + 3.0
            while time.monotonic() < ends:
                watch.act()
                time.sleep(0.05)
            row = the_move(ledger)
            assert row.state is MoveState.APPROVED
            assert f"process {reader.info.backend_pid}" in row.reason
            assert "idle in transaction (SELECT) since" in row.reason
            assert "holds AccessShareLock on it" in row.reason
            assert sent(ledger, "ALTER TABLE") == 1, "no try while it is there"
        finally:
            done.set()
            others.join(30)
        assert longest[0] < 0.2 + 0.6, "nobody queues behind the request for longer than lock_timeout"
        reader.close()
        act_until(watch, ledger, lambda: the_move(ledger).state is MoveState.PLACED)


@pytest.mark.parametrize("index_way", [0, 1])
def test_what_a_group_moved_goes_back(connector: PostgresqlConnector, place: Place, index_way: int) -> None:
    """Its end fails, and the index goes back, by a rebuild or a copy, with the statement that was approved."""
    routes = [every_route(connector, key, "fast")[way] for key, way in (("public.thing_pkey", index_way), (THING, 0))]
    shown = routes[0].undo_steps[0].sql

    def hear(event: MoveEvent) -> None:
        if event.sentence == "copy public.thing to fast":
            place.dba.execute("ALTER TABLE thing RENAME TO renamed")

    with place.agent(listener=hear) as (watch, ledger):
        now = SystemClock().now()
        first, last = (
            a_move(
                ordinal, key=route.bundle.key, route=route, size_bytes=route.bundle.size_bytes, group=1,
                wait_saved_per_hour=saved, from_space="slow", to_space="fast",
            )
            for ordinal, route, saved in zip((1, 2), routes, (-30.0, 900.0), strict=True)
        )  # fmt: skip
        proposal = a_proposal(
            *with_ways_back((first, last)), database="real", fingerprint=watch.identity.fingerprint, created_at=now,
            expires_at=now.replace(year=now.year + 1),
        )  # fmt: skip
        number = ledger.proposals.store(proposal)
        ledger.proposals.approve(number, who="ann", origin="test", digest=proposal.digest)
        watch.act()
        assert [row.state.value for row in ledger.moves.rows(proposal_id=number)] == ["undo_proposed", "failed"]
        watch.act()
        watch.verify()
        (back,) = ledger.moves.rows(proposal_id=number + 1)
        assert (back.state.value, [step.sql for step in ledger.moves.steps(back.id)]) == ("settling", [shown])
        assert ledger.moves.rows(proposal_id=number)[0].state is MoveState.UNDONE
        assert watch.snapshot.groups_left_worse == 0
    place.dba.execute("ALTER TABLE renamed RENAME TO thing")
    assert place.indexes() == {"thing_pkey": ("slow", True)}


def test_who_has_lost_the_lease_drops_nothing(
    cluster: Cluster, dbname: str, connector: PostgresqlConnector, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another agent takes over just before an unfinished index would be dropped: that may be what it builds now."""
    place.dba.execute("CREATE INDEX thing_pkey_ccnew ON thing (id)")
    place.dba.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'thing_pkey_ccnew'::regclass")
    place.approve(connector, "public.thing_pkey")
    inspect = PostgresqlConnector.inspect
    taken: list[Lease] = []

    def taken_over(self: PostgresqlConnector, route: Route) -> Inspection:
        if not taken:
            place.dba.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE application_name LIKE 'hotplace lease%'"
            )
            taken.append(cluster.connector(dbname).acquire_lease("another agent"))
        return inspect(self, route)

    with place.agent() as (watch, ledger):
        with monkeypatch.context() as patch:
            patch.setattr(PostgresqlConnector, "inspect", taken_over)
            with pytest.raises(LeaseHeld, match="another agent"):
                watch.act()
        assert ledger.moves.steps(the_move(ledger).id) == []
        assert "thing_pkey_ccnew" in place.indexes()
        taken[0].release()
        act_until(watch, ledger, lambda: the_move(ledger).state is MoveState.PLACED)


def test_what_others_have_left_goes_first(connector: PostgresqlConnector, place: Place) -> None:
    """An unfinished index from before is dropped before the first try, which then finds the name free."""
    place.dba.execute("CREATE INDEX thing_pkey_ccnew ON thing (id)")
    place.dba.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'thing_pkey_ccnew'::regclass")
    place.approve(connector, "public.thing_pkey")
    with place.agent() as (watch, ledger):
        watch.act()
        assert the_move(ledger).state is MoveState.PLACED
        verbs = [step.sql.partition("*/ ")[2].split()[0] for step in ledger.moves.steps(the_move(ledger).id)]
    assert verbs == ["DROP", "REINDEX"]
    assert place.indexes() == {"thing_pkey": ("fast", True)}


def test_tries_go_on_for_as_long_as_a_reader_holds_the_table(
    cluster: Cluster, dbname: str, connector: PostgresqlConnector, place: Place
) -> None:
    """A lock that is not obtained fails no move: it waits, names the reader, and goes on when the reader has gone."""
    place.approve(connector, "public.thing")
    with cluster.session(dbname) as reader, place.agent(lambda: use(reader)) as (watch, ledger):
        watch.act()
        tries = sent(ledger, "SET TABLESPACE")
        row = the_move(ledger)
        assert (row.state, tries) == (MoveState.APPROVED, 1)
        assert f"process {reader.info.backend_pid}" in row.reason
        place.dba.execute("SELECT pg_sleep(1.1)")  # longer than the first pause
        watch.act()
        assert sent(ledger, "SET TABLESPACE") == 1, "nothing is sent that others would queue behind"
        reader.close()
        act_until(watch, ledger, lambda: the_move(ledger).state is MoveState.PLACED)
        assert sent(ledger, "SET TABLESPACE") == 2
