"""What a statement in the making needs: its session, locks with their time limits, and time that passes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.labs.sqlserver.instance import Account, Connected, Database, Instance
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.rights import may_alter
from tests.labs.tds.backend import Cancelled, ServerError

SHARED, EXCLUSIVE, SCHEMA_MODIFICATION = "S", "X", "Sch-M"
INTENT_SHARED, INTENT_EXCLUSIVE = "IS", "IX"
COMPATIBLE = {  # with what a lock of that mode is granted (rule 15)
    INTENT_SHARED: frozenset({"IS", "S", "IX", "Sch-S"}),
    SHARED: frozenset({"IS", "S", "Sch-S"}),
    INTENT_EXCLUSIVE: frozenset({"IS", "IX", "Sch-S"}),
    EXCLUSIVE: frozenset({"Sch-S"}),
    SCHEMA_MODIFICATION: frozenset[str](),
}
WAIT_TYPES = {mode: f"LCK_M_{mode.upper().replace('-', '_')}" for mode in COMPATIBLE}
POLL_SECONDS = 0.005
ERRORS = {
    1105: "Could not allocate space for object because the filegroup is full.",
    1205: "Transaction was deadlocked on lock resources with another process and has been chosen as the deadlock "
    "victim. Rerun the transaction.",
    1222: "Lock request time out period exceeded.",
    9002: "The transaction log for the database is full due to 'ACTIVE_TRANSACTION'.",
    10660: "The online index build was chosen as deadlock victim too often.",
}


@dataclass(slots=True)
class Work:
    """One session at work. ``lock_timeout`` in seconds, None for ever."""

    instance: Instance
    database: Database
    account: Account
    connected: Connected
    cancelled: threading.Event
    lock_timeout: float | None = None
    in_transaction: bool = False
    sql: str = ""
    row_count: int = 0  # that the statement has written
    ends_session: bool = False  # the server ends it after what it has said
    _undo: list[Callable[[], None]] = field(default_factory=list)
    _at_commit: list[Callable[[], None]] = field(default_factory=list)
    _held: list[Table] = field(default_factory=list)

    @property
    def spid(self) -> int:
        """Of the session."""
        return self.connected.spid

    def hold(self, table: Table, mode: str, low_priority_minutes: int | None = None) -> None:
        """Wait for the lock and keep it to the end of the transaction, where there is one."""
        self.lock(table, mode, low_priority_minutes)
        if self.in_transaction:
            with self.instance.lock:
                table.lock_holders[self.spid] = mode
                self._held.append(table)

    @contextmanager
    def holding(self, table: Table, mode: str) -> Iterator[None]:
        """Others see the lock while the body runs; one that the session's transaction has stays as it is."""
        with self.instance.lock:
            before = table.lock_holders.setdefault(self.spid, mode)
        try:
            yield
        finally:
            if before == mode and table not in self._held:
                with self.instance.lock:
                    table.lock_holders.pop(self.spid, None)

    def on_rollback(self, undo: Callable[[], None]) -> None:
        """Remember how to take back what was just done, while a transaction is open."""
        if self.in_transaction:
            self._undo.append(undo)

    def on_commit(self, finish: Callable[[], None]) -> None:
        """Do it when the transaction commits; at once where there is none."""
        if self.in_transaction:
            self._at_commit.append(finish)
        else:
            finish()

    def end_transaction(self, *, keep: bool) -> None:
        """COMMIT or ROLLBACK: of DDL only what the batches here use can be taken back."""
        with self.instance.lock:
            for action in self._at_commit if keep else reversed(self._undo):
                action()
            self._undo.clear()
            self._at_commit.clear()
            for table in self._held:
                table.lock_holders.pop(self.spid, None)
            self._held.clear()
            self.in_transaction = False

    def pause(self, seconds: float) -> None:
        """Let time pass; raises Cancelled when the client wants no more."""
        if self.cancelled.wait(seconds) if seconds > 0 else self.cancelled.is_set():
            raise Cancelled

    def table(self, name: tuple[str, str]) -> Table:
        """The table, if it is there and may be altered; SQL Server does not say which of the two fails."""
        found = self.database.table_named(*name)
        if found is None or not may_alter(self.account, found.schema):
            whole = ".".join(name)
            message = f'Cannot find the object "{whole}" because it does not exist or you do not have permissions.'
            raise ServerError(1088, message)
        return found

    def lock(self, table: Table, mode: str, low_priority_minutes: int | None = None) -> None:
        """Wait for the lock; raises ServerError 1222, or Cancelled."""
        began, limit = time.monotonic(), self._limit(low_priority_minutes)
        waited = False
        try:
            while blockers := self._blockers(table, mode):
                waited = True
                self._tell(WAIT_TYPES[mode] + ("_LOW_PRIORITY" if low_priority_minutes else ""), blockers[0])
                if limit is not None and time.monotonic() - began >= limit:
                    raise ServerError(1222, ERRORS[1222], state=51)
                self.pause(POLL_SECONDS)
        finally:
            self._tell(None, 0)
            if waited and low_priority_minutes is None:
                self.instance.queued_seconds += time.monotonic() - began

    def fail_if_told(self) -> None:
        """Raise the error that a test has ordered for the next build."""
        with self.instance.lock:
            number = self.instance.next_errors.pop(0) if self.instance.next_errors else 0
        if number:
            raise ServerError(number, ERRORS[number], severity=13 if number == 1205 else 16)

    def _limit(self, low_priority_minutes: int | None) -> float | None:
        low = None if low_priority_minutes is None else low_priority_minutes * self.instance.minute
        if low is not None and not self.instance.lock_timeout_beats_low_priority:
            return low
        limits = [limit for limit in (self.lock_timeout, low) if limit is not None]
        return min(limits, default=None)

    def _blockers(self, table: Table, mode: str) -> list[int]:
        with self.instance.lock:
            others = {spid: held for spid, held in table.lock_holders.items() if spid != self.spid}
        return [spid for spid, held in others.items() if held not in COMPATIBLE[mode]]

    def _tell(self, wait_type: str | None, blocker: int) -> None:
        if self.connected.request is not None:
            self.connected.request.wait_type = wait_type
            self.connected.request.blocker = blocker
