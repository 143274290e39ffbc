"""The ledger's file on a disk that fills up, fails, and forgets in a power cut what was not synchronised."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import text

from agent.config.models import LedgerConfig
from agent.ledger.chain.signed import PLAIN, ApprovalRule
from agent.ledger.errors import LedgerBusy, LedgerError, LedgerFull
from agent.ledger.ledger import Ledger
from tests.fault_simulation.process import Process
from tests.fault_simulation.script import Kind, Trigger
from tests.virtual_clock import VirtualClock

FULL = 2  # PRAGMA synchronous
ERRORS: dict[Kind, Callable[[], LedgerError]] = {
    Kind.LEDGER_FULL: lambda: LedgerFull("the ledger could not grow: the disk is full", advice="Make room."),
    Kind.LEDGER_BUSY: lambda: LedgerBusy("the ledger was locked for too long", advice="Try again."),
    Kind.LEDGER_ERROR: lambda: LedgerError("the ledger could not be written: disk I/O error", advice="See the log."),
}


class Cursor(Protocol):
    """Rows, whose columns are found by name and by number."""

    def fetchone(self) -> Any:  # a row, or None
        """The next one."""
        ...

    def fetchall(self) -> list[Any]:
        """All that are left."""
        ...


class Rows(Protocol):
    """The rows of a ledger as they lie there, read by no code of the agent."""

    def execute(self, sql: str, values: Sequence[object] = (), /) -> Cursor:
        """Ask SQLite's SQL, with ``?`` for each value."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class Disk:
    """What one ledger lies on."""

    def __init__(self, path: Path, *, may_lose_power: bool) -> None:
        self.path = path
        self._kept = path.with_name("after-power-cut") if may_lose_power else None
        self.failing: Kind | None = None
        self.fails_until = 0.0  # on the monotonic clock
        self.strike: Callable[[Trigger, Process], None] = lambda *_: None
        self.keep()

    @property
    def anchors(self) -> Path:
        """The file of the anchors."""
        return self.path.with_name("ledger.db.anchors")

    def open_ledger(self, clock: VirtualClock, *, actor: str, rule: ApprovalRule = PLAIN) -> Ledger:
        """The ledger as another program opens it."""
        return Ledger.open(self.path, clock, actor=actor, create=False, busy_seconds=0.2, rule=rule)

    def open_for(self, process: Process, place: LedgerConfig, rule: ApprovalRule) -> Ledger:
        """The ledger as the agent of this disk opens it."""
        return Ledger.open(place.path, process.clock, actor=process.name, rule=rule, busy_seconds=0.2)

    def open_rows(self) -> Rows:
        """What an oracle reads."""
        connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        connection.row_factory = sqlite3.Row
        return connection

    def use(self, ledger: Ledger, process: Process) -> None:
        """Let every transaction of that ledger go over this disk."""
        database = ledger._database
        write, read = database.write, database.read

        @contextmanager
        def failing_write(*, durable: bool = True) -> Iterator[Any]:
            self._pass(Trigger.LEDGER_BEGIN, process)
            with write(durable=durable) as transaction:
                yield transaction
                self._pass(Trigger.LEDGER_COMMIT, process)
                level = transaction.scalar(text("PRAGMA synchronous")) if self._kept else FULL
            if level == FULL:
                self.keep()
            self._strike(Trigger.LEDGER_DONE, process)

        @contextmanager
        def failing_read() -> Iterator[Any]:
            process.check()
            with read() as reading:
                yield reading

        database.write, database.read = failing_write, failing_read  # type: ignore[method-assign]  # faults

    def lose_power(self) -> None:
        """What was not synchronised is gone."""
        if self._kept is not None:
            for file in _files(self.path):
                file.unlink()
            for file in _files(self._kept):
                shutil.copy(file, self.path.with_name(file.name.replace(self._kept.name, self.path.name)))

    def keep(self) -> None:
        """What is there now survives a power cut."""
        if self._kept is None:
            return
        for file in _files(self._kept):
            file.unlink()
        for file in _files(self.path):
            if not file.name.endswith("-shm"):
                shutil.copy(file, self._kept.with_name(file.name.replace(self.path.name, self._kept.name)))

    def _pass(self, trigger: Trigger, process: Process) -> None:
        """Go on unless the disk fails just now."""
        self._strike(trigger, process)
        if self.failing is not None and process.clock.monotonic() < self.fails_until:
            error = ERRORS[self.failing]()
            raise error

    def _strike(self, trigger: Trigger, process: Process) -> None:
        process.check()
        self.strike(trigger, process)
        process.check()


def _files(path: Path) -> list[Path]:
    """The file, what SQLite keeps next to it; not its anchors, which are synchronised on their own."""
    return [file for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm"))
            if file.exists()]  # fmt: skip
