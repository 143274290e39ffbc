"""Whether the gap that a plan states is small where it has to be, with every guard at its default."""

from __future__ import annotations

import numpy as np

from policies.model.plan import PolicySettings, Situation
from policies.placement.balancer import make_plan
from tests.bench.policy import divided
from tests.unit.policies.situations import GIB, Site, Unit

UNITS, FAST_SHARE, FILLED = 300, 0.1, 0.75


def large_units(seed: int) -> Situation:
    """Units of 2 GiB and more in the median, a fast tier for a tenth of them, three quarters full with any of them."""
    random = np.random.default_rng(seed)
    size = (random.lognormal(0.0, 1.2, UNITS) * 2 * GIB).astype(np.int64) + 8192
    capacity = int(size.sum() * FAST_SHARE)
    reads = random.permutation(np.arange(1.0, UNITS + 1.0) ** -1.1)
    reads *= 3000.0 / reads.sum()
    space, held = ["slow"] * UNITS, 0
    for at in random.permutation(UNITS).tolist():
        if held + size[at] <= FILLED * capacity:
            space[at], held = "fast", held + int(size[at])
    units = [
        Unit(key=f"t{at}", size=int(size[at]), space=space[at], sync=float(reads[at]), logical=float(reads[at] * 3))
        for at in range(UNITS)
    ]
    return Site(room={"fast": capacity - held, "slow": 10**15}).situation(units)


def test_large_units_leave_no_gap() -> None:
    """Ten plans of 300 units that are large for a fast tier three quarters full: each within 0.3 % of its bound."""
    gaps = [make_plan(large_units(seed), PolicySettings()).gap_ratio for seed in range(10)]
    assert max(gaps) < 0.003


def test_the_few_moves_of_a_plan_go_to_the_spaces_that_have_room_for_them() -> None:
    """50 moves among 1,000 units, the fast tier four full spaces: within 1 % of what one space of all room would do."""
    assert make_plan(divided(1_000), PolicySettings()).gap_ratio < 0.01
