"""What ``hotplace lab prove`` and the tests try on an engine: cases, questions, and a session to send them over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from connectors.base import Clock

MOVES = "moves"  # what most cases are for
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """What the user names: where everything is made and moved, by its plain names."""

    schema: str
    slow: str  # the space in which cases are made
    fast: str  # the space to which they move


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as it is sent, with the note above it in its file."""

    sql: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Something that is made, moved, compared and dropped."""

    name: str
    sentence: str
    purpose: str  # MOVES, "demand", "pitfalls" or "the catalog", which only lists its units
    units: Mapping[str, str]  # key -> kind in words, as it must stand in the catalog
    parts: Mapping[str, tuple[Statement, ...]] = field(default_factory=dict)

    def part(self, name: str) -> tuple[Statement, ...]:
        """Statements of that part, () where the case has none."""
        return self.parts.get(name, ())


class ProofSession(Protocol):
    """A session of the moving login that makes, reads, compares and drops what is in the scratch schema."""

    def run(self, statement: str) -> None:
        """Carry out one statement, committed.

        Raises:
            OutcomeUnknown: the connection is lost; another error would count against a claim.
            ConnectorError: as the engine says.
        """
        ...

    def rows(self, statement: str) -> list[Row]:
        """The result of a query.

        Raises:
            OutcomeUnknown, ConnectorError: as of ``run``.
        """
        ...

    def hold(self, statement: str) -> None:
        """Begin a transaction, run the statement in it, and leave it open until ``let_go``."""
        ...

    def let_go(self) -> None:
        """Roll back what ``hold`` has begun; harmless where nothing was.

        Raises:
            ConnectorError: the connection is lost.
        """
        ...

    def close(self) -> None:
        """End the session; harmless the second time."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How an engine is proved: plain texts until ``open_session`` connects.

    ``questions`` gives the statements of ``ask/`` and ``compare/`` by name, for the scratch that it is given.
    ``login``, ``schema``, ``space slow`` and ``space fast`` answer with a sentence for each thing that forbids the run,
    ``block``, where there is one, with the bytes of a block of the slow space, ``locks`` with relation, mode, its rank
    and whether it is granted, and ``compare`` something with an object and what it is.
    """

    cases: Callable[[Scratch], tuple[Case, ...]]
    questions: Callable[[Scratch], Mapping[str, str]]
    queries: Callable[[], Mapping[str, str]]  # name of each query of the connector -> one that describes its columns
    of_other_versions: Callable[[tuple[int, ...]], frozenset[str]]  # names of queries that this version is not asked
    open_session: Callable[[Any, Clock], ProofSession]  # (settings of the moving account, the clock)
    routes: tuple[str, ...]  # names of all ways to move something, Route.name
