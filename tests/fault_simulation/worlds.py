"""The database of a run and the configuration of its agent, drawn from the seed."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path
from random import Random

from agent.config.files import load
from agent.config.models import Config
from agent.ledger.ledger import Ledger
from connectors.model.moves import UnitKind
from connectors.simulated.scenarios import GB, HDD, MB, SSD, Scenario, SpaceSpec, UnitSpec, build
from tests.fault_simulation.script import Site
from tests.virtual_clock import VirtualClock

TABLES = 5
WINDOWS_OF: dict[int, list[str]] = {}  # id of a database's configuration -> its windows as they are written


def shop(seed: int) -> Scenario:
    """Tables with indexes, a LOB and partitions; what is hot is on the disk, what is idle on a small SSD."""
    random = Random(seed)  # a simulation, no secret
    specs: list[UnitSpec] = []
    heat = [random.paretovariate(0.8) for _ in range(TABLES)]
    for number in range(TABLES):
        key = f'"shop"."t{number}"'
        reads = 2.0 * heat[number] / max(heat) if number < TABLES - 2 else 0.05
        space = "ssd" if number >= TABLES - 2 else "hdd"
        size = int(random.uniform(0.3, 2.0) * GB)
        specs.append(UnitSpec(key=key, kind=UnitKind.TABLE, size_bytes=size, space=space, random_reads=reads,
                              working_share=random.uniform(0.5, 1.0), writes=0.1 * reads))  # fmt: skip
        if number % 2 == 0:
            specs.append(UnitSpec(key=f'"shop"."t{number}_pkey"', kind=UnitKind.INDEX, size_bytes=size // 7,
                                  space=space, random_reads=0.7 * reads, parent=key))  # fmt: skip
        if number == 1:
            specs.append(UnitSpec(key=f'{key} LOB "body"', kind=UnitKind.LOB, size_bytes=500 * MB, space=space,
                                  random_reads=0.3 * reads, parent=key, with_parent=True))  # fmt: skip
    fast = sum(spec.size_bytes for spec in specs if spec.space == "ssd")
    spaces = (
        SpaceSpec(name="hdd", device=HDD, capacity_bytes=100 * GB),
        SpaceSpec(name="ssd", device=SSD, capacity_bytes=int(fast * random.uniform(1.2, 1.9)) + GB),
    )
    return Scenario(
        name="shop", spaces=spaces, units=build(specs, [space.name for space in spaces]), pool_bytes=256 * MB,
        sessions=8, think_seconds=0.01, cpu_seconds=0.4e-3, cores=4, commit_seconds=1e-3,
    )  # fmt: skip


def config(
    site: Site, *, windows: tuple[str, ...], window_bytes: int | None, dry_run: bool, database: str, ledger: str
) -> str:
    """The text of the configuration."""
    level = "propose" if site.auto is None else "auto\napproval: signed\nallowed_signers: signers"
    daily = ", ".join(f"'mon-sun {window}'" for window in windows)
    cap = f"    window_bytes: {window_bytes // 10**9} GB\n" if window_bytes and windows else ""
    return f"""\
level: {level}
dry_run: {str(dry_run).lower()}
ledger: {{{ledger}}}
metrics: {{enabled: false}}
databases:
  - name: {database}
    engine: simulated
    connection: {{scenario: oltp}}
    sample_every: {site.sample_seconds:.0f}s
    plan_every: 1h
    settle: 20min
    proposal_expires: {site.expires_hours}h
    retries: {site.retries}
    tiers:
      - {{name: ssd, kind: ssd, spaces: [ssd]}}
      - {{name: hdd, kind: hdd, spaces: [hdd]}}
    windows: [{daily}]
{cap}    policy: {{minimum_history: 10min, cool_down: {site.cool_down_hours}h, maximum_moves: {site.maximum_moves}}}
"""


@cache
def _load_text(text: str) -> Config:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hotplace.yaml"
        path.write_text(text, encoding="utf-8")
        config = load(path)
    written = next(line for line in text.splitlines() if line.strip().startswith("windows:"))
    WINDOWS_OF[id(config.database())] = re.findall(r"\d\d:\d\d-\d\d:\d\d", written)
    return config


def load_once(path: Path) -> Config:
    """What ``agent.config.files.load`` gives; texts are read once, since sites have few."""
    config = _load_text(path.read_text(encoding="utf-8"))
    local = {"path": path.with_name("ledger.db")}
    if config.ledger.postgresql is not None:
        local = {"anchors": path.with_name("ledger.db.anchors")}
    ledger = config.ledger.model_copy(update=local)
    return config.model_copy(update={"ledger": ledger})


@cache
def empty_ledger() -> Path:
    """A ledger with nothing in it; to make one takes longer than a run should."""
    folder = Path(tempfile.mkdtemp(prefix="hotplace-empty-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    Ledger.open(folder / "ledger.db", VirtualClock(), actor="installer").close()
    anchors = folder / "ledger.db.anchors"
    anchors.touch()
    return folder / "ledger.db"
