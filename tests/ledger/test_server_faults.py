"""What the ledger's server refuses for a while: nothing new begins, samples wait on this machine, and all goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from agent.config.models import LedgerServer
from agent.ledger.errors import AWAY, LedgerBusy
from agent.ledger.ledger import Ledger
from agent.ledger.server.database import ServerDatabase
from agent.ledger.state_names import STATUS
from agent.model.states import MoveState
from tests.labs.postgresql import wait_until
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER, approved
from tests.ledger.servers import AGENT, LedgerServers
from tests.ledger.test_samples import append, sent

pytestmark = ON_SERVER
WAITS = 0.5  # seconds, for a lock
Taken = AbstractContextManager[None]
_END_SESSIONS = f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '{AGENT}'"  # our own
ROWS_OF_YEARS = 5000  # of the audit chain
_YEARS = """
SET session_replication_role = replica; SET search_path = {schema};
INSERT INTO audit
SELECT n, n, 'agent', 'move.running', 'move ' || 1000000 + n, repeat('x', 200), repeat('0', 64), repeat('0', 64)
  FROM generate_series(1, {rows}) AS n;
INSERT INTO audit_head VALUES (1, {rows}, repeat('0', 64));
ANALYZE audit
"""


@pytest.fixture
def server(servers: LedgerServers) -> LedgerServer:
    """The ledger that tests share."""
    return servers.emptied()


@pytest.fixture
def agent(server: LedgerServer, tmp_path: Path, clock: StillClock) -> Iterator[Ledger]:
    """An agent with a short patience, which acts on ``shop``."""
    with Ledger.open(server, clock, actor="test", anchors=tmp_path / "anchors", busy_seconds=WAITS) as opened:
        opened.leases.take("shop")
        yield opened


def running(ledger: Ledger) -> tuple[int, str]:
    """A move that runs, and its statement."""
    row = ledger.moves.rows(proposal_id=approved(ledger))[0]
    for state in (MoveState.PRECHECK, MoveState.RUNNING):
        ledger.moves.transition(row.id, state, "go")
    return row.id, row.move.route.steps[0].sql


@contextmanager
def role_limited(servers: LedgerServers) -> Iterator[None]:
    """The login may have no session."""
    with servers.session() as dba:
        dba.execute(f"ALTER ROLE {AGENT} CONNECTION LIMIT 0".encode())
        try:
            dba.execute(_END_SESSIONS.encode())
            yield
        finally:
            dba.execute(f"ALTER ROLE {AGENT} CONNECTION LIMIT -1".encode())


@contextmanager
def all_taken(servers: LedgerServers) -> Iterator[None]:
    """Others have all of max_connections."""

    def take() -> None:
        while True:
            others.enter_context(psycopg.connect(host=str(servers.server.folder), user=AGENT, dbname="postgres"))

    with servers.session() as dba, ExitStack() as others:
        dba.execute(_END_SESSIONS.encode())
        with pytest.raises(psycopg.OperationalError, match=r"connection slots|too many clients"):
            take()
        yield


@pytest.mark.parametrize("taken", [role_limited, all_taken])
def test_no_connection_is_left(
    agent: Ledger, server: LedgerServer, servers: LedgerServers, taken: Callable[[LedgerServers], Taken]
) -> None:
    """Samples wait on this machine and no intent is written, so nothing is sent; then both go on."""
    move, sql = running(agent)
    append(agent, 1)
    with taken(servers):
        append(agent, 2)
        with pytest.raises(AWAY):
            agent.moves.step_intent(move, 1, sql)
        assert agent.samples.waiting("shop", is_away=True) == 2
    time.sleep(1.1)  # a server that has just refused is left alone for a second
    append(agent, 3)
    assert agent.samples.waiting("shop", is_away=False) == 0
    with servers.session(server.dbname) as dba:
        dba.execute("SET search_path = hotplace")
        assert sent(dba) == [(1.0, 1.0), (2.0, 2.0)]
    agent.moves.step_intent(move, 1, sql)
    assert len(agent.moves.steps(move)) == 1


def test_a_long_chain_is_not_walked(agent: Ledger, server: LedgerServer, servers: LedgerServers) -> None:
    """Decisions and intents look at the rows of their own move and at the end, not at those of years: others wait."""
    with servers.session(server.dbname) as dba:
        dba.execute(_YEARS.format(schema=server.schema_name, rows=ROWS_OF_YEARS).encode())
        before = rows_read(dba)
        move, sql = running(agent)
        agent.moves.step_intent(move, 1, sql)
        assert agent.rules.rows() == []
        agent.close()  # a session reports what it has read when it ends
        sessions = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s"
        wait_until(lambda: dba.execute(sessions, [AGENT]).fetchone() == (0,), "the end of its sessions")
        assert rows_read(dba) - before < ROWS_OF_YEARS


def rows_read(dba: psycopg.Connection) -> int:
    """Rows of the audit chain that were read, by the server's counters."""
    dba.execute("SELECT pg_stat_clear_snapshot()")
    row = dba.execute("SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'audit'").fetchone()
    assert row is not None
    return int(row[0])


