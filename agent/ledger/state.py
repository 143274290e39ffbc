"""Small state that a restart goes on from: named arrays and documents, one of each name per database, the newest only.

Caches of what was measured, not decisions: they are not part of the audit chain. All that saves raises ``LeaseLost``
where this process has acted on the database and another one has taken its place: nothing was replaced.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Table, Text, bindparam, delete, select

from agent.ledger.errors import readable
from agent.ledger.leases import Leases
from agent.ledger.store.database import Database, Reading
from agent.ledger.store.schema import arrays, begins_with, documents, given, value_for
from connectors.kit.contract import Clock

# What packs arrays is imported where one is packed: a command that reads a document does not wait for numpy.
if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agent.ledger.measured.codec import PackedColumn

_OF_NAME = (given(arrays.c.database), given(arrays.c.name))
_ARRAYS = select(arrays).where(*_OF_NAME)
_SAVED_AT = select(arrays.c.at).where(*_OF_NAME)
_FORGET = delete(arrays).where(*_OF_NAME)
_OLD = select(arrays.c.database, arrays.c.name).where(
    begins_with(arrays.c.name, bindparam("prefix", type_=Text)), arrays.c.at < value_for(arrays.c.at, "before")
)
_DOCUMENT = select(documents.c.at, documents.c.body).where(given(documents.c.database), given(documents.c.name))


WHOLE = " all columns"  # of a set whose columns are shared: what they are, so that a set with others is not read
_BITS = str.maketrans("01", " \t")


def sealed(text: str) -> str:
    """A JSON text and its CRC-32, in blanks and tabs: JSON ignores them, so that older agents of a ledger read on."""
    return f"{text}\n{f'{zlib.crc32(text.encode()):032b}'.translate(_BITS)}"


def parse_document(reading: Reading, text: str, database: str, name: str) -> Any:  # noqa: ANN401  # JSON values
    """The document of that name in the text that is stored of it, with its checksum or from before there were any.

    Raises:
        LedgerCorrupt: it is not what was stored.
    """
    what = f"the document {name!r} of {database}"
    with readable(reading.database, "documents", what, database=database, name=name):
        body, newline, _ = text.rpartition("\n")
        if newline and sealed(body) != text:
            raise ValueError("its checksum is another")
        return json.loads(text)


class SmallState:
    """Arrays and documents by database and name."""

    def __init__(self, database: Database, clock: Clock, leases: Leases) -> None:
        self._database = database
        self._clock = clock
        self._leases = leases

    def save_arrays(self, database: str, name: str, at: datetime, columns: Mapping[str, PackedColumn]) -> int:
        """Keep named arrays, exact to the bit; replaces those of the same name. Returns the bytes that they take.

        Raises:
            ValueError: an array holds Python objects or records.
        """
        from agent.ledger.measured.codec import encode_arrays

        body = encode_arrays(columns)
        self._replace(arrays, database, name, at, body)
        return len(body)

    def share_arrays(self, database: str, name: str, at: datetime, columns: Mapping[str, PackedColumn]) -> int:
        """The same for large sets that change in part: of equal columns one copy is kept for all sets.

        Returns the bytes of the columns that were new.

        Raises:
            ValueError: an array holds Python objects or records.
        """
        from agent.ledger.measured.codec import encode_arrays
        from agent.ledger.shared_columns import Packed, save_columns

        packed = Packed(columns)
        with self._database.read() as reading:
            for column in packed.missing(reading):
                packed.body(column)  # packed now, and not while others wait for the lock
        with self._database.write(durable=False) as transaction:
            self._leases.require_not_succeeded(transaction, database)
            body = encode_arrays({WHOLE: packed.whole()})
            kept = {"database": database, "name": name, "at": at, "body": body}
            size = save_columns(transaction, database, name, packed)
            transaction.put(arrays, [kept])
            return size

    def load_arrays(self, database: str, name: str) -> tuple[datetime, dict[str, NDArray[Any]]] | None:
        """The arrays of that name and when they were saved.

        Raises:
            LedgerCorrupt: they are not what was stored.
        """
        from agent.ledger.measured.codec import decode_arrays
        from agent.ledger.shared_columns import load_columns

        with self._database.read() as reading:
            row = reading.first(_ARRAYS, database=database, name=name)
            if row is None:
                return None
            what = f"the arrays {name!r} of {database}"
            with readable(self._database, "arrays", what, database=database, name=name):
                own = decode_arrays(row.body)
                whole = own.pop(WHOLE, None)
                return row.at, {**own, **load_columns(reading, database, name, whole)}

    def saved_at(self, database: str, name: str) -> datetime | None:
        """When the arrays of that name were saved; they are not unpacked."""
        with self._database.read() as reading:
            at: datetime | None = reading.scalar(_SAVED_AT, database=database, name=name)
        return at

    def forget_arrays(self, prefix: str, before: datetime, but: Collection[tuple[str, str]] = ()) -> int:
        """Drop arrays of names that begin so and were saved before then, but for some (database, name); how many."""
        from agent.ledger.shared_columns import drop_columns

        with self._database.write(durable=False) as transaction:
            found = transaction.rows(_OLD, prefix=prefix, before=before)
            names = [(row.database, row.name) for row in found if (row.database, row.name) not in but]
            drop_columns(transaction, names)
            for database, name in names:
                transaction.execute(_FORGET, database=database, name=name)
        return len(names)

    def save_document(self, database: str, name: str, document: Any) -> None:  # noqa: ANN401  # JSON values
        """Keep a JSON document; replaces the one of the same name.

        Raises:
            ValueError, TypeError: it is not JSON (which knows no NaN).
        """
        body = sealed(json.dumps(document, ensure_ascii=False, allow_nan=False))
        self._replace(documents, database, name, self._clock.now(), body)

    def load_document(self, database: str, name: str) -> tuple[datetime, Any] | None:
        """The document of that name and when it was saved.

        Raises:
            LedgerCorrupt: it is not what was stored.
        """
        with self._database.read() as reading:
            row = reading.first(_DOCUMENT, database=database, name=name)
            return None if row is None else (row.at, parse_document(reading, row.body, database, name))

    def _replace(self, table: Table, database: str, name: str, at: datetime, body: str | bytes) -> None:
        with self._database.write(durable=False) as transaction:
            self._leases.require_not_succeeded(transaction, database)
            # A set stored column by column before would otherwise still add its old columns to what is loaded.
            if table is arrays:
                from agent.ledger.shared_columns import drop_columns

                drop_columns(transaction, [(database, name)])
            transaction.put(table, [{"database": database, "name": name, "at": at, "body": body}])
