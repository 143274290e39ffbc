"""One try: how often the engine is asked to hold a statement that it would not hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.rows import StepState
from agent.model.states import MoveState
from agent.moving.attempt import Attempt, Start
from agent.moving.transition_rules import Continuation
from connectors.kit.contract import Connector
from connectors.model.moves import Step
from tests.unit.samples import a_move, a_proposal, a_route
from tests.virtual_clock import VirtualClock


class Stubborn:
    """Copies for five minutes and holds nothing."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.asked: list[float] = []

    def identify(self) -> SimpleNamespace:
        """The database of the samples."""
        return SimpleNamespace(fingerprint=a_proposal().fingerprint)

    @contextmanager
    def open_mover(self) -> Iterator[Any]:
        """A session that can be asked to hold."""
        yield SimpleNamespace(
            prepare=lambda _: None, execute=lambda _: self._clock.sleep(300.0), pause=self._would_not_hold
        )

    def _would_not_hold(self) -> bool:
        self.asked.append(self._clock.monotonic())
        return False


def test_what_would_not_hold_is_asked_less_and_less_often(tmp_path: Path) -> None:
    """Twice as long after each refusal, once a minute in the end: each is a statement, with a row in the journal."""
    clock = VirtualClock()
    engine = Stubborn(clock)
    step = Step(sql="COPY IT", purpose="copy it", pause_sql="HOLD IT", resume_sql="GO ON")
    with Ledger.open(tmp_path / "ledger.db", clock) as ledger:
        move = a_move(route=replace(a_route(), steps=(step,)))
        number = ledger.proposals.store(replace(a_proposal(move), created_at=clock.now()))
        ledger.proposals.approve(number, who="anna", origin="test", digest=ledger.proposals.row(number).digest)
        for state in (MoveState.PRECHECK, MoveState.RUNNING):
            ledger.moves.transition(1, state, "as a test")
        told: list[str] = []
        attempt = Attempt(
            ledger.moves.row(1), cast(Connector, engine), ledger, clock, want=lambda: Continuation.HOLD,
            tell=told.append, hold_lease=lambda: None,
        )  # fmt: skip
        assert attempt.run(Start()) is None
        journal = ledger.moves.steps(1)
    gaps = [later - sooner for sooner, later in zip(engine.asked, engine.asked[1:], strict=False)]
    assert gaps == pytest.approx([2, 4, 8, 16, 32, 60, 60, 60], abs=0.2)
    assert [row.state for row in journal] == [StepState.DONE] + [StepState.FAILED] * len(engine.asked)
    assert {row.ordinal for row in journal} == {1}, "each speaks of the first statement"
    assert told == ["copy it", "is let finish: the engine could not hold it"]
