"""Rows of counters put together by what they belong to, column by column: what every sampler ends with. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_I64 = NDArray[np.int64]


class GroupBy:
    """Rows of equal keys as one. Sorts once, whatever the number of columns that are folded then."""

    def __init__(self, *keys: _I64) -> None:
        """Args: keys: the columns that say which rows belong together, each of shape ``(rows,)``; the first leads."""
        self._order = np.lexsort(keys[::-1])
        ordered = [key[self._order] for key in keys]
        new = np.ones(len(self._order), dtype=np.bool_)
        if len(new):
            new[1:] = np.any([key[1:] != key[:-1] for key in ordered], axis=0)
        self.starts = np.flatnonzero(new)  # where each group begins in the order of the keys
        self.keys = tuple(key[self.starts] for key in ordered)  # of each group, ascending; shape (groups,)

    def aggregate(self, column: _I64, by: np.ufunc = np.add) -> _I64:
        """One value for each group, of shape ``(groups,)``: the sum of its rows, or what another function makes."""
        ordered = column[self._order]
        if len(self.starts) == len(ordered):
            return ordered
        return np.asarray(by.reduceat(ordered, self.starts), dtype=np.int64)

    def ranks(self) -> _I64:
        """Place of each row within its group, from 1, in the order of the keys. Shape ``(rows,)``."""
        rows = len(self._order)
        sizes = np.diff(np.append(self.starts, rows))
        return np.arange(1, rows + 1) - np.repeat(self.starts, sizes)


def busy(ids: _I64, counters: _I64) -> tuple[_I64, _I64]:
    """Without the units that have no counter above zero, since one that is absent from a sample has none.

    Args:
        ids: shape ``(units,)``.
        counters: shape ``(counters, units)``.
    """
    some = counters.any(axis=0)
    return ids[some], counters[:, some]
