"""A private PostgreSQL 18 with very many small tables, each with a key and a TOAST table: four relations."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from agent.demo.server import PrivateServer, embedded_installations, private_server

SETTINGS = {"shared_buffers": "512MB", "max_locks_per_transaction": "2048", "fsync": "off", "autovacuum": "off"}
ACTIVE_SHARE = 0.07  # of the tables have demand in an interval, as on the sites that perf figures come from
_ROOM_BYTES = 8 * 2**30
_BATCH = 500  # tables made by one transaction


@contextmanager
def server_with(tables: int) -> Iterator[PrivateServer]:
    """The server, its tables made and read once; gone at the end."""
    with private_server(embedded_installations()[18], SETTINGS, parent=_roomy_memory()) as server:
        with psycopg.connect(server.conninfo, autocommit=True) as session:
            for first in range(0, tables, _BATCH):
                session.execute(_creation(first, min(first + _BATCH, tables)))
            session.execute("ANALYZE")  # so that the catalog knows their pages, as autovacuum sees to
            session.execute("CHECKPOINT")
        yield server


def _roomy_memory() -> Path | None:
    """A file system in memory with room for all of it: some disks take minutes to make and remove as many files."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > _ROOM_BYTES else None


def _creation(first: int, end: int) -> bytes:
    return f"""DO $$ BEGIN FOR i IN {first}..{end - 1} LOOP
        EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, x int, note text)', i);
        EXECUTE format('INSERT INTO t%s VALUES (1, 1, ''a'')', i);
        EXECUTE format('SELECT x FROM t%s WHERE id = 1', i); END LOOP; END $$""".encode()


def touch(session: psycopg.Connection, tables: int, turn: int) -> None:
    """One read by key of every fourteenth table, another set each turn."""
    for number in range(turn % round(1 / ACTIVE_SHARE), tables, round(1 / ACTIVE_SHARE)):
        session.execute(f"SELECT x FROM t{number} WHERE id = 1".encode())
