"""Which figure to rank by (after the toy calibration of the anchors, C.3, with other catalogues).

Published there, as the share of all foreground saving that a small fast tier reaches at 5, 10 and 25 % of the bytes:
all indexes .20 .23 .51, busiest .41 .55 .77, misses per GB .47 .64 .86, foreground wait saved per GB .66 .79 .92. So a
plain miss rate loses a quarter to a third of it at small capacity. Ours, twelve catalogues of 120 units: see the test.
"""

from __future__ import annotations

import numpy as np
import pytest

from connectors.model.moves import UnitKind
from connectors.model.observation import F64
from policies.placement.balancer import make_plan
from tests.bench.policies.baselines import busiest, filled, misses_per_byte
from tests.bench.policies.stage import SPEEDS, saving
from tests.workloads.catalogue import Catalogue, mixed
from tests.workloads.situation import UNGUARDED, at_rest

SEEDS = range(1, 13)


def reached(score: F64, units: Catalogue, capacity: int) -> float:
    """Share of all that can be saved, when a ranking fills the tier."""
    worth = saving(units.rates)
    return float(worth[filled(score, units.size_bytes, capacity)].sum() / worth.sum())


def shares(percent: int) -> dict[str, float]:
    """Mean share over the catalogues by ranking key, hotplace's plan among them."""
    found: dict[str, list[float]] = {"indexes": [], "busiest": [], "misses": [], "hotplace": []}
    for seed in SEEDS:
        units = mixed(120, seed)
        size, capacity = units.size_bytes, int(units.size_bytes.sum() * percent / 100)
        indexes = np.where(units.kind == UnitKind.INDEX, 1.0 / size, 0.0)
        plan = make_plan(at_rest(units, capacity, SPEEDS), UNGUARDED)
        found["indexes"].append(reached(indexes, units, capacity))
        found["busiest"].append(reached(busiest(units.rates, size), units, capacity))
        found["misses"].append(reached(misses_per_byte(units.rates, size), units, capacity))
        found["hotplace"].append(plan.wait_saved_per_hour / float(saving(units.rates).sum()))
    return {key: float(np.mean(values)) for key, values in found.items()}


@pytest.mark.parametrize(
    ("percent", "ours", "misses", "busy", "indexes"),
    [(5, 0.48, 0.30, 0.28, 0.09), (10, 0.62, 0.45, 0.40, 0.12), (25, 0.84, 0.71, 0.56, 0.12)],
)
def test_foreground_wait_per_byte_is_the_right_key(
    percent: int, ours: float, misses: float, busy: float, indexes: float
) -> None:
    """A miss rate loses 15 to 37 % of what foreground wait per byte reaches; busiest units and indexes lose more."""
    found = shares(percent)
    assert found["hotplace"] == pytest.approx(ours, abs=0.02)
    assert found["misses"] == pytest.approx(misses, abs=0.02)
    assert found["busiest"] == pytest.approx(busy, abs=0.02)
    assert found["indexes"] == pytest.approx(indexes, abs=0.02)
