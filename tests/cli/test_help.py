"""What every command has in common."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from agent.cli.main import app
from tests.cli.site import Site


def commands() -> Iterator[tuple[str, ...]]:
    """Every command as its words."""
    root = get_command(app)
    for name, command in root.commands.items():  # type: ignore[attr-defined]  # a group has them
        inner = getattr(command, "commands", None)
        yield from ((name, sub) for sub in inner) if inner else [(name,)]


COMMANDS = list(commands())


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_of_every_command(words: tuple[str, ...]) -> None:
    """It has a summary of one sentence, an example that begins with the command, and the common options."""
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})
    assert result.exit_code == 0
    lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
    assert lines[0].startswith(f"Usage: hotplace {' '.join(words)}")
    assert lines[1].endswith(".")
    assert any(line.startswith(f"Example: hotplace {' '.join(words)}") for line in lines)
    for option in ("--json", "--config", "--database", "--debug", "--no-color"):
        assert option in result.stdout


def test_version() -> None:
    """--version prints name and version."""
    assert CliRunner().invoke(app, ["--version"]).stdout.startswith("hotplace 0")


def test_nothing_said_is_help() -> None:
    """Without a command the help is shown, as wrong use."""
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 2
    assert "Usage: hotplace" in result.stdout + result.stderr


def test_common_options_before_and_after(site: Site) -> None:
    """--json and --database mean the same on both sides of the command."""
    before = site.good("--json", "--database", "shop", "proposals").out
    after = site.good("proposals", "--json", "--database", "shop").out
    assert json.loads(before) == json.loads(after)


def test_completion_is_offered() -> None:
    """The shell can be taught the commands."""
    assert "--install-completion" in CliRunner().invoke(app, ["--help"]).stdout
