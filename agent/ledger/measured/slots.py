"""Stable numbers for unit keys, so that heat and history can be columns."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, select

from agent.ledger.file.key_index import KeyIndex
from agent.ledger.file.reading import in_parts, one_of, where
from agent.ledger.file.schema import unit_slots
from agent.ledger.store.database import Database
from connectors.model import I64
from connectors.string_column import StringColumn

ROWS_AT_ONCE = 500  # handed to the driver or taken from it in one go: an object each, which is memory


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
            last = reading.scalar("SELECT max(slot) FROM unit_slots", where("database = ?", database))
            return 0 if last is None else last + 1

    def known(self, database: str, keys: Sequence[str]) -> dict[str, int]:
        """The numbers of those of some keys that have one; gives none to the others."""
        found: dict[str, int] = {}
        with self._database.read() as reading:
            for some in in_parts(keys, ROWS_AT_ONCE):
                of_it = where("database = ?", database), one_of("unit_key", some)
                rows = reading.rows("SELECT unit_key, slot FROM unit_slots", *of_it)
                found.update((row.unit_key, row.slot) for row in rows)
        return found

    def _learnt(self, database: str, known: KeyIndex) -> KeyIndex:
        with self._database.read_by_core() as connection:
            return _with_newer(connection, database, known)

    def _assign(self, database: str, known: KeyIndex, wanted: StringColumn) -> KeyIndex:
        """Give slots under the write lock, after a look at what another process has given meanwhile."""
        with self._database.write(durable=False) as transaction:
            # Again under the lock: two processes that number new keys at a time would give one slot to two of them, and
            # their heat would mix for good.
            known = _with_newer(transaction.core, database, known)
            missing = wanted.take(np.flatnonzero(known.rows(wanted) < 0))
            fresh = missing.take(np.flatnonzero(KeyIndex(missing).rows(missing) == np.arange(len(missing))))
            for start in range(0, len(fresh), ROWS_AT_ONCE):
                part = enumerate(fresh[start : start + ROWS_AT_ONCE], start=len(known) + start)
                rows = [{"database": database, "slot": slot, "unit_key": key} for slot, key in part]
                transaction.insert_all("unit_slots", rows)
        return KeyIndex(known.keys.followed_by(fresh))


def _with_newer(connection: Connection, database: str, known: KeyIndex) -> KeyIndex:
    """What is known, and the keys that have got a slot since."""
    query = select(unit_slots.c.unit_key).order_by(unit_slots.c.slot)
    newer = query.where(unit_slots.c.database == database, unit_slots.c.slot >= len(known))
    keys = StringColumn.of(connection.execute(newer, execution_options={"yield_per": ROWS_AT_ONCE}).scalars())
    return KeyIndex(known.keys.followed_by(keys)) if len(keys) else known
