"""The rules by which moves change state, over every combination of what may be true at the end of a try."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from agent.ledger.rows import RequestKind
from agent.model.states import ACTIONABLE, TO_BEGIN, TRANSITIONS, UNFINISHED, MoveState
from agent.moving.leftovers import Next
from agent.moving.transition_rules import (
    LONG_REST_SECONDS,
    MOST_STARTS,
    Continuation,
    Findings,
    NextTry,
    Orders,
    Transition,
    TryEnd,
    TryResult,
    after_giving_up,
    after_interruption,
    classify_end,
    drop_unbegun,
    leave_unknown,
    next_step,
    put_off,
    resume_held,
)
from connectors.kit.contract import ConnectorError, LockNotObtained, OutcomeUnknown, Paused, StatementFailed
from connectors.model.observation import Home, Inspection

BOTH = (False, True)
SOMETHING_ARRIVED = {Home.TARGET, Home.SPLIT, Home.ELSEWHERE}
Case = tuple[TryResult, Orders, Findings | None]


def all_inspections() -> Iterator[Inspection]:
    """Every combination of what an inspection can show; only what is in its target can be finished."""
    for home, paused, running, finished, on_disk in product(Home, BOTH, BOTH, BOTH, (None, False, True)):
        if home is Home.TARGET or not finished:
            yield Inspection(
                home=home, sentence=f"it is at {home}", size_bytes=1, on_disk=on_disk, running=running,
                finished=finished, paused=paused,
            )  # fmt: skip


def all_orders() -> Iterator[Orders]:
    """Every combination of what may be asked of a move."""
    for request, window_open, stopping, crowded in product((None, *RequestKind), BOTH, BOTH, ("", "reads take 1 s")):
        reason = "" if request is None else f"{request} by ann"
        yield Orders(
            request=request, request_reason=reason, window_open=window_open, stopping=stopping, crowded=crowded
        )


def all_findings() -> Iterator[Findings]:
    """Every combination of what the catalog may show after a try, and of the patience that is left."""
    for inspection, patience, left in product(all_inspections(), Next, ("", "left behind")):
        arrivals = BOTH if inspection.home is Home.TARGET and not inspection.finished else (inspection.finished,)
        for arrived in arrivals:
            yield Findings(inspection=inspection, arrived=arrived, patience=patience, leftovers=left, obstacles=left)


def all_cases() -> Iterator[Case]:
    """Every end of a try with every order and everything that the catalog may show."""
    seen = list(all_findings())
    for end, orders, not_held in product(TryEnd, all_orders(), ("", "the engine could not hold it")):
        failed = end is not TryEnd.DONE
        result = TryResult(
            end=end, error="it broke" if failed else "", advice="Mend it." if failed else "", not_held=not_held, move=7
        )
        for findings in seen if end.needs_catalog else [None]:
            yield result, orders, findings


Steps = list[tuple[TryResult, Orders, Findings | None, Transition]]


@pytest.fixture(scope="module")
def steps() -> Steps:
    """Every case with what follows from it, made where it is asked for: each worker imports this file."""
    return [(*case, next_step(*case)) for case in all_cases()]


def test_every_combination_is_there(steps: Steps) -> None:
    """The product is whole: each end meets each order, and where it is read, each place."""
    assert len(steps) > 40_000
    met = {(r.end, o.request, o.window_open, o.stopping, f and f.inspection.home) for r, o, f, _ in steps}
    assert len(met) == 16 * (3 * len(Home) + 2)


def test_every_transition_is_one_that_the_ledger_accepts(steps: Steps) -> None:
    """A RUNNING move enters no state that the table of arrows does not lead to."""
    assert {step.state for *_, step in steps} - {MoveState.RUNNING} <= TRANSITIONS[MoveState.RUNNING]


def test_every_change_has_a_reason(steps: Steps) -> None:
    """The ledger stores why a state was entered."""
    assert all(step.reason for *_, step in steps if step.state is not MoveState.RUNNING)


def test_nothing_is_placed_unless_the_catalog_shows_it(steps: Steps) -> None:
    """PLACED needs the catalog to show the bundle in its target, whatever the statements said."""
    placed = [findings for *_, findings, step in steps if step.state is MoveState.PLACED]
    assert placed
    assert all(each is not None and each.inspection.home is Home.TARGET for each in placed)


def test_statements_that_succeeded_are_not_believed_without_files(steps: Steps) -> None:
    """After the last statement, files that are not in the target's folder fail the move."""
    ends = [(f, s) for r, _, f, s in steps if r.end is TryEnd.DONE and f is not None]
    assert all(
        (step.state is MoveState.PLACED) == (f.inspection.home is Home.TARGET and f.inspection.on_disk is not False)
        for f, step in ends
    )


