"""Finds keys among very many: by a hash for each instead of a dictionary, which would take ten times the memory."""

from __future__ import annotations

import numpy as np

from connectors.model import I64
from connectors.string_column import StringColumn


class KeyIndex:
    """Rows of a column of keys. A key that comes twice is found at its first row."""

    def __init__(self, keys: StringColumn) -> None:
        self.keys = keys
        hashes = _hashes(keys)
        # Stable, so that a key that comes twice is found at its first row.
        order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[order]
        self._order = order.astype(np.int32)

    def __len__(self) -> int:
        return len(self.keys)

    def rows(self, wanted: StringColumn) -> I64:
        """Row of each wanted key, -1 where there is none, shape ``(len(wanted),)``."""
        found = np.full(len(wanted), -1, dtype=np.int64)
        hashes = _hashes(wanted)
        at = np.searchsorted(self._hashes, hashes)
        left = np.arange(len(wanted))
        while len(left):  # again only for keys whose hash another key has too
            left = left[at[left] < len(self)]
            left = left[self._hashes[at[left]] == hashes[left]]
            rows = self._order[at[left]].astype(np.int64)
            same = self.keys.same(rows, wanted, left)
            found[left[same]] = rows[same]
            left = left[~same]
            at[left] += 1
        return found


def _hashes(keys: StringColumn) -> I64:
    return np.fromiter(map(hash, keys), dtype=np.int64, count=len(keys))
