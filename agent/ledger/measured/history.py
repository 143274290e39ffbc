"""Demand per interval, kept in ever coarser steps: as sampled, then by 10 minutes, then by the hour, then dropped.

One blob per interval holds only the units that had demand, so that an idle unit costs nothing;
``tests.bench.cost.history`` measures the bytes. Space that dropped rows leave is used again, so the file stops growing
once history is full. Next to a ledger on a server all of that is in a file of this machine; the server has the hours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import BigInteger, ColumnElement, delete, select, type_coerce

from agent.ledger.file.codec import Values, encode_history
from agent.ledger.file.expiry import RowExpiry
from agent.ledger.file.instants import EPOCH, instant
from agent.ledger.file.reading import where
from agent.ledger.file.schema import history
from agent.ledger.measured.intervals import AS_SAMPLED, HOUR, MICRO, TEN_MINUTES, merged, span_of, unpacked
from agent.ledger.measured.samples import Samples, finest
from agent.ledger.rows import FoldReport, HistoryRow, HistorySettings, IntervalId
from agent.ledger.store.database import Database, Dropped, Expiry
from connectors.model import I64

DEFAULT_HISTORY = HistorySettings()


@dataclass(frozen=True, slots=True)
class _Folded:
    """What happened to the rows of one bucket."""

    rows: int
    made: int
    bytes_before: int
    bytes_after: int


class History:
    """The history of all databases. Samples, not decisions: not part of the audit chain."""

    def __init__(self, samples: Samples, of_server: Expiry | None) -> None:
        """Nothing is read yet.

        Args:
            samples: where they are.
            of_server: the end of history on a server; None: the ledger is a file.
        """
        self._samples = samples
        self._of_server = of_server
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
        """Intervals that ended within (since, until], the oldest first, each place in one snapshot until the end.

        Of a time that this machine has not sampled, hours of a server that lie wholly within.
        """
        ended = history.c.ended_at > since, history.c.ended_at <= until
        *own, ledger = self._samples.places()
        if not self._samples.is_divided:
            yield from _rows(ledger, database, *ended)
            return
        ends = {end for place in own for _, end in _ends(place, database, since)}
        fine = (row for place in own for row in _rows(place, database, *ended))
        yield from finest(fine, _rows(ledger, database, *ended, history.c.started_at >= since), ends)

    def ends(self, database: str, since: datetime) -> list[tuple[IntervalId, datetime]]:
        """Each interval that ended since then, and its end, the oldest first; none of them is unpacked."""
        found: list[tuple[IntervalId, datetime]] = []
        for at, place in enumerate(self._samples.places()):
            known = {end for _, end in found}
            found += [
                (IntervalId(at, number), end) for number, end in _ends(place, database, since) if end not in known
            ]
        return sorted(found, key=lambda each: each[1])

    def interval(self, which: IntervalId) -> HistoryRow | None:
        """One interval; None where it was folded or dropped meanwhile."""
        place = self._samples.places()[which.place]
        with place.read() as reading:
            row = reading.first("SELECT * FROM history", where("id = ?", which.number))
        return None if row is None else unpacked(place, row)

    def fold(self, now: datetime, settings: HistorySettings = DEFAULT_HISTORY) -> FoldReport:
        """Make old history coarser and drop the oldest. Sums and observed seconds are conserved."""
        own = self._samples.written()
        ends = [RowExpiry(own), *([] if self._of_server is None else [self._of_server])]
        dropped = [each.drop(now, settings.history_seconds, self._sampled) for each in ends]
        done = [
            _fold_bucket(own, name, fine, coarse, bucket)
            for fine, coarse, age in (
                (AS_SAMPLED, TEN_MINUTES, settings.as_sampled_seconds),
                (TEN_MINUTES, HOUR, settings.ten_minute_seconds),
            )
            for name, bucket in _due(own, fine, coarse, now - timedelta(seconds=age))
        ]
        return _report(done, dropped)


def _report(done: list[_Folded], dropped: list[Dropped]) -> FoldReport:
    return FoldReport(
        folded=sum(part.rows for part in done),
        made=sum(part.made for part in done),
        dropped=sum(part.rows for part in dropped),
        bytes_before=sum(part.bytes_before for part in done) + sum(part.bytes for part in dropped),
        bytes_after=sum(part.bytes_after for part in done),
    )


def _rows(place: Database, database: str, *within: ColumnElement[bool]) -> Iterator[HistoryRow]:
    query = select(history).where(history.c.database == database, *within)
    with place.read_by_core() as connection:
        for row in connection.execute(query.order_by(history.c.ended_at, history.c.id)):
            yield unpacked(place, row)


def _ends(place: Database, database: str, since: datetime) -> list[tuple[int, datetime]]:
    of_it = where("database = ?", database), where("ended_at > ?", since)
    with place.read() as reading:
        rows = reading.rows("SELECT id, ended_at FROM history", *of_it, then="ORDER BY ended_at, id")
        return [(row.id, row.ended_at) for row in rows]


def _due(place: Database, fine: int, coarse: int, before: datetime) -> list[tuple[str, int]]:
    """Database and number of each bucket of ``coarse`` seconds that ended by then and has rows of ``fine``."""
    width = coarse * MICRO
    bucket = (type_coerce(history.c.ended_at, BigInteger) - 1) // width  # (start, end]: as intervals end
    last = instant((before - EPOCH) // timedelta(seconds=coarse) * width)
    query = select(history.c.database, bucket).distinct()
    query = query.where(history.c.resolution_seconds == fine, history.c.ended_at <= last)
    with place.read_by_core() as connection:
        return sorted((name, int(number)) for name, number in connection.execute(query))


def _fold_bucket(place: Database, name: str, fine: int, coarse: int, bucket: int) -> _Folded:
    since, until = span_of(bucket, coarse)
    within = (
        history.c.database == name,
        history.c.resolution_seconds == fine,
        history.c.ended_at > since,
        history.c.ended_at <= until,
    )
    with place.write(durable=False) as transaction:
        rows = transaction.core.execute(select(history).where(*within).order_by(history.c.signals, history.c.id)).all()
        made = merged(place, rows, coarse)
        for each in made:
            transaction.insert_all("history", [each])
        transaction.core.execute(delete(history).where(*within, history.c.id.in_([row.id for row in rows])))
    return _Folded(len(rows), len(made), sum(len(row.body) for row in rows), sum(len(each["body"]) for each in made))
