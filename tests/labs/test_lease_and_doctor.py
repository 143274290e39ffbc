"""One agent a database, and a doctor who sees what is missing."""

from __future__ import annotations

import os
from contextlib import ExitStack

import pytest

from connectors.base import LeaseHeld
from connectors.blocks import BLOCK_HEAT
from connectors.findings import Severity
from connectors.postgresql.moving.lease import PostgresqlLease
from tests.contract.asking import bundle_of
from tests.labs.postgresql import Cluster, wait_until


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
