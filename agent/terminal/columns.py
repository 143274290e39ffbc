"""Columns of a table, as commands describe them and both kinds of table are laid out by."""

from __future__ import annotations

from dataclasses import dataclass

GAP = "  "  # between columns that are not drawn


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    title: str
    number: bool = False  # aligned to the right, never broken over lines
