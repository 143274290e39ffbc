"""The one session that may change the database, its lease, and how far it is.

The session that changes something: one statement at a time, which another thread may cancel.

How far a move is, in bytes, and how long the rest takes at the pace so far. Pure.

One agent acts on a database at a time: an application lock of the database, on a session of its own.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import pyodbc

from connectors.kit.contract import (
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
from connectors.kit.sessions import take_lease
from connectors.model.formatting import format_seconds
from connectors.model.moves import Route, Step
from connectors.model.new_space import makes_or_drops_space
from connectors.model.observation import Progress
from connectors.sqlserver.catalog import PAGE
from connectors.sqlserver.file_moves import file_route_of, is_pause_by_cancel
from connectors.sqlserver.file_statements import LOW_PRIORITY_SINCE
from connectors.sqlserver.guards import find_crowding
from connectors.sqlserver.inspection import BuildInspector, FileInspector, MoveInspector
from connectors.sqlserver.new_space import FilegroupInspector
from connectors.sqlserver.sessions import (
    CANCELLED,
    GONE_OR_FORBIDDEN,
    NOTHING_TO_PAUSE,
    TIMED_OUT,
    Diagnosis,
    ReadSession,
    RunningStatement,
    close_quietly,
    connection_broke,
    diagnose,
    fetch,
    object_gone,
    open_connection,
    outcome_unknown,
    query,
    translate,
    whole_seconds,
)
from connectors.sqlserver.settings import SqlserverSettings


class StatementRunner:
    """Sends over one session."""

    def __init__(self, settings: SqlserverSettings) -> None:
        """Open the session.

        Raises:
            CannotConnect: or AuthenticationFailed, as for any connection.
        """
        self._running = RunningStatement()
        self.connection = open_connection(settings, name="hotplace move")
        self.number = self._number()

    def send(self, statement: str, limit_seconds: float) -> None:
        """One statement to its end; errors may come with any of its results.

        Raises:
            pyodbc.Error: as the driver raises it.
        """
        self.connection.timeout = whole_seconds(limit_seconds)  # holds for cursors made from now on
        with self._running.cursor(self.connection) as cursor:
            cursor.execute(statement)
            # pyodbc raises what goes wrong later in a batch only when its result is asked for; without this a failed
            # move would look done.
            while cursor.nextset():
                pass

    def cancel(self) -> None:
        """Cancel what runs.

        Raises:
            ConnectorError: the driver refused.
        """
        self._running.cancel()

    def answers(self, limit_seconds: float) -> bool:
        """Whether the server still answers this session: a driver reports its time limit whether or not it does."""
        self.connection.timeout = whole_seconds(limit_seconds)
        try:
            return self._number() == self.number
        except pyodbc.Error:
            return False

    def close(self) -> None:
        """End it."""
        close_quietly(self.connection)

    def _number(self) -> int:
        """Of the session, so that another one can look at it."""
        return int(fetch(self.connection, query("session_id"), ())[0][0])


SURE_AFTER_SECONDS = 1.0  # a pace of less than that says nothing


@dataclass(slots=True)
class Pace:
    """Bytes and the time since a step began or went on."""

    began_at: float  # seconds on a clock that never jumps
    began_with: int | None = None  # bytes done when it was first looked at

    def seconds_left(self, done: int, total: int, now: float) -> float | None:
        """At the mean pace since the first look; None while there is no pace to go by."""
        if self.began_with is None:
            self.began_at, self.began_with = now, done
        seconds, gained = now - self.began_at, done - self.began_with
        if seconds < SURE_AFTER_SECONDS or gained <= 0:
            return None
        return max(0, total - done) * seconds / gained


def progress_of(doing: str, done: int, total: int, left: float | None) -> Progress:
    """As the contract has it: never more than all, and the rest of the time in words where it is known."""
    total = max(1, total)
    sentence = doing if left is None else f"{doing}, about {format_seconds(left)} left"
    return Progress(done_bytes=min(total, max(0, done)), total_bytes=total, sentence=sentence)


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
        if makes_or_drops_space(route):
            self._eye = FilegroupInspector(self._watch, self._watching)
        elif files is None:
            self._eye = BuildInspector(self._watch, self._watching, route, self._settings)
        else:
            self._eye = FileInspector(self._watch, self._watching, route, files, self._settings)
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


TAKEN = frozenset({0, 1})  # answers of sp_getapplock that mean granted


class SqlserverLease:
    """Held as long as its session lives; the server releases it when the process or the connection dies."""

    def __init__(self, connection: pyodbc.Connection) -> None:
        self._connection: pyodbc.Connection | None = connection

    def is_held(self) -> bool:
        """Whether this very session still holds the lock."""
        if self._connection is None:
            return False
        try:
            return bool(fetch(self._connection, query("lease_held"), ())[0][0] == "Exclusive")
        except pyodbc.Error:
            return False  # a session that cannot answer holds nothing that can be relied on

    def release(self) -> None:
        """Unlock, so that the next one need not wait for the server to notice that the session has ended; end it."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            fetch(connection, query("lease_release"), ())
        except pyodbc.Error:
            return  # a session that is gone holds nothing
        finally:
            close_quietly(connection)


def acquire_lease(settings: SqlserverSettings, holder: str) -> SqlserverLease:
    """Take the lease.

    Raises:
        LeaseHeld: another agent has it.
        CannotConnect: or what else connecting raises.
    """
    connection = take_lease(
        lambda: open_connection(settings, name=f"hotplace lease {holder}"), _try_take, _find_holder, close_quietly
    )
    return SqlserverLease(connection)


def _try_take(connection: pyodbc.Connection) -> bool:
    try:
        return fetch(connection, query("lease_take"), ())[0][0] in TAKEN
    except pyodbc.Error as error:
        raise translate(diagnose(error), "taking the lease") from error


def _find_holder(connection: pyodbc.Connection) -> str:
    """The holder's name, as far as this login may see it."""
    try:
        holders = fetch(connection, query("lease_holder"), ())
    except pyodbc.Error:
        # The lease is refused with or without a name.
        return ""
    for session, program, host, login in holders:
        return f"{program or 'a session'} (session {session}, from {host}), login {login}"
    return ""
