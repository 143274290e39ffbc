"""Cases and questions as ``.sql`` files.

A case is a file: comment lines as its header (a sentence, then ``-- name:``, ``-- for:`` and a ``-- unit:`` for each
unit that the catalog must list for it), then parts that begin with ``-- == PART``. An empty line ends a statement,
which has no terminator; a comment line directly above one is its note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files

from connectors.proving.proof import MOVES, Case, Statement

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


def read_all_questions(
    package: str, names: Mapping[str, str], spaces: Mapping[str, str], trim: Callable[[str], str] = str
) -> Mapping[str, str]:
    """The statements of the folders ``ask`` and ``compare``, by the names that ``Proof`` tells.

    Args:
        package: of the engine's claims.
        names: what stands in the place of ``{schema}`` ...
        spaces: ``slow`` and ``fast``, each as a literal of the engine: ``space`` is asked of both.
        trim: what is done to every text.
    """
    asked = {name: trim(text) for name, text in read_questions(package, "ask", names)}
    space = asked.pop("space")
    of_spaces = {f"space {which}": space.replace("{space}", literal) for which, literal in spaces.items()}
    compared = {f"compare {name}": trim(text) for name, text in read_questions(package, "compare", names)}
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
