"""What the fleet's demo plays on: servers, the ledger's server, and programs.

The programs of the fleet's demo: each is printed as it is run, and agents are ended whatever happens.

What the fleet's demo plays on: three servers with a shop each, the ledger's server, and every configuration.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from agent.demo.load import DemoSchema, LoadSettings, ShopLoad
from agent.demo.server import PrivateServer, private_server
from agent.demo.slow_disk import HDD
from agent.demo.stage import LOAD_LIMIT_SECONDS, Ground, database_section, ground
from agent.terminal.output import Output
from connectors.kit.contract import HotplaceError
from connectors.kit.files import ROOT

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
                # An agent ends its statement first, which may take longer than people watch an ending demo.
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


AGENTS = {"agent1": ("north", "south"), "agent2": ("west",)}  # the first one is killed on the way
STANDBY, PEOPLE = "standby", "people"  # configurations of all databases; the second one is of no agent
DATABASES = tuple(name for names in AGENTS.values() for name in names)
SIGNERS = ("anna", "bert")
ALLOWED_SIGNERS = "allowed_signers"
LEASE_SECONDS = 5.0
SCALE = 0.2  # of the demo's tables: three servers share the machine
SMALL = {"shared_buffers": "4MB", "max_connections": "30"}  # in proportion
LEDGER_SETTINGS = {"shared_buffers": "16MB", "max_connections": "60", "autovacuum": "off"}
CLIENTS, THINK_SECONDS = 5, 0.02  # of each load: the machine's processors are for three of them
_MOVING = """
SELECT query FROM pg_stat_activity WHERE application_name LIKE 'hotplace move%' AND state = 'active'
"""


@dataclass(frozen=True, slots=True)
class Shop:
    """One of the databases."""

    name: str
    server: PrivateServer
    schema: DemoSchema
    load: ShopLoad

    def moving(self) -> str:
        """The statement that an agent's session for moves runs at this moment; "": none."""
        with psycopg.connect(self.server.conninfo, autocommit=True) as session:
            found = session.execute(_MOVING).fetchone()
        return str(found[0]) if found else ""


@dataclass(frozen=True, slots=True)
class FleetSite:
    """Everything that the fleet's story touches."""

    folder: Path
    ledger: PrivateServer
    shops: dict[str, Shop]
    storage_sentence: str
    is_slowed: bool  # the hdd tablespaces are as slow as a disk


@contextmanager
def site(*, slow_disk: bool) -> Iterator[FleetSite]:
    """Build the servers with their loads, and take all of it away at the end.

    Args:
        slow_disk: give the hdd tablespaces a real disk's service time where this machine can.

    Raises:
        ServerFailed: there is no embedded server, or one does not start.
    """
    with ground(slow_disk=slow_disk) as floor, ExitStack() as stack:
        ledger = stack.enter_context(private_server(floor.installation, LEDGER_SETTINGS, parent=floor.folder))
        floor.installation = ledger.installation  # under root perhaps a copy, which one is enough of
        shops = {name: _open_shop(stack, floor, name) for name in DATABASES}
        floor.slow_down()
        _write_configurations(floor.folder, ledger, shops)
        for shop in shops.values():
            stack.enter_context(shop.load)
        yield FleetSite(floor.folder, ledger, shops, floor.storage_sentence, floor.slow_disk is not None)


def _open_shop(stack: ExitStack, floor: Ground, name: str) -> Shop:
    """A server with tables, whose hdd is a disk of its own; its load does not run yet."""
    server = stack.enter_context(floor.database_server(SMALL))
    schema = floor.build_schema(server, replace(HDD, name=f"hdd of {name}"), scale=SCALE)
    folder = floor.folder / name
    folder.mkdir()
    settings = LoadSettings(clients=CLIENTS, think_seconds=THINK_SECONDS, limit_seconds=LOAD_LIMIT_SECONDS)
    return Shop(name, server, schema, ShopLoad(server.conninfo, schema, folder, settings))


def _write_configurations(folder: Path, ledger: PrivateServer, shops: dict[str, Shop]) -> None:
    for who, names in {**AGENTS, STANDBY: DATABASES, PEOPLE: DATABASES}.items():
        path = folder / f"{who}.yaml"
        path.write_text(_configuration(who, ledger, [shops[name] for name in names]), encoding="utf-8")
        path.chmod(0o600)


def may_sign() -> bool:
    """Whether signatures prove something here: only root can make a file of signers that no agent may change."""
    return os.geteuid() == ROOT


def _approval() -> str:
    signed = f"approval: signed\nallowed_signers: {ALLOWED_SIGNERS}\napprovals: {len(SIGNERS)}"
    return signed if may_sign() else "approval: plain"


def _configuration(who: str, ledger: PrivateServer, shops: Sequence[Shop]) -> str:
    databases = "".join(database_section(shop.name, shop.server, shop.schema, plan_every="1h") for shop in shops)
    return f"""\
# {who} of the fleet's demo. Times are short so that two minutes show what otherwise takes a day.
level: propose
dry_run: false
{_approval()}
ledger:
  postgresql: {{host: {ledger.folder}, user: postgres, dbname: postgres, lease: {LEASE_SECONDS:g}s}}
  anchors: {who}.anchors
metrics: {{enabled: false}}
databases:
{databases}"""
