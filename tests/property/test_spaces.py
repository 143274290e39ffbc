"""Plans for tiers of several spaces: against brute force, and against an optimum proven by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_diag, csr_array, eye_array, hstack

from connectors.model.observation import F64, I64
from policies.model.plan import Situation
from policies.placement.balancer import make_plan
from tests.examples import by_turns
from tests.unit.policies.referee import best_wait, best_wait_on_the_way, carried_out
from tests.unit.policies.situations import BARE, HDD, MIB, SSD, Site, Unit

TINY = 1e-3  # seconds per hour
SAVED_PER_READ = 3600.0 * (HDD.random_read_seconds - SSD.random_read_seconds)
NO_LIMITS = replace(BARE, maximum_moves=10**6, turnover_per_week=1e9)


def few(seed: int, units: int) -> Situation:
    """Some units in two fast spaces and a slow one, large for what is free, with room below for everything."""
    random = np.random.default_rng(seed)
    listed = [
        Unit(
            key=f"u{at}",
            size=int(random.integers(1, 60)) * MIB,
            space="abc"[random.integers(3)],
            sync=float(random.choice([0.0, 0.0, 0.1, 1.0, 10.0, 100.0]) * random.uniform(0.5, 1.5)),
        )
        for at in range(units)
    ]
    room = {"a": int(random.integers(0, 60)) * MIB, "b": int(random.integers(0, 60)) * MIB, "c": 10**15}
    return Site(room=room, tiers=(("ssd", SSD, ("a", "b")), ("hdd", HDD, ("c",)))).situation(listed)


def tight(seed: int, units: int = 6) -> Situation:
    """Some units in a fast space and two slow ones, each of them large for what is free in any of the three."""
    random = np.random.default_rng(seed)
    listed = [
        Unit(
            key=f"u{at}",
            size=int(random.integers(1, 60)) * MIB,
            space="acd"[random.integers(3)],
            sync=float(random.choice([0.0, 0.0, 0.1, 1.0, 10.0, 100.0]) * random.uniform(0.5, 1.5)),
        )
        for at in range(units)
    ]
    room = {space: int(random.integers(0, 60)) * MIB for space in "acd"}
    return Site(room=room, tiers=(("ssd", SSD, ("a",)), ("hdd", HDD, ("c", "d")))).situation(listed)


HARD = (7, 31, 45, 48, 63, 71, 134, 150, 156, 220, 235, 240, 243, 246)  # of 250: an answer's moves alone find no order


def test_units_pass_each_other_where_every_space_is_nearly_full() -> None:
    """The best of all orders is found, also where it needs the move of a unit that gains nothing by it."""
    for seed in HARD:
        situation = tight(seed)
        plan = make_plan(situation, BARE)
        assert len(list(carried_out(situation, plan, BARE))) == len(plan.moves)
        best = best_wait_on_the_way(situation, BARE)
        assert plan.wait_per_hour - plan.wait_saved_per_hour == pytest.approx(best, abs=TINY), f"seed {seed}"


@pytest.mark.parametrize(("units", "seeds"), [(6, 40), (10, 8), (12, 2)])
def test_few_units_in_three_spaces_are_placed_best(units: int, seeds: int) -> None:
    """No order of moves, and of more units no placement, waits less; no bound is below it."""
    for seed in range(seeds):
        situation = few(seed, units)
        plan = make_plan(situation, BARE)
        assert len(list(carried_out(situation, plan, BARE))) == len(plan.moves)
        best = (best_wait_on_the_way if units < 8 else best_wait)(situation, BARE)
        assert plan.wait_per_hour - plan.wait_saved_per_hour == pytest.approx(best, abs=TINY), f"seed {seed}"
        assert plan.wait_per_hour - best <= plan.bound_per_hour + TINY, f"seed {seed}"


@dataclass(frozen=True)
class Many:
    """A site of many units with one slow space; what HiGHS needs of it."""

    situation: Situation
    size: I64
    fast: I64  # (n,) row of the fast space that holds each unit, -1: none
    capacity: I64  # of each fast space
    reads: F64

    def saved_at_best(self, seconds: float) -> float:
        """Upper bound on what any placement saves, in seconds per hour."""
        spaces, units = len(self.capacity), len(self.size)
        gain = self.reads * SAVED_PER_READ
        room = block_diag([csr_array(self.size[np.newaxis] / MIB)] * spaces)
        found = milp(
            -np.tile(gain, spaces),
            constraints=[
                LinearConstraint(room, ub=self.capacity / MIB),
                LinearConstraint(hstack([eye_array(units)] * spaces), ub=1.0),
            ],
            integrality=np.ones(units * spaces),
            bounds=Bounds(0.0, 1.0),
            options={"time_limit": seconds, "mip_rel_gap": 1e-4},
        )
        return float(-found.mip_dual_bound - gain[self.fast >= 0].sum())


def many(seed: int, units: int, spaces: int) -> Many:
    """Log-normal sizes, fast spaces of several sizes for 15 % of the bytes, nine tenths full with any units."""
    random = np.random.default_rng(seed)
    size = (random.lognormal(0.0, 1.0, units) * 64).astype(np.int64) * MIB + 8192
    capacity = (size.sum() * 0.15 / spaces * random.uniform(0.7, 1.3, spaces)).astype(np.int64)
    reads = random.permutation(np.arange(1.0, units + 1.0) ** -1.1)
    reads *= 3000.0 / reads.sum()
    fast, held = np.full(units, -1), np.zeros(spaces, dtype=np.int64)
    for at in random.permutation(units).tolist():
        space = int(random.integers(spaces))
        if held[space] + size[at] <= 0.9 * capacity[space]:
            fast[at] = space
            held[space] += size[at]
    names = [f"fast{row}" for row in range(spaces)]
    listed = [
        Unit(key=f"u{at}", size=int(size[at]), sync=float(reads[at]), space=names[row] if row >= 0 else "slow")
        for at, row in enumerate(fast.tolist())
    ]
    room = dict(zip(names, (capacity - held).tolist(), strict=True))
    site = Site(room={**room, "slow": 10**15}, tiers=(("ssd", SSD, tuple(names)), ("hdd", HDD, ("slow",))))
    return Many(site.situation(listed), size, fast, capacity, reads)


@pytest.mark.parametrize(("units", "spaces"), [(40, 2), (100, 3), (300, 2), (600, 4)])
def test_many_units_in_several_spaces_are_placed_nearly_best(units: int, spaces: int) -> None:
    """Within half a per cent of a bound that HiGHS proves, and the plan's own bound is above it."""
    for seed in range(2) if units <= 100 else by_turns(range(2), spaces // 2):
        of = many(seed, units, spaces)
        plan = make_plan(of.situation, NO_LIMITS)
        assert len(list(carried_out(of.situation, plan, NO_LIMITS))) == len(plan.moves)
        best = of.saved_at_best(seconds=4.0)
        assert 0.995 * best <= plan.wait_saved_per_hour <= best * (1 + 1e-6), f"seed {seed}"
        assert plan.gap_ratio < 0.005, f"seed {seed}"
