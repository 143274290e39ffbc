"""A buffer cache with a list that has a hot and a cold end (rule 14d)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import numpy as np

from connectors.model.observation import I64

NUMBER_BITS = 28  # of a key: the lower ones number the block within its segment, those above are the data object's
VERSION_BITS = 3  # of a key, at its top: 0 is the current version of the block
_VERSION_SHIFT = 63 - VERSION_BITS
MOST_COPIES = 5  # older versions of one block
_HOT = 2  # touches with which a block stays at the cold end
_AFTER_COOLING = 1  # touches that a block has when the hot half pushes it out


def block_keys(data_object_id: int, blocks: I64) -> I64:
    """Keys of the current versions of some blocks of a segment."""
    return np.asarray(blocks + (data_object_id << NUMBER_BITS), dtype=np.int64)


class BufferCache:
    """The buffers of one instance."""

    def __init__(self, buffers: int) -> None:
        self.buffers = buffers
        self.dirty: set[int] = set()
        # Of each key its touches; what is next to leave comes first.
        self._cold: OrderedDict[int, int] = OrderedDict()
        self._hot: OrderedDict[int, int] = OrderedDict()

    def get(self, keys: Iterable[int]) -> list[int]:
        """Touch blocks one after the other; those that had to be read, in order. They are in the cache afterwards."""
        missed = []
        for key in keys:
            held = self._hot if key in self._hot else self._cold
            if key in held:
                held[key] += 1
            else:
                missed.append(key)
                self._enter(key)
        return missed

    def pass_through(self, keys: Iterable[int]) -> None:
        """Blocks of a large scan come in at the cold end, where each takes the place of the one before."""
        for key in keys:
            if key not in self._hot and key not in self._cold:
                self._enter(key)
                self._cold[key] = 0
                self._cold.move_to_end(key, last=False)

    def copy(self, keys: Iterable[int]) -> None:
        """Make one older version more of each block that is in the cache."""
        for key in keys:
            versions = (key | number << _VERSION_SHIFT for number in range(1, MOST_COPIES + 1))
            new = next((version for version in versions if version not in self._cold), None)
            if new is not None and (key in self._cold or key in self._hot):
                self._enter(new)
                self._cold[new] = 0

    def keep_only(self, data_object_ids: set[int]) -> None:
        """Buffers of segments that are gone are free."""
        for held in (self._cold, self._hot):
            for key in [key for key in held if (key & ~(-1 << _VERSION_SHIFT)) >> NUMBER_BITS not in data_object_ids]:
                del held[key]
                self.dirty.discard(key)

    def clear(self) -> None:
        """All buffers are free."""
        self._cold.clear()
        self._hot.clear()
        self.dirty.clear()

    def contents(self) -> tuple[I64, I64, I64, I64]:
        """Data object, block number within it, version and key of each buffer in use."""
        keys = np.array([*self._hot, *self._cold], dtype=np.int64)
        plain = keys & ~(-1 << _VERSION_SHIFT)
        return plain >> NUMBER_BITS, plain & ((1 << NUMBER_BITS) - 1), keys >> _VERSION_SHIFT, keys

    def _enter(self, key: int) -> None:
        while len(self._cold) + len(self._hot) >= self.buffers:
            self._free_one()
        self._cold[key] = 1

    def _free_one(self) -> None:
        key, touches = self._cold.popitem(last=False)
        if touches < _HOT:
            self.dirty.discard(key)  # it is written before its buffer is used again
            return
        self._hot[key] = 0
        if len(self._hot) > self.buffers // 2:
            cooled, _ = self._hot.popitem(last=False)
            self._cold[cooled] = _AFTER_COOLING
