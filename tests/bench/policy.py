"""The policies from columns: demand, heat and ranking, and a whole plan, at 100,000 and 1,000,000 units.

The workload is that of the planner anchors: reads by Zipf 1.1, log-normal sizes (sigma 1.8, clipped at the 99.99th
percentile), fast storage of 10 % of all bytes that is full, a fifth of what is on it not deserving it. All from a seed.
Every size runs in a process of its own (``--inside UNITS``), so that its peak memory is its own.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from connectors.model.observation import (
    F64,
    I64,
    NO_PARENT,
    SIGNALS,
    Bools,
    DatabaseDemand,
    Demand,
    Interval,
    Sample,
    Signal,
    Space,
    UnitTable,
)
from policies.evidence.counter_deltas import Gap, difference
from policies.evidence.heat import HeatState, empty_heat, update, view
from policies.evidence.prices import wait_per_hour
from policies.model.plan import HeatView, Situation
from policies.model.settings import PolicySettings, Tier, TierSpeed
from policies.placement.balancer import make_plan
from tests.bench.measurement import Measurement, in_process, of_runs, peak_rss_mib, timed

COMMAND = "python -m tests.bench.policy"
SIZES = {"100k": 100_000, "1m": 1_000_000}
RUNS = {"100k": 15, "1m": 7}
SECONDS = 60.0
STARTED = datetime(2026, 1, 5, tzinfo=UTC)
SETTINGS = PolicySettings()
TIERS = (
    Tier(
        name="ssd",
        speed=TierSpeed(random_read_seconds=0.0002, sequential_read_seconds=0.00002, write_seconds=0.0001),
        spaces=("fast",),
    ),
    Tier(
        name="hdd",
        speed=TierSpeed(random_read_seconds=0.0055, sequential_read_seconds=0.00005, write_seconds=0.005),
        spaces=("slow",),
    ),
)


def samples(units: int, seed: int = 7) -> tuple[Sample, Sample]:
    """Two samples a minute apart; seven in a hundred units moved a counter."""
    random = np.random.default_rng(seed)
    ids = np.arange(units, dtype=np.int64) * 3 + 16384
    asked = random.integers(1, 10**9, units)
    missed = asked // 10
    moved = random.random(units) < 0.07
    more = np.where(moved, random.integers(1, 60_000, units), 0)
    return _sample(0.0, ids, asked, missed), _sample(SECONDS, ids, asked + more, missed + more // 20)


def _sample(seconds: float, ids: I64, asked: I64, missed: I64) -> Sample:
    return Sample(
        taken_at=STARTED + timedelta(seconds=seconds),
        monotonic_seconds=seconds,
        epoch="1",
        physical_id=ids,
        counters={"asked": asked, "missed": missed, "scanned": missed // 4, "written": missed // 2},
        database={},
        server_seconds=0.0,
    )


def heat_cycle(before: Sample, after: Sample, state: HeatState) -> HeatState:
    """One cycle after a sample: difference, demand, heat, and the ranking by wait saved."""
    interval = difference(before, after, longest_seconds=300.0)
    assert not isinstance(interval, Gap)
    demand = _classified(interval)
    known = np.arange(len(after.physical_id), dtype=np.int64)
    state = update(state, demand, np.searchsorted(after.physical_id, demand.physical_id), known, SETTINGS)
    wait = wait_per_hour(view(state, known).rates, [tier.speed for tier in TIERS], SETTINGS)
    np.argsort(wait[0] - wait[1])
    return state


def _classified(interval: Interval) -> Demand:
    rates = np.zeros((SIGNALS, len(interval.physical_id)))
    deltas = interval.deltas
    rates[Signal.LOGICAL_READ] = deltas["asked"] / interval.seconds
    rates[Signal.PREFETCHED_READ] = deltas["scanned"] / interval.seconds
    rates[Signal.SYNC_READ] = (deltas["missed"] - deltas["scanned"]) / interval.seconds
    rates[Signal.ASYNC_WRITE] = deltas["written"] / interval.seconds
    return Demand(
        ended_at=interval.ended_at,
        seconds=interval.seconds,
        physical_id=interval.physical_id,
        rates=rates,
        observed=~interval.restarted,
        estimated=frozenset(),
        database=DatabaseDemand(),
    )


def situation(units: int, seed: int = 7) -> Situation:
    """Fast storage full, four fifths of it held by the densest units that fit, the rest by units taken at random."""
    random = np.random.default_rng(seed)
    mebibytes = np.exp(random.normal(0.0, 1.8, units)) * 8
    size = (np.minimum(mebibytes, np.quantile(mebibytes, 0.9999)) * 2**20).astype(np.int64) + 8192
    falling: F64 = np.arange(1, units + 1, dtype=np.float64) ** -1.1
    reads: F64 = random.permutation(falling) * (20_000 / falling.sum())
    fast = _resident(size, reads, random)
    rates = np.zeros((SIGNALS, units))
    rates[Signal.LOGICAL_READ] = reads * 5
    rates[Signal.SYNC_READ] = reads
    held = int(size[fast].sum())
    capacity = int(size.sum() * 0.1 / (1 - SETTINGS.head_room_ratio))
    return Situation(
        units=UnitTable(
            physical_id=np.arange(units, dtype=np.int64),
            key=[f"public.t{at}" for at in range(units)],
            kind=np.zeros(units, dtype=np.int8),
            size_bytes=size,
            space=np.where(fast, 0, 1).astype(np.int32),
            bundle=np.arange(units, dtype=np.int64),
            parent=np.full(units, NO_PARENT, dtype=np.int64),
        ),
        heat=HeatView(rates=rates, observed_seconds=np.full(units, 1e6), confidence=np.ones(units)),
        spaces=(
            Space(name="fast", path="", used_bytes=held, free_bytes=capacity - held, capacity_bytes=capacity),
            Space(name="slow", path="", used_bytes=0, free_bytes=2**60, capacity_bytes=2**60),
        ),
        tiers=TIERS,
        tier_of_space=np.array([0, 1], dtype=np.int32),
        pin=np.zeros(units, dtype=np.int8),
        cooling_seconds=np.zeros(units),
        database=DatabaseDemand(),
    )


def divided(units: int, spaces: int = 4, seed: int = 7) -> Situation:
    """The same with fast storage in several spaces, all equally full, its units in any of them."""
    whole = situation(units, seed)
    fast, slow = whole.spaces
    own = np.random.default_rng(seed).integers(0, spaces, units)
    space = np.where(whole.units.space == 0, own, spaces).astype(np.int32)
    held = np.bincount(space, weights=whole.units.size_bytes, minlength=spaces + 1).astype(np.int64).tolist()
    assert fast.capacity_bytes is not None
    rooms = [int(used * fast.capacity_bytes / fast.used_bytes) for used in held[:spaces]]
    several = tuple(
        Space(name=f"fast{at}", path="", used_bytes=used, free_bytes=room - used, capacity_bytes=room)
        for at, (used, room) in enumerate(zip(held, rooms, strict=False))
    )
    return replace(
        whole,
        units=replace(whole.units, space=space),
        spaces=(*several, replace(slow, used_bytes=held[spaces])),
        tiers=(replace(TIERS[0], spaces=tuple(each.name for each in several)), TIERS[1]),
        tier_of_space=np.array([0] * spaces + [1], dtype=np.int32),
    )


def _resident(size: I64, reads: F64, random: np.random.Generator) -> Bools:
    budget = size.sum() * 0.1
    densest = np.argsort(-reads / size)
    fast = np.zeros(len(size), dtype=np.bool_)
    fast[densest[np.cumsum(size[densest]) <= budget * 0.8]] = True
    others = random.permutation(np.flatnonzero(~fast))
    fast[others[np.cumsum(size[others]) <= budget * 0.2]] = True
    return fast


def inside(label: str, what: str) -> list[Measurement]:
    """Measure one figure in this process."""
    units = SIZES[label]
    if what == "heat":
        before, after = samples(units)
        state = heat_cycle(before, after, empty_heat())  # the first finds no heat; each later one uses it up
        seconds = timed(lambda: heat_cycle(before, after, state), RUNS[label])
    else:
        picture = situation(units)
        seconds = timed(lambda: make_plan(picture, SETTINGS), RUNS[label])
    return [
        of_runs(f"policy.{what}_seconds.{label}", seconds, "s", COMMAND),
        of_runs(f"policy.{what}_rss_mib.{label}", [peak_rss_mib()], "MiB", COMMAND, note="input columns included"),
    ]


def measurements() -> list[Measurement]:
    """Seconds of demand + heat + ranking and of a plan, with peak memory, at both sizes."""
    return [
        line
        for label in SIZES
        for what in ("heat", "plan")
        for line in in_process("tests.bench.policy", "--inside", label, what)
    ]


def main(arguments: list[str]) -> int:
    """Print the figures as one line of JSON."""
    lines = inside(arguments[1], arguments[2]) if arguments[:1] == ["--inside"] else measurements()
    print(json.dumps(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
