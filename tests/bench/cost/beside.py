"""The parties of a comparison on one server: the whole agent, Debian's PostgreSQL exporter, the usual size query."""

from __future__ import annotations

import gzip
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from agent.demo.server import PrivateServer
from tests.bench.cost.processes import backend_cpu_seconds, cpu_seconds, peak_rss_mib, private_mib

PROGRAM = Path(sys.executable).with_name("hotplace")
EXPORTER = "prometheus-postgres-exporter"
SIZE_QUERY = "SELECT schemaname, relname, pg_total_relation_size(relid) FROM pg_stat_user_tables"
_ANSWERS_WITHIN_SECONDS = 120.0
_GZIP = b"\x1f\x8b"  # how a packed page begins

# One gauge a column and table, as the exporter's own example file does for these views.
_PER_TABLE = {
    "pg_stat_user_tables": (
        "seq_scan", "seq_tup_read", "idx_scan", "idx_tup_fetch", "n_tup_ins", "n_tup_upd", "n_tup_del", "n_tup_hot_upd",
        "n_live_tup", "n_dead_tup", "vacuum_count", "autovacuum_count", "analyze_count", "autoanalyze_count",
    ),
    "pg_statio_user_tables": (
        "heap_blks_read", "heap_blks_hit", "idx_blks_read", "idx_blks_hit", "toast_blks_read", "toast_blks_hit",
        "tidx_blks_read", "tidx_blks_hit",
    ),
}  # fmt: skip


@dataclass(slots=True)
class Cost:
    """What one cycle of a party costs; one value a cycle, but for memory."""

    client_seconds: list[float] = field(default_factory=list)  # processor time of the party itself
    server_seconds: list[float] = field(default_factory=list)  # processor time of its backends
    backend_mib: float = 0.0  # private memory of its largest backend
    rss_mib: float = 0.0  # peak resident memory of the party itself, all its work included
    cycles_rss_mib: list[float] = field(default_factory=list)  # the peak so far, each time that cycles were measured


def free_port() -> int:
    """A port of the loopback address that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def scraped(url: str) -> bytes:
    """What a server says to whoever asks as Prometheus does: packed, where it can."""
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=_ANSWERS_WITHIN_SECONDS) as page:
        return bytes(page.read())


def answer(url: str) -> bytes:
    """What a server says, unpacked."""
    page = scraped(url)
    return gzip.decompress(page) if page.startswith(_GZIP) else page


def _await_answer(process: subprocess.Popen[bytes], url: str) -> None:
    """Wait until a program that was just started serves its metrics."""
    until = time.monotonic() + _ANSWERS_WITHIN_SECONDS
    while True:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode} before it answered")
        try:
            answer(url)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return


class Program:
    """A program that asks the server over sessions of a role of its own, measured cycle by cycle."""

    def __init__(self, process: subprocess.Popen[bytes], role: str, observer: psycopg.Connection) -> None:
        self._pid = process.pid
        self._role = role
        self._observer = observer
        self.cost = Cost()

    def measure(self, work: Callable[[], int]) -> None:
        """Let ``work`` pass, which says how many cycles it was, and book their mean cost."""
        used, served = cpu_seconds(self._pid), self._served()
        cycles = work()
        after = self._served()
        spent = sum(seconds - served.get(pid, 0.0) for pid, seconds in after.items())
        self.cost.client_seconds.append((cpu_seconds(self._pid) - used) / cycles)
        self.cost.server_seconds.append(spent / cycles)
        self.cost.cycles_rss_mib.append(peak_rss_mib(self._pid))
        self.measure_memory()
        self.cost.backend_mib = max([self.cost.backend_mib, *(private_mib(pid) for pid in after)])

    def measure_memory(self) -> None:
        """Book the peak once more, after work that is no cycle."""
        self.cost.rss_mib = peak_rss_mib(self._pid)

    def _served(self) -> dict[int, float]:
        """Processor time of each backend of the role."""
        rows = self._observer.execute("SELECT pid FROM pg_stat_activity WHERE usename = %s", (self._role,))
        return {pid: backend_cpu_seconds(pid) for (pid,) in rows.fetchall()}


@contextmanager
def agent(
    folder: Path, server: PrivateServer, observer: psycopg.Connection, every: float, plan_every: float
) -> Iterator[tuple[Program, str]]:
    """``hotplace run`` over that server with two tiers; samples and plans so often; with the address of its metrics."""
    config, url = configured(folder, server, observer, every=every, plan_every=plan_every)
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    command = [str(PROGRAM), "--config", str(config), "run"]
    # Modules are compiled once, as an installation leaves them: what compiles them itself takes more memory.
    once = [*command, "--once"]
    subprocess.run(
        once, env={**os.environ, **compiled}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    for file in folder.glob("ledger.db*"):
        file.unlink()
    with _running(command, url, **compiled) as process:
        yield Program(process, "hotplace", observer), url


def configured(
    folder: Path, server: PrivateServer, observer: psycopg.Connection, *, every: float, plan_every: float
) -> tuple[Path, str]:
    """The agent's configuration for that server, with a role and two tiers, and the address of its metrics."""
    observer.execute("CREATE ROLE hotplace LOGIN IN ROLE pg_monitor")
    observer.execute(f"CREATE TABLESPACE fast LOCATION '{server.make_folder('fast')}'".encode())
    port = free_port()
    config = folder / "hotplace.yaml"
    config.write_text(
        f"""
ledger: {{path: ledger.db}}
metrics: {{port: {port}}}
databases:
  - name: many
    engine: postgresql
    connection: {{host: {server.folder}, user: hotplace, dbname: postgres}}
    sample_every: {every}s
    plan_every: {plan_every}s
    tiers:
      - {{name: ssd, kind: ssd, spaces: [fast]}}
      - {{name: hdd, kind: hdd, spaces: [pg_default]}}
""",
        encoding="utf-8",
    )
    return config, f"http://127.0.0.1:{port}/metrics"


