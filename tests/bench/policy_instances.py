"""Instances for the planner, and a referee that knows nothing of it.

An instance is that of the planner anchors: reads by Zipf 1.1 and log-normal sizes, fast storage filled by density, then
a fifth of the units exchange their heat; a plan may copy a tenth of the fast tier's bytes, copies cost, one unit in a
hundred is pinned where it is. Light tails: sigma 1.8, heavy tails: 2.8. With three tiers the middle one holds 20 %.

The referee states the same instance as a mixed integer program - one binary per unit and tier it may go to - from the
columns alone, and gives it to HiGHS (scipy).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, vstack

from connectors.model import F64, I64, NO_PARENT, SIGNALS, Bools, DatabaseDemand, Signal, Space, UnitTable
from policies.plan import HeatView, PolicySettings, Situation, Tier, TierSpeed
from policies.plan import Plan as PlannedPlan

TAILS = {"light": 1.8, "heavy": 2.8}
READS_PER_SECOND = 20_000.0
FAST_SHARE, MIDDLE_SHARE = 0.10, 0.20  # of all bytes, of two tiers and of the middle one of three
THREE_FAST_SHARE = 0.05
EXCHANGED, PINNED = 0.20, 0.01  # of the units
BUDGET = 0.10  # of the fast tier, copied by one plan
SPEEDS = {
    2: (("ssd", 0.0002), ("hdd", 0.0055)),
    3: (("nvme", 0.0001), ("ssd", 0.0005), ("hdd", 0.0055)),
}


@dataclass(frozen=True)
class Instance:
    """A situation, the settings it is planned with, and the columns that the referee works from."""

    situation: Situation
    settings: PolicySettings
    size: F64
    tier: I64
    movable: Bools
    wait: F64  # (tiers, n) seconds per hour
    cost: F64  # (n,) seconds per hour that a move is charged
    capacity: F64  # (tiers - 1,) bytes; the slowest takes everything

    @property
    def budget(self) -> float:
        """Bytes that the plan may copy."""
        assert self.settings.maximum_bytes is not None
        return float(self.settings.maximum_bytes)

    def value(self, plan: PlannedPlan) -> float:
        """What a plan brings: seconds per hour saved, less what its moves are charged. Checks budget and capacity."""
        tier = self.tier.copy()
        names = [name for name, _ in SPEEDS[len(self.wait)]]
        for move in plan.moves:
            assert len(move.rows) == 1
            assert self.movable[move.rows[0]]
            tier[move.rows[0]] = names.index(move.to_tier)
        rows = np.arange(len(tier))
        moved = tier != self.tier
        held = np.bincount(tier, weights=self.size, minlength=len(self.wait))
        assert self.size[moved].sum() <= self.budget
        assert np.all(held[:-1] <= self.capacity)
        return float((self.wait[self.tier, rows] - self.wait[tier, rows]).sum() - self.cost[moved].sum())


@dataclass(frozen=True)
class Answer:
    """What the referee found."""

    value: float  # NaN: no solution in the time
    bound: float  # nothing brings more; inf: nothing was proven in the time


def instance(units: int, sigma: float, seed: int, tiers: int = 2) -> Instance:
    """One instance, always the same for a seed."""
    random = np.random.default_rng(seed)
    mebibytes = np.exp(random.normal(0.0, sigma, units)) * 8
    size = (np.minimum(mebibytes, np.quantile(mebibytes, 0.9999)) * 2**20).astype(np.int64) + 8192
    falling = np.arange(1, units + 1, dtype=np.float64) ** -1.1
    reads = random.permutation(falling) * (READS_PER_SECOND / falling.sum())
    shares = (FAST_SHARE,) if tiers == 2 else (THREE_FAST_SHARE, MIDDLE_SHARE)
    capacity = np.floor(np.array(shares) * size.sum())
    tier = _by_density(size, reads, capacity)
    exchanged = random.choice(units, int(units * EXCHANGED), replace=False)
    reads[exchanged] = reads[random.permutation(exchanged)]
    movable = random.random(units) >= PINNED
    settings = PolicySettings(
        head_room_ratio=0.0,
        minimum_history_seconds=0.0,
        minimum_wait_saved_per_hour=0.0,
        minimum_size_bytes=0,
        payback_limit_seconds=1e12,
        resident_bonus=1.0,
        turnover_per_week=1e9,  # the referee knows budgets of bytes, not the rising price of a week's swaps
        maximum_moves=units,
        maximum_bytes=int(BUDGET * capacity[0]),
    )
    latency = np.array([seconds for _, seconds in SPEEDS[tiers]])
    return Instance(
        situation=_situation(size, tier, reads, capacity, movable, tiers),
        settings=settings,
        size=size.astype(np.float64),
        tier=tier,
        movable=movable,
        wait=latency[:, np.newaxis] * reads * 3600.0,
        cost=size / settings.copy_bytes_per_second * (3600.0 / settings.horizon_seconds),
        capacity=capacity,
    )


def _by_density(size: I64, reads: F64, capacity: F64) -> I64:
    """Tier of each unit when the densest fill the fastest tier, the next ones the next."""
    tier = np.full(len(size), len(capacity), dtype=np.int64)
    for row, room in enumerate(capacity):
        waiting = np.flatnonzero(tier == len(capacity))
        densest = waiting[np.argsort(-reads[waiting] / size[waiting])]
        tier[densest[np.cumsum(size[densest]) <= room]] = row
    return tier


def _situation(size: I64, tier: I64, reads: F64, capacity: F64, movable: Bools, tiers: int) -> Situation:
    rates = np.zeros((SIGNALS, len(size)))
    rates[Signal.LOGICAL_READ] = reads * 5
    rates[Signal.SYNC_READ] = reads
    held = np.bincount(tier, weights=size, minlength=tiers).astype(np.int64)
    names = [name for name, _ in SPEEDS[tiers]]
    return Situation(
        units=UnitTable(
            physical_id=np.arange(len(size), dtype=np.int64),
            key=[f"public.t{at}" for at in range(len(size))],
            kind=np.zeros(len(size), dtype=np.int8),
            size_bytes=size,
            space=tier.astype(np.int32),
            bundle=np.arange(len(size), dtype=np.int64),
            parent=np.full(len(size), NO_PARENT, dtype=np.int64),
        ),
        heat=HeatView(rates=rates, observed_seconds=np.full(len(size), 1e9), confidence=np.ones(len(size))),
        spaces=tuple(
            Space(name=name, path="", used_bytes=int(used), free_bytes=int(room - used), capacity_bytes=int(room))
            for name, used, room in zip(names, held, [*capacity, 2.0**62], strict=True)
        ),
        tiers=tuple(
            Tier(name=name, speed=TierSpeed(random_read_seconds=s, sequential_read_seconds=s / 10, write_seconds=s),
                 spaces=(name,))
            for name, s in SPEEDS[tiers]
        ),
        tier_of_space=np.arange(tiers, dtype=np.int32),
        pin=np.zeros(len(size), dtype=np.int8),
        cooling_seconds=np.where(movable, 0.0, 1e6),  # pinned where it is
        database=DatabaseDemand(),
    )  # fmt: skip


@dataclass(frozen=True)
class Program:
    """An instance as the referee states it: ``v`` binaries, one per unit that may move and tier it may go to."""

    gain: F64  # (v,) seconds per hour less what the move is charged
    use: F64  # (k, v) of the room of each tier but the slowest, and of the bytes of the plan, in budgets
    room: F64  # (k,)
    unit: I64  # (v,) of one unit only one binary is taken

    def only(self, which: I64 | Bools) -> Program:
        """Some of the binaries."""
        return Program(gain=self.gain[which], use=self.use[:, which], room=self.room, unit=self.unit[which])


def program(of: Instance) -> Program:
    """The instance from its columns alone."""
    rows = np.flatnonzero(of.movable & (of.size <= of.budget))
    size, tiers = of.size[rows], len(of.wait)
    gains, uses, units = [], [], []
    for target in range(tiers):
        goes = np.flatnonzero(of.tier[rows] != target)
        here = of.tier[rows[goes]]
        gains.append(of.wait[here, rows[goes]] - of.wait[target, rows[goes]] - of.cost[rows[goes]])
        use = np.zeros((tiers, len(goes)))
        use[tiers - 1] = size[goes]  # of the budget; the slowest tier has room for all
        if target < tiers - 1:
            use[target] += size[goes]
        for tier in range(tiers - 1):
            use[tier] -= np.where(here == tier, size[goes], 0.0)
        uses.append(use)
        units.append(goes)
    held = np.bincount(of.tier, weights=of.size, minlength=tiers)[:-1]
    return Program(
        gain=np.concatenate(gains),
        use=np.concatenate(uses, axis=1) / of.budget,
        room=np.append(of.capacity - held, of.budget) / of.budget,
        unit=np.concatenate(units),
    )


def rows_of(asked: Program) -> tuple[csr_array, F64]:
    """Left and right sides of all that limits a program's binaries: resources, and one binary a unit."""
    _, group = np.unique(asked.unit, return_inverse=True)
    count = int(group.max(initial=-1)) + 1
    if count == len(group):
        return csr_array(asked.use), asked.room
    one = csr_array((np.ones(len(group)), (group, np.arange(len(group)))), shape=(count, len(group)))
    return csr_array(vstack([csr_array(asked.use), one])), np.append(asked.room, np.ones(count))


def referee(of: Instance, *, gap: float = 1e-4, seconds: float = 120.0, relaxed: bool = False) -> Answer:
    """HiGHS's answer, proven to ``gap`` if the time suffices.

    Args:
        of: the instance.
        gap: relative, at which it may stop.
        seconds: of time.
        relaxed: allow parts of units: the linear relaxation, quick at any size.
    """
    asked = program(of)
    unit = float(np.abs(asked.gain).max())
    left, right = rows_of(asked)
    done = milp(
        -asked.gain / unit,
        constraints=[LinearConstraint(left, ub=right)],
        integrality=np.full(len(asked.gain), 0.0 if relaxed else 1.0),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": gap, "time_limit": seconds},
    )
    value = float("nan") if done.x is None else -float(done.fun) * unit
    proven = np.inf if done.mip_dual_bound is None else -float(done.mip_dual_bound) * unit
    return Answer(value=value, bound=value if relaxed else proven)
