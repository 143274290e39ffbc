"""Every statement of a run but those of the moves: listed and digested before anything is sent.

Statements of moves are shown and approved as proposals, once what they move exists.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from connectors.proving.proof import Case, Proof, Scratch


@dataclass(frozen=True, slots=True)
class Script:
    """The cases and questions of one scratch schema, as they will be sent."""

    scratch: Scratch
    cases: tuple[Case, ...]
    questions: Mapping[str, str]
    queries: Mapping[str, str]

    def statements(self) -> Iterator[tuple[str, str]]:
        """What each is for, and its text: all that may be sent outside of moves."""
        for case in self.cases:
            for part, statements in case.parts.items():
                yield from ((f"{case.name}, {part}", each.sql) for each in statements)
        yield from self.questions.items()
        yield from ((f"query {name}, its columns", text) for name, text in self.queries.items())

    @property
    def digest(self) -> str:
        """SHA-256 over names and statements, in hexadecimal."""
        scratch = [self.scratch.schema, self.scratch.slow, self.scratch.fast]
        text = json.dumps([scratch, list(self.statements())], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def script_of(proof: Proof, scratch: Scratch) -> Script:
    """The script of an engine for that schema and these spaces; asks no server."""
    return Script(
        scratch=scratch, cases=proof.cases(scratch), questions=proof.questions(scratch), queries=proof.queries()
    )
