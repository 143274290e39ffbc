"""What two looks at the buffer pool say about reads by range of blocks.

A look lists the blocks of a unit that the pool holds. Blocks that are there now and were not at the look before have
been read meanwhile, but they are not all that was read: of the blocks inside at the first look some went and came back,
and they would be missed in proportion to how hot their range is. So the count is corrected. A block outside the pool is
read at some rate ``a`` and then stays for longer than the time ``d`` between the looks, since a pool is not turned over
so fast. Of the blocks outside at the first look the share inside at the second is then ``1 - exp(-a d)``, and with the
same number outside at any time the range is read ``a d`` times that number between the looks. No model of how long
blocks stay is needed: one with a constant chance of leaving was tried and errs by up to twice, since what a clock sweep
leaves in the pool is what came last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from connectors.model import F64, I64

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

    def reads(self) -> F64:
        """Reads from storage of each range between the looks by the model, at least ``came``. Shape ``(ranges,)``."""
        outside = np.maximum(self.blocks - self.before, 1.0)
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
        read_seconds: that the read of each of ``after`` took; None: the engine does not say.
    """
    width = blocks_per_range(blocks)
    ranges = -(-blocks // width)
    earlier, later = (before, after) if identities is None else identities
    came = np.isin(later, earlier, assume_unique=True, invert=True)

    def by_range(numbers: I64, each: F64 | None = None) -> F64:
        inside = numbers < blocks  # the unit may have been cut short between the looks
        weights = None if each is None else each[inside]
        return np.bincount(numbers[inside] // width, weights, minlength=ranges).astype(np.float64) * one_in

    held = np.full(ranges, float(width))
    held[-1:] = blocks - width * (ranges - 1)
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
    )
