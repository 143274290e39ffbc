"""A ledger that fails over to an older copy: nothing is sent twice, and what was done comes back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from agent.config.models import LedgerServer
from agent.ledger.chain.sent import KEPT
from agent.ledger.errors import FellBack, LedgerCorrupt, Untrusted
from agent.ledger.ledger import Ledger
from agent.ledger.rows import StepState
from agent.ledger.store import schema
from agent.ledger.store.schema import metadata
from agent.model.states import MoveState
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER, approved, open_ledger
from tests.ledger.servers import LedgerServers
from tests.ledger.test_leases import expire

pytestmark = ON_SERVER
_TABLES = [table.name for table in metadata.sorted_tables]


@pytest.fixture
def server(servers: LedgerServers) -> LedgerServer:
    """The ledger that tests share."""
    return servers.emptied()


@pytest.fixture
def agent(server: LedgerServer, tmp_path: Path, clock: StillClock) -> Iterator[Ledger]:
    """An agent that acts on ``shop``."""
    with open_ledger(server, tmp_path / "ledger.db", clock) as opened:
        opened.leases.take("shop")
        yield opened


@pytest.fixture
def dba(server: LedgerServer, servers: LedgerServers) -> Iterator[psycopg.Connection]:
    """Who replaces the server by a copy of it."""
    with servers.session(server.dbname) as session:
        session.execute("SET session_replication_role = replica")
        session.execute(f"SET search_path = {server.schema_name}".encode())
        yield session


def copy(dba: psycopg.Connection) -> None:
    """Keep what the ledger holds now."""
    for name in _TABLES:
        dba.execute(f"CREATE TEMP TABLE copy_of_{name} AS TABLE {name}".encode())


def fail_over(dba: psycopg.Connection) -> None:
    """The copy takes the place of the ledger; numbers that were given since are given again."""
    with dba.transaction():
        for name in reversed(_TABLES):
            dba.execute(f"DELETE FROM {name}".encode())
        for name in _TABLES:
            dba.execute(f"INSERT INTO {name} SELECT * FROM copy_of_{name}".encode())
        dba.execute("SELECT setval('steps_id_seq', 1 + (SELECT coalesce(max(id), 0) FROM steps), false)")


def begin(ledger: Ledger, move: int) -> tuple[int, str]:
    """Send the first statement of an approved move, as far as the ledger knows; step and statement."""
    for state in (MoveState.PRECHECK, MoveState.RUNNING):
        ledger.moves.transition(move, state, "go")
    sql = ledger.moves.row(move).move.route.steps[0].sql
    return ledger.moves.step_intent(move, 1, sql), sql


def lose_all(ledger: Ledger, dba: psycopg.Connection) -> tuple[int, int, str]:
    """The copy was made between approval and precheck; move, step, statement."""
    move = ledger.moves.rows(proposal_id=approved(ledger))[0].id
    copy(dba)
    step, sql = begin(ledger, move)
    fail_over(dba)
    return move, step, sql


def test_a_lost_intent_comes_back(agent: Ledger, dba: psycopg.Connection) -> None:
    """Until then each write is refused; then the move runs, as it does in truth, and the chain says why."""
    move, step, sql = lose_all(agent, dba)
    assert (agent.moves.row(move).state, agent.moves.steps(move)) == (MoveState.APPROVED, [])
    for write in (
        lambda: agent.moves.transition(move, MoveState.PRECHECK, "once more"),
        lambda: agent.moves.step_result(step, StepState.DONE, ""),
    ):
        with pytest.raises(FellBack, match="lacks what was sent to shop"):
            write()
    restored = agent.restoring.restore("shop")
    assert restored is not None
    assert (restored.written, restored.without_place) == ((sql,), ())
    assert agent.moves.row(move).state is MoveState.RUNNING
    (back,) = agent.moves.steps(move)
    assert (back.sql, back.state) == (sql, StepState.DONE), "the result that came after the failover is not lost"
    (said,) = agent.audit.rows(event="failover.restored")
    assert (said.subject, said.facts["restored"]) == ("shop", [sql])
    assert agent.audit.verify().ok
    assert agent.restoring.restore("shop") is None
    agent.moves.transition(move, MoveState.PLACED, "by the catalog")
    other = agent.moves.rows(proposal_id=1)[1].id
    begin(agent, other)


def test_a_lost_result_comes_back(agent: Ledger, dba: psycopg.Connection) -> None:
    """The copy has the intent; also by an agent that was started since."""
    move = agent.moves.rows(proposal_id=approved(agent))[0].id
    step, _ = begin(agent, move)
    copy(dba)
    agent.moves.step_result(step, StepState.DONE, "seen")
    agent.moves.transition(move, MoveState.PLACED, "by the catalog")
    fail_over(dba)
    assert agent.restoring.restore("shop") is not None
    (back,) = agent.moves.steps(move)
    assert (back.id, back.state, back.detail) == (step, StepState.DONE, "seen")
    assert agent.moves.row(move).state is MoveState.RUNNING, "the catalog says the rest"


def test_an_agent_that_was_killed_meanwhile(
    agent: Ledger, dba: psycopg.Connection, server: LedgerServer, tmp_path: Path, clock: StillClock
) -> None:
    """What it had sent is in its file; the anchor of a start does not hide that the ledger lacks it."""
    move, _, sql = lose_all(agent, dba)
    expire(agent)
    agent.close()
    with open_ledger(server, tmp_path / "ledger.db", clock) as again:
        again.leases.take("shop")
        again.audit.anchor()
        with pytest.raises(Untrusted):
            again.moves.require_trust(again.moves.row(move))
        restored = again.restoring.restore("shop")
        assert restored is not None
        assert restored.written == (sql,)
        again.moves.require_trust(again.moves.row(move))


def test_a_result_goes_to_its_own_step(agent: Ledger, dba: psycopg.Connection) -> None:
    """Not to the statement that has got the same number since the failover."""
    move, step, sql = lose_all(agent, dba)
    with agent._database.write() as transaction:
        values = {"move_id": move, "ordinal": 9, "sql": "of another agent", "state": "intended", "detail": "",
                  "intended_at": StillClock().now()}  # fmt: skip
        assert transaction.insert(schema.steps, values) == step
    with pytest.raises(FellBack):
        agent.moves.step_result(step, StepState.DONE, "")
    agent.restoring.restore("shop")
    assert [(row.sql, row.state) for row in agent.moves.steps(move)] == [
        ("of another agent", StepState.INTENDED), (sql, StepState.DONE),
    ]  # fmt: skip


def test_a_lost_approval_is_said(agent: Ledger, dba: psycopg.Connection) -> None:
    """What was sent under it has no place in the ledger; nothing is made up, and work goes on."""
    copy(dba)
    move = agent.moves.rows(proposal_id=approved(agent))[0].id
    _, sql = begin(agent, move)
    fail_over(dba)
    restored = agent.restoring.restore("shop")
    assert restored is not None
    assert (restored.written, restored.without_place) == ((), (sql,))
    assert agent.audit.rows(event="failover.restored")[0].facts["without_place"] == [sql]
    begin(agent, agent.moves.rows(proposal_id=approved(agent))[0].id)


def test_an_older_copy_is_not_believed(agent: Ledger, dba: psycopg.Connection, clock: StillClock) -> None:
    """It lacks more than a failover loses: a person decides."""
    first, second = agent.moves.rows(proposal_id=approved(agent))
    copy(dba)
    step, _ = begin(agent, first.id)
    agent.moves.step_result(step, StepState.DONE, "")
    agent.moves.transition(first.id, MoveState.PLACED, "")
    clock.sleep(2 * KEPT / timedelta(seconds=1))
    begin(agent, second.id)
    fail_over(dba)
    with pytest.raises(Untrusted, match="it was cut, or is an older copy"):
        agent.restoring.restore("shop")
    assert agent.audit.rows(event="failover.restored") == []


def test_nothing_is_sent_without_the_file(agent: Ledger, tmp_path: Path) -> None:
    """The intent is refused where it cannot be noted on this machine."""
    (tmp_path / "ledger.db.anchors.sent").mkdir()
    move = agent.moves.rows(proposal_id=approved(agent))[0].id
    with pytest.raises(LedgerCorrupt, match=r"anchors\.sent.*not a file"):
        begin(agent, move)
