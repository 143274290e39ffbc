"""History and work on a server: a partition for each week, made ahead, and dropped as a whole once it is past.

Rows of the week are the units that the server drops: no row is deleted by age, so nothing is left for its autovacuum.
``partitions.sql`` says who makes and drops them, and on whose word.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from importlib.resources import files
from typing import TYPE_CHECKING

from agent.ledger.errors import LedgerBusy
from agent.ledger.file.instants import microseconds
from agent.ledger.file.reading import Reading, translated_errors
from agent.ledger.state_names import HISTORY_KEPT
from agent.ledger.store.database import Dropped, Expiry

if TYPE_CHECKING:
    from agent.ledger.file.transaction import Transaction
    from agent.ledger.server.database import ServerDatabase


def divide_history(transaction: Transaction, schema: str) -> None:
    """Give the history of new or migrated tables its partitions; where it has them, only what keeps them.

    Args:
        transaction: that made the tables, or brought them up to date.
        schema: of the ledger, ``[a-z0-9_]`` only.

    Raises:
        LedgerReadOnly: the tables belong to another role.
    """
    from agent.ledger.file.transaction import driver_of

    text = files(__package__).joinpath("partitions.sql").read_text(encoding="utf-8")
    with translated_errors(transaction.dialect):
        driver_of(transaction.core).execute(text.replace("@schema@", schema))


class PartitionExpiry(Expiry):
    """Drops weeks that are past for all databases of the ledger."""

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database

    def drop(self, now: datetime, kept_seconds: float, databases: Collection[str]) -> Dropped:
        """Say how long these databases are kept, and drop the weeks that no database needs any more."""
        self._say_how_long(now, kept_seconds, databases)
        try:
            with self._database.write(durable=False) as transaction:
                return _dropped(transaction, now)
        except LedgerBusy:  # a long look at history keeps its partitions for now: the next hour's turn
            return Dropped(rows=0, bytes=0)

    def _say_how_long(self, now: datetime, kept_seconds: float, databases: Collection[str]) -> None:
        said = [
            {"database": name, "name": HISTORY_KEPT, "at": microseconds(now), "body": str(round(kept_seconds))}
            for name in sorted(databases)
        ]
        if said:
            with self._database.write(durable=False) as transaction:
                transaction.put("documents", said)


def _dropped(reading: Reading, now: datetime) -> Dropped:
    (row,) = reading.rows(f"SELECT dropped, dropped_bytes FROM keep_history({microseconds(now)})")  # noqa: S608  # a number
    return Dropped(rows=row.dropped, bytes=row.dropped_bytes)