def test_nothing_returns_to_approved_once_something_has_arrived(steps: Steps) -> None:
    """A move waits like one that never began only where nothing of it is in its target or held."""
    back = [findings for *_, findings, step in steps if step.state is MoveState.APPROVED]
    assert back
    waits = [f.inspection for f in back if f is not None]
    assert len(waits) == len(back)
    assert not any(each.home in SOMETHING_ARRIVED or each.paused for each in waits)


def test_stopping_fails_no_move_that_is_where_it_was(steps: Steps) -> None:
    """An agent that stops leaves a move whose bundle has not left its source to the next agent."""
    stopped = [
        step for result, orders, findings, step in steps
        if orders.stopping and result.end is not TryEnd.DONE
        and (findings is None or findings.inspection.home is Home.SOURCE or findings.inspection.paused)
    ]  # fmt: skip
    assert stopped
    assert all(step.state is not MoveState.FAILED for step in stopped)


def test_the_end_of_a_window_fails_only_what_would_fail_again() -> None:
    """What changed nothing and may succeed later waits for the next window; what is refused for good has failed."""
    for result, orders, findings in all_cases():
        held = orders.request is not RequestKind.CANCEL and orders.continuation is Continuation.HOLD
        if not held or result.way_back or findings is None or findings.inspection.finished or not findings.unchanged:
            continue
        if result.end in {TryEnd.RETRYABLE, TryEnd.REFUSED}:
            waits = next_step(result, orders, findings).state is MoveState.APPROVED
            assert waits is (result.end is TryEnd.RETRYABLE)


def test_an_agent_that_stops_sends_nothing_more(steps: Steps) -> None:
    """No other try and no rollback follows once the agent stops."""
    follow_ups = {step.follow_up for _, orders, _, step in steps if orders.stopping}
    assert follow_ups == {NextTry.NONE, NextTry.RECONCILE}


def test_a_cancel_is_answered_or_stays_in_force(steps: Steps) -> None:
    """A cancelled move has ended with a reply, or is held or unknown, where the request is obeyed next."""
    cancelled = [(orders, step) for _, orders, _, step in steps if orders.request is RequestKind.CANCEL]
    for orders, step in cancelled:
        assert step.reply or step.state in {MoveState.PAUSED, MoveState.UNKNOWN}
        assert not step.held_by, "a pause in its place would replace the cancel"
        if step.state is MoveState.PAUSED:
            assert (step.follow_up is NextTry.GIVE_UP_HELD) == (not orders.stopping)


def test_whatever_ends_a_move_answers_what_was_asked_of_it(steps: Steps) -> None:
    """No request outlives its move without a reply."""
    assert all(step.reply for *_, step in steps if step.state not in ACTIONABLE)


def test_another_try_follows_only_what_may_be_tried_again(steps: Steps) -> None:
    """A retry needs an error that may pass, an open window, no order against it, and patience."""
    retried = [(r, o, f) for r, o, f, step in steps if step.follow_up is NextTry.RETRY]
    assert retried
    for result, orders, findings in retried:
        assert result.end is TryEnd.RETRYABLE
        assert orders.continuation is Continuation.GO_ON
        assert findings is not None
        assert not findings.arrived
        assert findings.patience is Next.AGAIN


