"""Small state that a restart goes on from: named arrays and documents, one of each name per database, the newest only.

Caches of what was measured, not decisions: they are not part of the audit chain.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, Table, delete, insert, select

from agent.ledger.errors import corrupt
from agent.ledger.file.database import Database
from agent.ledger.file.schema import arrays, documents
from connectors.base import Clock

# What packs arrays is imported where one is packed: a command that reads a document does not wait for numpy.
if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agent.ledger.file.codec import Column


class SmallState:
    """Arrays and documents by database and name."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def save_arrays(self, database: str, name: str, at: datetime, columns: Mapping[str, Column]) -> int:
        """Keep named arrays, exact to the bit; replaces those of the same name. Returns the bytes that they take.

        Raises:
            ValueError: an array holds Python objects or records.
        """
        from agent.ledger.file.codec import encode_arrays

        body = encode_arrays(columns)
        self._replace(arrays, database, name, at, body)
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
        with self._database.read() as connection:
            for column in packed.missing(connection):
                packed.body(column)  # packed now, and not while others wait for the lock
        with self._database.write(durable=False) as connection:
            kept = {"database": database, "name": name, "at": at, "body": encode_arrays({})}
            size = save_columns(connection, database, name, packed)
            self._put(connection, arrays, kept)
            return size

    def load_arrays(self, database: str, name: str) -> tuple[datetime, dict[str, NDArray[Any]]] | None:
        """The arrays of that name and when they were saved."""
        from agent.ledger.file.codec import decode_arrays
        from agent.ledger.shared_columns import load_columns

        query = select(arrays).where(arrays.c.database == database, arrays.c.name == name)
        try:
            with self._database.read() as connection:
                row = connection.execute(query).one_or_none()
                if row is None:
                    return None
                return row.at, {**decode_arrays(row.body), **load_columns(connection, database, name)}
        except ValueError as error:
            raise corrupt(self._database.path, f"the arrays {name!r} of {database}: {error}") from error

    def forget_arrays(self, prefix: str, before: datetime, but: Collection[tuple[str, str]] = ()) -> int:
        """Drop arrays of names that begin so and were saved before then, but for some (database, name); how many."""
        from agent.ledger.shared_columns import drop_columns

        old = arrays.c.name.startswith(prefix, autoescape=True), arrays.c.at < before
        with self._database.write(durable=False) as connection:
            found = connection.execute(select(arrays.c.database, arrays.c.name).where(*old)).all()
            names = [(row.database, row.name) for row in found if (row.database, row.name) not in but]
            drop_columns(connection, names)
            for database, name in names:
                connection.execute(delete(arrays).where(arrays.c.database == database, arrays.c.name == name))
        return len(names)

    def save_document(self, database: str, name: str, document: Any) -> None:  # noqa: ANN401  # JSON values
        """Keep a JSON document; replaces the one of the same name.

        Raises:
            ValueError, TypeError: it is not JSON (which knows no NaN).
        """
        body = json.dumps(document, ensure_ascii=False, allow_nan=False)
        self._replace(documents, database, name, self._clock.now(), body)

    def load_document(self, database: str, name: str) -> tuple[datetime, Any] | None:
        """The document of that name and when it was saved."""
        row = self._row(documents, database, name)
        return None if row is None else (row.at, json.loads(row.body))

    def _replace(self, table: Table, database: str, name: str, at: datetime, body: str | bytes) -> None:
        with self._database.write(durable=False) as connection:
            if table is arrays:
                from agent.ledger.shared_columns import drop_columns

                drop_columns(connection, [(database, name)])
            self._put(connection, table, {"database": database, "name": name, "at": at, "body": body})

    def _put(self, connection: Connection, table: Table, row: Mapping[str, Any]) -> None:
        of_it = table.c.database == row["database"], table.c.name == row["name"]
        connection.execute(delete(table).where(*of_it))
        connection.execute(insert(table), row)  # not values(): SQLAlchemy keeps a statement, and its body with it

    def _row(self, table: Table, database: str, name: str) -> Row[Any] | None:
        with self._database.read() as connection:
            query = select(table).where(table.c.database == database, table.c.name == name)
            return connection.execute(query).one_or_none()
