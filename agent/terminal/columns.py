"""Columns of a table, as commands describe them and both kinds of table are laid out by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

GAP = "  "  # between columns that are not drawn


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    title: str
    number: bool = False  # aligned to the right, never broken over lines
    name: bool = False  # of an object: where room is short it is shortened in the middle, where names differ least
    leaves: int = 0  # where room is short the highest leaves first; 0 never leaves


def choose_columns(columns: Sequence[Column], titles: Sequence[str]) -> list[int]:
    """Where the columns of these titles are; all of them without titles.

    Raises:
        ValueError: a title that no column has; the message names those that there are.
    """
    known = {column.title: at for at, column in enumerate(columns)}
    if unknown := [title for title in titles if title not in known]:
        raise ValueError(f"{unknown[0]!r} is no column; there are {', '.join(known)}")
    return [known[title] for title in titles] or list(range(len(columns)))
