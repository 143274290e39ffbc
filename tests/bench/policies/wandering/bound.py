"""What no placement of whole units can exceed, copies paid, with every hour known before.

Room is given a price per byte for each hour, whatever the prices (Lagrange): a unit by itself then has a best way
through the hours, found by dynamic programming over its two tiers, and the ways of all units together with the price of
all room bound every placement from above (Fisher, The Lagrangian relaxation method, Management Science 27, 1981). The
least bound of ``STEPS`` prices is given; each of them is one, so stopping early is safe.

A copy is charged for the fewest sessions that may wait in its hour or the one before. A unit larger than the tier never
is there.
"""

from __future__ import annotations

import numpy as np

from connectors.model.observation import F64, Bools
from tests.bench.policies.stage import COMPUTING, COPY_BYTES_PER_SECOND, SLOWED_BY_COPY
from tests.bench.policies.wandering.fixed import most_by_hour, room_of
from tests.bench.policies.wandering.world import HOUR, World, wait_on_slow

STEPS = 60
FIRST_STEP, PATIENCE, SHRINKING = 0.15, 8, 0.6  # of a usual price; steps without a better bound, and what follows


def most_with_copies(world: World) -> float:
    """Session seconds."""
    room, (most, price) = room_of(world), most_by_hour(world)
    size = np.where(world.alive, world.size, 0).astype(np.float64)
    value = np.where(world.alive & (world.size <= room), world.saving, 0.0)
    cost = _least_cost(world, most)
    usual = float(np.median(price[price > 0])) if (price > 0).any() else 0.0
    best, best_price, step, waited = np.inf, price, FIRST_STEP * usual, 0
    for _ in range(STEPS):
        gain, there = _best_ways(value - price[:, np.newaxis] * size, cost, world.alive)
        bound = gain + room * float(price.sum())
        waited = 0 if bound < best else waited + 1
        if bound < best:
            best, best_price = bound, price
        if waited == PATIENCE:
            price, step, waited = best_price, step * SHRINKING, 0
        # Dearer where more than the room is wanted, cheaper where less: the subgradient of the bound.
        price = np.maximum(0.0, price + step * ((there * size).sum(axis=1) / room - 1.0))
    return best


def _least_cost(world: World, most: F64) -> F64:
    """Session seconds that a copy of each unit takes at least, ``(hours, n)``."""
    slow = np.array([wait_on_slow(world.rates(hour)).sum() for hour in range(world.hours)])
    lost = SLOWED_BY_COPY * (COMPUTING + np.maximum(0.0, slow - most) / HOUR)
    cost = world.size / COPY_BYTES_PER_SECOND * lost[:, np.newaxis]
    # A move within an hour is spread over two by hourly means: charged to either, it costs the less of both at least.
    cost[1:] = np.minimum(cost[1:], cost[:-1])
    return np.asarray(cost, dtype=np.float64)


def _best_ways(net: F64, cost: F64, alive: Bools) -> tuple[float, Bools]:
    """What the best way of each unit brings, all together, and where that has it on the fast tier, ``(hours, n)``.

    Args:
        net: (hours, n) what an hour there brings, its room paid.
        cost: (hours, n) of a copy.
        alive: (hours, n); what is dropped leaves for nothing.
    """
    hours, n = net.shape
    net, leaving = np.where(alive, net, -np.inf), np.where(alive, cost, 0.0)
    off, on = np.zeros(n), np.full(n, -np.inf)
    stays_on, comes_down = np.zeros((hours, n), np.bool_), np.zeros((hours, n), np.bool_)
    for hour in range(hours):
        up, down = off - cost[hour], on - leaving[hour]
        np.greater_equal(on, up, out=stays_on[hour])
        np.greater(down, off, out=comes_down[hour])
        off, on = np.maximum(off, down), np.maximum(on, up) + net[hour]
    there, is_on = np.zeros((hours, n), np.bool_), on > off
    for hour in reversed(range(hours)):
        there[hour] = is_on
        is_on = np.where(is_on, stays_on[hour], comes_down[hour])
    return float(np.maximum(on, off).sum()), there
