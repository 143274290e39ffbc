"""The one session that may change the database, what watches it, and what its redo makes others wait for.

Watches one running statement from a second session, and stops it when it waits or runs too long.

Online DDL waits for every open transaction on its table, whatever DDL_LOCK_TIMEOUT says; and a client's own time-out
leaves it unknown what the server did. So the statement is cancelled from here, which the server confirms (ORA-01013).

Redo of a move goes to the standbys of Data Guard, and into the recovery area.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from math import nan
from types import TracebackType
from typing import Self

from connectors.kit.contract import (
    Clock,
    Closing,
    ConnectorError,
    Crowding,
    Interrupted,
    LockNotObtained,
    ObjectGone,
    PrivilegeMissing,
    TimedOut,
    Unpausable,
)
from connectors.kit.sessions import of_followers, of_log, worst
from connectors.kit.settings import MOVE_MARGIN_SECONDS, answer_seconds
from connectors.model.formatting import format_seconds
from connectors.model.moves import Route, Step
from connectors.model.new_space import makes_or_drops_space
from connectors.model.observation import Progress
from connectors.oracle import file_moves
from connectors.oracle.catalog import find_entries
from connectors.oracle.driver import (
    CALL_TIMED_OUT,
    CANCELLED,
    Driver,
    code_of,
    connection_broke,
    outcome_unknown,
    translate,
)
from connectors.oracle.facts import find_indexes, table_of
from connectors.oracle.operations import action_of
from connectors.oracle.sessions import ReadSession, Row, end, open_connection, query
from connectors.oracle.settings import OracleSettings
from connectors.oracle.side_effects import is_first_move, refuse_changed_indexes

LOOK_EVERY_SECONDS = 2.0  # each look is a query
BREAK_EVERY_SECONDS = 0.5


class WatchVerdict(Enum):
    """Why a statement was cancelled."""

    NONE = "not by us"
    ASKED = "on request"
    BLOCKED = "it waited for another session"
    LATE = "it ran out of time"


class Watcher:
    """A thread that lives as long as the ``with`` block around the statement."""

    def __init__(
        self,
        *,
        clock: Clock,
        limit_seconds: float,
        longest_wait: float,
        seconds_blocked: Callable[[], float],
        cancel: Callable[[], None],
    ) -> None:
        """Nothing starts yet.

        Args:
            clock: measures the limit.
            limit_seconds: of the statement; 0: none.
            longest_wait: how long it may be blocked by another session.
            seconds_blocked: how long it has been, 0 when it is not.
            cancel: breaks the statement.
        """
        self.verdict = WatchVerdict.NONE
        self._clock = clock
        self._limit = limit_seconds
        self._longest_wait = longest_wait
        self._seconds_blocked = seconds_blocked
        self._cancel = cancel
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="hotplace watcher", daemon=True)

    def __enter__(self) -> Self:
        self._began = self._clock.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def stop(self, verdict: WatchVerdict) -> None:
        """Break the statement; again and again until it has ended, because a break may come before its statement."""
        # The first reason stays: a statement cancelled on request may run out of time while it rolls back.
        if self.verdict is WatchVerdict.NONE and verdict is not WatchVerdict.NONE:
            self.verdict = verdict
            self._cancel()

    def _watch(self) -> None:
        while not self._ended.wait(self._pause()):
            if self.verdict is WatchVerdict.NONE:
                self.stop(self._judge())
            else:
                self._cancel()

    def _pause(self) -> float:
        """Until the next look, the deadline, or the next break."""
        if self.verdict is not WatchVerdict.NONE:
            return BREAK_EVERY_SECONDS
        left = self._limit - (self._clock.monotonic() - self._began) if self._limit else LOOK_EVERY_SECONDS
        return min(LOOK_EVERY_SECONDS, max(BREAK_EVERY_SECONDS, left))

    def _judge(self) -> WatchVerdict:
        if self._limit and self._clock.monotonic() - self._began > self._limit:
            return WatchVerdict.LATE
        return WatchVerdict.BLOCKED if self._seconds_blocked() > self._longest_wait else WatchVerdict.NONE


LOCAL = "LOCAL"


def find_crowding(session: ReadSession, settings: OracleSettings) -> Crowding:
    """The standby that is furthest behind, and how full the recovery area is; nothing where this login may not look.

    Raises:
        ConnectorError: the server did not answer.
    """
    return worst(
        of_followers(
            "a standby",
            _behind(_rows(session, "destinations", "looking at standbys")),
            settings.replica_queue_mib,
            settings.replica_queue_abort_mib,
        ),
        of_log(
            "the recovery area",
            max((_full(*row) for row in _rows(session, "recovery_area", "looking at the recovery area")), default=nan),
            settings.log_used_percent,
            settings.log_used_abort_percent,
        ),
    )


def _rows(session: ReadSession, name: str, doing: str) -> list[Row]:
    try:
        return session.rows(query(name), doing=doing)
    except (ObjectGone, PrivilegeMissing):  # a view without the grant is as if it were not there
        return []


def _behind(destinations: list[Row]) -> float:
    """Bytes of archived logs that a standby has not applied. The log that is written now is in no queue yet."""
    archived = max((int(last or 0) for _, kind, last, _, _ in destinations if kind == LOCAL), default=0)
    return max(
        (
            (archived - int(applied or 0)) * float(size or 0)
            for _, kind, _, applied, size in destinations
            if kind != LOCAL
        ),
        default=0.0,
    )


def _full(limit: float, used: float, reclaimable: float) -> float:
    return (float(used) - float(reclaimable)) / float(limit) if limit else 0.0


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
        if self._route is not None and self._route.online and not _without_tables(self._route):
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
            if watcher.verdict is not WatchVerdict.NONE:
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
            watcher.stop(WatchVerdict.ASKED)

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
            raise _failure(error, doing, watcher.verdict if watcher else WatchVerdict.NONE) from error

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


def _without_tables(route: Route) -> bool:
    """Whether no table or index is locked: data files move under open transactions, and a new space has none."""
    return route.name == file_moves.NAME or makes_or_drops_space(route)


def _failure(error: Exception, doing: str, verdict: WatchVerdict) -> ConnectorError:
    """Distinguish our own cancel, a cancel by another session, and a broken session."""
    code = code_of(error)
    # The driver's own time-out breaks the call on this side only: the server may have finished the statement all the
    # same.
    if connection_broke(error) or code in CALL_TIMED_OUT:
        return outcome_unknown(error, doing)
    if code != CANCELLED:
        return translate(error, doing)
    if verdict is WatchVerdict.BLOCKED:
        return LockNotObtained(
            f"{doing}: cancelled, {verdict.value}", advice="It is tried again later.", native_code=code
        )
    if verdict is WatchVerdict.LATE:
        return TimedOut(
            f"{doing}: cancelled, {verdict.value}",
            advice="Raise move_timeout, or move it when the disks are less busy.",
            native_code=code,
        )
    return Interrupted(f"{doing}: cancelled {verdict.value}", native_code=code)
