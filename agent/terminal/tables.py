"""What draws on a terminal: consoles, tables, the width of texts. Imported with the first line that is printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from agent.terminal.columns import GAP, Column
from agent.terminal.fitting import Fit, fit_columns, shorten_name, widths_of, wrap
from agent.terminal.pager import show_paged

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
