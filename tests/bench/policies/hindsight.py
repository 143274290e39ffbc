"""The best that one fixed placement could have done, known only afterwards; proven by an exact solver (HiGHS)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from connectors.model.observation import F64, I64, Bools
from policies.evidence.prices import HOUR, wait_per_hour
from tests.bench.policies.stage import (
    COMPUTING,
    COPY_BYTES_PER_SECOND,
    SLOWED_BY_COPY,
    SPEEDS,
    TRUTH,
    Hop,
    Past,
    saving,
)
from tests.workloads.patterns import Workload

GAP = 1e-6  # of the optimum, proven


def best_placement(value: F64, size: I64, capacity: float) -> Bools:
    """Who is on the fast tier where that is worth most in all, ``(n,)``.

    Raises:
        RuntimeError: the solver gave up.
    """
    worth = np.flatnonzero((value > 0) & (size <= capacity))
    chosen = np.zeros(len(value), dtype=np.bool_)
    if float(size[worth].sum()) <= capacity:
        chosen[worth] = True
        return chosen
    scale = float(value[worth].max())
    answer = milp(
        -value[worth] / scale,
        constraints=LinearConstraint(size[np.newaxis, worth] / capacity, ub=1.0),
        integrality=np.ones(len(worth)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": GAP, "time_limit": 60.0},
    )
    if answer.x is None:
        raise RuntimeError(f"no placement was found: {answer.message}")
    chosen[worth[answer.x > 0.5]] = True
    return chosen


class Hindsight:
    """Puts the best fixed placement in its place in the first hours and leaves it there. It pays for its copies too."""

    name = "static hindsight"

    def __init__(self, workload: Workload, capacity: float) -> None:
        size = workload.catalogue.size_bytes
        value = sum((saving(workload.rates(hour)) for hour in range(workload.hours)), np.zeros(len(size)))
        waiting = wait_per_hour(workload.rates(0), SPEEDS, TRUTH)[1].sum() / HOUR
        cost = size / COPY_BYTES_PER_SECOND * SLOWED_BY_COPY * (COMPUTING + waiting)
        chosen = best_placement(value - cost, size, capacity)
        rows = np.flatnonzero(chosen)
        self._order = [int(row) for row in rows[np.argsort(-value[rows] / size[rows])]]

    def decide(self, hour: int, fast: Bools) -> list[Hop]:
        """All that is not there yet, densest first."""
        return [Hop(row, up=True) for row in self._order if not fast[row]]

    def saw(self, past: Past) -> None:
        """It knew."""
