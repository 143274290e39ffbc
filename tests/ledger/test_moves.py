"""The life of a move in the ledger, its journal, its outcome, and when it was last moved."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from agent.ledger.errors import NotApproved, NotFound, WrongState
from agent.ledger.ledger import Ledger
from agent.ledger.rows import StepState
from agent.model.outcomes import Outcome, OutcomeVerdict, outcome_from_json, outcome_json
from agent.model.states import TRANSITIONS, IllegalTransition, MoveState, ProposalState
from connectors.model.moves import Bundle, Step, UnitKind
from tests.ledger.clock import StillClock
from tests.ledger.conftest import Tamper, approved, stored
from tests.unit.samples import a_move, a_proposal, a_route

S = MoveState
RUN = (S.PRECHECK, S.RUNNING)
KEPT = (*RUN, S.PLACED, S.SETTLING, S.KEPT)


def _walk(ledger: Ledger, move_id: int, *states: MoveState) -> None:
    for state in states:
        ledger.moves.transition(move_id, state, f"now {state}")


def _ids(ledger: Ledger, number: int) -> list[int]:
    return [row.id for row in ledger.moves.rows(proposal_id=number)]


def _outcome(**changes: object) -> Outcome:
    values: dict[str, object] = {
        "verdict": OutcomeVerdict.HELPED, "measured": True, "predicted_wait_saved_per_hour": 900.0,
        "predicted_saved_ratio": 0.75, "wait_per_transaction_before": 0.04, "wait_per_transaction_after": 0.01,
        "transactions_per_second_before": 120.0, "transactions_per_second_after": 600.0,
        "read_latency_before": 0.005, "read_latency_after": 0.001, "window_seconds": 60.0, "sentence": "it helped",
        "predicted_saved_ratio_low": 0.6, "predicted_saved_ratio_high": 0.9,
    }  # fmt: skip
    return Outcome(**{**values, **changes})  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize("before", list(S))
def test_every_change_of_state_obeys_the_table(ledger: Ledger, tamper: Tamper, before: MoveState) -> None:
    """From each state exactly the allowed ones are reached, checked against what is stored."""
    move_id = _ids(ledger, approved(ledger))[0]
    for after in S:
        tamper("UPDATE moves SET state = ? WHERE id = ?", before, move_id)
        # Of a move that hotplace sends; those that a person carries out: test_by_hand.py.
        if after in TRANSITIONS[before] - {S.HANDED_OVER} and (before, after) != (S.PROPOSED, S.APPROVED):
            assert ledger.moves.transition(move_id, after, "why").state is after
        else:
            with pytest.raises(IllegalTransition):
                ledger.moves.transition(move_id, after, "why")
            assert ledger.moves.row(move_id).state is before


def test_a_move_is_approved_by_the_digest_and_in_no_other_way(ledger: Ledger) -> None:
    """Promise 1: bringing a proposed move into the state is refused; bringing a begun one back to it is not."""
    (proposed, *_) = _ids(ledger, stored(ledger))
    with pytest.raises(IllegalTransition, match="with the digest, in no other way"):
        ledger.moves.transition(proposed, S.APPROVED, "because I say so")
    (begun, *_) = _ids(ledger, approved(ledger))
    _walk(ledger, begun, *RUN)
    assert ledger.moves.transition(begun, S.APPROVED, "nothing changed").state is S.APPROVED


def test_a_change_keeps_reason_time_and_attempts(ledger: Ledger, clock: StillClock) -> None:
    """An attempt is a start; going on after a pause is none."""
    move_id = _ids(ledger, approved(ledger))[0]
    _walk(ledger, move_id, *RUN, S.PAUSED, S.RUNNING, S.APPROVED, S.PRECHECK)
    clock.sleep(5)
    row = ledger.moves.transition(move_id, S.RUNNING, "second try")
    assert (row.attempts, row.reason, row.updated_at) == (2, "second try", clock.now())
    audit = ledger.audit.rows(1)[0]
    assert (audit.event, audit.subject, audit.at) == ("move.running", f"move {move_id}", clock.now())
    assert audit.facts == {"was": "precheck", "reason": "second try", "digest": row.digest}


def test_nothing_begins_without_an_approval(ledger: Ledger) -> None:
    """A proposed move cannot be approved by a change of state."""
    move_id = _ids(ledger, stored(ledger))[0]
    with pytest.raises(IllegalTransition, match=r"Proposals\.approve"):
        ledger.moves.transition(move_id, S.APPROVED, "sneaking in")
    with pytest.raises(IllegalTransition):
        ledger.moves.transition(move_id, S.PRECHECK, "sneaking in")


def test_a_proposal_ends_with_its_last_move(ledger: Ledger) -> None:
    """However they ended; not before."""
    number = approved(ledger)
    first, second = _ids(ledger, number)
    _walk(ledger, first, *KEPT)
    assert ledger.proposals.row(number).state is ProposalState.APPROVED
    _walk(ledger, second, S.PRECHECK, S.SKIPPED)
    assert ledger.proposals.row(number).state is ProposalState.FINISHED
    _walk(ledger, first, S.UNDO_PROPOSED, S.UNDONE)
    assert ledger.proposals.row(number).state is ProposalState.FINISHED


def _undo_of(ledger: Ledger, move_id: int, **changes: object) -> int:
    """The number of a proposal that takes a move back."""
    key = ledger.moves.row(move_id).move.key
    back = a_proposal(a_move(1, key=key, undoes=move_id), purpose=f"undo {move_id}")
    return ledger.proposals.store(replace(back, **changes))  # type: ignore[arg-type]  # fields of a proposal


@pytest.mark.parametrize("end", ["rejected", "struck", "superseded", "expired", "skipped", "failed", "placed"])
def test_a_move_knows_at_once_how_its_undo_ended(ledger: Ledger, clock: StillClock, end: str) -> None:
    """In the transaction that ends it: no command in between is told that the undo still waits."""
    move_id, at = _ids(ledger, approved(ledger))[0], clock.now() + timedelta(minutes=1)
    _walk(ledger, move_id, *KEPT)
    number = _undo_of(ledger, move_id, **({"expires_at": at} if end == "expired" else {}))
    assert ledger.moves.row(move_id).state is S.UNDO_PROPOSED
    who = {"who": "anna", "origin": "terminal", "reason": "it is fine"}
    match end:
        case "rejected":
            ledger.proposals.reject(number, **who)
        case "struck":
            ledger.proposals.strike(number, 1, **who)
        case "superseded":
            ledger.proposals.end(number, "nothing left to do")
        case "expired":
            clock.sleep(60)
            ledger.proposals.expire_due()
        case _:
            approve = ledger.proposals.approve
            approve(number, who="anna", origin="terminal", digest=ledger.proposals.row(number).digest)
            ways = {"skipped": (S.PRECHECK, S.SKIPPED), "failed": (*RUN, S.FAILED), "placed": (*RUN, S.PLACED)}
            _walk(ledger, _ids(ledger, number)[0], *ways[end])
    row = ledger.moves.row(move_id)
    if end == "placed":
        assert (row.state, row.reason) == (S.UNDONE, f"move {_ids(ledger, number)[0]} took it back")
    else:
        assert row.state is S.KEPT
        assert row.reason.startswith("not taken back, it is ")
    assert ledger.audit.verify().ok


def test_only_the_newest_undo_decides(ledger: Ledger) -> None:
    """One that another takes the place of does not make its move kept."""
    move_id = _ids(ledger, approved(ledger))[0]
    _walk(ledger, move_id, *KEPT)
    older = _undo_of(ledger, move_id)
    newer = _undo_of(ledger, move_id, asked_by="anna")
    assert ledger.proposals.row(older).state is ProposalState.SUPERSEDED
    assert ledger.moves.row(move_id).state is S.UNDO_PROPOSED
    ledger.proposals.reject(newer, who="anna", origin="terminal", reason="it is fine")
    assert ledger.moves.row(move_id).state is S.KEPT
    assert ledger.audit.verify().ok


def test_an_undo_that_was_changed_by_hand_ends_like_any_other(
    ledger: Ledger, clock: StillClock, tamper: Tamper
) -> None:
    """Its move is then left as it is: nothing that the text says is believed."""
    move_id = _ids(ledger, approved(ledger))[0]
    _walk(ledger, move_id, *KEPT)
    number = _undo_of(ledger, move_id, expires_at=clock.now() + timedelta(minutes=1))
    tamper("UPDATE proposals SET body = body || ' ' WHERE id = ?", number)
    clock.sleep(60)
    assert ledger.proposals.expire_due() == 1
    assert ledger.moves.row(move_id).state is S.UNDO_PROPOSED


def test_moves_are_listed_in_the_order_of_execution(ledger: Ledger) -> None:
    """By database, proposal and state."""
    number = approved(ledger, 3)
    ledger.proposals.store(a_proposal(a_move(1), database="hr"))
    rows = ledger.moves.rows(database="shop", states={S.APPROVED})
    assert [row.move.ordinal for row in rows] == [1, 2, 3]
    assert {(row.proposal_id, row.database, row.fingerprint) for row in rows} == {
        (number, "shop", "cluster 1 database 5")
    }
    assert len(ledger.moves.rows()) == 4
    assert ledger.moves.rows(states=()) == []
    with pytest.raises(NotFound, match="no move 99"):
        ledger.moves.row(99)


def test_every_unit_of_a_placed_bundle_cools_down(ledger: Ledger, clock: StillClock) -> None:
    """From the time it arrived; undoing counts as moving."""
    bundle = Bundle(
        key="public.t1", physical_ids=(1, 2), unit_keys=("public.t1", "public.t1 lob"), kind=UnitKind.TABLE,
        size_bytes=1, space="slow",
    )  # fmt: skip
    route = a_route("public.t1")
    object.__setattr__(route, "bundle", bundle)
    number = ledger.proposals.store(a_proposal(a_move(1, key="public.t1", route=route), a_move(2, key="public.t2")))
    ledger.proposals.approve(number, who="anna", origin="terminal", digest=ledger.proposals.row(number).digest)
    first = _ids(ledger, number)[0]
    assert ledger.moves.last_moved("shop") == {}
    _walk(ledger, first, *RUN, S.PLACED)
    placed = clock.now()
    assert ledger.moves.last_moved("shop") == {"public.t1": placed, "public.t1 lob": placed}
    assert ledger.moves.last_moved("hr") == {}
    clock.sleep(60)
    _walk(ledger, first, S.SETTLING, S.KEPT)
    assert set(ledger.moves.last_moved("shop").values()) == {placed}
    _walk(ledger, first, S.UNDO_PROPOSED, S.UNDONE)
    assert set(ledger.moves.last_moved("shop").values()) == {clock.now()}


def test_the_journal_has_the_intent_before_the_result(ledger: Ledger, clock: StillClock) -> None:
    """The statement as sent, when, and what became of it."""
    move_id = _ids(ledger, approved(ledger))[0]
    _walk(ledger, move_id, *RUN)
    sql = ledger.moves.row(move_id).move.route.steps[0].sql
    step = ledger.moves.step_intent(move_id, 1, sql)
    before: datetime = clock.now()
    (row,) = ledger.moves.steps(move_id)
    assert (row.sql, row.state, row.intended_at, row.ended_at) == (sql, StepState.INTENDED, before, None)
    clock.sleep(3)
    ledger.moves.step_result(step, StepState.FAILED, "lock timeout")
    again = ledger.moves.step_intent(move_id, 1, sql)
    ledger.moves.step_result(again, StepState.DONE, "")
    rows = ledger.moves.steps(move_id)
    assert [(row.state, row.detail, row.ended_at) for row in rows] == [
        (StepState.FAILED, "lock timeout", clock.now()), (StepState.DONE, "", clock.now()),
    ]  # fmt: skip
    assert [row.event for row in ledger.audit.rows(4)] == ["step.done", "step.intended", "step.failed", "step.intended"]


def test_only_approved_statements_are_journalled(ledger: Ledger) -> None:
    """Letter by letter; ways back and tidying are part of what was approved, anything else is not."""
    route = a_route()
    tidy, undo = Step(sql="DROP INDEX i_ccnew", purpose="tidy"), "ALTER INDEX i SET TABLESPACE slow"
    steps = (Step(sql=route.steps[0].sql, purpose="move", undo_sql=undo),)
    object.__setattr__(route, "tidy_steps", (tidy,))
    object.__setattr__(route, "steps", steps)
    number = ledger.proposals.store(a_proposal(a_move(1, route=route)))
    ledger.proposals.approve(number, who="anna", origin="terminal", digest=ledger.proposals.row(number).digest)
    move_id = _ids(ledger, number)[0]
    _walk(ledger, move_id, *RUN)
    for sql in (steps[0].sql, route.undo_steps[0].sql, tidy.sql, undo):
        ledger.moves.step_intent(move_id, 1, sql)
    for sql in ("DROP TABLE public.orders", steps[0].sql + " ", steps[0].sql.lower(), ""):
        with pytest.raises(NotApproved, match=f"move {move_id}"):
            ledger.moves.step_intent(move_id, 1, sql)
    assert len(ledger.moves.steps(move_id)) == 4


def test_what_a_move_has_left_may_be_removed_whatever_became_of_it(ledger: Ledger) -> None:
    """Only what tidies up, and only of a move that has begun: a leftover outlives the move that has left it."""
    tidy = Step(sql="DROP INDEX i_ccnew", purpose="tidy", variants=("DROP INDEX i_ccnew1",))
    number = ledger.proposals.store(a_proposal(a_move(1, route=replace(a_route(), tidy_steps=(tidy,)))))
    ledger.proposals.approve(number, who="anna", origin="terminal", digest=ledger.proposals.row(number).digest)
    (move_id,) = _ids(ledger, number)
    with pytest.raises(WrongState):
        ledger.moves.step_intent(move_id, 2, tidy.sql)
    _walk(ledger, move_id, *RUN, S.FAILED)
    for sql in tidy.statements:
        ledger.moves.step_result(ledger.moves.step_intent(move_id, 2, sql), StepState.DONE, "")
    with pytest.raises(WrongState):
        ledger.moves.step_intent(move_id, 1, a_route().steps[0].sql)
    with pytest.raises(NotApproved):
        ledger.moves.step_intent(move_id, 2, "DROP INDEX i_ccnew2")


def test_statements_are_sent_while_the_move_runs(ledger: Ledger) -> None:
    """Not before, not after."""
    move_id = _ids(ledger, approved(ledger))[0]
    sql = ledger.moves.row(move_id).move.route.steps[0].sql
    for states in ((), (S.PRECHECK,), (S.RUNNING, S.PLACED)):
        _walk(ledger, move_id, *states)
        with pytest.raises(WrongState, match="while it runs"):
            ledger.moves.step_intent(move_id, 1, sql)


def test_a_result_is_written_once(ledger: Ledger) -> None:
    """And only to a step that there is."""
    move_id = _ids(ledger, approved(ledger))[0]
    _walk(ledger, move_id, *RUN)
    step = ledger.moves.step_intent(move_id, 1, ledger.moves.row(move_id).move.route.steps[0].sql)
    ledger.moves.step_result(step, StepState.UNKNOWN, "connection lost")
    with pytest.raises(WrongState, match="unknown"):
        ledger.moves.step_result(step, StepState.DONE, "")
    with pytest.raises(NotFound):
        ledger.moves.step_result(99, StepState.DONE, "")
    with pytest.raises(ValueError, match="done, failed or unknown"):
        ledger.moves.step_result(step, StepState.INTENDED, "")


def test_an_outcome_is_kept_with_its_move(ledger: Ledger, clock: StillClock) -> None:
    """By move, and the newest of each proposal for lists."""
    number = approved(ledger)
    first, second = _ids(ledger, number)
    ledger.moves.record_outcome(first, _outcome())
    ledger.moves.record_outcome(second, _outcome(verdict=OutcomeVerdict.HURT))
    rows = ledger.moves.outcomes_of([first, second, 99])
    assert {move: (row.proposal_id, row.outcome.verdict) for move, row in rows.items()} == {
        first: (number, OutcomeVerdict.HELPED), second: (number, OutcomeVerdict.HURT),
    }  # fmt: skip
    assert outcome_json(rows[first].outcome) == outcome_json(_outcome())  # NaN equals nothing
    assert rows[first].at == clock.now()
    assert [row.move_id for row in ledger.moves.outcomes(database="shop", limit=10)] == [second]
    assert ledger.moves.outcomes(database="hr", limit=10) == []
    with pytest.raises(NotFound):
        ledger.moves.record_outcome(99, _outcome())


def test_what_was_not_measured_stays_unmeasured(ledger: Ledger) -> None:
    """NaN is stored as null and comes back as NaN."""
    number = approved(ledger)
    ledger.moves.record_outcome(_ids(ledger, number)[0], _outcome(read_latency_before=math.nan, measured=False))
    back = ledger.moves.outcomes(database="shop", limit=1)[0].outcome
    assert math.isnan(back.read_latency_before)
    assert not back.measured


def test_an_outcome_with_other_keys_is_refused() -> None:
    """Nothing is made up for a missing figure."""
    plain = outcome_json(_outcome())
    plain.pop("sentence")
    with pytest.raises(ValueError, match="sentence"):
        outcome_from_json(plain)
