"""Demand per interval, kept in ever coarser steps: as sampled, then by 10 minutes, then by the hour, then dropped.

One blob per interval holds only the units that had demand, so that an idle unit costs nothing;
``tests.bench.cost.history`` measures the bytes. Space that dropped rows leave is used again, so the file stops growing
once history is full.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from sqlalchemy import BigInteger, Row, delete, select, type_coerce

from agent.ledger.file.codec import Values, decode_history, encode_history, merge_history
from agent.ledger.file.instants import EPOCH, instant
from agent.ledger.file.reading import where
from agent.ledger.file.schema import history
from agent.ledger.file.transaction import Transaction
from agent.ledger.measured.spool import Samples
from agent.ledger.rows import FoldReport, HistoryRow, HistorySettings
from agent.ledger.store.database import Database, Expiry
from connectors.model import I64

DEFAULT_HISTORY = HistorySettings()
AS_SAMPLED, TEN_MINUTES, HOUR = 0, 600, 3600  # resolution_seconds
MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class _Folded:
    """What happened to the rows of one bucket."""

    rows: int
    made: int
    bytes_before: int
    bytes_after: int


class History:
    """The history of all databases. Samples, not decisions: not part of the audit chain."""

    def __init__(self, database: Database, samples: Samples, expiry: Expiry) -> None:
        self._database = database
        self._samples = samples
        self._expiry = expiry
        self._sampled: set[str] = set()  # databases of which this process keeps history

    def append(self, database: str, ended_at: datetime, seconds: float, slots: I64, values: Values) -> int:
        """Add one interval of the units that had demand; returns the bytes it took.

        Args:
            database: its name.
            ended_at: the interval's end.
            seconds: its length.
            slots: shape ``(n,)``, each at most once.
            values: shape ``(signals, n)``, uint32, uint64 or float64: sums over the interval.

        Raises:
            ValueError: shapes, types or slots are not as above.
        """
        if not seconds > 0:
            raise ValueError(f"an interval lasts {seconds} s")
        body = encode_history(slots, values)
        row = {
            "database": database, "resolution_seconds": AS_SAMPLED,
            "started_at": ended_at - timedelta(seconds=seconds), "ended_at": ended_at, "seconds": seconds,
            "signals": values.shape[0], "body": body,
        }  # fmt: skip
        self._samples.insert("history", row)
        self._sampled.add(database)
        return len(body)

    def read(self, database: str, since: datetime, until: datetime) -> Iterator[HistoryRow]:
        """Intervals that ended within (since, until], the oldest first, in one snapshot that lasts until the end."""
        within = history.c.ended_at > since, history.c.ended_at <= until
        query = select(history).where(history.c.database == database, *within)
        with self._database.read_by_core() as connection:
            for row in connection.execute(query.order_by(history.c.ended_at, history.c.id)):
                yield self._decode(row)

    def ends(self, database: str, since: datetime) -> list[tuple[int, datetime]]:
        """Number and end of each interval that ended since then, the oldest first; none of them is unpacked."""
        of_it = where("database = ?", database), where("ended_at > ?", since)
        with self._database.read() as reading:
            rows = reading.rows("SELECT id, ended_at FROM history", *of_it, then="ORDER BY ended_at, id")
            return [(row.id, row.ended_at) for row in rows]

    def interval(self, number: int) -> HistoryRow | None:
        """One interval by its number; None where it was folded or dropped meanwhile."""
        with self._database.read() as reading:
            row = reading.first("SELECT * FROM history", where("id = ?", number))
        return None if row is None else self._decode(row)

    def fold(self, now: datetime, settings: HistorySettings = DEFAULT_HISTORY) -> FoldReport:
        """Make old history coarser and drop the oldest. Sums and observed seconds are conserved."""
        dropped = self._expiry.drop(now, settings.history_seconds, self._sampled)
        done = [
            self._fold_bucket(name, fine, coarse, bucket)
            for fine, coarse, age in (
                (AS_SAMPLED, TEN_MINUTES, settings.as_sampled_seconds),
                (TEN_MINUTES, HOUR, settings.ten_minute_seconds),
            )
            for name, bucket in self._due(fine, coarse, now - timedelta(seconds=age))
        ]
        return FoldReport(
            folded=sum(part.rows for part in done),
            made=sum(part.made for part in done),
            dropped=dropped.rows,
            bytes_before=sum(part.bytes_before for part in done) + dropped.bytes,
            bytes_after=sum(part.bytes_after for part in done),
        )

    def _due(self, fine: int, coarse: int, before: datetime) -> list[tuple[str, int]]:
        """Database and number of each bucket of ``coarse`` seconds that ended by then and has rows of ``fine``."""
        width = coarse * MICRO
        bucket = (type_coerce(history.c.ended_at, BigInteger) - 1) // width  # (start, end]: as intervals end
        last = instant((before - EPOCH) // timedelta(seconds=coarse) * width)
        query = select(history.c.database, bucket).distinct()
        query = query.where(history.c.resolution_seconds == fine, history.c.ended_at <= last)
        with self._database.read_by_core() as connection:
            return sorted((name, int(number)) for name, number in connection.execute(query))

    def _fold_bucket(self, name: str, fine: int, coarse: int, bucket: int) -> _Folded:
        width = coarse * MICRO
        within = (
            history.c.database == name,
            history.c.resolution_seconds == fine,
            history.c.ended_at > instant(bucket * width),
            history.c.ended_at <= instant((bucket + 1) * width),
        )
        with self._database.write(durable=False) as transaction:
            rows = transaction.core.execute(
                # By number of signals as well: a version that kept others wrote columns that cannot be added to these.
                select(history).where(*within).order_by(history.c.signals, history.c.id)
            ).all()
            by_signals = groupby(rows, key=lambda row: int(row.signals))
            sizes = [self._insert_merged(transaction, list(group), coarse) for _, group in by_signals]
            transaction.core.execute(delete(history).where(*within, history.c.id.in_([row.id for row in rows])))
        return _Folded(len(rows), len(sizes), sum(len(row.body) for row in rows), sum(sizes))

    def _insert_merged(self, transaction: Transaction, rows: list[Row[Any]], coarse: int) -> int:
        decoded = [self._decode(row) for row in rows]
        body = encode_history(*merge_history([(row.slots, row.values) for row in decoded]))
        merged = {
            "database": decoded[0].database, "resolution_seconds": coarse,
            "started_at": min(row.started_at for row in decoded), "ended_at": max(row.ended_at for row in decoded),
            "seconds": sum(row.seconds for row in decoded), "signals": rows[0].signals, "body": body,
        }  # fmt: skip
        transaction.insert_all("history", [merged])
        return len(body)

    def _decode(self, row: Row[Any]) -> HistoryRow:
        try:
            slots, values = decode_history(row.body)
        except ValueError as error:
            raise self._database.corrupt(f"history of {row.database} at {row.ended_at:%F %T}: {error}") from error
        return HistoryRow(
            database=row.database, started_at=row.started_at, ended_at=row.ended_at, seconds=row.seconds,
            resolution_seconds=row.resolution_seconds, slots=slots, values=values,
        )  # fmt: skip
