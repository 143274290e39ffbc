"""Whether a wave of an approved list may begin: only once those before it are measured and none of them hurt. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from agent.model.outcomes import OutcomeVerdict
from agent.model.states import NOT_CARRIED_OUT, TAKEN_BACK, MoveState

HURTS = frozenset({OutcomeVerdict.HURT, OutcomeVerdict.HURT_FOR_SOME})


class WaveAnswer(StrEnum):
    """What becomes of a proposal of a later wave."""

    GO = "go"
    WAIT = "wait"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class WentBefore:
    """A proposal of an earlier wave."""

    proposal: int
    database: str
    states: Collection[MoveState]  # of its moves
    verdict: OutcomeVerdict | None  # None: not measured yet


@dataclass(frozen=True, slots=True)
class WaveDecision:
    """The answer with its reason in plain words."""

    answer: WaveAnswer
    sentence: str = ""


def decide_wave(before: Iterable[WentBefore]) -> WaveDecision:
    """Whether a proposal may begin, by all that goes before it; one of them that hurt outweighs those not measured."""
    decisions = [_decide(each) for each in before]
    for answer in (WaveAnswer.NEVER, WaveAnswer.WAIT):
        if found := next((each for each in decisions if each.answer is answer), None):
            return found
    return WaveDecision(WaveAnswer.GO)


def _decide(each: WentBefore) -> WaveDecision:
    name = f"proposal {each.proposal} of {each.database}, which goes before it,"
    if each.verdict in HURTS:
        return WaveDecision(WaveAnswer.NEVER, f"{name} {each.verdict}")
    if any(state in TAKEN_BACK for state in each.states):
        return WaveDecision(WaveAnswer.NEVER, f"{name} is taken back")
    if each.verdict is not None:
        return WaveDecision(WaveAnswer.GO)
    if all(state in NOT_CARRIED_OUT for state in each.states):
        return WaveDecision(WaveAnswer.NEVER, f"{name} was not carried out")
    return WaveDecision(WaveAnswer.WAIT, f"{name} is not measured yet")
