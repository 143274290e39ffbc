"""Stable numbers for unit keys, so that heat and history can be columns."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, insert, select

from agent.ledger.database import Database
from agent.ledger.schema import unit_slots
from connectors.model import I64

INSERTED_AT_ONCE = 5000  # rows handed to the driver in one go: a dictionary each, which is memory


class Slots:
    """Slots of all databases, remembered in memory. A slot is never given to another key. Safe from several threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    def of(self, database: str, keys: Sequence[str]) -> I64:
        """Slot of each key, shape ``(len(keys),)``; keys never seen get the next free ones, in their order."""
        with self._lock:
            known = self._known.setdefault(database, {})
            if any(key not in known for key in keys):
                self._learn(database, known)
            missing = list(dict.fromkeys(key for key in keys if key not in known))
            if missing:
                self._assign(database, known, missing)
            return np.fromiter(map(known.__getitem__, keys), dtype=np.int64, count=len(keys))

    def _learn(self, database: str, known: dict[str, int]) -> None:
        with self._database.read() as connection:
            known.update(_newer(connection, database, len(known)))

    def _assign(self, database: str, known: dict[str, int], missing: list[str]) -> None:
        """Give slots under the write lock, after a look at what another process has given meanwhile."""
        with self._database.write(durable=False) as connection:
            learnt = _newer(connection, database, len(known))
            taken = len(known) + len(learnt)
            fresh = [key for key in missing if key not in learnt]
            given = dict(zip(fresh, range(taken, taken + len(fresh)), strict=True))
            pairs = list(given.items())
            for start in range(0, len(pairs), INSERTED_AT_ONCE):
                part = pairs[start : start + INSERTED_AT_ONCE]
                rows = [{"database": database, "slot": slot, "unit_key": key} for key, slot in part]
                connection.execute(insert(unit_slots), rows)
        known.update(learnt)
        known.update(given)


def _newer(connection: Connection, database: str, known: int) -> dict[str, int]:
    """Slots from number ``known`` on: they are given without holes, so that many are known already."""
    query = select(unit_slots.c.unit_key, unit_slots.c.slot)
    found = connection.execute(query.where(unit_slots.c.database == database, unit_slots.c.slot >= known))
    return {key: slot for key, slot in found}  # noqa: C416  # rows, not pairs, to the type checker
