"""Whether a wave begins, by what went before it."""

from __future__ import annotations

import pytest

from agent.model.outcomes import OutcomeVerdict as Verdict
from agent.model.outcomes import WaveAnswer, WentBefore, decide_wave
from agent.model.states import MoveState as State


def went(verdict: Verdict | None, *states: State) -> WentBefore:
    """A proposal before it."""
    return WentBefore(proposal=3, database="shop", states=states, verdict=verdict)


@pytest.mark.parametrize(
    ("before", "answer", "said"),
    [
        (went(None, State.APPROVED), WaveAnswer.WAIT, "is not measured yet"),
        (went(None, State.PROPOSED), WaveAnswer.WAIT, "is not measured yet"),
        (went(None, State.SETTLING, State.FAILED), WaveAnswer.WAIT, "is not measured yet"),
        (went(None, State.FAILED, State.CANCELLED), WaveAnswer.NEVER, "was not carried out"),
        (went(None, State.UNDO_PROPOSED), WaveAnswer.NEVER, "is taken back"),
        (went(Verdict.HELPED, State.UNDONE), WaveAnswer.NEVER, "is taken back"),
        (went(Verdict.HURT, State.KEPT), WaveAnswer.NEVER, "hurt"),
        (went(Verdict.HURT_FOR_SOME, State.KEPT), WaveAnswer.NEVER, "hurt for some"),
        (went(Verdict.HELPED, State.KEPT), WaveAnswer.GO, ""),
        (went(Verdict.NEUTRAL, State.KEPT, State.SKIPPED), WaveAnswer.GO, ""),
        (went(Verdict.CANNOT_TELL, State.KEPT), WaveAnswer.GO, ""),
        (went(Verdict.UNMEASURED, State.KEPT), WaveAnswer.GO, ""),
    ],
)
def test_one_before_it(before: WentBefore, answer: WaveAnswer, said: str) -> None:
    """It waits until that is measured, and never begins if it hurt, was taken back or was not carried out."""
    decision = decide_wave([before])
    assert decision.answer is answer
    assert decision.sentence.endswith(said)
    assert ("proposal 3 of shop" in decision.sentence) == bool(said)


def test_one_that_hurt_outweighs_the_others() -> None:
    """In whatever order they are."""
    several = [went(Verdict.HELPED, State.KEPT), went(None, State.APPROVED), went(Verdict.HURT, State.KEPT)]
    assert decide_wave(several).answer is decide_wave(several[::-1]).answer is WaveAnswer.NEVER
    assert decide_wave(several[:2]).answer is WaveAnswer.WAIT
    assert decide_wave([]).answer is WaveAnswer.GO
