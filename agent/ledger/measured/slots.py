"""Stable numbers for unit keys, so that heat and history can be columns.

Keys are found among very many by a hash for each instead of a dictionary, which would take ten times the memory.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from sqlalchemy import func, select

from agent.ledger.errors import readable
from agent.ledger.store.database import CHUNK, Database, Reading
from agent.ledger.store.schema import given, one_of, unit_slots, value_for
from connectors.model.observation import I64
from connectors.model.string_column import StringColumn

_LAST = select(func.max(unit_slots.c.slot)).where(given(unit_slots.c.database))
_OF_KEYS = select(unit_slots.c.unit_key, unit_slots.c.slot).where(
    given(unit_slots.c.database), one_of(unit_slots.c.unit_key)
)
_NEWER = (
    select(unit_slots.c.unit_key)
    .where(given(unit_slots.c.database), unit_slots.c.slot >= value_for(unit_slots.c.slot, "first"))
    .order_by(unit_slots.c.slot)
)


class KeyIndex:
    """Rows of a column of keys. A key that comes twice is found at its first row."""

    def __init__(self, keys: StringColumn) -> None:
        self.keys = keys
        hashes = _hashes(keys)
        # Stable, so that a key that comes twice is found at its first row.
        order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[order]
        self._order = order.astype(np.int32)

    def __len__(self) -> int:
        return len(self.keys)

    def rows(self, wanted: StringColumn) -> I64:
        """Row of each wanted key, -1 where there is none, shape ``(len(wanted),)``."""
        found = np.full(len(wanted), -1, dtype=np.int64)
        hashes = _hashes(wanted)
        at = np.searchsorted(self._hashes, hashes)
        left = np.arange(len(wanted))
        while len(left):  # again only for keys whose hash another key has too
            left = left[at[left] < len(self)]
            left = left[self._hashes[at[left]] == hashes[left]]
            rows = self._order[at[left]].astype(np.int64)
            same = self.keys.same(rows, wanted, left)
            found[left[same]] = rows[same]
            left = left[~same]
            at[left] += 1
        return found


def _hashes(keys: StringColumn) -> I64:
    return np.fromiter(map(hash, keys), dtype=np.int64, count=len(keys))


class Slots:
    """Slots of all databases, remembered in memory. A slot is never given to another key. Safe from several threads.

    They are given without holes, so a key's slot is its row among the keys in the order in which they came.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, StringColumn] = {}
        self._lock = threading.Lock()

    def of(self, database: str, keys: Sequence[str]) -> I64:
        """Stable number of each unit key, shape ``(len(keys),)``, from 0 without holes; new keys get new ones."""
        wanted = StringColumn.of(keys)
        with self._lock:
            known = KeyIndex(
                self._known.get(database, StringColumn.of(()))
            )  # asked for when units come or go, not held
            slots = known.rows(wanted)
            if bool((slots < 0).any()):
                known = self._learnt(database, known)
                slots = known.rows(wanted)
            if bool((slots < 0).any()):
                known = self._assign(database, known, wanted)
                slots = known.rows(wanted)
            self._known[database] = wanted if known.keys == wanted else known.keys  # the catalog keeps these anyway
            return slots

    def count(self, database: str) -> int:
        """How many were given."""
        with self._database.read() as reading:
            last = reading.scalar(_LAST, database=database)
            return 0 if last is None else last + 1

    def known(self, database: str, keys: Sequence[str]) -> dict[str, int]:
        """The numbers of those of some keys that have one; gives none to the others."""
        with self._database.read() as reading:
            return {row.unit_key: row.slot for row in reading.some(_OF_KEYS, keys, database=database)}

    def _learnt(self, database: str, known: KeyIndex) -> KeyIndex:
        with self._database.read() as reading:
            return _with_newer(reading, database, known)

    def _assign(self, database: str, known: KeyIndex, wanted: StringColumn) -> KeyIndex:
        """Give slots under the write lock, after a look at what another process has given meanwhile."""
        with self._database.write(durable=False) as transaction:
            # Again under the lock: two processes that number new keys at a time would give one slot to two of them, and
            # their heat would mix for good.
            known = _with_newer(transaction, database, known)
            missing = wanted.take(np.flatnonzero(known.rows(wanted) < 0))
            fresh = missing.take(np.flatnonzero(KeyIndex(missing).rows(missing) == np.arange(len(missing))))
            for start in range(0, len(fresh), CHUNK):  # an object each is memory
                part = enumerate(fresh[start : start + CHUNK], start=len(known) + start)
                rows = [{"database": database, "slot": slot, "unit_key": key} for slot, key in part]
                transaction.insert_all(unit_slots, rows)
        return KeyIndex(known.keys.followed_by(fresh))


def _with_newer(reading: Reading, database: str, known: KeyIndex) -> KeyIndex:
    """What is known, and the keys that have got a slot since."""
    newer = reading.each(_NEWER, database=database, first=len(known))
    with readable(reading.database, "unit_slots", f"slots of units of {database}", database=database):
        keys = StringColumn.of(row.unit_key for row in newer)
    return KeyIndex(known.keys.followed_by(keys)) if len(keys) else known
