"""Arithmetic on counters that samplers of all engines share.

From counts of one interval to demand: what every engine's ``classify`` ends with. Pure.

Rows of counters put together by what they belong to, column by column: what every sampler ends with. Pure.

Rows of statements as counters: engines with several instances or plans have several rows of one statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from connectors.kit.statements import StatementCounters
from connectors.model.observation import F64, Bools, DatabaseDemand, Demand, Interval, Signal, SpaceFigures


def build_demand(
    interval: Interval,
    counts: F64,
    observed: Bools,
    *,
    estimated: frozenset[Signal],
    database: DatabaseDemand | None = None,
    spaces: SpaceFigures | None = None,
    waited_seconds: F64 | None = None,
) -> Demand:
    """Counts as rates; what was not observed has none.

    Args:
        interval: that they are of.
        counts: by signal and unit of the interval, shape ``(SIGNALS, n)``.
        observed: shape ``(n,)``, False where the interval says nothing about the unit.
        estimated: signals that the engine does not measure.
        database: None: the interval's own rates.
        spaces: rates, where the engine times each space.
        waited_seconds: that sessions waited for the reads of each unit in the interval, shape ``(n,)``, NaN where that
            is not measured; None: the engine does not measure it by unit.
    """
    return Demand(
        ended_at=interval.ended_at,
        seconds=interval.seconds,
        physical_id=interval.physical_id,
        rates=np.where(observed, counts, 0.0) / interval.seconds,
        observed=observed,
        estimated=estimated,
        database=interval.database_rates() if database is None else database,
        spaces=spaces,
        roles=interval.role_rates(),
        waited=None if waited_seconds is None else np.where(observed, waited_seconds, np.nan) / interval.seconds,
    )


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


Row = Sequence[object]  # id, executions, elapsed time, time waited for reads, blocks read; None: not counted


def sum_by_id(
    rows: Iterable[Row], most: int, *, taken_at: datetime, epoch: str, seconds_per_unit: float, server_seconds: float
) -> StatementCounters:
    """Add up what belongs to one statement, and keep those with most time.

    Args:
        rows: in any order.
        most: statements that are kept.
        taken_at: when they were read.
        epoch: of the counters.
        seconds_per_unit: of both times in the rows.
        server_seconds: that reading took.
    """
    sums: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    for id_, *counts in rows:
        # Whole numbers: a product of a mean and a count is one but for its rounding, and must not seem to fall.
        values = np.rint(np.array([np.nan if count is None else float(str(count)) for count in counts]))
        sums[str(id_)] = sums[str(id_)] + values if str(id_) in sums else values
    kept = sorted(sums, key=lambda id_: (-sums[id_][1], id_))[:most]
    columns = np.array([sums[id_] for id_ in kept], dtype=np.float64).reshape(len(kept), 4).T
    return StatementCounters(
        taken_at=taken_at,
        epoch=epoch,
        ids=tuple(kept),
        executions=columns[0],
        seconds=columns[1] * seconds_per_unit,
        read_wait=columns[2] * seconds_per_unit,
        reads=columns[3],
        server_seconds=server_seconds,
    )
