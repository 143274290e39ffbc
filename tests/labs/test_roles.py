"""Log and temporary space of a real server: what it times is judged, what it does not is said to be unknown."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import isnan
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agent.demo.server import PrivateServer, private_server, temporary_folder
from agent.demo.slow_disk import HDD, available
from agent.demo.slow_disk import build as build_disk
from connectors.model.observation import Role, RoleFigures
from policies.evidence.counter_deltas import Gap, difference
from tests.cli.site import Site
from tests.labs.postgresql import SERVER_SETTINGS, Cluster, flush, installations

FILLED = "SELECT g, repeat(md5(g::text), 3) AS filler FROM generate_series(1, 40000) AS g"
NEWEST_LOG_TIMES, TEMPORARY_TABLES = 18, 16
SORT = "SELECT * FROM plain ORDER BY filler OFFSET 39999"


def spill(session: psycopg.Connection) -> None:
    """Sort more than work_mem holds, and write and read a temporary table larger than its buffers."""
    session.execute("SET work_mem = '64kB'; SET temp_buffers = '800kB'")
    session.execute(SORT)
    session.execute("CREATE TEMP TABLE scratch AS SELECT * FROM plain")
    session.execute("SELECT count(*) FROM scratch")
    flush(session)


def test_what_each_version_knows_of_log_and_temporary_space(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """Bytes of log and of sort files always; times of temporary tables since 16, of waits for the log since 18."""
    session = cleanup.enter_context(cluster.session(dbname))
    session.execute("CREATE TABLE plain AS " + FILLED)
    connector = cluster.connector(dbname)
    cleanup.callback(connector.close)
    before = connector.sample()
    spill(session)
    interval = difference(before, connector.sample(), longest_seconds=3600)
    assert not isinstance(interval, Gap)
    of = {figures.name: figures for figures in interval.roles}
    assert {figures.role for figures in interval.roles} == {Role.LOG, Role.TEMP}
    assert of["temporary files"].written_bytes > 4e6
    assert isnan(of["temporary files"].waited_seconds)
    assert "work_mem" in of["temporary files"].note
    assert of["pg_wal"].written_bytes > 0
    assert of["pg_wal"].write_seconds >= 0
    assert (of["pg_wal"].waited_seconds >= 0) is (cluster.major >= NEWEST_LOG_TIMES)
    assert bool(of["pg_wal"].note) is (cluster.major < NEWEST_LOG_TIMES)
    assert ("temporary tables" in of) is (cluster.major >= TEMPORARY_TABLES)
    if cluster.major >= TEMPORARY_TABLES:
        tables: RoleFigures = of["temporary tables"]
        assert tables.writes > 400
        assert 0 < tables.waited_seconds <= tables.active_seconds


def test_what_is_not_timed_is_unknown(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """With timing off there are no seconds, rather than zero of them, and the note says what switches it on."""
    with cluster.session(dbname) as dba:
        dba.execute(f"ALTER DATABASE {dbname} SET track_wal_io_timing = off".encode())
        dba.execute(f"ALTER DATABASE {dbname} SET track_io_timing = off".encode())
    connector = cluster.connector(dbname)
    cleanup.callback(connector.close)
    for figures in connector.sample().roles:
        assert isnan(figures.waited_seconds)
        assert isnan(figures.write_seconds)
        assert "tim" in figures.note
    (finding,) = [found for found in connector.doctor() if found.code == "track_wal_io_timing_off"]
    assert "ALTER SYSTEM SET track_wal_io_timing = on" in finding.remedy


@pytest.fixture(scope="module")
def slow_log() -> Iterator[PrivateServer]:
    """The newest server, durable, with its log on a modelled 7200 rpm disk."""
    can, why = available()
    if not can or not installations():
        pytest.skip(why or "no PostgreSQL server here")
    folder = temporary_folder("hotplace-test-")
    try:
        folder.chmod(0o755)
        (laboratory := folder / "disk").mkdir()
        disk = build_disk(laboratory)
        settings = {**SERVER_SETTINGS, "fsync": "on", "shared_buffers": "16MB"}
        versions = installations()
        with private_server(versions[max(versions)], settings, disk.environment, parent=folder) as server:
            disk.place(HDD, server.data / "pg_wal")
            disk.switch(on=True)
            yield server
    finally:
        shutil.rmtree(folder)


@contextmanager
def working(server: PrivateServer, *statements: str) -> Iterator[None]:
    """One client that does nothing but these, each a transaction, over and over."""
    ended = threading.Event()

    def work() -> None:
        with psycopg.connect(server.conninfo, autocommit=True) as session:
            session.execute("SET work_mem = '64kB'")
            while not ended.is_set():
                for statement in statements:
                    session.execute(statement.encode())

    client = threading.Thread(target=work)
    client.start()
    try:
        yield
    finally:
        ended.set()
        client.join()


def site_of(server: PrivateServer, folder: Path) -> Site:
    """A site with that server; its ssd writes ten times as fast as the disk under the log."""
    database: dict[str, Any] = {
        "name": "real",
        "engine": "postgresql",
        "connection": {"host": str(server.folder), "dbname": "postgres", "user": "postgres"},
        "tiers": [{"name": "hdd", "kind": "hdd", "spaces": [{"name": "pg_default", "capacity": "1 GiB"}]}],
        "sample_every": "0.2s",
        "policy": {"minimum_history": "0s"},
    }
    fast = {"name": "ssd", "kind": "ssd", "spaces": [{"name": "fast", "capacity": "1 GiB"}]}
    database["tiers"].insert(0, fast)
    return Site(folder, database)


def test_a_log_bound_load_is_told_so(slow_log: PrivateServer, tmp_path: Path) -> None:
    """Single-row commits to a log on one spindle: no placement gains anything, a faster device for the log would."""
    with psycopg.connect(slow_log.conninfo, autocommit=True) as dba:
        fast = slow_log.make_folder("fast")
        dba.execute(f"CREATE TABLESPACE fast LOCATION '{fast}'".encode())
        dba.execute("CREATE TABLE counted (n bigint); CREATE TABLE plain AS " + FILLED)
    site = site_of(slow_log, tmp_path)
    with working(slow_log, "INSERT INTO counted VALUES (1)"):
        document = site.good("plan", "--observe", "2", "--json").document
    advice = {(each["code"], each["subject"]): each for each in document["advice"]}
    assert advice["no_gain_expected", ""]["sentence"].startswith("log-bound: no gain expected")
    log = advice["faster_device", "pg_wal"]
    assert 1800 < log["wait_saved_per_hour_seconds"] <= 3600
    assert "a write" in log["sentence"]
    with working(slow_log, SORT):
        site.good("plan", "--observe", "3")  # a session reports its temporary files once a second
    told = site.good("explain", "temporary files")
    assert "unknown: the temporary space (temporary files) is used" in told.out
    assert "work_mem" in told.out
