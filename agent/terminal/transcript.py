"""What a command prints, kept as lines: for a screen that shows it in a part of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO

from rich.console import Console

from agent.terminal.columns import Column, choose_columns
from agent.terminal.output import Output
from agent.terminal.tables import build_table
from connectors.model.formatting import printable


class Transcript(Output):
    """An output without a terminal: the same words, none of them written anywhere, and no question asked."""

    def __init__(self, width: int) -> None:
        """Keep lines; tables are laid out for so many cells."""
        super().__init__(as_json=False, no_color=True)
        self.lines: list[str] = []
        self._cells = width

    @property
    def terminal(self) -> bool:
        """No one can answer here."""
        return False

    def document(self, answer: object) -> None:
        """Nothing: people read this."""

    def text(self, text: str) -> None:
        """The lines of a whole text."""
        self._write(*(printable(line) for line in text.splitlines()))

    verbatim = text

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], titles: Sequence[str] = ()) -> None:
        """Rows below their titles, without the columns for which there is no room."""
        kept = choose_columns(columns, titles)
        cells = [[printable(row[at]) for at in kept] for row in rows]
        table, _ = build_table([columns[at] for at in kept], cells, self._cells, whole=bool(titles))
        console = Console(file=StringIO(), width=self._cells, color_system=None, markup=False, highlight=False)
        with console.capture() as captured:
            console.print(table)
        self._write(*(line.rstrip() for line in captured.get().splitlines()))

    @contextmanager
    def through_pager(self) -> Iterator[None]:
        """No pager: the program that shows the lines scrolls them."""
        yield

    def note(self, text: str) -> None:
        """A line like any other."""
        self._write(printable(text))

    def problem(self, what: str, advice: str, *, ends_with: int | None = None) -> None:  # noqa: ARG002  # as Output
        """What went wrong and what to do next."""
        self._write(f"error: {printable(what)}", *([f"next: {printable(advice)}"] if advice else []))

    def ask(self, question: str) -> bool:  # noqa: ARG002  # as Output
        """No."""
        return False

    def _write(self, *lines: str) -> None:
        self.lines += lines
