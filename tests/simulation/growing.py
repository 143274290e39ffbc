"""A shop that grows: a third of its tables by 3 % a day, and a partition a day that is filled while it is hottest.

The agent is the real one, from sampler to executor; a person approves what waits at nine every morning, and moves run
at night. Everything follows from the seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import numpy as np

from agent.ledger.ledger import Ledger
from agent.model.states import NOT_CARRIED_OUT, MoveState, ProposalState
from agent.moving import precheck
from agent.sampling import sampler
from agent.service.watch import Watch
from connectors.model.moves import UnitKind
from connectors.model.observation import F64, Bools
from connectors.simulated import scenarios
from connectors.simulated.language import Move
from connectors.simulated.scenarios import SSD, Scenario, SimulatedDevice, SpaceSpec, UnitSpec, build
from connectors.simulated.world import World
from connectors.simulated.world_state import RunningCopy, SimulatedPlacement, pages_per_transaction
from tests.simulation.site import Site

MB = 10**6
HOUR, DAY = 3600.0, 24  # seconds; hours
TABLES, TOTAL_BYTES = 40, 60_000 * MB
GROWING, GROWTH_PER_DAY = 3, 0.03  # every third table
PARTITION_BYTES, EARLIER = 800 * MB, 6  # of a day; partitions that exist at the start
HALF_LIFE = 24.0  # hours after which a partition is read half as often
FAST_SHARE, HEAD_ROOM = 0.1, 0.1
APPROVED_AT, WINDOW = 9, 'windows: ["mon-sun 22:00-05:00"]'
ARRAY = SimulatedDevice(
    name="hdd", random_seconds=1 / 180, sequential_seconds=0.39e-3, write_seconds=1e-3, bytes_per_second=160e6,
    channels=6,
)  # fmt: skip


def scenario(seed: int, units: int) -> Scenario:
    """Tables with heat by Zipf, log-normal sizes, and the partitions of the days before."""
    del units
    draw = np.random.default_rng(seed)
    size = np.minimum(draw.lognormal(0.0, 1.0, TABLES), 4.0)
    size *= TOTAL_BYTES / size.sum()
    heat = draw.permutation(1.0 / np.arange(1, TABLES + 1) ** 0.9) * size**0.8
    reads = heat / heat.sum()
    specs = [
        UnitSpec(key=f'"shop"."t{row:02d}"', kind=UnitKind.TABLE, size_bytes=int(size[row]), space="hdd",
                 random_reads=float(reads[row]))
        for row in range(TABLES)
    ]  # fmt: skip
    specs.append(UnitSpec(key='"shop"."log"', kind=UnitKind.TABLE, size_bytes=0, space="hdd"))
    specs += [partition(day) for day in range(-EARLIER, 0)]
    spaces = (
        SpaceSpec(name="hdd", device=ARRAY, capacity_bytes=100 * TOTAL_BYTES),
        SpaceSpec(name="ssd", device=SSD, capacity_bytes=int(FAST_SHARE * TOTAL_BYTES / (1 - HEAD_ROOM))),
    )
    return Scenario(
        name="growing", spaces=spaces, units=build(specs, ["hdd", "ssd"]), pool_bytes=300 * MB, sessions=24,
        think_seconds=0.01, cpu_seconds=0.2e-3, cores=8, commit_seconds=0.5e-3,
    )  # fmt: skip


def partition(day: int, size: int = PARTITION_BYTES) -> UnitSpec:
    """The log of one day."""
    key = f'"shop"."log_p{day + 100:04d}"'
    return UnitSpec(key=key, kind=UnitKind.TABLE_PARTITION, size_bytes=size, space="hdd")


@dataclass(slots=True)
class Month:
    """What came of it."""

    hours: int = 0
    transactions: float = 0.0
    fullest: float = 0.0  # most of the fast tier's bytes that were in use, as a share
    full_hours: int = 0  # in which more was in it than it holds
    begun: int = 0  # moves
    reasons: Counter[str] = field(default_factory=Counter)  # of the moves that were carried out
    not_done: Counter[str] = field(default_factory=Counter)  # how many ended so, by the first words of why
    rises: Counter[str] = field(default_factory=Counter)  # how often each unit was promoted
    lukewarm: int = 0  # partitions that were promoted when they read less than a tenth of the newest

    @property
    def again(self) -> int:
        """Units that were promoted more than once."""
        return sum(times > 1 for times in self.rises.values())


@dataclass(slots=True)
class GrowingShop:
    """The shop, its agent, and the person who approves."""

    folder: Path
    seed: int = 3
    moves: bool = True  # False: everything stays on the slow tier
    site: Site = field(init=False)
    month: Month = field(default_factory=Month)

    def __post_init__(self) -> None:
        """The site; the world is made on first use."""
        self.site = Site(
            self.folder, scenario="synthetic", sample_every="1h", windows=WINDOW, policy=f"head_room: {HEAD_ROOM}"
        )

    def live(self, days: int) -> Month:
        """Hour by hour."""
        drawn = {"synthetic": lambda _, units: scenario(self.seed, units)}
        with patch.dict(scenarios.SCENARIOS, drawn), self.site.agent() as (watch, ledger):
            world = self.site.world
            with world.turn():
                # A column that the scenario shares with its world: grown in place, both would grow.
                world.placement.units.size_bytes = world.placement.units.size_bytes.copy()
            for hour in range(days * DAY):
                self._grow(world, hour)
                self.site.clock.sleep(HOUR * (hour + 1) - self.site.clock.monotonic())
                self._work(watch, ledger, hour)
            with world.turn():
                self.month.transactions = world.work
            self._count(ledger)
        self.month.hours = days * DAY
        return self.month

    def _work(self, watch: Watch, ledger: Ledger, hour: int) -> None:
        """One hour of the agent."""
        watch.sample()
        if not self.moves:
            return
        planning = watch.plan() if (hour + 1) % DAY == APPROVED_AT else None  # other plans would be superseded
        if planning is not None:
            watch.propose(planning)
        if (hour + 1) % DAY == APPROVED_AT:
            for row in ledger.proposals.rows(database="sim", states={ProposalState.PROPOSED}):
                ledger.proposals.approve(row.id, who="ann", origin="test", digest=row.digest)
        for done in watch.act():
            if done.state is MoveState.PLACED and done.move.to_tier == "ssd":
                self.month.rises[done.move.key] += 1
                self.month.lukewarm += self._is_lukewarm(done.move.key)
        watch.verify()

    def _is_lukewarm(self, key: str) -> bool:
        units = self.site.world.placement.units
        reads = units.random_reads[[row for row, name in enumerate(units.keys) if "log_p" in name]].max()
        return "log_p" in key and units.random_reads[units.keys.index(key)] < 0.1 * reads

    def _grow(self, world: World, hour: int) -> None:
        """Sizes and demand of the hour that begins."""
        with world.turn():
            if hour % DAY == 0:
                world.create([partition(hour // DAY, 8192)])
            units, growing = world.placement.units, _growing(world)
            factor = (1 + GROWTH_PER_DAY) ** (1 / DAY)
            today = len(units) - 1
            units.size_bytes[growing] = np.ceil(units.size_bytes[growing] * factor).astype(np.int64)
            units.random_reads[growing] *= factor
            units.size_bytes[today] = max(8192, PARTITION_BYTES * (hour % DAY + 1) // DAY)
            log = np.array(["log_p" in key for key in units.keys])
            age = hour - DAY * (np.cumsum(log)[log] - 1 - EARLIER)
            units.random_reads[log] = 1.2 * np.log(2) * DAY / HALF_LIFE * 2.0 ** (-age / HALF_LIFE)
            units.working_bytes = units.size_bytes.astype(np.float64)
            _change_demand(world, pages_per_transaction(units, world.scenario.pool_bytes))
            self._look(world)

    def _look(self, world: World) -> None:
        """How full the fast tier is, what is on its way not counted."""
        row = world.placement.space_row("ssd")
        used = float(world.placement.used_bytes()[row] / world.placement.spaces[row].capacity_bytes)
        self.month.fullest = max(self.month.fullest, used)
        self.month.full_hours += used >= 1.0

    def _count(self, ledger: Ledger) -> None:
        rows = [row for row in ledger.moves.rows(database="sim") if row.approved]
        self.month.begun = len(rows)
        for row in rows:
            if row.state in NOT_CARRIED_OUT:
                self.month.not_done[_why(row.reason)] += 1
            else:
                self.month.reasons[row.move.reason] += 1


def _growing(world: World) -> Bools:
    units = world.placement.units
    return np.array([key.startswith('"shop"."t') and row % GROWING == 0 for row, key in enumerate(units.keys)])


def _change_demand(world: World, pages: F64) -> None:
    """Let other pages be read from now on; what was counted stays counted."""
    world.extra += world.pages * (world.work - world.since)
    world.since[:] = world.work
    world.pages = pages
    world.mark_changed()


def _why(reason: str) -> str:
    for word in ("grew", "needs", "expire", "group", "no longer"):
        if word in reason:
            return word
    return reason[:40]


@contextmanager
def free_of_growth() -> Iterator[None]:
    """An agent that knows of no growth, in a world where that costs nothing: the yardstick for what caution costs."""
    begin = SimulatedPlacement.begin

    def begin_anyway(self: SimulatedPlacement, move: Move, process: int) -> RunningCopy:
        with patch.object(SimulatedPlacement, "free_bytes", lambda each: np.full(len(each.spaces), 2**62)):
            return begin(self, move, process)

    with (
        patch.object(sampler, "growth_of", lambda *_: None),
        patch.object(precheck, "_size_holds", lambda *_: None),
        patch.object(precheck, "_all_fit", lambda *_: None),
        patch.object(SimulatedPlacement, "begin", begin_anyway),
    ):
        yield
