"""The one session that may change the database."""

from __future__ import annotations

import threading

import pyodbc

from connectors.base import (
    Clock,
    Closing,
    ConnectorError,
    Crowding,
    Interrupted,
    LockNotObtained,
    Paused,
    StatementFailed,
    TimedOut,
)
from connectors.formatting import format_seconds
from connectors.model import Progress, Route, Step
from connectors.sqlserver.moving.move_inspection import BuildInspector, FileInspector, MoveInspector
from connectors.sqlserver.moving.progress import Pace, progress_of
from connectors.sqlserver.moving.queues import find_crowding
from connectors.sqlserver.moving.statement_runner import StatementRunner
from connectors.sqlserver.reading.spaces import PAGE
from connectors.sqlserver.routes.file_move import file_route_of, is_pause_by_cancel
from connectors.sqlserver.routes.file_statements import LOW_PRIORITY_SINCE
from connectors.sqlserver.session.errors import (
    CANCELLED,
    GONE_OR_FORBIDDEN,
    NOTHING_TO_PAUSE,
    TIMED_OUT,
    Diagnosis,
    connection_broke,
    diagnose,
    object_gone,
    outcome_unknown,
    translate,
)
from connectors.sqlserver.session.sessions import ReadSession
from connectors.sqlserver.settings import SqlserverSettings

CANCEL_TRIES, CANCEL_EVERY_SECONDS = 20, 0.25
HELD_TRIES, HELD_EVERY_SECONDS = 40, 0.25  # how long the server may take to say that a build is paused


