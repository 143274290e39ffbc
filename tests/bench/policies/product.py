"""hotplace itself on the stage: its sampler, its heat, its planner and its guards, on a connector of plain columns.

Time is compressed: one sample an hour, one plan an hour (the default of ``plan_every``). Moves of a plan are carried
out at once, as in level ``auto`` with everything approved. What the sampler does around moves is kept: the time in
which bytes were copied is no evidence. Of the ledger, columns and moves are kept in memory.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from agent.config import DatabaseConfig
from agent.ledger import Ledger, StepState
from agent.planner import make_planning
from agent.sampler import Sampler
from connectors.base import Connector
from connectors.model import (
    F64,
    I64,
    SIGNALS,
    Bools,
    Bundle,
    Catalog,
    DatabaseDemand,
    Demand,
    Interval,
    Route,
    Sample,
    Signal,
    Space,
    Step,
)
from connectors.simulated.clock import EPOCH, VirtualClock
from policies.benefit import HOUR
from policies.plan import PolicySettings
from tests.bench.policies.stage import COMPUTING, SLOWED_BY_COPY, SPEEDS, Hop, Past
from tests.workloads.catalogue import FIRST_ID, Catalogue

HEAD_ROOM = PolicySettings().head_room_ratio
DATABASE = "stage"


class Columns:
    """As much of a connector as sampling and planning ask for. Counters are reads and writes by signal."""

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


class Memory:
    """A ledger whose columns and moves are kept in memory; whatever else is asked, an empty real one answers."""

    def __init__(self, clock: VirtualClock) -> None:
        folder = tempfile.mkdtemp(prefix="hotplace-stage-")
        self._empty = Ledger.open(Path(folder) / "ledger.db", clock)
        weakref.finalize(self, _discard, self._empty, folder)
        self.moved: dict[str, datetime] = {}
        self._runs: list[SimpleNamespace] = []  # all moves of an hour, as if they were one
        self._kept: dict[str, tuple[datetime, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._empty, name)

    def note(self, keys: Iterable[str], size_bytes: int, started_at: datetime, ended_at: datetime) -> None:
        """Moves that are done."""
        self.moved.update(dict.fromkeys(keys, ended_at))
        step = SimpleNamespace(state=StepState.DONE, intended_at=started_at, ended_at=ended_at)
        move = SimpleNamespace(size_bytes=size_bytes)
        self._runs.append(SimpleNamespace(id=len(self._runs), move=move, updated_at=ended_at, steps=[step]))

    def moves(self, **asked: object) -> list[Any]:
        """Those that ended well, which are all."""
        return list(self._runs)

    def steps(self, move_id: int) -> list[Any]:
        """One a move."""
        steps: list[Any] = self._runs[move_id].steps
        return steps

    def last_moved(self, database: str) -> dict[str, datetime]:
        """When each unit last arrived in a new home."""
        return self.moved

    def slots(self, database: str, keys: Sequence[str]) -> I64:
        """Nobody comes or goes."""
        return np.arange(len(keys), dtype=np.int64)

    def append_history(self, *facts: object) -> int:
        """Nobody asks for history here."""
        return 0

    def save_arrays(self, database: str, name: str, at: datetime, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep them."""
        self._kept[name] = (at, dict(arrays))

    def save_document(self, database: str, name: str, document: object) -> None:
        """Keep it."""
        self._kept[name] = (EPOCH, document)

    def load(self, database: str, name: str) -> tuple[datetime, Any] | None:
        """What was kept."""
        return self._kept.get(name)

    load_arrays = load_document = load


def _discard(ledger: Ledger, folder: str) -> None:
    ledger.close()
    shutil.rmtree(folder, ignore_errors=True)


def configuration(policy: Mapping[str, object]) -> DatabaseConfig:
    """Two tiers of the stage's speeds, sampled every hour."""
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
            "sample_every": "1h",
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
        plan = make_planning(picture, self._database, self._connector, self._ledger, self._clock.now()).plan
        return [Hop(row, up=move.to_space == "fast") for move in plan.moves for row in move.rows]

    def saw(self, past: Past) -> None:
        """Let the counters rise by the hour, sampling where copies ended and where the hour ends."""
        changed = np.flatnonzero(past.fast != self._columns.fast)
        if len(changed):
            started = self._clock.now()
            self._columns.work(past.copied_seconds, past.rates, past.wait, lost=SLOWED_BY_COPY)
            self._columns.fast = past.fast
            keys = [self._catalogue.key[int(row)] for row in changed]
            self._memory.note(keys, int(self._catalogue.size_bytes[changed].sum()), started, self._clock.now())
            self._sampler.disturb()
            self._sampler.cycle()
        self._columns.work(HOUR - past.copied_seconds, past.rates, past.wait)
        self._sampler.cycle()
