"""What a real standby means for moves: told, and refused where a reader there could prolong a lock; room of the log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from threading import Event, Thread

import psycopg
import pytest

from agent.demo.server import PrivateServer
from connectors.kit.contract import Interrupted, Mover
from connectors.kit.findings import Severity
from connectors.model.moves import NoRoute, Route
from connectors.model.new_space import CheckState, WantedSpace
from connectors.model.observation import Home
from tests.contract.asking import bundle_of, route_to
from tests.labs.postgresql import Cluster, installations, running_cluster, wait_until
from tests.labs.test_split_neighbours import logical, unsubscribe

__all__ = ["logical"]
pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(not installations(), reason="no PostgreSQL server here"),
]


@pytest.fixture(scope="module")
def primary() -> Iterator[Cluster]:
    """A cluster with a table and its key, that standbys may follow."""
    with running_cluster(max(installations())) as cluster:
        with (cluster.server.data / "pg_hba.conf").open("a", encoding="utf-8") as rules:
            rules.write("local replication all trust\n")
        with cluster.session() as dba:
            dba.execute("SELECT pg_reload_conf()")
            dba.execute("CREATE TABLE followed (id int PRIMARY KEY) TABLESPACE slow")
        yield cluster


@contextmanager
def following(cluster: Cluster, name: str) -> Iterator[Cluster]:
    """A standby of that name streams from the cluster."""
    server = cluster.server
    standby = PrivateServer(server.make_folder(name), server.installation)
    mapped = [
        f"--tablespace-mapping={path}={standby.make_folder(path.name)}"
        for path in (cluster.fast, cluster.fast.parent / "slow")
    ]
    server.run(
        "pg_basebackup", "-D", str(standby.data), "-d", f"{server.conninfo} application_name={name}",
        "--write-recovery-conf", "--checkpoint=fast", "--no-sync", *mapped,
    )  # fmt: skip
    with (standby.data / "postgresql.conf").open("a", encoding="utf-8") as settings:
        settings.write(f"unix_socket_directories = '{standby.folder}'\n")
    standby.start()
    try:
        with cluster.session() as dba:
            wait_until(lambda: _streams(dba, name), "the standby streams")
            yield replace(cluster, server=standby)
    finally:
        standby.stop("immediate")


def _streams(dba: psycopg.Connection, name: str) -> bool:
    query = "SELECT state FROM pg_stat_replication WHERE application_name = %s"
    return dba.execute(query, (name,)).fetchone() == ("streaming",)


def test_a_standby_that_falls_behind_is_spared(primary: Cluster) -> None:
    """Replay stops: a move waits and says for whom, and one that runs is cancelled, nothing changed."""
    patient = "20s"  # long enough to be caught while it waits for its lock
    connector = primary.connector(replica_queue_mib=2, replica_queue_abort_mib=4, lock_timeout=patient)
    with primary.session() as dba, following(primary, "laggard") as standby, standby.session() as replica:
        route = route_to(connector, "public.followed", "fast")
        assert connector.blockers(route) == ()
        replica.execute("SELECT pg_wal_replay_pause()")
        for _ in range(6):
            dba.execute("SELECT pg_logical_emit_message(false, 'test', repeat('x', 1000000))")
        (blocker,) = connector.blockers(route)
        assert "the standby laggard is" in blocker.sentence
        assert "replica_queue_mib: 2" in blocker.sentence
        assert not blocker.gives_way
        with primary.session() as reader, connector.open_mover() as mover:
            reader.execute("BEGIN; LOCK TABLE followed IN ACCESS SHARE MODE")
            mover.prepare(route)
            said = r"given up, the standby laggard is .* behind of the log"
            with _asked_for_progress(mover), pytest.raises(Interrupted, match=said):
                mover.execute(route.steps[0])
        assert connector.inspect(route).home is Home.SOURCE
        replica.execute("SELECT pg_wal_replay_resume()")
        wait_until(lambda: connector.blockers(route) == (), "the standby has caught up")
    connector.close()


def test_a_new_space_waits_for_its_folder_on_each_standby(primary: Cluster) -> None:
    """Who replays CREATE TABLESPACE without the folder shuts down: named, accepted by a person, looked at again."""
    place = primary.server.make_folder("newer")
    wanted = WantedSpace(name="newer", location=str(place), accepted=("device", "restart"))
    accepting = replace(wanted, accepted=(*wanted.accepted, "standbys"))
    with primary.session() as dba, closing(primary.connector()) as connector:
        alone = connector.routes_new_space(wanted, moves=True).answer
        assert isinstance(alone, Route), alone
        assert any(note.startswith("standbys: holds: ") for note in alone.notes)
        dba.execute("SELECT pg_create_physical_replication_slot('for_later')")
        with following(primary, "twin"):
            refused = connector.routes_new_space(wanted, moves=True).answer
            assert isinstance(refused, NoRoute), refused
            assert "the standby twin, the slot for_later" in refused.sentence
            assert f"{place} has to exist there before, owned by the server's account" in refused.sentence
            assert refused.setting == "--accept standbys"
            accepted = connector.routes_new_space(accepting, moves=True).answer
            assert isinstance(accepted, Route), accepted
            assert any("the standby twin" in note and note.endswith(", accepted") for note in accepted.notes)
            assert connector.inspect(accepted).home is Home.SOURCE
            found = connector.inspect(alone)  # approved before they came
            assert (found.home, "the standby twin" in found.sentence) == (Home.ELSEWHERE, True)
        dba.execute("SELECT pg_drop_replication_slot('for_later')")
        wait_until(lambda: connector.inspect(alone).home is Home.SOURCE, "no one follows any longer")


def test_a_subscriber_replays_no_new_space(logical: Cluster, cleanup: ExitStack) -> None:
    """It gets rows and no statements, over a slot of its own."""
    names = [cleanup.enter_context(logical.database()) for _ in range(2)]
    here, there = (cleanup.enter_context(logical.session(name)) for name in names)
    for dba in (here, there):
        dba.execute("CREATE TABLE thing (id int PRIMARY KEY)")
    here.execute("CREATE PUBLICATION all_things FOR TABLE thing")
    here.execute("SELECT pg_create_logical_replication_slot('things', 'pgoutput')")
    there.execute(
        f"CREATE SUBSCRIPTION things CONNECTION 'host={logical.server.folder} dbname={names[0]} user=postgres'"
        " PUBLICATION all_things WITH (create_slot = false)".encode()
    )
    cleanup.callback(unsubscribe, logical, names[1], "things")
    wait_until(lambda: _streams(here, "things"), "the subscriber streams")
    wanted = WantedSpace(name="newer", location=str(logical.server.folder / "none"))
    with closing(logical.connector(names[0])) as connector:
        states = {check.name: check.state for check in connector.routes_new_space(wanted, moves=True).checks}
    assert states["standbys"] is CheckState.HOLDS


def test_the_log_leaves_room_on_its_volume(primary: Cluster) -> None:
    """Above the first limit no move begins, above the second one what runs is cancelled."""
    free = primary.connector()
    route = route_to(free, "public.followed", "fast")
    assert free.blockers(route) == ()
    roomy = primary.connector(wal_mib=10_000, wal_abort_mib=10_000)
    assert roomy.blockers(route) == ()
    connector = primary.connector(wal_mib=1, wal_abort_mib=1, lock_timeout="20s")  # one file of it has 16
    (blocker,) = connector.blockers(route)
    assert re.fullmatch(r"pg_wal holds [\d.]+ MiB \(wal_mib: 1\)", blocker.sentence)
    assert not blocker.gives_way
    assert connector.blockers(route, tidying=True) == (), "what makes room may go"
    with primary.session() as reader, connector.open_mover() as mover:
        reader.execute("BEGIN; LOCK TABLE followed IN ACCESS SHARE MODE")
        mover.prepare(route)
        with _asked_for_progress(mover), pytest.raises(Interrupted, match=r"given up, pg_wal holds .* \(wal_abort_mib"):
            mover.execute(route.steps[0])
    assert connector.inspect(route).home is Home.SOURCE
    for each in (free, roomy, connector):
        each.close()


def test_a_limit_on_the_log_that_cannot_be_watched_holds(primary: Cluster) -> None:
    """The moving login is no member of pg_monitor: no move begins, and the reason says what to grant."""
    with primary.session() as dba:
        dba.execute("CREATE ROLE unmonitored LOGIN")
        dba.execute("GRANT CREATE ON TABLESPACE fast TO unmonitored; ALTER TABLE followed OWNER TO unmonitored")
    try:
        connector = primary.connector(user="unmonitored", wal_mib=10_000)
        (blocker,) = connector.blockers(route_to(connector, "public.followed", "fast"))
        assert "GRANT pg_monitor TO unmonitored" in blocker.sentence
        assert "wal_mib: 10000" in blocker.sentence
        connector.close()
    finally:
        with primary.session() as dba:
            dba.execute("ALTER TABLE followed OWNER TO CURRENT_USER; DROP OWNED BY unmonitored; DROP ROLE unmonitored")


@contextmanager
def _asked_for_progress(mover: Mover) -> Iterator[None]:
    done = Event()
    watching = Thread(target=lambda: _ask_for_progress(mover, done))
    watching.start()
    try:
        yield
    finally:
        done.set()
        watching.join()


def _ask_for_progress(mover: Mover, done: Event) -> None:
    """As the executor does."""
    while not done.wait(0.1):
        mover.progress()


def test_standbys_slots_and_synchronous_commits(primary: Cluster) -> None:
    """Doctor names them, a route notes them, and remote_apply refuses what takes ACCESS EXCLUSIVE unless allowed."""
    connector = primary.connector()
    with primary.session() as dba, following(primary, "follower"):
        found = {finding.code: finding for finding in connector.doctor()}
        assert found["standbys"].severity is Severity.INFO
        assert "follower (async" in found["standbys"].sentence
        assert "slot_inactive" not in found
        route = route_to(connector, "public.followed", "fast")
        assert any("follower (async)" in note and "max_standby_streaming_delay" in note for note in route.notes)

        dba.execute("SELECT pg_create_physical_replication_slot('forgotten', true)")
        found = {finding.code: finding for finding in connector.doctor()}
        assert found["slot_inactive"].values["slot"] == "forgotten"
        assert any("forgotten" in note for note in route_to(connector, "public.followed_pkey", "fast").notes)

        dba.execute("ALTER SYSTEM SET synchronous_standby_names = 'follower'")
        dba.execute("SELECT pg_reload_conf()")
        assert connector.routes(bundle_of(connector.catalog(), "public.followed"), "fast"), "commits wait for no replay"
        dba.execute("ALTER ROLE looker SET synchronous_commit = remote_apply")  # of whomever: all would stand
        refused = connector.routes(bundle_of(connector.catalog(), "public.followed"), "fast")
        assert isinstance(refused, NoRoute)
        assert (refused.code, "follower" in refused.sentence) == ("remote_apply", True)
        index = bundle_of(connector.catalog(), "public.followed_pkey")
        online = connector.routes(index, "fast")
        assert isinstance(online, tuple)
        assert [way.name for way in online] == ["reindex concurrently"], "what takes no such lock may go"
        (blocker,) = connector.blockers(route)
        assert "remote_apply" in blocker.sentence, "what was approved before waits"
        warned = next(finding for finding in connector.doctor() if finding.code == "remote_apply")
        assert "are refused" in warned.sentence

        allowing = primary.connector(allow_moves_with_remote_apply=True)
        assert isinstance(allowing.routes(bundle_of(connector.catalog(), "public.followed"), "fast"), tuple)
        assert allowing.blockers(route) == ()
        allowing.close()
    connector.close()
