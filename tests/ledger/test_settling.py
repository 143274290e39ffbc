"""When moves are judged, by what, and what follows: verdicts that wait, that another agent gave, and of few samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from agent.config.models import DatabaseConfig, Level, Statements
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, StepState
from agent.ledger.state_names import STATEMENT_TEXTS, work_before_proposal
from agent.ledger.store import schema
from agent.model.outcomes import Outcome, OutcomeVerdict, StatementInterval
from agent.model.proposals import WorkForecast
from agent.model.states import MoveState
from agent.moving.evidence import next_look
from agent.moving.settling import Settling
from agent.moving.statement_texts import keep_texts, texts_of
from agent.moving.verifier import forecast_of_moves
from connectors.kit.contract import Connector
from tests.ledger.clock import StillClock
from tests.ledger.conftest import open_ledger
from tests.ledger.test_evidence import HEAD, MINUTE, TAIL, database, homes, placed, watch
from tests.unit.samples import a_move, a_proposal, an_outcome

__all__ = ["database"]  # a fixture
USUAL = (600, 300, 100, 1000)
NOBODY = cast(Connector, None)  # the engine is asked for nothing


@pytest.fixture
def ledger(path: Path, clock: StillClock) -> Iterator[Ledger]:
    """In a file: what is kept is the same on a server."""
    with open_ledger(path, path, clock) as opened:
        yield opened


Judge = Callable[..., tuple[Outcome, ...]]


@pytest.fixture
def judge(ledger: Ledger, clock: StillClock, database: DatabaseConfig) -> Judge:
    """What an agent concludes that has just been started."""

    def run(level: Level = Level.PROPOSE) -> tuple[Outcome, ...]:
        settling = Settling(database, ledger, clock, level, asked_by="")
        return settling.judge(NOBODY, lambda: homes(ledger))

    return run


def before_and_after(
    ledger: Ledger, clock: StillClock, *, before: int, after: int, waits: tuple[float, float]
) -> MoveRow:
    """So many minutes before a move, and so many after, with that much wait in each."""
    watch(ledger, clock, before, USUAL, wait=waits[0])
    row = placed_with_work_before(ledger, clock)
    watch(ledger, clock, after, USUAL, wait=waits[1])
    return row


def placed_with_work_before(ledger: Ledger, clock: StillClock) -> MoveRow:
    """A settling move, of which is known how the database did before it."""
    row = placed(ledger, clock, HEAD)
    demand = {"reads": 33.0, "read_wait": 0.2, "transactions": 10.0}
    ledger.state.save_document("shop", work_before_proposal(row.proposal_id), demand)
    return row


def test_what_was_before_is_kept_once(ledger: Ledger, clock: StillClock, database: DatabaseConfig) -> None:
    """By the first agent that begins a proposal: the next one would take the time between two moves for it."""
    watch(ledger, clock, 3, USUAL, wait=12.0)
    for _ in range(2):
        Settling(database, ledger, clock, Level.PROPOSE, asked_by="").store_work_before(1)
        stored = ledger.state.load_document("shop", work_before_proposal(1))
        assert stored is not None
        assert stored[1]["read_wait"] == pytest.approx(12.0 / 60)
        watch(ledger, clock, 3, USUAL, wait=4.0)


def test_what_cannot_be_told_waits_until_more_was_seen(ledger: Ledger, clock: StillClock, judge: Judge) -> None:
    """While time can tell more; at the last look it is said that it cannot."""
    row = before_and_after(ledger, clock, before=12, after=11, waits=(12.0, 12.0))
    for minute in range(0, 5, 2):  # it scatters as never before
        watch(ledger, clock, 1, USUAL, wait=30.0 - minute)
        watch(ledger, clock, 1, USUAL, wait=2.0)
    assert judge() == ()
    assert ledger.moves.row(row.id).state is MoveState.SETTLING
    for _ in range(5):
        watch(ledger, clock, 1, USUAL, wait=30.0)
        watch(ledger, clock, 1, USUAL, wait=2.0)
    (outcome,) = judge()
    assert outcome.verdict is OutcomeVerdict.CANNOT_TELL
    assert ledger.moves.row(row.id).state is MoveState.KEPT


def test_what_time_cannot_tell_is_said_at_once(ledger: Ledger, clock: StillClock, judge: Judge) -> None:
    """Five minutes were seen before the move, and will never be more."""
    row = before_and_after(ledger, clock, before=5, after=10, waits=(12.0, 4.0))
    (outcome,) = judge()
    assert outcome.verdict is OutcomeVerdict.CANNOT_TELL
    assert ledger.moves.row(row.id).state is MoveState.KEPT


def test_what_another_agent_has_said_stands(
    ledger: Ledger, clock: StillClock, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It died between the two moves of a proposal: the second gets the same verdict, although none can be told now."""
    watch(ledger, clock, 12, USUAL, wait=12.0)
    moves = a_move(1, key=HEAD), a_move(2, key=TAIL)
    number = ledger.proposals.store(a_proposal(*moves, expires_at=clock.at + timedelta(days=1)))
    ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)
    rows = ledger.moves.rows(proposal_id=number)
    for row in rows:
        for state in (MoveState.PRECHECK, MoveState.RUNNING, MoveState.PLACED, MoveState.SETTLING):
            ledger.moves.transition(row.id, state, "as a test")
    demand = {"reads": 33.0, "read_wait": 0.2, "transactions": 10.0}
    ledger.state.save_document("shop", work_before_proposal(number), demand)
    ledger.moves.record_outcome(rows[0].id, an_outcome(OutcomeVerdict.HELPED))
    for minute in range(11):
        watch(ledger, clock, 1, USUAL, wait=30.0 if minute % 2 else 2.0)
    (outcome,) = judge()
    assert outcome.verdict is OutcomeVerdict.HELPED
    found = ledger.moves.outcomes_of([row.id for row in rows])
    assert {each.outcome.verdict for each in found.values()} == {OutcomeVerdict.HELPED}
    assert len(found) == 2
    assert {ledger.moves.row(row.id).state for row in rows} == {MoveState.KEPT}


