"""A folder with a configuration of a simulated database, and commands run in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

from agent.cli.main import whole_app
from tests.documents import check_document

SECONDS = 60.0  # that any command may take at most


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as the one JSON document that it has to be."""
        parsed: dict[str, Any] = json.loads(self.out, parse_constant=_refuse)
        return parsed


def _refuse(word: str) -> object:
    raise AssertionError(f"{word} is not JSON")


def simulated(folder: Path, **connection: Any) -> dict[str, Any]:
    """A database of the simulated engine whose world lives in ``folder``; 12 virtual seconds between two samples."""
    return {
        "name": "shop",
        "engine": "simulated",
        "connection": {"scenario": "oltp", "state": str(folder / "world.json"), "speed": 60, **connection},
        "tiers": [{"name": "ssd", "spaces": ["ssd"]}, {"name": "hdd", "spaces": ["hdd"]}],
        "sample_every": "0.2s",
        "settle": "0.2s",
        "policy": {"minimum_history": "0s", "regret": 0},  # decides at once
    }


@cache
def _main() -> Callable[..., object]:
    """The command line with every command, made once: to make it takes longer than most commands."""
    return get_command(whole_app()).main


def run_here(*arguments: str, typed: str | None = None) -> Finished:
    """Run a command line in this process, with no terminal."""
    with CliRunner().isolation(input=typed) as (out, err, _):
        with pytest.raises(SystemExit) as ended:
            _main()(args=arguments, prog_name="hotplace")
        sys.stdout.flush()
        sys.stderr.flush()
        finished = Finished(int(ended.value.code or 0), out.getvalue().decode(), err.getvalue().decode())
    if "--json" in arguments and finished.out.startswith("{"):
        check_document(arguments, finished.document)
    return finished


class Site:
    """Where one test works."""

    def __init__(self, folder: Path, database: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self.path = folder / "hotplace.yaml"
        self.ledger_path = folder / "ledger.db"
        self.values: dict[str, Any] = {
            "level": "propose",
            "dry_run": False,
            "ledger": {"path": "ledger.db"},
            "metrics": {"enabled": False},
            "log": {"level": "warning"},
            "databases": [dict(database or simulated(folder))],
        }
        self.write()

    @property
    def database(self) -> dict[str, Any]:
        """The only database of the configuration; ``write`` stores what was changed in it."""
        found: dict[str, Any] = self.values["databases"][0]
        return found

    def write(self) -> None:
        """Store the configuration."""
        self.path.write_text(yaml.safe_dump(self.values), encoding="utf-8")

    def run(self, *arguments: str, typed: str | None = None) -> Finished:
        """Run a command in this process, with no terminal."""
        return run_here("--config", str(self.path), *arguments, typed=typed)

    def good(self, *arguments: str) -> Finished:
        """Run a command that has to end well."""
        done = self.run(*arguments)
        assert done.code == 0, (arguments, done)
        return done

    def start(
        self, *arguments: str, environment: Mapping[str, str] | None = None, **more: Any
    ) -> subprocess.Popen[str]:
        """Run a command in a process of its own."""
        return self.start_program(*self.command(*arguments), environment=environment, **more)

    def command(self, *arguments: str) -> list[str]:
        """How a command is run as a program."""
        return command_line(self.path, *arguments)

    def start_program(
        self, *command: str, environment: Mapping[str, str] | None = None, **more: Any
    ) -> subprocess.Popen[str]:
        """Run a program in the folder, where hotplace can be imported."""
        return start_program(self.folder, *command, environment=environment, **more)

    def propose(self) -> tuple[int, str]:
        """Number and digest of a fresh proposal."""
        proposal = self.good("plan", "--observe", "0.3", "--propose", "--json").document["proposal"]
        return proposal["id"], proposal["digest"]


def command_line(configuration: Path, *arguments: str) -> list[str]:
    """How a command is run as a program."""
    code = "from agent.cli.main import main; main()"
    return [sys.executable, "-c", code, "--config", str(configuration), *arguments]


def start_program(
    folder: Path, *command: str, environment: Mapping[str, str] | None = None, **more: Any
) -> subprocess.Popen[str]:
    """Run a program in a folder, where hotplace can be imported."""
    return subprocess.Popen(
        command, text=True, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **(environment or {})},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **more},
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> Finished:
    """Wait until it has ended."""
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"did not end within {SECONDS:.0f} s: {out} {err}") from None
    return Finished(process.returncode, out, err)