def test_what_was_given_up_for_sessions_rests(steps: Steps) -> None:
    """Nothing has changed and nothing else is wanted of it: it waits like a move that never began, for long."""
    seen = 0
    for result, orders, findings, step in steps:
        wanted = orders.request is not None or orders.stopping or not orders.window_open
        if result.end is TryEnd.RETRYABLE and orders.crowded and not wanted and findings and findings.unchanged:
            seen += 1
            assert (step.state, step.rest_seconds) == (MoveState.APPROVED, LONG_REST_SECONDS)
            assert orders.crowded in step.put_off_for
    assert seen


def test_what_is_held_without_an_order_waits_for_an_operator(steps: Steps) -> None:
    """A hold that the agent did not ask for stays until an operator resumes the move, unless the agent ends.

    The agent asks for it at the end of a window, and while sessions wait too long.
    """
    for result, orders, _, step in steps:
        if result.end is TryEnd.HELD and orders.request in {None, RequestKind.RESUME}:
            assert bool(step.held_by) == (orders.window_open and not orders.stopping and not orders.crowded)
            assert step.state is MoveState.PAUSED


def test_a_cancel_that_meets_a_hold_is_obeyed() -> None:
    """The engine held the statement as the cancel arrived: the cancel counts, and what is held is rolled back."""
    orders = Orders(request=RequestKind.CANCEL, request_reason="cancelled by ann", window_open=True, stopping=False)
    step = next_step(TryResult(end=TryEnd.HELD, error="held"), orders, None)
    assert (step.state, step.follow_up, step.held_by) == (MoveState.PAUSED, NextTry.GIVE_UP_HELD, "")


@pytest.mark.parametrize("state", sorted(UNFINISHED))
def test_every_interrupted_state_is_entered_again(state: MoveState) -> None:
    """From each unfinished state, whatever the catalog shows, a restart takes only arrows that the ledger accepts."""
    shown = [None] if state is MoveState.PRECHECK else list(all_inspections())
    for inspection, starts, left in product(shown, (0, MOST_STARTS), ("", "left behind")):
        step = after_interruption(state, inspection)
        assert step.state is state or step.state in TRANSITIONS[state]
        if inspection is None or step.state is not MoveState.UNKNOWN:
            assert step.state is (MoveState.APPROVED if inspection is None else MoveState.PAUSED)
            continue
        last = leave_unknown(inspection, starts, left)
        assert last.reason
        assert last.state is MoveState.UNKNOWN or last.state in TRANSITIONS[MoveState.UNKNOWN]
        assert (last.state is MoveState.UNKNOWN) == inspection.running
        if last.state is MoveState.PLACED:
            assert inspection.home is Home.TARGET
        if last.state is MoveState.APPROVED:
            assert inspection.home is Home.SOURCE
            assert starts < MOST_STARTS


def _taken(steps: Steps, state: MoveState) -> set[MoveState]:
    """The states that the rules lead to from an unfinished one."""
    shown = [None] if state is MoveState.PRECHECK else list(all_inspections())
    after = {after_interruption(state, each).state for each in shown}
    match state:
        case MoveState.PRECHECK:
            after |= {MoveState.RUNNING, *(drop_unbegun(state, orders, "why").state for orders in all_orders())}
        case MoveState.RUNNING:
            after |= {step.state for *_, step in steps}
        case MoveState.PAUSED:
            after |= {resume_held(orders).state for orders in all_orders()}
            after |= {after_giving_up(each, "why").state for each in all_inspections()}
        case MoveState.UNKNOWN:
            after |= {leave_unknown(each, n, "").state for each, n in product(all_inspections(), (0, MOST_STARTS))}
    return after - {state}


@pytest.mark.parametrize("state", sorted(UNFINISHED))
def test_the_rules_take_every_arrow(steps: Steps, state: MoveState) -> None:
    """The table of arrows leads from an unfinished state exactly where the rules do."""
    assert _taken(steps, state) == TRANSITIONS[state]


def test_nothing_is_tried_for_ever() -> None:
    """A move whose statements never end in sight is failed after a few starts."""
    at_source = Inspection(home=Home.SOURCE, sentence="it is at source", size_bytes=1, on_disk=None)
    assert leave_unknown(at_source, MOST_STARTS - 1, "").state is MoveState.APPROVED
    assert leave_unknown(at_source, MOST_STARTS, "").state is MoveState.FAILED


