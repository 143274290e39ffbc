"""What ``hotplace prove`` tries on an engine, and the tests with it: cases and questions, in ``.sql`` files.

A case is a file: comment lines as its header (a sentence, then ``-- name:``, ``-- for:`` and a ``-- unit:`` for each
unit that the catalog must list for it), then parts that begin with ``-- == PART``. An empty line ends a statement,
which has no terminator; a comment line directly above one is its note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Protocol

from connectors.base import Clock

PART = "-- == "
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
    purpose: str  # MOVES, "demand" or "pitfalls"
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
            ConnectorError: as the engine says.
        """
        ...

    def rows(self, statement: str) -> list[Row]:
        """The result of a query.

        Raises:
            ConnectorError: as the engine says.
        """
        ...

    def hold(self, statement: str) -> None:
        """Begin a transaction, run the statement in it, and leave it open until ``let_go``."""
        ...

    def let_go(self) -> None:
        """Roll back what ``hold`` has begun."""
        ...

    def close(self) -> None:
        """End the session."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How an engine is proved: plain texts until ``open_session`` connects.

    ``questions`` gives the statements of ``ask/`` and ``compare/`` by name, for the scratch that it is given.
    ``login``, ``schema``, ``space slow`` and ``space fast`` answer with a sentence for each thing that forbids the run,
    ``locks`` with relation, mode, its rank and whether it is granted, and ``compare`` something with an object and
    what it is.
    """

    cases: Callable[[Scratch], tuple[Case, ...]]
    questions: Callable[[Scratch], Mapping[str, str]]
    queries: Callable[[], Mapping[str, str]]  # name of each query of the connector -> one that describes its columns
    of_other_versions: Callable[[tuple[int, ...]], frozenset[str]]  # names of queries that this version is not asked
    open_session: Callable[[Any, Clock], ProofSession]  # (settings of the moving account, the clock)
    routes: tuple[str, ...]  # names of all ways to move something, Route.name


def read_cases(package: str, names: Mapping[str, str]) -> tuple[Case, ...]:
    """Every case in the folder ``cases`` of a package, by name.

    Args:
        package: of the engine's claims.
        names: what stands in the place of ``{schema}``, ``{slow}`` ...: quoted by the engine's rules.
    """
    folder = files(package) / "cases"
    texts = [each.read_text(encoding="utf-8") for each in folder.iterdir() if each.name.endswith(".sql")]
    return tuple(sorted((parse_case(filled(text, names)) for text in texts), key=lambda case: case.name))


def read_questions(package: str, folder: str, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Name and text of every ``.sql`` file in a folder of a package, names filled in."""
    for each in sorted((files(package) / folder).iterdir(), key=lambda file: file.name):
        if each.name.endswith(".sql"):
            yield each.name.removesuffix(".sql"), filled(each.read_text(encoding="utf-8"), names).strip()


def filled(text: str, names: Mapping[str, str]) -> str:
    r"""The text with ``{name}`` replaced for each given name and all other braces left as they are.

    >>> filled("SELECT '{}' FROM {schema}.t", {"schema": '"s"'})
    'SELECT \'{}\' FROM "s".t'
    """
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def parse_case(text: str) -> Case:
    r"""A case from the text of its file, names filled in.

    >>> case = parse_case("-- A table.\n-- name: t\n-- unit: table s.t\n-- == make\nCREATE TABLE s.t (n int)\n")
    >>> case.name, dict(case.units), case.part("make")[0].sql
    ('t', {'s.t': 'table'}, 'CREATE TABLE s.t (n int)')

    Raises:
        ValueError: it has no name or no part.
    """
    head, *parts = text.split(PART)
    entries = [line.removeprefix("--").strip() for line in head.splitlines()]
    facts = [entry.partition(": ") for entry in entries if entry.startswith(("name: ", "for: ", "unit: "))]
    given = {key: value for key, _, value in facts if key != "unit"}
    if "name" not in given or not parts:
        raise ValueError(f"a case has a name and parts, this has not: {head[:60]!r}")
    units = (split_unit(value) for key, _, value in facts if key == "unit")
    return Case(
        name=given["name"],
        sentence=" ".join(entry for entry in entries if not entry.startswith(("name: ", "for: ", "unit: "))).strip(),
        purpose=given.get("for", MOVES),
        units={key: kind for kind, key in units},
        parts=dict(map(_part, parts)),
    )


KINDS = ("table partition", "index partition", "materialized view", "table", "index", "lob")


def split_unit(text: str) -> tuple[str, str]:
    """Kind and key of a unit.

    >>> split_unit("table partition s.t_1")
    ('table partition', 's.t_1')

    Raises:
        ValueError: it begins with no kind.
    """
    for kind in KINDS:
        if text.startswith(f"{kind} "):
            return kind, text.removeprefix(f"{kind} ")
    raise ValueError(f"a unit begins with one of {', '.join(KINDS)}: {text!r}")


def _part(text: str) -> tuple[str, tuple[Statement, ...]]:
    name, _, body = text.partition("\n")
    blocks = (block.strip("\n") for block in body.split("\n\n"))
    return name.strip(), tuple(_statement(block) for block in blocks if block.strip())


def _statement(block: str) -> Statement:
    lines = block.splitlines()
    notes = [line for line in lines if line.startswith("-- ")]
    return Statement("\n".join(lines[len(notes) :]), " ".join(note.removeprefix("-- ") for note in notes))
