"""What each database, and single statements, did between two samples.

``WorkHistory`` keeps the rates that outcomes compare, interval by interval, for a week. They are apart from the history
of units, where rows are folded into coarser ones, because an outcome needs exact intervals. A ledger on a server has
means of hours, for as long as history is kept.

``StatementHistory`` keeps ids and figures of single statements for two days, never their texts. It keeps intervals,
because an outcome compares the time before the moves with the time after, and moves may begin at any time. The
intervals stay on the machine that sampled them: two days have too few hours to tell one statement from another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

import numpy as np
from sqlalchemy import bindparam, delete, select

from agent.ledger.errors import readable
from agent.ledger.measured.codec import decode_arrays, encode_arrays
from agent.ledger.measured.samples import STARTED_AT, Samples, finest, rates_of_text, rates_text
from agent.ledger.store.database import Database, Row
from agent.ledger.store.schema import Whole, given, instant, statements, value_for, work
from agent.model.outcomes import StatementInterval
from connectors.model.observation import DatabaseDemand
from policies.evidence.workload import DatedWork

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
    return (_date_work(place, row) for row in rows)


def _date_work(place: Database, row: Row) -> DatedWork:
    with readable(place, "work", id=row.id):
        began = json.loads(row.body).get(STARTED_AT)
        return DatedWork(
            ended_at=row.ended_at, seconds=row.seconds, demand=rates_of_text(row.body),
            of_hour_since=None if began is None else instant(began),
        )  # fmt: skip


def _began(row: DatedWork) -> datetime:
    return row.of_hour_since or row.ended_at


_COLUMNS = ("executions", "seconds", "read_wait", "reads")
MOST_INTERVALS = 2000  # of a database: four days of the usual settle time

_STATEMENTS_BETWEEN = (
    select(statements)
    .where(
        given(statements.c.database),
        statements.c.started_at >= value_for(statements.c.started_at, "since"),
        statements.c.ended_at <= value_for(statements.c.ended_at, "until"),
    )
    .order_by(statements.c.ended_at, statements.c.id)
)
_DROP_STATEMENTS = delete(statements).where(statements.c.ended_at < value_for(statements.c.ended_at, "before"))
_newer = statements.alias("newer")
_oldest_kept = (
    select(_newer.c.id)
    .where(_newer.c.database == statements.c.database)
    .order_by(_newer.c.ended_at.desc())
    .offset(bindparam("beyond", type_=Whole))
    .limit(1)
)
_DROP_BEYOND = delete(statements).where(statements.c.id < _oldest_kept.scalar_subquery())


class StatementHistory:
    """The statements of all databases. Samples, not decisions: not part of the audit chain."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    def append(self, database: str, interval: StatementInterval) -> int:
        """Add one interval; returns the bytes it took.

        Raises:
            ValueError: the interval has no length.
        """
        if not interval.length > 0:
            raise ValueError(f"an interval lasts {interval.length} s")
        columns = {name: getattr(interval, name) for name in _COLUMNS}
        body = encode_arrays({"ids": np.array(interval.ids, dtype=np.str_), **columns})
        row = {
            "database": database, "started_at": interval.started_at, "ended_at": interval.ended_at, "body": body,
        }  # fmt: skip
        self._samples.insert(statements, row)
        return len(body)

    def between(self, database: str, since: datetime, until: datetime) -> list[StatementInterval]:
        """Intervals that lie within two instants, the oldest first.

        Raises:
            LedgerCorrupt: one of them cannot be unpacked.
        """
        place = self._samples.places()[0]  # of one machine only
        with place.read() as reading:
            rows = reading.rows(_STATEMENTS_BETWEEN, database=database, since=since, until=until)
        return [_unpack(place, row.started_at, row.ended_at, row.body) for row in rows]

    def drop(self, before: datetime) -> int:
        """Drop intervals that ended before then, and of each database those beyond ``MOST_INTERVALS``; how many."""
        with self._samples.written().write(durable=False) as transaction:
            return transaction.execute(_DROP_STATEMENTS, before=before) + transaction.execute(
                _DROP_BEYOND, beyond=MOST_INTERVALS - 1
            )


def _unpack(place: Database, started_at: datetime, ended_at: datetime, body: bytes) -> StatementInterval:
    try:
        found = decode_arrays(body)
        ids = tuple(str(each) for each in found.pop("ids"))
        return StatementInterval(started_at=started_at, ended_at=ended_at, ids=ids, **found)
    except (ValueError, KeyError, TypeError) as error:
        raise place.corrupt(f"statements until {ended_at}: {error}") from error
