"""What may change the database: a session that acts, one that watches, one for whoever asks meanwhile."""

from __future__ import annotations

import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from connectors.base import (
    Clock,
    ConnectorError,
    Interrupted,
    LockNotObtained,
    OutcomeUnknown,
    StatementFailed,
    Unpausable,
)
from connectors.db2.errors import diagnose, outcome_unknown, translate
from connectors.db2.inspection import move_runs, read_rebalance, tidy_for
from connectors.db2.rebalancing import SpaceChanger
from connectors.db2.session import DriverError, ReadSession, open_connection, send_once
from connectors.db2.settings import Db2Settings
from connectors.db2.statements import CANCEL, Phase, change_of, phase_of
from connectors.db2.tables import MoveProtocol, find_table, read_protocol
from connectors.model import Progress, Route, Step

# How far a move is by its STATUS, which names the phase that comes next; a phase below it is done.
_REACHED = {"INIT": 0, "COPY": 1, "REPLAY": 2, "CLEANUP": 4, "COMPLETE": 5, "COMPLETE_WITH_WARNINGS": 5}
_RANK = {"INIT": 0, "COPY": 1, "REPLAY": 2, "SWAP": 3, "CLEANUP": 4}
_CAN_STOP_AFTER = frozenset({"INIT", "COPY", "REPLAY"})
_BEFORE_SWAP = frozenset({"COPY", "REPLAY"})
_GOES_ON = frozenset({"COPY", "REPLAY", "CLEANUP"})


