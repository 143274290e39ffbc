"""The best fixed placement, known only afterwards: every unit it chooses is on the fast tier for as long as it exists.

Proven by an exact solver (HiGHS) to within ``GAP``; what it chooses fits at every hour, with units that come, grow and
go. It pays for its copies, each in the first hour of a unit.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from connectors.model.observation import F64, Bools
from tests.bench.policies.stage import COMPUTING, COPY_BYTES_PER_SECOND, SLOWED_BY_COPY, Hop, Past
from tests.bench.policies.wandering.stage import HEAD_ROOM, Moment
from tests.bench.policies.wandering.world import HOUR, World, wait_on_slow

GAP = 1e-4  # of the optimum
SECONDS = 60.0  # the solver's, at most


def best_fixed(value: F64, size: F64, capacity: float) -> Bools:
    """Who is on the fast tier, ``(n,)``.

    Args:
        value: (n,) what each is worth there in all.
        size: (times, n) bytes at each time; 0 where a unit does not exist.
        capacity: bytes, at every time.

    Raises:
        RuntimeError: the solver gave up.
    """
    chosen = np.zeros(len(value), dtype=np.bool_)
    worth = np.flatnonzero((value > 0) & (size.max(axis=0) <= capacity))
    times = np.unique(size[:, worth], axis=0) if len(worth) else size[:0, worth]
    if not len(worth) or float(times.sum(axis=1).max()) <= capacity:
        chosen[worth] = True
        return chosen
    answer = milp(
        -value[worth] / float(value[worth].max()),
        constraints=LinearConstraint(_binding(times) / capacity, ub=1.0),
        integrality=np.ones(len(worth)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": GAP, "time_limit": SECONDS},
    )
    if answer.x is None:
        raise RuntimeError(f"no placement was found: {answer.message}")
    chosen[worth[answer.x > 0.5]] = True
    return chosen


def most_by_hour(world: World) -> tuple[F64, F64]:
    """What saves most in each hour, known before, moved for nothing, and seconds a byte of what just does not fit.

    No placement of units can exceed it. The unit that just does not fit is cut, as in the linear relaxation of a
    knapsack; one that is larger than the tier saves nothing. A cache of pages may save more: it holds the hot pages of
    more units than fit.

    Returns:
        Wait seconds, ``(hours,)``, and seconds per byte, ``(hours,)``; 0 where all fits.
    """
    most, price, all_room = np.zeros(world.hours), np.zeros(world.hours), room_of(world)
    for hour in range(world.hours):
        size = world.size[hour].astype(np.float64)
        value = np.where(world.alive[hour] & (size <= all_room), world.saving[hour], 0.0)
        order = np.argsort(-value / size)
        room = all_room - (np.cumsum(size[order]) - size[order])
        fits = np.clip(room / size[order], 0.0, 1.0)
        most[hour] = (value[order] * fits).sum()
        price[hour] = (value[order] / size[order]).max(where=fits < 1.0, initial=0.0)
    return most, price


def room_of(world: World) -> float:
    """Bytes that units may fill: where some grow, they may grow into the head-room."""
    return world.capacity / (1 - HEAD_ROOM) if (np.ptp(world.size, axis=0) > 0).any() else float(world.capacity)


def _binding(times: F64) -> F64:
    """Without the times at which no unit is larger than at some other one: they bind nothing."""
    kept = [row for row in times if (times >= row).all(axis=1).sum() == 1]
    return np.array(kept)


class BestFixed:
    """Brings every chosen unit to the fast tier in its first hour and leaves it there."""

    name = "best fixed"

    def __init__(self, world: World) -> None:
        size = np.where(world.alive, world.size, 0).astype(np.float64)
        first = world.alive.argmax(axis=0)
        copied = world.size[first, np.arange(size.shape[1])] / COPY_BYTES_PER_SECOND
        waiting = wait_on_slow(world.rates(0)).sum() / HOUR
        value = world.saving.sum(axis=0) - copied * SLOWED_BY_COPY * (COMPUTING + waiting)
        chosen = best_fixed(value, size, world.capacity)
        density = value / np.maximum(1.0, size.sum(axis=0))
        self._order = [int(row) for row in np.argsort(-density) if chosen[row]]

    def decide(self, moment: Moment) -> list[Hop]:
        """All that is not there yet, densest first."""
        return [Hop(row, up=True) for row in self._order if moment.alive[row] and not moment.fast[row]]

    def saw(self, past: Past) -> None:
        """It knew."""
