"""Instances for the planner, and a referee that knows nothing of it.

An instance is that of the planner anchors: reads by Zipf 1.1 and log-normal sizes, fast storage filled by density, then
a fifth of the units exchange their heat; a plan may copy a tenth of the fast tier's bytes, copies cost, one unit in a
hundred is pinned where it is. Light tails: sigma 1.8, heavy tails: 2.8. With three tiers the middle one holds 20 %.
With four each but the slowest has two spaces, and each space is a place of its own.

The referee states the same instance as a mixed integer program - one binary per unit and tier it may go to - from the
columns alone, and gives it to HiGHS (scipy). It judges where everything ends and, of the way there, one thing
(promises 4 and 7: a source counts as occupied until its copy is done, and nothing moves twice). Where two tiers are
full, a unit passes from one to the other only if it finds room for a second copy of itself. What is free in all limited
tiers together is never more than what was free in them at the start and what has left them, since passing between them
frees nothing and coming in takes. So no unit passes that is larger than that, and a row for each that is larger than
what was free at the start cuts away no end that some order of moves reaches: the bound holds for every plan there is.
It may be a little more than orders reach, where two units change places that each find but half of what is free;
``unit/policies/test_policy_referee`` compares with every order there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, hstack, vstack

from connectors.model.observation import F64, I64, NO_PARENT, SIGNALS, Bools, DatabaseDemand, Signal, Space, UnitTable
from policies.model.plan import HeatView, Situation
from policies.model.plan import Plan as PlannedPlan
from policies.model.settings import THERE_AND_BACK, PolicySettings, Tier, TierSpeed

TAILS = {"light": 1.8, "heavy": 2.8}
READS_PER_SECOND = 20_000.0
FAST_SHARE, MIDDLE_SHARE = 0.10, 0.20  # of all bytes, of two tiers and of the middle one of three
THREE_FAST_SHARE = 0.05
EXCHANGED, PINNED = 0.20, 0.01  # of the units
BUDGET = 0.10  # of the fast tier, copied by one plan
ROUNDING = 1e-9  # of a budget
COST_SPREAD = 24 * 3600.0  # s over which a copy's cost is counted against its gain
SPEEDS = {
    2: (("ssd", 0.0002), ("hdd", 0.0055)),
    3: (("nvme", 0.0001), ("ssd", 0.0005), ("hdd", 0.0055)),
    4: (("nvme", 0.0001), ("ssd", 0.0005), ("sas", 0.0030), ("hdd", 0.0055)),
}
FOUR_SHARES = (0.05, 0.10, 0.20)  # of all bytes, of all tiers of four but the slowest
SEVERAL = (2, 2, 2, 1)  # spaces of each of four tiers, the first of two with three fifths of the room
FIRST_OF_TWO = 0.6


@dataclass(frozen=True)
class Instance:
    """A situation, the settings it is planned with, and the columns that the referee works from."""

    situation: Situation
    settings: PolicySettings
    size: F64
    tier: I64  # place of each unit
    movable: Bools
    wait: F64  # (places, n) seconds per hour; a place is a tier, or one of several spaces of it
    cost: F64  # (n,) seconds per hour that a move is charged
    capacity: F64  # (places - 1,) bytes; the slowest takes everything

    @property
    def budget(self) -> float:
        """Bytes that the plan may copy."""
        assert self.settings.maximum_bytes is not None
        return float(self.settings.maximum_bytes)

    @property
    def free(self) -> F64:
        """Bytes free in each place but the slowest before anything moves. Shape ``(places - 1,)``."""
        return self.capacity - np.bincount(self.tier, weights=self.size, minlength=len(self.wait))[:-1]

    def value(self, plan: PlannedPlan) -> float:
        """What a plan brings: seconds per hour saved, less what its moves are charged.

        Checks budget and capacity, and that nothing moves twice or before there is room for it.
        """
        tier = self.tier.copy()
        names = [space.name for space in self.situation.spaces]
        free = np.append(self.free, np.inf)
        for move in plan.moves:
            (row,), to = move.rows, names.index(move.to_space)
            assert self.movable[row]
            assert tier[row] == self.tier[row] != to
            assert self.size[row] <= free[to]
            free[to] -= self.size[row]
            free[tier[row]] += self.size[row]
            tier[row] = to
        rows = np.arange(len(tier))
        moved = tier != self.tier
        assert self.size[moved].sum() <= self.budget
        return float((self.wait[self.tier, rows] - self.wait[tier, rows]).sum() - self.cost[moved].sum())


@dataclass(frozen=True)
class Answer:
    """What the referee found."""

    value: float  # NaN: no solution in the time
    bound: float  # nothing brings more; inf: nothing was proven in the time


def instance(units: int, sigma: float, seed: int, tiers: int = 2) -> Instance:
    """One instance, always the same for a seed; with four tiers each but the slowest has two spaces."""
    random = np.random.default_rng(seed)
    mebibytes = np.exp(random.normal(0.0, sigma, units)) * 8
    size = (np.minimum(mebibytes, np.quantile(mebibytes, 0.9999)) * 2**20).astype(np.int64) + 8192
    falling = np.arange(1, units + 1, dtype=np.float64) ** -1.1
    reads = random.permutation(falling) * (READS_PER_SECOND / falling.sum())
    tier_of = np.repeat(np.arange(tiers), SEVERAL) if tiers == len(SEVERAL) else np.arange(tiers)
    shares = {2: (FAST_SHARE,), 3: (THREE_FAST_SHARE, MIDDLE_SHARE), 4: _of_spaces(FOUR_SHARES)}[tiers]
    capacity = np.floor(np.array(shares) * size.sum())
    tier = _by_density(size, reads, capacity)
    exchanged = random.choice(units, int(units * EXCHANGED), replace=False)
    reads[exchanged] = reads[random.permutation(exchanged)]
    movable = random.random(units) >= PINNED
    # All guards off: the referee knows none of them, and what a guard holds back would count as a gap of the solver.
    settings = PolicySettings(
        head_room_ratio=0.0,
        minimum_history_seconds=0.0,
        minimum_wait_saved_per_hour=0.0,
        payback_limit_seconds=1e12,
        resident_bonus=1.0,
        maximum_moves=units,
        maximum_bytes=int(BUDGET * capacity[0]),
        horizon_seconds=THERE_AND_BACK * COST_SPREAD,
    )
    latency = np.array([seconds for _, seconds in SPEEDS[tiers]])[tier_of]
    return Instance(
        situation=_situation(size, tier, reads, capacity, movable, tiers, tier_of),
        settings=settings,
        size=size.astype(np.float64),
        tier=tier,
        movable=movable,
        wait=latency[:, np.newaxis] * reads * 3600.0,
        cost=size / settings.copy_bytes_per_second * (3600.0 / COST_SPREAD),
        capacity=capacity,
    )


def _of_spaces(shares: Sequence[float]) -> tuple[float, ...]:
    """Shares of tiers as shares of their two spaces."""
    return tuple(share * part for share in shares for part in (FIRST_OF_TWO, 1 - FIRST_OF_TWO))


def _by_density(size: I64, reads: F64, capacity: F64) -> I64:
    """Tier of each unit when the densest fill the fastest tier, the next ones the next."""
    tier = np.full(len(size), len(capacity), dtype=np.int64)
    for row, room in enumerate(capacity):
        waiting = np.flatnonzero(tier == len(capacity))
        densest = waiting[np.argsort(-reads[waiting] / size[waiting])]
        tier[densest[np.cumsum(size[densest]) <= room]] = row
    return tier


def _situation(size: I64, place: I64, reads: F64, capacity: F64, movable: Bools, tiers: int, tier_of: I64) -> Situation:
    rates = np.zeros((SIGNALS, len(size)))
    rates[Signal.LOGICAL_READ] = reads * 5
    rates[Signal.SYNC_READ] = reads
    held = np.bincount(place, weights=size, minlength=len(tier_of)).astype(np.int64)
    names = [f"{SPEEDS[tiers][tier][0]}{at}" for at, tier in enumerate(tier_of.tolist())]
    return Situation(
        units=UnitTable(
            physical_id=np.arange(len(size), dtype=np.int64),
            key=[f"public.t{at}" for at in range(len(size))],
            kind=np.zeros(len(size), dtype=np.int8),
            size_bytes=size,
            space=place.astype(np.int32),
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
                 spaces=tuple(own for own, of in zip(names, tier_of.tolist(), strict=True) if of == tier))
            for tier, (name, s) in enumerate(SPEEDS[tiers])
        ),
        tier_of_space=tier_of.astype(np.int32),
        pin=np.zeros(len(size), dtype=np.int8),
        cooling_seconds=np.where(movable, 0.0, 1e6),  # pinned where it is
        database=DatabaseDemand(),
    )  # fmt: skip


@dataclass(frozen=True)
class Program:
    """An instance as the referee states it: ``v`` binaries, one per unit that may move and tier it may go to.

    All bytes are in budgets. Limited are all tiers but the slowest.
    """

    gain: F64  # (v,) seconds per hour less what the move is charged
    use: F64  # (k, v) of the room of each limited tier, and of the bytes of the plan
    room: F64  # (k,)
    unit: I64  # (v,) of one unit only one binary is taken
    leaves: F64  # (v,) bytes that go from a limited tier to the slowest
    passes: F64  # (v,) bytes that go from one limited tier to another
    free: float  # in limited tiers together, with what is known to leave them
    passed: float = 0.0  # largest that is known to pass

    def only(self, which: I64 | Bools) -> Program:
        """Some of the binaries."""
        columns = {name: getattr(self, name)[which] for name in ("gain", "unit", "leaves", "passes")}
        return replace(self, use=self.use[:, which], **columns)

    def affordable(self) -> Bools:
        """Binaries beside which the budget still lets so much leave as they take of a full tier, or pass with."""
        left = self.room[:, np.newaxis] - self.use
        full = np.maximum(-left[:-1].min(axis=0), -left[:-1].sum(axis=0))
        passing = np.maximum(self.passes, self.passed) - self.free - self.leaves
        return np.asarray(np.maximum(np.maximum(full, passing), 0.0) <= left[-1] + ROUNDING, dtype=np.bool_)


def program(of: Instance) -> Program:
    """The instance from its columns alone."""
    rows = np.flatnonzero(of.movable & (of.size <= of.budget))
    item, target = (side.ravel() for side in np.meshgrid(np.arange(len(rows)), np.arange(len(of.wait))))
    here, slowest = of.tier[rows][item], len(of.wait) - 1
    goes = here != target
    item, here, target = item[goes], here[goes], target[goes]
    row, size = rows[item], of.size[rows][item] / of.budget
    room = [size * (target == tier) - size * (here == tier) for tier in range(slowest)]
    asked = Program(
        gain=of.wait[here, row] - of.wait[target, row] - of.cost[row],
        use=np.array([*room, size]),
        room=np.append(of.free / of.budget, 1.0),
        unit=item,
        leaves=np.where((here < slowest) & (target == slowest), size, 0.0),
        passes=np.where((here < slowest) & (target < slowest), size, 0.0),
        free=float(of.free.sum()) / of.budget,
    )
    return asked.only(asked.affordable())


@dataclass(frozen=True)
class Rows:
    """All that limits a program's binaries: ``left @ x <= right``, the last of ``x`` what passing finds free."""

    left: csr_array  # (rows, v + 1)
    right: F64
    lower: F64  # (v + 1,)
    upper: F64


