"""A simulated site: one world, one ledger file, and agents that come and go."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent.config.files import load
from agent.config.models import Config
from agent.ledger.chain.signed import ApprovalRule
from agent.ledger.ledger import Ledger
from agent.ledger.store.opening import BUSY_SECONDS
from agent.model.approvals import NONE, Conditions
from agent.moving.progress import MoveEvent
from agent.service.watch import Watch
from connectors.simulated.connector import SimulatedConnector
from connectors.simulated.world import World, content_of, restore, shared_world
from tests.virtual_clock import VirtualClock

MINUTE = 60.0


@dataclass(slots=True)
class Site:
    """What outlives an agent: the world, the clock and the ledger's file."""

    folder: Path
    scenario: str = "oltp"
    dry_run: bool = False
    level: str = "propose"
    signers: Path | None = None  # who may sign; None: approvals are plain
    ledger: str = "{path: ledger.db}"  # the configuration's part
    busy_seconds: float = BUSY_SECONDS  # how long its ledger waits for a lock
    policy: str = ""
    fast_tier: str = ""  # more about the tier, as "written_per_day: 1 TB"
    slow_tier: str = ""
    only_slow: bool = False  # the configuration names no fast tier
    swapped: bool = False  # the configuration names each space under the other tier
    sample_every: str = "1min"
    windows: str = ""  # lines of the database's part, as "windows: [...]"
    clock: VirtualClock = field(default_factory=VirtualClock)
    told: list[str] = field(default_factory=list)  # what listeners heard
    _loaded: tuple[str, Config] | None = None  # the configuration as it was read last, with its text

    @property
    def config(self) -> Config:
        """The site's configuration."""
        signed = f"approval: signed\nallowed_signers: {self.signers}" if self.signers else ""
        fast, slow = ("hdd", "ssd") if self.swapped else ("ssd", "hdd")
        text = f"""
level: {self.level}
{signed}
dry_run: {str(self.dry_run).lower()}
ledger: {self.ledger}
databases:
  - name: sim
    engine: simulated
    connection: {{scenario: {self.scenario}, seed: 3}}
    sample_every: {self.sample_every}
    settle: 5min
    proposal_expires: 12h
    tiers:
{"" if self.only_slow else f"      - {{name: ssd, kind: ssd, spaces: [{fast}], {self.fast_tier}}}"}
      - {{name: hdd, kind: hdd, spaces: [{slow}], {self.slow_tier}}}
{textwrap.indent(textwrap.dedent(self.windows).strip(), "    ")}
    policy: {{minimum_history: 10min, {self.policy}}}
"""
        if self._loaded is None or self._loaded[0] != text:  # it is asked for at every step
            path = self.folder / "hotplace.yaml"
            path.write_text(text, encoding="utf-8")
            self._loaded = text, load(path)
        return self._loaded[1]

    @property
    def world(self) -> World:
        """The database itself, as its DBA sees it."""
        return shared_world(self.config.database().connection, self.clock)  # type: ignore[arg-type]  # the simulated engine's settings

    def homes(self) -> dict[str, str]:
        """Space of every unit, by the engine's catalog."""
        connector = self.config.database().connect(self.clock)
        catalog = connector.catalog()
        return {
            key: catalog.spaces[space].name for key, space in zip(catalog.units.key, catalog.units.space, strict=True)
        }

    @contextmanager
    def agent(self, connector: SimulatedConnector | None = None) -> Iterator[tuple[Watch, Ledger]]:
        """One agent's life, over a connector of its own or that one. A crash ends it without a word to the ledger."""
        config = self.config
        rule = ApprovalRule.of(config.signers, config.approvals, automatic=config.automatic)
        ledger = Ledger.open(
            config.ledger.place, self.clock, anchors=config.ledger.anchors, rule=rule, busy_seconds=self.busy_seconds
        )
        watch = Watch(
            config.database(), ledger, self.clock, level=config.level, dry_run=config.dry_run, listener=self._hear,
            connector=connector,
        )  # fmt: skip
        try:
            yield watch, ledger
            watch.close()
        finally:
            if watch.leasing.of_engine is not None:
                watch.leasing.of_engine.release()  # an engine ends the sessions of a process that died
            ledger.close()

    def copy(self, folder: Path) -> Site:
        """This site once more, as it is now between two agents: the state of its world, its time, its ledger."""
        folder.mkdir()
        for file in self.folder.glob("ledger.db*"):
            shutil.copy(file, folder)
        made = replace(self, folder=folder, clock=self.clock.copy(), told=[], _loaded=None)
        restore(made.world, content_of(self.world))
        return made

    def _hear(self, event: MoveEvent) -> None:
        self.told.append(f"{event.move.move.key}: {event.sentence}")

    def observe(self, watch: Watch, minutes: int = 20) -> None:
        """Sample once a minute."""
        for _ in range(minutes):
            watch.sample()
            self.clock.sleep(MINUTE)
        watch.sample()

    def approved(self, watch: Watch, ledger: Ledger, conditions: Conditions = NONE) -> int:
        """Observe, plan, propose and approve; the proposal's number."""
        self.observe(watch)
        planning = watch.plan()
        assert planning is not None
        number = watch.propose(planning)
        assert number is not None
        digest = ledger.proposals.row(number).digest
        ledger.proposals.approve(number, who="ann", origin="test", digest=digest, conditions=conditions)
        return number