def test_who_only_observes_proposes_no_undo(ledger: Ledger, clock: StillClock, judge: Judge) -> None:
    """What hurt is said, and stays until a person asks for its undo."""
    row = before_and_after(ledger, clock, before=60, after=25, waits=(4.0, 12.0))
    (outcome,) = judge(Level.OBSERVE)
    assert outcome.verdict is OutcomeVerdict.HURT
    assert ledger.moves.row(row.id).state is MoveState.KEPT
    assert len(ledger.proposals.rows(database="shop")) == 1


def test_statements_of_one_side_are_no_comparison(ledger: Ledger, clock: StillClock, judge: Judge) -> None:
    """They are counted since the move only: nothing is said of them."""
    before_and_after(ledger, clock, before=12, after=13, waits=(12.0, 4.0))
    one = np.ones(1)
    ledger.statements.append("shop", StatementInterval(
        started_at=clock.at - 7 * MINUTE, ended_at=clock.at - 6 * MINUTE, ids=("7",), executions=100 * one,
        seconds=one, read_wait=one, reads=one,
    ))  # fmt: skip
    (outcome,) = judge()
    assert (outcome.verdict, outcome.statements) == (OutcomeVerdict.HELPED, None)


def test_time_that_was_not_sampled_is_no_look(ledger: Ledger, clock: StillClock, database: DatabaseConfig) -> None:
    """The agent was stopped after the move: half of the settle time has to be seen first, and no more."""
    short = database.model_copy(update={"settle_seconds": 240.0})
    watch(ledger, clock, 10, USUAL, wait=12.0)
    row = placed(ledger, clock, HEAD)
    clock.at += 30 * MINUTE
    assert next_look(ledger, short, [row], clock.at, 0.0) is None
    watch(ledger, clock, 2, USUAL, wait=4.0)
    look = next_look(ledger, short, [row], clock.at, 0.0)
    assert look is not None
    assert look.after == (row.updated_at + timedelta(seconds=240), clock.at)


def test_time_that_other_moves_have_ended_unsampled_is_looked_at_once(
    ledger: Ledger, clock: StillClock, judge: Judge, database: DatabaseConfig
) -> None:
    """The agent was away until the next moves began: no more will ever be known, so the move stays unmeasured."""
    watch(ledger, clock, 10, USUAL, wait=12.0)
    row = placed_with_work_before(ledger, clock)
    clock.at += timedelta(seconds=3 * database.settle_seconds)
    lost_sight_of(ledger, clock, TAIL)
    watch(ledger, clock, 60, USUAL, wait=4.0)
    assert next_look(ledger, database, [row], clock.at, 0.0) is None, "samples may still come"
    clock.at += timedelta(hours=2)
    look = next_look(ledger, database, [row], clock.at, 0.0)
    assert look is not None
    assert look.last
    assert OutcomeVerdict.UNMEASURED in {outcome.verdict for outcome in judge()}
    assert ledger.moves.row(row.id).state is MoveState.KEPT


def test_a_statement_whose_end_nobody_saw_holds_no_verdict_back(
    ledger: Ledger, clock: StillClock, judge: Judge, database: DatabaseConfig
) -> None:
    """The agent was killed as it ran; the catalog then showed the move done, and that is when it was over at last."""
    watch(ledger, clock, 3, USUAL, wait=12.0)
    killed = lost_sight_of(ledger, clock, TAIL)
    over = clock.at
    watch(ledger, clock, 40, USUAL, wait=12.0)
    ledger.moves.transition(killed.id, MoveState.KEPT, "test")
    row = placed_with_work_before(ledger, clock)
    watch(ledger, clock, 60, USUAL, wait=4.0)
    look = next_look(ledger, database, [row], clock.at, 0.0)
    assert look is not None
    assert [each.id for each in look.joint] == [row.id]
    (outcome,) = judge()
    assert outcome.verdict is OutcomeVerdict.HELPED
    assert [each.move_id for each in ledger.moves.sent_statements("shop", over)] == [killed.id, row.id]
    assert [each.move_id for each in ledger.moves.sent_statements("shop", row.updated_at - MINUTE / 2)] == [row.id]


