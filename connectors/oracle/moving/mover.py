"""The one session that may change the database."""

from __future__ import annotations

import threading
from contextlib import suppress

from connectors.base import Clock, Closing, ConnectorError, Crowding, Interrupted, LockNotObtained, TimedOut, Unpausable
from connectors.formatting import format_seconds
from connectors.model import Progress, Route, Step
from connectors.oracle.moving.index_check import is_first_move, refuse_changed_indexes
from connectors.oracle.moving.queues import find_crowding
from connectors.oracle.moving.watcher import Verdict, Watcher
from connectors.oracle.reading.catalog import find_entries
from connectors.oracle.reading.facts import find_indexes, table_of
from connectors.oracle.routes import file_moves
from connectors.oracle.routes.statements import action_of
from connectors.oracle.session.driver import Driver, code_of
from connectors.oracle.session.errors import CALL_TIMED_OUT, CANCELLED, connection_broke, outcome_unknown, translate
from connectors.oracle.session.queries import query
from connectors.oracle.session.sessions import ReadSession, Row, end, open_connection
from connectors.oracle.settings import OracleSettings
from connectors.settings import MOVE_MARGIN_SECONDS, answer_seconds

POLL_SECONDS = 1.0
DAY_SECONDS = 86_400.0


class OracleMover(Closing, Unpausable):
    """Executes steps one by one; every DDL statement commits implicitly, before and after."""

    def __init__(self, driver: Driver, settings: OracleSettings, clock: Clock) -> None:
        """Open the session.

        Raises:
            CannotConnect: or AuthenticationFailed, as for any connection.
        """
        self._driver = driver
        self._settings = settings
        self._clock = clock
        self._connection = open_connection(driver, settings, action="move")
        self._watching = threading.Lock()  # the watcher and the caller of progress() share the second session
        self._watch = ReadSession(driver, settings, action="progress")
        self._watcher: Watcher | None = None
        self._route: Route | None = None
        self._me: Row | None = None

    def prepare(self, route: Route) -> None:
        """Name the session after the move, send the prologue."""
        self._route = route
        self._connection.action = action_of(route)
        for statement in route.prologue:
            self._send(statement, f"preparing to move {route.bundle.key}")
        self._me = self._who_am_i()

    def execute(self, step: Step) -> None:
        """Run one step to its end.

        Raises:
            LockNotObtained: others use the table, before the statement or while it waits for them.
            TimedOut: it ran longer than the step may.
        """
        # A data file moves under open transactions; only online DDL on a table or index waits for them.
        if self._route is not None and self._route.online and self._route.name != file_moves.NAME:
            self._wait_for_transactions(self._route)
        if self._route is not None and is_first_move(self._route, step):
            self._check_indexes(self._route)
        limit = step.timeout_seconds
        # The driver's own limit comes later than ours: its time-out tells nothing for sure.
        longest = answer_seconds(limit or self._settings.move_timeout, MOVE_MARGIN_SECONDS)
        self._driver.limit_calls(self._connection, longest)
        watcher = Watcher(
            clock=self._clock,
            limit_seconds=limit,
            longest_wait=self._settings.online_lock_timeout,
            seconds_blocked=self._seconds_blocked,
            cancel=self._cancel,
        )
        self._watcher = watcher
        try:
            with watcher:
                self._send(step.sql, step.purpose, watcher)
        finally:
            self._watcher = None
            if watcher.verdict is not Verdict.NONE:
                self._absorb_late_break()

    def progress(self) -> Progress | None:
        """From V$SESSION_LONGOPS, which lists operations of more than six seconds; each counts from zero again."""
        route, watcher = self._route, self._watcher
        if route is None or watcher is None:
            return None
        found = self._look("progress")
        if not found or not found[0][2]:
            return None
        name, done, total = found[0]
        size = max(1, route.bundle.size_bytes)
        return Progress(
            done_bytes=min(size, round(size * int(done) / int(total))),
            total_bytes=size,
            sentence=f"{name}: {route.bundle.key} to {route.to_space}",
        )

    def crowding(self) -> Crowding:
        """See ``queues``; over the second session."""
        with self._watching:
            return find_crowding(self._watch, self._settings)

    def interrupt(self) -> None:
        """Cancel the running step; the watcher repeats the break until the statement has ended."""
        watcher = self._watcher
        if watcher is not None:
            watcher.stop(Verdict.ASKED)

    def close(self) -> None:
        """End both sessions."""
        end(self._driver, self._connection)
        with self._watching:
            self._watch.close()

    def _send(self, statement: str, doing: str, watcher: Watcher | None = None) -> None:
        """Execute one statement and translate its error."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement)
        except self._driver.error as error:
            raise _failure(error, doing, watcher.verdict if watcher else Verdict.NONE) from error

    def _absorb_late_break(self) -> None:
        """A break that came after the end of its statement would hit the next one: let it hit a ping."""
        with suppress(self._driver.error):
            self._driver.limit_calls(self._connection, self._settings.statement_timeout)
            self._connection.ping()

    def _cancel(self) -> None:
        with suppress(self._driver.error):  # a session that is gone has nothing to cancel; execute() tells
            self._connection.cancel()

    def _check_indexes(self, route: Route) -> None:
        """Raises StatementFailed where the move would repair what it has not broken, or break what nothing repairs."""
        lead = find_entries(self._watch, route.bundle.physical_ids[:1]).get(route.bundle.physical_ids[0])
        if lead is not None:  # else the statement itself will say that it is gone
            whose = table_of(self._watch, lead)
            refuse_changed_indexes(route, find_indexes(self._watch, whose.owner, whose.table))

    def _wait_for_transactions(self, route: Route) -> None:
        """Do not even begin while others have long transactions on the table: the statement would hang behind them.

        Short ones end while it waits: it heeds those that are open as it starts, and no later ones.
        """
        lead = find_entries(self._watch, route.bundle.physical_ids[:1]).get(route.bundle.physical_ids[0])
        if lead is None:
            return  # the statement itself will say that it is gone
        whose = table_of(self._watch, lead)
        # An index is rebuilt under a lock on its whole table, so transactions on any partition count.
        part = None if lead.type.startswith("INDEX") else whose.part
        values = {
            "owner": whose.owner,
            "name": whose.table,
            "part": part,
            "days": self._settings.online_lock_timeout / DAY_SECONDS,
        }
        until = self._clock.monotonic() + self._settings.online_lock_timeout
        # By a query and not by DDL_LOCK_TIMEOUT: that limits what waits for a lock, and online DDL waits for
        # transactions without any limit.
        while self._watch.rows(query("blockers"), values, doing="looking for open transactions")[0][0]:
            if self._clock.monotonic() >= until:
                raise LockNotObtained(
                    f"moving {route.bundle.key}: transactions on {whose.owner}.{whose.table} have been open for more "
                    f"than {format_seconds(self._settings.online_lock_timeout)}",
                    advice="Wait for them to end; an online move waits for each that is open as it starts.",
                )
            self._clock.sleep(POLL_SECONDS)

    def _who_am_i(self) -> Row | None:
        """SID, serial number and instance of the moving session; None where this login may not look."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(query("own_session"))
                return cursor.fetchone()
        except self._driver.error as error:
            if connection_broke(error):
                raise translate(error, "asking who the session is") from error
            return None

    def _seconds_blocked(self) -> float:
        found = self._look("waiting")
        return float(found[0][1] or 0) if found and found[0][2] is not None else 0.0

    def _look(self, name: str) -> list[Row]:
        """What the second session sees of the first; nothing where it may not, which must not fail a move."""
        if self._me is None:
            return []
        values = dict(zip(("sid", "serial", "inst"), self._me, strict=True))
        try:
            with self._watching:
                return self._watch.rows(query(name), values, doing="looking at the running move")
        except ConnectorError:
            return []


def _failure(error: Exception, doing: str, verdict: Verdict) -> ConnectorError:
    """Distinguish our own cancel, a cancel by another session, and a broken session."""
    code = code_of(error)
    # The driver's own time-out breaks the call on this side only: the server may have finished the statement all the
    # same.
    if connection_broke(error) or code in CALL_TIMED_OUT:
        return outcome_unknown(error, doing)
    if code != CANCELLED:
        return translate(error, doing)
    if verdict is Verdict.BLOCKED:
        return LockNotObtained(
            f"{doing}: cancelled, {verdict.value}", advice="It is tried again later.", native_code=code
        )
    if verdict is Verdict.LATE:
        return TimedOut(
            f"{doing}: cancelled, {verdict.value}",
            advice="Raise move_timeout, or move it when the disks are less busy.",
            native_code=code,
        )
    return Interrupted(f"{doing}: cancelled {verdict.value}", native_code=code)
