"""The README knows every command and every exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.terminal.exit_codes import ExitCode
from tests.cli.test_help import COMMANDS

README = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_command_is_documented(words: tuple[str, ...]) -> None:
    """README.md shows the command as it is typed."""
    assert f"hotplace {' '.join(words)}" in README


@pytest.mark.parametrize("code", ExitCode, ids=lambda code: str(code.value))
def test_exit_code_is_documented(code: ExitCode) -> None:
    """README.md has a row for the code."""
    assert f"| {code.value} |" in README
