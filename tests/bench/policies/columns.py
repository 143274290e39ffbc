"""A connector of plain columns: as much of one as sampling and planning ask for."""

from __future__ import annotations

import numpy as np

from connectors.model.moves import Bundle, Route, Step
from connectors.model.observation import (
    F64,
    I64,
    SIGNALS,
    Bools,
    Catalog,
    DatabaseDemand,
    Demand,
    Interval,
    Sample,
    Signal,
    Space,
)
from policies.model.settings import PolicySettings
from tests.bench.policies.stage import COMPUTING
from tests.virtual_clock import VirtualClock
from tests.workloads.catalogue import FIRST_ID, Catalogue

HEAD_ROOM = PolicySettings().head_room_ratio


class Columns:
    """Counters are reads and writes by signal."""

    def __init__(self, catalogue: Catalogue, capacity: int, clock: VirtualClock) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._capacity = -int(-capacity // (1 - HEAD_ROOM))  # so that as much may be filled as others fill
        self._counters = np.zeros((SIGNALS, len(catalogue)))
        self._totals = dict.fromkeys(("reads", "read_wait", "transactions", "active"), 0.0)
        self.fast: Bools = np.zeros(len(catalogue), dtype=np.bool_)

    def work(self, seconds: float, rates: F64, wait: float, lost: float = 0.0) -> None:
        """Let sessions work; ``wait`` in seconds per second, ``lost`` is the share of their work that is not done."""
        self._clock.sleep(seconds)
        self._counters += rates * seconds
        reads = float(rates[[Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.DIRECT_READ]].sum())
        totals = {
            "reads": reads,
            "read_wait": wait,
            "transactions": reads / 10 * (1 - lost),
            "active": COMPUTING + wait,
        }
        for name, rate in totals.items():
            self._totals[name] += rate * seconds

    def catalog(self) -> Catalog:
        """Two spaces; everybody where it is."""
        held = int(self._catalogue.size_bytes[self.fast].sum())
        spaces = (
            Space(
                name="fast",
                path="/fast",
                used_bytes=held,
                free_bytes=self._capacity - held,
                capacity_bytes=self._capacity,
            ),
            Space(name="slow", path="/slow", used_bytes=0, free_bytes=2**50, capacity_bytes=2**50),
        )
        space = np.where(self.fast, 0, 1)
        return Catalog(taken_at=self._clock.now(), spaces=spaces, units=self._catalogue.units(space.tolist()))

    def sample(self) -> Sample:
        """Totals as an engine keeps them."""
        return Sample(
            taken_at=self._clock.now(),
            monotonic_seconds=self._clock.monotonic(),
            epoch="1",
            physical_id=np.arange(len(self._catalogue), dtype=np.int64) + FIRST_ID,
            counters={signal.name: np.floor(self._counters[signal]).astype(np.int64) for signal in Signal},
            database=dict(self._totals),
            server_seconds=0.0,
        )

    def classify(self, interval: Interval, catalog: Catalog) -> Demand:
        """Counters are signals here."""
        rates = np.array([interval.deltas[signal.name] for signal in Signal]) / interval.seconds
        return Demand(
            ended_at=interval.ended_at,
            seconds=interval.seconds,
            physical_id=interval.physical_id,
            rates=rates,
            observed=~interval.restarted,
            estimated=frozenset(),
            database=DatabaseDemand(**{name: total / interval.seconds for name, total in interval.database.items()}),
        )

    def exact_sizes(self, physical_ids: I64) -> I64:
        """As the catalog has them."""
        return self._catalogue.size_bytes[physical_ids - FIRST_ID]

    def routes(self, bundle: Bundle, to_space: str) -> tuple[Route, ...]:
        """Always one."""
        step = Step(sql=f"move {bundle.key} to {to_space}", purpose="move")
        return (
            Route(
                name="copy", bundle=bundle, to_space=to_space, prologue=(), steps=(step,), undo_steps=(), online=True,
                locks="none", log_bytes=0, transient_bytes=0,
            ),
        )  # fmt: skip
