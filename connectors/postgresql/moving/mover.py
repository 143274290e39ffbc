"""The one session that may change the database."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from contextlib import suppress

import psycopg
from psycopg import sql

from connectors.base import Clock, Closing, ConnectorError, ForegroundReads, Interrupted, StatementFailed, Unpausable
from connectors.model import Progress, Route, Step
from connectors.postgresql.moving.blockers import find_blockers
from connectors.postgresql.moving.takeover import MOVING
from connectors.postgresql.reading.foreground import read_foreground
from connectors.postgresql.reading.replication import find_laggard, read_replication
from connectors.postgresql.reading.wal import MIB, find_full_log
from connectors.postgresql.routes.available import done_ratios
from connectors.postgresql.routes.close import REOPEN_STEP
from connectors.postgresql.routes.moved_rows import COUNTED
from connectors.postgresql.routes.split import MOVE_STEP, REJOIN_STEP
from connectors.postgresql.session.errors import (
    QUERY_CANCELED,
    cancellation_error,
    connection_broke,
    outcome_unknown,
    translate,
)
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import OF_QUERIES, ReadSession, Row, milliseconds, open_connection
from connectors.postgresql.settings import PostgresqlSettings
from connectors.settings import MOVE_MARGIN_SECONDS, answer_seconds

BLOCKERS_NAMED = 5
LOOK_AT_LOG_EVERY_SECONDS = 5.0
UNSEEN: Row = (None, None, None, False, ())
CANCEL_TRIES, CANCEL_EVERY_SECONDS, CANCEL_TIMEOUT_SECONDS = 20, 0.25, 5.0


class PostgresqlMover(Closing, Unpausable):
    """Executes steps in autocommit; each statement is its own transaction, as REINDEX CONCURRENTLY demands."""

    def __init__(self, settings: PostgresqlSettings, clock: Clock) -> None:
        """Open the session.

        Raises:
            CannotConnect: or AuthenticationFailed, as for any connection.
        """
        self._clock = clock
        self._settings = settings
        self._session = open_connection(
            settings,
            name=MOVING,
            options={
                **OF_QUERIES,
                "lock_timeout": milliseconds(settings.lock_timeout),
                "statement_timeout": milliseconds(settings.move_timeout),
            },
        )
        self._pid = self._session.info.backend_pid
        self._watching = threading.Lock()  # the second session serves the threads that ask for progress
        # A session of its own: the one that moves is busy with its statement and answers nothing until that ends.
        self._watch = ReadSession(settings, name="hotplace progress")
        self._idle = threading.Event()
        self._idle.set()
        self._interrupted = False
        self._given_up = ""  # why the running step was cancelled for the sake of others
        self._looked_at = -math.inf  # at standbys and slots, by the monotonic clock
        self._route: Route | None = None
        self._bytes_before: int | None = None

    def prepare(self, route: Route) -> None:
        """Send the prologue and note how full the target is."""
        self._route = route
        for statement in self._prologue(route):
            self._send(statement, f"preparing to move {route.bundle.key}", 0.0)
        self._bytes_before, *_ = self._look(route)

    def _prologue(self, route: Route) -> tuple[str, ...]:
        """The patient one where only background work that gives way is in the way."""
        if not route.patient_prologue:
            return route.prologue
        with self._watching:
            found = find_blockers(self._watch, route, self._settings)
        return route.patient_prologue if found and all(each.gives_way for each in found) else route.prologue

    def execute(self, step: Step) -> None:
        """Run one step to its end."""
        _refuse_uncounted(step)
        self._interrupted, self._given_up = False, ""
        self._idle.clear()
        try:
            # In the session and not as SET LOCAL: REINDEX CONCURRENTLY must not run in a transaction.
            if step.timeout_seconds:
                limit = sql.SQL("SET statement_timeout = {}").format(milliseconds(step.timeout_seconds))
                self._send(limit.as_string(None), step.purpose, 0.0)
            self._send(step.sql, step.purpose, step.timeout_seconds)
        finally:
            self._idle.set()

    def progress(self) -> Progress | None:
        """Bytes that the target has gained since ``prepare``: other writers there are counted too.

        Where a standby or slot has fallen too far behind meanwhile, or the log takes too much, the step is cancelled.
        """
        route = self._route
        if route is None or self._idle.is_set():
            return None
        self._spare_others()
        if self._bytes_before is None:
            return None
        used, phase, share, waits, blockers = self._look(route)
        if used is None:
            return None
        total = max(1, route.bundle.size_bytes)
        doing = waiting_for(blockers) if waits else phase or "copying"
        return Progress(
            done_bytes=min(total, max(0, used - self._bytes_before)),
            total_bytes=total,
            sentence=f"{doing}: {route.bundle.key} to {route.to_space}",
            done_ratios=() if phase is None else done_ratios(phase, share or 0.0),
        )

    def foreground_reads(self) -> ForegroundReads | None:
        """Reads of client sessions, over the second session."""
        with self._watching:
            return read_foreground(self._watch)

    def interrupt(self) -> None:
        """Cancel the running step; a cancel that came before its statement is sent again until the step has ended."""
        if self._idle.is_set():
            return
        self._interrupted = True
        # Again and again, because the server drops a cancel that arrives between two statements, and the move would go
        # on.
        for _ in range(CANCEL_TRIES):
            try:
                self._session.cancel_safe(timeout=CANCEL_TIMEOUT_SECONDS)
            except psycopg.Error as error:
                if self._session.closed:
                    return
                raise translate(error, "cancelling the running step") from error
            if self._idle.wait(CANCEL_EVERY_SECONDS):
                return

    def _spare_others(self) -> None:
        """Cancel the running step where a standby or slot is too far behind or the log too full; looks now and then."""
        now = self._clock.monotonic()
        if now - self._looked_at < LOOK_AT_LOG_EVERY_SECONDS:
            return
        self._looked_at = now
        with suppress(ConnectorError), self._watching:  # a move must not fail because this cannot be read
            self._given_up = self._too_much_log()
        if self._given_up:
            self.interrupt()

    def _too_much_log(self) -> str:
        """Why what runs writes more of the log than others can bear, in words; "" where it does not."""
        settings = self._settings
        most = settings.replica_queue_abort_mib
        if behind := find_laggard(read_replication(self._watch), most * MIB):
            return f"{behind} (replica_queue_abort_mib: {most})"
        return find_full_log(self._watch, "wal_abort_mib", settings.wal_abort_mib, login=settings.user)

    def close(self) -> None:
        """End both sessions."""
        self._session.close()
        with self._watching:
            self._watch.close()

    def _send(self, statement: str, doing: str, limit_seconds: float) -> None:
        """Send one statement; each kind of failure becomes its own error."""
        started = self._clock.monotonic()
        limit = limit_seconds or self._settings.move_timeout
        self._session.patience_seconds = answer_seconds(limit, MOVE_MARGIN_SECONDS)
        try:
            self._session.execute(statement.encode())
        except psycopg.Error as error:
            raise self._failure(error, doing, self._clock.monotonic() - started, limit_seconds) from error

    def _failure(self, error: psycopg.Error, doing: str, after: float, limit: float) -> ConnectorError:
        if connection_broke(error, self._session):
            return outcome_unknown(error, doing)
        if error.sqlstate == QUERY_CANCELED and self._given_up:
            advice = "It is tried again once the log is shorter."
            return Interrupted(f"{doing}: given up, {self._given_up}", advice=advice, native_code=QUERY_CANCELED)
        if error.sqlstate == QUERY_CANCELED:
            return cancellation_error(doing, by_us=self._interrupted, after_seconds=after, limit_seconds=limit)
        return translate(error, doing)

    def _look(self, route: Route) -> Row:
        """Bytes in the target (None: unknown), phase of a build and its share, whether it waits and for whom."""
        values = {"pid": self._pid, "space": route.to_space}
        try:
            with self._watching:
                rows = self._watch.rows(query("progress"), values, doing="looking at progress")
        except ConnectorError:  # a move must not fail because its progress cannot be read
            return UNSEEN
        return rows[0] if rows else UNSEEN


def waiting_for(blockers: Sequence[int]) -> str:
    """What a statement waits for, by the processes of the server that hold it up; a few of them are named.

    >>> waiting_for([17, 4])
    'waiting for a lock that processes 17, 4 hold'
    """
    if not blockers:
        return "waiting for a lock"
    named = ", ".join(map(str, blockers[:BLOCKERS_NAMED])) + (", ..." if len(blockers) > BLOCKERS_NAMED else "")
    return f"waiting for a lock that {f'process {named} holds' if len(blockers) == 1 else f'processes {named} hold'}"


def _refuse_uncounted(step: Step) -> None:
    """What moves rows without comparing them, as earlier versions wrote it, is not sent."""
    operation = step.operation
    moves = operation is not None and operation.name in {MOVE_STEP, REJOIN_STEP, REOPEN_STEP}
    if operation is not None and moves and not operation.parameters.get(COUNTED):
        raise StatementFailed(
            f"{step.purpose}: it was written by a version that did not compare the rows which it moves",
            advice="Plan it again. A way back is taken by hand: count the rows of both parts before one is dropped.",
        )
