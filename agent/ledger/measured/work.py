"""What each database did between two samples: the rates that outcomes compare, interval by interval, for a week.

Stored apart from the history of units: those rows are folded into coarser ones, but an outcome needs exact intervals.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from datetime import datetime

from sqlalchemy import delete, select

from agent.ledger.file.schema import work
from agent.ledger.measured.spool import Samples
from agent.ledger.store.database import Database
from connectors.model import DatabaseDemand
from policies.demand.workload import DatedWork

_RATES = frozenset(field.name for field in fields(DatabaseDemand))


class WorkHistory:
    """The work of all databases. Samples, not decisions: not part of the audit chain."""

    def __init__(self, database: Database, samples: Samples) -> None:
        self._database = database
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
        self._samples.insert("work", row)

    def since(self, database: str, since: datetime) -> list[DatedWork]:
        """Intervals that have ended since then, the oldest first."""
        return self.between(database, since, None)

    def between(self, database: str, since: datetime, until: datetime | None) -> list[DatedWork]:
        """Intervals that have ended within (since, until], the oldest first; None: until now."""
        query = select(work.c.ended_at, work.c.seconds, work.c.body)
        query = query.where(work.c.database == database, work.c.ended_at > since)
        if until is not None:
            query = query.where(work.c.ended_at <= until)
        with self._database.read_by_core() as connection:
            rows = connection.execute(query.order_by(work.c.ended_at, work.c.id)).all()
        return [DatedWork(ended_at=row.ended_at, seconds=row.seconds, demand=rates_of_text(row.body)) for row in rows]

    def drop(self, before: datetime) -> int:
        """Drop intervals that ended before then; how many."""
        with self._database.write(durable=False) as transaction:
            return int(transaction.core.execute(delete(work).where(work.c.ended_at < before)).rowcount)


def rates_text(demand: DatabaseDemand) -> str:
    """The rates that are known, as JSON, which knows no NaN."""
    known = {name: value for name, value in asdict(demand).items() if value == value}
    return json.dumps(known, allow_nan=False)


def rates_of_text(text: str) -> DatabaseDemand:
    """Inverse of ``rates_text``; rates that this version does not know are left out."""
    return DatabaseDemand(**{name: value for name, value in json.loads(text).items() if name in _RATES})
