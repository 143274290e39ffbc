"""Moves in the simulated engine: routes, the lease, and sessions that execute them.

Sessions with the simulated server: the one that may write executes moves, at the speed of the devices.

The two ways this engine can move a bundle, as statements.

The lease: one acting agent a world, in this process by the world itself, among processes by a file lock.
"""

from __future__ import annotations

import fcntl
import os
import threading
from dataclasses import dataclass

from connectors.kit.contract import (
    CannotConnect,
    Clock,
    Closing,
    ForegroundReads,
    Interrupted,
    LeaseHeld,
    LockNotObtained,
    ObjectGone,
    OutcomeUnknown,
    Paused,
    PrivilegeMissing,
    SpaceFull,
    StatementFailed,
    TimedOut,
)
from connectors.model.formatting import format_seconds
from connectors.model.moves import Bundle, Locked, NoRoute, Route, Step, Transfer, UnitKind
from connectors.model.observation import Home, Inspection, Progress
from connectors.simulated.language import Control, Move, SetLockTimeout, parse, quote
from connectors.simulated.sampler import read_foreground
from connectors.simulated.settings import FaultKind
from connectors.simulated.world import World
from connectors.simulated.world_state import ONLINE_ROOM, WORD, RunningCopy, copy_seconds

SHORTEST_SLICE, LONGEST_SLICE = 0.1, 1.0  # seconds of the clock between two looks at interrupts
SLICES = 200  # of a copy, within those bounds


@dataclass(frozen=True, slots=True)
class _Blows:
    """The faults that will strike one statement; each is decided once."""

    lock: bool
    full: bool
    before: bool
    after: bool


class SimulatedSession(Closing):
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

    def _go_through(self, running: RunningCopy, timeout_seconds: float, *, broken: bool) -> None:
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

    def _wait_for_lock(self, move: Move | RunningCopy, *, blocked: bool) -> None:
        """Wait until no session uses the unit any more.

        Raises:
            LockNotObtained: one did for longer than the lock timeout.
            Interrupted: ``interrupt`` was called.
            ObjectGone: it was dropped meanwhile.
        """
        world, waited = self._world, 0.0
        while True:
            with world.turn():
                rows = move.rows if isinstance(move, RunningCopy) else world.placement.resolve(move)[0]
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
        with SimulatedSession(self._world, self._clock, read_only=False, may_move=self._may_move) as other:
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


TAG = "/* hotplace */"
LOCK_SECONDS = 0.5
PROLOGUE = (f"{TAG} SET LOCK_TIMEOUT {round(LOCK_SECONDS * 1000)} MS",)


