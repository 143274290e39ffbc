"""hotplace over weeks, against rules that know no future (after the toy calibrations of the anchors, C.3).

The toy model said: decisions by the last hour move 84 capacities of fast storage a week and undo 10,000 moves; guards
bring that to 0.8 and none at 1 % more wait. Moves are priced by their copies now and not limited by capacities a week:
units follow day and night where that pays, and what counts is that a stay pays for both its copies. Here a fortnight
each, with the real sampler, heat, planner and guards; the whole comparison over many weeks and seeds is
``python -m tests.bench.policy_baselines``.
"""

from __future__ import annotations

import pytest

from tests.bench.policies.baselines import Ranker, busiest, misses_per_byte, saving_per_byte
from tests.bench.policies.hindsight import Hindsight
from tests.bench.policies.product import Hotplace
from tests.bench.policies.stage import Stage
from tests.workloads.patterns import workload

FORTNIGHT = 14 * 24
SELDOM = 4  # hours between plans, to be quick


@pytest.mark.parametrize(("shape", "target"), [("stationary", 0.95), ("day_night", 0.88), ("drifting", 0.88)])
def test_most_of_hindsight_without_churn(shape: str, target: float) -> None:
    """Goal: 95 % of the best fixed placement's gain where nothing changes, else 88 %; copies are cheap and pay."""
    work = workload(shape, 11, units=120, hours=FORTNIGHT)
    capacity = Stage(work).capacity
    best = Stage(work).play(Hindsight(work, capacity))
    ours = Stage(work).play(Hotplace(work.catalogue, capacity, plan_hours=SELDOM))
    assert ours.gain >= target * best.gain
    assert ours.cost_seconds <= 0.03 * ours.saved_seconds
    assert ours.unpaid <= 0.01 * ours.moves
    assert shape != "stationary" or ours.undone == 0


def test_rules_that_look_at_the_last_hour_or_at_misses_do_worse() -> None:
    """Busiest first and miss rates win less; the last hour's moves five times the bytes for 5 % more at most."""
    work = workload("day_night", 12, units=80, hours=FORTNIGHT)
    units, capacity = work.catalogue, Stage(work).capacity
    ours = Stage(work).play(Hotplace(units, capacity, plan_hours=SELDOM))
    for name, score in (("busiest", busiest), ("misses", misses_per_byte)):
        assert Stage(work).play(Ranker(name, score, units, capacity, every=24, window=24)).gain < ours.gain
    hourly = Stage(work).play(Ranker("hourly", saving_per_byte, units, capacity, every=1, window=1))
    assert hourly.gain < 1.05 * ours.gain
    assert hourly.moved_bytes > 5 * ours.moved_bytes
    assert hourly.undone > 500