def test_a_lock_that_is_held(agent: Ledger, server: LedgerServer, servers: LedgerServers) -> None:
    """The wait for it is bounded, the error says so, no intent is written; afterwards the same call succeeds."""
    move, sql = running(agent)
    with servers.session(server.dbname) as dba, dba.transaction():
        dba.execute(f"LOCK TABLE {server.schema_name}.audit_head IN SHARE UPDATE EXCLUSIVE MODE".encode())
        began = time.monotonic()
        with pytest.raises(LedgerBusy, match="was locked by another session for too long"):
            agent.moves.step_intent(move, 1, sql)
        assert WAITS <= time.monotonic() - began < 10 * WAITS
        assert agent.moves.steps(move) == [], "readers wait for nothing"
    agent.moves.step_intent(move, 1, sql)
    assert len(agent.moves.steps(move)) == 1


def test_a_table_that_is_rewritten(agent: Ledger, server: LedgerServer, servers: LedgerServers) -> None:
    """VACUUM FULL of hours: samples are kept here and reach the server later, the lease is neither lost nor used."""
    move, sql = running(agent)
    append(agent, 1)
    with servers.session(server.dbname) as dba, dba.transaction():
        for table in ("work", "leases"):  # the lock that VACUUM FULL, CLUSTER and many ALTER TABLE hold to their end
            dba.execute(f"LOCK TABLE {server.schema_name}.{table} IN ACCESS EXCLUSIVE MODE".encode())
        refused: tuple[Callable[[], object], ...] = (
            lambda: agent.leases.renew("shop"),
            lambda: agent.moves.step_intent(move, 1, sql),
            lambda: agent.state.save_document("shop", STATUS, {}),
        )
        for call in refused:
            began = time.monotonic()
            with pytest.raises(LedgerBusy, match="was locked by another session for too long"):
                call()
            assert WAITS <= time.monotonic() - began < 10 * WAITS
        append(agent, 2)
        assert agent.samples.waiting("shop", is_away=True) == 2
        assert agent.moves.steps(move) == [], "nothing was written, so nothing is sent"
    agent.leases.renew("shop")
    append(agent, 3)
    assert agent.samples.waiting("shop", is_away=False) == 0
    agent.moves.step_intent(move, 1, sql)
    assert (len(agent.moves.steps(move)), agent.leases.token("shop")) == (1, 1)


def test_ctrl_c_amid_a_statement_is_ctrl_c(server: LedgerServer) -> None:
    """The session that still waits for its answer ends; the interrupt gets out, and the next question is answered."""
    database = ServerDatabase(server, busy_seconds=WAITS)

    def interrupted() -> None:
        with database.read() as reading:
            reading.driver.pgconn.send_query(b"SELECT pg_sleep(20)")
            raise KeyboardInterrupt

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        with database.read() as reading:
            assert reading.scalar(text("SELECT 1")) == 1
    finally:
        database.close()
