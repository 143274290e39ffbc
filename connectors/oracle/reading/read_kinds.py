"""Divides the reads of each segment into those of one block and of several, through the buffer cache and past it. Pure.

Oracle counts, for each segment, blocks read (B, direct ones included), direct ones (D) and read calls (R). No view that
is free of a licence says how many calls read a single block. A call that is no single-block one moves between 2 and M
blocks (M: 1 MiB of them), hence::

    max(0, 2R - B) <= single <= min(R, (M R - B) / (M - 1))

V$FILESTAT and V$IOSTAT_FILE do count single-block reads through the cache, of a whole tablespace (F). What they leave
between the bounds is given to all segments there alike::

    single = lower + (upper - lower) * (F - sum of lower) / (sum of upper - sum of lower)          clipped to 0 .. 1

Segments that are in no known tablespace might have done any of it, so what they may have done is taken off F. Calls for
several blocks, which V$IOSTAT_FILE counts too (LARGE), say nothing: small ones are missing there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from connectors.model import F64, I64


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadKinds:
    """Of each segment, shape ``(segments,)``."""

    single: F64  # calls for one block, through the cache
    calls: F64  # for several
    blocks: F64  # that those read
    direct_single: F64  # calls for one block, past the cache: LOBs with NOCACHE
    direct_calls: F64  # for several
    direct_blocks: F64


def divide_reads(delta: Mapping[str, F64], largest: F64, space: I64, files: F64) -> ReadKinds:
    """What each segment read how.

    Args:
        delta: by the names of ``sampler.COUNTERS``.
        largest: blocks that one call may move at most.
        space: row of the segment's tablespace, below 0 where it is not known.
        files: single-block reads of each tablespace, NaN where they were not counted.
    """
    blocks, requests = delta["blocks_read"], delta["requests"]
    direct = np.minimum(delta["blocks_direct"], blocks)
    missed = blocks - direct
    lower, upper = single_bounds(blocks, requests, largest)
    single = _likely_singles(np.minimum(lower, missed), np.minimum(upper, missed), space, files)
    direct_single = np.clip(lower - single, 0.0, direct)
    calls = np.maximum(0.0, requests - single - direct_single)
    cached_blocks, direct_blocks = missed - single, direct - direct_single
    several = cached_blocks + direct_blocks
    cached_share = np.divide(cached_blocks, several, out=np.ones(len(several)), where=several > 0)
    return ReadKinds(
        single=single,
        calls=calls * cached_share,
        blocks=cached_blocks,
        direct_single=direct_single,
        direct_calls=calls * (1.0 - cached_share),
        direct_blocks=direct_blocks,
    )


def single_bounds(blocks: F64, calls: F64, largest: F64 | float) -> tuple[F64, F64]:
    """The fewest and the most single-block calls among so many that read so many blocks, ``largest`` each at most."""
    lower = np.minimum(np.maximum(0.0, 2.0 * calls - blocks), calls)
    upper = np.clip((largest * calls - blocks) / (largest - 1.0), 0.0, calls)
    return lower, np.maximum(upper, lower)


def _likely_singles(lower: F64, upper: F64, space: I64, files: F64) -> F64:
    """Between the bounds, so that they add up to what the files of each tablespace counted."""
    inside = space >= 0
    if not len(files) or not inside.any():
        return lower
    anywhere = float(upper[~inside].sum())
    least = np.bincount(space[inside], weights=lower[inside], minlength=len(files))[: len(files)]
    most = np.bincount(space[inside], weights=upper[inside], minlength=len(files))[: len(files)]
    left = np.nan_to_num(files - anywhere - least, nan=0.0)
    share = np.clip(np.divide(left, most - least, out=np.zeros(len(files)), where=most > least), 0.0, 1.0)
    # One share for all segments of a tablespace: nothing tells which of them read how, and with a middle value for each
    # the sum would contradict what the files counted.
    return np.where(inside, lower + (upper - lower) * share[np.maximum(space, 0)], lower)
