"""hotplace itself on the stage: its sampler, its heat, its planner and its guards, on a connector of plain columns.

Time is compressed: one sample an hour, one plan an hour (the default of ``plan_every``). Moves of a plan are carried
out at once, as in level ``auto`` with everything approved. What the sampler does around moves is kept: the time in
which bytes were copied is no evidence. Of the ledger, columns and moves are kept in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.planning.planner import make_planning
from agent.sampling.sampler import Sampler
from connectors.kit.contract import Connector
from connectors.model.observation import Bools
from policies.evidence.prices import HOUR
from policies.model.moves import RouteCost
from tests.bench.policies.columns import Columns
from tests.bench.policies.memory import Memory
from tests.bench.policies.stage import SLOWED_BY_COPY, SPEEDS, Hop, Past
from tests.virtual_clock import VirtualClock
from tests.workloads.catalogue import Catalogue

DATABASE = "stage"


def configuration(policy: Mapping[str, object], *, sample_seconds: float = HOUR) -> DatabaseConfig:
    """Two tiers of the stage's speeds, sampled every hour unless stated otherwise."""
    tiers = [
        {
            "name": name,
            "kind": name,
            "spaces": [space],
            "random_read": f"{speed.random_read_seconds * 1e6:g}us",
            "sequential_read": f"{speed.sequential_read_seconds * 1e6:g}us",
            "write": f"{speed.write_seconds * 1e6:g}us",
        }
        for name, space, speed in zip(("ssd", "hdd"), ("fast", "slow"), SPEEDS, strict=True)
    ]
    return DatabaseConfig.model_validate(
        {
            "name": DATABASE,
            "engine": "simulated",
            "connection": {},
            "sample_every": f"{sample_seconds:g}s",
            "tiers": tiers,
            "policy": dict(policy),
        }
    )


class Hotplace:
    """The product. Settings are its defaults unless told otherwise."""

    def __init__(
        self, catalogue: Catalogue, capacity: int, name: str = "hotplace", *, plan_hours: int = 1, **policy: object
    ) -> None:
        self.name = name
        self._plan_hours = plan_hours
        self._catalogue = catalogue
        self._clock = VirtualClock()
        self._columns = Columns(catalogue, capacity, self._clock)
        self._memory = Memory(self._clock)
        self._costs: dict[str, RouteCost] = {}  # of what was proposed last, by unit
        self._database = configuration(policy)
        self._connector = cast(Connector, self._columns)
        self._ledger = cast(Ledger, self._memory)
        self._sampler = Sampler(self._database, self._connector, self._ledger, self._clock)
        self._sampler.cycle()

    def decide(self, hour: int, fast: Bools) -> list[Hop]:
        """The moves of a plan made now."""
        picture = self._sampler.picture()
        if picture is None or hour % self._plan_hours:
            return []
        planning = make_planning(picture, self._database, self._connector, self._ledger, self._clock.now())
        moves = planning.plan.moves
        self._costs = {move.key: cost for move, cost in zip(moves, planning.costs, strict=True)}
        return [Hop(row, up=move.to_space == "fast") for move in moves for row in move.rows]

    def saw(self, past: Past) -> None:
        """Let the counters rise by the hour, sampling where copies ended and where the hour ends."""
        changed = np.flatnonzero(past.fast != self._columns.fast)
        if len(changed):
            started = self._clock.now()
            self._columns.work(past.copied_seconds, past.rates, past.wait, lost=SLOWED_BY_COPY)
            self._columns.fast = past.fast
            up, size = past.fast[changed], self._catalogue.size_bytes
            down_units, up_units = (
                {self._catalogue.key[row]: int(size[row]) for row in changed[way].tolist()} for way in (~up, up)
            )
            self._memory.note(down_units, up_units, started, past.copied_seconds, self._costs)
            self._sampler.disturb()
            self._sampler.cycle()
        self._columns.work(HOUR - past.copied_seconds, past.rates, past.wait)
        self._sampler.cycle()
