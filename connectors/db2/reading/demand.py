"""Turns counters into signals. Pure; nothing here asks the server.

Db2 counts the physical reads of each object, by whomever, and tells waiting from read ahead only for a table space. So
the share of its table space is taken for the object's own, and both signals are marked as estimated::

    sync share of a space = (physical - asynchronous) / physical     temporary pages included
    SYNC_READ             = physical reads of the object * sync share of its space
    PREFETCHED_READ       = the rest

Writes are known for table spaces only; they are divided by the rows (index: keys) that changed.
"""

from __future__ import annotations

import numpy as np

from connectors.db2.reading.catalog import Homes
from connectors.db2.reading.sampler import BACKUPS, UNCOUNTED, space_key
from connectors.demand_rates import build_demand
from connectors.model import F64, I64, SIGNALS, Bools, Demand, Interval, Signal
from connectors.storage_io import SpaceFigures

ESTIMATED = frozenset({Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.ASYNC_WRITE})
NOWHERE = -1


def classify(interval: Interval, homes: Homes) -> Demand:
    """Rates by unit and signal.

    Args:
        interval: deltas with the counters of ``counted.COUNTERS``.
        homes: the table space of each unit by the last catalog; units it does not know are not observed.
    """
    if interval.database.get(UNCOUNTED, 0.0) > 0:
        return _nothing_known(interval, homes)
    home = homes_of(homes, interval.physical_id)
    physical = interval.deltas["physical_reads"]
    share = sync_share(interval, home)
    counts = np.zeros((SIGNALS, len(home)))
    counts[Signal.LOGICAL_READ] = interval.deltas["logical_reads"]
    counts[Signal.SYNC_READ] = physical * share
    counts[Signal.PREFETCHED_READ] = physical * (1.0 - share)
    counts[Signal.DIRECT_READ] = interval.deltas["direct_read_requests"]
    counts[Signal.ASYNC_WRITE] = _pages_written(interval, home)
    observed = _is_observed(interval, home)
    return build_demand(interval, counts, observed, estimated=ESTIMATED, spaces=_space_rates(interval))


def _nothing_known(interval: Interval, homes: Homes) -> Demand:
    """The server counts no objects (before 10.1): every unit is listed as not observed; absent would be cold."""
    units = len(homes.physical_id)
    return Demand(
        ended_at=interval.ended_at,
        seconds=interval.seconds,
        physical_id=homes.physical_id,
        rates=np.zeros((SIGNALS, units)),
        observed=np.zeros(units, dtype=np.bool_),
        estimated=ESTIMATED,
        database=interval.database_rates(),
        spaces=_space_rates(interval),
        roles=interval.role_rates(),
    )


def homes_of(homes: Homes, physical_id: I64) -> I64:
    """Table space number of each id, NOWHERE for one that the catalog does not know."""
    if not len(homes.physical_id):
        return np.full(len(physical_id), NOWHERE, dtype=np.int64)
    at = np.minimum(np.searchsorted(homes.physical_id, physical_id), len(homes.physical_id) - 1)
    return np.where(homes.physical_id[at] == physical_id, homes.space[at], NOWHERE).astype(np.int64)


def sync_share(interval: Interval, home: I64) -> F64:
    """Share of the physical reads of each unit's table space that a session waited for.

    Where the space tells nothing (no reads, or its counters fell) that of all spaces is taken, 0 where there is none.
    """
    numbers, at = np.unique(home, return_inverse=True)
    physical = _space_deltas(interval, "physical", numbers)
    sync = _space_deltas(interval, "sync", numbers)
    usable = (physical > 0) & ~np.isnan(sync)
    overall = float(sync[usable].sum() / physical[usable].sum()) if usable.any() else 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(usable, sync / physical, overall)
    return np.asarray(np.clip(shares, 0.0, 1.0)[at], dtype=np.float64)


def _space_deltas(interval: Interval, word: str, numbers: I64) -> F64:
    """A figure of each table space in the interval, NaN where it fell or is not known."""
    return np.array([interval.database.get(space_key(word, int(n)), np.nan) for n in numbers], dtype=np.float64)


def _pages_written(interval: Interval, home: I64) -> F64:
    """Pages written of each unit: those of its space, by its part of the rows that changed there."""
    changed = interval.deltas["rows_changed"]
    numbers, at = np.unique(home, return_inverse=True)
    written = np.nan_to_num(_space_deltas(interval, "written", numbers))
    in_space = np.bincount(at, weights=changed, minlength=len(numbers))
    part = np.divide(changed, in_space[at], out=np.zeros(len(changed)), where=in_space[at] > 0)
    return np.asarray(written[at] * part, dtype=np.float64)


def _is_observed(interval: Interval, home: I64) -> Bools:
    """What the interval says anything about: not what restarted, nor what a utility read."""
    if interval.database.get(BACKUPS, 0.0) > 0:
        return np.zeros(len(home), dtype=np.bool_)
    return np.asarray((home != NOWHERE) & ~interval.restarted & (interval.deltas["disturbed"] == 0))


def _space_rates(interval: Interval) -> SpaceFigures | None:
    found = interval.spaces
    if found is None:
        return None
    return SpaceFigures(
        name=found.name,
        reads=found.reads / interval.seconds,
        read_seconds=found.read_seconds / interval.seconds,
        writes=found.writes / interval.seconds,
        write_seconds=found.write_seconds / interval.seconds,
    )
