"""The end of history on a file: rows go once they are older than history is kept."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select

from agent.ledger.file.schema import history
from agent.ledger.store.database import Database, Dropped, Expiry

AT_ONCE = 50  # rows


class RowExpiry(Expiry):
    """Drops rows, some under one write lock."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def drop(self, now: datetime, kept_seconds: float, databases: Collection[str]) -> Dropped:
        """Drop what ended before then, of all databases of the file."""
        del databases
        size = func.length(history.c.body)
        ended = history.c.ended_at <= now - timedelta(seconds=kept_seconds)
        some = select(history.c.id, size.label("size")).where(ended).limit(AT_ONCE)
        rows, total = 0, 0
        while True:
            with self._database.write(durable=False) as transaction:
                # Some rows under each lock: dropping a month of history at once would make a statement wait for its
                # intent.
                found = transaction.core.execute(some).all()
                transaction.core.execute(delete(history).where(history.c.id.in_([row.id for row in found])))
            rows, total = rows + len(found), total + sum(row.size for row in found)
            if len(found) < AT_ONCE:
                return Dropped(rows=rows, bytes=total)
