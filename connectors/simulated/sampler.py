"""Catalog and counters of the world, and signals from them.

Catalog and counters of the world, in the shape every engine gives them.

From this engine's counters to signals. The simulator measures what it counts, so nothing is estimated.
"""

from __future__ import annotations

import numpy as np

from connectors.kit.contract import ForegroundReads, TimedOut
from connectors.model.moves import Container
from connectors.model.observation import (
    I64,
    SIGNALS,
    Catalog,
    Demand,
    Interval,
    Role,
    RoleFigures,
    Sample,
    Signal,
    Space,
    UnitTable,
)
from connectors.simulated.scenarios import COUNTERS
from connectors.simulated.settings import FaultKind
from connectors.simulated.world import World

SERVER_SECONDS_PER_UNIT = 2e-6  # what reading a unit's counters costs a real server (PostgreSQL: 64 ms for 40,000)


def read_catalog(world: World) -> Catalog:
    """Spaces and living units, sorted by physical id."""
    with world.turn():
        slow = world.faults.strikes(FaultKind.SLOW_CATALOG)
    if slow:
        # Outside the turn: a slow catalog must not hold up samples and moves of other connections.
        world.clock.sleep(slow.seconds)
    with world.turn():
        placement = world.placement
        units = placement.units
        rows = np.flatnonzero(units.alive)
        rows = rows[np.argsort(units.physical_id[rows], kind="stable")]
        table = UnitTable(
            physical_id=units.physical_id[rows],
            key=[units.keys[row] for row in rows],
            kind=units.kind[rows],
            size_bytes=units.size_bytes[rows],
            space=units.space[rows],
            bundle=units.bundle[rows],
            parent=units.parent[rows],
        )
        return Catalog(taken_at=world.clock.now(), spaces=_spaces(world), units=table)


def _spaces(world: World) -> tuple[Space, ...]:
    used, free = world.placement.used_bytes(), world.placement.free_bytes()
    return tuple(
        Space(
            name=space.name,
            path=space.path,
            used_bytes=int(used[row]),
            free_bytes=int(free[row]),
            capacity_bytes=space.capacity_bytes,
            containers=(
                Container(
                    name=space.path,
                    path=space.path,
                    size_bytes=int(used[row]),
                    used_bytes=int(used[row]),
                    growth_bytes=int(free[row]),
                ),
            ),
        )
        for row, space in enumerate(world.placement.spaces)
    )


def take_sample(world: World) -> Sample:
    """Counters of every living unit that has any.

    Raises:
        TimedOut: a fault has lost the sample.
    """
    with world.turn():
        if world.sample_faults():
            raise TimedOut("the sample took longer than its time limit", advice="The next one spans the gap.")
        units, values = world.placement.units, world.counters()
        rows = np.flatnonzero(units.alive & values.any(axis=0))
        rows = _by_id(units.physical_id, rows)
        return Sample(
            taken_at=world.clock.now(),
            monotonic_seconds=world.clock.monotonic(),
            epoch=str(world.resets),
            physical_id=units.physical_id[rows],
            counters={name: values[at, rows] for at, name in enumerate(COUNTERS)},
            database=dict(world.totals),
            server_seconds=SERVER_SECONDS_PER_UNIT * len(units),
            roles=(_log(world),),
        )


def read_foreground(world: World) -> ForegroundReads:
    """Reads that sessions have waited for."""
    with world.turn():
        world.counters()  # brings the totals up to now
        return ForegroundReads(world.totals["reads"], world.totals["read_seconds"])


def _log(world: World) -> RoleFigures:
    """Every transaction writes the log once, at its end, and its session waits for that. There is no sort space."""
    waited = world.totals["write_seconds"]
    return RoleFigures(
        role=Role.LOG,
        name="log",
        writes=world.totals["transactions"],
        write_seconds=waited,
        waited_seconds=waited,
    )


def _by_id(physical_id: I64, rows: I64) -> I64:
    """Rows in the order of their ids; only rebuilt indexes are ever out of it."""
    ids = physical_id[rows]
    return rows if bool(np.all(ids[1:] > ids[:-1])) else rows[np.argsort(ids, kind="stable")]


SIGNAL_OF = {
    "logical_reads": Signal.LOGICAL_READ,
    "sync_reads": Signal.SYNC_READ,
    "prefetched_reads": Signal.PREFETCHED_READ,
    "async_writes": Signal.ASYNC_WRITE,
}


def classify(interval: Interval) -> Demand:
    """Rates per second and signal."""
    rates = np.zeros((SIGNALS, len(interval.physical_id)), dtype=np.float64)
    for name, signal in SIGNAL_OF.items():
        rates[signal] = interval.deltas[name] / interval.seconds

    return Demand(
        ended_at=interval.ended_at,
        seconds=interval.seconds,
        physical_id=interval.physical_id,
        rates=rates,
        observed=~interval.restarted,
        estimated=frozenset(),
        database=interval.database_rates(),
        roles=interval.role_rates(),
    )
