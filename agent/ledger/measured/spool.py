"""Samples on their way to a ledger on a server: first into a file of this machine, then to the server.

While the server is away they wait here, the oldest giving way where there are too many. A row is stored on the server
once: its number goes with it, within the same transaction, so what was stored before a connection broke is known.
"""

from __future__ import annotations

import json
import secrets
import threading
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.ledger.errors import AWAY, LeaseLost
from agent.ledger.file.instants import microseconds
from agent.ledger.file.local import LocalFile
from agent.ledger.file.reading import where
from agent.ledger.leases import Leases
from agent.ledger.state_names import ALL_DATABASES
from agent.ledger.store.database import Database

if TYPE_CHECKING:
    from agent.ledger.file.transaction import Transaction

MOST_BYTES = 64 << 20  # of waiting rows: days of a database with thousands of units
AT_ONCE = 500  # rows handed to the server in one transaction
_TABLES = """
CREATE TABLE IF NOT EXISTS spool (
  number INTEGER PRIMARY KEY AUTOINCREMENT, "table" TEXT NOT NULL, "database" TEXT NOT NULL, "values" TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS spool_name (name TEXT NOT NULL);
"""
OF_SPOOL = "spool "  # begins the name of the document that holds the last number of a spool


@dataclass(frozen=True, slots=True)
class _Waiting:
    number: int
    table: str
    values: dict[str, Any]


class Spool(LocalFile):
    """The file. For one thread at a time."""

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        """Open it, or make it.

        Raises:
            LedgerError: it cannot be read or written.
        """
        super().__init__(path, _TABLES, durable=False)
        self._most_bytes = most_bytes
        self.dropped = 0  # rows that gave way, since the start
        with self.own_errors():
            self.name = self._find_name()

    def add(self, table: str, values: Mapping[str, Any]) -> None:
        """Append a row; the oldest give way where there are too many."""
        with self.own_errors():
            self.file.execute(
                'INSERT INTO spool ("table", "database", "values") VALUES (?, ?, ?)',
                (table, values["database"], _pack(values)),
            )
            while self._bytes() > self._most_bytes:
                oldest = "DELETE FROM spool WHERE number IN (SELECT number FROM spool ORDER BY number LIMIT 100)"
                self.dropped += self.file.execute(oldest).rowcount

    def oldest(self) -> list[_Waiting]:
        """The rows that are to go to the server next."""
        query = f'SELECT number, "table", "values" FROM spool ORDER BY number LIMIT {AT_ONCE}'  # noqa: S608  # our own
        with self.own_errors():
            return [_Waiting(number, table, _unpack(text)) for number, table, text in self.file.execute(query)]

    def forget(self, until: int) -> None:
        """Remove the rows up to that number."""
        with self.own_errors():
            self.file.execute("DELETE FROM spool WHERE number <= ?", (until,))

    def drop(self, database: str) -> None:
        """Remove the rows of a database."""
        with self.own_errors():
            self.file.execute('DELETE FROM spool WHERE "database" = ?', (database,))

    def waiting(self) -> dict[str, int]:
        """How many rows of each database wait."""
        with self.own_errors():
            return dict(self.file.execute('SELECT "database", count(*) FROM spool GROUP BY "database"').fetchall())

    def _bytes(self) -> int:
        return int(self.file.execute('SELECT coalesce(sum(length("values")), 0) FROM spool').fetchone()[0])

    def _find_name(self) -> str:
        found = self.file.execute("SELECT name FROM spool_name").fetchone()
        if found is None:
            found = (secrets.token_hex(8),)
            self.file.execute("INSERT INTO spool_name VALUES (?)", found)
        return str(found[0])


class Samples:
    """Stores rows of samples: at once on a file, over a spool on a server. Safe from several threads."""

    def __init__(self, database: Database, leases: Leases, spool: Spool | None) -> None:
        """Without a spool rows are stored at once.

        Args:
            database: where they belong.
            leases: of this process.
            spool: where they wait.
        """
        self._database = database
        self._leases = leases
        self._spool = spool
        self._lock = threading.Lock()

    def insert(self, table: str, values: Mapping[str, Any]) -> None:
        """Store a row, or keep it until the server is there again.

        Raises:
            LedgerError: the file cannot be written; with a spool, that of the spool.
        """
        if self._spool is None:
            with self._database.write(durable=False) as transaction:
                transaction.insert_all(table, [values])
            return
        with self._lock:
            self._spool.add(table, values)
            self._hand_over(self._spool)

    @property
    def spool_name(self) -> str:
        """A word that the spool was given when it was made; "": there is none."""
        return "" if self._spool is None else self._spool.name

    def waiting(self, database: str) -> int:
        """How many rows of a database are not on the server yet."""
        if self._spool is None:
            return 0
        with self._lock:
            return self._spool.waiting().get(database, 0)

    def forget(self, database: str) -> None:
        """Drop what waits of a database: another agent has stored the same time."""
        if self._spool is not None:
            with self._lock:
                self._spool.drop(database)

    def close(self) -> None:
        """Close the spool."""
        if self._spool is not None:
            self._spool.close()

    def _hand_over(self, spool: Spool) -> None:
        """Hand over everything that waits; nothing more where the server is away."""
        while rows := spool.oldest():
            try:
                with self._database.write(durable=False) as transaction:
                    self._store(transaction, spool, rows)
            except AWAY:
                return
            spool.forget(rows[-1].number)

    def _store(self, transaction: Transaction, spool: Spool, rows: list[_Waiting]) -> None:
        # Of no database: the rows are of all that this machine watches.
        key = {"database": ALL_DATABASES, "name": f"{OF_SPOOL}{spool.name}"}
        of_it = where("database = ?", key["database"]), where("name = ?", key["name"])
        found = transaction.scalar("SELECT body FROM documents", *of_it)
        last = 0 if found is None else int(found)
        lost = self._lost_in(transaction, {row.values["database"] for row in rows})
        for row in rows:
            if row.number > last and row.values["database"] not in lost:
                transaction.insert_all(row.table, [row.values])
        now = microseconds(self._database.now(transaction))
        transaction.put("documents", [{**key, "at": now, "body": str(rows[-1].number)}])

    def _lost_in(self, transaction: Transaction, databases: set[str]) -> set[str]:
        """Those of some databases on which another agent acts: it has sampled the same time."""
        lost = set()
        for database in sorted(databases):
            try:
                self._leases.require(transaction, database)
            except LeaseLost:
                lost.add(database)
        return lost


def _pack(values: Mapping[str, Any]) -> str:
    return json.dumps({name: _plain(value) for name, value in values.items()})


def _plain(value: Any) -> Any:  # noqa: ANN401  # JSON values
    if isinstance(value, datetime):
        return microseconds(value)
    return {"bytes": b64encode(value).decode()} if isinstance(value, bytes) else value


def _unpack(text: str) -> dict[str, Any]:
    found = json.loads(text)
    return {name: b64decode(value["bytes"]) if isinstance(value, dict) else value for name, value in found.items()}
