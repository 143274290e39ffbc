"""The programs of the fleet's demo: each is printed as it is run, and agents are ended whatever happens."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from agent.terminal.output import Output
from connectors.base import HotplaceError

COMMAND_SECONDS = 60.0
STOP_SECONDS = 15.0  # for an agent to end before it is killed; it needs 9 at most


class ProgramFailed(HotplaceError):
    """A program of the demo ended with an error; the message holds its last words."""


class Programs:
    """Runs programs in the demo's folder. Use as a context manager: agents that still run are ended with it."""

    def __init__(self, folder: Path, out: Output) -> None:
        self._folder = folder
        self._out = out
        self._agents: dict[str, subprocess.Popen[bytes]] = {}
        self.commands: list[str] = []  # as they were printed

    def run(self, *words: str, to: str = "") -> None:
        """Run a program to its end and print what it prints, or put that into the file ``to``.

        Raises:
            ProgramFailed: it ended with an error, is not installed, or took too long.
        """
        self._print(shlex.join(words) + (f" > {to}" if to else ""))
        try:
            done = subprocess.run(
                words, cwd=self._folder, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=COMMAND_SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ProgramFailed(f"{shlex.join(words)} did not run: {error}") from error
        if done.returncode:
            raise ProgramFailed(f"{shlex.join(words)} ended with {done.returncode}: {done.stderr.strip()[-600:]}")
        if to:
            (self._folder / to).write_text(done.stdout, encoding="utf-8")
        else:
            for line in done.stdout.splitlines():
                self._out.line(line)

    def hotplace(self, config: str, *words: str, to: str = "") -> None:
        """Run a command of hotplace with one of the configurations, as ``run`` does."""
        self.run("hotplace", "--config", f"{config}.yaml", *words, to=to)

    def start_agent(self, name: str, *options: str) -> int:
        """Start ``hotplace run`` with the configuration of that name; its words go to a file. The process number."""
        words = ("hotplace", "--config", f"{name}.yaml", "run", *options)
        self._print(f"{shlex.join(words)} > {name}.log 2>&1 &")
        with (self._folder / f"{name}.log").open("wb") as sink:
            process = subprocess.Popen(
                words, cwd=self._folder, env=_environment(), stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
            )
        self._agents[name] = process
        return process.pid

    def kill_agent(self, name: str) -> int:
        """End an agent as a machine that fails would; the process number that it had."""
        process = self._agents.pop(name)
        self._print(f"kill -9 {process.pid}")
        process.kill()
        process.wait()
        return process.pid

    def require_agents(self) -> None:
        """See that every agent runs.

        Raises:
            ProgramFailed: one has ended.
        """
        for name, process in self._agents.items():
            if process.poll() is not None:
                words = (self._folder / f"{name}.log").read_text(errors="replace").strip()[-600:]
                raise ProgramFailed(f"{name} ended with {process.returncode}: {words}")

    def _print(self, command: str) -> None:
        self.commands.append(command)
        self._out.line(f"$ {command}", style="bold")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._agents.values():
            process.terminate()
        for process in self._agents.values():
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._agents.clear()


def require_ssh_keygen() -> None:
    """See that people can have keys here.

    Raises:
        ProgramFailed: OpenSSH is not installed.
    """
    if shutil.which("ssh-keygen") is None:
        raise ProgramFailed(
            "two people sign in this demo, and ssh-keygen was not found",
            advice="Install OpenSSH's client (Debian: openssh-client), or run the demo without a fleet: make demo",
        )


def _environment() -> Mapping[str, str]:
    """Of every program: ``hotplace`` is the one that runs this."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    return {**os.environ, "PATH": path}
