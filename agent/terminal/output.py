"""What a command prints: tables and lines for people, one JSON document for programs.

Text from a database is printed as it is, never as markup; characters that would steer a terminal are shown as escapes.
Tables are drawn on a terminal, a paragraph a row where it is narrow, and are plain aligned columns elsewhere, so that
they can be piped.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agent.model.answers.kind import Failure, FailureAnswer, is_answer, mapping_of
from agent.terminal.columns import GAP, Column, choose_columns
from connectors.model.formatting import printable

if TYPE_CHECKING:
    from rich.console import Console


_LATER_LINE = re.compile(r"\n(?=[^ ])")
NARROWEST = 20  # width at which prose is wrapped at least; a narrower terminal wraps it once more


class Output:
    """Standard output and standard error of one command."""

    def __init__(self, *, as_json: bool, no_color: bool, wide: bool = False) -> None:
        """Settle how to print; the terminal is looked at with the first line.

        Args:
            as_json: people's text goes nowhere, ``document`` is all that is printed.
            no_color: never colour; $NO_COLOR does the same.
            wide: rows of tables on one line each, however long, with every column.
        """
        self.as_json = as_json
        self._wide = wide
        self._plain = no_color or bool(os.environ.get("NO_COLOR"))
        self._documented = False
        self._translate: Callable[[str], str] | None = None

    def translated(self, translate: Callable[[str], str]) -> Output:
        """Another output like this one, every text of whose result is translated first, keys of the document too."""
        other = Output(as_json=self.as_json, no_color=self._plain, wide=self._wide)
        other._translate = translate
        return other

    @cached_property
    def _out(self) -> Console:
        console: Console = _terminal().console(error=False, plain=self._plain)
        return console

    @cached_property
    def _err(self) -> Console:
        console: Console = _terminal().console(error=True, plain=self._plain)
        return console

    @property
    def terminal(self) -> bool:
        """Whether a person reads standard output on a terminal."""
        return bool(self._out.is_terminal)

    @property
    def console(self) -> Console:
        """The terminal itself, for what is drawn again and again."""
        return self._out

    @property
    def progress_console(self) -> Console:
        """Where progress is shown: standard error, which is no part of the result."""
        return self._err

    def document(self, answer: object) -> None:
        """Print an answer as the one JSON document; nothing unless JSON was asked for."""
        if self.as_json:
            plain = plain_value(answer)
            if self._translate is not None:
                plain = _translated(plain, self._translate)
            text = json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)
            sys.stdout.write(text + "\n")
            self._documented = True

    def text(self, text: str) -> None:
        """A whole text for people, exactly as it is: only for what hotplace ships itself."""
        if not self.as_json:
            sys.stdout.write(text)

    def line(self, text: str = "", style: str = "") -> None:
        """One line for people."""
        if self.as_json:
            return
        text = text if self._translate is None else self._translate(text)
        if self.terminal:
            self._out.print(_terminal().Text(printable(text), style=style), soft_wrap=True)
        else:
            self._write(printable(text))

    def sentence(self, text: str, style: str = "") -> None:
        """A line of prose: on a terminal broken between words, its other lines indented."""
        first, *others = self._wrapped(text, 0)
        self.line(first, style)
        indent = " " * (len(text) - len(text.lstrip(" "))) + GAP
        rest = " ".join(other.strip() for other in others)
        for line in self._wrapped(rest, len(indent)) if rest else ():
            self.line(f"{indent}{line}", style)

    def _wrapped(self, text: str, indent: int) -> list[str]:
        """The text in lines for what an indent leaves of the terminal; whole where that is nothing to read, or none."""
        if self.as_json or not self.terminal:
            return [text]
        lines: list[str] = _terminal().wrap(printable(text), max(NARROWEST, self._out.width - indent))
        return lines

    def heading(self, text: str) -> None:
        """A line that begins a part."""
        self.line()
        self.line(text, style="bold")

    def facts(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Names and values below each other, values aligned."""
        rows, cell_len = list(pairs), _terminal().cell_len
        width = max((cell_len(name) for name, _ in rows), default=0)
        for name, value in rows:
            first, *others = self._wrapped(value, width + len(GAP))
            self.line(f"{name}{' ' * (width - cell_len(name))}{GAP}{first}")
            for other in others:
                self.line(f"{' ' * width}{GAP}{other}")

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], titles: Sequence[str] = ()) -> None:
        """Rows below their titles; on a terminal without the columns for which there is no room, which it names.

        Args:
            columns: of the table.
            rows: their cells.
            titles: of the columns to show, in this order; none: as many as there is room for.

        Raises:
            ValueError: there is no column with one of the titles.
        """
        kept = choose_columns(columns, titles)
        if self.as_json:
            return
        translate = self._translate or str
        cells = [[printable(translate(row[at])) for at in kept] for row in rows]
        columns = [columns[at] for at in kept]
        if not self.terminal or self._wide:
            self._print_aligned(_terminal().align_rows(columns, cells))
            return
        table, left_out = _terminal().build_table(columns, cells, self._out.width, whole=bool(titles))
        self._out.print(table)
        if left_out:
            self.line(f"hidden to fit: {', '.join(left_out)} (--wide)", style="dim")

    def _print_aligned(self, lines: Iterable[str]) -> None:
        if not self.terminal:
            self._write(*lines)
            return
        for line in lines:
            self._out.print(_terminal().Text(line), soft_wrap=True)

    @contextmanager
    def through_pager(self) -> Iterator[None]:
        """What is printed in this block goes through the user's pager where it is longer than the terminal is high."""
        if self.as_json or not self.terminal:
            yield
            return
        with self._out.capture() as captured:
            yield
        _terminal().show_paged(captured.get(), self._out, chop=self._wide)

    def _write(self, *lines: str) -> None:
        """Lines as they are, where there is nothing to draw: a report has thousands of them."""
        out = self._out.file
        out.writelines(f"{line}\n" for line in lines)
        out.flush()

    def note(self, text: str) -> None:
        """Something to know that is not the result: on standard error."""
        self._err.print(_terminal().Text(printable(text), style="dim"), soft_wrap=True)

    def problem(self, what: str, advice: str, *, ends_with: int | None = None) -> None:
        """What went wrong and what to do next, on standard error.

        Args:
            what: the error.
            advice: the next step; "" for none.
            ends_with: exit code of a command that this ends: then the one JSON document is the error, unless the answer
                was printed already.
        """
        if ends_with is not None and not self._documented:
            self.document(FailureAnswer(error=Failure(exit_code=ends_with, sentence=what, next=advice or None)))
        self._err.print(_terminal().Text.assemble(("error: ", "bold red"), _below_each_other(what)), soft_wrap=True)
        if advice:
            self._err.print(_terminal().Text.assemble(("next: ", "bold"), _below_each_other(advice)), soft_wrap=True)

    def verbatim(self, text: str) -> None:
        """Text for another program, to the byte; on a terminal its control characters are still shown as escapes."""
        sys.stdout.write(printable(text, keep="\n\t") if self.terminal else text)

    def ask(self, question: str) -> bool:
        """Ask on the terminal; only ``y`` or ``yes`` is yes, the end of input is no."""
        self._err.print(_terminal().Text(f"{printable(question)} [y/N] "), end="")
        return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _below_each_other(text: str) -> str:
    """Its lines; none of them begins where a line of ours does."""
    return _LATER_LINE.sub(rf"\n{GAP}", printable(text.rstrip("\n"), keep="\n"))


