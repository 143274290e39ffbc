"""What draws on a terminal: consoles, tables, the width of texts. Imported with the first line that is printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from agent.terminal.columns import GAP, Column

__all__ = ["Console", "Text", "align_rows", "build_table", "cell_len", "console"]

NARROWEST = 12  # cells of a column of text that can still be read: a date, or a time with its zone
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


def build_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> RenderableType:
    """Rows below their titles on a terminal of so many cells; a paragraph each where that is too few for columns."""
    return _table(columns, rows) if _least_width(columns, rows) <= width else _build_paragraphs(columns, rows, width)


def _table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(
            Text(column.title), justify="right" if column.number else "left", no_wrap=column.number, overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _least_width(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> int:
    """Cells that the table needs for numbers whole and texts in lines that can still be read."""
    widths = _widths(columns, [[column.title for column in columns], *rows])
    needed = (width if column.number else min(width, NARROWEST) for column, width in zip(columns, widths, strict=True))
    return sum(needed) + len(GAP) * len(columns) + 1


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
    widths = _widths(columns, lines)
    for line in lines:
        cells = (
            " " * (width - cell_len(cell)) + cell if column.number else cell + " " * (width - cell_len(cell))
            for column, width, cell in zip(columns, widths, line, strict=True)
        )
        yield GAP.join(cells).rstrip()


def _widths(columns: Sequence[Column], lines: Sequence[Sequence[str]]) -> list[int]:
    """Cells of the widest text of each column."""
    return [max(cell_len(line[at]) for line in lines) for at in range(len(columns))]
