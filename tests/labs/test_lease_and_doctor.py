"""One agent a database, and a doctor who sees what is missing."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from prometheus_client import CollectorRegistry

from agent.service.metrics import AgentCollector
from agent.service.snapshot import Snapshot
from connectors.kit.contract import ConnectorError, LeaseHeld, NamesStranger
from connectors.kit.findings import Severity
from connectors.model.blocks import BLOCK_HEAT
from connectors.model.moves import Border, Route, Step
from connectors.model.observation import Home
from connectors.postgresql.doctor import MOST_STATEMENTS
from connectors.postgresql.lease import LEASE_KEY, PostgresqlLease
from tests.contract.asking import bundle_of
from tests.labs.postgresql import Cluster, wait_until
from tests.labs.test_long_transactions import Place
from tests.labs.test_split import a_bundle


def test_the_lease_names_its_holder(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """Whoever comes second hears who was first; another database of the same cluster is free."""
    first, second, elsewhere = cluster.connector(dbname), cluster.connector(dbname), cluster.connector("postgres")
    lease = first.acquire_lease("agent on host a")
    cleanup.callback(lease.release)
    with pytest.raises(LeaseHeld, match=r"hotplace lease agent on host a \(pid \d+, from local\)"):
        second.acquire_lease("agent on host b")
    elsewhere.acquire_lease("agent on host b").release()
    for connector in (first, second, elsewhere):
        connector.close()


def test_a_lost_session_is_a_lost_lease(cluster: Cluster, dbname: str) -> None:
    """When the server ends the session the lease is not held, and somebody else may take it."""
    connector = cluster.connector(dbname)
    lease = connector.acquire_lease("me")
    assert lease.is_held()
    with cluster.session(dbname) as dba:
        dba.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'hotplace lease me'"
        )
    assert not lease.is_held()
    lease.release()
    again = connector.acquire_lease("somebody else")
    assert again.is_held()
    again.release()
    connector.close()


def test_a_session_without_the_lock_holds_nothing(cluster: Cluster, dbname: str) -> None:
    """A session that lives and has lost its lock, as behind a pooler that resets sessions, is no lease."""
    connector = cluster.connector(dbname)
    lease = connector.acquire_lease("me")
    assert isinstance(lease, PostgresqlLease)
    lease._connection.execute("SELECT pg_advisory_unlock_all()")
    assert not lease.is_held()
    other = connector.acquire_lease("somebody else")
    assert not lease.is_held(), "another session's lock is not ours"
    other.release()
    lease.release()
    connector.close()


def test_a_name_of_any_length_and_script(cluster: Cluster, dbname: str) -> None:
    """A holder's name that PostgreSQL would cut or change still takes and gives the lease."""
    connector = cluster.connector(dbname)
    lease = connector.acquire_lease("größer " * 20)
    assert lease.is_held()
    lease.release()
    assert not lease.is_held()
    connector.close()


KEY_HOLDING = f"SELECT pg_advisory_lock({LEASE_KEY})"


@pytest.fixture
def stranger(cluster: Cluster, dbname: str, cleanup: ExitStack, roles: psycopg.Connection) -> psycopg.Connection:
    """A session of a login without any right, which has the agents' lock and calls itself one of their sessions."""
    roles.execute("CREATE ROLE guest LOGIN")
    session = cleanup.enter_context(cluster.session(dbname, user="guest"))
    session.execute("SET application_name = 'hotplace lease one'")
    session.execute(KEY_HOLDING.encode())
    return session


def test_a_stranger_with_the_lock_is_no_agent(
    cluster: Cluster, dbname: str, cleanup: ExitStack, stranger: psycopg.Connection
) -> None:
    """Acting goes on, and he is named by process and role; two agents keep each other off without the lock."""
    first, second = cluster.connector(dbname), cluster.connector(dbname)
    for connector in (first, second):
        cleanup.callback(connector.close)
    lease = first.acquire_lease("one")
    assert isinstance(lease, NamesStranger)
    assert lease.is_held()
    pid = stranger.info.backend_pid
    assert lease.stranger == f"a session (pid {pid}, from local), role guest"
    with pytest.raises(LeaseHeld, match=r"hotplace lease! one \(pid \d+, from local\), role postgres"):
        second.acquire_lease("two")
    assert lease.is_held(), "that another one asked changes nothing"
    (finding,) = [each for each in first.doctor() if each.code.startswith("lease_lock")]
    assert (finding.code, finding.values["session"]) == ("lease_lock_taken", lease.stranger)
    stranger.execute("SELECT pg_advisory_unlock_all()")
    assert lease.is_held()
    assert lease.stranger == "", "it has taken the lock itself"
    with pytest.raises(
        LeaseHeld, match=r"another agent acts on this database: hotplace lease one \(pid \d+, from local\)"
    ):
        second.acquire_lease("two")
    assert "lease_lock" in {each.code for each in first.doctor()}
    lease.release()
    again = second.acquire_lease("two")
    assert (again.is_held(), lease.is_held()) == (True, False)
    again.release()


