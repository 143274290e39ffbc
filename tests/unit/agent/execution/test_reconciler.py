"""What a move has left is tidied by approved statements, and the next try begins where nothing is copied twice."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, StepState
from agent.model.states import MoveState
from agent.moving.leftovers import Leftovers
from agent.moving.reconciler import HalfDone, Reconciler, half_done_of
from connectors.kit.contract import Connector
from connectors.model.moves import Route, Step
from connectors.model.observation import Blocker, Home, Inspection
from tests.ledger.clock import StillClock
from tests.unit.samples import a_move, a_proposal, a_route

DROP, END = Step(sql="DROP IT", purpose="drop what is left"), Step(sql="END IT", purpose="end it")
STEPS = tuple(Step(sql=f"STEP {number}", purpose="go on") for number in (1, 2, 3))
AT_HOME = Inspection(home=Home.SOURCE, sentence="at home", size_bytes=1, on_disk=None)
LEFT = replace(AT_HOME, leftovers=(DROP,))
ARRIVED, SPLIT = replace(AT_HOME, home=Home.TARGET), replace(AT_HOME, home=Home.SPLIT)


class Engine:
    """Shows one inspection after the other, the last one for good, and keeps what it is sent."""

    def __init__(self, *shown: Inspection, blocked: bool = False) -> None:
        self._shown, self._blocked = deque(shown), blocked
        self.sent: list[str] = []

    def inspect(self, _: Route) -> Inspection:
        """What it shows now."""
        return self._shown.popleft() if len(self._shown) > 1 else self._shown[0]

    def blockers(self, _: Route, *, tidying: bool = False) -> tuple[Blocker, ...]:
        """A session in the way, if there is one."""
        assert tidying
        return (Blocker(sentence="session 7"),) if self._blocked else ()

    def identify(self) -> SimpleNamespace:
        """The database of the samples."""
        return SimpleNamespace(fingerprint=a_proposal().fingerprint)

    @contextmanager
    def open_mover(self) -> Iterator[Any]:
        """A session that keeps what it is sent."""
        yield SimpleNamespace(prepare=lambda _: None, execute=lambda step: self.sent.append(step.sql))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """With one approved move of three statements, of which two were sent."""
    route = replace(a_route(), steps=STEPS, tidy_steps=(DROP, END))
    with Ledger.open(tmp_path / "ledger.db", StillClock()) as opened:
        number = opened.proposals.store(a_proposal(a_move(route=route)))
        digest = opened.proposals.row(number).digest
        opened.proposals.approve(number, who="anna", origin="terminal", digest=digest)
        for state in (MoveState.PRECHECK, MoveState.RUNNING):
            opened.moves.transition(1, state, "as a test")
        for number in (1, 2):
            opened.moves.step_intent(1, number, STEPS[number - 1].sql)
        yield opened


def reconciler(ledger: Ledger, engine: Engine) -> tuple[Reconciler, MoveRow, list[str]]:
    """With the move, and what is told of it."""
    clock, told = StillClock(), list[str]()
    leftovers, half_done = Leftovers("shop", ledger, clock), HalfDone("shop", ledger, clock)
    made = Reconciler(
        cast(Connector, engine), ledger, leftovers, half_done, lambda _, sentence: told.append(sentence), lambda: None
    )
    return made, ledger.moves.row(1), told


@pytest.mark.parametrize(
    ("before", "now", "start"),
    [
        (AT_HOME, AT_HOME, 1),  # nothing has arrived
        (ARRIVED, ARRIVED, 2),  # the last statement sent may be done in part
        (SPLIT, SPLIT, 2),
        (replace(ARRIVED, finished=True), replace(ARRIVED, finished=True), None),
        (replace(ARRIVED, leftovers=(DROP,)), ARRIVED, None),  # arrived, and what was left is gone
        (replace(ARRIVED, leftovers=(DROP,)), replace(ARRIVED, leftovers=(DROP,)), 2),  # it is not gone
        (LEFT, AT_HOME, 1),
        (replace(SPLIT, leftovers=(DROP,)), SPLIT, 1),  # what was tidied may have been a part that had arrived
    ],
)
def test_the_next_try_begins_where_nothing_is_copied_twice(
    ledger: Ledger, before: Inspection, now: Inspection, start: int | None
) -> None:
    """At the last statement sent where part of it has arrived, at the first one else, at none once it is there."""
    made, row, _ = reconciler(ledger, Engine(before, now))
    standing = made.where_now(row)
    assert (standing.start.ordinal if standing.start else None) == start
    assert standing.inspection == now


def test_nothing_is_tidied_while_a_session_is_in_the_way(ledger: Ledger) -> None:
    """The statement would wait for it, and other sessions behind the statement."""
    engine = Engine(LEFT, blocked=True)
    made, row, told = reconciler(ledger, engine)
    assert made.tidy(row, LEFT) == LEFT
    assert engine.sent == []
    assert "session 7" in told[0]
    free = Engine(AT_HOME)
    made, row, _ = reconciler(ledger, free)
    assert made.tidy(row, LEFT) == AT_HOME
    assert free.sent == [DROP.sql]


@pytest.mark.parametrize("running", [False, True])
def test_what_was_begun_is_ended_unless_the_server_works_on_it(ledger: Ledger, running: bool) -> None:
    """Once no try follows; an end that comes too early would break what runs."""
    begun = replace(AT_HOME, unfinished=(END,), running=running)
    HalfDone("shop", ledger, StillClock()).note(1, begun)
    ledger.moves.transition(1, MoveState.FAILED, "as a test")
    engine = Engine(begun, AT_HOME)
    made, _, told = reconciler(ledger, engine)
    made.end_half_done()
    assert engine.sent == ([] if running else [END.sql])
    assert ("the server still works on it" in told[0]) is running


@pytest.mark.parametrize("running", [False, True])
def test_what_the_server_works_on_is_no_leftover(ledger: Ledger, running: bool) -> None:
    """Dropped while its statement still runs, it would be dropped under that statement's hands."""
    engine = Engine(replace(LEFT, running=running), AT_HOME)
    made, row, _ = reconciler(ledger, engine)
    row = made.reconcile(row)
    assert engine.sent == ([] if running else [DROP.sql])
    assert row.state is (MoveState.UNKNOWN if running else MoveState.APPROVED)


def test_what_tidies_up_is_numbered_after_the_moves_own_statements(ledger: Ledger) -> None:
    """Else the next try would begin at its place."""
    made, row, _ = reconciler(ledger, Engine(AT_HOME))
    made.tidy(row, LEFT)
    (last,) = ledger.moves.steps(1)[2:]
    assert (last.ordinal, last.sql, last.state, last.detail) == (4, DROP.sql, StepState.DONE, "tidied up")


@pytest.mark.parametrize("sent", [1, 2, 3])
def test_what_any_of_its_own_statements_has_begun_is_remembered(ledger: Ledger, sent: int) -> None:
    """The last one counts as the first does; what none of them has done may be somebody else's."""
    begun = replace(AT_HOME, unfinished=(END,))
    made, row, _ = reconciler(ledger, Engine(begun))
    journal = ledger.moves.step_intent(1, 4, DROP.sql)
    ledger.moves.step_result(journal, StepState.DONE, "tidied up")
    made.where_now(row)
    assert half_done_of(ledger, "shop") == ()
    journal = ledger.moves.step_intent(1, sent, STEPS[sent - 1].sql)
    ledger.moves.step_result(journal, StepState.DONE, "")
    made.where_now(row)
    assert half_done_of(ledger, "shop") == (1,)
