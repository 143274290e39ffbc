"""What is compared before and after a move: structure, privileges, statistics, validity and rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent.prove.script import Script
from connectors.proving.proof import Case, ProofSession

SHOWN = 3  # differences that are named


@dataclass(frozen=True, slots=True)
class State:
    """Facts of everything in the scratch schema, by aspect and object."""

    facts: Mapping[tuple[str, str], str]

    def differences(self, after: State) -> tuple[str, ...]:
        """What is not as it was, one sentence each, in order."""
        return tuple(_differences(self.facts, after.facts))


def look(session: ProofSession, script: Script, case: Case) -> State:
    """Everything that is compared, with the rows of one case.

    Raises:
        ConnectorError: the engine did not answer.
    """
    facts: dict[tuple[str, str], str] = {}
    for name, question in script.questions.items():
        if name.startswith("compare "):
            aspect = name.removeprefix("compare ")
            facts |= {(aspect, str(row[0])): str(row[1]) for row in session.rows(question)}
    for number, statement in enumerate(case.part("data"), start=1):
        facts["rows", f"{case.name} {number}"] = str(session.rows(statement.sql))
    return State(facts)


def _differences(before: Mapping[tuple[str, str], str], after: Mapping[tuple[str, str], str]) -> Iterator[str]:
    for aspect, name in sorted(before.keys() | after.keys()):
        was, now = before.get((aspect, name)), after.get((aspect, name))
        if was == now:
            continue
        change = "is new" if was is None else "is gone" if now is None else f"was {was!r}, is {now!r}"
        yield f"{aspect} of {name} {change}"


def in_words(differences: tuple[str, ...]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(differences) - SHOWN} more" if len(differences) > SHOWN else ""
    return "; ".join(differences[:SHOWN]) + more
