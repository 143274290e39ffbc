"""What breaks in the middle of a long copy, for real: nothing is lost or stays behind, and the move is done at last.

The target is a modelled disk that takes a few seconds for a copy, so that each fault surely hits its middle. The
laboratory has the same with the whole program (``python -m tests.bench.lab faults``).
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from agent.demo.server import private_server, temporary_folder
from agent.demo.slow_disk import DeviceModel, SlowDisk, available
from agent.demo.slow_disk import build as build_disk
from agent.ledger.ledger import Ledger
from agent.model.states import MoveState
from agent.moving.leftovers import leftovers_of
from agent.service.watch import Watch
from connectors.kit.contract import ConnectorError
from connectors.postgresql.connector import PostgresqlConnector
from tests.labs.postgresql import SERVER_SETTINGS, Cluster, installations, wait_until
from tests.labs.test_long_transactions import Place, the_move

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(not installations(), reason="no PostgreSQL server here"),
    pytest.mark.skipif(not available()[0], reason=available()[1]),
    pytest.mark.xdist_group("crash points"),  # one server for all
]
TARGET = DeviceModel(name="fast", channels=16, access_seconds=100e-6, bytes_per_second=6e6)
MIDDLE_BYTES = 2 * 2**20  # of 11 MB
KEYS = {"ALTER TABLE": "public.thing", "REINDEX": "public.thing_filler"}
ACT = """
import sys
from pathlib import Path
from agent.config.files import load
from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from agent.service.watch import Watch

config, clock = load(Path(sys.argv[1])), SystemClock()
with Ledger.open(config.ledger.path, clock) as ledger:
    Watch(config.database(), ledger, clock, level=config.level, dry_run=config.dry_run).act()
"""
CONTENTS = "SELECT count(*), sum(id::bigint), sum(hashtext(filler)::bigint) FROM thing"
FILES = """
SELECT pg_relation_filenode(c.oid)::text
  FROM pg_class AS c JOIN pg_tablespace AS t ON t.oid = c.reltablespace WHERE t.spcname = 'fast'
