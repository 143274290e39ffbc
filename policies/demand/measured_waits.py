"""Demand in measured waits: where an engine measures how long sessions waited for a unit, this counts, not how often.

Whatever reads are priced by later (``rate * seconds of a read on that tier``), a unit with a measured wait has the rate
that gives just this wait at the read time of its own space in the same interval::

    SYNC_READ = waited / read time        reads that a session waited for in full

A wait for a page that is nearly there is a part of such a read; several sessions that wait for one page are several.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from connectors.model import F64, I64, Catalog, Demand, Signal


def in_measured_waits(demand: Demand, catalog: Catalog) -> Demand:
    """The demand with ``SYNC_READ`` by measured wait, for the units that have one and whose read time is known.

    Args:
        demand: of an interval; returned as it is where ``waited`` is None.
        catalog: gives the space of each unit.
    """
    if demand.waited is None:
        return demand
    seconds = _read_seconds(demand, catalog, catalog.units.rows_of(demand.physical_id))
    usable = np.isfinite(demand.waited) & demand.observed & (seconds > 0)
    rates = demand.rates.copy()
    rates[Signal.SYNC_READ] = np.divide(demand.waited, seconds, out=rates[Signal.SYNC_READ], where=usable)
    return replace(demand, rates=rates)


def _read_seconds(demand: Demand, catalog: Catalog, rows: I64) -> F64:
    """Seconds of a read in each unit's space, or of any read of the database; 0 where it is not known."""
    of_space = np.full(len(catalog.spaces) + 1, _mean_seconds(demand))  # the last one: of units that have no row
    if demand.spaces is not None:
        row_of = {space.name: row for row, space in enumerate(catalog.spaces)}
        for name, reads, seconds in zip(
            demand.spaces.name, demand.spaces.reads, demand.spaces.read_seconds, strict=True
        ):
            if name in row_of and reads > 0 and seconds > 0:
                of_space[row_of[name]] = seconds / reads
    if not len(catalog.units):
        return np.zeros(len(rows))
    return np.where(rows >= 0, of_space[catalog.units.space[rows]], 0.0)


def _mean_seconds(demand: Demand) -> float:
    """Of any read that sessions waited for."""
    assert demand.waited is not None, "asked only where waits are measured"
    reads = demand.rates[Signal.SYNC_READ][np.isfinite(demand.waited)].sum()
    return float(np.nansum(demand.waited) / reads) if reads > 0 else 0.0
