"""Leases: one process acts on a database, and what an earlier one still writes is refused by its token."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from agent.config.models import LedgerServer
from agent.ledger.errors import LeaseLost
from agent.ledger.ledger import Ledger
from agent.ledger.rows import StepState
from agent.ledger.store import schema
from agent.model.states import MoveState
from agent.service.leasing import Leasing
from connectors.kit.contract import LeaseHeld
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER, approved, open_ledger
from tests.ledger.servers import LedgerServers
from tests.ledger.test_moves import _outcome

Two = tuple[Ledger, Ledger]
SHORT = 1.0  # seconds, of a lease that a test waits for


@pytest.fixture
def two(place: Path | LedgerServer, tmp_path: Path, clock: StillClock) -> Iterator[Two]:
    """Two processes with one ledger, of either kind."""
    with ExitStack() as stack:
        first, second = (stack.enter_context(open_ledger(place, tmp_path / "ledger.db", clock)) for _ in range(2))
        yield first, second


@pytest.fixture
def server(servers: LedgerServers) -> LedgerServer:
    """The ledger that tests share, with short leases."""
    return servers.emptied().model_copy(update={"lease_seconds": SHORT})


@pytest.fixture
def fleet(server: LedgerServer, tmp_path: Path) -> Iterator[Two]:
    """Two agents on it, whose clocks are ten hours apart."""
    with ExitStack() as stack:
        clocks = StillClock(), StillClock(StillClock().now() + timedelta(hours=10))
        first, second = (stack.enter_context(open_ledger(server, tmp_path / "ledger.db", clock)) for clock in clocks)
        yield first, second


def running(ledger: Ledger) -> tuple[int, str]:
    """A move of ``shop`` that runs under the ledger's lease, and its statement."""
    ledger.leases.take("shop")
    row = ledger.moves.rows(proposal_id=approved(ledger))[0]
    for state in (MoveState.PRECHECK, MoveState.RUNNING):
        ledger.moves.transition(row.id, state, "go")
    return row.id, row.move.route.steps[0].sql


def taken_over(two: Two) -> tuple[int, str, int]:
    """The first begins a statement, then the second takes the lease; move, statement and step."""
    first, second = two
    move, sql = running(first)
    step = first.moves.step_intent(move, 1, sql)
    if first.leases.run_out:
        time.sleep(0.01)
        expire(first)
    second.leases.take("shop")
    return move, sql, step


def expire(ledger: Ledger) -> None:
    """As if nothing had been heard of its holder for long."""
    with ledger._database.write() as transaction:
        long_ago = datetime(2020, 1, 1, tzinfo=UTC)
        row = transaction.first(select(schema.leases))._asdict()
        transaction.put(schema.leases, [{**row, "expires_at": long_ago}])


def test_every_write_of_an_earlier_holder_is_refused(two: Two) -> None:
    """Intent, result, change of state and outcome; the later holder goes on with the same move."""
    first, second = two
    move, sql, step = taken_over(two)
    rows = first.audit.verify().rows
    assert first.leases.token("shop") == 1, "it cannot know yet"
    writes: dict[str, Callable[[], object]] = {
        "intent": lambda: first.moves.step_intent(move, 1, sql),
        "result": lambda: first.moves.step_result(step, StepState.DONE, ""),
        "state": lambda: first.moves.transition(move, MoveState.PLACED, "done"),
        "outcome": lambda: first.moves.record_outcome(move, _outcome()),
    }
    for what, write in writes.items():
        with pytest.raises(LeaseLost, match="another agent acts on shop by now") as caught:
            write()
        assert "Nothing was written or sent" in caught.value.advice, what
    assert (first.audit.verify().rows, first.leases.token("shop")) == (rows, None)
    with pytest.raises(LeaseLost):  # although a write has met it before: the daemon stands by at its next turn
        Leasing("shop", first.leases, pytest.fail).keep()
    assert second.moves.row(move).state is MoveState.RUNNING
    second.moves.step_result(step, StepState.UNKNOWN, "taken over")
    second.moves.transition(move, MoveState.UNKNOWN, "taken over")


def test_tokens_only_grow(two: Two) -> None:
    """With each holder, and not while one stays it; also over a lease that was given back."""
    first, second = two
    first.leases.take("shop")
    first.leases.take("shop")
    assert (first.leases.token("shop"), second.leases.token("shop")) == (1, None)
    first.leases.give_back("shop")
    second.leases.take("shop")
    second.leases.give_back("shop")
    first.leases.take("shop")
    assert first.leases.token("shop") == 3
    first.leases.take("other")
    assert [(row.database, row.token) for row in second.leases.rows()] == [("other", 1), ("shop", 3)]


def test_what_was_given_back_is_refused_like_what_was_lost(two: Two) -> None:
    """The next holder's token is newer; an earlier holder cannot give that one's lease back."""
    first, second = two
    move, sql = running(first)
    token = first.leases.token("shop")
    assert token is not None
    first.leases.give_back("shop")
    second.leases.take("shop")
    first.leases._tokens["shop"] = token  # as if it had slept since before
    first.leases.give_back("shop")
    assert second.leases.rows()[0].session == second.leases.session
    first.leases._tokens["shop"] = token
    for write in (lambda: first.moves.step_intent(move, 1, sql), lambda: first.leases.renew("shop")):
        with pytest.raises(LeaseLost):
            write()


