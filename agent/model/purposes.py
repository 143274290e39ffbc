"""Which question a proposal answers: only a newer answer to the same question takes the place of an older one.

A purpose is stored under the proposal's digest, in the words of ``plan --mode``; people read ``in_words``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent.model.proposals import BALANCE

if TYPE_CHECKING:
    from connectors.templates import StatementTemplate
    from policies.modes.dispatch import Mode

_UNDO = "undo "
_BY_TIER = ("usage", "capacity")
_WORDS = {
    BALANCE: "hot up, cold down",
    f"{BALANCE} ssd": "cold off the fastest tier",
    f"{BALANCE} hdd": "hot to the fastest tier",
    "usage": "even load among the spaces",
    "capacity": "even fill among the spaces",
    "preference": "what is pinned to where it belongs",
}


def purpose_of(mode: Mode) -> str:
    """In the words of ``plan --mode``, with what the mode is about."""
    from policies.modes.dispatch import Capacity, Drain, Hsm, HsmSubtype, Preference, Usage  # they bring the solver

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


def in_words(purpose: str) -> str:
    """What a proposal of that purpose is for, for people.

    >>> in_words("hsm"), in_words("usage ssd"), in_words("drain old_ssd")
    ('hot up, cold down', 'even load among the spaces of ssd', 'drain old_ssd')
    """
    if purpose in _WORDS:
        return _WORDS[purpose]
    mode, _, tier = purpose.partition(" ")
    return f"{_WORDS[mode]} of {tier}" if mode in _BY_TIER else purpose


def purpose_of_container(space: str, container: str) -> str:
    """One container out of its space."""
    return f"drain {container} of {space}"


def purpose_of_split(key: str) -> str:
    """One table into parts."""
    return f"split {key}"


def purpose_of_closing(table: str) -> str:
    """The open part of a table gets an end."""
    return f"close {table}"


def purpose_of_undo(moves: Iterable[int]) -> str:
    """Those moves back."""
    return f"{_UNDO}{', '.join(str(number) for number in sorted(moves))}"


def purpose_of_template(template: StatementTemplate) -> str:
    """What is due under a template."""
    return f"rolling {template.name}"


def takes_back(purpose: str) -> bool:
    """Whether it is the undo of moves.

    >>> takes_back(purpose_of_undo([7, 3])), takes_back("drain old_ssd")
    (True, False)
    """
    return purpose.startswith(_UNDO)
