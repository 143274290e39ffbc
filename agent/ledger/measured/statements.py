"""What single statements did between two readings, for two days: ids and figures, never their texts.

Kept by the interval, since an outcome compares the time before the moves with the time after, and moves may begin any
time. They stay on the machine that has sampled them: by the hour there are too few in two days to tell one statement
from another.
"""

from __future__ import annotations

from datetime import datetime

import numpy as np
from sqlalchemy import bindparam, delete, select

from agent.ledger.measured.codec import decode_arrays, encode_arrays
from agent.ledger.measured.samples import Samples
from agent.ledger.store.database import Database
from agent.ledger.store.elements import given, value_for
from agent.ledger.store.schema import Whole, statements
from agent.model.statements import StatementInterval

_COLUMNS = ("executions", "seconds", "read_wait", "reads")
MOST_INTERVALS = 2000  # of a database: four days of the usual settle time

_BETWEEN = (
    select(statements)
    .where(
        given(statements.c.database),
        statements.c.started_at >= value_for(statements.c.started_at, "since"),
        statements.c.ended_at <= value_for(statements.c.ended_at, "until"),
    )
    .order_by(statements.c.ended_at, statements.c.id)
)
_DROP = delete(statements).where(statements.c.ended_at < value_for(statements.c.ended_at, "before"))
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
            rows = reading.rows(_BETWEEN, database=database, since=since, until=until)
        return [_unpacked(place, row.started_at, row.ended_at, row.body) for row in rows]

    def drop(self, before: datetime) -> int:
        """Drop intervals that ended before then, and of each database those beyond ``MOST_INTERVALS``; how many."""
        with self._samples.written().write(durable=False) as transaction:
            return transaction.execute(_DROP, before=before) + transaction.execute(
                _DROP_BEYOND, beyond=MOST_INTERVALS - 1
            )


def _unpacked(place: Database, started_at: datetime, ended_at: datetime, body: bytes) -> StatementInterval:
    try:
        found = decode_arrays(body)
        ids = tuple(str(each) for each in found.pop("ids"))
        return StatementInterval(started_at=started_at, ended_at=ended_at, ids=ids, **found)
    except (ValueError, KeyError, TypeError) as error:
        raise place.corrupt(f"statements until {ended_at}: {error}") from error
