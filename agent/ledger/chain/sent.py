"""What this agent has sent, in a file of its own machine: a ledger on a server may fail over to a copy that is behind.

An intent is on this disk before its statement is sent, with the number and the hash of its audit row: a ledger that
does not hold that row lacks what was done. What it lacks is restored from here (``agent.ledger.restoring``).
"""

from __future__ import annotations

import threading
from dataclasses import astuple, dataclass, fields
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from agent.ledger.chain.links import hash_of_row
from agent.ledger.errors import FellBack
from agent.ledger.file.instants import microseconds
from agent.ledger.file.local import LocalFile
from agent.ledger.file.reading import Reading
from agent.ledger.rows import StepState

KEPT = timedelta(minutes=5)  # how far behind the copy may be: a failover loses seconds
MOST_ROWS = 1000  # that are kept, whatever their age
_TABLES = """
CREATE TABLE IF NOT EXISTS sent (
  ledger TEXT NOT NULL, "database" TEXT NOT NULL, step INTEGER NOT NULL, move INTEGER NOT NULL, digest TEXT NOT NULL,
  ordinal INTEGER NOT NULL, sql TEXT NOT NULL, intended_at INTEGER NOT NULL, "row" INTEGER NOT NULL, hash TEXT NOT NULL,
  state TEXT NOT NULL, detail TEXT NOT NULL, ended_at INTEGER NOT NULL, end_row INTEGER NOT NULL,
  end_hash TEXT NOT NULL, number INTEGER PRIMARY KEY AUTOINCREMENT
);
"""
_DROP = """
DELETE FROM sent
WHERE number NOT IN (SELECT max(number) FROM sent GROUP BY ledger, "database")
  AND ((max(intended_at, ended_at) < ? AND (state = 'intended' OR end_row > 0))
       OR number <= (SELECT max(number) FROM sent) - ?)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A statement that was sent, or was about to be. Instants are microseconds, as the ledger stores them."""

    ledger: str  # hash of the chain's first row
    database: str
    step: int
    move: int
    digest: str
    ordinal: int
    sql: str
    intended_at: int
    row: int  # of the audit chain, which holds the intent
    hash: str  # of that row
    state: StepState = StepState.INTENDED
    detail: str = ""
    ended_at: int = 0
    end_row: int = 0  # of the audit chain, which holds the result; 0: not known to be there
    end_hash: str = ""
    number: int = 0  # in the file

    @property
    def last_row(self) -> tuple[int, str]:
        """Number and hash of the last audit row about it."""
        return (self.end_row, self.end_hash) if self.end_row else (self.row, self.hash)

    @property
    def lacks_end(self) -> bool:
        """Whether its result never reached the ledger."""
        return self.state is not StepState.INTENDED and not self.end_row


class SentFile:
    """The file. Safe from several threads and processes; it is made with the first intent."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        # Number in the file by that of the step: the ledger gives numbers a second time after it has fallen back.
        self._open: dict[int, int] = {}

    def note_intent(self, sent: Sent) -> None:
        """Append a statement that is about to be sent; on the disk when this returns.

        Raises:
            FellBack: the ledger has given the step a number under which another statement of this agent runs.
            LedgerError: it cannot be written; the statement must not be sent.
        """
        if sent.step in self._open:
            raise FellBack(
                f"the ledger is an older copy: it gave the number of a step that runs, {sent.step}, a second time",
                advice="Nothing was sent; it is tried again once the other statement has ended.",
            )
        names = [f'"{each.name}"' for each in fields(Sent) if each.name != "number"]
        insert = f"INSERT INTO sent ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608  # ours
        with self._lock, self._local.own_errors():
            self._open[sent.step] = self._local.file.execute(insert, astuple(sent)[: len(names)]).lastrowid or 0
            self._local.file.execute(_DROP, (sent.intended_at - KEPT // timedelta(microseconds=1), MOST_ROWS))

    def note_end(self, step: int, state: StepState, detail: str, at: datetime) -> Sent | None:
        """Note what became of a statement, before the ledger hears of it; what was noted of it, None where nothing was.

        Raises:
            LedgerError: it cannot be written.
        """
        number = self._open.pop(step, None)
        if number is None:
            return None
        self._change("state = ?, detail = ?, ended_at = ? WHERE number = ?", state, detail, microseconds(at), number)
        return next(iter(self._rows("number = ?", number)), None)

    def replace(self, sent: Sent) -> None:
        """Note where the ledger holds a statement now."""
        self._change(
            'step = ?, "row" = ?, hash = ?, end_row = ?, end_hash = ? WHERE number = ?',
            sent.step, sent.row, sent.hash, sent.end_row, sent.end_hash, sent.number,
        )  # fmt: skip

    def forget(self, sent: Sent) -> None:
        """Remove a statement that the ledger has no place for any more."""
        with self._lock, self._local.own_errors():
            self._local.file.execute("DELETE FROM sent WHERE number = ?", (sent.number,))
            self._open = {step: number for step, number in self._open.items() if number != sent.number}

    def of(self, database: str) -> list[Sent]:
        """What was sent to a database and is still kept, in order.

        Raises:
            LedgerError: the file cannot be read.
        """
        if "_local" not in self.__dict__ and not self._path.exists():
            return []
        return self._rows('"database" = ?', database)

    def require(self, reading: Reading, database: str) -> None:
        """Check that the chain holds what was last noted of a database here.

        Raises:
            FellBack: it does not.
            LedgerError: the file cannot be read.
        """
        if is_behind(reading, self.of(database)):
            raise FellBack(
                f"the ledger is an older copy: it lacks what was sent to {database} by this agent",
                advice="Nothing is sent before the agent has restored that, which it does within seconds. Look at the "
                "event failover.restored of the audit chain, and repeat decisions of those minutes that are missing.",
            )

    def close(self) -> None:
        """Close the file."""
        if "_local" in self.__dict__:
            self._local.close()

    @cached_property
    def _local(self) -> LocalFile:
        return LocalFile(self._path, _TABLES, durable=True)

    def _rows(self, condition: str, value: object) -> list[Sent]:
        names = [each.name for each in fields(Sent)]
        columns = ", ".join(f'"{name}"' for name in names)
        query = f"SELECT {columns} FROM sent WHERE {condition} ORDER BY number"  # noqa: S608  # our own
        with self._lock, self._local.own_errors():
            found = self._local.file.execute(query, (value,)).fetchall()
        rows = (dict(zip(names, row, strict=True)) for row in found)
        return [Sent(**{**row, "state": StepState(row["state"])}) for row in rows]

    def _change(self, what: str, *values: object) -> None:
        with self._lock, self._local.own_errors():
            self._local.file.execute(f"UPDATE sent SET {what}", values)  # noqa: S608  # our own


def is_behind(reading: Reading, every: list[Sent]) -> bool:
    """Whether the chain lacks the last audit row about these statements, or holds another one in its place."""
    if not every or hash_of_row(reading, 1) != every[-1].ledger:
        return False  # another ledger altogether: that is the anchors' matter
    # The last alone: its hash follows from all rows before it.
    row, link = max(each.last_row for each in every if each.ledger == every[-1].ledger)
    return hash_of_row(reading, row) != link
