"""What each database did between two samples: the rates that outcomes compare, interval by interval, for a week.

Stored apart from the history of units: those rows are folded into coarser ones, but an outcome needs exact intervals.
A ledger on a server has means of hours, for as long as history is kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import delete, select

from agent.ledger.errors import readable
from agent.ledger.measured.intervals import STARTED_AT, rates_of_text, rates_text
from agent.ledger.measured.samples import Samples, finest
from agent.ledger.store.database import Database
from agent.ledger.store.elements import given, value_for
from agent.ledger.store.schema import instant, work
from agent.ledger.store.statements import Row
from connectors.model import DatabaseDemand
from policies.demand.workload import DatedWork

_SINCE = (
    select(work.c.id, work.c.ended_at, work.c.seconds, work.c.body)
    .where(given(work.c.database), work.c.ended_at > value_for(work.c.ended_at, "since"))
    .order_by(work.c.ended_at, work.c.id)
)
_BETWEEN = _SINCE.where(work.c.ended_at <= value_for(work.c.ended_at, "until"))
_DROP = delete(work).where(work.c.ended_at < value_for(work.c.ended_at, "before"))


class WorkHistory:
    """The work of all databases. Samples, not decisions: not part of the audit chain."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    def append(self, database: str, ended_at: datetime, seconds: float, demand: DatabaseDemand) -> None:
        """Add one interval.

        Args:
            database: its name.
            ended_at: the interval's end.
            seconds: its length.
            demand: rates of the whole database.

        Raises:
            ValueError: the interval has no length.
        """
        if not seconds > 0:
            raise ValueError(f"an interval lasts {seconds} s")
        row = {"database": database, "ended_at": ended_at, "seconds": seconds, "body": rates_text(demand)}
        self._samples.insert(work, row)

    def since(self, database: str, since: datetime) -> list[DatedWork]:
        """Intervals that have ended since then, the oldest first."""
        return self.between(database, since, None)

    def between(self, database: str, since: datetime, until: datetime | None) -> list[DatedWork]:
        """Intervals that have ended within (since, until], the oldest first; None: until now.

        Of a time that this machine has not sampled, hours of a server that lie wholly within.
        """
        *own, ledger = self._samples.places()
        if not self._samples.is_divided:
            return list(_rows(ledger, database, since, until))
        fine = [row for place in own for row in _rows(place, database, since, until)]
        hours = (row for row in _rows(ledger, database, since, until) if _began(row) >= since)
        return list(finest(fine, hours, {row.ended_at for row in fine}))

    def drop(self, before: datetime) -> int:
        """Drop intervals of this machine that ended before then; how many."""
        with self._samples.written().write(durable=False) as transaction:
            return transaction.execute(_DROP, before=before)


def _rows(place: Database, database: str, since: datetime, until: datetime | None) -> Iterator[DatedWork]:
    with place.read() as reading:
        if until is None:
            rows = reading.rows(_SINCE, database=database, since=since)
        else:
            rows = reading.rows(_BETWEEN, database=database, since=since, until=until)
    return (_dated(place, row) for row in rows)


def _dated(place: Database, row: Row) -> DatedWork:
    with readable(place, "work", id=row.id):
        began = json.loads(row.body).get(STARTED_AT)
        return DatedWork(
            ended_at=row.ended_at, seconds=row.seconds, demand=rates_of_text(row.body),
            of_hour_since=None if began is None else instant(began),
        )  # fmt: skip


def _began(row: DatedWork) -> datetime:
    return row.of_hour_since or row.ended_at
