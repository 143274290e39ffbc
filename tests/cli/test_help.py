"""What every command has in common."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from agent.cli.main import COMMANDS as MODULES
from agent.cli.main import whole_app
from tests.cli.site import Site


def commands() -> Iterator[tuple[str, ...]]:
    """Every command as its words."""
    root = get_command(whole_app())
    for name, command in root.commands.items():  # type: ignore[attr-defined]  # a group has them
        inner = getattr(command, "commands", None)
        yield from ((name, sub) for sub in inner) if inner else [(name,)]


COMMANDS = list(commands())


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_of_every_command(words: tuple[str, ...]) -> None:
    """It has a summary of one sentence, an example that begins with the command, and the common options."""
    result = CliRunner().invoke(whole_app(), [*words, "--help"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})
    assert result.exit_code == 0
    lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
    assert lines[0].startswith(f"Usage: hotplace {' '.join(words)}")
    assert lines[1].endswith(".")
    assert any(line.startswith(f"Example: hotplace {' '.join(words)}") for line in lines)
    for option in ("--json", "--config", "--database", "--debug", "--no-color"):
        assert option in result.stdout


def test_version() -> None:
    """--version prints name and version."""
    assert CliRunner().invoke(whole_app(), ["--version"]).stdout.startswith("hotplace 0")


def test_nothing_said_is_a_beginning(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a command a short screen says what to type first, in commands that exist; it counts as wrong use."""
    monkeypatch.chdir(site.folder)
    result = CliRunner().invoke(whole_app(), [])
    assert result.exit_code == 2
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert len(result.stdout.splitlines()) <= 24
    named = set(re.findall(r"hotplace ([a-z]+) ", result.stdout)) - {"finds"}
    assert {"demo", "init", "status", "approve"} <= named <= {words[0] for words in COMMANDS}
    assert f"configuration: {site.path.name}; " in result.stdout
    monkeypatch.chdir(site.folder.parent)
    assert "no configuration here yet" in CliRunner().invoke(whole_app(), []).stdout


def test_common_options_before_and_after(site: Site) -> None:
    """--json and --database mean the same on both sides of the command."""
    before = site.good("--json", "--database", "shop", "proposals").out
    after = site.good("proposals", "--json", "--database", "shop").out
    assert json.loads(before) == json.loads(after)


def test_completion_is_offered() -> None:
    """The shell can be taught the commands."""
    assert "--install-completion" in CliRunner().invoke(whole_app(), ["--help"]).stdout


def test_every_command_is_listed_with_its_module() -> None:
    """A command line loads the module under which its command is listed: so that must be the one that has it."""
    listed = {name: f"agent.cli.{module}" for module, names in MODULES.items() for name in names}
    root = get_command(whole_app())
    found = {
        name: {inner.callback.__module__ for inner in getattr(command, "commands", {"": command}).values()}
        for name, command in root.commands.items()  # type: ignore[attr-defined]  # a group has them
    }
    assert found == {name: {module} for name, module in listed.items()}


def test_a_daemon_loads_nothing_that_draws() -> None:
    """What reports, the demonstration and tables need stays on the disk."""
    code = "import sys; from agent.cli.main import app_for; app_for(['status']); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "agent.cli.moving.run" in loaded
    assert not {"agent.cli.deciding.report", "agent.demo.story", "jinja2", "rich", "alembic"} & set(loaded)