@pytest.mark.parametrize("knows", [False, True])
def test_what_an_earlier_holder_has_learned_replaces_nothing(two: Two, knows: bool) -> None:
    """Whether it has lost the lease or given it back; of databases that it acts on, it may write."""
    first, second = two
    now = StillClock().now()
    first.leases.take("shop")
    if knows:
        first.leases.give_back("shop")
    elif first.leases.run_out:
        expire(first)
    second.leases.take("shop")
    learned = {"heat": np.arange(3.0)}
    writes: tuple[Callable[[Ledger], object], ...] = (
        lambda of: of.state.save_arrays("shop", "heat", now, learned),
        lambda of: of.state.share_arrays("shop", "decision", now, learned),
        lambda of: of.state.save_document("shop", "status", {}),
    )
    for write in writes:
        write(second)
        with pytest.raises(LeaseLost, match="another agent acts on shop by now"):
            write(first)
    second.leases.give_back("shop")
    # What it knows is older than what the other one has left. Of a file a command may have had it for a moment.
    with pytest.raises(LeaseLost) if first.leases.run_out else nullcontext():
        first.state.save_document("shop", "status", {})
    first.state.save_document("other", "status", {})
    first.leases.take("shop")
    for write in writes:
        write(first)


def test_a_command_writes_for_the_agent_that_acts(two: Two) -> None:
    """The mark of a trace, what a proposal was made from: it acts on nothing, so it has nothing to lose."""
    agent, command = two
    agent.leases.take("shop")
    command.state.save_document("shop", "trace", {"on": True})
    assert agent.state.load_document("shop", "trace") == (StillClock().now(), {"on": True})


class TestOnServer:
    """What only several machines can meet."""

    pytestmark = ON_SERVER

    def test_a_lease_in_force_is_not_taken(self, fleet: Two) -> None:
        """Whatever the clocks of the agents say; the error names its holder. Nor does another one write without it."""
        first, second = fleet
        move, sql = running(first)
        with pytest.raises(LeaseHeld, match="another agent acts on shop: test, whose lease 1 ends in"):
            second.leases.take("shop")
        with pytest.raises(LeaseLost):
            second.moves.step_intent(move, 1, sql)
        first.moves.step_intent(move, 1, sql)

    def test_a_lease_that_is_not_renewed_is_taken_in_time(self, fleet: Two) -> None:
        """Not before its time, and within twice of it; who took it over is in the chain."""
        first, second = fleet
        first.leases.take("shop")
        time.sleep(0.7 * SHORT)
        first.leases.renew("shop")
        renewed = time.monotonic()
        while True:
            try:
                before = second.leases.take("shop")
                break
            except LeaseHeld:
                time.sleep(SHORT / 20)
        assert SHORT - 0.1 <= time.monotonic() - renewed < 2 * SHORT
        assert before is not None
        assert before.session == first.leases.session
        (row,) = second.audit.rows(event="lease.*")
        assert (row.event, row.subject, row.facts["token"]) == ("lease.taken_over", "shop", 2)
        with pytest.raises(LeaseLost):
            first.leases.renew("shop")

    def test_a_lease_that_ran_out_and_was_not_taken_goes_on(self, fleet: Two) -> None:
        """Its token is still the newest: no other agent has acted meanwhile."""
        first, _ = fleet
        move, sql = running(first)
        expire(first)
        first.moves.step_intent(move, 1, sql)
        first.leases.renew("shop")
        assert first.leases.rows()[0].is_in_force

    def test_a_clock_of_the_server_that_was_set_back_holds_up_no_takeover(
        self, fleet: Two, server: LedgerServer, servers: LedgerServers
    ) -> None:
        """A lease that ends later than it lasts is the dead's, as after a failover to a server with another clock."""
        first, second = fleet
        first.leases.take("shop")
        with servers.session(server.dbname) as dba:
            dba.execute("UPDATE hotplace.leases SET expires_at = expires_at + 36000000000")
        second.leases.take("shop")
        with pytest.raises(LeaseLost):
            first.leases.renew("shop")

    def test_a_takeover_waits_for_an_intent_that_is_being_written(self, fleet: Two) -> None:
        """What the earlier holder has checked stands until its transaction ends; the later one sees what it wrote."""
        first, second = fleet
        move, sql = running(first)
        expire(first)
        seen: list[int] = []

        def take() -> None:
            second.leases.take("shop")
            seen.append(len(second.moves.steps(move)))

        taking = threading.Thread(target=take)
        with first._database.write_apart() as transaction:  # without the lock of decisions: the lease's own must do
            first.leases.require(transaction, "shop")
            taking.start()
            taking.join(0.3)
            assert taking.is_alive()
            row = transaction.first(select(schema.moves))
            values = {"move_id": move, "ordinal": 1, "sql": sql, "state": "intended", "detail": "",
                      "intended_at": row.updated_at}  # fmt: skip
            transaction.insert(schema.steps, values)
        taking.join()
        assert seen == [1]
