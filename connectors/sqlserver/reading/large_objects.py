"""Divides what a partition's row of counters says between its rows and its large objects. Pure.

``sys.dm_db_index_operational_stats`` has one row for both: their waits are measured as one sum. What tells them apart
is how many pages of large objects were fetched, from memory or storage, and how many rows were sought::

    high  = min(waits - waits on upper levels, pages of large objects)
    low   = waits - waits on upper levels - rows sought        where no scan was begun, else 0
    share = pages of large objects / (those + rows sought + scans begun)        of the waits, within [low, high]

The sum is exact; the division errs by up to ``high - low``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from connectors.model import F64, Catalog, Interval

LOB_BIT = np.int64(1)  # of a physical id, see ``keys.unit_ids``
WAITS, TREE_WAITS, WAIT_MS, PAGES = "io_waits", "tree_io_waits", "io_wait_ms", "lob_pages"
_SOUGHT = ("lookups", "forwarded", "overflow_pages")


def with_large_objects(interval: Interval, catalog: Catalog) -> Interval:
    """The interval with a column for each unit of large objects that were fetched, or whose counters restarted.

    Their waits and pages are taken from the column of their rows. A columnstore has no such unit: all of it is one.
    """
    units = catalog.units.physical_id
    apart = np.isin(interval.physical_id | LOB_BIT, units) & ((interval.deltas[PAGES] > 0) | interval.restarted)
    if not apart.any():
        return interval
    share = _share(interval)
    ids = np.concatenate([interval.physical_id, interval.physical_id[apart] | LOB_BIT])
    order = np.argsort(ids)
    parts = {
        name: (values * (1.0 - share * apart), (values * share)[apart])
        if name in (WAITS, WAIT_MS)
        else (values * ~apart, values[apart])
        if name == PAGES
        else (values, np.zeros(int(apart.sum())))
        for name, values in interval.deltas.items()
    }
    return replace(
        interval,
        physical_id=ids[order],
        deltas={name: np.concatenate(both)[order] for name, both in parts.items()},
        restarted=np.concatenate([interval.restarted, interval.restarted[apart]])[order],
    )


def _share(interval: Interval) -> F64:
    """Of the waits of each column that were for large objects; 0 where there were none."""
    deltas = interval.deltas
    waits, pages, scans = deltas[WAITS], deltas[PAGES], deltas["scans"]
    of_leaves = np.maximum(waits - deltas[TREE_WAITS], 0.0)
    sought = np.sum([deltas[name] for name in _SOUGHT], axis=0)
    high = np.minimum(of_leaves, pages)
    # Each row that was sought explains one wait at most, so what exceeds them was for large objects; a scan may explain
    # any number.
    low = np.where(scans > 0, 0.0, np.minimum(np.maximum(of_leaves - sought, 0.0), high))
    fetched = pages + sought + scans
    likely = waits * np.divide(pages, fetched, out=np.zeros(len(pages)), where=fetched > 0)
    share: F64 = np.divide(np.clip(likely, low, high), waits, out=np.zeros(len(waits)), where=waits > 0)
    return share
