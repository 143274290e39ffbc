"""Turns counters into signals. Pure; nothing here asks the server.

``classify`` estimates how blocks were read. For each relation, PostgreSQL counts the blocks requested from its buffer
pool and those found there, but not how the others were read. The split is a bound on the careful side: whatever a
sequential scan, VACUUM or ANALYZE may explain counts as read ahead, and only the rest as a read that a session waited
for::

    missed     = fetched - hit                                  (minus new blocks, which 14 and 15 count as missed)
    scanned    = min(rows_scanned / rows * blocks, scans * blocks)
    maintained = passes of VACUUM and ANALYZE * blocks          (an index: those of its table; TOAST: its own of both)
    swept      = min(missed, scanned + maintained)
    PREFETCHED = swept + min(missed - swept, runs) * runs / (runs + single)
    SYNC       = missed - PREFETCHED

``runs`` are blocks read one after the other: a bitmap scan reads a table in the order of its blocks, a range scan the
leaves of an index. Runs last as long as rows fill blocks (``runs = rows / rows a block``); rows that lie apart are
single reads. ``single`` counts rows looked up one by one, which are taken to miss as often as runs do. Without runs,
one report over a table that also serves look-ups makes the table look ten times as hot as it is.

A miss may still be found in the operating system's cache; only the read times of the whole database tell. From 16 on
the server also counts and times what scans read, all databases together: ``scans_of``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from connectors.kit.counters import build_demand
from connectors.model.observation import (
    F64,
    I64,
    NO_PARENT,
    SIGNALS,
    Bools,
    DatabaseDemand,
    Demand,
    Interval,
    Signal,
)
from connectors.postgresql.catalog import BLOCK_BYTES, Shape
from connectors.postgresql.sampler import SCANS_FIGURES

ESTIMATED = frozenset({Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.ASYNC_WRITE})
# Chunks are cut so that four of them fill a block (TOAST_TUPLES_PER_PAGE).
TOAST_CHUNKS_PER_BLOCK = 4.0
DROPPED_SECONDS = 1e-6  # of a read at most, by pg_stat_database, which adds up whole microseconds
OWN_SHARE = 0.9  # of the server's reads, and of the wait for them: with less, its scans may be another database's
_TOLD = {"reads", "read_seconds", *SCANS_FIGURES}


def classify(interval: Interval, shape: Shape, *, new_blocks_missed: bool) -> Demand:
    """Rates by unit and signal.

    Args:
        interval: deltas with the counters of ``sampler.COUNTERS``.
        shape: blocks and rows of the units by the last catalog.
        new_blocks_missed: the version counts blocks added to a relation as fetched and missed (14 and 15).
    """
    at = shape.rows_of(interval.physical_id)
    known = at >= 0
    blocks, toast_blocks, rows = np.zeros(len(at)), np.zeros(len(at)), np.full(len(at), np.nan)
    blocks[known], rows[known] = shape.blocks[at[known]], shape.rows[at[known]]
    toast_blocks[known] = np.maximum(0.0, shape.size_bytes[at[known]] / BLOCK_BYTES - blocks[known])
    added = _added_blocks(interval, blocks, rows)
    missed = np.maximum(0.0, interval.deltas["blocks_fetched"] - interval.deltas["blocks_hit"])
    if new_blocks_missed:
        missed = np.maximum(0.0, missed - added)
    parent = np.full(len(at), NO_PARENT, dtype=np.int64)
    parent[known] = shape.parent[at[known]]
    toast_swept = interval.deltas["toast_maintenance"] * toast_blocks
    ahead = _read_ahead(interval, missed, blocks, rows, parent, toast_swept)
    counts = np.zeros((SIGNALS, len(at)))
    counts[Signal.LOGICAL_READ] = interval.deltas["blocks_fetched"]
    counts[Signal.SYNC_READ] = missed - ahead
    counts[Signal.PREFETCHED_READ] = ahead
    # No counter tells the blocks that were written. Rows changed in one block are written once by the checkpoint, so
    # the unit's own size is the bound.
    counts[Signal.ASYNC_WRITE] = added + np.minimum(interval.deltas["rows_changed"], blocks)
    observed = known & ~interval.restarted
    return build_demand(interval, counts, observed, estimated=ESTIMATED, database=scans_of(interval))


def scans_of(interval: Interval) -> DatabaseDemand:
    """The database's rates, with what scans have of its reads and of the wait for them.

    The server tells this of all its databases together. Where nearly everything is this one's, scans have the same
    shares of its own figures; elsewhere, and before 16, they are not known.
    """
    found, figures = interval.database_rates(), interval.database
    if not figures.keys() >= _TOLD:  # before 16, not timed, or a counter fell
        return found
    reads, seconds = figures["server_reads"], figures["server_read_seconds"]
    own = figures["read_seconds"] + DROPPED_SECONDS * figures["reads"]
    if not (figures["reads"] >= OWN_SHARE * reads > 0 and own >= OWN_SHARE * seconds > 0):
        return found
    return replace(
        found,
        scan_reads=found.reads * figures["scan_reads"] / reads,
        scan_wait=found.read_wait * figures["scan_seconds"] / seconds,
    )


def _added_blocks(interval: Interval, blocks: F64, rows: F64) -> F64:
    """Blocks that new rows fill, TOAST included; a table never analyzed is taken to have one row a block."""
    per_block = np.where((rows > 0) & (blocks > 0), rows / np.maximum(blocks, 1.0), 1.0)
    inserted: F64 = interval.deltas["rows_inserted"] / np.maximum(per_block, 1.0)
    return inserted + interval.deltas["toast_chunks"] / TOAST_CHUNKS_PER_BLOCK


def _read_ahead(interval: Interval, missed: F64, blocks: F64, rows: F64, parent: I64, toast_swept: F64) -> F64:
    """Of the missed blocks, those that came in runs; ``toast_swept``: of TOAST by VACUUM, at most."""
    index, table = parent != NO_PARENT, _rows_of(interval, parent)
    scanned = np.where(index, 0.0, _scanned_blocks(interval, blocks, rows))
    swept = np.minimum(missed, scanned + _passes(interval, table) * blocks + toast_swept)
    runs, single = _runs(interval, blocks, rows, index, table)
    share: F64 = np.divide(runs, runs + single, out=np.zeros(len(missed)), where=runs > 0)
    return swept + np.minimum(missed - swept, runs) * share


def _scanned_blocks(interval: Interval, blocks: F64, rows: F64) -> F64:
    """Blocks that sequential scans went over, at most; by scans alone where the number of rows is not known."""
    by_scans: F64 = interval.deltas["scans"] * blocks
    by_rows = interval.deltas["rows_scanned"] / np.maximum(rows, 1.0) * blocks
    # The lesser of both bounds: a LIMIT ends a scan after a few rows, and rows that came since ANALYZE make one look
    # longer than it was.
    return np.where(rows > 0, np.minimum(by_rows, by_scans), by_scans)


def _runs(interval: Interval, blocks: F64, rows: F64, index: Bools, table: I64) -> tuple[F64, F64]:
    """Blocks that bitmap scans of a table and range scans of an index fill at least; and reads of one block each."""
    in_order = np.where(index, interval.deltas["rows_scanned"], interval.deltas["rows_fetched"])
    per_block = np.where((rows > 0) & (blocks > 0), rows / np.maximum(blocks, 1.0), np.inf)
    single = np.where(index, interval.deltas["scans"], 0.0)
    known = table >= 0
    np.add.at(single, table[known], interval.deltas["rows_fetched"][known])
    return in_order / np.maximum(per_block, 1.0), single


def _passes(interval: Interval, table: I64) -> F64:
    """Passes of VACUUM and ANALYZE over each unit, at most. An index is vacuumed with its table."""
    own = interval.deltas["maintenance"]
    return np.maximum(own, np.where(table >= 0, own[table], 0.0)) if len(own) else own


def _rows_of(interval: Interval, parent: I64) -> I64:
    """Row in the interval of each parent, -1 where there is none or it had no demand."""
    if not len(parent):
        return parent
    at = np.minimum(np.searchsorted(interval.physical_id, parent), len(parent) - 1)
    return np.where(interval.physical_id[at] == parent, at, -1).astype(np.int64)
