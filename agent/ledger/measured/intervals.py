"""Rows of the history: unpacked, merged into coarser ones, and which hour they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

from sqlalchemy import Row

from agent.ledger.file.codec import decode_history, encode_history, merge_history
from agent.ledger.file.instants import EPOCH, instant
from agent.ledger.rows import HistoryRow
from agent.ledger.store.database import Database

AS_SAMPLED: Final = 0  # resolution_seconds
TEN_MINUTES: Final = 600
HOUR: Final = 3600
MICRO = 1_000_000


def number_of(at: datetime, width: int = HOUR) -> int:
    """Number of the bucket of ``width`` seconds, (start, end], of an interval that ends then."""
    return ((at - EPOCH) // timedelta(microseconds=1) - 1) // (width * MICRO)


def span_of(number: int, width: int = HOUR) -> tuple[datetime, datetime]:
    """Start (left out) and end of a bucket."""
    return instant(number * width * MICRO), instant((number + 1) * width * MICRO)


def unpacked(database: Database, row: Row[Any]) -> HistoryRow:
    """A row of the table.

    Raises:
        LedgerCorrupt: its blob cannot be unpacked.
    """
    try:
        slots, values = decode_history(row.body)
    except ValueError as error:
        raise database.corrupt(f"history of {row.database} at {row.ended_at:%F %T}: {error}") from error
    return HistoryRow(
        database=row.database, started_at=row.started_at, ended_at=row.ended_at, seconds=row.seconds,
        resolution_seconds=row.resolution_seconds, slots=slots, values=values,
    )  # fmt: skip


def merged(database: Database, rows: Sequence[Row[Any]], coarse: int) -> list[dict[str, Any]]:
    """The rows of a bucket as one coarser row, to be inserted.

    One for each number of signals: a version that kept others wrote columns that cannot be added to these.

    Args:
        database: where they are from.
        rows: of one bucket, by number of signals.
        coarse: resolution of what is made, seconds.

    Raises:
        LedgerCorrupt: a blob cannot be unpacked.
    """
    return [
        _merged(signals, [unpacked(database, row) for row in group], coarse)
        for signals, group in groupby(rows, key=lambda row: int(row.signals))
    ]


def _merged(signals: int, rows: Sequence[HistoryRow], coarse: int) -> dict[str, Any]:
    return {
        "database": rows[0].database, "resolution_seconds": coarse,
        "started_at": min(row.started_at for row in rows), "ended_at": max(row.ended_at for row in rows),
        "seconds": sum(row.seconds for row in rows), "signals": signals,
        "body": encode_history(*merge_history([(row.slots, row.values) for row in rows])),
    }  # fmt: skip
