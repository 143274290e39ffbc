"""Where samples are: all of them in a ledger's file; or in a file of this machine, and by the hour on a server.

While the server is away samples wait in the file, as long as it keeps history. The file has the tables of a ledger's
file, so that it is migrated, folded and made smaller as one; only those of samples are used, and what the agent
remembers of them.
"""

from __future__ import annotations

import heapq
import os
import secrets
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sqlalchemy import Table, delete, func, select

from agent.ledger.errors import AWAY, LeaseLost
from agent.ledger.file.database import FileDatabase
from agent.ledger.file.opening import bring_up_to_date, prepare_file
from agent.ledger.leases import Leases
from agent.ledger.measured.intervals import last_hour_before, send_hours
from agent.ledger.state_names import ALL_DATABASES
from agent.ledger.store.database import Database, Reading
from agent.ledger.store.elements import given, value_for
from agent.ledger.store.schema import EPOCH, documents, history, instant, microseconds, statements, work

AGENT = "agent"  # document: the name of the agent whose file it is
HANDED_OVER = "handed over"  # document of a database in the file: until when the server has all of its hours
TABLES = (history, work, statements)
_DOCUMENT = select(documents.c.body).where(given(documents.c.database), given(documents.c.name))
_LAST_WORK = select(func.max(work.c.ended_at)).where(given(work.c.database))
_WORK_BETWEEN = select(func.count()).where(
    given(work.c.database),
    work.c.ended_at > value_for(work.c.ended_at, "since"),
    work.c.ended_at <= value_for(work.c.ended_at, "until"),
)
_DROP_NEWER = [
    delete(table).where(given(table.c.database), table.c.ended_at > value_for(table.c.ended_at, "since"))
    for table in TABLES
]


class SampleFile:
    """The file of this machine, opened or made when it is first needed. Safe from several threads."""

    def __init__(self, path: Path) -> None:
        """Nothing is opened yet."""
        self.path = path
        self._opened: FileDatabase | None = None
        self._lock = threading.Lock()

    def found(self) -> FileDatabase | None:
        """To read; None where there is none, or it belongs to another account of this machine.

        Raises:
            LedgerError: it cannot be used.
        """
        with self._lock:
            if self._opened is None and not os.access(self.path, os.R_OK | os.W_OK):
                return None
            return self._open()

    def made(self) -> FileDatabase:
        """To write.

        Raises:
            LedgerError: it cannot be used.
        """
        with self._lock:
            return self._open()

    def agent_name(self) -> str:
        """A word that the agent is given with its file, and keeps over restarts."""
        with self.made().write() as transaction:
            found = transaction.scalar(_DOCUMENT, database=ALL_DATABASES, name=AGENT)
            if found is None:
                found = secrets.token_hex(8)
                row = {"database": ALL_DATABASES, "name": AGENT, "at": EPOCH, "body": found}
                transaction.put(documents, [row])
            return str(found)

    def close(self) -> None:
        """Close it."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _open(self) -> FileDatabase:
        if self._opened is None:
            prepare_file(self.path, create=True)
            database = FileDatabase(self.path)
            bring_up_to_date(database)
            self._opened = database
        return self._opened


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

    def insert(self, table: Table, values: Mapping[str, Any]) -> None:
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
            transaction.put(documents, [row])
        self._handed[database] = until

    def waiting(self, database: str, *, is_away: bool) -> int:
        """How many intervals wait for the server: of hours that are over, and where it is away of the present one."""
        own = None if self._own is None else self._own.found()
        if own is None:
            return 0
        with own.read() as reading:
            since, last = _handed_over(reading, database), reading.scalar(_LAST_WORK, database=database)
            if last is None:
                return 0
            until = last if is_away else last_hour_before(last)
            return int(reading.scalar(_WORK_BETWEEN, database=database, since=since, until=until))

    def forget(self, database: str) -> None:
        """Drop what waits of a database: another agent has sampled the same time."""
        own = None if self._own is None else self._own.found()
        if own is None:
            return
        with own.write(durable=False) as transaction:
            since = _handed_over(transaction, database)
            for drop in _DROP_NEWER:
                transaction.execute(drop, database=database, since=since)

    def close(self) -> None:
        """Close the file of this machine."""
        if self._own is not None:
            self._own.close()


def _handed_over(reading: Reading, database: str) -> datetime:
    """Until when the server has all hours of a database, by what the file says."""
    return instant(int(reading.scalar(_DOCUMENT, database=database, name=HANDED_OVER) or 0))


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
