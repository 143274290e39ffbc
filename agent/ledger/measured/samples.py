"""Where samples are: all of them in a ledger's file; or in a file of this machine, and by the hour on a server.

While the server is away samples wait in the file, as long as it keeps history.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol, TypeVar

from agent.ledger.errors import AWAY, LeaseLost
from agent.ledger.file.instants import instant, microseconds
from agent.ledger.file.reading import Reading, where
from agent.ledger.leases import Leases
from agent.ledger.measured.roll_ups import last_hour_before, send_hours
from agent.ledger.measured.sample_file import SampleFile
from agent.ledger.store.database import Database

HANDED_OVER = "handed over"  # document of a database in the file: until when the server has all of its hours
TABLES = ("history", "work", "statements")


class Samples:
    """The two places. Safe from several threads."""

    def __init__(self, ledger: Database, leases: Leases, own: SampleFile | None) -> None:
        """Nothing is opened yet.

        Args:
            ledger: the file, or the server.
            leases: of this process.
            own: the file of this machine next to a server.
        """
        self.ledger = ledger
        self._leases = leases
        self._own = own
        self._handed: dict[str, datetime] = {}  # by database: until when this process has compared it with the server

    @property
    def is_divided(self) -> bool:
        """Whether what was sampled is in another place than its hours."""
        return self._own is not None

    @property
    def agent_name(self) -> str:
        """A word that the agent of this machine was given, and keeps; "": the ledger is a file."""
        return "" if self._own is None else self._own.agent_name()

    def written(self) -> Database:
        """Where samples are written.

        Raises:
            LedgerError: the file of this machine cannot be used.
        """
        return self.ledger if self._own is None else self._own.made()

    def places(self) -> tuple[Database, ...]:
        """Where samples are to be read, the finest first; the last is the ledger."""
        own = None if self._own is None else self._own.found()
        return (self.ledger,) if own is None else (own, self.ledger)

    def insert(self, table: str, values: Mapping[str, Any]) -> None:
        """Store a row.

        Raises:
            LedgerError: it cannot be written.
        """
        with self.written().write(durable=False) as transaction:
            transaction.insert_all(table, [values])

    def hand_over(self, database: str, now: datetime) -> None:
        """Give the server the hours that are over; later, where it is away or another agent acts on the database."""
        until = last_hour_before(now)
        if self._own is None or self._handed.get(database) == until:
            return
        own = self._own.made()
        try:
            send_hours(own, self.ledger, database, until, self._leases.require)
        except (*AWAY, LeaseLost):
            return
        with own.write(durable=False) as transaction:
            row = {"database": database, "name": HANDED_OVER, "at": until, "body": str(microseconds(until))}
            transaction.put("documents", [row])
        self._handed[database] = until

    def waiting(self, database: str, *, is_away: bool) -> int:
        """How many intervals wait for the server: of hours that are over, and where it is away of the present one."""
        own = None if self._own is None else self._own.found()
        if own is None:
            return 0
        of_it = where("database = ?", database)
        with own.read() as reading:
            since = where("ended_at > ?", _handed_over(reading, database))
            last = reading.scalar("SELECT max(ended_at) FROM work", of_it)
            if last is None:
                return 0
            until = instant(last) if is_away else last_hour_before(instant(last))
            return int(reading.scalar("SELECT count(*) FROM work", of_it, since, where("ended_at <= ?", until)))

    def forget(self, database: str) -> None:
        """Drop what waits of a database: another agent has sampled the same time."""
        own = None if self._own is None else self._own.found()
        if own is None:
            return
        with own.write(durable=False) as transaction:
            since = microseconds(_handed_over(transaction, database))
            for table in TABLES:
                newer = [row.id for row in transaction.rows(
                    f"SELECT id FROM {table}", where("database = ?", database), where("ended_at > ?", since)  # noqa: S608  # our own
                )]  # fmt: skip
                for number in newer:
                    transaction.delete(table, id=number)

    def close(self) -> None:
        """Close the file of this machine."""
        if self._own is not None:
            self._own.close()


def _handed_over(reading: Reading, database: str) -> datetime:
    """Until when the server has all hours of a database, by what the file says."""
    of_it = where("database = ?", database), where("name = ?", HANDED_OVER)
    return instant(int(reading.scalar("SELECT body FROM documents", *of_it) or 0))


class Dated(Protocol):
    """An interval."""

    @property
    def ended_at(self) -> datetime:
        """The end, to the microsecond."""
        ...


Interval = TypeVar("Interval", bound=Dated)


def finest(fine: Iterable[Interval], hours: Iterable[Interval], ends: Collection[datetime]) -> Iterator[Interval]:
    """Both in the order of their ends, without the hours whose intervals are there: an hour ends with its last one.

    Args:
        fine: of this machine, in the order of their ends.
        hours: of the server, in the order of their ends.
        ends: of the fine ones.
    """
    return heapq.merge(fine, (each for each in hours if each.ended_at not in ends), key=lambda each: each.ended_at)