def begun(ledger: Ledger, clock: StillClock, key: str) -> MoveRow:
    """A move whose first statement was sent."""
    number = ledger.proposals.store(a_proposal(a_move(key=key), expires_at=clock.at + timedelta(days=1)))
    ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)
    (row,) = ledger.moves.rows(proposal_id=number)
    for state in (MoveState.PRECHECK, MoveState.RUNNING):
        ledger.moves.transition(row.id, state, "test")
    ledger.moves.step_intent(row.id, 1, row.move.route.steps[0].sql)
    return row


def lost_sight_of(ledger: Ledger, clock: StillClock, key: str) -> MoveRow:
    """A move whose statement's end was not written down, found placed ten minutes later."""
    row = begun(ledger, clock, key)
    clock.at += 10 * MINUTE
    for state in (MoveState.UNKNOWN, MoveState.PLACED, MoveState.SETTLING):
        ledger.moves.transition(row.id, state, "test")
    return ledger.moves.row(row.id)


@pytest.mark.parametrize(("forged", "made"), [(True, placed), (True, lost_sight_of), (False, placed)])
def test_a_move_that_only_the_tables_call_running_holds_no_verdict_back(
    ledger: Ledger, clock: StillClock, judge: Judge, forged: bool, made: Callable[[Ledger, StillClock, str], MoveRow]
) -> None:
    """No statement is sent on the strength of a forged row, so it would never end; a move that does run is awaited."""
    watch(ledger, clock, 20, USUAL, wait=12.0)
    if forged:
        other = made(ledger, clock, TAIL)
        with ledger._database.write() as transaction:
            transaction.update(schema.moves, [other.id], {"state": MoveState.RUNNING})
    else:
        other = begun(ledger, clock, TAIL)
        (step,) = ledger.moves.steps_of([other.id])[other.id]
        ledger.moves.step_result(step.id, StepState.DONE, "the next statement is still to come")
    watch(ledger, clock, 20, USUAL, wait=12.0)
    row = placed_with_work_before(ledger, clock)
    watch(ledger, clock, 30, USUAL, wait=4.0)
    assert [outcome.verdict for outcome in judge()] == [OutcomeVerdict.HELPED] * forged
    assert ledger.moves.row(row.id).state is (MoveState.KEPT if forged else MoveState.SETTLING)


def test_a_move_without_a_statement_began_when_its_proposal_did(
    ledger: Ledger, clock: StillClock, database: DatabaseConfig
) -> None:
    """Found where it was to go: what was before is what was kept then."""
    watch(ledger, clock, 10, USUAL, wait=12.0)
    number = ledger.proposals.store(a_proposal(a_move(key=HEAD), expires_at=clock.at + timedelta(days=1)))
    ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)
    began = clock.at
    ledger.state.save_document("shop", work_before_proposal(number), {"reads": 33.0})
    clock.at += MINUTE
    for state in (MoveState.PRECHECK, MoveState.RUNNING, MoveState.PLACED, MoveState.SETTLING):
        ledger.moves.transition(1, state, "as a test")
    watch(ledger, clock, 11, USUAL, wait=4.0)
    look = next_look(ledger, database, [ledger.moves.row(1)], clock.at, 0.0)
    assert look is not None
    assert look.before[1] == began


def test_the_forecast_of_all_moves_is_that_of_the_proposal(ledger: Ledger) -> None:
    """Nothing is worked out again where every move ran; where one did not, and its plan is gone, that is said."""
    forecast = WorkForecast(
        work="transactions", per_second_now=8.0, per_second=10.0, per_second_low=9.0, per_second_high=11.0,
        latency_now=0.1, latency=0.08, latency_low=0.07, latency_high=0.09, read_wait=0.05, certainty=0.9,
    )  # fmt: skip
    proposal = a_proposal(a_move(1, key=HEAD), a_move(2, key=TAIL), forecast=forecast)
    assert forecast_of_moves(ledger, 1, proposal, proposal.moves) is forecast
    some = forecast_of_moves(ledger, 1, proposal, proposal.moves[:1])
    assert some is not None
    assert (some.per_second, some.why_not) == (None, "1 of 2 moves ran, and their plan is not kept")


def test_texts_are_forgotten_once_nobody_wants_them(ledger: Ledger, database: DatabaseConfig) -> None:
    """Texts of statements may name what is private: with the setting they go."""
    ledger.state.save_document("shop", STATEMENT_TEXTS, {"7": "SELECT $1"})
    outcome = an_outcome(OutcomeVerdict.HELPED)
    keep_texts(ledger, database.model_copy(update={"statements": Statements.TEXTS}), NOBODY, outcome)
    assert texts_of(ledger, "shop") == {"7": "SELECT $1"}
    keep_texts(ledger, database, NOBODY, outcome)
    assert texts_of(ledger, "shop") == {}
