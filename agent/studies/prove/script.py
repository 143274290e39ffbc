"""What a proof sends and compares, who may run it, and why it is not begun.

``ProofRefused`` and ``ProofNotApproved`` say why a proof is not begun, or not continued.

``Script`` lists and digests every statement of a run before anything is sent, except those of the moves. The statements
of moves are shown and approved as proposals, once what they move exists.

``State`` is what is compared before and after a move: structure, privileges, statistics, validity and rows.

``admit`` checks who may run a proof, and where, before anything is made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent.config.models import DatabaseConfig
from agent.terminal.errors import CommandError, ExitCode
from connectors.kit.contract import Clock
from connectors.kit.proving import FILES, TRUTH, Case, Proof, ProofSession, Scratch


class ProofRefused(CommandError):
    """This login, schema or space is not one to prove on; the message has every reason. Nothing was made."""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message, code=ExitCode.NOT_ALLOWED, advice=advice)


class ProofNotApproved(CommandError):
    """A person said no; what was made is dropped again."""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message, code=ExitCode.REFUSED, advice=advice)


@dataclass(frozen=True, slots=True)
class Script:
    """The cases and questions of one scratch schema, as they will be sent."""

    scratch: Scratch
    cases: tuple[Case, ...]
    questions: Mapping[str, str]
    queries: Mapping[str, str]
    quick: bool = False  # ten minutes: identity, loads whose truth is known, one table and one index there and back

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
        scratch += [self.scratch.throw_away, self.scratch.to_folder] if self.scratch.throw_away else []
        text = json.dumps([scratch, list(self.statements())], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def script_of(proof: Proof, scratch: Scratch, *, quick: bool = False) -> Script:
    """The script of an engine for that schema and these spaces; asks no server."""
    given = bool(scratch.throw_away)
    cases = tuple(
        case
        for case in proof.cases(scratch)
        if (given or case.setup != FILES) and (not quick or case.quick or case.purpose == TRUTH or case.setup == FILES)
    )
    queries = {} if quick else proof.queries()
    questions = {name: text for name, text in proof.questions(scratch).items() if given or name not in OF_FILES}
    return Script(scratch=scratch, cases=cases, questions=questions, queries=queries, quick=quick)


OF_FILES = frozenset({"given_paths", "given_away"})  # questions about a space that is given away
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


def admit(session: ProofSession, script: Script) -> None:
    """Look at login, schema and spaces; changes nothing.

    Raises:
        ProofRefused: one of them forbids the run.
        ConnectorError: the engine did not answer.
    """
    asked = ["login", "schema", "space slow", "space fast"]
    if script.scratch.throw_away and "given_away" not in script.questions:
        raise ProofRefused("nothing was made: on this engine no files are moved", advice="Leave --throw-away out.")
    asked += ["given_away"] if script.scratch.throw_away else []
    reasons = [str(row[0]) for name in asked for row in session.rows(script.questions[name])]
    if script.scratch.slow == script.scratch.fast:
        reasons.append(f"both scratch spaces are {script.scratch.slow}; name two")
    if reasons:
        raise ProofRefused(
            f"nothing was made: {'; '.join(reasons)}",
            advice="Give prove a login that owns nothing but an empty schema, and may create in both spaces.",
        )


def admit_watching_login(proof: Proof, database: DatabaseConfig, script: Script, clock: Clock) -> None:
    """The same of the login that watches, where it is another one than the moving login.

    Raises:
        ProofRefused, ConnectorError: as ``admit``.
    """
    if database.move_connection is None:
        return
    session = proof.open_session(database.connection, clock)
    try:
        reasons = [str(row[0]) for row in session.rows(script.questions["login"])]
    finally:
        session.close()
    if reasons:
        raise ProofRefused(f"nothing was made: {'; '.join(reasons)}", advice="Watch with a login that owns nothing.")