"""
COPYING = "SELECT pid FROM pg_stat_activity WHERE application_name = 'hotplace move' AND query LIKE %s"


@dataclass(frozen=True, slots=True)
class Disks:
    """A cluster whose fast space is the modelled disk."""

    cluster: Cluster
    disk: SlowDisk


@pytest.fixture(scope="module")
def disks() -> Iterator[Disks]:
    """The newest server here."""
    folder, newest = temporary_folder("hotplace-crash-"), max(installations())
    folder.chmod(0o755)
    try:
        (laboratory := folder / "disk").mkdir()
        disk = build_disk(laboratory)
        with private_server(installations()[newest], SERVER_SETTINGS, disk.environment, parent=folder) as server:
            fast, slow = server.make_folder("fast"), server.make_folder("slow")
            disk.place(TARGET, fast)
            cluster = Cluster(server=server, major=newest, fast=fast, limited=False)
            with cluster.session() as dba:
                for name, path in (("fast", fast), ("slow", slow)):
                    dba.execute(f"CREATE TABLESPACE {name} LOCATION '{path}'".encode())
            yield Disks(cluster, disk)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def cluster(disks: Disks) -> Cluster:
    """In place of the one that all tests share: this one is stopped."""
    return disks.cluster


@pytest.fixture
def place(tmp_path: Path, cluster: Cluster, dba: psycopg.Connection) -> Place:
    """A table and an index of 11 MB each in the slow space."""
    made = Place(tmp_path, cluster, dba)
    dba.execute("CREATE INDEX thing_filler ON thing (id, filler)")
    dba.execute("CHECKPOINT")
    return made


class Fault:
    """Waits for the middle of the copy and strikes."""

    def __init__(self, disks: Disks, dbname: str, statement: str) -> None:
        self.disks, self._dbname, self._statement = disks, dbname, statement
        self._written = disks.disk.counters()["fast"].write_bytes

    def wait_for_middle(self) -> int:
        """The backend that copies."""
        found: list[int] = []

        def copying() -> bool:
            with self.disks.cluster.session() as dba:
                found[:] = [pid for (pid,) in dba.execute(COPYING, (f"%{self._statement}%",))]
            return bool(found) and self.disks.disk.counters()["fast"].write_bytes > self._written + MIDDLE_BYTES

        wait_until(copying, f"{self._statement} is in the middle of its copy")
        return found[0]

    def kill_agent(self, place: Place) -> None:
        """The process with ``kill -9``; nothing of it runs any more."""
        with subprocess.Popen([sys.executable, "-c", ACT, str(place.path)]) as agent:
            self.wait_for_middle()
            agent.send_signal(signal.SIGKILL)

    def terminate_backend(self, place: Place) -> None:
        """As a DBA does."""
        self._while_it_acts(place, self._terminate)

    def stop_server(self, place: Place) -> None:
        """At once, with no checkpoint; started again it recovers from its log."""
        self._while_it_acts(place, self._stop)

    def _terminate(self) -> None:
        pid = self.wait_for_middle()
        with self.disks.cluster.session() as dba:
            dba.execute("SELECT pg_terminate_backend(%s)", (pid,))

    def _stop(self) -> None:
        self.wait_for_middle()
        self.disks.cluster.server.stop("immediate")
        self.disks.cluster.server.start()

    def _while_it_acts(self, place: Place, strike: Callable[[], None]) -> None:
        """The agent lives through it."""
        with place.agent() as (watch, _), suppress(ConnectorError):
            striking = threading.Thread(target=strike)
            striking.start()
            try:
                watch.act()
            finally:
                striking.join()


FAULTS = {"agent killed": Fault.kill_agent, "backend terminated": Fault.terminate_backend,
          "server stopped": Fault.stop_server}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("statement", KEYS)
def test_the_middle_of_a_copy(
    disks: Disks, dbname: str, connector: PostgresqlConnector, place: Place, monkeypatch: pytest.MonkeyPatch,
    statement: str, fault: str, cleanup: ExitStack,
) -> None:  # fmt: skip
    """Promise 3 for real: the same rows, in one place by catalog and ledger, and no index, file or session too many."""
    monkeypatch.setattr("agent.moving.executor.LOOK_AGAIN_SECONDS", 0.1)
    before = place.dba.execute(CONTENTS).fetchone()
    route = place.approve(connector, KEYS[statement])
    assert statement in route.steps[0].sql
    held = place.fast_bytes()
    disks.disk.switch(True)
    cleanup.callback(disks.disk.switch, False)
    FAULTS[fault](Fault(disks, dbname, statement), place)
    with place.agent() as (_, ledger):
        assert the_move(ledger).state not in {MoveState.PLACED, MoveState.FAILED}, "it was not hit in its middle"
    disks.disk.switch(False)
    with place.agent() as (watch, ledger):
        _act_to_the_end(watch, ledger)
        assert leftovers_of(ledger, "real") == ()
        assert ledger.audit.verify().ok
    place.dba = cleanup.enter_context(disks.cluster.session(dbname))  # the old session may have ended with its server
    assert [_contents(place, by_index=by_index) for by_index in (False, True)] == [before, before]
    moved = KEYS[statement].removeprefix("public.")
    there = {"thing_pkey": ("slow", True), "thing_filler": ("slow", True)}
    assert place.indexes() == (there if moved == "thing" else {**there, moved: ("fast", True)})
    assert place.dba.execute(COPYING, ("%",)).fetchall() == []
    assert place.fast_bytes() > held
    if (
        fault != "server stopped"
    ):  # after a crash PostgreSQL leaves the file that it was writing, and names it to nobody
        assert _unknown_files(disks, place) == set()


def _contents(place: Place, *, by_index: bool) -> object:
    """A checksum of the table, read by its heap or through an index."""
    ways = {"seqscan": not by_index, "indexscan": by_index, "indexonlyscan": by_index, "bitmapscan": False}
    for way, on in ways.items():
        place.dba.execute(f"SET enable_{way} = {'on' if on else 'off'}".encode())
    return place.dba.execute(CONTENTS).fetchone()


def _act_to_the_end(watch: Watch, ledger: Ledger) -> None:
    """What the daemon does, once a moment."""
    until = time.monotonic() + 30
    while the_move(ledger).state is not MoveState.PLACED:
        assert time.monotonic() < until, the_move(ledger)
        assert the_move(ledger).state not in {MoveState.FAILED, MoveState.SKIPPED}, the_move(ledger).reason
        with suppress(ConnectorError):  # the server went away; the next try connects again
            watch.act()
        time.sleep(0.05)


def _unknown_files(disks: Disks, place: Place) -> set[str]:
    """Files of the fast space that no relation of the catalog has."""
    place.dba.execute("CHECKPOINT")  # unlinks what was left of moved files
    known = {name for (name,) in place.dba.execute(FILES)}
    files = (path.name for path in disks.cluster.fast.rglob("*") if path.is_file())
    return {name for name in files if name.partition(".")[0].partition("_")[0] not in {*known, "PG"}}