def test_what_was_given_up_is_cancelled_only_where_it_was_rolled_back() -> None:
    """CANCELLED needs the catalog to show the bundle in its source, with nothing held or running."""
    for inspection in all_inspections():
        step = after_giving_up(inspection, "cancelled by ann")
        rolled_back = inspection.home is Home.SOURCE and not inspection.paused and not inspection.running
        assert (step.state is MoveState.CANCELLED) == rolled_back
        busy = inspection.paused or inspection.running
        assert (step.follow_up is NextTry.RECONCILE) == (not rolled_back and not busy)


def test_what_is_held_is_resumed_or_given_up() -> None:
    """A cancel rolls it back; anything else lets it run, with a reply."""
    for orders in all_orders():
        step = resume_held(orders)
        if orders.request is RequestKind.CANCEL:
            assert (step.state, step.follow_up) == (MoveState.PAUSED, NextTry.GIVE_UP_HELD)
        else:
            assert (step.state, step.reply) == (MoveState.RUNNING, "it goes on")


@pytest.mark.parametrize("state", sorted(TO_BEGIN))
def test_what_will_not_begin_is_cancelled_or_skipped(state: MoveState) -> None:
    """An approved move with a cancel in force is cancelled and answered; every other one is skipped."""
    for orders in all_orders():
        step = drop_unbegun(state, orders, "why")
        cancelled = state is MoveState.APPROVED and orders.request is RequestKind.CANCEL
        assert step.state is (MoveState.CANCELLED if cancelled else MoveState.SKIPPED)
        assert step.state in TRANSITIONS[state]
        assert bool(step.reply) == cancelled


def test_what_is_put_off_says_each_reason_once() -> None:
    """The error and the obstacle are joined; where both say the same, it is said once."""
    assert put_off("waits for 7", "waits for 7").put_off_for == "waits for 7"
    assert put_off("it timed out", "waits for 7").put_off_for == "it timed out; waits for 7"


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (None, TryEnd.DONE),
        (Paused("held"), TryEnd.HELD),
        (OutcomeUnknown("lost"), TryEnd.UNKNOWN),
        (LockNotObtained("locked"), TryEnd.RETRYABLE),
        (StatementFailed("refused"), TryEnd.REFUSED),
    ],
)
def test_errors_say_how_a_try_ended(error: ConnectorError | None, end: TryEnd) -> None:
    """A hold may pass like a lock, and is neither an error nor worth another try."""
    assert classify_end(error) is end


def test_a_way_back_rests_and_is_tried_again_unless_it_is_stopped() -> None:
    """Of what is as it was: a cancel and the end of the agent count as ever; a pause and the window end nothing."""
    inspection = Inspection(home=Home.SOURCE, sentence="at home", size_bytes=1, on_disk=None)
    findings = Findings(inspection=inspection, arrived=False, patience=Next.GIVE_UP, leftovers="", obstacles="")
    result = TryResult(end=TryEnd.REFUSED, error="it broke", advice="Mend it.", way_back=True)
    for orders in all_orders():
        step = next_step(result, orders, findings)
        rests = step.state is MoveState.APPROVED and step.rest_seconds == LONG_REST_SECONDS
        assert rests == (orders.continuation is not Continuation.STOP), orders


@pytest.mark.parametrize(("tries", "said"), [(1, "it broke. Mend it."), (3, "it broke (3 tries). Mend it.")])
def test_what_failed_says_how_often_it_was_tried(tries: int, said: str) -> None:
    """Where that was more than once."""
    inspection = Inspection(home=Home.SOURCE, sentence="at home", size_bytes=1, on_disk=None)
    orders = Orders(request=None, request_reason="", window_open=True, stopping=False)
    result = TryResult(end=TryEnd.REFUSED, error="it broke", advice="Mend it.", tries=tries)
    step = next_step(result, orders, Findings(inspection=inspection))
    assert (step.state, step.reason) == (MoveState.FAILED, said)
