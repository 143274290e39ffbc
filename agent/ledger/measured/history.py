"""Demand per interval, kept in ever coarser steps: as sampled, then by 10 minutes, then by the hour, then dropped.

One blob per interval holds only the units that had demand, so that an idle unit costs nothing;
``tests.bench.cost.history`` measures the bytes. Space that dropped rows leave is used again, so the file stops growing
once history is full. Next to a ledger on a server all of that is in a file of this machine; the server has the hours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, delete, select

from agent.ledger.measured.codec import Values, encode_history
from agent.ledger.measured.samples import (
    AS_SAMPLED,
    HOUR,
    MICRO,
    TEN_MINUTES,
    Samples,
    finest,
    merged,
    span_of,
    unpacked,
)
from agent.ledger.rows import FoldReport, HistoryRow, HistorySettings, IntervalId
from agent.ledger.store.database import CHUNK, Database, Dropped, in_parts
from agent.ledger.store.schema import EPOCH, bucket_of, given, history, instant, one_of, value_for
from connectors.model.observation import I64

DEFAULT_HISTORY = HistorySettings()
_ended, _since, _until = (
    history.c.ended_at,
    value_for(history.c.ended_at, "since"),
    value_for(history.c.ended_at, "until"),
)
_in_order = _ended, history.c.id
_ALL = select(history).where(given(history.c.database), _ended > _since, _ended <= _until).order_by(*_in_order)
_WITHIN = _ALL.where(history.c.started_at >= _since)
_ENDS = select(history.c.id, _ended).where(given(history.c.database), _ended > _since).order_by(*_in_order)
_ONE = select(history).where(given(history.c.id))
_OF_BUCKET = (
    select(history)
    .where(given(history.c.database), given(history.c.resolution_seconds), _ended > _since, _ended <= _until)
    .order_by(history.c.signals, history.c.id)
)
_DROP = delete(history).where(one_of(history.c.id))


def _due_query(coarse: int) -> Select[Any]:
    """Database and number of each bucket of so many seconds that ended by then and has rows of a resolution."""
    number = bucket_of(_ended, coarse * MICRO).label("number")
    return select(history.c.database, number).distinct().where(given(history.c.resolution_seconds), _ended <= _until)


_DUE = {coarse: _due_query(coarse) for coarse in (TEN_MINUTES, HOUR)}


@dataclass(frozen=True, slots=True)
class _Folded:
    """What happened to the rows of one bucket."""

    rows: int
    made: int
    bytes_before: int
    bytes_after: int


class DemandHistory:
    """The history of all databases. Samples, not decisions: not part of the audit chain."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._sampled: set[str] = set()  # databases whose history this process keeps

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
        self._samples.insert(history, row)
        self._sampled.add(database)
        return len(body)

    def read(self, database: str, since: datetime, until: datetime) -> Iterator[HistoryRow]:
        """Intervals that ended within (since, until], the oldest first, each place in one snapshot until the end.

        Of a time that this machine has not sampled, hours of a server that lie wholly within.
        """
        *own, ledger = self._samples.places()
        if not self._samples.is_divided:
            yield from _rows(ledger, _ALL, database, since, until)
            return
        ends = {end for place in own for _, end in _ends(place, database, since)}
        fine = (row for place in own for row in _rows(place, _ALL, database, since, until))
        yield from finest(fine, _rows(ledger, _WITHIN, database, since, until), ends)

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
            row = reading.first(_ONE, id=which.number)
        return None if row is None else unpacked(place, row)

    def fold(self, now: datetime, settings: HistorySettings = DEFAULT_HISTORY) -> FoldReport:
        """Make old history coarser and drop the oldest. Sums and observed seconds are conserved."""
        own = self._samples.written()
        places = dict.fromkeys((own, self._samples.ledger))
        dropped = [place.drop_history(now, settings.history_seconds, self._sampled) for place in places]
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


def _rows(
    place: Database, query: Select[Any], database: str, since: datetime, until: datetime
) -> Iterator[HistoryRow]:  # fmt: skip
    with place.read() as reading:
        for row in reading.each(query, database=database, since=since, until=until):
            yield unpacked(place, row)


def _ends(place: Database, database: str, since: datetime) -> list[tuple[int, datetime]]:
    with place.read() as reading:
        return [(row.id, row.ended_at) for row in reading.rows(_ENDS, database=database, since=since)]


def _due(place: Database, fine: int, coarse: int, before: datetime) -> list[tuple[str, int]]:
    """Database and number of each bucket of ``coarse`` seconds that ended by then and has rows of ``fine``."""
    last = instant((before - EPOCH) // timedelta(seconds=coarse) * coarse * MICRO)
    with place.read() as reading:
        found = reading.rows(_DUE[coarse], resolution_seconds=fine, until=last)
        return sorted((row.database, int(row.number)) for row in found)


def _fold_bucket(place: Database, name: str, fine: int, coarse: int, bucket: int) -> _Folded:
    since, until = span_of(bucket, coarse)
    of_it = {"database": name, "resolution_seconds": fine, "since": since, "until": until}
    with place.write(durable=False) as transaction:
        rows = transaction.rows(_OF_BUCKET, **of_it)
        made = merged(place, rows, coarse)
        for each in made:
            transaction.insert_all(history, [each])
        for some in in_parts([row.id for row in rows], CHUNK):
            transaction.execute(_DROP, some=some)
    return _Folded(len(rows), len(made), sum(len(row.body) for row in rows), sum(len(each["body"]) for each in made))
