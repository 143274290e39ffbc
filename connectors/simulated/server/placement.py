"""What lies where, and what is on its way: the part of the world that statements change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from connectors.base import LockNotObtained, ObjectGone, SpaceFull, StatementFailed
from connectors.model import I64, UnitKind
from connectors.simulated.server.language import Move
from connectors.simulated.server.scenarios import SpaceSpec
from connectors.simulated.server.units import FIRST_ID, Units

ONLINE_ROOM = 0.1  # an online move keeps the changes made meanwhile: this share of the bundle more
WORD = {
    UnitKind.TABLE: "TABLE",
    UnitKind.TABLE_PARTITION: "TABLE",
    UnitKind.INDEX: "INDEX",
    UnitKind.INDEX_PARTITION: "INDEX",
}  # kinds that a statement can name; a LOB moves with its table


@dataclass(slots=True)
class Running:
    """A move that is being executed. Its room in the target is reserved until it ends."""

    token: int
    key: str  # what the statement names
    rows: list[int]
    to_space: int
    online: bool
    total_bytes: int
    reserved_bytes: int
    done_bytes: int
    process: int  # pid: when that is dead, the move is rolled back
    paused: bool = False  # held: it keeps its room and what it copied, whatever becomes of the process


class Placement:
    """Homes of all units, room in all spaces, moves under way."""

    def __init__(self, units: Units, spaces: Sequence[SpaceSpec]) -> None:
        self.units = units
        self.spaces = tuple(spaces)
        self.running: dict[int, Running] = {}
        self.last_token = 0
        self.index()

    def index(self) -> None:
        """Rebuild the map from names to rows."""
        self._rows = {key: row for row, key in enumerate(self.units.keys) if self.units.alive[row]}

    def space_row(self, name: str) -> int:
        """Row of a space.

        Raises:
            ObjectGone: there is none of that name.
        """
        for row, space in enumerate(self.spaces):
            if space.name == name:
                return row
        raise ObjectGone(f'space "{name}" does not exist', advice="Name one that the catalog holds.")

    def row(self, key: str) -> int | None:
        """Row of the unit of that key, None where there is none."""
        return self._rows.get(key)

    def bundle_rows(self, row: int) -> list[int]:
        """Rows of all units that move with it."""
        together = (self.units.bundle == self.units.bundle[row]) & self.units.alive
        return [int(r) for r in np.flatnonzero(together)]

    def used_bytes(self) -> I64:
        """Bytes in each space, without what is reserved; shape ``(spaces,)``."""
        used = np.zeros(len(self.spaces), dtype=np.int64)
        np.add.at(used, self.units.space, np.where(self.units.alive, self.units.size_bytes, 0))
        return used

    def free_bytes(self) -> I64:
        """Room in each space, with the reservations of running moves taken off; shape ``(spaces,)``."""
        free = np.array([space.capacity_bytes for space in self.spaces], dtype=np.int64) - self.used_bytes()
        for move in self.running.values():
            # Reserved while the copy runs: otherwise two moves that start together both find room that is enough for
            # one.
            free[move.to_space] -= move.reserved_bytes
        return free

    def being_moved(self, rows: Sequence[int]) -> bool:
        """Whether a running move holds one of them."""
        wanted = set(rows)
        return any(wanted.intersection(move.rows) for move in self.running.values())

    def move_of(self, key: str) -> Running | None:
        """The move of that very object that runs or is held."""
        return next((move for move in self.running.values() if move.key == key), None)

    def resolve(self, move: Move) -> tuple[list[int], int]:
        """Rows and target space that the statement speaks of.

        Raises:
            ObjectGone: one of them is not there.
            StatementFailed: the object is of another kind.
        """
        row = self.row(move.key)
        if row is None:
            raise ObjectGone(f"{move.key} does not exist", advice="It was dropped or renamed; make a new plan.")
        if WORD.get(UnitKind(self.units.kind[row])) != move.word:
            raise StatementFailed(f"{move.key} is no {move.word}", native_code="WRONG_KIND")
        return self.bundle_rows(row), self.space_row(move.space)

    def begin(self, move: Move, process: int) -> Running:
        """Reserve the room and start.

        Raises:
            SpaceFull: the target has not that much room.
            LockNotObtained: another move has the bundle.
            ObjectGone: as ``resolve``.
            StatementFailed: as ``resolve``.
        """
        rows, to_space = self.resolve(move)
        if self.being_moved(rows):
            raise LockNotObtained(f"{move.key} is being moved already", advice="Wait until that move has ended.")
        coming = [row for row in rows if self.units.space[row] != to_space]
        total = int(self.units.size_bytes[coming].sum())
        need = total + (int(total * ONLINE_ROOM) if move.online else 0)
        free = int(self.free_bytes()[to_space])
        if coming and need > free:
            raise SpaceFull(
                f'space "{move.space}" has {free} bytes free, {move.key} needs {need}',
                advice="Move something cold out of it first, or add capacity.",
            )
        self.last_token += 1
        running = Running(self.last_token, move.key, rows, to_space, move.online, total, need, 0, process)
        self.running[running.token] = running
        return running

    def finish(self, token: int) -> None:
        """Switch over: all units of the bundle are in the target now.

        An index moved online was rebuilt, so the engine gives it another physical id; its counters go along.

        Raises:
            ObjectGone: the bundle was dropped meanwhile.
        """
        move = self.running.pop(token, None)
        if move is None or not bool(self.units.alive[move.rows].all()):
            raise ObjectGone("the object was dropped while it was moved", advice="Nothing is left to do.")
        self.units.space[move.rows] = move.to_space
        if move.online and self.units.kind[move.rows[0]] in (UnitKind.INDEX, UnitKind.INDEX_PARTITION):
            self.units.physical_id[move.rows[0]] = self.next_id()

    def abandon(self, token: int) -> None:
        """Roll back; harmless when it has ended."""
        self.running.pop(token, None)

    def end_statement(self, token: int) -> None:
        """The statement is over: what it has not switched over is rolled back, unless it is held."""
        move = self.running.get(token)
        if move is not None and not move.paused:
            self.abandon(token)

    def next_id(self) -> int:
        """A physical id that no unit ever had."""
        return int(self.units.physical_id.max(initial=FIRST_ID - 1)) + 1

    def check_room(self, more: Units) -> None:
        """Whether these new units may be.

        Raises:
            SpaceFull: they do not fit.
            StatementFailed: a key is taken.
        """
        for key in more.keys:
            if self.row(key) is not None:
                raise StatementFailed(f"{key} exists already", native_code="DUPLICATE")
        coming = np.bincount(more.space, weights=more.size_bytes, minlength=len(self.spaces))
        if bool(np.any(coming > self.free_bytes())):
            raise SpaceFull("no room for the new object", advice="Choose another space.")

    def drop(self, key: str) -> None:
        """Remove a unit and everything that belongs to it; harmless when it is gone."""
        row = self.row(key)
        if row is None:
            return
        units = self.units
        units.alive[(units.parent == units.physical_id[row]) & (units.parent >= FIRST_ID)] = False
        units.alive[row] = False
        for move in list(self.running.values()):
            if move.paused and not bool(units.alive[move.rows].all()):
                self.abandon(move.token)  # no session waits for it any more
        self.index()
