"""How long sessions waited for each segment: the time of each kind of wait, divided among the segments. Pure.

V$SYSTEM_EVENT times waits of foreground sessions by kind for the whole container, the files time single-block reads of
each tablespace, and no view free of a licence times a segment::

    db file sequential read   single-block reads x read time of the tablespace, in all no more than the event
    db file parallel read     several single-block reads at once, in no file's count: its time by those blocks
    db file scattered read    a call for several blocks is waited for as a whole: its time by calls and blocks
    direct path read          single-block ones are waited for each, scans are issued ahead: what is left of its time
    read by other session     a wait for what another reads into the cache: its time by the waits above it

Meanings: Reference, appendix on wait events. A block more in a call costs about ``BLOCK_RATIO`` of a random read.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from connectors.model import F64, I64
from connectors.oracle.reading.read_kinds import ReadKinds

SINGLE, BATCH, SEVERAL, DIRECT, SHARED = "single_block", "batch_read", "multiblock", "direct_read", "shared_read"
KINDS = (SINGLE, BATCH, SEVERAL, DIRECT, SHARED)
BLOCK_RATIO = 0.02  # 8 KiB at 60 MB/s against 6 ms, or at 1 GB/s against 0.4 ms


def counted(kind: str) -> str:
    """The name of a kind's number of waits among the figures of the database."""
    return f"{kind}_waits"


def timed(kind: str) -> str:
    """The name of its seconds."""
    return f"{kind}_seconds"


def waited_seconds(
    reads: ReadKinds, from_flash: F64, read_seconds: F64, space: I64, files: F64, figures: Mapping[str, float]
) -> F64 | None:
    """Seconds that sessions waited for each segment; None where the server times no waits.

    Args:
        reads: of each segment.
        from_flash: single-block reads of each that a flash cache served.
        read_seconds: of a single-block read in each segment's tablespace, > 0.
        space: row of its tablespace, below 0 where it is not known.
        files: single-block reads of each tablespace, NaN where they were not counted.
        figures: of the database, by ``counted`` and ``timed``.
    """
    if not all(timed(kind) in figures and counted(kind) in figures for kind in KINDS):
        return None
    times, waits = ({kind: figures[name(kind)] for kind in KINDS} for name in (timed, counted))
    if sum(waits.values()) > 0 and not sum(times.values()) > 0:
        return None  # TIMED_STATISTICS is off
    batched = reads.single * (1.0 - _share_of_files(reads.single, space, files)) * (waits[BATCH] > 0)
    alone = np.maximum(0.0, reads.single - batched - from_flash) * read_seconds
    # Scaled down to the event but never up: waits beyond what segments explain were for the dictionary, undo or file
    # headers.
    cached = alone * min(1.0, _ratio(times[SINGLE], float(alone.sum())))
    cached = cached + _divided(times[BATCH], (batched if batched.any() else reads.single) * read_seconds)
    calls = (reads.calls + BLOCK_RATIO * reads.blocks) * read_seconds
    cached = cached + _divided(times[SEVERAL] * _ours(reads.calls, waits[SEVERAL]), calls)
    return cached + _divided(times[SHARED], cached) + _direct(reads, read_seconds, times[DIRECT], waits[DIRECT])


def _direct(reads: ReadKinds, read_seconds: F64, seconds: float, waits: float) -> F64:
    seconds *= _ours(reads.direct_single + reads.direct_calls, waits)
    single = reads.direct_single * read_seconds
    ahead = (reads.direct_calls + BLOCK_RATIO * reads.direct_blocks) * read_seconds
    if not ahead.any():
        return _divided(seconds, single)
    # Single-block ones first, since each is waited for in full; of calls that are issued ahead a session waits only for
    # what is late.
    certain = min(seconds, float(single.sum()))
    return _divided(certain, single) + _divided(seconds - certain, ahead)


def _share_of_files(single: F64, space: I64, files: F64) -> F64:
    """What part of the single-block reads of each segment's tablespace its files counted as such."""
    inside = space >= 0
    if not len(files) or not inside.any():
        return np.ones(len(single))
    total = np.bincount(space[inside], weights=single[inside], minlength=len(files))[: len(files)]
    known = np.isfinite(files) & (total > 0)
    share = np.minimum(1.0, np.divide(files, total, out=np.ones(len(files)), where=known))
    return np.where(inside, share[np.maximum(space, 0)], 1.0)


def _ours(calls: F64, waits: float) -> float:
    """What part of the waits the segments' calls can have caused: others are for SYSTEM and SYSAUX."""
    return min(1.0, _ratio(float(calls.sum()), waits))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 1.0


def _divided(seconds: float, weights: F64) -> F64:
    """So many seconds by weight, none where nothing has any."""
    total = float(weights.sum())
    return weights * (seconds / total) if total > 0 else np.zeros(len(weights))
