"""What every command has in common."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from agent.cli.app import app
from agent.cli.commands import COMMANDS as TABLE
from agent.cli.main import whole_app
from agent.terminal.errors import ExitCode
from connectors.kit.registry import BUILT_IN
from tests.cli.site import Site
from tests.over import over


def commands() -> Iterator[tuple[str, ...]]:
    """Every command as its words."""
    root = get_command(whole_app())
    for name, command in root.commands.items():  # type: ignore[attr-defined]  # a group has them
        inner = getattr(command, "commands", None)
        yield from ((name, sub) for sub in inner) if inner else [(name,)]


COMMANDS = list(commands())


@over("words", COMMANDS)
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
    assert {"demo", "setup", "status", "approve"} <= named <= {words[0] for words in COMMANDS}
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
    """The table names the module of each command: the one that is imported to run it."""
    root = get_command(whole_app())
    found = {
        name: {inner.callback.__module__ for inner in getattr(command, "commands", {"": command}).values()}
        for name, command in root.commands.items()  # type: ignore[attr-defined]  # a group has them
    }
    assert found == {name: {f"agent.cli.{listed.module}"} for name, listed in TABLE.items()}


def test_every_command_is_listed_with_its_help() -> None:
    """Heading and summary in the table are those that the command itself has, and no command is missing."""
    whole_app()
    real: dict[Any, tuple[Any, str | None]] = {
        **{each.callback.__name__: (each, each.callback.__doc__) for each in app.registered_commands if each.callback},
        **{each.name: (each, each.help) for each in app.registered_groups},
    }
    found = {
        getattr(info, "name", None) or name: (info.rich_help_panel, inspect.cleandoc(str(text)).split("\n\n")[0])
        for name, (info, text) in real.items()
    }
    assert {name: (panel, " ".join(text.split())) for name, (panel, text) in found.items()} == {
        name: (listed.group, listed.summary) for name, listed in TABLE.items()
    }


def imported_by(
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    ends_with: int = ExitCode.OK,
) -> set[str]:
    """Modules that a process has imported when the command line has ended, with the exit code that is expected."""
    code = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
        "sys.argv[0] = 'hotplace'; from agent.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **(environment or {})},
    )  # fmt: skip
    assert done.returncode == ends_with, done.stderr
    assert done.stdout
    return set(done.stderr.split())


COMPLETE_A_NAME = {"_HOTPLACE_COMPLETE": "complete_bash", "COMP_WORDS": "hotplace pro", "COMP_CWORD": "1"}


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [(["--version"], {}), (["--help"], {}), ([], COMPLETE_A_NAME)],
    ids=["version", "help", "completion"],
)
def test_what_names_no_command_imports_none(arguments: list[str], environment: dict[str, str]) -> None:
    """The version, the help and the completion of a command's name need no library that commands work with."""
    imported = imported_by(*arguments, environment=environment)
    assert "agent.cli.main" in imported
    heavy = {"numpy", "sqlalchemy", "jinja2", "yaml", "agent.config", "agent.ledger"}
    assert not (heavy if environment else heavy | {"pydantic"}) & imported  # typer completes with pydantic


READS_THE_LEDGER = (
    "history",
    "outcomes",
    "proposals",
    "show 1",
    "pin --list",
    "status",
    "status --all",
    "history --audit",
)
NOT_FOR_READING = (
    "agent.demo", "agent.pages", "agent.service.daemon", "agent.service.watch", "apscheduler", "alembic", "jinja2",
    "sqlalchemy.dialects.postgresql", "psycopg", "pyodbc", "pytds", "oracledb", "ibm_db", "numpy", "zstandard",
    "connectors.model.observation",
)  # fmt: skip
FOR_SETTINGS = {  # without arrays: what the configuration is checked by, and the words that are stored with a move
    "policies", "policies.model", "policies.model.calendar", "policies.model.moves", "policies.model.settings",
    *(f"connectors.simulated{room}" for room in ("", ".engine", ".settings")),
}  # fmt: skip
ENGINES_AND_POLICIES = ("policies.", *(f"{engine.partition('.engine')[0]}." for engine in BUILT_IN.values()))


def test_a_report_imports_nothing_that_plans(site: Site) -> None:
    """It is written from the ledger: without arrays, policies, the planner or the daemon."""
    site.propose()
    imported = imported_by("report", folder=site.folder)
    assert "agent.pages.content" in imported
    assert not {"numpy", "agent.planning.planner", "agent.service.watch", "agent.moving.executor"} & imported
    assert {name for name in imported if f"{name}.".startswith(ENGINES_AND_POLICIES)} <= FOR_SETTINGS


@pytest.mark.parametrize("command", READS_THE_LEDGER)
def test_a_command_that_reads_the_ledger_imports_no_more_than_that(site: Site, command: str) -> None:
    """It answers without arrays, and without what plans, moves, serves, draws pages or speaks to an engine."""
    site.propose()
    imported = imported_by(*command.split(), folder=site.folder)
    assert "agent.ledger.ledger" in imported
    assert not {name for name in imported if f"{name}.".startswith(tuple(f"{each}." for each in NOT_FOR_READING))}
    assert {name for name in imported if f"{name}.".startswith(ENGINES_AND_POLICIES)} <= FOR_SETTINGS


def test_a_refusal_imports_nothing_that_plans(tmp_path: Path) -> None:
    """Which exit code an error has is told without the planner, arrays and the daemon's pages."""
    missing = str(tmp_path / "hotplace.yaml")
    imported = imported_by("status", "--json", "--config", missing, ends_with=ExitCode.CONFIGURATION)
    assert "agent.terminal.errors" in imported
    assert not {"numpy", "agent.planning.undo", "agent.service.httpd", "prometheus_client"} & imported


def test_a_daemon_imports_nothing_that_draws() -> None:
    """What reports, the demonstration and tables need stays on the disk."""
    code = "import sys, agent.cli.run, agent.service.daemon; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert "agent.cli.run" in loaded
    assert not {"agent.cli.report", "agent.demo.story", "jinja2", "rich", "alembic"} & loaded
