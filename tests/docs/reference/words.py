"""Verdicts, states, reasons of moves, outcomes and exit codes: one part for each, with what the code says of it."""

from __future__ import annotations

from agent.model.states import TRANSITIONS, MoveState, ProposalState
from agent.terminal.errors import ExitCode
from policies.model.plan import Verdict
from policies.placement.verdicts import verdict_sentence
from tests.docs.reference.blocks import table


def blocks() -> dict[str, str]:
    """A heading with its sentence for each verdict, move state and exit code, and the table of transitions."""
    return {
        **{f"verdict {verdict.code}": _verdict(verdict) for verdict in Verdict},
        **{f"state {state}": _state(state) for state in MoveState},
        **{f"exit code {code.value}": f"## {code.value}: {code.meaning}" for code in ExitCode},
        "exit codes": table(("code", "meaning"), [(f"[{c.value}](#{_anchor(c)})", c.meaning) for c in ExitCode]),
        "proposal states": ", ".join(f"`{state}`" for state in ProposalState) + ".",
    }


def _verdict(verdict: Verdict) -> str:
    return f"## {verdict.code}\n\n*{_capitalised(verdict_sentence(verdict))}.*"


def _state(state: MoveState) -> str:
    following = ", ".join(f"[{each}](#{each})" for each in MoveState if each in TRANSITIONS[state])
    return f"## {state}\n\n*{f'Next: {following}.' if following else 'Final.'}*"


def _anchor(code: ExitCode) -> str:
    """As mkdocs makes it of the heading."""
    words = "".join(letter if letter.isalnum() or letter in " -_" else "" for letter in code.meaning.lower())
    return "-".join(f"{code.value} {words}".split())


def _capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
