"""Carries out the steps of a move over three sessions: one sends statements, one inspects, one reads progress."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from connectors.base import (
    Clock,
    Closing,
    ConnectorError,
    Crowding,
    Interrupted,
    LockNotObtained,
    OutcomeUnknown,
    PrivilegeMissing,
    SpaceFull,
    StatementFailed,
)
from connectors.db2.moving.counting import Swap, read_written, refuse_lost_rows
from connectors.db2.moving.inspection import differences, move_runs, read_rebalance, tidy_for
from connectors.db2.moving.progress import progress_of
from connectors.db2.moving.queues import find_crowding
from connectors.db2.moving.rebalancing import Signals, SpaceChanger
from connectors.db2.reading.sizes import part_sizes
from connectors.db2.reading.storage import read_storage
from connectors.db2.reading.table_state import with_condition
from connectors.db2.reading.tables import MoveProtocol, TableFacts, find_table, read_protocol
from connectors.db2.routes.operations import KeyChange, Phase, change_of, key_change_of, phase_of
from connectors.db2.routes.restrictions import load_refusal, refusal
from connectors.db2.routes.statements import CANCEL, CLEAN_UP, loads_without_copy
from connectors.db2.routes.table_room import (
    Room,
    arriving,
    free_in,
    limits_reached,
    rebuilt_in_place,
    spaces_without_room,
)
from connectors.db2.session.errors import diagnosis_of, outcome_unknown, translate
from connectors.db2.session.server import read_server
from connectors.db2.session.sessions import (
    Connection,
    DriverError,
    ReadSession,
    close_quietly,
    open_connection,
    send_once,
)
from connectors.db2.settings import Db2Settings
from connectors.model import Progress, Route, Step

# How far a move is by its STATUS, which names the phase that comes next; a phase below it is done.
_REACHED = {"INIT": 0, "COPY": 1, "REPLAY": 2, "CLEANUP": 4, "COMPLETE": 5, "COMPLETE_WITH_WARNINGS": 5}
_RANK = {"INIT": 0, "COPY": 1, "REPLAY": 2, "SWAP": 3, "CLEANUP": 4}
_CAN_STOP_AFTER = frozenset({"INIT", "COPY", "REPLAY"})
_BEFORE_SWAP = frozenset({"COPY", "REPLAY"})
_GOES_ON = frozenset({"COPY", "REPLAY", "CLEANUP"})
_CAN_BE_REPEATED = frozenset({"REPLAY", "SWAP"})  # with everything that was copied


class Db2Mover(Closing):
    """Executes steps, each in a transaction of its own. What is done is not repeated; what fails is cancelled.

    A SWAP that did not get its lock is not: the copy is kept, and the next try ends it.
    """

    def __init__(self, settings: Db2Settings, clock: Clock, *, shared: bool) -> None:
        """Open the session that acts.

        Raises:
            CannotConnect: or AuthenticationFailed, as for any connection.
        """
        self._settings = settings
        self._shared = shared
        self._connection = open_connection(settings, statement_seconds=settings.move_timeout, autocommit=False)
        self._eye = ReadSession(settings)
        self._asked = ReadSession(settings)  # a connection serves one thread: this one serves progress()
        self._asking = threading.Lock()
        self._busy = threading.Event()
        self._interrupted = threading.Event()
        self._route: Route | None = None
        self._running: Step | None = None
        self._swap = Swap()  # of the move that this session carries out
        self._held = threading.Event()  # by pause(): the running step has to raise Paused
        signals = Signals(interrupted=self._interrupted, held=self._held)
        self._spaces = SpaceChanger(self._eye, self._send, settings, clock, signals, shared=shared)

    def prepare(self, route: Route) -> None:
        """Send the prologue."""
        self._route = route
        for statement in route.prologue:
            self._send(statement, f"preparing to move {route.bundle.key}")

    def execute(self, step: Step) -> None:
        """Run one step to its end: a phase, or a change of a table space with the rebalance that follows."""
        with self._working(step):
            phase, change, key = phase_of(step), change_of(step), key_change_of(step)
            if key is not None:
                self._change_key(step, key)
            elif phase is not None:
                self._run_phase(step, phase)
            elif change is not None:
                self._spaces.run(step, change)
            else:
                self._send(step.sql, step.purpose)

    def resume(self, step: Step) -> None:
        """Let a suspended rebalance go on, and stay until it has ended; one that goes on already is only watched."""
        change = change_of(step)
        if change is None or not step.pausable:
            raise StatementFailed(f"{step.purpose}: only a rebalance can be held and gone on with")
        with self._working(step):
            self._spaces.resume(step, change)

    def pause(self) -> bool:
        """Suspend the rebalance of the running step; False while there is none. Safe from another thread."""
        step = self._running
        change = None if step is None else change_of(step)
        if step is None or change is None or not step.pausable:
            return False
        with self._asking:
            state = read_rebalance(self._asked, change.space)
            if not state.running:
                return False
            if not state.suspended:
                # A new session for this one statement: the mover's own is busy in its call, and the others only read.
                connection = open_connection(
                    self._settings, statement_seconds=self._settings.query_timeout, autocommit=False
                )
                try:
                    _send(connection, step.pause_sql, f"holding the rebalance of {change.space}")
                finally:
                    close_quietly(connection)
        self._held.set()
        return True

    @contextmanager
    def _working(self, step: Step) -> Iterator[None]:
        """Others may ask about the step within."""
        self._interrupted.clear()
        self._held.clear()
        self._running = step
        self._busy.set()
        try:
            yield
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
                return progress_of(self._asked, route, step)
        except ConnectorError:  # a move must not fail because its progress cannot be read
            return None

    def crowding(self) -> Crowding:
        """See ``queues``; over the session that reads progress."""
        with self._asking:
            return find_crowding(self._asked, self._settings)

    def interrupt(self) -> None:
        """Ask the running step to step back.

        IBM's driver cannot cancel a call, so a phase runs to its end and the move is cancelled after it; SWAP and
        CLEANUP are short and are not stopped. A rebalance goes on in the server; it is only no longer watched.
        """
        if self._busy.is_set():
            self._interrupted.set()

    def close(self) -> None:
        """End all sessions."""
        close_quietly(self._connection)
        self._eye.close()
        with self._asking:
            self._asked.close()

    # -- ADMIN_MOVE_TABLE

    def _change_key(self, step: Step, change: KeyChange) -> None:
        """Drop a foreign key, or add it again; what is done is not repeated.

        Before the first one goes all else is looked at that may be in the way, so that none goes for nothing.
        """
        table = find_table(self._eye, change.schema, change.table)
        there = table is not None and any(
            (key.child, key.name) == ((change.schema, change.table), change.key) for key in table.foreign_keys
        )
        if there == change.adds:
            return
        if not change.adds:
            for later, phase in self._first_phases():
                if not read_protocol(self._eye, phase.schema, phase.table).open:
                    self._refuse_restricted(later, phase, keys_go=True)
        self._send(step.sql, step.purpose)

    def _first_phases(self) -> Iterator[tuple[Step, Phase]]:
        """INIT of the route."""
        for step in self._route.steps if self._route is not None else ():
            phase = phase_of(step)
            if phase is not None and phase.operation == "INIT":
                yield step, phase

    def _run_phase(self, step: Step, phase: Phase) -> None:
        # After a broken session the server may still be at work on the call: a second one would fail on its protocol,
        # and be cancelled together with it.
        if move_runs(self._eye, phase.schema, phase.table):
            raise LockNotObtained(
                f"{step.purpose}: ADMIN_MOVE_TABLE is at work on {phase.schema}.{phase.table} already",
                advice="Wait until it has ended.",
            )
        if phase.operation != CANCEL:
            protocol = read_protocol(self._eye, phase.schema, phase.table)
            self._refuse_strangers(protocol, phase)
            if phase.operation == "INIT" and protocol.status == "CLEANUP" and not self._is_home(phase):
                self._tidy(CLEAN_UP)  # what an earlier move, to somewhere else, has left; this one has not begun
                protocol = read_protocol(self._eye, phase.schema, phase.table)
            if is_done(phase, protocol):
                return
            if phase.operation == "INIT" and protocol.open:
                self._tidy(CANCEL)  # it stopped within INIT or within CANCEL, from where nothing goes on
            if phase.operation == "INIT":
                self._refuse_restricted(step, phase)
            elif phase.operation == "SWAP":
                self._run_swap(step, phase, protocol)
                return
            elif phase.operation == CLEAN_UP:
                self._refuse_lost_rows(phase)
        self._call(step, phase)
        if phase.operation == "INIT":
            self._insist_on_protocol(phase)

    def _insist_on_protocol(self, phase: Phase) -> None:
        """INIT of the first move of a database has made the protocol: where it may not be read, take INIT back.

        Raises:
            PrivilegeMissing: with the GRANT, which could not be given before.
        """
        try:
            read_protocol(self._eye, phase.schema, phase.table)
        except PrivilegeMissing:
            self._tidy(CANCEL)
            raise

    def _run_swap(self, step: Step, phase: Phase, protocol: MoveProtocol) -> None:
        """With a look at the target's counters before and after: it goes on under the table's name."""
        before = read_written(self._eye, phase.schema, protocol.target) if protocol.target else None
        self._call(step, phase)
        self._swap = Swap(before, read_written(self._eye, phase.schema, phase.table))

    def _call(self, step: Step, phase: Phase) -> None:
        """Send it; when it fails or is to stop, take back what the move has made so far."""
        try:
            self._send(step.sql, step.purpose)
        except OutcomeUnknown:
            # Not stepped back like the others: the call may go on in the server, and a CANCEL would hit it.
            raise
        except ConnectorError as error:
            if phase.operation in _RANK and not can_go_on(phase, error):
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
                advice=f"Only {protocol.authid} can finish or CANCEL it.",
            )
        if phase.operation != "INIT" or protocol.status not in _BEFORE_SWAP:
            return  # after SWAP the table called TARGET is the old one
        table = find_table(self._eye, phase.schema, phase.table)
        target = find_table(self._eye, phase.schema, protocol.target) if protocol.target else None
        if table is None or target is None:
            return
        for what, there, wanted in differences(table, target, phase.homes):
            raise StatementFailed(
                f"a move of {name} is open, with its {what} to {there}",
                advice=f"CANCEL it, or let it end, before moving the {what} of {name} to {wanted}.",
            )

    def _refuse_restricted(self, step: Step, phase: Phase, *, keys_go: bool = False) -> None:
        """Check again: restrictions may have changed since the plan; parts that stay need room for a second copy."""
        table = find_table(self._eye, phase.schema, phase.table)
        if table is None:
            return
        against = refusal(with_condition(self._eye, table), keys_go=keys_go)
        if against is not None:
            raise StatementFailed(f"{step.purpose}: {against[1]}", advice="Plan again.")
        self._refuse_lossy_load(step)
        self._refuse_lack_of_room(step, phase, table)

    def _refuse_lossy_load(self, step: Step) -> None:
        """The database may have become an HADR primary since the plan."""
        against = load_refusal(read_server(self._eye)) if loads_without_copy(step.sql) else None
        if against is not None:
            raise StatementFailed(f"{step.purpose}: {against[1]}", advice="Plan again.")

    def _refuse_lack_of_room(self, step: Step, phase: Phase, table: TableFacts) -> None:
        sizes = part_sizes(self._eye, table, shared=self._shared)
        storage = read_storage(self._eye, shared=self._shared)
        for short in limits_reached(table, storage, arriving(table, phase.homes, sizes)):
            raise SpaceFull(f"{step.purpose}: {short}", advice="ALTER TABLESPACE ... MAXSIZE, or choose another space.")
        # Sizes are read again: parts that stay are copied too, into table spaces whose room no plan has looked at.
        in_place = rebuilt_in_place(table, phase.homes, sizes)
        for short in spaces_without_room(table, Room(rebuilt_in_place=in_place, free=free_in(storage, in_place))):
            raise SpaceFull(f"{step.purpose}: {short}", advice="Or let a plan move the whole table at once.")

    def _step_back(self, phase: Phase, error: ConnectorError) -> None:
        """Cancel the move, so that nothing has changed.

        Raises:
            StatementFailed: it cannot be cancelled; the message names both errors.
        """
        try:
            if read_protocol(self._eye, phase.schema, phase.table).open:
                self._tidy(CANCEL)
        except ConnectorError as second:
            raise StatementFailed(
                f"{error}; and the move could not be cancelled: {second}",
                advice="Run hotplace doctor: it lists unfinished moves with their CANCEL.",
                native_code=error.native_code,
            ) from error

    def _is_home(self, phase: Phase) -> bool:
        """Whether the table, its indexes and its LOBs are where INIT would say."""
        table = find_table(self._eye, phase.schema, phase.table)
        return table is not None and not differences(table, table, phase.homes)

    def _tidy(self, operation: str) -> None:
        for step in tidy_for(self._route, operation) if self._route is not None else ():
            phase = phase_of(step)
            if phase is not None and operation == CLEAN_UP:
                self._refuse_lost_rows(phase)
            self._send(step.sql, step.purpose)

    def _refuse_lost_rows(self, phase: Phase) -> None:
        """What CLEANUP drops is counted before; see ``counting``."""
        protocol = read_protocol(self._eye, phase.schema, phase.table)
        refuse_lost_rows(self._eye, self._connection, phase, protocol, self._swap)

    def _send(self, statement: str, doing: str) -> None:
        _send(self._connection, statement, doing)


def _send(connection: Connection, statement: str, doing: str) -> None:
    """Send one statement; raise a refusal and a broken session as different errors."""
    try:
        send_once(connection, statement)
    except DriverError as error:
        found = diagnosis_of(error)
        # A driver that names no code has not said that the server refused.
        lost = found.broke or not found.native
        raise (outcome_unknown if lost else translate)(found, doing) from error


def is_done(phase: Phase, protocol: MoveProtocol) -> bool:
    """Whether the protocol is past that phase. A finished move of the past does not spare a new one its INIT."""
    if phase.operation == "INIT":
        return protocol.status in _GOES_ON
    return _REACHED.get(protocol.status, 0) > _RANK[phase.operation]


def can_go_on(phase: Phase, error: ConnectorError) -> bool:
    """Whether that phase failed for a lock only and can be repeated, hours of COPY kept."""
    return phase.operation in _CAN_BE_REPEATED and isinstance(error, LockNotObtained)
