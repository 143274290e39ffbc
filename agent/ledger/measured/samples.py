"""Intervals as the ledger keeps them, and where samples are: in its file, or on this machine first.

``merged`` makes one coarser row of the rows of a bucket.

``send_hours`` gives a server the hours that it lacks. The end of an hour's last interval, exact to the microsecond,
identifies the hour: no other agent's hour has the same. The server itself is asked what it lacks. So an hour is stored
once however often it is sent, and is sent again if the server is an older copy. An hour that has got more intervals
since replaces what was sent of it.

``Samples`` knows the two arrangements: all in a ledger's file, or in a file of this machine (``SampleFile``) and by the
hour on a server. While the server is away, samples wait in the file for as long as it keeps history. The file has the
tables of a ledger's file, so the same code migrates, folds and shrinks it. Only the tables of samples are used, and
what the agent remembers of them.
"""

from __future__ import annotations

import heapq
import json
import os
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from sqlalchemy import ColumnElement, Table, delete, func, select

from agent.ledger.errors import AWAY, LeaseLost
from agent.ledger.file.database import FileDatabase
from agent.ledger.file.opening import bring_up_to_date, prepare_file
from agent.ledger.leases import Leases
from agent.ledger.measured.codec import decode_history, encode_history, merge_history
from agent.ledger.rows import HistoryRow
from agent.ledger.state_names import ALL_DATABASES
from agent.ledger.store.database import Database, Reading, Row, Transaction, in_parts
from agent.ledger.store.schema import (
    EPOCH,
    bucket_of,
    documents,
    given,
    history,
    instant,
    microseconds,
    one_of,
    statements,
    value_for,
    work,
)
from connectors.model.observation import DatabaseDemand
from policies.evidence.workload import WorkInterval, average

AS_SAMPLED: Final = 0  # resolution_seconds
TEN_MINUTES: Final = 600
HOUR: Final = 3600
MICRO = 1_000_000
HOURS_CHUNK = 24  # hours in one transaction: others wait for it
STARTED_AT = "started_at"  # in the body of an hour of work, microseconds: when the first of its intervals began
_RATES = frozenset(field.name for field in fields(DatabaseDemand))