def rows_of(asked: Program) -> Rows:
    """Resources, one binary a unit, and no unit passes that is larger than what is free first and what leaves."""
    _, group = np.unique(asked.unit, return_inverse=True)
    count, binaries = int(group.max(initial=-1)) + 1, np.arange(len(group))
    large = np.flatnonzero(asked.passes > asked.free)
    one = csr_array((np.ones(len(group)), (group, binaries)), shape=(count, len(group)))
    found = csr_array((asked.passes[large], (np.arange(len(large)), large)), shape=(len(large), len(group)))
    left = vstack([csr_array(asked.use), one, csr_array(-asked.leaves[np.newaxis]), found])
    free = np.concatenate((np.zeros(len(asked.room) + count), [1.0], np.full(len(large), -1.0)))
    return Rows(
        left=csr_array(hstack([left, csr_array(free[:, np.newaxis])])),
        right=np.concatenate((asked.room, np.ones(count), [asked.free], np.zeros(len(large)))),
        lower=np.append(np.zeros(len(group)), asked.passed),
        upper=np.append(np.ones(len(group)), np.inf),
    )


def referee(of: Instance, *, gap: float = 1e-4, seconds: float = 120.0, relaxed: bool = False) -> Answer:
    """HiGHS's answer, proven to ``gap`` if the time suffices.

    Args:
        of: the instance.
        gap: relative, at which it may stop.
        seconds: of time.
        relaxed: allow parts of units: the linear relaxation, quick at any size.
    """
    asked = program(of)
    # Gains of at most 1 for HiGHS, whose tolerances are absolute.
    unit = float(np.abs(asked.gain).max())
    rows = rows_of(asked)
    done = milp(
        np.append(-asked.gain / unit, 0.0),
        constraints=[LinearConstraint(rows.left, ub=rows.right)],
        integrality=np.append(np.full(len(asked.gain), 0.0 if relaxed else 1.0), 0.0),
        bounds=Bounds(rows.lower, rows.upper),
        options={"mip_rel_gap": gap, "time_limit": seconds},
    )
    value = float("nan") if done.x is None else -float(done.fun) * unit
    proven = np.inf if done.mip_dual_bound is None else -float(done.mip_dual_bound) * unit
    return Answer(value=value, bound=value if relaxed else proven)
