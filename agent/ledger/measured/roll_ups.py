"""Hours on their way from the samples of this machine to a ledger on a server.

An hour is known by the end of its last interval, exact to the microsecond, which no other agent's hour has. What the
server lacks is asked of the server itself: an hour comes once, however often it is sent, and comes again where the
server is an older copy. An hour that has got more intervals since takes the place of what was sent of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, Table, delete, select

from agent.ledger.file.instants import microseconds
from agent.ledger.file.reading import Condition, where
from agent.ledger.file.schema import history, work
from agent.ledger.measured.intervals import HOUR, MICRO, merged, number_of, span_of
from agent.ledger.measured.rates import rates_of_text, rates_text
from agent.ledger.store.database import Database
from policies.demand.workload import WorkInterval, average

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.ledger.file.transaction import Transaction

AT_ONCE = 24  # hours in one transaction: others wait for it
STARTED_AT = "started_at"  # in the body of an hour of work, microseconds: when the first of its intervals began


@dataclass(frozen=True, slots=True)
class _Hour:
    number: int
    ended_at: datetime  # of its last interval


class _Measured(ABC):
    """A table whose rows are made into hours."""

    table: Table
    on_server: tuple[Condition, ...] = ()  # which rows of the server are hours

    @abstractmethod
    def merge(self, own: Database, rows: Sequence[Row[Any]]) -> list[dict[str, Any]]:
        """The rows of an hour as what the server is given."""

    def hours(self, own: Database, database: str, until: datetime) -> list[_Hour]:
        """Those with intervals that had ended by then, the oldest first."""
        width = HOUR * MICRO
        of_it = where("database = ?", database), where("ended_at <= ?", until)
        query = f"SELECT (ended_at - 1) / {width} AS number, max(ended_at) AS ended_at FROM {self.table.name}"  # noqa: S608  # ours
        with own.read() as reading:
            found = reading.rows(query, *of_it, then=f"GROUP BY (ended_at - 1) / {width} ORDER BY 1")
            return [_Hour(row.number, row.ended_at) for row in found]

    def ends_there(self, transaction: Transaction, database: str, since: datetime) -> set[datetime]:
        """The ends of the hours that the server has."""
        of_it = where("database = ?", database), where("ended_at > ?", since), *self.on_server
        return {row.ended_at for row in transaction.rows(f"SELECT ended_at FROM {self.table.name}", *of_it)}  # noqa: S608  # ours

    def rows(self, own: Database, database: str, hour: _Hour) -> Sequence[Row[Any]]:
        """The intervals of an hour."""
        columns = self.table.c
        since, until = span_of(hour.number)
        of_it = columns.database == database, columns.ended_at > since, columns.ended_at <= until
        order = [columns[name] for name in ("signals", "id") if name in columns]
        with own.read_by_core() as connection:
            return connection.execute(select(self.table).where(*of_it).order_by(*order)).all()


class _History(_Measured):
    """Demand of units."""

    table = history
    on_server = (where("resolution_seconds = ?", HOUR),)

    def merge(self, own: Database, rows: Sequence[Row[Any]]) -> list[dict[str, Any]]:
        """Sums."""
        return merged(own, rows, HOUR)


class _Work(_Measured):
    """Rates of the whole database."""

    table = work

    def merge(self, own: Database, rows: Sequence[Row[Any]]) -> list[dict[str, Any]]:
        """Means by time."""
        del own
        known = [WorkInterval(seconds=row.seconds, demand=rates_of_text(row.body)) for row in rows]
        began = min(microseconds(row.ended_at) - round(row.seconds * MICRO) for row in rows)
        body = rates_text(average(known), **{STARTED_AT: began})
        return [{
            "database": rows[0].database, "ended_at": max(row.ended_at for row in rows),
            "seconds": sum(row.seconds for row in rows), "body": body,
        }]  # fmt: skip


MEASURED: tuple[_Measured, ...] = (_History(), _Work())


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
        for some in _in_parts(hours):
            with ledger.write(durable=False) as transaction:
                require(transaction, database)
                _send(measured, own, transaction, database, some)


def _in_parts(hours: Sequence[_Hour]) -> Iterator[Sequence[_Hour]]:
    for start in range(0, len(hours), AT_ONCE):
        yield hours[start : start + AT_ONCE]


def _send(measured: _Measured, own: Database, transaction: Transaction, database: str, hours: Sequence[_Hour]) -> None:
    there = measured.ends_there(transaction, database, span_of(hours[0].number)[0])
    for hour in hours:
        if hour.ended_at in there:
            continue
        rows = measured.rows(own, database, hour)
        replaced = there & {row.ended_at for row in rows}  # what was sent of it before it had all of its intervals
        if replaced:
            columns = measured.table.c
            earlier = columns.database == database, columns.ended_at.in_(replaced)
            transaction.core.execute(delete(measured.table).where(*earlier))
        transaction.insert_all(measured.table.name, measured.merge(own, rows))


def last_hour_before(at: datetime) -> datetime:
    """The end of the hour before that of an interval which ends then."""
    return span_of(number_of(at))[0]
