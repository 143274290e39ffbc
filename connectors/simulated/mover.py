"""Sessions with the simulated server: the one that may write executes moves, at the speed of the devices."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from connectors.base import (
    CannotConnect,
    Clock,
    Closing,
    ForegroundReads,
    Interrupted,
    LockNotObtained,
    ObjectGone,
    OutcomeUnknown,
    Paused,
    PrivilegeMissing,
    SpaceFull,
    StatementFailed,
    TimedOut,
)
from connectors.formatting import format_seconds
from connectors.model import Progress, Route, Step
from connectors.simulated.sampler import read_foreground
from connectors.simulated.server.faults import FaultKind
from connectors.simulated.server.language import Control, Move, SetLockTimeout, parse
from connectors.simulated.server.placement import Running
from connectors.simulated.server.workload import copy_seconds
from connectors.simulated.server.world import World

SHORTEST_SLICE, LONGEST_SLICE = 0.1, 1.0  # seconds of the clock between two looks at interrupts
SLICES = 200  # of a copy, within those bounds


@dataclass(frozen=True, slots=True)
class _Blows:
    """The faults that will strike one statement; each is decided once."""

    lock: bool
    full: bool
    before: bool
    after: bool


class Session(Closing):
    """A session that runs statements of the engine's language, if it may."""

    def __init__(self, world: World, clock: Clock, *, read_only: bool, may_move: bool = True) -> None:
        self._world = world
        self._clock = clock
        self._read_only = read_only
        self._may_move = may_move
        self._lock_timeout = 0.5
        self._open = True
        self._cancelled = threading.Event()
        self._progress: Progress | None = None
        self._step: Step | None = None

    def run(self, sql: str, timeout_seconds: float = 0.0) -> None:
        """Run one statement to its end.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        if not self._open:
            raise CannotConnect("the session has ended", advice="Open another one.", native_code="NO_SESSION")
        statement = parse(sql)
        if isinstance(statement, SetLockTimeout):
            self._lock_timeout = statement.seconds
            return
        self._check_rights(statement)
        self._cancelled.clear()
        try:
            if isinstance(statement, Control):
                self._control(statement, timeout_seconds)
            else:
                self._move(statement, timeout_seconds)
        finally:
            self._progress = None

    def _check_rights(self, statement: Move | Control) -> None:
        if self._read_only:
            raise StatementFailed("this session may only read", native_code="READ_ONLY")
        if not self._may_move:
            raise PrivilegeMissing(f"this login may not move {statement.key}", advice="Set `may_move: true` for it.")

    def _control(self, control: Control, timeout_seconds: float) -> None:
        """Hold, go on or roll back.

        Raises:
            StatementFailed: there is no such move, or none that can be held.
        """
        with self._world.turn():
            running = self._world.placement.move_of(control.key)
            if running is None or running.paused is (control.word == "PAUSE") or not running.online:
                raise StatementFailed(f"no move of {control.key} can {control.word}", native_code="NO_MOVE")
            if control.word == "ABORT":
                self._world.placement.abandon(running.token)
            else:
                running.paused, running.process = control.word == "PAUSE", os.getpid()
            self._world.mark_changed()
        if control.word == "RESUME":
            self._go_through(running, timeout_seconds, broken=False)

    def _move(self, move: Move, timeout_seconds: float) -> None:
        """Lock, reserve, copy, switch over; anything that goes wrong before the switch leaves no trace."""
        world = self._world
        with world.turn():
            # All four are asked, whichever strikes first: each counts an opportunity, and a statement that fails early
            # would otherwise shift the later faults of the others.
            strikes = world.faults.strikes
            blows = _Blows(
                strikes(FaultKind.LOCK_NOT_OBTAINED) is not None,
                strikes(FaultKind.SPACE_FULL) is not None,
                strikes(FaultKind.BROKEN_BEFORE) is not None,
                strikes(FaultKind.BROKEN_AFTER) is not None,
            )
            world.placement.resolve(move)
        self._wait_for_lock(move, blocked=blows.lock)
        if blows.full:
            raise SpaceFull(f'space "{move.space}" is full', advice="It was filled meanwhile; make room first.")
        with world.turn():
            running = world.placement.begin(move, os.getpid())
            world.mark_changed()
        self._go_through(running, timeout_seconds, broken=blows.before)
        if blows.after:
            self._break()

    def _go_through(self, running: Running, timeout_seconds: float, *, broken: bool) -> None:
        """Copy what is not copied yet and switch over."""
        world = self._world
        try:
            self._copy(running.token, timeout_seconds, broken=broken)
            # An online move takes its lock again for the switch: on a real server too it may fail there, behind a long
            # transaction, with all bytes copied.
            if running.online:
                self._wait_for_lock(running, blocked=False)
            with world.turn():
                world.placement.finish(running.token)
        finally:
            with world.turn():
                world.placement.end_statement(running.token)
                world.mark_changed()

    def _wait_for_lock(self, move: Move | Running, *, blocked: bool) -> None:
        """Wait until no session uses the unit any more.

        Raises:
            LockNotObtained: one did for longer than the lock timeout.
            Interrupted: ``interrupt`` was called.
            ObjectGone: it was dropped meanwhile.
        """
        world, waited = self._world, 0.0
        while True:
            with world.turn():
                rows = move.rows if isinstance(move, Running) else world.placement.resolve(move)[0]
                if not blocked and not world.is_locked(rows):
                    return
            if waited >= self._lock_timeout:
                raise LockNotObtained(
                    f"another session used {move.key} for longer than {format_seconds(self._lock_timeout)}",
                    advice="Try again when the long transaction has ended.",
                    native_code="LOCK_TIMEOUT",
                )
            self._pause(min(SHORTEST_SLICE, self._lock_timeout - waited))
            waited += SHORTEST_SLICE

    def _copy(self, token: int, timeout_seconds: float, *, broken: bool) -> None:
        """Let the time of the copy pass, from where it was held if it was.

        Raises:
            Paused: it was paused.
            Interrupted: ``interrupt`` was called.
            TimedOut: it took longer than it was given.
            ObjectGone: it was dropped meanwhile.
            OutcomeUnknown: the session broke in the middle, if ``broken``.
        """
        world, done, waited = self._world, -1.0, 0.0
        while True:
            with world.turn():
                move = world.placement.running.get(token)
                if move is None or not bool(world.placement.units.alive[move.rows].all()):
                    raise ObjectGone("the object was dropped while it was moved", advice="Nothing is left to do.")
                if move.paused:
                    raise Paused(f"the move of {move.key} is held", advice="Resume or abort it.")
                total = copy_seconds(world.placement, move) / world.settings.speed
                if done < 0.0:
                    done = total * move.done_bytes / move.total_bytes if move.total_bytes else 0.0
                move.done_bytes = int(move.total_bytes * min(1.0, done / total)) if total else move.total_bytes
                self._progress = Progress(
                    done_bytes=move.done_bytes, total_bytes=move.total_bytes, sentence=f"copying {move.key}"
                )
            if broken and done * 2 >= total:
                self._break()
            if done >= total:
                return
            if timeout_seconds and waited >= timeout_seconds:
                raise TimedOut(
                    f"the move took longer than {format_seconds(timeout_seconds)}", advice="Give it more time."
                )
            pause = min(max(SHORTEST_SLICE, total / SLICES), LONGEST_SLICE, total - done)
            self._pause(pause)
            done += pause
            waited += pause

    def _pause(self, seconds: float) -> None:
        """Let time pass, unless the move is to be paused or interrupted."""
        if not self._cancelled.is_set():
            self._clock.sleep(seconds)
        if self._cancelled.is_set():
            raise Interrupted("the statement was cancelled", advice="Nothing changed; it may be run again.")

    def _break(self) -> None:
        self._open = False
        raise OutcomeUnknown(
            "the connection broke while the statement ran", advice="Ask inspect() where the object is."
        )

    def prepare(self, route: Route) -> None:
        """Send the prologue of the route.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        for sql in route.prologue:
            self.run(sql)

    def execute(self, step: Step) -> None:
        """Run one step to its end.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        self._step = step
        self.run(step.sql, step.timeout_seconds)

    def resume(self, step: Step) -> None:
        """Go on with a step that is held.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        self._step = step
        self.run(step.resume_sql, step.timeout_seconds)

    def pause(self) -> bool:
        """Hold the running step over another session; False where it cannot be held, or is not copying yet."""
        step = self._step
        if step is None or not step.pausable or self._progress is None:
            return False
        with Session(self._world, self._clock, read_only=False, may_move=self._may_move) as other:
            other.run(step.pause_sql)
        return True

    def progress(self) -> Progress | None:
        """How far the running step is; None when nothing runs."""
        return self._progress

    def foreground_reads(self) -> ForegroundReads:
        """Reads of all sessions; copies are not among them."""
        return read_foreground(self._world)

    def interrupt(self) -> None:
        """Cancel the running step, which then raises ``Interrupted``; harmless when none runs."""
        self._cancelled.set()

    def close(self) -> None:
        """End the session."""
        self._open = False
