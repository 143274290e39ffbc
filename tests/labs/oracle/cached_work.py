"""Levers of work that goes through the buffer cache, block by block (rule 14)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from connectors.model.observation import I64
from tests.labs.oracle.cache.buffers import NUMBER_BITS, BufferCache, block_keys
from tests.labs.oracle.cache.extents import ExtentMap
from tests.labs.oracle.model import Quirks, Segment

UNDO_OBJECT = (1 << 32) - 1  # OBJD of blocks of undo
_SMALL = 50  # a table with less than this part of the buffers is small to a scan
_SEED = 24


class CachedWork(ABC):
    """The caches of all instances, and the truth about what was read into them."""

    def __init__(self, quirks: Quirks) -> None:
        self.caches = [BufferCache(quirks.buffers) for _ in range(quirks.instances)]
        self.extents = ExtentMap()
        self.seconds_per_buffer = 0.0  # that a query of V$BH takes
        self._true: dict[int, I64] = {}  # physical reads of each block by look-ups, by data object
        self._chance = np.random.default_rng(_SEED)

    @abstractmethod
    def segments(self) -> Iterator[Segment]:
        """All segments there are."""

    def reads_of_blocks(self, segment: Segment) -> I64:
        """Physical reads of each of its blocks by ``look_up``, shape ``(blocks,)``."""
        counted = self._true.get(segment.data_object_id, np.zeros(0, np.int64))
        return np.pad(counted, (0, max(0, segment.blocks - len(counted))))[: segment.blocks]

    def forget_gone(self) -> None:
        """Buffers and room of segments that are gone. The lock is held."""
        alive = {segment.data_object_id for segment in self.segments()}
        self.extents.keep_only(alive)
        for cache in self.caches:
            cache.keep_only(alive | {UNDO_OBJECT})

    def bring_in(self, segment: Segment, blocks: I64, instance: int) -> int:
        """Touch blocks of a segment; how many of them had to be read. The lock is held."""
        missed = np.array(self.caches[instance - 1].get(block_keys(segment.data_object_id, blocks).tolist()), np.int64)
        numbers = missed - (segment.data_object_id << NUMBER_BITS)
        self._true[segment.data_object_id] = self.reads_of_blocks(segment) + np.bincount(
            numbers, minlength=segment.blocks
        )
        return len(missed)

    def bring_in_any(self, segment: Segment, reads: int, instance: int) -> None:
        """So many reads of blocks anywhere in the segment. The lock is held."""
        cache = self.caches[instance - 1]
        if segment.blocks:
            numbers = self._chance.integers(0, segment.blocks, min(reads, cache.buffers))
            cache.get(block_keys(segment.data_object_id, numbers).tolist())

    def bring_in_undo(self, reads: int, instance: int) -> None:
        """Blocks of undo. The lock is held."""
        numbers = self._chance.integers(0, 1 << 16, min(reads, self.caches[instance - 1].buffers))
        self.caches[instance - 1].get(block_keys(UNDO_OBJECT, numbers).tolist())

    def bring_in_scan(self, segment: Segment, at_once: int, instance: int) -> None:
        """Of a large segment the blocks of the last read remain, of a small one all. The lock is held."""
        cache, blocks = self.caches[instance - 1], np.arange(segment.blocks, dtype=np.int64)
        if segment.blocks * _SMALL <= cache.buffers:
            cache.get(block_keys(segment.data_object_id, blocks).tolist())
        else:
            cache.pass_through(block_keys(segment.data_object_id, blocks[-at_once:]).tolist())
