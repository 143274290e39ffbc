"""What draws on a terminal: consoles, tables, the width of texts. Imported with the first line that is printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent.cli.output import GAP, Column

__all__ = ["Console", "Text", "aligned", "cell_len", "console", "drawn"]


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


def drawn(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Table:
    """Rows below their titles, for a terminal."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(
            Text(column.title), justify="right" if column.number else "left", no_wrap=column.number, overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def aligned(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Each row as one line."""
    lines = [[column.title for column in columns], *rows]
    widths = [max(cell_len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        cells = (
            " " * (width - cell_len(cell)) + cell if column.number else cell + " " * (width - cell_len(cell))
            for column, width, cell in zip(columns, widths, line, strict=True)
        )
        yield GAP.join(cells).rstrip()
