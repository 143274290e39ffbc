"""What an agent that has lost its lease could still send: nothing, once the next one has ended its sessions."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack, suppress

import psycopg
import pytest

from connectors.kit.contract import ConnectorError, LeaseHeld
from connectors.model.moves import Step
from connectors.postgresql.connector import PostgresqlConnector
from tests.labs.postgresql import Cluster, wait_until

SLEEP = "SELECT pg_sleep(600)"


def taken(cluster: Cluster, dbname: str, cleanup: ExitStack, holder: str) -> PostgresqlConnector:
    """An agent with the lease under that name."""
    connector = cluster.connector(dbname)
    cleanup.callback(connector.close)
    cleanup.callback(connector.acquire_lease(f"shop {holder}").release)
    return connector


def test_a_statement_that_was_not_sent_yet_is_not_sent(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """As by an agent that froze after it had noted its intent; the lease is free for the next one."""
    first, second = taken(cluster, dbname, cleanup, "first"), cluster.connector(dbname)
    cleanup.callback(second.close)
    with first.open_mover() as mover:
        second.end_holder("first")
        with pytest.raises(ConnectorError):
            mover.execute(Step(sql="CREATE TABLE late (id int)", purpose="too late"))
    with cluster.session(dbname) as dba:
        assert dba.execute("SELECT count(*) FROM pg_tables WHERE tablename = 'late'").fetchone() == (0,)
    second.acquire_lease("shop second").release()


def test_a_statement_that_runs_is_let_run(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """The copy of hours is not thrown away; what the catalog shows of it is the next agent's to wait for."""
    taken(cluster, dbname, cleanup, "first")
    second = cluster.connector(dbname)
    cleanup.callback(second.close)
    moving = psycopg.connect(cluster.server.conninfo, dbname=dbname, application_name="hotplace move", autocommit=True)
    cleanup.callback(moving.close)
    moving.pgconn.send_query(SLEEP.encode())
    with cluster.session(dbname) as dba:
        at_work = "SELECT count(*) FROM pg_stat_activity WHERE query = %s AND state = 'active'"
        wait_until(lambda: dba.execute(at_work, [SLEEP]).fetchone() == (1,), "the statement")
        second.end_holder("first")
        assert dba.execute(at_work, [SLEEP]).fetchone() == (1,)
        dba.execute("SELECT pg_terminate_backend(%s)", [moving.info.backend_pid])
    second.acquire_lease("shop second").release()


def test_an_agent_of_another_ledger_is_left_alone(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """Its lease goes by another name: neither that session nor those that move are ended."""
    first, second = taken(cluster, dbname, cleanup, "first"), cluster.connector(dbname)
    cleanup.callback(second.close)
    with first.open_mover() as mover:
        second.end_holder("someone else")
        mover.execute(Step(sql="CREATE TABLE public.theirs (id int)", purpose="goes on"))


def _go_on(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def test_a_session_that_does_not_end_keeps_others_out(
    cluster: Cluster, dbname: str, cleanup: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process is stopped, and what it does once it goes on is not known: the next agent tries again later."""
    monkeypatch.setattr("connectors.postgresql.lease.ENDS_SECONDS", 0.3)
    first, second = taken(cluster, dbname, cleanup, "first"), cluster.connector(dbname)
    cleanup.callback(second.close)
    with first.open_mover(), cluster.session(dbname) as dba:
        moving = "SELECT pid FROM pg_stat_activity WHERE application_name = 'hotplace move' AND datname = %s"
        (pid,) = dba.execute(moving, [dbname]).fetchone() or (0,)
        os.kill(pid, signal.SIGSTOP)
        cleanup.callback(_go_on, pid)
        with pytest.raises(LeaseHeld, match=f"sessions .*{pid}.* do not end"):
            second.end_holder("first")
        os.kill(pid, signal.SIGCONT)
        second.end_holder("first")
