"""The one session that may change the database."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

import pyodbc

from connectors.base import Clock, ConnectorError, Interrupted, StatementFailed, TimedOut, Unpausable
from connectors.model import Progress, Route, Step
from connectors.sqlserver.definition import find
from connectors.sqlserver.errors import (
    CANCELLED,
    GONE_OR_FORBIDDEN,
    TIMED_OUT,
    Diagnosis,
    connection_broke,
    diagnose,
    object_gone,
    outcome_unknown,
    translate,
)
from connectors.sqlserver.freshness import outdated
from connectors.sqlserver.keys import name_of
from connectors.sqlserver.queries import query
from connectors.sqlserver.routes import Server
from connectors.sqlserver.session import ReadSession, close_quietly, fetch, open_connection, whole_seconds
from connectors.sqlserver.settings import SqlserverSettings
from connectors.sqlserver.spaces import PAGE

CANCEL_TRIES, CANCEL_EVERY_SECONDS = 20, 0.25


class SqlserverMover(Unpausable):
    """Executes steps in autocommit: an index build in a transaction would keep its lock to the end of it."""

    def __init__(self, settings: SqlserverSettings, clock: Clock) -> None:
        """Open the session.

        Raises:
            CannotConnect: or AuthenticationFailed, as for any connection.
        """
        self._clock = clock
        self._session = open_connection(settings, name="hotplace move")
        self._id = int(fetch(self._session, query("session_id"), ())[0][0])
        self._watching = threading.Lock()  # the second session is used by whoever asks for progress
        self._watch = ReadSession(settings, name="hotplace progress")
        self._settings = settings
        self._limit = settings.move_timeout
        self._idle = threading.Event()
        self._idle.set()
        self._cursor_lives = threading.Lock()
        self._running: pyodbc.Cursor | None = None
        self._interrupted = False
        self._route: Route | None = None
        self._bytes_before: int | None = None

    def prepare(self, route: Route) -> None:
        """See that the route still fits the catalog, send the prologue, and note how full the target is."""
        self._route = route
        self._check_fresh(route)
        for statement in route.prologue:
            self._send(statement, f"preparing to move {route.bundle.key}", self._limit)
        self._bytes_before, _, _ = self._look(route)

    def execute(self, step: Step) -> None:
        """Run one step to its end."""
        self._interrupted = False
        self._idle.clear()
        try:
            self._send(step.sql, step.purpose, step.timeout_seconds or self._limit)
        finally:
            self._idle.set()

    def progress(self) -> Progress | None:
        """Bytes that the target has gained since ``prepare``: percent_complete stays 0 for index builds."""
        route = self._route
        if route is None or self._bytes_before is None or self._idle.is_set():
            return None
        used, waits_for, percent = self._look(route)
        if used is None:
            return None
        total = max(1, route.bundle.size_bytes)
        waiting = str(waits_for or "").startswith("LCK_")
        done = min(total, max(0, used - self._bytes_before))
        return Progress(
            done_bytes=max(done, round(total * percent / 100)),
            total_bytes=total,
            sentence=f"{'waiting for a lock' if waiting else 'building'}: {route.bundle.key} to {route.to_space}",
        )

    def interrupt(self) -> None:
        """Cancel the running step; a cancel that came before its statement is sent again until the step has ended."""
        self._interrupted = not self._idle.is_set()
        for _ in range(CANCEL_TRIES):
            if self._idle.is_set():
                return
            self._cancel()
            if self._idle.wait(CANCEL_EVERY_SECONDS):
                return

    def close(self) -> None:
        """End both sessions."""
        close_quietly(self._session)
        with self._watching:
            self._watch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_fresh(self, route: Route) -> None:
        with self._watching:
            definition = find(self._watch, name_of(route.bundle.key))
            server = Server(major=self._watch.major, edition=self._watch.edition)
        reason = outdated(definition, route, server, self._settings)
        if reason:
            raise StatementFailed(f"preparing to move {route.bundle.key}: {reason}", advice="Plan again.")

    def _send(self, statement: str, doing: str, limit_seconds: float) -> None:
        """One statement, its failures told apart; errors may come with any of its results."""
        self._session.timeout = whole_seconds(limit_seconds)  # holds for cursors made from now on
        cursor = self._session.cursor()
        with self._cursor_lives:
            self._running = cursor
        try:
            cursor.execute(statement)
            while cursor.nextset():
                pass
        except pyodbc.Error as error:
            raise self._failure(diagnose(error), doing, limit_seconds) from error
        finally:
            with self._cursor_lives:
                self._running = None
                _close_cursor(cursor)

    def _cancel(self) -> None:
        """Cancel what runs; the cursor must not be freed meanwhile, which would take the process down."""
        with self._cursor_lives:
            if self._running is None:
                return
            try:
                self._running.cancel()
            except pyodbc.Error as error:
                seen = diagnose(error)
                if not connection_broke(seen):
                    raise translate(seen, "cancelling the running step") from error

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

    def _gone(self) -> bool:
        """Whether the unit of the route is not there any more; the server has one number for that and for no right."""
        if self._route is None:
            return False
        try:
            with self._watching:
                found = find(self._watch, name_of(self._route.bundle.key))
        except ConnectorError:  # what failed is told all the same
            return False
        return found is None or found.index is None

    def _look(self, route: Route) -> tuple[int | None, str | None, float]:
        """Bytes used in the target (None: nobody can tell), what the session waits for, percent where it is told."""
        try:
            with self._watching:
                rows = self._watch.rows("progress", route.to_space, self._id, self._id, doing="looking at progress")
        except ConnectorError:  # a move must not fail because nobody can see how far it is
            return None, None, 0.0
        pages, waits_for, percent = rows[0]
        return (None if pages is None else int(pages) * PAGE), waits_for, float(percent or 0.0)


def _close_cursor(cursor: pyodbc.Cursor) -> None:
    """Close; with its session broken it is closed already."""
    try:
        cursor.close()
    except pyodbc.Error as error:
        seen = diagnose(error)
        if not connection_broke(seen) and seen.state != "HY000":
            raise