def test_of_two_agents_the_one_that_acts_without_the_lock_goes_on(
    cluster: Cluster, dbname: str, cleanup: ExitStack, stranger: psycopg.Connection
) -> None:
    """The lock, once it is free, is not enough for another agent; a session that has ended holds nothing."""
    first, second = cluster.connector(dbname), cluster.connector(dbname)
    for connector in (first, second):
        cleanup.callback(connector.close)
    lease = first.acquire_lease("one")
    stranger.execute("SELECT pg_advisory_unlock_all()")
    with pytest.raises(LeaseHeld, match="hotplace lease! one"):
        second.acquire_lease("two")
    assert lease.is_held()
    stranger.close()
    lease.release()
    other = second.acquire_lease("two")
    cleanup.callback(other.release)
    assert isinstance(other, NamesStranger)
    assert (other.is_held(), other.stranger) == (True, "")


def test_what_acts_without_the_lock_gives_way_to_an_agent_that_has_it(
    cluster: Cluster, dbname: str, cleanup: ExitStack, stranger: psycopg.Connection
) -> None:
    """As one of an earlier version, which looks for no mark: two of one login never act."""
    connector = cluster.connector(dbname)
    cleanup.callback(connector.close)
    lease = connector.acquire_lease("one")
    cleanup.callback(lease.release)
    stranger.execute("SELECT pg_advisory_unlock_all()")
    with cluster.session(dbname) as earlier:
        earlier.execute("SET application_name = 'hotplace lease two'")
        earlier.execute(KEY_HOLDING.encode())
        assert not lease.is_held()
    wait_until(lease.is_held, "the other one has ended")


def test_a_stranger_keeps_no_agent_from_taking_over(
    cluster: Cluster, dbname: str, cleanup: ExitStack, stranger: psycopg.Connection
) -> None:
    """Sessions that call themselves an agent's and are of another login are neither believed nor ended."""
    first, second = cluster.connector(dbname), cluster.connector(dbname)
    for connector in (first, second):
        cleanup.callback(connector.close)
    lease = first.acquire_lease("shop first")
    imitator = cleanup.enter_context(cluster.session(dbname, user="guest"))
    imitator.execute("SET application_name = 'hotplace move'")
    with first.open_mover() as mover:
        second.end_holder("first")
        with pytest.raises(ConnectorError):
            mover.execute(Step(sql="CREATE TABLE public.late (id int)", purpose="too late"))
    assert not lease.is_held()
    assert imitator.execute("SELECT 1").fetchone() == (1,)
    assert stranger.execute("SELECT 1").fetchone() == (1,)
    second.acquire_lease("shop second").release()


def test_a_lease_holds_back_no_vacuum(
    cluster: Cluster, dbname: str, cleanup: ExitStack, stranger: psycopg.Connection
) -> None:
    """With the lock or without it, its session has no snapshot and no transaction."""
    connector = cluster.connector(dbname)
    cleanup.callback(connector.close)
    lease = connector.acquire_lease("one")
    cleanup.callback(lease.release)
    seen = (
        "SELECT state, backend_xmin IS NULL AND backend_xid IS NULL FROM pg_stat_activity "
        "WHERE application_name LIKE 'hotplace lease%' AND usename = 'postgres' AND datname = current_database()"
    )
    with cluster.session(dbname) as dba:
        assert dba.execute(seen.encode()).fetchall() == [("idle", True)]
        stranger.close()
        wait_until(lambda: lease.is_held() and getattr(lease, "stranger", "") == "", "it has the lock")
        assert dba.execute(seen.encode()).fetchall() == [("idle", True)]


