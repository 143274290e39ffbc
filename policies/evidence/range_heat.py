"""Reads by range of a unit's blocks, from looks at the buffer pool, and how concentrated they are.

``compare_looks`` estimates reads from two lists of the blocks that the pool holds. Blocks that appear only in the
second list have been read, but counting them alone misses blocks that left and came back, most of all in hot ranges. A
block outside the pool is read at some rate ``a``, and then stays for longer than the time ``d`` between the looks,
since a pool is not turned over so fast. Of the blocks outside at the first look, the share inside at the second is
``1 - exp(-a d)``. With the same number outside at any time, the range is read ``a d`` times that number between the
looks. Blocks
behind the end that the unit had at the first look were not read but made; so were pages whose read took no time. A
model of how long blocks stay is not needed. One with a constant chance of leaving was tried and errs by up to
twice, since what a clock sweep leaves in the pool is what came last.

``RangeHeat`` accumulates what the looks at one unit have shown: reads by range, decayed, and hour by hour.

``concentrate`` says how few blocks take most of the reads, and whether they lie together. Ranges picked by noisy counts
are partly the luckiest, and the same counts would then overstate them. So one half of the looks picks the ranges, the
other half counts them, and vice versa (cross-fitting). The mean of both errs on the careful side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connectors.model.observation import F64, I64

MOST_RANGES = 128  # of a unit; a range holds a power of two of blocks, so there are 65 to 128 once it has as many
_SATURATED = 0.95  # share of the blocks outside that came in: beyond it the looks were too far apart to say more


def blocks_per_range(blocks: int) -> int:
    """A power of two, the smallest with which ``MOST_RANGES`` ranges hold so many blocks.

    A power of two, so that the ranges of a unit that has outgrown them are merged by pairs and never cut.
    """
    return 1 << max(0, -(-blocks // MOST_RANGES) - 1).bit_length()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turnover:
    """How the resident blocks of a unit changed between two looks, by range; columns of shape ``(ranges,)``."""

    width: int  # blocks per range
    block_bytes: int
    one_in: int  # of so many blocks one was listed; the columns are scaled up
    blocks: F64  # of the range
    before: F64  # of them, resident at the first look
    after: F64  # at the second
    came: F64  # resident at the second and not at the first
    seconds: float  # between the looks
    read_seconds: F64 | None = None  # that the reads of those took; None: the engine does not say
    made: F64 | float = 0.0  # of ``blocks``, those that the unit did not have at the first look
    storage: int = 0  # in which blocks have these numbers

    def reads(self) -> F64:
        """Reads from storage of each range between the looks by the model, at least ``came``. Shape ``(ranges,)``."""
        outside = np.maximum(self.blocks - self.made - self.before, 1.0)
        share = np.minimum(self.came / outside, _SATURATED)
        return np.asarray(np.maximum(-outside * np.log1p(-share), self.came), dtype=np.float64)

    def waits(self) -> F64:
        """Seconds that these reads took, each as long as those that were seen in its range; 0: the engine does not say.

        Shape ``(ranges,)``.
        """
        if self.read_seconds is None:
            return np.zeros(len(self.came))
        return np.asarray(self.reads() * self.read_seconds / np.maximum(self.came, 1.0), dtype=np.float64)


def compare_looks(
    before: I64,
    after: I64,
    *,
    blocks: int,
    block_bytes: int,
    seconds: float,
    one_in: int = 1,
    identities: tuple[I64, I64] | None = None,
    read_seconds: F64 | None = None,
    blocks_before: int | None = None,
    storage: int = 0,
) -> Turnover:
    """The turnover between two looks at the same unit.

    Args:
        before: numbers of the resident blocks at the first look, rising.
        after: the same at the second.
        blocks: of the unit at the second look.
        block_bytes: size of a block.
        seconds: between the looks, positive.
        one_in: both looks list one block in so many, chosen by its number.
        identities: what tells blocks apart, of ``before`` and ``after``; None: their numbers.
        read_seconds: that the read of each of ``after`` took, 0 of one that was not; None: the engine does not say.
        blocks_before: of the unit at the first look; None: as many as at the second.
        storage: in which blocks have these numbers, the same at both looks.
    """
    width = blocks_per_range(blocks)
    ranges = -(-blocks // width)
    earlier, later = (before, after) if identities is None else identities
    came = np.isin(later, earlier, assume_unique=True, invert=True)
    if blocks_before is not None:
        came &= after < blocks_before  # what rows are appended to comes into the pool without being read
    if read_seconds is not None:
        came &= read_seconds > 0

    def by_range(numbers: I64, each: F64 | None = None) -> F64:
        inside = numbers < blocks  # the unit may have been cut short between the looks
        weights = None if each is None else each[inside]
        return np.bincount(numbers[inside] // width, weights, minlength=ranges).astype(np.float64) * one_in

    held = np.full(ranges, float(width))
    held[-1:] = blocks - width * (ranges - 1)
    end = np.cumsum(held)
    made = np.clip(end - (blocks if blocks_before is None else blocks_before), 0.0, held)
    return Turnover(
        width=width,
        block_bytes=block_bytes,
        one_in=one_in,
        blocks=held,
        before=np.minimum(by_range(before), held),
        after=np.minimum(by_range(after), held),
        came=np.minimum(by_range(after[came]), held),
        seconds=seconds,
        read_seconds=None if read_seconds is None else by_range(after[came], read_seconds[came]),
        made=made,
        storage=storage,
    )


HALF_LIFE_HOURS = 24.0
KEPT_HOURS = 168  # of the picture over time
_FACTS = ("width", "blocks", "block_bytes", "pairs", "seen", "estimated", "counted", "seconds", "at_hour", "storage")
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
    storage: int = 0  # in which blocks have these numbers; 0: not known

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
        storage=turnover.storage,
    )  # fmt: skip


def with_turnover(before: RangeHeat | None, turnover: Turnover, counted: float, at_hour: float) -> RangeHeat:
    """What is known after one more pair of looks.

    A unit that has become so short that its ranges were made narrower begins again: what was seen of ranges cannot be
    taken apart. So does one whose storage was rewritten: its rows lie elsewhere.

    Args:
        before: what was known, None: nothing.
        turnover: between the looks.
        counted: reads from storage of the unit between the looks by the engine's own counter.
        at_hour: hours since the epoch.
    """
    if before is None or before.width > turnover.width or before.storage != turnover.storage:
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
    seen, estimated, counted, seconds, at_hour, *storage = sums  # versions before noted no storage
    return RangeHeat(
        width=int(width), blocks=int(blocks), block_bytes=int(block_bytes), pairs=int(pairs),
        seen=seen, estimated=estimated, counted=counted, seconds=seconds, at_hour=at_hour,
        reads=arrays["reads"].astype(np.float64),
        hour=arrays["hour"].astype(np.int64),
        pairs_of_hour=arrays["pairs_of_hour"].astype(np.int64),
        by_hour=arrays["by_hour"].astype(np.float64),
        waited=arrays["waited"].astype(np.float64) if "waited" in arrays else None,
        storage=int(storage[0]) if storage else 0,
    )  # fmt: skip


SHARES = (0.05, 0.10, 0.25)  # of the blocks, for which it is stated how much they take
TENTH = SHARES.index(0.10)
LEAST_SEEN = 300.0  # blocks that came in, below which nothing is said
LEAST_OF_READS = 0.1  # that a part has to take to be worth a word
LEAST_GAIN = 1.5  # reads of a byte of a part, in those of a byte of its unit, at the low end
_EVEN = 0.45  # of the reads in the hottest quarter: no part is worth more than another
_TOGETHER = 0.85  # of what the hottest ranges take, in as many that lie side by side: they are one part
AS_GOOD = 0.97  # of the best excess: a part at the end of the file is taken for the newest rows, and is easier to split
LARGEST_PART = 0.5  # of the blocks: a larger one is no part but the unit
GAP = 0.02  # of the ranges, between two hot ones that are one place
MOST_PLACES = 4  # beyond which hot ranges are all over the unit
_Z = 1.6449  # of the normal distribution, for intervals of 90 %


class HeatShape(StrEnum):
    """Where the reads of a unit go."""

    NEWEST = "newest"  # to a part at the end of its file
    RANGE = "range"  # to a part elsewhere that lies together
    APART = "apart"  # to a few parts with much between them
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
class UnitPart:
    """A part of a unit that lies together."""

    first_block: int
    blocks: int
    share: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Concentration:
    """Where the reads of one unit go."""

    shape: HeatShape
    hottest: tuple[Share, ...]  # of the hottest ``SHARES`` of the blocks, wherever they lie
    part: UnitPart | None  # that lies together and takes most; None where there is none to speak of
    coverage: float  # of the reads that the engine counted; NaN: it counts none


def concentrate(heat: RangeHeat) -> Concentration:
    """Work it out."""
    if heat.seen < LEAST_SEEN or not heat.reads.sum(axis=1).all():
        return Concentration(shape=HeatShape.UNKNOWN, hottest=(), part=None, coverage=heat.coverage)
    hottest = tuple(share_with_interval(heat, share, hottest_reads(heat, share)) for share in SHARES)
    part = densest_part(heat)
    if part is None:
        even = hottest[-1].of_reads < _EVEN
        shape = HeatShape.EVEN if even else HeatShape.APART if hot_places(heat) <= MOST_PLACES else HeatShape.SCATTERED
        return Concentration(shape=shape, hottest=hottest, part=None, coverage=heat.coverage)
    at_end = part.first_block + part.blocks >= heat.blocks
    return Concentration(
        shape=HeatShape.NEWEST if at_end else HeatShape.RANGE, hottest=hottest, part=part, coverage=heat.coverage
    )


def densest_part(heat: RangeHeat) -> UnitPart | None:
    """The part that lies together and takes most reads beyond its share of the blocks; at the end of the file if near.

    Judged by what a byte of it brings: it has to take ``LEAST_GAIN`` times its share of the blocks, and no more than
    ``LARGEST_PART`` of them. A part in the middle is none where as many blocks picked from all over the unit take much
    more: then its heat does not lie together. One at the end of the file is one all the same, for a border cuts it off.
    """
    reads, held = heat.reads.sum(axis=0), heat.range_blocks
    excess = reads / reads.sum() - held / heat.blocks
    first, end = greatest_sum(excess)
    from_end = np.cumsum(excess[::-1])
    newest = len(excess) - 1 - int(from_end.argmax())
    if from_end.max() >= AS_GOOD * excess[first:end].sum():
        first, end = newest, len(excess)
    for begin, behind in dict.fromkeys(((first, end), (newest, len(excess)))):
        blocks = float(held[begin:behind].sum())
        of_blocks, of_reads = blocks / heat.blocks, float(reads[begin:behind].sum() / reads.sum())
        share = share_with_interval(heat, of_blocks, of_reads)
        together = behind == len(excess) or of_reads >= _TOGETHER * hottest_reads(heat, of_blocks)
        if together and pays_by_byte(share):
            return UnitPart(first_block=begin * heat.width, blocks=round(blocks), share=share)
    return None


def pays_by_byte(share: Share) -> bool:
    """Whether a byte of a part brings so much more than one of its unit that the part is worth being split off."""
    enough = share.of_reads >= LEAST_OF_READS and share.low >= LEAST_GAIN * share.of_blocks
    return 0 < share.of_blocks <= LARGEST_PART and enough


def hot_places(heat: RangeHeat) -> int:
    """In how many places lie the ranges that take half of the reads; small gaps between them make no other place."""
    reads, held = heat.reads.sum(axis=0), heat.range_blocks
    order = np.argsort(-reads / held, kind="stable")
    upto = int(np.searchsorted(np.cumsum(reads[order]), 0.5 * reads.sum())) + 1
    hot = np.sort(order[:upto])
    return 1 + int((np.diff(hot) > max(1.0, GAP * len(held))).sum())


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
