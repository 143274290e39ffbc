"""Carries out the steps of a move, over three sessions.

Changes the storage of a table space and stays until its extents are there.

Carries out the steps of a move over three sessions: one sends statements, one inspects, one reads progress.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from connectors.db2.counting import Swap, read_written, refuse_lost_rows
from connectors.db2.errors import diagnosis_of, outcome_unknown, translate
from connectors.db2.inspection import (
    Rebalance,
    differences,
    is_moving,
    move_runs,
    progress_of,
    read_rebalance,
    space_arrived,
    tidy_for,
)
from connectors.db2.lease import find_crowding
from connectors.db2.operations import (
    CANCEL,
    CLEAN_UP,
    KeyChange,
    Phase,
    StorageChange,
    change_of,
    key_change_of,
    loads_without_copy,
    phase_of,
)
from connectors.db2.restrictions import load_refusal, refusal
from connectors.db2.sessions import (
    Connection,
    DriverError,
    ReadSession,
    close_quietly,
    open_connection,
    read_server,
    send_once,
)
from connectors.db2.settings import Db2Settings
from connectors.db2.sizes import (
    CopyRoom,
    arriving,
    free_in,
    limits_reached,
    part_sizes,
    rebuilt_in_place,
    spaces_without_room,
    with_condition,
)
from connectors.db2.storage import ServerStorage, TableSpace, read_storage
from connectors.db2.tables import MoveProtocol, TableFacts, find_table, read_protocol
from connectors.kit.contract import (
    CannotConnect,
    Clock,
    Closing,
    ConnectorError,
    Crowding,
    Interrupted,
    LockNotObtained,
    ObjectGone,
    OutcomeUnknown,
    Paused,
    PrivilegeMissing,
    SpaceFull,
    StatementFailed,
)
from connectors.model.formatting import format_seconds
from connectors.model.moves import Route, Step
from connectors.model.observation import Progress

BACKUP = "BACKUP"
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class RebalanceLook:
    """One table space at one instant."""

    space: TableSpace
    storage: ServerStorage
    state: Rebalance

    def has_arrived(self, change: StorageChange) -> bool:
        """All four facts: no rebalance, mode at rest, no dropped path, every container where the change wants it."""
        return not self.moving and space_arrived(self.storage, self.space, change)

    @property
    def moving(self) -> bool:
        """Extents are being copied, or will be after a RESUME."""
        return is_moving(self.space, self.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """Requests of other threads to the running step."""

    interrupted: threading.Event  # stop watching
    held: threading.Event  # it was suspended on request


class SpaceChanger:
    """Sends ``USING STOGROUP``, ``MANAGED BY AUTOMATIC STORAGE``, ``ADD ... DROP`` and ``REBALANCE``.

    IBM's manual contradicts itself on whether the first begins a rebalance. So REBALANCE is a step of its own, sent
    only if no rebalance has begun.
    """

    def __init__(
        self,
        session: ReadSession,
        send: Callable[[str, str], None],
        settings: Db2Settings,
        clock: Clock,
        signals: Signals,
        *,
        shared: bool,
    ) -> None:
        self._session, self._send, self._settings, self._clock = session, send, settings, clock
        self._signals = signals
        self._shared = shared

    def run(self, step: Step, change: StorageChange) -> None:
        """Run the step to the end of the rebalance.

        Raises:
            LockNotObtained: a backup is running.
            Paused: it was suspended, by us or by another session.
            OutcomeUnknown: the rebalance goes on, but not watched any longer: on request, the time was up, or the
                server does not answer.
            StatementFailed: it ended and the containers are not all there.
        """
        seen = self._look(change.space)
        if seen.has_arrived(change):
            return
        if seen.state.suspended and change.resumes:
            self._send(step.sql, step.purpose)
        # A statement is sent only to a table space at rest: one whose rebalance goes on, begun before a restart, is
        # waited for.
        elif not seen.moving:
            if change.group and seen.space.group == change.group:
                return  # given to that group before, and nothing copied yet: REBALANCE is the next step
            self._refuse_backup(step)
            self._send(step.sql, step.purpose)
            if not self._result_of(step, lambda: self._begins(change)):
                if change.group:
                    return
                within = format_seconds(self._settings.rebalance_begins_within)
                raise StatementFailed(
                    f"{step.purpose}: no rebalance began within {within}",
                    advice=f"Look at MON_GET_REBALANCE_STATUS and db2diag.log for {change.space}.",
                )
        self._result_of(step, lambda: self._wait(step, change))

    def resume(self, step: Step, change: StorageChange) -> None:
        """Go on with a rebalance that is held, to its end; its statement is sent only where one is.

        Raises:
            ConnectorError: as ``run``.
        """
        seen = self._look(change.space)
        if seen.has_arrived(change):
            return
        if seen.state.suspended:
            self._send(step.resume_sql, f"going on: {step.purpose}")
        self._result_of(step, lambda: self._wait(step, change))

    def _result_of(self, step: Step, look: Callable[[], Result]) -> Result:
        """The state seen after the statement was sent.

        Raises:
            OutcomeUnknown: the server does not answer. The rebalance may go on, so this must not count as no change.
        """
        try:
            return look()
        except CannotConnect as error:
            raise OutcomeUnknown(
                f"{step.purpose}: sent, and then its outcome could not be read ({error})",
                advice="The rebalance goes on in the server; the catalog is asked what became of it.",
                native_code=error.native_code,
            ) from error

    def _refuse_backup(self, step: Step) -> None:
        rows = self._session.optional_rows("utilities", doing="looking for a backup") or []
        if any(str(row[2]).upper() == BACKUP for row in rows):
            raise LockNotObtained(f"{step.purpose}: a backup is running", advice="Wait until it has ended.")

    def _look(self, name: str) -> RebalanceLook:
        """The rebalance first: when its row is gone, what is read afterwards is how it ended."""
        state = read_rebalance(self._session, name)
        storage = read_storage(self._session, shared=self._shared)
        space = storage.space_named(name)
        if space is None:
            raise ObjectGone(f"table space {name} no longer exists", advice="It was dropped or renamed; plan again.")
        return RebalanceLook(space, storage, state)

    def _begins(self, change: StorageChange) -> bool:
        """Whether a rebalance began, or has ended already, within the time given to it."""
        until = self._clock.monotonic() + self._settings.rebalance_begins_within
        while True:
            seen = self._look(change.space)
            if seen.moving or seen.has_arrived(change):
                return True
            if self._clock.monotonic() >= until or self._signals.interrupted.is_set():
                return False
            self._clock.sleep(min(self._settings.poll_every, self._settings.rebalance_begins_within))

    def _wait(self, step: Step, change: StorageChange) -> None:
        until = self._clock.monotonic() + (step.timeout_seconds or self._settings.move_timeout)
        idle = still = 0
        while True:
            seen = self._look(change.space)
            if seen.has_arrived(change):
                return
            still = still + 1 if seen.state.suspended else 0
            if still > 1 or (still and self._signals.held.is_set()):  # once may be the moment after a RESUME
                done, extents = seen.state.done_extents, seen.state.extents
                raise Paused(f"{step.purpose}: the rebalance of {change.space} is held, {done} of {extents} extents")
            idle = 0 if seen.moving else idle + 1
            if idle > 1:  # once may be the moment between the last extent and the drop of the old containers
                raise StatementFailed(
                    f"{step.purpose}: the rebalance ended, and {change.space} is not wholly where it should be",
                    advice="Look for its reason in db2diag.log; often the paths of the target were full.",
                )
            if self._signals.interrupted.is_set() or self._clock.monotonic() >= until:
                why = "asked to stop" if self._signals.interrupted.is_set() else "the time for it is up"
                raise OutcomeUnknown(
                    f"{step.purpose}: {why}; the rebalance goes on in the server",
                    advice=f'ALTER TABLESPACE "{change.space}" REBALANCE SUSPEND pauses it.',
                )
            self._clock.sleep(self._settings.poll_every)


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
        """See ``lease``; over the session that reads progress."""
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
        for short in spaces_without_room(table, CopyRoom(rebuilt_in_place=in_place, free=free_in(storage, in_place))):
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