def _translated(value: Any, translate: Callable[[str], str]) -> Any:  # noqa: ANN401  # JSON values
    if isinstance(value, str):
        return translate(value)
    if isinstance(value, dict):
        return {translate(key): _translated(inner, translate) for key, inner in value.items()}
    return [_translated(inner, translate) for inner in value] if isinstance(value, list) else value


def plain_value(value: Any) -> Any:  # noqa: ANN401 (whatever a document holds)
    """The value as JSON knows it: what is not finite becomes null, times ISO 8601, arrays lists, answers objects."""
    match value:
        case None | bool() | str() if not isinstance(value, Enum):
            return value
        case Enum():
            return value.value
        case _ if hasattr(value, "tolist"):  # an array or a number of numpy, which many commands never import
            return plain_value(value.tolist())
        case float():
            return value if math.isfinite(value) else None
        case int():
            return value
        case datetime():
            return value.isoformat()
        case Mapping():
            return {str(key): plain_value(inner) for key, inner in value.items()}
        case _ if is_answer(value):
            return {key: plain_value(inner) for key, inner in mapping_of(value).items()}
        case Iterable():
            return [plain_value(inner) for inner in value]
        case _:
            return str(value)


def _terminal() -> ModuleType:
    """What draws: imported with the first line that is printed, and a daemon prints none."""
    from agent.terminal import tables

    return tables
