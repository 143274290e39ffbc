"""Turns counters into signals and waits. Pure; nothing here asks the server.

How reads are divided into kinds: ``sampler``; how long sessions waited for each segment: ``waits``. Then::

    SYNC_READ       = single-block reads through the cache - those a flash cache served, over all segments no more than
                      sessions waited for; and single-block direct ones (LOBs with NOCACHE), which are waited for each
    PREFETCHED_READ = the other blocks that missed the cache; and those of direct calls, which are issued ahead, where
                      waits are measured
    DIRECT_READ     = blocks of direct calls where waits are not measured

A direct read is a logical read too, so it is taken off there. Statistics of one segment are read a moment apart; small
negative differences are zero. What the index of a LOB reads counts with the LOB.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from connectors.kit.counters import build_demand
from connectors.model.observation import F64, I64, SIGNALS, Bools, Catalog, Demand, Interval, Signal, SpaceFigures
from connectors.oracle.catalog import Shape
from connectors.oracle.sampler import BATCH, SEGMENT, SINGLE, counted, divide_reads, timed, waited_seconds

ESTIMATED = frozenset({Signal.LOGICAL_READ, Signal.SYNC_READ, Signal.PREFETCHED_READ})
LARGEST_CALL_BYTES = 1 << 20
LARGEST_BATCH = 128  # blocks that one "db file parallel read" waits for, at most
NOWHERE = -1


def classify(interval: Interval, catalog: Catalog, shape: Shape) -> Demand:
    """Rates by unit and signal.

    Args:
        interval: deltas with the counters of ``sampler.COUNTERS``.
        catalog: where each unit lives.
        shape: block size and current segment of each unit of that catalog.
    """
    interval = with_parts(interval, shape.parts)
    at = catalog.units.rows_of(interval.physical_id)
    known = at >= 0
    space = np.where(known, catalog.units.space[at], NOWHERE) if len(catalog.units) else np.full(len(at), NOWHERE)
    block_bytes = np.where(known, shape.block_bytes[at], 8192.0) if len(catalog.units) else np.full(len(at), 8192.0)
    delta, files = interval.deltas, files_of(interval.spaces, catalog)
    reads = divide_reads(delta, LARGEST_CALL_BYTES / block_bytes, space, files)
    seconds = read_seconds_of(interval, catalog)[space]
    waits = waited_seconds(reads, delta["from_flash"], seconds, space, files, interval.database)
    missed = reads.single + reads.blocks
    waited = np.maximum(0.0, reads.single - delta["from_flash"])
    waited = waited * share_of_waits(float(waited.sum()), interval)
    # Where waits are measured, those of direct reads are in them already; as DIRECT_READ they would be priced a second
    # time.
    ahead, direct = (reads.direct_blocks, 0.0) if waits is not None else (0.0, reads.direct_blocks)
    # The statistics of one segment are read a moment apart, so a part may come out larger than its whole.
    written_direct = np.minimum(delta["written_direct"], delta["blocks_written"])
    counts = np.zeros((SIGNALS, len(at)))
    counts[Signal.LOGICAL_READ] = np.maximum(0.0, delta["logical_reads"] - reads.direct_single - reads.direct_blocks)
    counts[Signal.SYNC_READ] = waited + reads.direct_single
    counts[Signal.PREFETCHED_READ] = missed - waited + ahead
    counts[Signal.DIRECT_READ] = direct
    counts[Signal.ASYNC_WRITE] = delta["blocks_written"] - written_direct
    counts[Signal.SYNC_WRITE] = written_direct
    observed = known & ~interval.restarted & ~_is_replaced(interval, shape, at)
    return build_demand(
        interval, counts, observed, estimated=ESTIMATED, spaces=_space_rates(interval), waited_seconds=waits
    )


def with_parts(interval: Interval, parts: I64) -> Interval:
    """The interval with what the index of each LOB did counted with its LOB.

    Args:
        interval: by object.
        parts: object ids of the indexes, ascending, and of their LOBs, shape ``(2, n)``.
    """
    inner = np.isin(interval.physical_id, parts[0])
    if not inner.any():
        return interval
    ids = interval.physical_id.copy()
    ids[inner] = parts[1][np.searchsorted(parts[0], ids[inner])]
    found, row = np.unique(ids, return_inverse=True)
    own = {SEGMENT: interval.deltas[SEGMENT] * ~inner}  # of the LOB alone: it says whether that was moved
    deltas = {
        name: np.bincount(row, weights=values).astype(np.float64) for name, values in {**interval.deltas, **own}.items()
    }
    restarted = np.bincount(row, weights=interval.restarted) > 0
    return replace(interval, physical_id=found, deltas=deltas, restarted=restarted)


def read_seconds_of(interval: Interval, catalog: Catalog) -> F64:
    """Seconds of a single-block read by row of the catalog's spaces, and at the end of what is in none of them.

    Where a tablespace had none, that of all; 1 where none is timed, which makes them all alike.
    """
    waits, seconds = interval.database.get(counted(SINGLE), 0.0), interval.database.get(timed(SINGLE), 0.0)
    usual = seconds / waits if waits > 0 and seconds > 0 else 1.0
    found, figures = np.full(len(catalog.spaces) + 1, usual), interval.spaces
    row_of = {space.name: row for row, space in enumerate(catalog.spaces)}
    for name, count, took in zip(figures.name, figures.reads, figures.read_seconds, strict=True) if figures else ():
        if name in row_of and count > 0 and took > 0:
            found[row_of[name]] = took / count
    return found


def share_of_waits(reads: float, interval: Interval) -> float:
    """What part of so many reads sessions can have waited for: 1 where all of them or none were counted.

    V$SYSTEM_EVENT counts waits for one block, and waits for several single blocks at once, each of at most as many as
    the largest call moves.
    """
    waits = interval.database.get(counted(SINGLE), np.nan)
    waits += LARGEST_BATCH * interval.database.get(counted(BATCH), np.nan)
    return min(1.0, waits / reads) if reads > 0 and waits >= 0 else 1.0


def files_of(figures: SpaceFigures | None, catalog: Catalog) -> F64:
    """Single-block reads by row of the catalog's spaces, NaN where they are not known."""
    reads = dict(zip(figures.name, figures.reads, strict=True)) if figures is not None else {}
    return np.array([reads.get(space.name, np.nan) for space in catalog.spaces], dtype=np.float64)


def _is_replaced(interval: Interval, shape: Shape, at: I64) -> Bools:
    """Whose segment is another one than at the start: moved, rebuilt or truncated.

    A file that was not there before started from zero; it is recognised by its id, which is new.
    """
    change = interval.deltas[SEGMENT]
    current = np.where(at >= 0, shape.segment[at], 0) if len(shape.segment) else np.zeros(len(at), dtype=np.int64)
    replaced: Bools = (change != 0) & (change != current)
    return replaced


def _space_rates(interval: Interval) -> SpaceFigures | None:
    figures, seconds = interval.spaces, interval.seconds
    if figures is None:
        return None
    return SpaceFigures(
        name=figures.name,
        reads=figures.reads / seconds,
        read_seconds=figures.read_seconds / seconds,
        writes=figures.writes / seconds,
        write_seconds=figures.write_seconds / seconds,
    )
