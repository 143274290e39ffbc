"""Text from a database is shown as it is and steers nothing; JSON is JSON."""

from __future__ import annotations

import io
import json
import math
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from agent.model.states import MoveState
from agent.terminal.columns import Column
from agent.terminal.output import Output, plain_value
from connectors.model.formatting import printable

COLUMNS = (Column("name"), Column("size", number=True))


def shown(output: Output, capsys: pytest.CaptureFixture[str]) -> str:
    """What a table of awkward names looks like."""
    output.table(COLUMNS, [("[red]hot[/red]", "1"), ("a\x1b[31m\nb", "20"), ("Größe 表", "300")])
    return capsys.readouterr().out


def test_plain_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal: aligned columns, markup literal, control characters as escapes, wide letters counted."""
    text = shown(Output(as_json=False, no_color=False), capsys)
    assert text.splitlines() == [
        "name            size",
        "[red]hot[/red]     1",
        r"a\x1b[31m\nb      20",
        "Größe 表         300",
    ]


def test_table_on_a_terminal() -> None:
    """On a terminal names are literal too, and --no-color leaves no colour."""
    output = Output(as_json=False, no_color=True)
    screen = io.StringIO()
    output._out = Console(file=screen, force_terminal=True, color_system=None, width=80, markup=False)
    output.table(COLUMNS, [("[red]hot[/red]", "1"), ("a\x1b[31m", "20")])
    assert "[red]hot[/red]" in screen.getvalue()
    assert r"a\x1b[31m" in screen.getvalue()
    assert "\x1b[31m" not in screen.getvalue()


UNIT_COLUMNS = (
    Column("unit"), Column("tier"), Column("size", number=True), Column("benefit/h", number=True),
    Column("saved/h", number=True), Column("why"),
)  # fmt: skip
UNIT = ("sales.orders", "hdd", "127.6 MiB", "3 h 39 min", "53 min 11 s", "cancelled by root: wrong week")


@pytest.mark.parametrize("width", [24, 40, 60, 80, 100])
def test_a_narrow_terminal_shows_every_cell(width: int) -> None:
    """However narrow the terminal, no column is squeezed to nothing and no line is wider than it is."""
    output = Output(as_json=False, no_color=True)
    screen = io.StringIO()
    output._out = Console(file=screen, force_terminal=True, color_system=None, width=width, markup=False)
    output.table(UNIT_COLUMNS, [UNIT, ("x" * 70, *UNIT[1:-1], "")])
    text = screen.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert all(cell in text for cell in UNIT[:-1])
    assert all(word in text for word in UNIT[-1].split())
    assert text.count("x") == 70


def test_json_silences_text(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json nothing but the document goes to standard output."""
    output = Output(as_json=True, no_color=False)
    assert shown(output, capsys) == ""
    output.line("x")
    output.facts([("a", "b")])
    output.heading("y")
    output.document({"a": math.nan})
    assert json.loads(capsys.readouterr().out) == {"a": None}


def test_plain_values() -> None:
    """Numbers stay numbers, times are ISO 8601 with their zone, what is not finite is null."""
    at = datetime(2026, 3, 1, tzinfo=UTC)
    given_ = {
        "a": np.float64(1.5), "b": np.int64(3), "c": np.array([1.0, math.inf]), "d": at, "e": MoveState.KEPT, "f": True,
        "g": None, "h": (1, "x"),
    }  # fmt: skip
    assert plain_value(given_) == {
        "a": 1.5, "b": 3, "c": [1.0, None], "d": "2026-03-01T00:00:00+00:00", "e": "kept", "f": True, "g": None,
        "h": [1, "x"],
    }  # fmt: skip


@given(st.text())
def test_printable_is_printable(text: str) -> None:
    """Whatever a name holds, what is shown steers no terminal; a printable name is itself."""
    assert printable(text).isprintable()
    assert printable(text) == text or not text.isprintable()
