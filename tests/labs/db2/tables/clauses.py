"""Parts of CREATE TABLE, CREATE INDEX and ALTER TABLE, from tokens. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tests.labs.db2 import refusals
from tests.labs.db2.tables.definition import WIDTHS, Column, Constraint, Definition
from tests.labs.db2.text import joined, name_of, string_of


def closing(said: Sequence[str], at: int) -> int:
    """Where the parenthesis that opens at ``at`` closes.

    Raises:
        Refusal: SQL0104N: it does not, or none opens there.
    """
    depth = 0
    for place, word in enumerate(said[at:], start=at):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth == 0:
            if word == ")":
                return place
            break
    raise refusals.syntax(" ".join(said[at : at + 3]))


def split(said: Sequence[str]) -> Iterator[list[str]]:
    """Parts between commas that are in no parentheses."""
    part: list[str] = []
    depth = 0
    for word in said:
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == "," and depth == 0:
            yield part
            part = []
        else:
            part.append(word)
    if part:
        yield part


def read_columns(said: Sequence[str]) -> Definition:
    """What stands between the parentheses of CREATE TABLE.

    Raises:
        Refusal: SQL0104N.
    """
    found = Definition([])
    for part in split(said):
        if part[0] in ("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"):
            found.constraints.append(read_constraint(part))
        else:
            found.columns.append(_column(part))
            if "CONSTRAINT" in part:
                found.constraints.append(read_constraint(part[part.index("CONSTRAINT") :]))
    return found


def _column(part: Sequence[str]) -> Column:
    name, kind, rest = name_of(part[0]), part[1], list(part[2:])
    sizes: list[int] = []
    if rest[:1] == ["("]:
        end = closing(rest, 0)
        sizes, rest = [_bytes(one) for one in split(rest[1:end])], rest[end + 1 :]
    return Column(
        name=name,
        type=kind,
        length=sizes[0] if sizes else WIDTHS.get(kind, 1),
        scale=sizes[1] if len(sizes) > 1 else 0,
        nullable="NOT" not in rest,
        default=rest[rest.index("DEFAULT") + 1] if "DEFAULT" in rest and "GENERATED" not in rest else None,
        generated={"ALWAYS": "A", "BY": "D"}[rest[rest.index("GENERATED") + 1]] if "GENERATED" in rest else "",
        identity="IDENTITY" in rest,
        text=joined(rest[rest.index("AS") :]) if "GENERATED" in rest and "IDENTITY" not in rest else None,
    )


def _bytes(said: Sequence[str]) -> int:
    """Such as 200 or 1 M."""
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    return int(said[0]) * (units[said[1]] if len(said) > 1 else 1)


def read_constraint(said: Sequence[str]) -> Constraint:
    """CONSTRAINT name PRIMARY KEY | UNIQUE (columns), or CHECK (condition).

    Raises:
        Refusal: SQL0104N: it has no name, or is none of these.
    """
    if said[0] != "CONSTRAINT":
        raise refusals.syntax(" ".join(said[:3]))  # the name that the server would invent is not played
    name, kind, rest = name_of(said[1]), said[2], list(said[3:])
    if kind == "CHECK":
        return Constraint(name, "K", text=joined(rest[1 : closing(rest, 0)]))
    if kind not in ("PRIMARY", "UNIQUE"):
        raise refusals.syntax(kind)
    at = rest.index("(")
    return Constraint(name, kind[0], names_of(rest[at + 1 : closing(rest, at)]))


def names_of(said: Iterable[str]) -> tuple[str, ...]:
    """Names between commas."""
    return tuple(name_of(part[0]) for part in split(list(said)))


def index_columns(said: Iterable[str]) -> str:
    """Columns of a key as the world has them: ``+A -B``."""
    return " ".join(f"{'-' if 'DESC' in part else '+'}{name_of(part[0])}" for part in split(list(said)))


def read_bounds(said: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Of each partition: name, table space, from, up to (PARTITION p STARTING ('x') ENDING ('y') EXCLUSIVE IN ts).

    Raises:
        Refusal: SQL0104N.
    """
    found = []
    for part in split(said):
        if part[0] != "PARTITION" or "IN" not in part:
            raise refusals.syntax(" ".join(part[:3]))
        low, high = (_value(part, word) for word in ("STARTING", "ENDING"))
        found.append((name_of(part[1]), name_of(part[part.index("IN") + 1]), low, high))
    return found


def _value(part: Sequence[str], word: str) -> str:
    if word not in part:
        return ""
    token = part[part.index(word) + 2]
    return f"'{string_of(token)}'" if token.startswith("'") else token
