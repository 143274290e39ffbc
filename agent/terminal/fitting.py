"""Which columns of a table fit a terminal, and how wide its names may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells

from agent.terminal.columns import GAP, Column

NARROWEST = 12  # cells of a column of text that can still be read: a date, or a time with its zone
LONGEST_WORD = 20  # cells: a verdict is not broken, a path is
SHORTEST_NAME = 20  # cells
DOTS = "..."


@dataclass(frozen=True, slots=True)
class Fit:
    """What is shown of a table."""

    kept: tuple[int, ...]  # columns, in their order
    name_width: int  # cells that each name may take


def fit_columns(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> Fit | None:
    """Leave out columns, the least important first, until the rest fits; None where not even those that must stay do.

    Numbers and words stay whole. Texts may be folded, names shortened to ``SHORTEST_NAME``.
    """
    lines = [[column.title for column in columns], *rows]
    widths = widths_of(columns, lines)
    least = [_narrowest(column, widths[at], [line[at] for line in lines]) for at, column in enumerate(columns)]
    kept = list(range(len(columns)))
    while (spare := width - _cells_of(least, kept)) < 0:
        leaving = max(kept, key=lambda at: (columns[at].leaves, at))
        if not columns[leaving].leaves:
            return None
        kept.remove(leaving)
    return Fit(tuple(kept), _name_width([widths[at] for at in kept if columns[at].name], spare))


def widths_of(columns: Sequence[Column], lines: Sequence[Sequence[str]]) -> list[int]:
    """Cells of the widest text of each column."""
    return [max(cell_len(line[at]) for line in lines) for at in range(len(columns))]


def shorten_name(name: str, width: int) -> str:
    """The name in so many cells: its middle gives way, since partitions differ at their ends."""
    if cell_len(name) <= width:
        return name
    tail = (width - len(DOTS)) // 2
    head = width - len(DOTS) - tail
    return chop_cells(name, head)[0] + DOTS + chop_cells(name[::-1], tail)[0][::-1]


def wrap(text: str, width: int) -> list[str]:
    """A text in lines of so many cells, broken between words; the second line on has the indent of the first."""
    if cell_len(text) <= width:
        return [text]
    indent = min(len(text) - len(text.lstrip(" ")), width // 2)
    lines, line = [], ""
    for word in text.split(" "):
        while cell_len(word) > width - indent:
            piece = chop_cells(word, max(1, width - indent))[0] or word[0]  # a wide character may be too wide alone
            lines += [line.rstrip()] if line.strip() else []
            lines.append(" " * indent + piece)
            word, line = word[len(piece) :], " " * indent
        if cell_len(line) + cell_len(word) > width and line.strip():
            lines.append(line.rstrip())
            line = " " * indent
        line += word + " "
    return [*lines, line.rstrip()] if line.strip() else lines


def _cells_of(least: Sequence[int], kept: Sequence[int]) -> int:
    """Cells that these columns take at the least."""
    return sum(least[at] for at in kept) + len(GAP) * len(kept) + 1


def _narrowest(column: Column, width: int, cells: Sequence[str]) -> int:
    """Cells that a column needs: all for numbers, and for a text its longest word, unless that is no word."""
    if column.number:
        return width
    if column.name:
        return min(width, SHORTEST_NAME)
    words = [cell_len(word) for cell in cells for word in cell.split()]
    return min(width, max([NARROWEST, *(length for length in words if length <= LONGEST_WORD)]))


def _name_width(wanted: Sequence[int], spare: int) -> int:
    """The width up to which all names can be had whole with the spare cells: names come before folded texts."""
    width = SHORTEST_NAME
    while any(each > width for each in wanted) and sum(each > width for each in wanted) <= spare:
        spare -= sum(each > width for each in wanted)
        width += 1
    return width