def routes(world: World, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
    """Online first, then offline, or why there is none."""
    refusal = _refusal(world, bundle, to_space)
    return refusal or (_route(bundle, to_space, online=True), _route(bundle, to_space, online=False))


def _refusal(world: World, bundle: Bundle, to_space: str) -> NoRoute | None:
    """Why the bundle cannot go there, None if it can."""
    with world.turn():
        try:
            target = world.placement.space_row(to_space)
        except ObjectGone as gone:
            return NoRoute(code="no_such_space", sentence=f"{gone}.")
        row = world.placement.row(bundle.key)
        if row is None:
            return NoRoute(code="gone", sentence=f"{bundle.key} does not exist.")
        if UnitKind(world.placement.units.kind[row]) not in WORD:
            return NoRoute(code="moves_with_table", sentence=f"{bundle.key} moves only with its table.")
        if bundle.space == to_space:
            return NoRoute(code="already_there", sentence=f"{bundle.key} is in {to_space} already.")
        if bundle.size_bytes > world.placement.spaces[target].capacity_bytes:
            return NoRoute(code="too_large", sentence=f"{bundle.key} is larger than all of {to_space}.")
        return None


def _statement(bundle: Bundle, space: str, *, online: bool) -> str:
    suffix = " ONLINE" if online else ""
    return f"{TAG} MOVE {WORD[bundle.kind]} {bundle.key} TO SPACE {quote(space)}{suffix}"


def _control(word: str, bundle: Bundle) -> str:
    return f"{TAG} {word} MOVE {bundle.key}"


def _step(bundle: Bundle, there: str, back: str, to_space: str, *, online: bool) -> Step:
    """The move itself; an online one can be held and gone on with."""
    return Step(
        sql=there,
        purpose=f"bring {bundle.key} to {to_space}",
        undo_sql=back,
        pause_sql=_control("PAUSE", bundle) if online else "",
        resume_sql=_control("RESUME", bundle) if online else "",
    )


def _abort(bundle: Bundle) -> Step:
    return Step(sql=_control("ABORT", bundle), purpose=f"roll back the held move of {bundle.key}")


def _route(bundle: Bundle, to_space: str, *, online: bool) -> Route:
    there, back = (_statement(bundle, space, online=online) for space in (to_space, bundle.space))
    return Route(
        name="move online" if online else "move",
        bundle=bundle,
        to_space=to_space,
        prologue=PROLOGUE,
        steps=(_step(bundle, there, back, to_space, online=online),),
        undo_steps=(Step(sql=back, purpose=f"bring {bundle.key} back to {bundle.space}"),),
        tidy_steps=(_abort(bundle),) if online else (),
        tidy_locks="None: what was copied is thrown away." if online else "",
        online=online,
        locks="Exclusive for an instant at the end." if online else "Exclusive on the table while bytes are copied.",
        log_bytes=bundle.size_bytes,
        locked=Locked.BRIEFLY if online else Locked.ALL,
        lock_seconds=LOCK_SECONDS,
        transient_bytes=int(bundle.size_bytes * ONLINE_ROOM) if online else 0,
        copies=(
            Transfer(space=bundle.space, bytes=bundle.size_bytes, unit=bundle.key, whole=True),
            Transfer(space=to_space, bytes=bundle.size_bytes, written=True),
        ),
    )


def inspect(world: World, route: Route) -> Inspection:
    """Where the units of the bundle are now, by their keys."""
    with world.turn():
        placement = world.placement
        rows = [placement.row(key) for key in route.bundle.unit_keys]
        living = [row for row in rows if row is not None]
        if len(living) < len(rows):
            return Inspection(home=Home.GONE, sentence=f"{route.bundle.key} was dropped.", size_bytes=0, on_disk=None)
        names = {placement.spaces[int(placement.units.space[row])].name for row in living}
        home = _home(names, route)
        held = placement.move_of(route.bundle.key)
        paused = held is not None and held.paused
        return Inspection(
            home=home,
            sentence=f"{route.bundle.key} is in {', '.join(sorted(names))}{', its move is held' if paused else ''}.",
            size_bytes=int(placement.units.size_bytes[living].sum()),
            on_disk=None,  # there are no files to look at
            leftovers=(_abort(route.bundle),) if paused else (),
            running=placement.being_moved(living) and not paused,
            paused=paused,
        )


def _home(names: set[str], route: Route) -> Home:
    """What the spaces of a bundle's units mean for its move."""
    if names == {route.to_space}:
        return Home.TARGET
    if names == {route.bundle.space}:
        return Home.SOURCE
    return Home.SPLIT if names == {route.to_space, route.bundle.space} else Home.ELSEWHERE


class WorldLease:
    """Held until released, or until the process dies."""

    def __init__(self, world: World, holder: str) -> None:
        """Take it.

        Raises:
            LeaseHeld: another agent has it; the text names it.
        """
        self._world = world
        self._handle: int | None = None
        world.lease(holder)
        self._held = True
        try:
            self._lock_file(holder)
        except LeaseHeld:
            self.release()
            raise

    def _lock_file(self, holder: str) -> None:
        """Keep other processes out, where there is a state file to share."""
        store = self._world.store
        if store is None:
            return
        self._handle = os.open(
            store.path.with_name(store.path.name + ".lease"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            other = os.pread(self._handle, 500, 0).decode(errors="replace") or "another agent"
            raise LeaseHeld(
                f"{other} acts on this database", advice="Stop it, or let this one only observe."
            ) from error
        # After the lock, never on opening: a process that is refused has to read the holder's name from the file.
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, holder.encode(), 0)

    def is_held(self) -> bool:
        """Whether it is still ours."""
        return self._held

    def release(self) -> None:
        """Give it up; harmless when it is given up already."""
        if self._held:
            self._world.unlease()
        self._held = False
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
