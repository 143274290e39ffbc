"""Which question a proposal answers: only a newer answer to the same question takes the place of an older one."""

from __future__ import annotations

from collections.abc import Iterable

from agent.proposals import BALANCE
from policies.modes import Capacity, Drain, Hsm, HsmSubtype, Mode, Preference, Usage


def purpose_of(mode: Mode) -> str:
    """In the words of ``balance --type``, with what the mode is about."""
    match mode:
        case Hsm():
            return BALANCE if mode.subtype is HsmSubtype.CALC else f"{BALANCE} {mode.subtype}"
        case Usage():
            return f"usage {mode.tier or ''}".strip()
        case Capacity():
            return f"capacity {mode.tier or ''}".strip()
        case Preference():
            return "preference"
        case Drain():
            return f"drain {mode.space}"


def purpose_of_container(space: str, container: str) -> str:
    """One container out of its space."""
    return f"drain {container} of {space}"


def purpose_of_undo(moves: Iterable[int]) -> str:
    """Those moves back."""
    return f"undo {', '.join(str(number) for number in sorted(moves))}"
