"""Long output goes through the user's pager, short output does not."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from agent.terminal.output import Output


@pytest.fixture(name="pager")
def _pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pager that keeps what it was given, and the file it keeps it in."""
    kept = tmp_path / "kept"
    program = tmp_path / "pager"
    program.write_text(f"#!/bin/sh\nexec cat >'{kept}'\n")
    program.chmod(0o700)
    monkeypatch.setenv("PAGER", str(program))
    return kept


def print_lines(count: int) -> str:
    """What reached a terminal of ten lines itself."""
    output, screen = Output(as_json=False, no_color=True), io.StringIO()
    output._out = Console(file=screen, force_terminal=True, color_system=None, width=40, height=10)
    with output.through_pager():
        for number in range(count):
            output.line(f"line {number}")
    return screen.getvalue()


def test_long_output_is_paged(pager: Path) -> None:
    """More lines than the terminal has go to the pager, all of them."""
    assert print_lines(30) == ""
    assert pager.read_text().splitlines() == [f"line {number}" for number in range(30)]


def test_short_output_is_not(pager: Path) -> None:
    """What fits is printed at once."""
    assert print_lines(5).splitlines() == [f"line {number}" for number in range(5)]
    assert not pager.exists()


@pytest.mark.parametrize("choice", ["", "cat", "no-such-pager"])
def test_without_a_pager(choice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty $PAGER, cat or a pager that is not installed: printed as it is, nothing lost."""
    monkeypatch.setenv("PAGER", choice)
    assert len(print_lines(30).splitlines()) == 30