def cycles(page: bytes) -> int:
    """How many samples the agent has taken, by its own metrics."""
    for line in page.decode().splitlines():
        if line.startswith("hotplace_cycles_total{"):
            return int(float(line.rpartition(" ")[2]))
    return 0


def has_planned(page: bytes) -> bool:
    """Whether the agent has made a plan, by its own metrics."""
    return b"\nhotplace_plan_missed_wait_ratio{" in page


def exporter_installed() -> bool:
    """Whether Debian's exporter is here."""
    return shutil.which(EXPORTER) is not None


@contextmanager
def exporter(folder: Path, server: PrivateServer, observer: psycopg.Connection) -> Iterator[tuple[Program, str]]:
    """The exporter with per-table queries and nothing else; with the address of its metrics."""
    observer.execute("CREATE ROLE exporter LOGIN IN ROLE pg_monitor")
    queries = folder / "queries.yaml"
    queries.write_text("".join(_query(view, columns) for view, columns in _PER_TABLE.items()), encoding="utf-8")
    port = free_port()
    command = [
        EXPORTER, f"--web.listen-address=127.0.0.1:{port}", f"--extend.query-path={queries}",
        "--disable-default-metrics", "--disable-settings-metrics", "--no-collector.database", "--no-collector.bgwriter",
    ]  # fmt: skip
    source = f"host={server.folder} user=exporter dbname=postgres sslmode=disable"
    url = f"http://127.0.0.1:{port}/metrics"
    with _running(command, url, DATA_SOURCE_NAME=source) as process:
        yield Program(process, "exporter", observer), url


def _query(view: str, columns: tuple[str, ...]) -> str:
    """One entry of the exporter's file: per-table gauges, and the total size beside the access counters."""
    labels = "".join(f"    - {name}: {{usage: LABEL, description: name}}\n" for name in ("schemaname", "relname"))
    gauges = "".join(f"    - {name}: {{usage: GAUGE, description: counter}}\n" for name in columns)
    size = ""
    selected = ", ".join(("schemaname", "relname", *(f"coalesce({name}, 0) AS {name}" for name in columns)))
    if view == "pg_stat_user_tables":
        selected += ", pg_total_relation_size(relid) AS total_bytes"
        size = "    - total_bytes: {usage: GAUGE, description: bytes}\n"
    return f'{view}:\n  query: "SELECT {selected} FROM {view}"\n  metrics:\n{labels}{gauges}{size}'


def size_query(server: PrivateServer, runs: int) -> Cost:
    """The query that most dashboards use for table sizes, in a session that stays open as theirs do."""
    cost = Cost()
    with psycopg.connect(server.conninfo, autocommit=True) as session:
        pid = session.info.backend_pid
        for _ in range(runs):
            used = backend_cpu_seconds(pid)
            session.execute(SIZE_QUERY.encode()).fetchall()
            cost.server_seconds.append(backend_cpu_seconds(pid) - used)
        cost.backend_mib = private_mib(pid)
    return cost


@contextmanager
def _running(command: list[str], url: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program, once it answers at ``url``; ended at the end."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environment}
    )
    try:
        _await_answer(process, url)
        yield process
    finally:
        process.terminate()
        process.wait(30)