def test_a_healthy_server(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """A superuser on a local primary with timing on has nothing to mend but a tablespace in memory, if it has one."""
    connector = cluster.connector(dbname)
    cleanup.callback(connector.close)
    wrong = [finding for finding in connector.doctor() if finding.severity is not Severity.OK]
    assert {finding.code for finding in wrong} <= {"storage_volatile", "block_looks", "statements_unseen"}
    if cluster.limited:
        assert any(f.values["space"] == "fast" and "tmpfs, which is memory" in f.sentence for f in wrong)
    assert {each.name for each in connector.capabilities() if not each.available} <= {BLOCK_HEAT}
    identity = connector.identify()
    assert (identity.engine, identity.version_number[0], identity.topology) == ("postgresql", cluster.major, "single")
    assert identity.writable


def test_settings_that_blind_us(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """Counters and timing that are off are found, with the statement that turns them on."""
    with cluster.session(dbname) as dba:
        for name in ("track_counts", "track_io_timing"):
            dba.execute(f"ALTER DATABASE {dbname} SET {name} = off".encode())
    connector = cluster.connector(dbname, local=False)
    cleanup.callback(connector.close)
    found = {f.code: f for f in connector.doctor()}
    assert found["track_counts_off"].severity is Severity.ERROR
    assert found["track_io_timing_off"].severity is Severity.WARNING
    assert found["space_hidden"].severity is Severity.INFO
    assert "ALTER SYSTEM SET track_io_timing = on" in found["track_io_timing_off"].remedy
    missing = {c.name for c in connector.capabilities() if not c.available}
    assert missing == {"object_counters", "read_times", "see_files", BLOCK_HEAT}


def test_files_that_no_relation_knows(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """What a killed move left is named with its size; what is known, young or another's is not."""
    connector = cluster.connector(dbname)
    cleanup.callback(connector.close)
    with cluster.session(dbname) as dba:
        dba.execute("CREATE TABLE known TABLESPACE fast AS SELECT repeat('x', 1000) FROM generate_series(1, 50)")
        dba.execute("CHECKPOINT")
        row = dba.execute("SELECT pg_relation_filepath('known')").fetchone()
    assert row is not None
    known = cluster.server.data / row[0]
    left, young = known.with_name("4000000001.1"), known.with_name("4000000002")
    for path in (left, young):
        cleanup.callback(path.unlink)
        path.write_bytes(bytes(3 * 2**20))
        cluster.server.own(path)
    for path in (left, known):
        os.utime(path, (1e9, 1e9))
    found = [f for f in connector.doctor() if f.code.startswith("files_")]
    assert [f.code for f in found] == ["files_unknown"]
    assert found[0].values["space"] == "fast"
    assert found[0].values["bytes"] == str(3 * 2**20)
    assert found[0].values["example"].endswith("/4000000001.1")
    assert "3.0 MiB" in found[0].sentence


def test_who_may_not_list_folders_is_told(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """A login that may only watch hears that such files would stay hidden, and nothing fails."""
    connector = cluster.connector(dbname, user="looker")
    cleanup.callback(connector.close)
    found = [f for f in connector.doctor() if f.code.startswith("files_")]
    assert [(f.code, f.severity) for f in found] == [("files_hidden", Severity.INFO)]


@pytest.mark.parametrize(
    ("parameter", "service"),
    [
        ("rds.extensions", "Amazon RDS or Aurora"),
        ("azure.extensions", "Azure Database for PostgreSQL"),
        ("cloudsql.iam_authentication", "Google Cloud SQL"),
        ("alloydb.iam_authentication", "Google AlloyDB"),
    ],
)
def test_nothing_moves_on_a_managed_service(
    cluster: Cluster, dbname: str, cleanup: ExitStack, parameter: str, service: str
) -> None:
    """Recognised by a parameter that only it defines (set here by hand): an error of the doctor, and no route."""
    with cluster.session(dbname) as dba:
        dba.execute("CREATE TABLE rented AS SELECT 1 AS one")
        dba.execute(f"ALTER DATABASE {dbname} SET {parameter} = 'x'".encode())
    connector = cluster.connector(dbname)
    cleanup.callback(connector.close)
    (finding,) = [f for f in connector.doctor() if f.code == "managed_service"]
    assert (finding.severity, service in finding.sentence) == (Severity.ERROR, True)
    found = connector.routes(bundle_of(connector.catalog(), "public.rented"), "fast")
    assert getattr(found, "code", "") == "managed_service"


def test_a_standby_is_only_watched(cluster: Cluster, cleanup: ExitStack) -> None:
    """In recovery it says so: not writable, no route, another epoch than as a primary."""
    connector = cluster.connector()
    cleanup.callback(connector.close)
    with cluster.session() as dba:
        dba.execute("CREATE TABLE IF NOT EXISTS followed AS SELECT 1 AS one")
    cleanup.callback(lambda: _answer(cluster))
    before, epoch = connector.identify(), connector.sample().epoch
    cluster.server.stop()
    (cluster.server.data / "standby.signal").touch()
    cluster.server.own(cluster.server.data / "standby.signal")
    cluster.server.start()
    identity = connector.identify()
    assert (identity.topology, identity.writable) == ("replica", False)
    assert identity.fingerprint == before.fingerprint
    assert connector.sample().epoch != epoch
    assert "standby" in {f.code for f in connector.doctor()}
    assert {c.name for c in connector.capabilities() if not c.available} == {"moves", "online_index_moves", BLOCK_HEAT}
    found = connector.routes(bundle_of(connector.catalog(), "public.followed"), "fast")
    assert getattr(found, "code", "") == "standby"


def _answer(cluster: Cluster) -> None:
    """Make it a primary again."""
    with cluster.session() as dba:
        dba.execute("SELECT pg_promote()")
        wait_until(lambda: dba.execute("SELECT pg_is_in_recovery()").fetchone() == (False,), "promoted")
        dba.execute("DROP TABLE followed")


STRONG = {
    "SUPERUSER": "CREATE ROLE strong SUPERUSER",
    "CREATEROLE": "CREATE ROLE strong CREATEROLE",
    "REPLICATION": "CREATE ROLE strong REPLICATION",
    "BYPASSRLS": "CREATE ROLE strong BYPASSRLS",
    "pg_write_all_data": "CREATE ROLE strong; GRANT pg_write_all_data TO strong",
    "pg_execute_server_program": "CREATE ROLE strong; CREATE ROLE between; GRANT pg_execute_server_program TO between;"
    " GRANT between TO strong",
}


@pytest.fixture
def roles(cluster: Cluster, cleanup: ExitStack) -> psycopg.Connection:
    """A superuser's session that takes the test's roles away at the end."""
    dba = cleanup.enter_context(cluster.session())
    forget = "DROP ROLE IF EXISTS strong, between, modest, app_owner, guest"
    dba.execute(forget.encode())
    cleanup.callback(dba.execute, forget.encode())
    return dba


@pytest.mark.parametrize("power", STRONG)
def test_a_strong_owner_is_never_handed_over(
    cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack, roles: psycopg.Connection, power: str
) -> None:
    """By itself or through another role: the owner is to be changed instead, by a statement that does it."""
    roles.execute(f"CREATE ROLE guest LOGIN; {STRONG[power]}".encode())
    cleanup.callback(dba.execute, b"DROP OWNED BY strong, guest CASCADE")
    dba.execute('CREATE TABLE "Of strong" (id int PRIMARY KEY); ALTER TABLE "Of strong" OWNER TO strong')
    dba.execute("CREATE MATERIALIZED VIEW seen AS SELECT 1 AS one; ALTER MATERIALIZED VIEW seen OWNER TO strong")
    connector = cluster.connector(dbname, user="guest")
    cleanup.callback(connector.close)
    (finding,) = [f for f in connector.doctor() if f.code.startswith("ownership")]
    assert (finding.code, finding.values) == ("ownership_refused", {"relations": "3", "owner": "strong"})
    assert f"strong is never handed over, for it has {power}" in finding.sentence
    assert 'public."Of strong" among them' in finding.sentence
    assert "TO guest" not in finding.remedy
    assert finding.remedy.startswith("Change the owner, or leave these where they are: ")
    assert finding.mends.gives.startswith("app_owner may do anything with them")
    assert finding.remedy.count("OWNER TO app_owner;") == 2
    cleanup.callback(dba.execute, b"DROP OWNED BY app_owner CASCADE")
    dba.execute(finding.remedy.partition(": ")[2].encode())
    (finding,) = [f for f in connector.doctor() if f.code.startswith("ownership")]
    assert (finding.code, finding.remedy) == ("ownership_missing", "GRANT app_owner TO guest;")
    assert finding.mends.gives.startswith("all that app_owner may do")


def test_each_owner_is_told_apart(
    cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack, roles: psycopg.Connection
) -> None:
    """A modest one is handed over with what that gives away, and is the new owner of what a strong one owns."""
    roles.execute("CREATE ROLE guest LOGIN; CREATE ROLE modest; GRANT pg_monitor TO guest, modest")
    cleanup.callback(dba.execute, b"DROP OWNED BY modest, guest CASCADE")
    roles.execute(f"ALTER DATABASE {dbname} OWNER TO modest".encode())
    cleanup.callback(roles.execute, f"ALTER DATABASE {dbname} OWNER TO postgres".encode())
    dba.execute("CREATE TABLE a (); CREATE TABLE b (); CREATE MATERIALIZED VIEW c AS SELECT 1 AS one")
    dba.execute("ALTER TABLE b OWNER TO modest; DROP TABLE a")
    connector = cluster.connector(dbname, user="guest")
    cleanup.callback(connector.close)
    found = {f.values["owner"]: f for f in connector.doctor() if f.code.startswith("ownership")}
    assert found["modest"].remedy == "GRANT modest TO guest;"
    assert found["modest"].mends.gives.endswith("and the database itself")
    assert "ALTER MATERIALIZED VIEW public.c OWNER TO modest;" in found["postgres"].remedy
    superuser = cluster.connector(dbname)
    cleanup.callback(superuser.close)
    assert "ownership" in {f.code for f in superuser.doctor()}


def test_statements_of_many_relations_are_the_first_of_them(
    cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack, roles: psycopg.Connection
) -> None:
    """One for each up to a number that can be read, and how many there are; an index goes with its table."""
    roles.execute("CREATE ROLE guest LOGIN")
    cleanup.callback(dba.execute, b"DROP OWNED BY guest CASCADE")
    for number in range(MOST_STATEMENTS + 2):
        dba.execute(f"CREATE TABLE t{number} (id int PRIMARY KEY)".encode())
    connector = cluster.connector(dbname, user="guest")
    cleanup.callback(connector.close)
    (finding,) = [f for f in connector.doctor() if f.code.startswith("ownership")]
    assert finding.values["relations"] == str(2 * (MOST_STATEMENTS + 2))
    assert finding.remedy.count("ALTER TABLE ") == MOST_STATEMENTS
    assert f"the first {MOST_STATEMENTS} of {MOST_STATEMENTS + 2}" in finding.remedy


def test_a_split_hands_over_no_strong_owner(
    cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack, roles: psycopg.Connection
) -> None:
    """What a split needs of its table's owner is refused as doctor refuses it."""
    roles.execute("CREATE ROLE guest LOGIN; CREATE ROLE strong CREATEROLE; GRANT pg_monitor TO guest")
    cleanup.callback(dba.execute, b"DROP OWNED BY strong, guest CASCADE")
    dba.execute("CREATE TABLE orders (id bigint PRIMARY KEY)")
    dba.execute("ALTER TABLE orders OWNER TO strong; GRANT USAGE ON SCHEMA public TO PUBLIC")
    connector = cluster.connector(dbname, user="guest")
    cleanup.callback(connector.close)
    route = connector.routes_split(a_bundle(dba), Border(column="id", value="1000"), "fast")
    assert isinstance(route, Route), route
    refused = connector.refuse_split(route)
    assert refused is not None
    assert "strong, which are never handed over, for it has CREATEROLE" in refused.sentence
    assert "ALTER TABLE public.orders OWNER TO" in refused.sentence
    assert "GRANT strong" not in refused.sentence


def test_a_move_is_carried_out_though_a_stranger_has_the_lock(
    cluster: Cluster, dba: psycopg.Connection, tmp_path: Path, stranger: psycopg.Connection, dbname: str
) -> None:
    """The agent acts, and its metric says that somebody has taken the lock, until he has let it go."""
    place = Place(tmp_path, cluster, dba)
    connector = cluster.connector(dbname)
    route = place.approve(connector, "public.thing")
    with place.agent() as (watch, _):
        assert watch.act()
        assert connector.inspect(route).home is Home.TARGET
        assert watch.snapshot.lock_taken_by.endswith("role guest")
        assert _lock_taken(watch.snapshot) == 1.0
        stranger.close()
        wait_until(lambda: (watch.sample(), watch.snapshot.lock_taken_by)[1] == "", "the lock is the agent's")
        assert _lock_taken(watch.snapshot) == 0.0
    connector.close()


def _lock_taken(snapshot: Snapshot) -> float | None:
    registry = CollectorRegistry()
    registry.register(AgentCollector(lambda: [snapshot], top_units=1))
    return registry.get_sample_value("hotplace_lock_taken", {"database": "real"})
