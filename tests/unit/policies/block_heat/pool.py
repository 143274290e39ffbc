"""A buffer pool with a clock sweep, in a few lines: what looks show of a load whose truth is known."""

from __future__ import annotations

import numpy as np

from connectors.model.observation import F64, I64

MOST_USES = 5  # that a buffer remembers, as in PostgreSQL


class Pool:
    """A table and the pool that reads it."""

    def __init__(self, blocks: int, buffers: int, seed: int) -> None:
        """Empty."""
        self.blocks = blocks
        self.reads = np.zeros(blocks)  # from storage
        self._random = np.random.default_rng(seed)
        self._uses = np.zeros(buffers, dtype=np.int64)
        self._holds = np.full(buffers, -1)
        self._at = np.full(blocks, -1)
        self._hand = 0

    def look(self) -> I64:
        """Numbers of the resident blocks."""
        return np.flatnonzero(self._at >= 0)

    def load(self, accesses: int, weight: F64) -> None:
        """That many look-ups, each of a block drawn by its weight."""
        for block in self._random.choice(self.blocks, accesses, p=weight / weight.sum()).tolist():
            self._access(block)

    def _access(self, block: int) -> None:
        buffer = self._at[block]
        if buffer >= 0:
            self._uses[buffer] = min(MOST_USES, self._uses[buffer] + 1)
            return
        while self._uses[self._hand]:
            self._uses[self._hand] -= 1
            self._hand = (self._hand + 1) % len(self._holds)
        buffer, self._hand = self._hand, (self._hand + 1) % len(self._holds)
        if self._holds[buffer] >= 0:
            self._at[self._holds[buffer]] = -1
        self._holds[buffer], self._at[block], self._uses[buffer] = block, buffer, 1
        self.reads[block] += 1
