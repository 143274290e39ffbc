"""What ``hotplace lab prove`` and the tests try on an engine: cases, questions, and a session to send them over.

``Case`` is what is tried, ``ProofSession`` the session that tries it, and ``Proof`` how an engine is proved.

A case is a ``.sql`` file (``read_cases``). Comment lines are its header: a sentence, then ``-- name:``, ``-- for:`` and
a ``-- unit:`` for each unit that the catalog must list for it. Parts follow, each begun by ``-- == PART``. An empty
line ends a statement, which has no terminator; a comment line directly above a statement is its note.

``proof_of_package`` finds a proof that has a package of its own. It imports the package at first use, because that
needs the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from types import ModuleType
from typing import Any, Protocol

from connectors.kit.contract import Clock

MOVES = "moves"  # what most cases are for
TRUTH = "truth"  # for loads whose reads and waits the session counts itself
FILES = "files"  # set-up of cases in a space that is given away, to be moved by its files
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """What the user names: where everything is made and moved, by its plain names."""

    schema: str
    slow: str  # the space in which cases are made
    fast: str  # the space to which they move
    throw_away: str = ""  # a space that a DBA gives away, in a database that may be disturbed: its files move; "": none
    to_folder: str = ""  # where those go, and come back from


@dataclass(frozen=True, slots=True)
class NotedStatement:
    """One statement as it is sent, with the note above it in its file."""

    sql: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Something that is made, moved, compared and dropped."""

    name: str
    sentence: str
    purpose: str  # MOVES, "demand", TRUTH, "pitfalls" or "the catalog", which only lists its units
    units: Mapping[str, str]  # key -> kind in words, as it must stand in the catalog
    parts: Mapping[str, tuple[NotedStatement, ...]] = field(default_factory=dict)
    quick: bool = False  # of the few that `--quick` moves
    setup: str = ""  # its moves are tried under these settings, ``Proof.set_up`` says which; "": those that there are
    refused: str = ""  # ``NoRoute.code`` by which each of its units is refused; "": they move

    def part(self, name: str) -> tuple[NotedStatement, ...]:
        """Statements of that part, () where the case has none."""
        return self.parts.get(name, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnReads:
    """What was read from storage, and how long it was waited for."""

    blocks: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLoad:
    """A statement of a truth case, and what its note says that it reads."""

    name: str
    blocks: int  # that it needs, each from storage if it was flushed
    keys: tuple[str, ...]  # of the units that it reads
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherSettings:
    """Other settings under which some cases move, and what they move between then."""

    settings: Mapping[str, object]  # of the connection of either login, in place of those that there are
    slow: str
    fast: str


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
    and whether it is granted, ``session``, where there is one, with what this session has read so far, and ``compare``
    something with an object and what it is. ``given_away`` has a sentence for each thing that forbids to move the files
    of the space that is given away, ``given_paths`` the paths of those.
    """

    cases: Callable[[Scratch], tuple[Case, ...]]
    questions: Callable[[Scratch], Mapping[str, str]]
    queries: Callable[[], Mapping[str, str]]  # name of each query of the connector -> one that describes its columns
    of_other_versions: Callable[[tuple[int, ...]], frozenset[str]]  # names of queries that this version is not asked
    open_session: Callable[[Any, Clock], ProofSession]  # (settings of the moving account, the clock)
    routes: tuple[str, ...]  # names of all ways to move something, Route.name
    # What a session itself counted: in the rows of ``session``, a question about its totals so far, or, where the
    # engine has none, in the result of the load.
    own_reads: Callable[[Sequence[Row]], OwnReads]
    # (name of a set-up, the scratch, paths of the files of the space that is given away)
    set_up: Callable[[str, Scratch, Sequence[str]], OtherSettings]


PART = "-- == "
SHOWN = 50  # characters of a statement in a message


def read_cases(package: str, names: Mapping[str, str]) -> tuple[Case, ...]:
    """Every case in the folder ``cases`` of a package, by name.

    Args:
        package: of the engine's claims.
        names: what stands in the place of ``{schema}``, ``{slow}`` ...: quoted by the engine's rules.
    """
    folder = files(package) / "cases"
    texts = [each.read_text(encoding="utf-8") for each in folder.iterdir() if each.name.endswith(".sql")]
    return tuple(sorted((parse_case(fill_names(text, names)) for text in texts), key=lambda case: case.name))


def read_questions(package: str, folder: str, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Name and text of every ``.sql`` file in a folder of a package, names filled in."""
    for each in sorted((files(package) / folder).iterdir(), key=lambda file: file.name):
        if each.name.endswith(".sql"):
            yield each.name.removesuffix(".sql"), fill_names(each.read_text(encoding="utf-8"), names).strip()


def without_head(text: str) -> str:
    """A question without its lines of comment."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("--"))


def read_all_questions(package: str, texts: ModuleType, scratch: Scratch) -> Mapping[str, str]:
    """The statements of the folders ``ask`` and ``compare``, by the names that ``Proof`` tells.

    Args:
        package: of the engine's claims.
        texts: its module ``proof``: ``names`` and ``literal`` quote by the engine's rules, ``trim``
            is done to each text.
        scratch: the schema and its two spaces: ``space`` is asked of both.
    """
    names = texts.names(scratch)
    spaces = {"slow": texts.literal(scratch.slow), "fast": texts.literal(scratch.fast)}
    asked = {name: texts.trim(text) for name, text in read_questions(package, "ask", names)}
    space = asked.pop("space")
    of_spaces = {f"space {which}": space.replace("{space}", literal) for which, literal in spaces.items()}
    compared = {f"compare {name}": texts.trim(text) for name, text in read_questions(package, "compare", names)}
    return {**asked, **of_spaces, **compared}


def fill_names(text: str, names: Mapping[str, str]) -> str:
    r"""The text with ``{name}`` replaced for each given name and all other braces left as they are.

    >>> fill_names("SELECT '{}' FROM {schema}.t", {"schema": '"s"'})
    'SELECT \'{}\' FROM "s".t'
    """
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def first_words(statement: str) -> str:
    r"""The beginning of a statement without the comment above it, for messages.

    >>> first_words("-- All of them.\nSELECT 1\n  FROM t")
    'SELECT 1 FROM t'
    """
    lines = [line for line in statement.splitlines() if not line.startswith("--")]
    words = " ".join(" ".join(lines).split())
    return words if len(words) <= SHOWN else f"{words[:SHOWN]}..."


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
    facts = [entry.partition(": ") for entry in entries if entry.startswith(HEADS)]
    given = {key: value for key, _, value in facts if key != "unit"}
    if "name" not in given or not parts:
        raise ValueError(f"a case has a name and parts, this has not: {head[:60]!r}")
    units = (split_unit(value) for key, _, value in facts if key == "unit")
    return Case(
        name=given["name"],
        sentence=" ".join(entry for entry in entries if not entry.startswith(HEADS)).strip(),
        purpose=given.get("for", MOVES),
        units={key: kind for kind, key in units},
        parts=dict(map(_part, parts)),
        quick=given.get("quick") == "yes",
        setup=given.get("with", ""),
        refused=given.get("refused", ""),
    )


def known_loads(case: Case) -> tuple[KnownLoad, ...]:
    """The loads of a truth case, each with a note like ``single reads, 3000: KEY; KEY``.

    >>> load = NotedStatement("SELECT 1", "look-ups, 30: s.t; s.i")
    >>> case = Case(name="truth", sentence="", purpose=TRUTH, units={}, parts={"load": (load,)})
    >>> [(load.name, load.blocks, load.keys) for load in known_loads(case)]
    [('look-ups', 30, ('s.t', 's.i'))]
    """
    if case.purpose != TRUTH:
        return ()
    return tuple(_known_load(statement) for statement in case.part("load"))


def _known_load(statement: NotedStatement) -> KnownLoad:
    head, _, keys = statement.note.partition(": ")
    name, _, blocks = head.rpartition(", ")
    return KnownLoad(name=name, blocks=int(blocks), keys=tuple(keys.split("; ")), sql=statement.sql)


HEADS = ("name: ", "for: ", "unit: ", "quick: ", "with: ", "refused: ")
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


def _part(text: str) -> tuple[str, tuple[NotedStatement, ...]]:
    name, _, body = text.partition("\n")
    blocks = (block.strip("\n") for block in body.split("\n\n"))
    return name.strip(), tuple(_statement(block) for block in blocks if block.strip())


def _statement(block: str) -> NotedStatement:
    lines = block.splitlines()
    notes = [line for line in lines if line.startswith("-- ")]
    return NotedStatement("\n".join(lines[len(notes) :]), " ".join(note.removeprefix("-- ") for note in notes))


def figures_of_session(rows: Sequence[Row]) -> OwnReads:
    """Of the one row of a question ``session``: blocks, and seconds.

    >>> figures_of_session([(7, 0.25)])
    OwnReads(blocks=7.0, seconds=0.25)
    """
    ((blocks, seconds),) = rows
    return OwnReads(blocks=float(blocks), seconds=float(seconds))


def proof_of_package(package: str, routes: tuple[str, ...]) -> Proof:
    """The proof by ``PACKAGE.proof``: its functions ``queries``, ``of_other_versions``, ``open_session``, ``names``.

    It has ``set_up`` where a case has one.

    Args:
        package: of the engine's claims.
        routes: names of all ways to move something.
    """

    def texts() -> ModuleType:
        return import_module(f"{package}.proof")

    def open_session(*given: Any) -> Any:  # noqa: ANN401 (settings and session are of a module not yet imported)
        return import_module(f"{package}.proof").open_session(*given)

    return Proof(
        cases=lambda scratch: read_cases(package, texts().names(scratch)),
        questions=lambda scratch: read_all_questions(package, texts(), scratch),
        queries=lambda: texts().queries(),
        of_other_versions=lambda version: texts().of_other_versions(version),
        open_session=open_session,
        routes=routes,
        own_reads=lambda rows: getattr(texts(), "own_reads", figures_of_session)(rows),
        set_up=lambda name, scratch, files: texts().set_up(name, scratch, files),
    )
