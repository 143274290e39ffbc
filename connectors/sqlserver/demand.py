"""Turns counters into signals and waits, of rows and large objects. Pure; nothing here asks the server.

``with_large_objects`` divides the counters of a partition between its rows and its large objects.
``sys.dm_db_index_operational_stats`` has one row for both, with one sum of waits. The pages of large objects that were
fetched, from memory or storage, and the rows that were sought tell them apart::

    high  = min(waits - waits on upper levels, pages of large objects)
    low   = waits - waits on upper levels - rows sought        where no scan was begun, else 0
    share = pages of large objects / (those + rows sought + scans begun)        of the waits, within [low, high]

The sum is exact; the division errs by up to ``high - low``.

``classify`` makes the signals. The time that sessions waited for pages of a unit is measured
(``page_io_latch_wait_in_ms``), waits behind read-ahead included. It becomes ``Demand.waited``, by which demand is
priced. Waits that are all too short to count in milliseconds are not measured.

Counts say how much was read. A wait for a page's I/O latch means that a session needed a page which was not in memory.
It does not count reads: pages read ahead cause no wait, and several sessions may wait for one page. The files of a
filegroup count reads and bytes; with read-ahead of up to S bytes::

    random_g   = clamp((R * S - B) / (S - 8192), 0, R)         R reads of B bytes are single pages and pieces of S
    random_g   = min(random_g, sum of waits in g)              smaller pieces: of single pages each one is waited for
    SYNC       = waits * min(1, random_g / sum of waits in g)
    sequential = (B - 8192 * random_g) / 8192                   pages
    PREFETCHED = sequential * share, share by scans begun * pages of the unit, where none was begun by waits

Pages come without a scan, too: while the pool fills, reading one page brings in the seven others of its extent.

Read times of a filegroup are those of its random reads, or of all reads if none was random, at the mean stall of all.
An interval that a backup touched keeps the waits but not the files; one that CHECKDB, UPDATE STATISTICS or an index
build touched says nothing about any unit. Source: ``sys.dm_db_index_operational_stats`` and
``sys.dm_io_virtual_file_stats`` in Microsoft's sql-docs; the mixture of two sizes is an inference from them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from connectors.kit.counters import build_demand
from connectors.model.observation import (
    F64,
    I64,
    SIGNALS,
    Catalog,
    DatabaseDemand,
    Demand,
    Interval,
    Signal,
    SpaceFigures,
)
from connectors.sqlserver.catalog import PAGE
from connectors.sqlserver.sampler import BACKUP, BYTES_FIGURE, SWEEP

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


ESTIMATED = frozenset({Signal.LOGICAL_READ, Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.ASYNC_WRITE})


def classify(interval: Interval, catalog: Catalog, *, read_ahead_bytes: int) -> Demand:
    """Rates by unit and signal.

    Args:
        interval: deltas with the counters of ``sampler.COUNTERS``.
        catalog: sizes and homes of the units.
        read_ahead_bytes: size of a read-ahead request, larger than a page; differs by edition.
    """
    interval = with_large_objects(interval, catalog)
    files = _usable_files(interval)
    at = catalog.units.rows_of(interval.physical_id)
    known = at >= 0
    space = np.where(known, catalog.units.space[at] if len(catalog.units) else 0, -1).astype(np.int64)
    random, pieces = _random_reads(
        interval, catalog, files, read_ahead_bytes, _waits_of_spaces(interval, space, catalog)
    )
    counts = np.zeros((SIGNALS, len(at)))
    deltas = interval.deltas
    counts[Signal.LOGICAL_READ] = deltas["lookups"] + deltas["scans"] + deltas["forwarded"] + deltas["lob_pages"]
    counts[Signal.SYNC_READ] = _waits(deltas["io_waits"], space, random)
    pages = np.where(known, catalog.units.size_bytes[at] / PAGE if len(catalog.units) else 0.0, 0.0)
    counts[Signal.PREFETCHED_READ] = _spread(
        pieces, space, deltas["scans"] * np.maximum(pages, 1.0), otherwise=deltas["io_waits"]
    )
    # No counter tells written pages by unit. Rows changed on one page are written once by the checkpoint, so its own
    # pages are the bound.
    counts[Signal.ASYNC_WRITE] = np.minimum(deltas["inserted"] + deltas["changed"], np.maximum(pages, 1.0))
    observed = known & ~interval.restarted & (not interval.database.get(SWEEP, 0.0))
    spaces = None if files is None else _space_rates(files, random, catalog, interval.seconds)
    database = _database_demand(interval)
    return build_demand(
        interval,
        counts,
        observed,
        estimated=ESTIMATED,
        database=database,
        spaces=spaces,
        waited_seconds=_waited_seconds(interval),
    )


def random_part(reads: F64, read_bytes: F64, read_ahead_bytes: int) -> F64:
    """How many of the reads fetched one page, were the others of the read-ahead size. NaN where either is NaN."""
    size = float(read_ahead_bytes)
    return np.clip((reads * size - read_bytes) / (size - PAGE), 0.0, reads)


def _usable_files(interval: Interval) -> SpaceFigures | None:
    """What the files say, unless a backup or a sweep of the whole database is in it."""
    disturbed = interval.database.get(BACKUP, 0.0) or interval.database.get(SWEEP, 0.0)
    return None if disturbed else interval.spaces


def _waited_seconds(interval: Interval) -> F64:
    """That sessions waited for each column; NaN where it had waits and all of them were too short to be counted."""
    seconds = interval.deltas["io_wait_ms"] / 1000.0
    return np.where((seconds > 0) | (interval.deltas["io_waits"] == 0), seconds, np.nan)


def _waits_of_spaces(interval: Interval, space: I64, catalog: Catalog) -> F64:
    """Waits of the units of each space; any number where some waits belong to units that the catalog does not know."""
    known, waits = space >= 0, interval.deltas["io_waits"]
    if waits[~known].any():
        return np.full(len(catalog.spaces), np.inf)
    return np.bincount(space[known], weights=waits[known], minlength=len(catalog.spaces)).astype(np.float64)


def _random_reads(
    interval: Interval, catalog: Catalog, files: SpaceFigures | None, read_ahead_bytes: int, waits: F64
) -> tuple[F64, F64]:
    """Random reads and sequential pages of each space of the catalog; NaN where the files do not tell."""
    random, pages = np.full(len(catalog.spaces), np.nan), np.full(len(catalog.spaces), np.nan)
    if files is None:
        return random, pages
    row_of = {space.name: row for row, space in enumerate(catalog.spaces)}
    for name, reads in zip(files.name, files.reads, strict=True):
        read_bytes = interval.database.get(f"{BYTES_FIGURE}{name}", float("nan"))
        if name in row_of:
            row = row_of[name]
            single = random_part(np.array([reads]), np.array([read_bytes]), read_ahead_bytes)[0]
            # The bytes alone cannot tell a single page from a small piece of a scan; but each single page is waited
            # for, so there are no more of them than waits.
            random[row] = min(single, waits[row])
            pages[row] = max(0.0, read_bytes / PAGE - random[row])
    return random, pages


def _waits(waits: F64, space: I64, random: F64) -> F64:
    """Waits, cut down where a filegroup had fewer random reads than its units had waits."""
    known = space >= 0
    total = np.bincount(space[known], weights=waits[known], minlength=len(random))
    ratio = np.divide(random, total, out=np.ones(len(random)), where=total > 0)
    factor = np.where(np.isnan(ratio), 1.0, np.minimum(1.0, ratio))
    return np.where(known, waits * factor[space] if len(random) else 0.0, 0.0)


def _spread(total: F64, space: I64, weight: F64, otherwise: F64) -> F64:
    """Each space's total spread over its units by weight, or by ``otherwise`` where no unit of the space has weight.

    Zero where the total is NaN or both are zero.
    """
    known = space >= 0
    weights = np.bincount(space[known], weights=weight[known], minlength=len(total))
    if len(total):
        weight = np.where(known & (weights[space] > 0), weight, otherwise)
        weights = np.bincount(space[known], weights=weight[known], minlength=len(total))
    part = np.divide(np.nan_to_num(total), weights, out=np.zeros(len(total)), where=weights > 0)
    return np.where(known, weight * part[space] if len(total) else 0.0, 0.0)


def _space_rates(files: SpaceFigures, random: F64, catalog: Catalog, seconds: float) -> SpaceFigures:
    row_of = {space.name: row for row, space in enumerate(catalog.spaces)}
    alone = np.array([random[row_of[name]] if name in row_of else np.nan for name in files.name])
    alone = np.where(alone > 0, alone, files.reads)
    stall = np.divide(files.read_seconds, files.reads, out=np.zeros(len(alone)), where=files.reads > 0)
    return SpaceFigures(
        name=files.name,
        reads=alone / seconds,
        read_seconds=alone * stall / seconds,
        writes=files.writes / seconds,
        write_seconds=files.write_seconds / seconds,
    )


def _database_demand(interval: Interval) -> DatabaseDemand:
    def rate(name: str) -> float:
        return interval.database.get(name, float("nan")) / interval.seconds

    # Sessions, their time and the processors come from looks at sessions and batches, see ``sampler.Sessions``.
    return replace(interval.database_rates(), reads=rate("file_reads"), read_wait=_read_wait(interval))


def _read_wait(interval: Interval) -> float:
    """Seconds sessions waited for pages, per second: of the units that say so, because a total falls when one does."""
    return float(interval.deltas["io_wait_ms"].sum()) / 1000.0 / interval.seconds