def number_of(at: datetime, width: int = HOUR) -> int:
    """Number of the bucket of ``width`` seconds, (start, end], of an interval that ends then."""
    return ((at - EPOCH) // timedelta(microseconds=1) - 1) // (width * MICRO)


def span_of(number: int, width: int = HOUR) -> tuple[datetime, datetime]:
    """Start (left out) and end of a bucket."""
    return instant(number * width * MICRO), instant((number + 1) * width * MICRO)


def unpacked(database: Database, row: Row) -> HistoryRow:
    """A row of the table.

    Raises:
        LedgerCorrupt: its blob cannot be unpacked.
    """
    try:
        slots, values = decode_history(row.body)
    except ValueError as error:
        raise database.corrupt(f"history of {row.database} at {row.ended_at:%F %T}: {error}") from error
    return HistoryRow(
        database=row.database, started_at=row.started_at, ended_at=row.ended_at, seconds=row.seconds,
        resolution_seconds=row.resolution_seconds, slots=slots, values=values,
    )  # fmt: skip


def merged(database: Database, rows: Sequence[Row], coarse: int) -> list[dict[str, Any]]:
    """The rows of a bucket as one coarser row, to be inserted.

    One for each number of signals: a version that kept others wrote columns that cannot be added to these.

    Args:
        database: where they are from.
        rows: of one bucket, by number of signals.
        coarse: resolution of what is made, seconds.

    Raises:
        LedgerCorrupt: a blob cannot be unpacked.
    """
    return [
        _merge(signals, [unpacked(database, row) for row in group], coarse)
        for signals, group in groupby(rows, key=lambda row: int(row.signals))
    ]


def _merge(signals: int, rows: Sequence[HistoryRow], coarse: int) -> dict[str, Any]:
    return {
        "database": rows[0].database, "resolution_seconds": coarse,
        "started_at": min(row.started_at for row in rows), "ended_at": max(row.ended_at for row in rows),
        "seconds": sum(row.seconds for row in rows), "signals": signals,
        "body": encode_history(*merge_history([(row.slots, row.values) for row in rows])),
    }  # fmt: skip


# -- rates of a whole database, as text ------------------------------------------------------------------------------


def rates_text(demand: DatabaseDemand, **more: object) -> str:
    """The rates that are known, as JSON, which knows no NaN; and more of the interval, which is no rate."""
    known = {name: value for name, value in asdict(demand).items() if value == value}
    return json.dumps({**known, **more}, allow_nan=False)


def rates_of_text(text: str) -> DatabaseDemand:
    """Inverse of ``rates_text``; what this version knows as no rate is left out."""
    return DatabaseDemand(**{name: value for name, value in json.loads(text).items() if name in _RATES})


# -- hours for a server ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Hour:
    number: int
    ended_at: datetime  # of its last interval


class _Measured(ABC):
    """A table whose rows are made into hours."""

    def __init__(self, table: Table, *on_server: ColumnElement[bool]) -> None:
        """Prepare its statements.

        Args:
            table: whose rows they are.
            on_server: which rows of the server are hours.
        """
        columns, self.table = table.c, table
        number, of_it = bucket_of(columns.ended_at, HOUR * MICRO), given(columns.database)
        since, until = value_for(columns.ended_at, "since"), value_for(columns.ended_at, "until")
        self._hours = (
            select(number.label("number"), func.max(columns.ended_at).label("ended_at"))
            .where(of_it, columns.ended_at <= until)
            .group_by(number)
            .order_by(number)
        )
        self._there = select(columns.ended_at).where(of_it, columns.ended_at > since, *on_server)
        order = [columns[name] for name in ("signals", "id") if name in columns]
        within = columns.ended_at > since, columns.ended_at <= until
        self._of_hour = select(table).where(of_it, *within).order_by(*order)
        self.drop = delete(table).where(of_it, one_of(columns.ended_at))

    @abstractmethod
    def merge(self, own: Database, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """The rows of an hour as what the server is given."""

    def hours(self, own: Database, database: str, until: datetime) -> list[_Hour]:
        """Those with intervals that had ended by then, the oldest first."""
        with own.read() as reading:
            rows = reading.rows(self._hours, database=database, until=until)
            return [_Hour(row.number, row.ended_at) for row in rows]

    def ends_there(self, transaction: Transaction, database: str, since: datetime) -> set[datetime]:
        """The ends of the hours that the server has."""
        return {row.ended_at for row in transaction.rows(self._there, database=database, since=since)}

    def rows(self, own: Database, database: str, hour: _Hour) -> Sequence[Row]:
        """The intervals of an hour."""
        since, until = span_of(hour.number)
        with own.read() as reading:
            return reading.rows(self._of_hour, database=database, since=since, until=until)


class _History(_Measured):
    """Demand of units."""

    def merge(self, own: Database, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Sums."""
        return merged(own, rows, HOUR)


class _Work(_Measured):
    """Rates of the whole database."""

    def merge(self, own: Database, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Means by time."""
        del own
        known = [WorkInterval(seconds=row.seconds, demand=rates_of_text(row.body)) for row in rows]
        began = min(microseconds(row.ended_at) - round(row.seconds * MICRO) for row in rows)
        body = rates_text(average(known), **{STARTED_AT: began})
        return [{
            "database": rows[0].database, "ended_at": max(row.ended_at for row in rows),
            "seconds": sum(row.seconds for row in rows), "body": body,
        }]  # fmt: skip


MEASURED: tuple[_Measured, ...] = (_History(history, history.c.resolution_seconds == HOUR), _Work(work))


def send_hours(
    own: Database, ledger: Database, database: str, until: datetime, require: Callable[[Transaction, str], None]
) -> None:
    """Give the server what it lacks of the hours that had ended by then.

    Args:
        own: the samples of this machine.
        ledger: on the server.
        database: its name.
        until: the end of an hour.
        require: checks within a transaction that this agent may write about the database.

    Raises:
        LedgerError: of either, what was sent before stays.
    """
    for measured in MEASURED:
        hours = measured.hours(own, database, until)
        for some in in_parts(hours, HOURS_CHUNK):
            with ledger.write(durable=False) as transaction:
                require(transaction, database)
                _send(measured, own, transaction, database, some)


def _send(measured: _Measured, own: Database, transaction: Transaction, database: str, hours: Sequence[_Hour]) -> None:
    there = measured.ends_there(transaction, database, span_of(hours[0].number)[0])
    for hour in hours:
        if hour.ended_at in there:
            continue
        rows = measured.rows(own, database, hour)
        replaced = there & {row.ended_at for row in rows}  # what was sent of it before it had all of its intervals
        if replaced:
            transaction.execute(measured.drop, database=database, some=sorted(replaced))
        transaction.insert_all(measured.table, measured.merge(own, rows))


def last_hour_before(at: datetime) -> datetime:
    """The end of the hour before that of an interval which ends then."""
    return span_of(number_of(at))[0]


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
            # Nothing is lost: the hours stay here until a later call hands them over.
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
