"""One sampling cycle over 10,000 real PostgreSQL tables with an index each, beside what per-table exporters do.

Server time is processor time of the backend that ran the queries, read from /proc; agent time is this process's. Both
sides run in turn on the same server.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily

from agent.clock import SystemClock
from agent.config import Config, load
from agent.demo.server import PrivateServer, embedded_installations, private_server
from agent.ledger import Ledger
from agent.watch import Watch
from tests.bench.measurement import Measurement, in_process, of_runs

COMMAND = "python -m tests.bench.postgresql_cost"
TABLES = 10_000
TOUCHED = 700  # tables with demand in an interval: about 7 %, as on the sites perf figures come from
CYCLES = 7

# What per-table exporters ask of the server at each scrape: every row of both statistics views and total sizes.
EXPORTER_QUERIES = (
    "SELECT * FROM pg_stat_user_tables",
    "SELECT * FROM pg_statio_user_tables",
    "SELECT * FROM pg_stat_user_indexes",
    "SELECT schemaname, relname, pg_total_relation_size(relid) FROM pg_stat_user_tables",
)
LABEL_COLUMNS = frozenset({"schemaname", "relname", "indexrelname", "relid", "indexrelid"})


def build(server: PrivateServer) -> None:
    """10,000 tables with a primary key and a row each."""
    with psycopg.connect(server.conninfo, autocommit=True) as session:
        for first in range(0, TABLES, 500):
            session.execute(
                f"""DO $$ BEGIN FOR i IN {first}..{first + 499} LOOP
                    EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, x int)', i);
                    EXECUTE format('INSERT INTO t%s VALUES (1, 1)', i);
                    EXECUTE format('SELECT x FROM t%s WHERE id = 1', i); END LOOP; END $$""".encode()
            )
        session.execute("VACUUM ANALYZE")


def touch(session: psycopg.Connection, turn: int) -> None:
    """Some demand on a share of the tables."""
    for number in range(turn, TABLES, TABLES // TOUCHED):
        session.execute(f"SELECT x FROM t{number} WHERE id = 1".encode())


def configuration(folder: Path, server: PrivateServer) -> Config:
    """One database: that server."""
    path = folder / "hotplace.yaml"
    path.write_text(
        f"""
ledger: {{path: ledger.db}}
databases:
  - name: many
    engine: postgresql
    connection: {{host: {server.folder}, user: postgres, dbname: postgres}}
    tiers:
      - {{name: hdd, kind: hdd, spaces: [pg_default]}}
""",
        encoding="utf-8",
    )
    return load(path)


def backend_cpu_seconds(pid: int) -> float:
    """Processor time that the backend has used, to the nanosecond."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def backends(session: psycopg.Connection, application: str) -> list[int]:
    """Process ids of the backends of one application."""
    rows = session.execute(
        "SELECT pid FROM pg_stat_activity WHERE application_name LIKE %s", (f"{application}%",)
    ).fetchall()
    return [row[0] for row in rows]


