"""What all lists of a fleet have in common: which databases are meant, and how many lines there are."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TypeVar

from agent.cli.session import Session
from agent.fleet.reading import Selection
from agent.ledger.fleet.overview import EVERY

_V = TypeVar("_V")
AROUND = 8  # lines of a screen that are no rows of the table
FEWEST = 10  # rows, however low the terminal is


def selection_of(session: Session, engine: str) -> Selection:
    """The databases that --database, which may be a pattern, and --engine name."""
    return Selection(pattern=session.options.database or EVERY, engine=engine)


def first_rows(rows: Sequence[_V], limit: int | None) -> Sequence[_V]:
    """The rows that fit a screen, or as many as were asked for."""
    most = limit or max(FEWEST, shutil.get_terminal_size().lines - AROUND)
    return rows[:most]


def document_rows(rows: Sequence[_V], limit: int | None) -> Sequence[_V]:
    """The rows of the JSON document: all of them, unless a limit was given."""
    return rows if limit is None else rows[:limit]


def say_rest(session: Session, total: int, here: int, what: str) -> None:
    """How many rows are not shown."""
    if total > here:
        session.out.line(f"and {total - here} more {what}; --limit {total} shows them")
