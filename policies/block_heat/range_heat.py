"""What looks at one unit have shown so far: reads by range of its blocks, decayed, and hour by hour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connectors.model import F64, I64
from policies.block_heat.turnover import Turnover

HALF_LIFE_HOURS = 24.0
KEPT_HOURS = 168  # of the picture over time
_FACTS = ("width", "blocks", "block_bytes", "pairs", "seen", "estimated", "counted", "seconds", "at_hour")
HALVES = 2  # looks go to one or the other in turn; each checks what the other shows


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeHeat:
    """Reads by range of one unit.

    Sums decay with ``HALF_LIFE_HOURS``; ranges are ``width`` blocks each, the last one may hold fewer.
    """

    width: int  # blocks
    blocks: int  # of the unit at the last look
    block_bytes: int
    reads: F64  # (HALVES, ranges) estimated reads from storage
    seen: float  # blocks that were seen to come in, in all ranges; what the errors follow from
    estimated: float  # reads that the model makes of them
    counted: float  # reads from storage that the engine counted meanwhile; 0: it counts none
    seconds: float  # between looks
    pairs: int  # of looks, undecayed
    at_hour: float  # hours since the epoch, of the last look
    hour: I64  # (hours,) rising, hours since the epoch
    pairs_of_hour: I64  # (hours,) how many pairs of looks each rests on
    by_hour: F64  # (hours, ranges) reads a second
    waited: F64 | None = None  # (ranges,) estimated seconds that reads took; None: the engine does not say

    @property
    def ranges(self) -> int:
        """Number of ranges."""
        return int(self.reads.shape[1])

    @property
    def range_blocks(self) -> F64:
        """Blocks of each range, shape ``(ranges,)``."""
        held = np.full(self.ranges, float(self.width))
        held[-1:] = self.blocks - self.width * (self.ranges - 1)
        return held

    @property
    def coverage(self) -> float:
        """Share of the reads that the engine counted which the looks account for, at most 1; NaN: it counts none."""
        return min(1.0, self.estimated / self.counted) if self.counted > 0 else float("nan")

    def wait_share(self, first_block: int, blocks: int) -> float:
        """Share of the time that reads took which went to reads of these blocks; NaN: the engine does not say.

        Of a range that lies in them in part, as much as it does.
        """
        if self.waited is None or not self.waited.sum():
            return float("nan")
        edges = np.minimum(np.arange(self.ranges + 1) * self.width, self.blocks)
        upto = np.concatenate(([0.0], np.cumsum(self.waited)))
        first, end = np.interp([first_block, first_block + blocks], edges, upto)
        return float((end - first) / upto[-1])


def first_heat(turnover: Turnover) -> RangeHeat:
    """Nothing shown yet, of a unit as it was at that turnover."""
    ranges = len(turnover.blocks)
    return RangeHeat(
        width=turnover.width, blocks=int(turnover.blocks.sum()), block_bytes=turnover.block_bytes,
        reads=np.zeros((HALVES, ranges)), seen=0.0, estimated=0.0, counted=0.0, seconds=0.0, pairs=0, at_hour=0.0,
        hour=np.empty(0, dtype=np.int64), pairs_of_hour=np.empty(0, dtype=np.int64), by_hour=np.empty((0, ranges)),
    )  # fmt: skip


def with_turnover(before: RangeHeat | None, turnover: Turnover, counted: float, at_hour: float) -> RangeHeat:
    """What is known after one more pair of looks.

    A unit that has become so short that its ranges were made narrower begins again: what was seen of ranges cannot be
    taken apart.

    Args:
        before: what was known, None: nothing.
        turnover: between the looks.
        counted: reads from storage of the unit between the looks by the engine's own counter.
        at_hour: hours since the epoch.
    """
    if before is None or before.width > turnover.width:
        before = first_heat(turnover)
    heat = _with_ranges(before, turnover.width, len(turnover.blocks))
    fades = 0.5 ** (max(0.0, at_hour - heat.at_hour) / HALF_LIFE_HOURS)
    found = turnover.reads()
    reads = heat.reads * fades
    reads[heat.pairs % HALVES] += found
    return replace(
        _with_hour(heat, found / turnover.seconds, int(at_hour)),
        waited=_with_waits(heat.waited, fades, turnover),
        blocks=int(turnover.blocks.sum()),
        reads=reads,
        seen=heat.seen * fades + float(turnover.came.sum()) / turnover.one_in,
        estimated=heat.estimated * fades + float(found.sum()),
        counted=heat.counted * fades + counted,
        seconds=heat.seconds * fades + turnover.seconds,
        pairs=heat.pairs + 1,
        at_hour=max(at_hour, heat.at_hour),
    )


def _with_waits(waited: F64 | None, fades: float, turnover: Turnover) -> F64 | None:
    if waited is None:
        return None if turnover.read_seconds is None else turnover.waits()
    return np.asarray(waited * fades + turnover.waits(), dtype=np.float64)


def _with_ranges(heat: RangeHeat, width: int, ranges: int) -> RangeHeat:
    """The same in wider ranges and in more or fewer of them."""
    reads, by_hour = (_resize(_merge_ranges(each, width // heat.width), ranges) for each in (heat.reads, heat.by_hour))
    waited = None if heat.waited is None else _resize(_merge_ranges(heat.waited[None], width // heat.width), ranges)[0]
    return replace(heat, width=width, reads=reads, by_hour=by_hour, waited=waited)


def _merge_ranges(columns: F64, times: int) -> F64:
    """Ranges added up so many at a time, shape ``(rows, ranges)``."""
    full = _resize(columns, -(-columns.shape[1] // times) * times)
    return np.asarray(full.reshape(len(full), full.shape[1] // times, times).sum(axis=2), dtype=np.float64)


def _resize(columns: F64, ranges: int) -> F64:
    """Zeros behind, or cut: a range that the unit no longer has is read no more."""
    more = max(0, ranges - columns.shape[1])
    return np.pad(columns, ((0, 0), (0, more)))[:, :ranges]


def _with_hour(heat: RangeHeat, rate: F64, hour: int) -> RangeHeat:
    """The picture over time with one more pair: an hour shows the mean of its pairs."""
    if not len(heat.hour) or heat.hour[-1] != hour:
        return replace(
            heat,
            hour=np.append(heat.hour, hour)[-KEPT_HOURS:],
            pairs_of_hour=np.append(heat.pairs_of_hour, 1)[-KEPT_HOURS:],
            by_hour=np.vstack((heat.by_hour, rate))[-KEPT_HOURS:],
        )
    by_hour, pairs = heat.by_hour.copy(), heat.pairs_of_hour.copy()
    pairs[-1] += 1
    by_hour[-1] += (rate - by_hour[-1]) / pairs[-1]
    return replace(heat, pairs_of_hour=pairs, by_hour=by_hour)


def heat_arrays(heat: RangeHeat) -> dict[str, NDArray[Any]]:
    """For the ledger."""
    return {
        **({} if heat.waited is None else {"waited": heat.waited}),
        "facts": np.array([getattr(heat, name) for name in _FACTS], dtype=np.float64),
        "reads": heat.reads,
        "hour": heat.hour,
        "pairs_of_hour": heat.pairs_of_hour,
        "by_hour": heat.by_hour.astype(np.float32),  # a picture
    }


def heat_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> RangeHeat:
    """From the ledger."""
    width, blocks, block_bytes, pairs, *sums = arrays["facts"].tolist()
    seen, estimated, counted, seconds, at_hour = sums
    return RangeHeat(
        width=int(width), blocks=int(blocks), block_bytes=int(block_bytes), pairs=int(pairs),
        seen=seen, estimated=estimated, counted=counted, seconds=seconds, at_hour=at_hour,
        reads=arrays["reads"].astype(np.float64),
        hour=arrays["hour"].astype(np.int64),
        pairs_of_hour=arrays["pairs_of_hour"].astype(np.int64),
        by_hour=arrays["by_hour"].astype(np.float64),
        waited=arrays["waited"].astype(np.float64) if "waited" in arrays else None,
    )  # fmt: skip
