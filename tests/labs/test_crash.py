"""What a restart and a crash do to counters, on servers of their own."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack

import psycopg
import pytest

from tests.labs.postgresql import installations, running_cluster, wait_until


@pytest.mark.postgresql
@pytest.mark.skipif(not installations(), reason="no PostgreSQL server here")
def test_restart_and_crash_start_an_epoch(cleanup: ExitStack) -> None:
    """A crash under a living postmaster, and a restart, change the epoch; the reading session comes back by itself."""
    cluster = cleanup.enter_context(running_cluster(max(installations())))
    connector = cluster.connector()
    cleanup.callback(connector.close)
    identity = connector.identify()
    first = connector.sample().epoch
    with cluster.session() as victim, cluster.session() as witness:
        os.kill(victim.info.backend_pid, signal.SIGKILL)
        # A new connection may still be had before the postmaster has seen the end of its child.
        wait_until(lambda: not _lives(witness), "the server has ended its sessions")
        wait_until(lambda: _answers(cluster.server.conninfo), "the server has recovered")
    crashed = connector.sample().epoch
    cluster.server.stop()
    cluster.server.start()
    assert len({first, crashed, connector.sample().epoch}) == 3
    assert connector.identify() == identity


def _lives(session: psycopg.Connection) -> bool:
    try:
        session.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def _answers(conninfo: str) -> bool:
    try:
        psycopg.connect(conninfo).close()
    except psycopg.OperationalError:
        return False
    return True
