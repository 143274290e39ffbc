"""How few blocks of a unit take most of its reads, and whether they lie together.

Whoever picks the hottest ranges by noisy counts picks the luckiest too, and counts them by what made them lucky. So
ranges are picked by one half of the looks and counted by the other, and the other way round (cross-fitting); the mean
of both errs on the careful side.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from connectors.model import F64
from policies.block_heat.range_heat import HALVES, RangeHeat

SHARES = (0.05, 0.10, 0.25)  # of the blocks, of which is said how much they take
TENTH = SHARES.index(0.10)
LEAST_SEEN = 300.0  # blocks that came in, below which nothing is said
LEAST_OF_READS = 0.5  # that a part has to take to be worth a word
_EVEN = 0.45  # of the reads in the hottest quarter: no part is worth more than another
_TOGETHER = 0.85  # of what the hottest ranges take, in as many that lie side by side: they are one part
AS_GOOD = 0.97  # of the best excess: a part at the end of the file is taken for the newest rows, and is easier to split
LARGEST_PART = 0.5  # of the blocks: a larger one is no part but the unit
_Z = 1.6449  # of the normal distribution, for intervals of 90 %


class Shape(StrEnum):
    """Where the reads of a unit go."""

    NEWEST = "newest"  # to a part at the end of its file
    RANGE = "range"  # to a part elsewhere that lies together
    SCATTERED = "scattered"  # to few blocks all over it
    EVEN = "even"  # to all of it
    UNKNOWN = "unknown"  # too little was seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of the reads, with the interval that holds it in 90 of 100 cases."""

    of_blocks: float
    of_reads: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a unit that lies together."""

    first_block: int
    blocks: int
    share: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Concentration:
    """Where the reads of one unit go."""

    shape: Shape
    hottest: tuple[Share, ...]  # of the hottest ``SHARES`` of the blocks, wherever they lie
    part: Part | None  # that lies together and takes most; None where there is none to speak of
    coverage: float  # of the reads that the engine counted; NaN: it counts none


def concentrate(heat: RangeHeat) -> Concentration:
    """Work it out."""
    if heat.seen < LEAST_SEEN or not heat.reads.sum(axis=1).all():
        return Concentration(shape=Shape.UNKNOWN, hottest=(), part=None, coverage=heat.coverage)
    hottest = tuple(share_with_interval(heat, share, hottest_reads(heat, share)) for share in SHARES)
    if hottest[-1].of_reads < _EVEN:
        return Concentration(shape=Shape.EVEN, hottest=hottest, part=None, coverage=heat.coverage)
    part = densest_part(heat)
    if part is None:
        return Concentration(shape=Shape.SCATTERED, hottest=hottest, part=None, coverage=heat.coverage)
    at_end = part.first_block + part.blocks >= heat.blocks
    return Concentration(
        shape=Shape.NEWEST if at_end else Shape.RANGE, hottest=hottest, part=part, coverage=heat.coverage
    )


def densest_part(heat: RangeHeat) -> Part | None:
    """The part that lies together and takes most reads beyond its share of the blocks; at the end of the file if near.

    None where that part is more than ``LARGEST_PART`` of the unit or takes less than ``LEAST_OF_READS``, or where as
    many blocks picked from all over the unit take much more: then its heat does not lie together.
    """
    reads, held = heat.reads.sum(axis=0), heat.range_blocks
    excess = reads / reads.sum() - held / heat.blocks
    first, end = greatest_sum(excess)
    from_end = np.cumsum(excess[::-1])
    newest = len(excess) - 1 - int(from_end.argmax())
    if from_end.max() >= AS_GOOD * excess[first:end].sum():
        first, end = newest, len(excess)
    blocks = float(held[first:end].sum())
    of_blocks, of_reads = blocks / heat.blocks, float(reads[first:end].sum() / reads.sum())
    if of_blocks > LARGEST_PART or of_reads < max(LEAST_OF_READS, _TOGETHER * hottest_reads(heat, of_blocks)):
        return None
    return Part(
        first_block=first * heat.width, blocks=round(blocks), share=share_with_interval(heat, of_blocks, of_reads)
    )


def greatest_sum(values: F64) -> tuple[int, int]:
    """First element, and the one behind the last, of the run with the greatest sum (Kadane); the first such run."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    lowest = np.minimum.accumulate(sums)
    end = int((sums[1:] - lowest[:-1]).argmax()) + 1
    return int(sums[:end].argmin()), end


def hottest_reads(heat: RangeHeat, of_blocks: float) -> float:
    """Share of the reads in the hottest ranges that hold so many of the blocks, the last of them in part."""
    held = heat.range_blocks
    found = []
    for half in range(HALVES):
        picked, counted = heat.reads[half], heat.reads[1 - half]
        order = np.argsort(-picked / held, kind="stable")
        upto = np.cumsum(held[order])
        taken = np.concatenate(([0.0], np.cumsum(counted[order])))
        found.append(float(np.interp(of_blocks * heat.blocks, np.concatenate(([0.0], upto)), taken)) / counted.sum())
    return float(np.mean(found))


def share_with_interval(heat: RangeHeat, of_blocks: float, of_reads: float) -> Share:
    """With the interval of a share of ``heat.seen`` blocks (Wilson, 1927)."""
    seen = heat.seen
    middle = (of_reads + _Z**2 / (2 * seen)) / (1 + _Z**2 / seen)
    half = _Z / (1 + _Z**2 / seen) * np.sqrt(of_reads * (1 - of_reads) / seen + _Z**2 / (4 * seen**2))
    return Share(
        of_blocks=of_blocks, of_reads=of_reads, low=max(0.0, float(middle - half)), high=min(1.0, float(middle + half))
    )
