"""ADMIN_MOVE_TABLE, first form: phases, protocol, locks, leftovers.

STATUS holds the phase that comes next: INIT until that is done, COPY after it, REPLAY after COPY, CLEANUP after SWAP,
COMPLETE at the end.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from tests.labs.db2 import refusals
from tests.labs.db2.sessions import Session
from tests.labs.db2.target import check_homes, check_room, load, options_of, statistics_after
from tests.labs.db2.world import OF_THE_SYSTEM, PAGE_SIZE, Index, Move, Table, Utility, World, counts

ARGUMENTS = 11
FINISHED = ("COMPLETE", "COMPLETE_WITH_WARNINGS")
# phase -> STATUS values in which it may run
ALLOWED = {
    "COPY": ("COPY",),
    "REPLAY": ("REPLAY",),
    "VERIFY": ("REPLAY",),
    "SWAP": ("REPLAY",),
    "CLEANUP": ("CLEANUP",),
    "CANCEL": ("INIT", "COPY", "REPLAY", "CANCEL"),
}


def move_table(world: World, session: Session, arguments: list[str]) -> None:
    """One call: a phase, or all of them for MOVE.

    Raises:
        Refusal: SQL0204N, SQL0440N, SQL0551N, SQL0289N, SQL0911N, SQL2103N, SQL2104N, SQL2105N, SQL1224N.
    """
    if len(arguments) != ARGUMENTS:
        raise refusals.no_routine("SYSPROC.ADMIN_MOVE_TABLE", "PROCEDURE")
    authorities = world.authorities.get(session.user.authid, set())
    if not session.user.administrator and not authorities & {"SQLADM", "DBADM"}:
        raise refusals.not_allowed(session.user.authid, "EXECUTE", "SYSPROC.ADMIN_MOVE_TABLE")
    schema, name = arguments[:2]
    operation = arguments[10].upper()
    options_of(arguments[9])
    for phase in ("INIT", "COPY", "REPLAY", "SWAP", "CLEANUP") if operation == "MOVE" else (operation,):
        _Phase(world, session, schema, name).run(phase, arguments)


def _lose_index(table: Table) -> None:
    del table.indexes[-1]


def _reorder_index(table: Table) -> None:
    table.indexes[-1].columns = table.indexes[-1].columns.replace("+", "-")


def _lose_rows(table: Table) -> None:
    table.rows -= table.rows // 10


def _lose_statistics(table: Table) -> None:
    table.analysed = False


# what a faulty SWAP may do to the new table
LOSSES: dict[str, Callable[[Table], None]] = {
    "index": _lose_index,
    "order": _reorder_index,
    "trigger": lambda table: table.triggers.clear(),
    "view": lambda table: table.invalid.update(table.dependents),
    "statistics": _lose_statistics,
    "grant": lambda table: table.grants.clear(),
    "column_grant": lambda table: table.column_grants.clear(),
    "rows": _lose_rows,
}


def unsupported(table: Table) -> bool:
    """What SQL2103N speaks of."""
    indexes = any(index.kind in ("RCT", "TEXT") or index.on_expression for index in table.indexes)
    hidden = bool(table.control) or table.protection in ("R", "B")
    return indexes or hidden or bool(table.monitors or table.xml_schemas or table.history_of or table.staging)


class _Phase:
    """One phase for one table."""

    def __init__(self, world: World, session: Session, schema: str, name: str) -> None:
        self._world = world
        self._session = session
        self._key = (schema, name)
        self._logged = 0  # bytes of log that the copy has written

    def run(self, phase: str, arguments: list[str]) -> None:
        """Take its time as a utility that others can see, then do it; one that is ended half-way has not happened."""
        with self._world.lock:
            self._world.table(*self._key)
            if phase == "INIT":
                self._begin(arguments)
            else:
                self._check(phase)
        utility = self._enlist()
        began = time.monotonic()
        try:
            self._session.wait(lambda: self._advanced(phase, began), math.inf)
            if phase == "SWAP":
                self._wait_for_lock()
            elif phase == "COPY":
                self._shut_out_writers()
            with self._world.lock:
                self._act(phase)
        finally:
            with self._world.lock:
                self._world.unlock(self._session.handle)
                del self._world.utilities[utility.id]
                self._world.touch()

    def _advanced(self, phase: str, began: float) -> bool:
        """Whether its time is over; how many rows are there is told meanwhile."""
        if phase == "COPY":
            share = self._world.behaviour.copied_share
            if share is None:
                share = (time.monotonic() - began) / max(self._world.behaviour.phase_seconds, 1e-9)
            with self._world.lock:
                self._world.moves[self._key].protocol["COPY_TOTAL_ROWS"] = str(
                    int(self._table().rows * min(1.0, share))
                )
                self._log(min(1.0, share))
                self._world.touch()
        return self._world.is_over(phase, began)

    def _log(self, share: float) -> None:
        """So much of the table is copied, by logged inserts unless a LOAD does it."""
        if "COPY_USE_LOAD" in options_of(self._world.moves[self._key].protocol["INIT_OPTS"]):
            return
        whole = sum(self._table().pages_by_space().values()) * PAGE_SIZE
        more = int(whole * share) - self._logged
        self._logged += more
        for standby in self._world.standbys:
            standby.write(more)

    def _act(self, phase: str) -> None:
        if phase == "INIT":
            self._world.moves[self._key].protocol |= {"STATUS": "COPY", "INIT_END": _now()}
        elif phase in ALLOWED:
            self._check(phase)
            actions: dict[str, Callable[[Move], None]] = {
                "COPY": self._copy, "REPLAY": self._nothing, "VERIFY": self._nothing, "SWAP": self._swap,
                "CLEANUP": self._cleanup, "CANCEL": self._cancel,
            }  # fmt: skip
            actions[phase](self._world.moves[self._key])
        else:
            raise refusals.wrong_phase(2)

    def _check(self, phase: str) -> None:
        move = self._world.moves.get(self._key)
        if move is None or move.protocol["STATUS"] not in ALLOWED.get(phase, ()):
            raise refusals.wrong_phase(4)
        if move.owner != self._session.user.authid:
            raise refusals.phase_failed(1)  # "at this time by this user"

    def _enlist(self) -> Utility:
        with self._world.lock:
            number = self._world.next_file_id()
            utility = Utility(number, "ADMIN_MOVE_TABLE", *self._key, self._session.handle, datetime.now(UTC))
            self._world.utilities[number] = utility
            self._world.touch()
            return utility

    def _begin(self, arguments: list[str]) -> None:
        """INIT, as long as it is not done: the target takes the spaces that are named, or those the table has."""
        table = self._table()
        old = self._world.moves.get(self._key)
        if old is not None and old.protocol["STATUS"] not in FINISHED:
            raise refusals.phase_failed(9)
        keys = self._world.keys_of(*self._key) and not self._world.behaviour.moves_keys
        if table.type != "T" or keys or len(table.parts) > 1:
            raise refusals.phase_failed(3)
        if unsupported(table):
            raise refusals.unsupported(6)
        self._check_state(table)
        part = table.parts[0]
        data, index, long = arguments[2:5]
        homes = (data or part.data, index or part.index, long or part.long)
        check_homes(table.name, *(self._world.space(name) for name in homes))
        home = replace(
            part,
            data=homes[0],
            index=homes[1],
            long=homes[2],
            file_id=self._world.next_file_id(),
            counts=counts(),
            pages=0,
            lob_pages=0,
        )
        schema, name = self._key
        target = Table(schema, f"{name[:100]}AAAAAAxt", 0, [home], [])
        self._world.tables[schema, target.name] = target
        protocol = {"STATUS": "INIT", "AUTHID": self._session.user.authid, "INIT_OPTS": arguments[9]}
        protocol |= {"TARGET": target.name, "INIT_START": _now()}
        self._world.moves[self._key] = Move(self._session.user.authid, target, protocol)
        self._world.protocol_exists = True

    def _check_state(self, table: Table) -> None:
        """What no statement may read."""
        loads = {(u.schema, u.table) for u in self._world.utilities.values() if u.kind == "LOAD"}
        name = f"{table.schema}.{table.name}"
        if not table.available:
            raise refusals.unavailable(name)
        reasons = (
            (table.load_status == "PENDING", 3),
            (table.load_status == "IN_PROGRESS" or self._key in loads, 5),
            (table.reorg_pending, 7),
        )
        for applies, reason in reasons:
            if applies:
                raise refusals.restricted(reason, name)

    def _copy(self, move: Move) -> None:
        """Nothing is copied into a space whose storage has no room; the phase can be repeated."""
        table, home = self._table(), move.target.parts[0]
        source = table.parts[0]
        check_room(self._world, table, home)
        options = options_of(move.protocol["INIT_OPTS"])
        if "COPY_USE_LOAD" in options:
            load(self._world, self._key, options["COPY_USE_LOAD"])
        self._log(1.0)
        home.pages, home.lob_pages = source.pages, source.lob_pages
        move.target.rows = table.rows
        if "COPY_USE_LOAD" not in options:
            home.counts[0]["ROWS_INSERTED"] += table.rows
        move.target.indexes = [_copied(index, number) for number, index in enumerate(table.indexes, start=1)]
        move.protocol |= {"COPY_START": _now(), "COPY_END": _now(), "STATUS": "REPLAY"}
        move.protocol["COPY_TOTAL_ROWS"] = str(table.rows)

    def _nothing(self, move: Move) -> None:
        """Nobody writes to the lab's tables: there is nothing to replay or to differ."""
        move.protocol |= {"REPLAY_TOTAL_ROWS": "0", "REPLAY_TOTAL_TIME": "0"}

    def _wait_for_lock(self) -> None:
        deadlocked, self._world.behaviour.swap_deadlocks = self._world.behaviour.swap_deadlocks, False
        if deadlocked:
            raise refusals.deadlock()
        if not self._session.wait(lambda: self._lock("X"), self._session.lock_seconds):
            raise refusals.lock_timeout()
        self._session.wait(lambda: False, self._world.behaviour.locked_seconds)

    def _lock(self, mode: str) -> bool:
        with self._world.lock:
            return self._world.lock_table(self._session.handle, self._key, mode)

    def _shut_out_writers(self) -> None:
        """COPY with ALLOW_READ_ACCESS."""
        move = self._world.moves.get(self._key)
        if move is not None and "ALLOW_READ_ACCESS" in options_of(move.protocol["INIT_OPTS"]):
            if not self._session.wait(lambda: self._lock("S"), self._session.lock_seconds):
                raise refusals.lock_timeout()
            self._session.wait(lambda: False, self._world.behaviour.locked_seconds)

    def _swap(self, move: Move) -> None:
        """The table is a new object with new counters; what it was is the target's until CLEANUP, as are its rights."""
        table = self._table()
        move.target.owner, move.target.grants = table.owner, dict(table.grants)
        for index in table.indexes:
            index.counts = counts()
            if index.kind in OF_THE_SYSTEM:
                index.name = f"SQL2011230900{self._world.next_file_id():05}"
        table.set_statistics(statistics_after(table, options_of(move.protocol["INIT_OPTS"])))
        table.parts, move.target.parts = move.target.parts, table.parts
        table.rows, move.target.rows = move.target.rows, table.rows
        for what in self._world.behaviour.swap_loses:
            LOSSES[what](table)
        move.protocol |= {"SWAP_START": _now(), "SWAP_END": _now(), "STATUS": "CLEANUP"}

    def _cleanup(self, move: Move) -> None:
        """KEEP leaves what the table was, under another name."""
        del self._world.tables[move.target.schema, move.target.name]
        if "KEEP" in options_of(move.protocol["INIT_OPTS"]):
            original = replace(move.target, name=f"{self._key[1][:100]}AAAAAAxo")
            move.protocol["ORIGINAL"] = original.name
            self._world.tables[original.schema, original.name] = original
        move.protocol |= {"CLEANUP_START": _now(), "CLEANUP_END": _now(), "STATUS": "COMPLETE"}

    def _cancel(self, move: Move) -> None:
        del self._world.tables[move.target.schema, move.target.name]
        del self._world.moves[self._key]

    def _table(self) -> Table:
        return self._world.table(*self._key)


def _copied(index: Index, number: int) -> Index:
    """An index of the target, or of what the table was: the names are changed with the table's."""
    return replace(index, schema="SYSIBM", name=f"SQL2011230800000{number:02}0", counts=counts())


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d-%H.%M.%S.%f")