class SqlserverMover(Closing):
    """Executes steps in autocommit: an index build in a transaction would keep its lock to the end of it."""

    def __init__(self, settings: SqlserverSettings, clock: Clock) -> None:
        """Open the session.

        Raises:
            CannotConnect: or AuthenticationFailed, as for any connection.
        """
        self._clock = clock
        self._hand = StatementRunner(settings)
        self._watching = threading.Lock()  # the second session serves progress, from any thread
        self._watch = ReadSession(settings, name="hotplace progress")
        self._settings = settings
        self._limit = settings.move_timeout
        self._idle = threading.Event()
        self._idle.set()
        self._step: Step | None = None
        self._interrupted = self._pausing = False
        self._route: Route | None = None
        self._eye: MoveInspector | None = None
        self._bytes_before: int | None = None
        self._pace = Pace(0.0)

    def prepare(self, route: Route) -> None:
        """See that the route still fits the catalog, send the prologue, and note how full the target is."""
        self._route = route
        files = file_route_of(route)
        if files is None:
            self._eye = BuildInspector(self._watch, self._watching, route, self._settings)
        else:
            self._eye = FileInspector(self._watch, self._watching, route, files)
        reason = self._eye.against()
        if reason:
            raise StatementFailed(f"preparing to move {route.bundle.key}: {reason}", advice="Plan again.")
        for statement in route.prologue:
            self._send(statement, f"preparing to move {route.bundle.key}", self._limit)
        self._bytes_before, _ = self._look(route)

    def execute(self, step: Step) -> None:
        """Run one step to its end; of files, what is done already is not done again."""
        if self._eye is None or not self._eye.done_before(step):
            self._run(step, step.sql)

    def resume(self, step: Step) -> None:
        """Go on with a step that is held, in a session of ours."""
        if not step.resume_sql:
            raise StatementFailed(f"{step.purpose}: this statement cannot be held, so it cannot go on")
        if self._eye is None or not self._eye.done_before(step):
            self._run(step, step.resume_sql)

    def progress(self) -> Progress | None:
        """Bytes: those that a resumable build has allocated, that are out of the old files, or that the target gained.

        percent_complete stays 0 for index builds.
        """
        route, eye, step = self._route, self._eye, self._step
        if route is None or eye is None or step is None or self._idle.is_set():
            return None
        used, waits_for = self._look(route)
        done = eye.bytes_built(step)
        if done is None:
            if used is None or self._bytes_before is None:
                return None
            done = used - self._bytes_before
        waiting = str(waits_for or "").startswith("LCK_")
        doing = f"{'waiting for a lock' if waiting else 'building'}: {route.bundle.key} to {route.to_space}"
        total = route.bundle.size_bytes
        return progress_of(doing, done, total, self._pace.seconds_left(done, total, self._clock.monotonic()))

    def crowding(self) -> Crowding:
        """Queues of the replicas of an availability group, over the second session."""
        with self._watching:
            return find_crowding(self._watch, self._settings)

    def interrupt(self) -> None:
        """Cancel the running step; a cancel that came before its statement is sent again until the step has ended.

        A resumable build that is cancelled is held: ``execute`` then raises ``Paused``.
        """
        self._interrupted = not self._idle.is_set()
        # A cancel that arrives between two statements is dropped by the server, so it is sent until the statement has
        # ended.
        for _ in range(CANCEL_TRIES):
            if self._idle.is_set():
                return
            self._hand.cancel()
            if self._idle.wait(CANCEL_EVERY_SECONDS):
                return

    def pause(self) -> bool:
        """Hold the running step: a build over a session of its own, the emptying of a file by cancelling it.

        False where nothing that can be held is at work, or it is about to end.
        """
        step, eye = self._step, self._eye
        if step is None or eye is None or not step.pausable or self._idle.is_set():
            return False
        if eye.cancel_holds:
            self.interrupt()
            return True
        # PAUSE of a build that is not resumable, or is paused already, is an error; and one that ends a moment later
        # needs none.
        if eye.is_held() is not False:
            return False
        self._pausing = True
        return self._send_pause(step)

    def _send_pause(self, step: Step) -> bool:
        other = StatementRunner(self._settings)
        try:
            other.send(step.pause_sql, self._settings.statement_timeout)
        except pyodbc.Error as error:
            self._pausing = False
            seen = diagnose(error)
            if seen.number in NOTHING_TO_PAUSE:
                return False
            raise translate(seen, f"pausing: {step.purpose}") from error
        finally:
            other.close()
        return True

    def close(self) -> None:
        """End both sessions."""
        self._hand.close()
        with self._watching:
            self._watch.close()

    def _run(self, step: Step, statement: str) -> None:
        self._interrupted = self._pausing = False
        self._pace = Pace(self._clock.monotonic())
        self._step = step
        self._idle.clear()
        try:
            self._refuse_snapshots(step)
            self._send(statement, step.purpose, step.timeout_seconds or self._limit)
        except ConnectorError as error:
            if (self._interrupted or self._pausing) and step.pausable and self._comes_to_rest():
                raise Paused(
                    f"{step.purpose}: held; what is built so far stays built",
                    advice="It goes on with `hotplace resume`, or is given up with `hotplace cancel`.",
                    native_code=error.native_code,
                ) from error
            raise
        finally:
            self._idle.set()
            self._step = None

    def _send(self, statement: str, doing: str, limit_seconds: float) -> None:
        """Send one statement; raise a refusal and a broken session as different errors."""
        try:
            self._hand.send(statement, limit_seconds)
        except pyodbc.Error as error:
            raise self._failure(diagnose(error), doing, limit_seconds) from error

    def _refuse_snapshots(self, step: Step) -> None:
        """Before 2022 nothing makes DBCC SHRINKFILE give way to a reader of a snapshot: it would wait without end."""
        emptying = isinstance(self._eye, FileInspector) and is_pause_by_cancel(step)
        if not isinstance(self._eye, FileInspector) or not emptying or self._eye.major >= LOW_PRIORITY_SINCE:
            return
        seconds = self._eye.snapshot_seconds()
        if seconds is not None:
            raise LockNotObtained(
                f"{step.purpose}: a transaction has been reading a snapshot for {seconds} s",
                advice="It is tried again later; DBCC SHRINKFILE would wait for it.",
            )

    def _comes_to_rest(self) -> bool:
        """Whether the server says that the step is held: at once after a cancel, a moment later after PAUSE."""
        # PAUSE answers before the build has stopped, so the list of resumable operations is read until it says so.
        for _ in range(HELD_TRIES if self._pausing else 1):
            held = None if self._eye is None else self._eye.is_held()
            if held is None:
                return False
            if held:
                return True
            self._clock.sleep(HELD_EVERY_SECONDS)
        return False

    def _failure(self, seen: Diagnosis, doing: str, limit: float) -> ConnectorError:
        # A silent server has confirmed neither the end by the limit nor the one by our cancel: it may go on.
        ended_by_client = seen.state in {TIMED_OUT, CANCELLED}
        if connection_broke(seen) or (ended_by_client and not self._hand.answers(self._settings.statement_timeout)):
            return outcome_unknown(seen, doing)
        if seen.state == CANCELLED and self._interrupted:
            return Interrupted(f"{doing}: cancelled on request", native_code=CANCELLED)
        if seen.state == TIMED_OUT:
            return TimedOut(
                f"{doing}: not finished within {format_seconds(limit)}",
                advice="Raise move_timeout, or move it when the disks are less busy.",
                native_code=TIMED_OUT,
            )
        if seen.number in GONE_OR_FORBIDDEN and self._eye is not None and self._eye.is_gone():
            return object_gone(seen, doing)
        return translate(seen, doing)

    def _look(self, route: Route) -> tuple[int | None, str | None]:
        """Bytes used in the target filegroup (None: unknown), and what the session waits for."""
        try:
            with self._watching:
                rows = self._watch.rows("progress", route.to_space, self._hand.number, doing="looking at progress")
        except ConnectorError:  # a move must not fail because its progress cannot be read
            return None, None
        pages, waits_for = rows[0]
        return (None if pages is None else int(pages) * PAGE), waits_for
