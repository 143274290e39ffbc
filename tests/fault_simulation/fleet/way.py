"""The way of one agent to the shared ledger, which may break at every call, and lose the answer to a commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Table

from agent.config.models import LedgerConfig
from agent.ledger.chain.signed import PLAIN, ApprovalRule
from agent.ledger.errors import LedgerUnreachable
from agent.ledger.ledger import Ledger
from connectors.kit.contract import Clock
from tests.fault_simulation.disk import Disk, Rows
from tests.fault_simulation.fleet.ledger import SharedLedger
from tests.fault_simulation.process import Process
from tests.fault_simulation.script import Trigger
from tests.virtual_clock import VirtualClock

PATIENCE = 0.2  # seconds of real time, for a lock: all agents are in one thread


class Way(Disk):
    """In place of the disk that a ledger of one machine lies on."""

    def __init__(self, path: Path, shared: SharedLedger) -> None:
        super().__init__(path, may_lose_power=False)
        self._shared = shared
        self.loses_answer = False  # to the commit that is under way
        self.on_commit: Callable[[], None] = lambda: None
        self.on_sample: Callable[[str, Mapping[str, Any]], None] = lambda *_: None

    def open_ledger(self, clock: VirtualClock, *, actor: str, rule: ApprovalRule = PLAIN) -> Ledger:
        """As people open it, on a machine of their own."""
        self._shared.require_reachable()
        return self._open(clock, actor, rule, self.path.with_name("people.anchors"))

    def open_for(self, process: Process, place: LedgerConfig, rule: ApprovalRule) -> Ledger:
        """As its agent opens it."""
        del place  # says the same
        self._reach(process)
        return self._open(process.clock, process.name, rule, self.anchors)

    def open_rows(self) -> Rows:
        """What an oracle reads."""
        return self._shared.rows()

    def _open(self, clock: Clock, actor: str, rule: ApprovalRule, anchors: Path) -> Ledger:
        return Ledger.open(
            self._shared.place, clock, actor=actor, create=False, anchors=anchors, busy_seconds=PATIENCE, rule=rule
        )

    def use(self, ledger: Ledger, process: Process) -> None:
        """Let every transaction of that ledger go over this way."""
        database: Any = ledger._database
        write_after, read, insert = database.write_after, database.read, ledger.samples.insert

        @contextmanager
        def writing(*begin: str) -> Iterator[Any]:
            self._pass(Trigger.LEDGER_BEGIN, process)
            with write_after(*begin) as transaction:
                yield transaction
                self._pass(Trigger.LEDGER_COMMIT, process)
                lost, self.loses_answer = self.loses_answer, False
                if lost:
                    transaction.after_commit = None
            self.on_commit()
            if lost:
                raise LedgerUnreachable("the ledger does not answer: connection reset", advice="Wait.")
            self._strike(Trigger.LEDGER_DONE, process)

        @contextmanager
        def reading() -> Iterator[Any]:
            process.check()
            self._reach(process)
            with read() as found:
                yield found

        def sampled(table: Table, values: Mapping[str, Any]) -> None:
            self.on_sample(table.name, values)
            insert(table, values)

        database.write_after, database.read = writing, reading
        ledger.samples.insert = sampled  # type: ignore[method-assign]  # to know when it was in truth

    def _pass(self, trigger: Trigger, process: Process) -> None:
        super()._pass(trigger, process)
        self._reach(process)

    def _strike(self, trigger: Trigger, process: Process) -> None:
        super()._strike(trigger, process)
        process.clock.thaw()

    def _reach(self, process: Process) -> None:
        if process.clock.monotonic() < process.machine.no_ledger_until:
            raise LedgerUnreachable("the ledger does not answer: no route to host", advice="Wait.")
        self._shared.require_reachable()
