"""What the fleet's demo plays on: three servers with a shop each, the ledger's server, and every configuration."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from agent.demo.load import Load, LoadSettings
from agent.demo.schema import DemoSchema
from agent.demo.server import PrivateServer, private_server
from agent.demo.slow_disk import HDD
from agent.demo.stage import LOAD_LIMIT_SECONDS, Ground, database_section, ground
from connectors.trusted_files import ROOT

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
    load: Load

    def moving(self) -> str:
        """The statement that an agent's session for moves runs at this moment; "": none."""
        with psycopg.connect(self.server.conninfo, autocommit=True) as session:
            found = session.execute(_MOVING).fetchone()
        return str(found[0]) if found else ""


@dataclass(frozen=True, slots=True)
class Site:
    """Everything that the fleet's story touches."""

    folder: Path
    ledger: PrivateServer
    shops: dict[str, Shop]
    storage_sentence: str
    is_slowed: bool  # the hdd tablespaces are as slow as a disk


@contextmanager
def site(*, slow_disk: bool) -> Iterator[Site]:
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
        yield Site(floor.folder, ledger, shops, floor.storage_sentence, floor.slow_disk is not None)


def _open_shop(stack: ExitStack, floor: Ground, name: str) -> Shop:
    """A server with tables, whose hdd is a disk of its own; its load does not run yet."""
    server = stack.enter_context(floor.database_server(SMALL))
    schema = floor.build_schema(server, replace(HDD, name=f"hdd of {name}"), scale=SCALE)
    folder = floor.folder / name
    folder.mkdir()
    settings = LoadSettings(clients=CLIENTS, think_seconds=THINK_SECONDS, limit_seconds=LOAD_LIMIT_SECONDS)
    return Shop(name, server, schema, Load(server.conninfo, schema, folder, settings))


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
