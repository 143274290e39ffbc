"""Small state that a restart goes on from: named arrays and documents, one of each name per database, the newest only.

Caches of what was measured, not decisions: they are not part of the audit chain.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from numpy.typing import NDArray
from sqlalchemy import Row, Table, delete, insert, select

from agent.ledger.codec import Column, decode_arrays, encode_arrays
from agent.ledger.database import Database
from agent.ledger.errors import corrupt
from agent.ledger.schema import arrays, documents
from connectors.base import Clock


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
        body = encode_arrays(columns)
        self._replace(arrays, database, name, at, body)
        return len(body)

    def load_arrays(self, database: str, name: str) -> tuple[datetime, dict[str, NDArray[Any]]] | None:
        """The arrays of that name and when they were saved."""
        row = self._row(arrays, database, name)
        if row is None:
            return None
        try:
            return row.at, decode_arrays(row.body)
        except ValueError as error:
            raise corrupt(self._database.path, f"the arrays {name!r} of {database}: {error}") from error

    def forget_arrays(self, prefix: str, before: datetime, but: Collection[tuple[str, str]] = ()) -> int:
        """Drop arrays of names that begin so and were saved before then, but for some (database, name); how many."""
        old = arrays.c.name.startswith(prefix, autoescape=True), arrays.c.at < before
        with self._database.write(durable=False) as connection:
            found = connection.execute(select(arrays.c.database, arrays.c.name).where(*old)).all()
            names = [(row.database, row.name) for row in found if (row.database, row.name) not in but]
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
            connection.execute(delete(table).where(table.c.database == database, table.c.name == name))
            row = {"database": database, "name": name, "at": at, "body": body}
            connection.execute(insert(table), row)  # not values(): SQLAlchemy keeps a statement, and its body with it

    def _row(self, table: Table, database: str, name: str) -> Row[Any] | None:
        with self._database.read() as connection:
            query = select(table).where(table.c.database == database, table.c.name == name)
            return connection.execute(query).one_or_none()
