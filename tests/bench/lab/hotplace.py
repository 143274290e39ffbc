"""hotplace itself on a rig: the product's sampler, planner, ledger, approval and executor. The bench only says yes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agent.config.files import load
from agent.config.models import Config
from agent.demo.load import HDD_SPACE, SSD_SPACE
from agent.demo.stage import Pulse
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow
from agent.model.clock import SystemClock
from agent.model.states import ACTIONABLE, MoveState
from agent.moving.progress import MoveEvent
from agent.planning.planner import Planning
from agent.service.watch import Watch
from tests.bench.lab.rig import Rig, hdd_of

SAMPLE_EVERY_SECONDS = 2.0
CARRY_OUT_SECONDS = 60.0  # until then every approved move has ended, whatever held a lock
WHO, ORIGIN = "the bench", "tests.bench.lab"
USUAL_POLICY = "half_life: 1min, minimum_history: 5s, minimum_gain: 1min, cool_down: 10min, "
FULL_POLICY = USUAL_POLICY + "head_room: 0"  # where the budget is to be used to the last byte


class NotPlaced(Exception):
    """An approved move did not end in its new place; the message says which and why."""


@dataclass(slots=True)
class Hotplace:
    """One agent at work. Made by ``watching``."""

    rig: Rig
    config_path: Path
    config: Config
    ledger: Ledger
    watch: Watch
    pulse: Pulse
    events: list[tuple[float, str]] = field(default_factory=list)  # monotonic seconds, what was told

    def observe(self, seconds: float) -> None:
        """Let samples come in.

        Raises:
            HotplaceError: a sample failed.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.2)
            if self.pulse.error is not None:
                raise self.pulse.error

    def plan(self) -> Planning:
        """What it would do now."""
        planning = self.watch.plan()
        assert planning is not None, "there are samples"
        return planning

    def approve(self, planning: Planning) -> bool:
        """Store the proposal and approve it by its digest, as a person would; False: nothing to approve."""
        number = self.watch.propose(planning)
        if number is None:
            return False
        self.ledger.proposals.approve(number, who=WHO, origin=ORIGIN, digest=self.ledger.proposals.row(number).digest)
        return True

    def decide(
        self, *, strict: bool = True, seconds: float = CARRY_OUT_SECONDS
    ) -> tuple[Planning, tuple[MoveRow, ...]]:
        """Plan, approve, carry out within so many seconds. Without ``strict`` a move may end elsewhere than planned.

        Raises:
            NotPlaced: a move did not succeed.
        """
        planning = self.plan()
        rows = self.carry_out(seconds) if self.approve(planning) else ()
        failed = [row for row in rows if row.state is not MoveState.PLACED]
        if strict and (failed or len(rows) < len(planning.plan.moves)):
            raise NotPlaced("; ".join(f"{row.move.key}: {row.state}, {row.reason}" for row in failed) or "no moves ran")
        return planning, rows

    def carry_out(self, seconds: float = CARRY_OUT_SECONDS) -> tuple[MoveRow, ...]:
        """Run what was approved in cycles, as the daemon does: a move that waits for a lock is tried again later."""
        rows: dict[int, MoveRow] = {}
        end = time.monotonic() + seconds
        while True:
            rows.update((row.id, row) for row in self.watch.act())
            # By the ledger, not by what has ended: what waits for calmer hours has not begun.
            left = self.ledger.moves.rows(database=self.watch.database.name, states=ACTIONABLE)
            if time.monotonic() > end or not left:
                return tuple(rows.values())
            time.sleep(0.2)


@contextmanager
def watching(
    rig: Rig,
    *,
    name: str = "lab",
    policy: str = FULL_POLICY,
    ssd_bytes: int | None = None,
    connection: str = "",
    sample_seconds: float = SAMPLE_EVERY_SECONDS,
    of_database: str = "",
) -> Iterator[Hotplace]:
    """An agent of its own ledger that samples from now on.

    Args:
        rig: where.
        name: of configuration and ledger; another name knows nothing of what an earlier one learnt.
        policy: the ``policy:`` line.
        ssd_bytes: the room that the configuration names, where it is another than the SSD has.
        connection: further settings of the connection, such as ``lock_timeout: 500ms``.
        sample_seconds: its beat.
        of_database: further lines of the database's part.
    """
    clock = SystemClock()
    path = write_config(
        rig, name, policy, ssd_bytes, connection, sample_seconds=sample_seconds, of_database=of_database
    )
    config = load(path)
    with Ledger.open(config.ledger.path, clock) as ledger:
        events: list[tuple[float, str]] = []

        def listen(event: MoveEvent) -> None:
            events.append((time.monotonic(), f"{event.move.move.key}: {event.move.state}: {event.sentence}"))

        watch = Watch(config.database(), ledger, clock, level=config.level, dry_run=config.dry_run, listener=listen)
        pulse = Pulse(watch, sample_seconds)
        try:
            pulse.start()
            yield Hotplace(rig, path, config, ledger, watch, pulse, events)
        finally:
            pulse.stop()
            watch.acting.stop()
            watch.close()


def write_config(
    rig: Rig,
    name: str,
    policy: str = FULL_POLICY,
    ssd_bytes: int | None = None,
    connection: str = "",
    *,
    more: str = "",
    sample_seconds: float = SAMPLE_EVERY_SECONDS,
    plan_seconds: float | None = None,
    retries: int = 5,
    of_database: str = "",
) -> Path:
    """The configuration file of an agent on this rig; ``more`` stands above the databases.

    ``plan_seconds``: between the plans of its own daemon; None: as between samples.
    """
    room = ssd_bytes or rig.ssd_bytes
    capacity = f", capacity: {room} B" if room and not math.isinf(room) else ", capacity: 1 TiB"
    path = rig.folder / f"{name}.yaml"
    extra = f", {connection}" if connection else ""
    path.write_text(
        f"""\
level: propose
dry_run: false
ledger: {{path: {name}.db}}
{more}
databases:
  - name: {name}
    engine: postgresql
    connection: {{host: {rig.server.folder}, user: postgres, dbname: postgres{extra}}}
    tiers:
      - {{name: ssd, kind: ssd, spaces: [{{name: {SSD_SPACE}{capacity}}}]}}
      - {{name: hdd, kind: hdd, read_ahead: {hdd_of(rig.pace).chunk_bytes} B, spaces: [{HDD_SPACE}]}}
    sample_every: {sample_seconds:g}s
    plan_every: {plan_seconds or sample_seconds:g}s
    retries: {retries}
    settle: 5s
    maximum_stall: 1h
    {of_database}
    policy: {{{policy}}}
""",
        encoding="utf-8",
    )
    path.chmod(0o600)
    return path
