"""Columns that several sets of arrays have in common, one copy of each: what a plan was made from changes only in part.

A column is found by the hash of its type, shape and bytes. It goes with the last set that holds it. Everything here is
part of the caller's transaction.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import delete, exists, select

from agent.ledger.measured.codec import PackedColumn, decode_arrays, encode_arrays
from agent.ledger.store.database import CHUNK, Reading, Transaction, in_parts
from agent.ledger.store.schema import array_columns, given, one_of, shared_columns

_OF_SET = (given(array_columns.c.database), given(array_columns.c.name))
_COLUMNS = (
    select(array_columns.c.column, array_columns.c.digest, shared_columns.c.body)
    .join_from(array_columns, shared_columns, array_columns.c.digest == shared_columns.c.digest)
    .where(*_OF_SET)
)
_DIGESTS = select(array_columns.c.digest).where(*_OF_SET)
_UNLINK = delete(array_columns).where(*_OF_SET)
_KNOWN = select(shared_columns.c.digest).where(one_of(shared_columns.c.digest))
_DROP_UNUSED = delete(shared_columns).where(
    one_of(shared_columns.c.digest), ~exists().where(array_columns.c.digest == shared_columns.c.digest)
)
_ONLY = ""  # name of the array in the blob of a shared column


class Packed:
    """Columns with their hashes; those that the ledger lacks are packed before it is locked."""

    def __init__(self, columns: Mapping[str, PackedColumn]) -> None:
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

    def whole(self) -> NDArray[np.str_]:
        """What the set is made of: the digest of all names and hashes."""
        return np.array(_whole(self.digests))

    def missing(self, reading: Reading) -> list[str]:
        """The names of those that the ledger has no copy of, one for each hash."""
        known = {row.digest for row in reading.some(_KNOWN, set(self.digests.values()))}
        by_digest = {digest: name for name, digest in self.digests.items() if digest not in known}
        return list(by_digest.values())


def save_columns(transaction: Transaction, database: str, name: str, packed: Packed) -> int:
    """Note which columns a set has from now on, with those that are new; the bytes of the new ones."""
    size = 0
    for column in packed.missing(transaction):
        body = packed.body(column)
        transaction.insert_all(shared_columns, [{"digest": packed.digests[column], "body": body}])
        size += len(body)
    # The new columns are stored before the old links go, and unused ones dropped last: a column in both sets stays.
    before = _unlink(transaction, database, name)
    rows = [
        {"database": database, "name": name, "column": column, "digest": digest}
        for column, digest in packed.digests.items()
    ]
    if rows:
        transaction.insert_all(array_columns, rows)
    _drop_unused(transaction, before)
    return size


def load_columns(reading: Reading, database: str, name: str, whole: NDArray[np.str_] | None) -> dict[str, NDArray[Any]]:
    """The shared columns of a set; none where it has none.

    Args:
        reading: of the ledger.
        database: of the set.
        name: of the set.
        whole: what ``Packed.whole`` said of it; None: it was stored before that was kept.

    Raises:
        ValueError: a blob is damaged, or the columns are not those of the set.
    """
    found = reading.rows(_COLUMNS, database=database, name=name)
    if whole is not None and _whole({row.column: row.digest for row in found}) != str(whole):
        raise ValueError("its columns are not those that were stored")
    return {row.column: decode_arrays(row.body)[_ONLY] for row in found}


def _whole(digests: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(sorted(digests.items())).encode()).hexdigest()


def drop_columns(transaction: Transaction, sets: Iterable[tuple[str, str]]) -> None:
    """Forget which columns sets of a database and name have, and the columns that no other set has."""
    for database, name in sets:
        _drop_unused(transaction, _unlink(transaction, database, name))


def _unlink(transaction: Transaction, database: str, name: str) -> list[str]:
    """Forget which columns a set has; the hashes of those that it had."""
    digests = [row.digest for row in transaction.rows(_DIGESTS, database=database, name=name)]
    if digests:
        transaction.execute(_UNLINK, database=database, name=name)
    return digests


def _drop_unused(transaction: Transaction, digests: Iterable[str]) -> None:
    for part in in_parts(digests, CHUNK):
        transaction.execute(_DROP_UNUSED, some=part)


def _digest(array: NDArray[Any]) -> str:
    # Type and shape belong to the hash: 8 zero bytes are a number, a pair or 8 truth values.
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()