def memory_kib(pid: int) -> int:
    """Private memory of a backend (proportional set size less shared)."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1])
    return 0


class Exporter:
    """The other side: what a per-table exporter does at each scrape, with prometheus_client."""

    def __init__(self, conninfo: str) -> None:
        self.session = psycopg.connect(conninfo, autocommit=True, application_name="exporter")

    def scrape(self) -> int:
        """Ask, build one gauge a column and table, render; the number of bytes."""
        rendered = 0
        for number, query in enumerate(EXPORTER_QUERIES):
            cursor = self.session.execute(query.encode())
            names = [column.name for column in cursor.description or ()]
            rows = cursor.fetchall()
            rendered += len(generate_latest(_registry(number, names, rows)))
        return rendered


def _registry(number: int, names: list[str], rows: list[tuple[object, ...]]) -> CollectorRegistry:
    labels = [name for name in names if name in LABEL_COLUMNS]
    columns = [at for at, name in enumerate(names) if name not in LABEL_COLUMNS]
    families = []
    for at in columns:
        family = GaugeMetricFamily(f"q{number}_{names[at]}", "A column.", labels=labels)
        for row in rows:
            value = row[at]
            if isinstance(value, (int, float)):
                family.add_metric([str(row[names.index(label)]) for label in labels], value)
        families.append(family)

    class Rows:
        def collect(self) -> list[GaugeMetricFamily]:
            return families

        def describe(self) -> list[GaugeMetricFamily]:
            return []

    registry = CollectorRegistry()
    registry.register(Rows())  # a collector by shape
    return registry


def inside() -> list[Measurement]:
    """Measure in this process."""
    installation = embedded_installations()[18]
    settings = {"shared_buffers": "256MB", "max_locks_per_transaction": "1024", "fsync": "off", "autovacuum": "off"}
    with private_server(installation, settings) as server, tempfile.TemporaryDirectory() as name:
        build(server)
        config = configuration(Path(name), server)
        with (
            psycopg.connect(server.conninfo, autocommit=True) as session,
            Ledger.open(config.ledger.path, SystemClock()) as ledger,
        ):
            watch = Watch(config.database(), ledger, SystemClock(), level=config.level, dry_run=True)
            watch.sample()
            exporter = Exporter(server.conninfo)
            ours = Side(watch.sample, lambda: backends(session, "hotplace"))
            theirs = Side(exporter.scrape, lambda: [exporter.session.info.backend_pid])
            for turn in range(CYCLES):
                touch(session, turn)
                ours.run()
                theirs.run()
            watch.close()
            exporter.session.close()
    return _figures(ours, theirs)


class Side:
    """Processor time of one side, cycle by cycle: its own, its backends', and the backends' memory."""

    def __init__(self, work: Callable[[], object], pids: Callable[[], list[int]]) -> None:
        self._work, self._pids = work, pids
        self.client: list[float] = []
        self.server: list[float] = []
        self.memory_mib = 0.0

    def run(self) -> None:
        """One cycle."""
        pids = self._pids()
        before, used = sum(backend_cpu_seconds(pid) for pid in pids), time.process_time()
        self._work()
        self.client.append(time.process_time() - used)
        self.server.append(sum(backend_cpu_seconds(pid) for pid in pids) - before)
        self.memory_mib = max(self.memory_mib, max((memory_kib(pid) for pid in pids), default=0) / 1024)


def _figures(ours: Side, theirs: Side) -> list[Measurement]:
    note = f"{TABLES:,} tables with one index each, {TOUCHED} of them active"
    shares = [seconds / 60.0 for seconds in ours.client]
    return [
        of_runs("agent.cycle_core_share.10k", shares, "cores at one cycle a minute", COMMAND, note=note),
        of_runs("agent.server_seconds.10k", ours.server, "s", COMMAND, note="processor time of our backend"),
        of_runs("agent.backend_mib.10k", [ours.memory_mib], "MiB", COMMAND, note="private memory of our backend"),
        of_runs("peer.cycle_core_share.10k", [s / 60.0 for s in theirs.client], "cores at one scrape a minute", COMMAND,
                note="per-table series by prometheus_client"),
        of_runs("peer.server_seconds.10k", theirs.server, "s", COMMAND, note="statistics views and total sizes"),
        of_runs("peer.backend_mib.10k", [theirs.memory_mib], "MiB", COMMAND),
        of_runs("agent.vs_per_table_series.server_ratio.10k",
                [statistics.median(theirs.server) / statistics.median(ours.server)], "times", COMMAND,
                better="higher"),
        of_runs("agent.vs_per_table_series.client_ratio.10k",
                [statistics.median(theirs.client) / statistics.median(ours.client)], "times", COMMAND, better="higher"),
    ]  # fmt: skip


def measurements() -> list[Measurement]:
    """The figures, from a fresh process."""
    return in_process("tests.bench.postgresql_cost", "--inside")


if __name__ == "__main__":
    print(json.dumps(inside() if "--inside" in sys.argv else measurements()))  # noqa: T201
