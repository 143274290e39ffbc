"""Turns counters into signals. Pure; nothing here asks the server.

Oracle counts, for each segment, blocks read (B, direct ones included), direct ones (D) and read calls (R). No view
that is free of a licence says how many calls read a single block, so the split is a bound, on the careful side. A call
that is no single-block one moves between 2 and M blocks (M: 1 MiB of them), hence::

    max(0, 2R - B) <= single <= min(R, (M R - B) / (M - 1))

V$FILESTAT and V$IOSTAT_FILE do count single-block reads, of a whole tablespace (F; see ``sampler.space_figures``).
What the other segments there cannot have done, a segment has done itself, which lifts the lower bound where scans and
look-ups mix::

    single >= F - (upper bounds of all others in the tablespace)

Calls for several blocks, which V$IOSTAT_FILE counts too (LARGE), lift nothing: small ones are missing there.

Then, of the blocks that missed the buffer cache (C = B - D)::

    SYNC       = min(C, single) - those a flash cache served, and over all segments no more than sessions waited for
    PREFETCHED = C - SYNC
    DIRECT     = D

A direct read is a logical read too, so it is taken off there. Statistics of one segment are read a moment apart; small
negative differences are zero.
"""

from __future__ import annotations

import numpy as np

from connectors.demand_rates import build_demand
from connectors.model import F64, I64, SIGNALS, Bools, Catalog, Demand, Interval, Signal
from connectors.oracle.reading.catalog import Shape
from connectors.oracle.reading.sampler import BATCH_WAITS, SEGMENT, SINGLE_WAITS
from connectors.storage_io import SpaceFigures

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
    at = catalog.units.rows_of(interval.physical_id)
    known = at >= 0
    space = np.where(known, catalog.units.space[at], NOWHERE) if len(catalog.units) else np.full(len(at), NOWHERE)
    block_bytes = np.where(known, shape.block_bytes[at], 8192.0) if len(catalog.units) else np.full(len(at), 8192.0)
    delta = interval.deltas
    direct = np.minimum(delta["blocks_direct"], delta["blocks_read"])
    missed = delta["blocks_read"] - direct
    single = single_block_reads(
        delta["blocks_read"],
        delta["requests"],
        LARGEST_CALL_BYTES / block_bytes,
        space,
        files_of(interval.spaces, catalog),
    )
    waited = np.maximum(0.0, np.minimum(missed, single) - delta["from_flash"])
    waited = waited * share_of_waits(float(waited.sum()), interval)
    written_direct = np.minimum(delta["written_direct"], delta["blocks_written"])
    counts = np.zeros((SIGNALS, len(at)))
    counts[Signal.LOGICAL_READ] = np.maximum(0.0, delta["logical_reads"] - direct)
    counts[Signal.SYNC_READ] = waited
    counts[Signal.PREFETCHED_READ] = missed - waited
    counts[Signal.DIRECT_READ] = direct
    counts[Signal.ASYNC_WRITE] = delta["blocks_written"] - written_direct
    counts[Signal.SYNC_WRITE] = written_direct
    observed = known & ~interval.restarted & ~_is_replaced(interval, shape, at)
    return build_demand(interval, counts, observed, estimated=ESTIMATED, spaces=_space_rates(interval))


def single_block_reads(blocks: F64, calls: F64, largest: F64, space: I64, files: F64) -> F64:
    """The fewest single-block calls that each segment must have made.

    Args:
        blocks: read by each segment, shape ``(segments,)``.
        calls: that read them.
        largest: blocks that one call may move at most.
        space: row of the segment's tablespace, NOWHERE where it is not known.
        files: single-block reads of each tablespace, NaN where they were not counted.
    """
    lower = np.maximum(0.0, 2.0 * calls - blocks)
    upper = np.clip((largest * calls - blocks) / (largest - 1.0), 0.0, calls)
    upper = np.maximum(upper, np.minimum(lower, calls))
    inside = space >= 0
    in_space = np.bincount(space[inside], weights=upper[inside], minlength=len(files))[: len(files)]
    anywhere = float(upper[~inside].sum())  # might have been in any of them
    spare = np.nan_to_num(files - in_space - anywhere, nan=-np.inf)
    lifted = np.where(inside, (spare[space] if len(files) else -np.inf) + upper, -np.inf)
    return np.minimum(np.maximum(lower, lifted), upper)


def share_of_waits(reads: float, interval: Interval) -> float:
    """What part of so many reads sessions can have waited for: 1 where all of them or none were counted.

    V$SYSTEM_EVENT counts waits for one block, and waits for several single blocks at once, each of at most as many as
    the largest call moves.
    """
    waits = interval.database.get(SINGLE_WAITS, np.nan) + LARGEST_BATCH * interval.database.get(BATCH_WAITS, np.nan)
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
