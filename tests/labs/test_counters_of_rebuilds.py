"""A DBA's own REINDEX CONCURRENTLY: the counters that the new index inherits are no demand."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import psycopg
import pytest

from agent.config.files import load
from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from agent.sampling.sampler import Sampler
from connectors.model.observation import Demand, Interval, Sample, Signal
from connectors.postgresql.connector import PostgresqlConnector
from tests.labs.postgresql import Cluster, flush, wait_until

CONFIG = """
ledger: {{path: ledger.db}}
databases:
  - name: real
    engine: postgresql
    connection: {{host: {host}, dbname: {dbname}, user: postgres}}
    tiers:
      - {{name: ssd, spaces: [fast]}}
      - {{name: hdd, spaces: [{{name: slow, capacity: 1 GiB}}]}}
"""
LOOK_UPS = 3000


class Replaced(PostgresqlConnector):
    """Shows counters of the table as another's, from its third sample on."""

    samples = 0

    def sample(self) -> Sample:
        """The server's, with a lifetime's reads added to each unit."""
        found = super().sample()
        self.samples += 1
        lifetime = 10**7 if self.samples > 2 else 0
        counters = {**found.counters, "blocks_fetched": found.counters["blocks_fetched"].astype(np.int64) + lifetime}
        return replace(found, counters=counters)


class Watched(Sampler):
    """Keeps what each interval was taken for."""

    demands: list[Demand]

    def _absorb(self, interval: Interval) -> tuple[str, Demand | None]:
        found = super()._absorb(interval)
        if found[1] is not None:
            self.demands.append(found[1])
        return found


def indexes(dba: psycopg.Connection) -> dict[str, bool]:
    """Every index of the table, and whether it is valid."""
    rows = dba.execute("SELECT indexrelid::regclass::text, indisvalid FROM pg_index WHERE indrelid = 'busy'::regclass")
    return dict(rows.fetchall())


@pytest.fixture
def busy(dba: psycopg.Connection) -> psycopg.Connection:
    """A table whose index was read from storage thousands of times."""
    dba.execute("CREATE TABLE busy (id int, filler text)")
    dba.execute("INSERT INTO busy SELECT g, repeat('x', 20) FROM generate_series(1, 200000) AS g")
    dba.execute("CREATE INDEX busy_id ON busy (id)")
    dba.execute("VACUUM (ANALYZE) busy")
    dba.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
    look_up = "PERFORM filler FROM busy WHERE id = 1 + n * 65543 % 200000"
    dba.execute(f"DO $$ BEGIN FOR n IN 1 .. {LOOK_UPS} LOOP {look_up}; END LOOP; END $$".encode())
    flush(dba)
    return dba


def test_counters_that_a_rebuilt_index_inherits_are_no_demand(
    tmp_path: Path, cluster: Cluster, dbname: str, busy: psycopg.Connection
) -> None:
    """Whenever the catalog was read while it was built: no interval has reads that nothing asked for."""
    path = tmp_path / "hotplace.yaml"
    path.write_text(CONFIG.format(host=cluster.server.folder, dbname=dbname))
    database, clock = load(path).database(), SystemClock()
    with (
        Ledger.open(tmp_path / "ledger.db", clock) as ledger,
        cluster.session(dbname) as holder,
        cluster.session(dbname) as builder,
    ):
        connector = cluster.connector(dbname)
        sampler = Watched(database, connector, ledger, clock)
        sampler.demands = []
        sampler.cycle()
        holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        holder.execute("SELECT 1 FROM pg_class LIMIT 1")
        thread = threading.Thread(target=builder.execute, args=("REINDEX INDEX CONCURRENTLY busy_id",))
        thread.start()
        wait_until(lambda: "busy_id_ccnew" in indexes(busy), "an index is being built")
        again = Watched(database, connector, ledger, clock, memory=sampler.memory)  # reads the catalog at once
        again.demands = []
        again.cycle()
        holder.execute("COMMIT")
        thread.join()
        flush(builder)
        again.cycle()
        again.cycle()
        connector.close()
    assert indexes(busy) == {"busy_id": True}
    assert again.demands
    table = busy.execute("SELECT 'busy'::regclass::oid::bigint").fetchone()
    assert table is not None
    for demand in again.demands:
        reads = demand.rates[Signal.LOGICAL_READ] * demand.seconds
        of_indexes = reads[demand.physical_id != table[0]].sum()  # the build itself reads the table
        assert of_indexes < LOOK_UPS / 2


def test_an_interval_whose_objects_read_more_than_the_database_is_refused(
    tmp_path: Path, cluster: Cluster, dbname: str, busy: psycopg.Connection
) -> None:
    """Whatever replaced a counter: the database's own counter says that the reads have not happened."""
    assert indexes(busy)
    path = tmp_path / "hotplace.yaml"
    path.write_text(CONFIG.format(host=cluster.server.folder, dbname=dbname))
    clock = SystemClock()
    with Ledger.open(tmp_path / "ledger.db", clock) as ledger:
        connector = Replaced(cluster.settings(dbname), clock)
        sampler = Sampler(load(path).database(), connector, ledger, clock)
        cycles = [sampler.cycle() for _ in range(4)]
        connector.close()
    assert [cycle.evidence for cycle in cycles] == [False, True, False, True]
    assert "a counter was replaced" in cycles[2].sentence
