"""Agents with a ledger on a server: what they do when it is away, and when another agent takes over."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agent.demo.server import PrivateServer, private_server
from tests.labs.fleet import DATABASE, LEDGER, TABLES, Fleet
from tests.labs.postgresql import Cluster, fill_disk, installations, running_cluster, small_file_system, wait_until
from tests.labs.replica import cut_off, promote, rows_in, streaming_replica
from tests.labs.takeovers import freeze, take_over

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.slow,
    pytest.mark.skipif(not installations(), reason="no PostgreSQL server here"),
]
PATIENCE = 30.0
_NUMBERS = count(1)
_AUDIT_ROWS = """
INSERT INTO hotplace.audit SELECT 1000000 + n, 0, '', '', '', '', '', '' FROM generate_series(1, 2000000) AS n
"""
_DOCUMENTS = "INSERT INTO hotplace.documents SELECT '', n::text, 0, '' FROM generate_series(1, 2000000) AS n"


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Cluster, PrivateServer]]:
    """That of the database and that of the ledger."""
    newest = max(installations())
    with ExitStack() as stack:
        cluster = stack.enter_context(running_cluster(newest))
        settings = {"fsync": "off", "autovacuum": "off", "shared_buffers": "16MB"}
        yield cluster, stack.enter_context(private_server(installations()[newest], settings))


@pytest.fixture
def fleet(servers: tuple[Cluster, PrivateServer], tmp_path: Path) -> Iterator[Fleet]:
    """Two tables to be moved, each of whose statements takes two seconds."""
    cluster, ledger = servers
    name = f"ledger_{next(_NUMBERS)}"
    ledger.run("createdb", "-h", str(ledger.folder), "-U", "postgres", name)
    with cluster.database() as dbname:
        made = Fleet(cluster=cluster, dbname=dbname, ledger=ledger, ledger_database=name, folder=tmp_path)
        made.build(seconds=2.0)
        yield made


@pytest.mark.parametrize("options", [pytest.param((), marks=pytest.mark.soak), ("--standby",)])
def test_agents_wait_for_a_ledger_that_comes_up_later(fleet: Fleet, options: tuple[str, ...]) -> None:
    """As after a reboot: the agent is there first, says once what it waits for, and works once the server answers."""
    fleet.approve_moves()
    fleet.config("one")
    fleet.cut("one", LEDGER)
    with fleet.agent("one", *options) as agent:
        wait_until(lambda: "ledger away" in fleet.log("one"), "what it waits for", PATIENCE)
        time.sleep(4.0)  # another try
        assert agent.poll() is None
        assert fleet.log("one").count("ledger away") == 1
        fleet.mend("one", LEDGER)
        wait_until(lambda: fleet.begun() == 1, "the first statement", PATIENCE)


@pytest.mark.soak
def test_a_daemon_without_its_database_waits_too(fleet: Fleet) -> None:
    """The other order: the ledger is there, the server of the database comes up later."""
    fleet.approve_moves()
    fleet.config("one")
    fleet.cut("one", DATABASE)
    with fleet.agent("one", "--standby") as agent:
        wait_until(lambda: "not reachable yet" in fleet.log("one"), "what it waits for", PATIENCE)
        fleet.mend("one", DATABASE)
        wait_until(lambda: fleet.begun() == 1, "the first statement", PATIENCE)
        assert agent.poll() is None


def test_a_ledger_that_is_away(fleet: Fleet) -> None:
    """What runs ends, nothing follows, samples go on and none is lost; then both moves are done, each once."""
    fleet.approve_moves()
    with fleet.agent("one") as agent:
        wait_until(lambda: fleet.begun() == 1, "the first statement", PATIENCE)
        fleet.ledger.stop("immediate")
        wait_until(lambda: len(fleet.moved()) == 1, "its end", PATIENCE)
        wait_until(lambda: 'ledger_up{database="real"} 0.0' in fleet.scrape("one"), "the metric", PATIENCE)
        wait_until(lambda: spooled(fleet) >= 6, "intervals that wait", PATIENCE)
        metrics = fleet.scrape("one")
        assert 'hotplace_up{database="real",engine="postgresql"} 1.0' in metrics
        assert fleet.scrape("one", "/healthz") == "alive\n"
        assert (fleet.begun(), fleet.moved()) == (1, [TABLES[0]]), "the second move has not begun"
        assert fleet.log("one").count("ledger away") == 1
        fleet.ledger.start()
        wait_until(lambda: fleet.moved() == [*TABLES], "the second move", PATIENCE)
        wait_until(fleet.is_done, "what the ledger says", PATIENCE)
        wait_until(lambda: spooled(fleet) == 0, "what waited", PATIENCE)
        assert agent.poll() is None
    assert fleet.begun() == 2, "each statement was sent once"
    assert fleet.answer("audit", "verify")["ok"]
    assert kept(fleet) > 6


def kept(fleet: Fleet) -> int:
    """Intervals in the file of the agent's machine, each once."""
    with closing(sqlite3.connect(fleet.folder / "one.anchors.samples")) as file:
        rows = file.execute("SELECT ended_at FROM work").fetchall()
    assert len(set(rows)) == len(rows), "no interval was kept twice"
    return len(rows)


def spooled(fleet: Fleet) -> int:
    """Intervals that wait on the agent's machine, by its metric; -1: it says nothing."""
    start = 'hotplace_ledger_spooled_intervals{database="real"} '
    found = [line for line in fleet.scrape("one").splitlines() if line.startswith(start)]
    return int(float(found[0].removeprefix(start))) if found else -1


