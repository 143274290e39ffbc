"""Where the agent's memory goes, stage by stage: resident, the part that is no file, and the peak in each stage.

    python -m tests.bench.cost.memory_stages [TABLES]

A real PostgreSQL with so many tables, each with a key and a TOAST table; the daemon's own parts. For whoever wants to
know where memory goes: the figures of results.json are those of ``postgresql_cost``, with the whole daemon in time.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg

from tests.bench.cost import beside
from tests.bench.cost.many_tables import server_with, touch

TABLES = 20_000


def measure(tables: int) -> None:
    """Make the server, and have the stages told on standard output."""
    with (
        tempfile.TemporaryDirectory() as name,
        server_with(tables) as server,
        psycopg.connect(server.conninfo, autocommit=True) as observer,
    ):
        config, _ = beside.configured(Path(name), server, observer, every=3600, plan_every=3600)
        module = "tests.bench.cost.memory_inside"
        subprocess.run([sys.executable, "-m", module, str(config), str(tables), server.conninfo], check=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--touch", count, conninfo, turn]:
            with psycopg.connect(conninfo, autocommit=True) as session:
                touch(session, int(count), int(turn))
        case [count]:
            measure(int(count))
        case _:
            measure(TABLES)
