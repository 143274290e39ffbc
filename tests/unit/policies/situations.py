"""Small situations in a few words, for the tests of the policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from connectors.model.moves import UnitKind
from connectors.model.observation import (
    NO_PARENT,
    NO_WIDE,
    SIGNALS,
    DatabaseDemand,
    Demand,
    Sample,
    Signal,
    Space,
    UnitTable,
)
from policies.model.plan import HeatView, Situation
from policies.model.settings import Pin, PolicySettings, Tier, TierSpeed

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
MIB = 2**20
GIB = 2**30

NVME = TierSpeed(random_read_seconds=0.0001, sequential_read_seconds=0.00001, write_seconds=0.00005)
SSD = TierSpeed(random_read_seconds=0.0002, sequential_read_seconds=0.00002, write_seconds=0.0001)
HDD = TierSpeed(random_read_seconds=0.0055, sequential_read_seconds=0.00005, write_seconds=0.005)

# No guard but capacity: what the solver is judged by.
BARE = PolicySettings(
    head_room_ratio=0.0,
    minimum_history_seconds=0.0,
    minimum_wait_saved_per_hour=0.0,
    payback_limit_seconds=1e12,
    resident_bonus=1.0,
    horizon_seconds=1e15,
    copy_bytes_per_second=1e15,
)


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One unit of a test, busy by default."""

    key: str
    size: int = MIB
    space: str = "slow"
    sync: float = 0.0
    prefetched: float = 0.0
    logical: float | None = None  # None: as many as physical reads, nothing cached
    writes: float = 0.0
    log_writes: float = 0.0
    pin: Pin = Pin.NONE
    cooling: float = 0.0
    owed: float = np.inf  # seconds, during the cool-down
    observed: float = 1e6
    bundle: int | None = None  # None: on its own
    wide: str = ""  # what it can also move with as a whole
    parent: int = NO_PARENT
    kind: UnitKind = UnitKind.TABLE

    def rates(self) -> list[float]:
        """Rates by signal."""
        rates = [0.0] * SIGNALS
        rates[Signal.LOGICAL_READ] = self.sync + self.prefetched if self.logical is None else self.logical
        rates[Signal.SYNC_READ] = self.sync
        rates[Signal.PREFETCHED_READ] = self.prefetched
        rates[Signal.ASYNC_WRITE] = self.writes
        rates[Signal.SYNC_WRITE] = self.log_writes
        return rates


@dataclass(frozen=True, kw_only=True)
class Site:
    """Tiers and their spaces. ``room`` is the free bytes of each space; None is unknown."""

    room: Mapping[str, int | None] = field(default_factory=lambda: {"fast": 100 * MIB, "slow": 10**15})
    tiers: Sequence[tuple[str, TierSpeed, tuple[str, ...]]] = (
        ("ssd", SSD, ("fast",)),
        ("hdd", HDD, ("slow",)),
    )
    database: DatabaseDemand = field(default_factory=DatabaseDemand)
    no_route: Mapping[str, str] = field(default_factory=dict)
    no_wide: Mapping[str, str] = field(default_factory=dict)

    def situation(self, units: Sequence[Unit]) -> Situation:
        """The situation with these units, each at its row."""
        names = list(self.room)
        held = {name: sum(unit.size for unit in units if unit.space == name) for name in names}
        whole = sorted({unit.wide for unit in units} - {""})
        tier_of = {space: row for row, (_, _, spaces) in enumerate(self.tiers) for space in spaces}
        return Situation(
            units=UnitTable(
                physical_id=np.arange(len(units), dtype=np.int64) + 1000,
                key=[unit.key for unit in units],
                kind=np.array([unit.kind for unit in units], dtype=np.int8),
                size_bytes=np.array([unit.size for unit in units], dtype=np.int64),
                space=np.array([names.index(unit.space) for unit in units], dtype=np.int32),
                bundle=np.array(
                    [10**6 + at if unit.bundle is None else unit.bundle for at, unit in enumerate(units)],
                    dtype=np.int64,
                ),
                parent=np.array([unit.parent for unit in units], dtype=np.int64),
                wide=np.array([whole.index(unit.wide) if unit.wide else NO_WIDE for unit in units], dtype=np.int32),
                wide_names=tuple(whole),
            ),
            heat=HeatView(
                rates=np.array([unit.rates() for unit in units], dtype=np.float64).reshape(-1, SIGNALS).T,
                observed_seconds=np.array([unit.observed for unit in units], dtype=np.float64),
                confidence=np.ones(len(units)),
            ),
            spaces=tuple(
                Space(
                    name=name,
                    path=f"/{name}",
                    used_bytes=held[name],
                    free_bytes=self.room[name],
                    capacity_bytes=None if (room := self.room[name]) is None else room + held[name],
                )
                for name in names
            ),
            tiers=tuple(Tier(name=name, speed=speed, spaces=spaces) for name, speed, spaces in self.tiers),
            tier_of_space=np.array([tier_of.get(name, -1) for name in names], dtype=np.int32),
            pin=np.array([unit.pin for unit in units], dtype=np.int8),
            cooling_seconds=np.array([unit.cooling for unit in units], dtype=np.float64),
            owed_seconds=np.array([unit.owed for unit in units], dtype=np.float64),
            database=self.database,
            no_route=dict(self.no_route),
            no_wide=dict(self.no_wide),
        )


def sample(
    seconds: float,
    counters: Mapping[int, int],
    *,
    epoch: str = "e1",
    wall: float | None = None,
    database: Mapping[str, float] | None = None,
) -> Sample:
    """A sample with one counter, ``reads``, by physical id."""
    ids = sorted(counters)
    return Sample(
        taken_at=NOON + timedelta(seconds=seconds if wall is None else wall),
        monotonic_seconds=seconds,
        epoch=epoch,
        physical_id=np.array(ids, dtype=np.int64),
        counters={"reads": np.array([counters[at] for at in ids], dtype=np.int64)},
        database=dict(database or {}),
        server_seconds=0.0,
    )


def demand(
    seconds: float,
    sync: Mapping[int, float],
    *,
    unobserved: Sequence[int] = (),
    database: DatabaseDemand | None = None,
) -> Demand:
    """Demand of synchronous reads per second by physical id."""
    ids = sorted({*sync, *unobserved})
    rates = np.zeros((SIGNALS, len(ids)))
    rates[Signal.SYNC_READ] = [sync.get(at, 0.0) for at in ids]
    return Demand(
        ended_at=NOON,
        seconds=seconds,
        physical_id=np.array(ids, dtype=np.int64),
        rates=rates,
        observed=np.array([at not in unobserved for at in ids], dtype=np.bool_),
        estimated=frozenset(),
        database=database or DatabaseDemand(),
    )
