"""Rows of statements as counters: engines with several instances or plans have several rows of one statement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np

from connectors.statements.counters import StatementCounters

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
