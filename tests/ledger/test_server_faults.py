"""What the ledger's server refuses for a while: nothing new begins, samples wait on this machine, and all goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.config.ledger import LedgerServer
from agent.ledger import AWAY, Ledger, LedgerBusy
from agent.model.states import MoveState
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER, approved
from tests.ledger.servers import AGENT, LedgerServers
from tests.ledger.test_samples import append, sent

pytestmark = ON_SERVER
WAITS = 1.0  # seconds, for a lock


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


def test_no_connection_is_left(agent: Ledger, server: LedgerServer, servers: LedgerServers) -> None:
    """Samples wait in the spool and no intent is written, so nothing is sent; then both go on."""
    move, sql = running(agent)
    append(agent, 1)
    with servers.session() as dba:
        dba.execute(f"ALTER ROLE {AGENT} CONNECTION LIMIT 0".encode())
        try:
            end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = %s"
            dba.execute(end.encode(), [AGENT])
            append(agent, 2)
            with pytest.raises(AWAY):
                agent.moves.step_intent(move, 1, sql)
            assert agent.samples.waiting("shop", is_away=True) == 2
        finally:
            dba.execute(f"ALTER ROLE {AGENT} CONNECTION LIMIT -1".encode())
    time.sleep(1.1)  # a server that has just refused is left alone for a second
    append(agent, 3)
    assert agent.samples.waiting("shop", is_away=False) == 0
    with servers.session(server.dbname) as dba:
        dba.execute("SET search_path = hotplace")
        assert sent(dba) == [(1.0, 1.0), (2.0, 2.0)]
    agent.moves.step_intent(move, 1, sql)
    assert len(agent.moves.steps(move)) == 1


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
