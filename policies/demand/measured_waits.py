"""Demand in measured waits: where an engine measures how long sessions waited for a unit, this counts, not how often.

Whatever reads are priced by later (``rate * seconds of a read on that tier``), a unit with a measured wait has the rate
that gives just this wait at the read time of its own space in the same interval::

    SYNC_READ   = waited / read time      reads that a session waited for in full
    DIRECT_READ = 0                       they are among those

A wait for a page that is nearly there is a part of such a read; several sessions that wait for one page are several.

Nothing counts twice, because each engine that measures waits measures all of a unit's reads. ``waited`` holds

========== ================================== ============================== =======================================
engine     reads of single pages              what was read ahead            direct reads
========== ================================== ============================== =======================================
Db2        POOL_READ_TIME without prefetchers PREFETCH_WAIT_TIME             DIRECT_READ_TIME
SQL Server page I/O latch waits               the same, behind read-ahead    none: all reads go through the pool
Oracle     db file sequential, parallel read  db file scattered read         direct path read
========== ================================== ============================== =======================================

So ``Engine.prefetched_share`` is 0 for them: reads ahead still load a tier, and cost no further wait.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from connectors.model import F64, Catalog, Demand, Signal


def in_measured_waits(demand: Demand, catalog: Catalog, believed: F64 | None = None) -> Demand:
    """The demand with units' reads by measured wait, where that is known and so is the read time of their space.

    Args:
        demand: of an interval; returned as it is where ``waited`` is None.
        catalog: gives the space of each unit.
        believed: seconds of a read in each space, for those in which this interval timed none: of their tier, which
            later prices them, so that the wait comes out again. Shape ``(spaces,)``, 0 where it is not known.
    """
    if demand.waited is None:
        return demand
    seconds = read_seconds(demand, catalog, believed)[catalog.units.rows_of(demand.physical_id)]
    usable = np.isfinite(demand.waited) & demand.observed & (seconds > 0)
    rates = demand.rates.copy()
    rates[Signal.SYNC_READ] = np.divide(demand.waited, seconds, out=rates[Signal.SYNC_READ], where=usable)
    # Otherwise direct reads would weigh twice: once in the measured wait and once by their number.
    rates[Signal.DIRECT_READ, usable] = 0.0
    return replace(demand, rates=rates)


def read_seconds(demand: Demand, catalog: Catalog, believed: F64 | None = None) -> F64:
    """Seconds of a read in the space of each unit of the catalog, and 0 at the end. Shape ``(units + 1,)``.

    As timed in the space, or by all waits and reads where the server times no space; in a space without a timed read,
    where sessions waited for scans or direct reads alone, what is believed of it.
    """
    mean = _mean_seconds(demand)
    of_space = np.full(len(catalog.spaces), mean)
    if believed is not None and (demand.spaces is not None or not mean > 0):
        # A space without a timed read is priced by what its tier is believed to take. By the read time of an SSD next
        # to it, waits on a disk would become a hundred times as many reads.
        of_space = np.where(believed > 0, believed, mean)
    if demand.spaces is not None:
        row_of = {space.name: row for row, space in enumerate(catalog.spaces)}
        for name, reads, seconds in zip(
            demand.spaces.name, demand.spaces.reads, demand.spaces.read_seconds, strict=True
        ):
            if name in row_of and reads > 0 and seconds > 0:
                of_space[row_of[name]] = seconds / reads
    return np.append(of_space[catalog.units.space], 0.0)  # the last one: of units that have no row, which is -1


def _mean_seconds(demand: Demand) -> float:
    """Of any read that sessions waited for; 0 where none was measured."""
    if demand.waited is None:
        return 0.0
    reads = demand.rates[Signal.SYNC_READ][np.isfinite(demand.waited)].sum()
    return float(np.nansum(demand.waited) / reads) if reads > 0 else 0.0