def test_a_ledger_that_fails_over_to_an_older_copy(fleet: Fleet) -> None:
    """The copy lacks all that the agent wrote: its statement is not sent again, and both moves end as they are."""
    fleet.approve_moves()
    data, spare = fleet.ledger.data, fleet.ledger.folder / f"copy of {fleet.ledger_database}"
    fleet.ledger.stop()
    as_it_is(data, spare)
    fleet.ledger.start()
    with fleet.agent("one") as agent:
        wait_until(lambda: fleet.begun() == 1, "the first statement", PATIENCE)
        fleet.ledger.stop("immediate")
        shutil.rmtree(data)
        spare.rename(data)
        fleet.ledger.start()
        wait_until(fleet.is_done, "what the ledger says", PATIENCE)
        assert agent.poll() is None
    assert (fleet.begun(), fleet.moved()) == (2, [*TABLES]), "each statement was sent once"
    assert "ledger fell back" in fleet.log("one")
    (said,) = fleet.answer("history", "--audit", "--event", "failover.restored")["audit"]
    assert len(said["facts"]["restored"]) == 1
    assert fleet.answer("audit", "verify")["ok"]


@pytest.fixture
def small(fleet: Fleet) -> Iterator[Path]:
    """The folder of the ledger's database: a file system of its own with little room."""
    folder, database = fleet.ledger.make_folder("small"), fleet.ledger_database
    with (
        small_file_system(fleet.ledger, folder) as limited,
        psycopg.connect(fleet.ledger.conninfo, autocommit=True) as dba,
    ):
        if not limited:
            pytest.skip("needs root and a file system that may be mounted")
        dba.execute(f"CREATE TABLESPACE small LOCATION '{folder}'".encode())
        dba.execute(f"ALTER DATABASE {database} SET TABLESPACE small".encode())
        yield folder
        dba.execute(f"DROP DATABASE {database} WITH (FORCE)".encode())
        dba.execute("DROP TABLESPACE small")


@contextmanager
def no_room(fleet: Fleet, folder: Path) -> Iterator[None]:
    """Inside, no row fits any more where decisions and documents go: pages that had room are filled and left dead."""
    with fill_disk(folder):
        for rows in (_AUDIT_ROWS, _DOCUMENTS):
            with pytest.raises(psycopg.errors.DiskFull):
                fleet.in_ledger(rows)
        yield


def test_the_disk_of_the_ledger_is_full(fleet: Fleet, small: Path) -> None:
    """What runs ends, and is done in the ledger once there is room; nothing follows before, and no sample is lost."""
    fleet.approve_moves()
    with fleet.agent("one") as agent:
        wait_until(lambda: fleet.begun() == 1, "the first statement", PATIENCE)
        with no_room(fleet, small):
            wait_until(lambda: len(fleet.moved()) == 1, "its end", PATIENCE)
            wait_until(lambda: 'ledger_up{database="real"} 0.0' in fleet.scrape("one"), "the metric", PATIENCE)
            wait_until(lambda: spooled(fleet) >= 2, "intervals that wait", PATIENCE)
            assert (fleet.begun(), fleet.moved()) == (1, [TABLES[0]]), "the second move has not begun"
            assert "the disk is full" in fleet.log("one")
        wait_until(lambda: fleet.moved() == [*TABLES], "the second move", PATIENCE)
        wait_until(fleet.is_done, "what the ledger says", PATIENCE)
        wait_until(lambda: spooled(fleet) == 0, "what waited", PATIENCE)
        assert agent.poll() is None
    assert (fleet.begun(), fleet.token()) == (2, 1), "each statement was sent once, under one lease"
    assert fleet.in_ledger("SELECT state FROM hotplace.steps") == [("done",)] * 2
    assert fleet.answer("audit", "verify")["ok"]
    assert kept(fleet) > 2


@pytest.fixture
def replica(fleet: Fleet) -> Iterator[PrivateServer]:
    """Follows the ledger's server, which runs again at the end."""
    with streaming_replica(fleet.ledger) as running:
        fleet.replica = running
        yield running
        fleet.ledger.start()


def test_a_replica_that_lacks_the_last_second(fleet: Fleet, replica: PrivateServer) -> None:
    """It has the first intent, and neither its result nor the second: nothing is sent twice, both come back."""

    def steps() -> list[tuple[Any, ...]]:
        return rows_in(replica, fleet.ledger_database, "SELECT sql, state FROM hotplace.steps ORDER BY id")

    fleet.approve_moves()
    with fleet.agent("one") as agent:
        wait_until(lambda: fleet.begun() == 1 and len(steps()) == 1, "the first statement", PATIENCE)
        cut_off(replica)
        wait_until(lambda: fleet.begun() == 2, "the second statement", PATIENCE)
        fleet.ledger.stop("immediate")
        ((first, state),) = steps()
        assert state == "intended"
        promote(replica)
        wait_until(fleet.is_done, "what the ledger says", PATIENCE)
        assert agent.poll() is None
    assert (fleet.begun(), fleet.moved()) == (2, [*TABLES]), "each statement was sent once"
    (said,) = fleet.answer("history", "--audit", "--event", "failover.restored")["audit"]
    assert said["facts"]["without_place"] == []
    assert [sql for sql, _ in steps()] == [first, *set(said["facts"]["restored"]) - {first}]
    assert [state for _, state in steps()] == ["done", "done"]
    assert fleet.answer("audit", "verify")["ok"]


def as_it_is(folder: Path, to: Path) -> None:
    """Copy the data of a server that is stopped, with its owner."""
    subprocess.run(["cp", "-a", str(folder), str(to)], check=True)


def test_a_frozen_agent_is_taken_over(fleet: Fleet) -> None:
    """Within two lease times, and each statement is sent once; when it wakes up its writes are refused."""
    seen = take_over(fleet, freeze)
    assert seen.double_actions == 0
    assert seen.seconds <= 2 * fleet.lease_seconds