class Db2Mover(Unpausable):
    """Executes steps, each in a transaction of its own. What is done is not repeated, what fails is cancelled."""

    def __init__(self, settings: Db2Settings, clock: Clock, *, shared: bool) -> None:
        """Open the session that acts.

        Raises:
            CannotConnect: or AuthenticationFailed, as for any connection.
        """
        self._settings = settings
        self._connection = open_connection(settings, statement_seconds=settings.move_timeout, autocommit=False)
        self._eye = ReadSession(settings)
        self._asked = ReadSession(settings)  # a connection serves one thread: this one serves progress()
        self._asking = threading.Lock()
        self._busy = threading.Event()
        self._interrupted = threading.Event()
        self._route: Route | None = None
        self._running: Step | None = None
        self._spaces = SpaceChanger(self._eye, self._send, settings, clock, self._interrupted, shared=shared)

    def prepare(self, route: Route) -> None:
        """Send the prologue."""
        self._route = route
        for statement in route.prologue:
            self._send(statement, f"preparing to move {route.bundle.key}")

    def execute(self, step: Step) -> None:
        """Run one step to its end: a phase, or a change of a table space with the rebalance that follows."""
        self._interrupted.clear()
        self._running = step
        self._busy.set()
        try:
            phase, change = phase_of(step.sql), change_of(step.sql)
            if phase is not None:
                self._run_phase(step, phase)
            elif change is not None:
                self._spaces.run(step, change)
            else:
                self._send(step.sql, step.purpose)
        finally:
            self._busy.clear()
            self._running = None

    def progress(self) -> Progress | None:
        """Rows copied of a table, extents of a table space. Safe from another thread."""
        step, route = self._running, self._route
        if step is None or route is None:
            return None
        try:
            with self._asking:
                return _progress(self._asked, route, step)
        except ConnectorError:  # a move must not fail because nobody can see how far it is
            return None

    def interrupt(self) -> None:
        """Ask the running step to step back.

        IBM's driver cannot cancel a call, so a phase runs to its end and the move is cancelled after it; SWAP and
        CLEANUP are short and are not stopped. A rebalance goes on in the server; it is only no longer watched.
        """
        if self._busy.is_set():
            self._interrupted.set()

    def close(self) -> None:
        """End all sessions."""
        with suppress(DriverError):  # it may be gone already
            self._connection.close()
        self._eye.close()
        with self._asking:
            self._asked.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- ADMIN_MOVE_TABLE

    def _run_phase(self, step: Step, phase: Phase) -> None:
        if move_runs(self._eye, phase.schema, phase.table):
            raise LockNotObtained(
                f"{step.purpose}: ADMIN_MOVE_TABLE is at work on {phase.schema}.{phase.table} already",
                advice="Wait until it has ended.",
            )
        if phase.operation != CANCEL:
            protocol = read_protocol(self._eye, phase.schema, phase.table)
            self._refuse_strangers(protocol, phase)
            if is_done(phase, protocol):
                return
            if phase.operation == "INIT" and protocol.open:
                self._cancel()  # it stopped within INIT or within CANCEL, from where nothing goes on
        self._call(step, phase)

    def _call(self, step: Step, phase: Phase) -> None:
        """Send it; when it fails or is to stop, take back what the move has made so far."""
        try:
            self._send(step.sql, step.purpose)
        except OutcomeUnknown:
            raise
        except ConnectorError as error:
            if phase.operation in _RANK:
                self._step_back(phase, error)
            raise
        if self._interrupted.is_set() and phase.operation in _CAN_STOP_AFTER:
            stopped = Interrupted(f"{step.purpose}: stopped on request after {phase.operation}")
            self._step_back(phase, stopped)
            raise stopped

    def _refuse_strangers(self, protocol: MoveProtocol, phase: Phase) -> None:
        """Only who began a move may go on with it, and only towards where it was going."""
        if not protocol.open:
            return
        name = f"{phase.schema}.{phase.table}"
        if protocol.authid and protocol.authid != self._settings.user.upper():
            raise StatementFailed(
                f"{protocol.authid} has begun a move of {name} and not finished it",
                advice=f"Let {protocol.authid} finish or CANCEL it; nobody else can.",
            )
        if phase.operation != "INIT" or protocol.status not in _BEFORE_SWAP:
            return  # after SWAP the table called TARGET is the old one
        target = find_table(self._eye, phase.schema, protocol.target) if protocol.target else None
        if target is not None and target.space != phase.homes.data:
            raise StatementFailed(
                f"a move of {name} to {target.space} is open",
                advice=f"CANCEL it, or let it end, before moving {name} to {phase.homes.data}.",
            )

    def _step_back(self, phase: Phase, error: ConnectorError) -> None:
        """Cancel the move, so that nothing has changed.

        Raises:
            StatementFailed: it cannot be cancelled; says so beside the first error.
        """
        try:
            if read_protocol(self._eye, phase.schema, phase.table).open:
                self._cancel()
        except ConnectorError as second:
            raise StatementFailed(
                f"{error}; and the move could not be cancelled: {second}",
                advice="Run hotplace doctor: it lists unfinished moves with their CANCEL.",
                native_code=error.native_code,
            ) from error

    def _cancel(self) -> None:
        for step in tidy_for(self._route, CANCEL) if self._route is not None else ():
            self._send(step.sql, step.purpose)

    def _send(self, statement: str, doing: str) -> None:
        """One statement, its failures told apart."""
        try:
            send_once(self._connection, statement)
        except DriverError as error:
            found = diagnose(str(error))
            raise (outcome_unknown(found, doing) if found.broke else translate(found, doing)) from error


def is_done(phase: Phase, protocol: MoveProtocol) -> bool:
    """Whether the protocol is past that phase. A finished move of the past does not spare a new one its INIT."""
    if phase.operation == "INIT":
        return protocol.status in _GOES_ON
    return _REACHED.get(protocol.status, 0) > _RANK[phase.operation]


def _progress(session: ReadSession, route: Route, step: Step) -> Progress | None:
    total = max(1, route.bundle.size_bytes)
    change = change_of(step.sql)
    if change is not None:
        state = read_rebalance(session, change.space)
        share = state.done_extents / state.extents if state.extents else 0.0
        how = "suspended" if state.suspended else "rebalancing"
        return Progress(
            done_bytes=round(total * share), total_bytes=total, sentence=f"{how}: {change.space} to {route.to_space}"
        )
    phase = phase_of(step.sql)
    if phase is None:
        return None
    protocol = read_protocol(session, phase.schema, phase.table)
    done = _RANK.get(phase.operation, 0) / len(_RANK)  # rows tell of COPY only, and of that not the size
    return Progress(
        done_bytes=round(total * done),
        total_bytes=total,
        sentence=f"{phase.operation}: {route.bundle.key} to {route.to_space}, {protocol.copied_rows} rows copied",
    )
