"""Columns that several sets of arrays have in common, one copy of each: what a plan was made from changes only in part.

A column is found by the hash of its type, shape and bytes. It goes with the last set that holds it. Everything here is
part of the caller's transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, exists, select

from agent.ledger.file.codec import Column, decode_arrays, encode_arrays
from agent.ledger.file.reading import in_parts, where
from agent.ledger.file.schema import array_columns, shared_columns
from agent.ledger.file.transaction import Transaction

AT_ONCE = 500  # hashes in one statement
_ONLY = ""  # name of the array in the blob of a shared column


class Packed:
    """Columns with their hashes; those that the ledger lacks are packed before it is locked."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._arrays = {name: np.asarray(column) for name, column in columns.items()}
        self.digests = {name: _digest(array) for name, array in self._arrays.items()}
        self._bodies: dict[str, bytes] = {}

    def body(self, name: str) -> bytes:
        """The blob of one of them.

        Raises:
            ValueError: it holds Python objects or records.
        """
        digest = self.digests[name]
        if digest not in self._bodies:
            self._bodies[digest] = encode_arrays({_ONLY: self._arrays[name]})
        return self._bodies[digest]

    def missing(self, connection: Connection) -> list[str]:
        """The names of those that the ledger has no copy of, one for each hash."""
        known = _known(connection, set(self.digests.values()))
        by_digest = {digest: name for name, digest in self.digests.items() if digest not in known}
        return list(by_digest.values())


def save_columns(transaction: Transaction, database: str, name: str, packed: Packed) -> int:
    """Note which columns a set has from now on, with those that are new; the bytes of the new ones."""
    size = 0
    for column in packed.missing(transaction.core):
        body = packed.body(column)
        transaction.insert_all("shared_columns", [{"digest": packed.digests[column], "body": body}])
        size += len(body)
    # The new columns are stored before the old links go, and unused ones dropped last: a column in both sets stays.
    before = _unlinked(transaction, database, name)
    rows = [
        {"database": database, "name": name, "column": column, "digest": digest}
        for column, digest in packed.digests.items()
    ]
    if rows:
        transaction.insert_all("array_columns", rows)
    _drop_unused(transaction, before)
    return size


def load_columns(connection: Connection, database: str, name: str) -> dict[str, NDArray[Any]]:
    """The shared columns of a set; none where it has none.

    Raises:
        ValueError: a blob is damaged.
    """
    query = select(array_columns.c.column, shared_columns.c.body).join(
        shared_columns, array_columns.c.digest == shared_columns.c.digest
    )
    found = connection.execute(query.where(array_columns.c.database == database, array_columns.c.name == name))
    return {row.column: decode_arrays(row.body)[_ONLY] for row in found}


def drop_columns(transaction: Transaction, sets: Iterable[tuple[str, str]]) -> None:
    """Forget which columns sets of a database and name have, and the columns that no other set has."""
    for database, name in sets:
        _drop_unused(transaction, _unlinked(transaction, database, name))


def _unlinked(transaction: Transaction, database: str, name: str) -> list[str]:
    """Forget which columns a set has; the hashes of those that it had."""
    of_it = where("database = ?", database), where("name = ?", name)
    digests = [row.digest for row in transaction.rows("SELECT digest FROM array_columns", *of_it)]
    if digests:
        transaction.delete("array_columns", database=database, name=name)
    return digests


def _drop_unused(transaction: Transaction, digests: Iterable[str]) -> None:
    still_used = exists().where(array_columns.c.digest == shared_columns.c.digest)
    for some in in_parts(digests, AT_ONCE):
        transaction.core.execute(delete(shared_columns).where(shared_columns.c.digest.in_(some), ~still_used))


def _known(connection: Connection, digests: Iterable[str]) -> set[str]:
    return {
        digest
        for some in in_parts(digests, AT_ONCE)
        for digest in connection.execute(
            select(shared_columns.c.digest).where(shared_columns.c.digest.in_(some))
        ).scalars()
    }


def _digest(array: NDArray[Any]) -> str:
    # Type and shape belong to the hash: 8 zero bytes are a number, a pair or 8 truth values.
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()
