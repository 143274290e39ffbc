"""A good move that makes one statement slower, on a real PostgreSQL with pg_stat_statements and modelled disks.

Sessions queue for a table on the slow disk; a few read another table on the fast one. Once the first table is on the
fast disk too, all together wait far less, and those that had the fast disk alone wait longer. All ask at a pace of
their own: a load that grew with the move would explain the longer waits.
"""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from agent.config.files import load
from agent.demo.server import private_server, temporary_folder
from agent.demo.slow_disk import DeviceModel, available
from agent.demo.slow_disk import build as build_disk
from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.moving.statement_texts import texts_of
from agent.service.notifier import hurt_proposals
from agent.service.watch import Watch
from tests.contract.asking import route_to
from tests.labs.postgresql import SERVER_SETTINGS, Cluster, installations, tells_statements
from tests.unit.samples import a_move, a_proposal

TELLING = [major for major, folder in installations().items() if tells_statements(folder)]
pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.slow,
    pytest.mark.soak,  # in `make test`: tests/simulation/test_statements.py, tests/labs/test_statements.py
    pytest.mark.skipif(not TELLING, reason="no PostgreSQL here brings pg_stat_statements"),
    pytest.mark.skipif(not available()[0], reason=available()[1]),
]
SLOW = DeviceModel(name="slow", channels=1, access_seconds=0.02, bytes_per_second=160e6)
FAST = DeviceModel(name="fast", channels=1, access_seconds=0.005, bytes_per_second=160e6)
ROWS = 6000  # of about 1 kB, seven a page: six times the buffer pool
SESSIONS = {"crowded": 12, "alone": 3}
EVERY_SECONDS = 0.05  # of each session, on average
# Of 50 statements each must be sure by itself: few intervals of 1 s on either side would not do.
BEFORE_SECONDS = 45.0
GIVE_UP_SECONDS = 150.0  # told after 13 on a free machine; a busy one may need a second or third look
CONFIG = """
dry_run: false
ledger: {{path: ledger.db}}
databases:
  - name: real
    engine: postgresql
    connection: {{host: {host}, dbname: {dbname}, user: postgres, lock_timeout: 5s}}
    statements: texts
    sample_every: 500ms
    settle: 6s
    tiers:
      - {{name: ssd, spaces: [fast]}}
      - {{name: hdd, spaces: [slow]}}
"""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A server with both spaces on modelled disks, one head each."""
    folder = temporary_folder("hotplace-slower-")
    folder.chmod(0o755)
    settings = {**SERVER_SETTINGS, "shared_preload_libraries": "pg_stat_statements"}
    try:
        (laboratory := folder / "disk").mkdir()
        disk = build_disk(laboratory)
        with private_server(installations()[TELLING[-1]], settings, disk.environment, parent=folder) as server:
            places = {model.name: server.make_folder(model.name) for model in (SLOW, FAST)}
            cluster = Cluster(server=server, major=TELLING[-1], fast=places["fast"], limited=False)
            for model in (SLOW, FAST):
                disk.place(model, places[model.name])
                with cluster.session() as dba:
                    dba.execute(f"CREATE TABLESPACE {model.name} LOCATION '{places[model.name]}'".encode())
            disk.switch(on=True)
            yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_tables(dba: psycopg.Connection) -> None:
    """The table that everybody waits for, and the one that is alone on the fast disk; look-ups read no index page."""
    dba.execute("CREATE EXTENSION pg_stat_statements")
    for name, space in (("crowded", "slow"), ("alone", "fast")):
        dba.execute(f"CREATE TABLE {name} (id int, filler text) TABLESPACE {space}".encode())
        dba.execute(f"ALTER TABLE {name} ALTER filler SET STORAGE PLAIN".encode())
        dba.execute(f"INSERT INTO {name} SELECT g, repeat('x', 1000) FROM generate_series(1, {ROWS}) AS g".encode())
        dba.execute(f"VACUUM (ANALYZE) {name}".encode())
    dba.execute("CHECKPOINT")


@contextmanager
def load_on(cluster: Cluster) -> Iterator[None]:
    """Sessions that read single pages, until the block ends."""
    ending = threading.Event()

    def ask(table: str, number: int) -> None:
        draw, turn = random.Random(number), time.monotonic()
        with cluster.session() as session:
            while not ending.is_set():
                place = f"({draw.randrange(ROWS // 7)},1)"
                session.execute(f"SELECT filler FROM {table} WHERE ctid = %s::tid".encode(), (place,))
                turn = max(time.monotonic(), turn + draw.expovariate(1 / EVERY_SECONDS))
                ending.wait(turn - time.monotonic())

    threads = [
        threading.Thread(target=ask, args=(table, number)) for table, most in SESSIONS.items() for number in range(most)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ending.set()
        for thread in threads:
            thread.join()


def sample_for(watch: Watch, seconds: float) -> Outcome | None:
    """What the daemon does twice a second, until an outcome is told or the time is over."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        watch.sample()
        if told := watch.verify():
            return told[0]
        time.sleep(0.5)
    return None


def test_hurt_for_some(tmp_path: Path, cluster: Cluster) -> None:
    """All together wait less, one statement waits longer: verdict, text, notice, and nothing is taken back unasked."""
    clock = SystemClock()
    with cluster.session() as dba:
        make_tables(dba)
    path = tmp_path / "hotplace.yaml"
    path.write_text(CONFIG.format(host=cluster.server.folder, dbname="postgres"))
    config = load(path)
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger.open(config.ledger.path, clock))
        watch = Watch(config.database(), ledger, clock, level=config.level, dry_run=False)
        stack.callback(watch.close, save=False)
        stack.enter_context(load_on(cluster))
        assert sample_for(watch, BEFORE_SECONDS) is None
        route = route_to(watch.connector, "public.crowded", "fast")
        size = route.bundle.size_bytes
        proposal = a_proposal(
            a_move(key="public.crowded", route=route, size_bytes=size), database="real", created_at=clock.now(),
            fingerprint=watch.identity.fingerprint, expires_at=clock.now().replace(year=clock.now().year + 1),
        )  # fmt: skip
        number = ledger.proposals.store(proposal)
        ledger.proposals.approve(number, who="ann", origin="test", digest=proposal.digest)
        assert [row.reason for row in watch.act()]
        outcome = sample_for(watch, GIVE_UP_SECONDS)
        assert outcome is not None, "never told"
        assert outcome.verdict is OutcomeVerdict.HURT_FOR_SOME, outcome.sentence
        assert outcome.change < -0.2
        assert outcome.statements is not None
        texts = texts_of(ledger, "real")
        assert [texts[each.id] for each in outcome.statements.slower] == [
            "SELECT filler FROM alone WHERE ctid = $1::tid"
        ]
        assert any("crowded" in texts[each.id] for each in outcome.statements.faster)
        (told,) = hurt_proposals(ledger, "real", clock.now())
        assert outcome.statements.slower[0].id in told.sentence
