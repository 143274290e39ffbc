"""A streaming replica of a private PostgreSQL: asynchronous, cut off when a test says so, and promoted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from agent.demo.server import PrivateServer, own, temporary_folder
from tests.labs.postgresql import wait_until


@contextmanager
def streaming_replica(primary: PrivateServer) -> Iterator[PrivateServer]:
    """A running copy that follows its primary; stopped and removed at the end."""
    replica = PrivateServer(temporary_folder("hotplace-"), primary.installation)
    try:
        own(replica.folder)
        primary.run("pg_basebackup", "-h", str(primary.folder), "-U", "postgres", "-D", str(replica.data),
                    "--write-recovery-conf", "--checkpoint=fast", "--no-sync")  # fmt: skip
        with (replica.data / "postgresql.conf").open("a", encoding="utf-8") as conf:
            conf.write(f"unix_socket_directories = '{replica.folder}'\n")
        replica.start()
        yield replica
    finally:
        replica.stop("immediate")
        shutil.rmtree(replica.folder, ignore_errors=True)


def cut_off(replica: PrivateServer) -> None:
    """Receive nothing more: what the primary commits from now on is lost with it."""
    with psycopg.connect(replica.conninfo, autocommit=True) as dba:
        dba.execute("ALTER SYSTEM SET primary_conninfo = ''")
        dba.execute("SELECT pg_reload_conf()")
        receiving = "SELECT count(*) FROM pg_stat_wal_receiver"
        wait_until(lambda: dba.execute(receiving).fetchone() == (0,), "the end of its receiver")


def promote(replica: PrivateServer) -> None:
    """Become the primary; it can be written when this returns."""
    replica.run("pg_ctl", "-D", str(replica.data), "-w", "promote")


def rows_in(server: PrivateServer, dbname: str, query: str) -> list[tuple[Any, ...]]:
    """Ask a server itself."""
    with psycopg.connect(f"host={server.folder} user=postgres dbname={dbname}") as session:
        return session.execute(query.encode()).fetchall()
