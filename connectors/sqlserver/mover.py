"""The one session that may change the database."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

import pyodbc

from connectors.base import Clock, ConnectorError, Interrupted, Paused, StatementFailed, TimedOut
from connectors.model import Progress, Route, Step
from connectors.sqlserver.definition import Definition, find
from connectors.sqlserver.errors import (
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
from connectors.sqlserver.freshness import outdated
from connectors.sqlserver.hand import Hand
from connectors.sqlserver.holding import Operation, of_route, operations
from connectors.sqlserver.keys import name_of
from connectors.sqlserver.online import Server
from connectors.sqlserver.progress import Pace, progress_of
from connectors.sqlserver.session import ReadSession
from connectors.sqlserver.settings import SqlserverSettings
from connectors.sqlserver.spaces import PAGE

CANCEL_TRIES, CANCEL_EVERY_SECONDS = 20, 0.25
HELD_TRIES, HELD_EVERY_SECONDS = 40, 0.25  # how long the server may take to say that a build is paused


class SqlserverMover:
    """Executes steps in autocommit: an index build in a transaction would keep its lock to the end of it."""

    def __init__(self, settings: SqlserverSettings, clock: Clock) -> None:
        """Open the session.

        Raises:
            CannotConnect: or AuthenticationFailed, as for any connection.
        """
        self._clock = clock
        self._hand = Hand(settings)
        self._watching = threading.Lock()  # the second session is used by whoever asks for progress
        self._watch = ReadSession(settings, name="hotplace progress")
        self._settings = settings
        self._limit = settings.move_timeout
        self._idle = threading.Event()
        self._idle.set()
        self._step: Step | None = None
        self._interrupted = self._pausing = False
        self._route: Route | None = None
        self._object_id: int | None = None
        self._bytes_before: int | None = None
        self._pace = Pace(0.0)

    def prepare(self, route: Route) -> None:
        """See that the route still fits the catalog, send the prologue, and note how full the target is."""
        self._route = route
        self._check_fresh(route)
        self._prologue(route)
        self._bytes_before, _, _ = self._look(route)

    def execute(self, step: Step) -> None:
        """Run one step to its end."""
        self._run(step, step.sql)

    def resume(self, step: Step) -> None:
        """Go on with a build that is paused, in a session of ours."""
        if not step.resume_sql:
            raise StatementFailed(f"{step.purpose}: this statement cannot be held, so it cannot go on")
        self._run(step, step.resume_sql)

    def progress(self) -> Progress | None:
        """Bytes: those that a resumable build has allocated, or that the target has gained since ``prepare``.

        percent_complete stays 0 for index builds.
        """
        route = self._route
        if route is None or self._idle.is_set():
            return None
        used, waits_for, _ = self._look(route)
        done = self._built(route)
        if done is None:
            if used is None or self._bytes_before is None:
                return None
            done = used - self._bytes_before
        waiting = str(waits_for or "").startswith("LCK_")
        doing = f"{'waiting for a lock' if waiting else 'building'}: {route.bundle.key} to {route.to_space}"
        total = route.bundle.size_bytes
        return progress_of(doing, done, total, self._pace.seconds_left(done, total, self._clock.monotonic()))

    def interrupt(self) -> None:
        """Cancel the running step; a cancel that came before its statement is sent again until the step has ended.

        A resumable build that is cancelled is held: ``execute`` then raises ``Paused``.
        """
        self._interrupted = not self._idle.is_set()
        for _ in range(CANCEL_TRIES):
            if self._idle.is_set():
                return
            self._hand.cancel()
            if self._idle.wait(CANCEL_EVERY_SECONDS):
                return

    def pause(self) -> bool:
        """Hold the running build over a session of its own; False where none is at work, or it is about to end."""
        step, route = self._step, self._route
        if step is None or route is None or not step.pausable or self._idle.is_set():
            return False
        operation = self._operation(route)
        if operation is None or operation.paused:
            return False
        self._pausing = True
        other = Hand(self._settings)
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_fresh(self, route: Route) -> None:
        definition = self._definition(route)
        self._object_id = None if definition is None else definition.owner.object_id
        server = Server(major=self._watch.major, edition=self._watch.edition)
        reason = outdated(definition, route, server, self._settings)
        if reason:
            raise StatementFailed(f"preparing to move {route.bundle.key}: {reason}", advice="Plan again.")

    def _prologue(self, route: Route) -> None:
        for statement in route.prologue:
            self._send(statement, f"preparing to move {route.bundle.key}", self._limit)

    def _run(self, step: Step, statement: str) -> None:
        self._interrupted = self._pausing = False
        self._pace = Pace(self._clock.monotonic())
        self._step = step
        self._idle.clear()
        try:
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
        """One statement, its failures told apart."""
        try:
            self._hand.send(statement, limit_seconds)
        except pyodbc.Error as error:
            raise self._failure(diagnose(error), doing, limit_seconds) from error

    def _comes_to_rest(self) -> bool:
        """Whether the server says that the build is paused: at once after a cancel, a moment later after PAUSE."""
        for _ in range(HELD_TRIES if self._pausing else 1):
            operation = None if self._route is None else self._operation(self._route)
            if operation is None:
                return False
            if operation.paused:
                return True
            self._clock.sleep(HELD_EVERY_SECONDS)
        return False

    def _failure(self, seen: Diagnosis, doing: str, limit: float) -> ConnectorError:
        if connection_broke(seen):
            return outcome_unknown(seen, doing)
        if seen.state == CANCELLED and self._interrupted:
            return Interrupted(f"{doing}: cancelled on request", native_code=CANCELLED)
        if seen.state == TIMED_OUT:
            return TimedOut(
                f"{doing}: not finished within {limit:g} s",
                advice="Raise move_timeout, or move it when the disks are less busy.",
                native_code=TIMED_OUT,
            )
        if seen.number in GONE_OR_FORBIDDEN and self._gone():
            return object_gone(seen, doing)
        return translate(seen, doing)

    def _definition(self, route: Route) -> Definition | None:
        with self._watching:
            return find(self._watch, name_of(route.bundle.key))

    def _gone(self) -> bool:
        """Whether the unit of the route is not there any more; the server has one number for that and for no right."""
        if self._route is None:
            return False
        try:
            found = self._definition(self._route)
        except ConnectorError:  # what failed is told all the same
            return False
        return found is None or found.index is None

    def _operation(self, route: Route) -> Operation | None:
        """The resumable build of this route, None where there is none or nobody can tell."""
        if self._object_id is None:
            return None
        try:
            with self._watching:
                return of_route(operations(self._watch, self._object_id), route)
        except ConnectorError:  # as if there were none: the statement's own error is told
            return None

    def _built(self, route: Route) -> int | None:
        """Bytes of the resumable build; None for any other statement."""
        step = self._step
        operation = self._operation(route) if step is not None and step.pausable else None
        return None if operation is None or operation.pages is None else operation.pages * PAGE

    def _look(self, route: Route) -> tuple[int | None, str | None, float]:
        """Bytes used in the target (None: nobody can tell), what the session waits for, percent where it is told."""
        number = self._hand.number
        try:
            with self._watching:
                rows = self._watch.rows("progress", route.to_space, number, number, doing="looking at progress")
        except ConnectorError:  # a move must not fail because nobody can see how far it is
            return None, None, 0.0
        pages, waits_for, percent = rows[0]
        return (None if pages is None else int(pages) * PAGE), waits_for, float(percent or 0.0)
