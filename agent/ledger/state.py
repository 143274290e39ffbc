"""Small state that a restart goes on from: named arrays and documents, one of each name per database, the newest only.

Caches of what was measured, not decisions: they are not part of the audit chain. All that saves raises ``LeaseLost``
where this process has acted on the database and another one has taken its place: nothing was replaced.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agent.ledger.file.reading import where
from agent.ledger.leases import Leases
from agent.ledger.store.database import Database
from connectors.base import Clock

# What packs arrays is imported where one is packed: a command that reads a document does not wait for numpy.
if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agent.ledger.file.codec import Column


class SmallState:
    """Arrays and documents by database and name."""

    def __init__(self, database: Database, clock: Clock, leases: Leases) -> None:
        self._database = database
        self._clock = clock
        self._leases = leases

    def save_arrays(self, database: str, name: str, at: datetime, columns: Mapping[str, Column]) -> int:
        """Keep named arrays, exact to the bit; replaces those of the same name. Returns the bytes that they take.

        Raises:
            ValueError: an array holds Python objects or records.
        """
        from agent.ledger.file.codec import encode_arrays

        body = encode_arrays(columns)
        self._replace("arrays", database, name, at, body)
        return len(body)

    def share_arrays(self, database: str, name: str, at: datetime, columns: Mapping[str, Column]) -> int:
        """The same for large sets that change in part: of equal columns one copy is kept for all sets.

        Returns the bytes of the columns that were new.

        Raises:
            ValueError: an array holds Python objects or records.
        """
        from agent.ledger.file.codec import encode_arrays
        from agent.ledger.shared_columns import Packed, save_columns

        packed = Packed(columns)
        with self._database.read_by_core() as connection:
            for column in packed.missing(connection):
                packed.body(column)  # packed now, and not while others wait for the lock
        with self._database.write(durable=False) as transaction:
            self._leases.require_not_succeeded(transaction, database)
            kept = {"database": database, "name": name, "at": at, "body": encode_arrays({})}
            size = save_columns(transaction, database, name, packed)
            transaction.put("arrays", [kept])
            return size

    def load_arrays(self, database: str, name: str) -> tuple[datetime, dict[str, NDArray[Any]]] | None:
        """The arrays of that name and when they were saved."""
        from sqlalchemy import select

        from agent.ledger.file.codec import decode_arrays
        from agent.ledger.file.schema import arrays
        from agent.ledger.shared_columns import load_columns

        try:
            with self._database.read_by_core() as connection:
                query = select(arrays).where(arrays.c.database == database, arrays.c.name == name)
                row = connection.execute(query).one_or_none()
                if row is None:
                    return None
                return row.at, {**decode_arrays(row.body), **load_columns(connection, database, name)}
        except ValueError as error:
            raise self._database.corrupt(f"the arrays {name!r} of {database}: {error}") from error

    def saved_at(self, database: str, name: str) -> datetime | None:
        """When the arrays of that name were saved; they are not unpacked."""
        of_it = where("database = ?", database), where("name = ?", name)
        with self._database.read() as reading:
            at: datetime | None = reading.scalar("SELECT at FROM arrays", *of_it)
        return at

    def forget_arrays(self, prefix: str, before: datetime, but: Collection[tuple[str, str]] = ()) -> int:
        """Drop arrays of names that begin so and were saved before then, but for some (database, name); how many."""
        from agent.ledger.shared_columns import drop_columns

        old = where("substr(name, 1, ?) = ?", len(prefix), prefix), where("at < ?", before)
        with self._database.write(durable=False) as transaction:
            found = list(transaction.rows("SELECT database, name FROM arrays", *old))
            names = [(row.database, row.name) for row in found if (row.database, row.name) not in but]
            drop_columns(transaction, names)
            for database, name in names:
                transaction.delete("arrays", database=database, name=name)
        return len(names)

    def save_document(self, database: str, name: str, document: Any) -> None:  # noqa: ANN401  # JSON values
        """Keep a JSON document; replaces the one of the same name.

        Raises:
            ValueError, TypeError: it is not JSON (which knows no NaN).
        """
        body = json.dumps(document, ensure_ascii=False, allow_nan=False)
        self._replace("documents", database, name, self._clock.now(), body)

    def load_document(self, database: str, name: str) -> tuple[datetime, Any] | None:
        """The document of that name and when it was saved."""
        of_it = where("database = ?", database), where("name = ?", name)
        with self._database.read() as reading:
            row = reading.first("SELECT at, body FROM documents", *of_it)
        return None if row is None else (row.at, json.loads(row.body))

    def _replace(self, table: str, database: str, name: str, at: datetime, body: str | bytes) -> None:
        with self._database.write(durable=False) as transaction:
            self._leases.require_not_succeeded(transaction, database)
            # A set stored column by column before would otherwise still add its old columns to what is loaded.
            if table == "arrays":
                from agent.ledger.shared_columns import drop_columns

                drop_columns(transaction, [(database, name)])
            transaction.put(table, [{"database": database, "name": name, "at": at, "body": body}])
