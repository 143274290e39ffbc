"""The ``hotplace`` program as a child process, and a private PostgreSQL with one hot table for it to find."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from agent.demo.server import PrivateServer
from tests.cli.site import run_here
from tests.waiting import wait_for

PROGRAM = Path(sys.executable).with_name("hotplace")
SETTINGS = {
    "shared_buffers": "1MB", "track_io_timing": "on", "autovacuum": "off", "fsync": "off", "log_connections": "on",
}  # fmt: skip
WRITING_SESSION = "application_name=hotplace move"  # what the server logs when a session that may write is opened
PATIENCE_SECONDS = 180.0  # for what comes in seconds on an idle machine
FAST = "fast"  # the fast tablespace, and its folder


@dataclass(slots=True)
class Shop:
    """A server, a configuration file beside it, and the program."""

    server: PrivateServer
    config: Path

    def hotplace(self, *arguments: str, timeout_seconds: float = PATIENCE_SECONDS) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        return subprocess.run(
            [str(PROGRAM), "--config", str(self.config), *arguments], capture_output=True, text=True,
            timeout=timeout_seconds, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip

    def answer(self, *arguments: str) -> Any:
        """The JSON document of a command that must succeed, run in this process: tests ask again and again."""
        done = run_here("--config", str(self.config), *arguments, "--json")
        assert done.code == 0, done.err
        return done.document

    @contextmanager
    def daemon(self) -> Iterator[subprocess.Popen[str]]:
        """``hotplace run`` in the background; killed at the end if it still runs."""
        log = self.config.with_name("daemon.log")
        with log.open("a", encoding="utf-8") as sink:
            process = subprocess.Popen(
                [str(PROGRAM), "--config", str(self.config), "run"], stdout=sink, stderr=sink, text=True,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()

    def log(self) -> str:
        """What the daemon has said."""
        return self.config.with_name("daemon.log").read_text(encoding="utf-8")

    def opened_to_write(self) -> bool:
        """Whether the server has ever let in a session of ours that may write, by its own log."""
        return WRITING_SESSION in (self.server.folder / "log").read_text(encoding="utf-8", errors="replace")

    def space_of(self, relation: str) -> str:
        """Tablespace of a relation, from the catalog itself."""
        with psycopg.connect(self.server.conninfo, options="-c statement_timeout=60s") as session:
            row = session.execute(
                "SELECT coalesce(t.spcname, 'pg_default') FROM pg_class c"
                " LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace WHERE c.oid = %s::regclass",
                (relation,),
            ).fetchone()
        assert row is not None
        return str(row[0])


def wait_until(what: str, holds: Callable[[], Any], *, seconds: float = PATIENCE_SECONDS) -> Any:
    """Ask until the answer is true, and return it; fail by name when it takes too long."""
    return wait_for(holds, what, seconds, every=0.2)


def write_config(
    path: Path, server: PrivateServer, *, metrics_port: int, dry_run: bool = False, more: str = ""
) -> None:
    """A configuration whose times are short."""
    path.write_text(
        f"""
level: propose
dry_run: {str(dry_run).lower()}
ledger: {{path: ledger.db}}
metrics: {{port: {metrics_port}}}
{more}
databases:
  - name: shop
    engine: postgresql
    connection: {{host: {server.folder}, user: postgres, dbname: postgres}}
    tiers:
      - {{name: ssd, kind: ssd, spaces: [{{name: fast, capacity: 100 MiB}}]}}
      - {{name: hdd, kind: hdd, spaces: [pg_default]}}
    sample_every: 500ms
    plan_every: 1s
    settle: 2s
    maximum_stall: 10min
    policy: {{half_life: 1min, minimum_history: 3s, minimum_gain: 1ms, cool_down: 1min}}
""",
        encoding="utf-8",
    )


def build(server: PrivateServer) -> None:
    """A tablespace ``fast`` and a table that does not fit the buffer pool."""
    folder = server.make_folder(FAST)
    with psycopg.connect(server.conninfo, autocommit=True) as session:
        session.execute(f"CREATE TABLESPACE {FAST} LOCATION '{folder}'".encode())
        session.execute('CREATE TABLE "Hot Orders" (id int PRIMARY KEY, note text)')
        session.execute("""INSERT INTO "Hot Orders" SELECT i, repeat('x', 300) FROM generate_series(1, 30000) AS i""")
        session.execute("VACUUM ANALYZE")


@contextmanager
def load(server: PrivateServer) -> Iterator[None]:
    """Random look-ups from a process of their own, for a minute and a half at most; begins when reads are counted."""
    script = (
        "import random, sys, time, psycopg\n"
        "draw = random.Random(1)\n"
        "end = time.monotonic() + 90\n"
        "with psycopg.connect(sys.argv[1], autocommit=True) as session:\n"
        "    while time.monotonic() < end:\n"
        "        session.execute('SELECT note FROM \"Hot Orders\" WHERE id = %s', (draw.randint(1, 30000),))\n"
        "        time.sleep(0.002)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, server.conninfo], env=os.environ)
    try:
        wait_until("reads", lambda: _has_reads(server))
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def _has_reads(server: PrivateServer) -> bool:
    query = "SELECT coalesce(sum(heap_blks_read + idx_blks_read), 0) > 1000 FROM pg_statio_user_tables"
    with psycopg.connect(server.conninfo) as session:
        row = session.execute(query).fetchone()
    return bool(row and row[0])
