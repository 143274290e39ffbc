"""What draws on a terminal: consoles, tables, the width of texts, the pager. Imported at first need.

Which columns of a table fit a terminal, and how wide its names may be.

Long output goes through the user's pager, as git's does.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rich import box
from rich.cells import cell_len, chop_cells
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

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


DEFAULT = "less"
# Ends where all fits one screen, keeps colours, leaves the text on the screen; S: long lines are cut, not folded.
LESS = "FRX"


def show_paged(text: str, console: Console, *, chop: bool) -> None:
    """Show a text that was drawn for this terminal.

    Args:
        text: with the terminal's escapes for colours.
        console: of the terminal.
        chop: long lines scroll sideways.
    """
    pager = _pager()
    if text.count("\n") < console.height or not pager:
        console.file.write(text)
        console.file.flush()
        return
    environment = {**os.environ, "LESS": os.environ.get("LESS", LESS + ("S" if chop else "")), "LESSCHARSET": "utf-8"}
    subprocess.run(pager, input=text.encode(), env=environment, check=False)  # noqa: S603 (the user's own pager)


def _pager() -> list[str]:
    """The command that $PAGER names, else less; none where neither is installed or $PAGER is empty or cat."""
    command = shlex.split(os.environ.get("PAGER", DEFAULT))
    if not command or command == ["cat"] or shutil.which(command[0]) is None:
        return []
    return command


__all__ = ["Console", "Text", "align_rows", "build_table", "cell_len", "console", "show_paged", "wrap"]

INDENT = 2  # of all but the first line of a row that is shown as a paragraph


class _Console(Console):
    """A console that leaves a broken pipe to the command's frame, which ends without an error."""

    def on_broken_pipe(self) -> None:
        """Rich would end the program with code 1 here."""
        raise BrokenPipeError


def console(*, error: bool, plain: bool) -> Console:
    """A console over standard output or standard error, as it is; plain: never coloured."""
    return _Console(
        stderr=error, no_color=plain or None, highlight=False, markup=False, emoji=False,
        color_system=None if plain else "auto",
    )  # fmt: skip


def build_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, *, whole: bool = False
) -> tuple[RenderableType, list[str]]:
    """Rows below their titles on a terminal of so many cells; a paragraph each where that is too few for columns.

    Args:
        columns: of the table.
        rows: their cells.
        width: cells of the terminal.
        whole: no column may be left out.

    Returns:
        What to print, and the titles of the columns that are left out.
    """
    fixed = [replace(column, leaves=0) for column in columns] if whole else columns
    fit = fit_columns(fixed, rows, width)
    if fit is None:
        return _build_paragraphs(columns, rows, width), []
    left_out = [column.title for at, column in enumerate(columns) if at not in fit.kept]
    return _table([columns[at] for at in fit.kept], [[row[at] for at in fit.kept] for row in rows], fit), left_out


def _table(columns: Sequence[Column], rows: Sequence[Sequence[str]], fit: Fit) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(
            Text(column.title), justify="right" if column.number else "left", no_wrap=column.number or column.name,
            overflow="fold",
        )  # fmt: skip
    for row in rows:
        cells = (
            shorten_name(cell, fit.name_width) if column.name else cell
            for column, cell in zip(columns, row, strict=True)
        )
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _build_paragraphs(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> RenderableType:
    """Each row as a paragraph of named cells: nothing is cut off, however narrow the terminal is."""
    parts: list[RenderableType] = []
    for row in rows:
        first, *others = (_named_cell(column, cell) for column, cell in zip(columns, row, strict=True) if cell)
        first.stylize("bold")
        parts.append(first)
        parts += [Padding(line, (0, 0, 0, INDENT)) for line in _fill_lines(others, width - INDENT)]
    return Group(*parts)


def _named_cell(column: Column, cell: str) -> Text:
    return Text.assemble((f"{column.title} " if column.title else "", "dim"), cell, overflow="fold")


def _fill_lines(pieces: Iterable[Text], width: int) -> Iterable[Text]:
    """The pieces in lines: as many a line as fit; one that fits none is broken when it is printed."""
    line = Text(overflow="fold")
    for piece in pieces:
        if line and line.cell_len + len(GAP) + piece.cell_len > width:
            yield line
            line = Text(overflow="fold")
        line = Text.assemble(line, GAP if line else "", piece, overflow="fold")
    if line:
        yield line


def align_rows(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Each row as one line."""
    lines = [[column.title for column in columns], *rows]
    widths = widths_of(columns, lines)
    for line in lines:
        cells = (
            " " * (width - cell_len(cell)) + cell if column.number else cell + " " * (width - cell_len(cell))
            for column, width, cell in zip(columns, widths, line, strict=True)
        )
        yield GAP.join(cells).rstrip()
