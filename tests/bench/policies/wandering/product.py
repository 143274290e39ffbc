"""hotplace itself in the simulator: its sampler, heat and planner as the product configures them, on plain columns.

A plan is made every hour, the default of ``plan_every``. Without a delay its moves are carried out at once, as in level
``auto``. With a delay each proposal waits so many hours for its approval; what was proposed is then carried out, except
groups of which a unit is gone, and nothing else is proposed meanwhile. The time in which bytes are copied is no
evidence to the sampler, as in the product.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

import numpy as np

from agent.ledger.ledger import Ledger
from agent.planning.planner import make_planning
from agent.sampling.sampler import Sampler
from connectors.kit.contract import Connector
from connectors.model.observation import I64, NO_PARENT, Catalog, Sample, Signal, Space, UnitTable
from policies.model.moves import RouteCost
from tests.bench.policies.columns import Columns
from tests.bench.policies.memory import Memory
from tests.bench.policies.product import configuration
from tests.bench.policies.stage import SLOWED_BY_COPY, Hop, Past
from tests.bench.policies.wandering.stage import Moment
from tests.bench.policies.wandering.world import HOUR, World
from tests.virtual_clock import VirtualClock
from tests.workloads.catalogue import FIRST_ID

Group = list[Hop]


class LivingColumns(Columns):
    """A connector whose units come, grow and go; the catalog and the counters hold those that exist."""

    def __init__(self, world: World, clock: VirtualClock) -> None:
        super().__init__(world.catalogue, world.capacity, clock)
        self._world = world
        self._keys: tuple[bytes, list[str]] = (b"", [])

    @property
    def hour(self) -> int:
        """That begins now or is under way."""
        return min(self._world.hours - 1, int(self._clock.monotonic() / HOUR + 1e-9))

    @property
    def rows(self) -> I64:
        """Of the units that exist."""
        return np.flatnonzero(self._world.alive[self.hour])

    def catalog(self) -> Catalog:
        """Two spaces, and the units that exist."""
        rows, catalogue = self.rows, self._catalogue
        self.fast = self.fast & self._world.alive[self.hour]
        size = self._world.size[self.hour, rows]
        if rows.tobytes() != self._keys[0]:
            self._keys = rows.tobytes(), [catalogue.key[row] for row in rows]
        held = int(size[self.fast[rows]].sum())
        fast = Space(
            name="fast", path="/fast", used_bytes=held, free_bytes=max(0, self._capacity - held),
            capacity_bytes=self._capacity,
        )  # fmt: skip
        slow = Space(name="slow", path="/slow", used_bytes=0, free_bytes=2**50, capacity_bytes=2**50)
        parent = catalogue.parent[rows]
        units = UnitTable(
            physical_id=rows + FIRST_ID, key=self._keys[1], kind=catalogue.kind[rows], size_bytes=size,
            space=np.where(self.fast[rows], 0, 1).astype(np.int32), bundle=rows + FIRST_ID,
            parent=np.where(parent == NO_PARENT, NO_PARENT, parent + FIRST_ID),
        )  # fmt: skip
        return Catalog(taken_at=self._clock.now(), spaces=(fast, slow), units=units)

    def sample(self) -> Sample:
        """Totals of the units that exist."""
        rows = self.rows
        return Sample(
            taken_at=self._clock.now(),
            monotonic_seconds=self._clock.monotonic(),
            epoch="1",
            physical_id=rows + FIRST_ID,
            counters={signal.name: np.floor(self._counters[signal, rows]).astype(np.int64) for signal in Signal},
            database=dict(self._totals),
            server_seconds=0.0,
        )

    def exact_sizes(self, physical_ids: I64) -> I64:
        """As the catalog has them."""
        return np.asarray(self._world.size[self.hour, physical_ids - FIRST_ID], dtype=np.int64)


class Hotplace:
    """The product with its defaults, but for ``policy``: keys of the configuration file."""

    def __init__(
        self, world: World, name: str = "hotplace", *, delay_hours: int = 0, samples_an_hour: int = 1,
        policy: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self._world = world
        self._delay = delay_hours
        self._samples = samples_an_hour
        self._clock = VirtualClock()
        self._columns = LivingColumns(world, self._clock)
        self._memory = Memory(self._clock)
        row_of = {key: row for row, key in enumerate(world.catalogue.key)}
        self._memory.slots = SimpleNamespace(
            of=lambda _database, keys: np.array([row_of[key] for key in keys]), count=lambda _database: 0
        )
        self._database = configuration(policy or {}, sample_seconds=HOUR / samples_an_hour)
        self._connector = cast(Connector, self._columns)
        self._ledger = cast(Ledger, self._memory)
        self._sampler = Sampler(self._database, self._connector, self._ledger, self._clock)
        self._sampler.cycle()
        self._costs: dict[str, RouteCost] = {}  # of what was proposed last, by unit
        self._open: tuple[int, list[Group]] | None = None  # the hour of its approval, and what is proposed

    def decide(self, moment: Moment) -> list[Hop]:
        """The moves of a plan made now, or of the one that is approved now."""
        if self._open is None:
            groups = self._proposed()
            if groups:
                self._open = moment.hour + self._delay, groups
        if self._open is None or moment.hour < self._open[0]:
            return []
        (_, groups), self._open = self._open, None
        return [hop for group in groups if moment.alive[[hop.row for hop in group]].all() for hop in group]

    def _proposed(self) -> list[Group]:
        picture = self._sampler.picture()
        assert picture is not None, "the first sample is taken at the start"
        planning = make_planning(picture, self._database, self._connector, self._ledger, self._clock.now())
        plan = planning.plan
        self._costs = {move.key: cost for move, cost in zip(plan.moves, planning.costs, strict=True)}
        rows = picture.catalog.units.physical_id - FIRST_ID
        groups: dict[int, Group] = {}
        for at, move in enumerate(plan.moves):
            hops = [Hop(int(rows[row]), up=move.to_space == "fast") for row in move.rows]
            groups.setdefault(move.group or -1 - at, []).extend(hops)
        return list(groups.values())

    def saw(self, past: Past) -> None:
        """Let the counters rise by the hour, with samples where copies ended and as often as configured."""
        changed = np.flatnonzero(past.fast != self._columns.fast)
        if len(changed):
            started = self._clock.now()
            self._columns.work(past.copied_seconds, past.rates, past.wait, lost=SLOWED_BY_COPY)
            self._columns.fast = past.fast
            up, size, key = past.fast[changed], self._world.size[past.hour], self._world.catalogue.key
            down_units, up_units = ({key[row]: int(size[row]) for row in changed[way].tolist()} for way in (~up, up))
            self._memory.note(down_units, up_units, started, past.copied_seconds, self._costs)
            self._sampler.disturb()
            self._sampler.cycle()
        for _ in range(self._samples):
            self._columns.work((HOUR - past.copied_seconds) / self._samples, past.rates, past.wait)
            self._sampler.cycle()
