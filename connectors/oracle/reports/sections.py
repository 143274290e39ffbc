"""The common form of both kinds of report: titled tables of text cells, with the line that each begins at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

LONGEST_NAME = 1000  # characters that the lines of a wrapped name make together; Oracle's have 128 at most


@dataclass(slots=True)
class Section:
    """One table of a report."""

    title: str
    line: int  # of the file, from 1
    head: list[str]  # headings, several lines joined by a space
    rows: list[list[str]] = field(default_factory=list)  # as many cells as headings
    notes: list[str] = field(default_factory=list)  # lines that explain it: "-> Total Physical Reads: 1,234"
    whole: bool = True  # False: the file ends within it

    def column(self, *patterns: str) -> int | None:
        """The first heading that one of the patterns matches from its start, whatever its case; None: there is none."""
        for pattern in patterns:
            for at, heading in enumerate(self.head):
                if re.match(pattern, heading, re.IGNORECASE):
                    return at
        return None


def named(sections: Iterable[Section], pattern: str) -> list[Section]:
    """The sections whose title matches from its start, whatever its case."""
    return [section for section in sections if re.match(pattern, section.title, re.IGNORECASE)]


def cells(row: Sequence[str], *columns: int | None) -> list[str]:
    """Cells of a row; "" where the table has no such column."""
    return ["" if at is None or at >= len(row) else row[at].strip() for at in columns]
