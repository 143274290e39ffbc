"""The one session that may change the database, and whom its statements would wait for.

Whom a statement of a move would wait for, seen before it is sent: old transactions, autovacuum, standbys.

A statement that waits costs others: a request for ACCESS EXCLUSIVE makes all later readers queue, and a REINDEX
CONCURRENTLY that gives up leaves an index behind. So a try begins only while no old transaction is in its way. A young
one is no obstacle: most transactions end soon, and a busy table always has some. What a copy logs has to be replayed by
standbys and kept for slots: where one is far behind already, a copy waits too.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg import sql

from connectors.kit.contract import (
    Clock,
    Closing,
    ConnectorError,
    ForegroundReads,
    Interrupted,
    PrivilegeMissing,
    StatementFailed,
    Unpausable,
)
from connectors.kit.settings import MOVE_MARGIN_SECONDS, answer_seconds
from connectors.model.formatting import format_seconds
from connectors.model.moves import CLOSE, REJOIN, REOPEN, SPLIT, Locked, Route, Step
from connectors.model.new_space import makes_or_drops_space
from connectors.model.observation import Blocker, Progress
from connectors.postgresql.catalog import Relation, find_relation
from connectors.postgresql.close import REOPEN_STEP
from connectors.postgresql.errors import (
    QUERY_CANCELED,
    cancellation_error,
    connection_broke,
    outcome_unknown,
    translate,
)
from connectors.postgresql.lease import MOVING
from connectors.postgresql.replication import (
    MIB,
    Replication,
    find_full_log,
    find_laggard,
    prolonging,
    read_replication,
)
from connectors.postgresql.rights import read_only_reason
from connectors.postgresql.routes import done_ratios, with_identity_check
from connectors.postgresql.sampler import read_foreground
from connectors.postgresql.sessions import OF_QUERIES, ReadSession, Row, milliseconds, open_connection, query
from connectors.postgresql.settings import PostgresqlSettings
from connectors.postgresql.split import MEND_STEP, MOVE_STEP, REJOIN_STEP, moves_rows
from connectors.postgresql.split_block import COUNTED

# Routes that lock the whole with all its parts, and, as they remake foreign keys, the tables that these name.
OF_PARTS = {SPLIT, REJOIN, CLOSE, REOPEN}
ACTIVE = "active"  # pg_stat_activity.state
COUNTS_AT_ONCE = 15_00_00  # the first version whose counters others can read at once
COUNTED_AFTER_SECONDS = 0.6
OLD_SHARE = 0.25  # of online_lock_timeout: an older transaction is not expected to end in time


@dataclass(frozen=True, slots=True)
class _Transaction:
    """A row of ``sql/blockers.sql``, in its order."""

    pid: int  # 0: prepared
    application: str
    login: str
    client: str
    state: str
    since: datetime | None
    seconds: float | None
    autovacuum: bool
    wraparound: bool
    prepared: str  # its global id; "": it is not prepared
    modes: str  # of its locks on the relation; "": it only holds a snapshot
    command: str  # first word of the statement that it runs or ran last; "": none
    held: str  # another relation that the locks are on: the whole, a part of it, or one that it refers to; "": itself


def find_blockers(
    session: ReadSession, route: Route, settings: PostgresqlSettings, *, tidying: bool = False
) -> tuple[Blocker, ...]:
    """Sessions that the statements of a route would wait for, by the present locks.

    Args:
        session: to ask over.
        route: what would be sent.
        settings: how long its statements may wait, and whether a standby may prolong them.
        tidying: the tidy steps would be sent, not the steps.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if makes_or_drops_space(route):  # no table is locked
        return ()
    relation = find_relation(session, route.bundle.key, route.to_space)
    if relation is None:
        return ()
    found = [
        _blocker(each, relation, route, settings)
        for each in _transactions(session, relation, route, settings, tidying=tidying)
    ]
    # A standby replays ACCESS EXCLUSIVE only; an online rebuild and what drops a leftover take locks that its readers
    # never meet.
    if not tidying:
        found += _standbys(read_replication(session), route, settings)
        if full := find_full_log(session, "wal_mib", settings.wal_mib, login=settings.user):
            found.append(Blocker(sentence=full))
    return tuple(found)


def _longest_wait(route: Route, settings: PostgresqlSettings) -> float:
    """Seconds for which a statement of that route waits for a lock, with its patient prologue if it has one."""
    if route.online and route.locked is not Locked.BRIEFLY:
        return settings.online_lock_timeout
    return route.lock_seconds if route.patient_prologue else settings.lock_timeout


def _transactions(
    session: ReadSession, relation: Relation, route: Route, settings: PostgresqlSettings, *, tidying: bool
) -> list[_Transaction]:
    # A split takes the table itself for a moment, at its begin and at its end.
    online = (tidying or route.online) and route.locked is not Locked.BRIEFLY
    values = {
        # An online rebuild waits for everybody who uses the table, a copy of an index only for those who use the index
        # itself.
        "relation": relation.table_oid if online else relation.oid,
        # So does what removes the dead rows that a split has left: it would find all of them in use.
        "snapshots": (online and not tidying) or (tidying and moves_rows(route)),
        # What tidies up locks the part alone: a constraint that refuses rows does not stay because others are in use.
        "parts": route.name in OF_PARTS and not tidying,
        "older": OLD_SHARE * settings.online_lock_timeout if online else settings.lock_timeout,
    }
    rows = session.rows(query("blockers"), values, doing=f"looking at who uses {route.bundle.key}")
    return [_Transaction(*row) for row in rows]


def _blocker(found: _Transaction, relation: Relation, route: Route, settings: PostgresqlSettings) -> Blocker:
    if found.autovacuum:
        # The server cancels autovacuum for a session only once that has waited for deadlock_timeout: a statement that
        # gives up earlier never gets it to give way.
        patient = _longest_wait(route, settings) > relation.deadlock_seconds
        why = " to prevent wraparound, which gives way to nothing" if found.wraparound else ""
        sentence = f"autovacuum (process {found.pid}){_since(found)}{why}"
        return Blocker(sentence=sentence, gives_way=patient and not found.wraparound)
    # Under a steady load some session always uses the table, and each leaves it soon. Who is at work and came within
    # the patient wait is expected to go within it; without that a busy table would never be tried. Who sits idle in a
    # transaction waits for a person or a program, and says nothing of when.
    young = found.seconds is not None and found.seconds <= _longest_wait(route, settings)
    ends = bool(route.patient_prologue) and young and found.state == ACTIVE
    holds = f"holds {found.modes} on {found.held or 'it'}" if found.modes else "holds an old snapshot"
    does = f"{found.state or 'in a transaction'}{f' ({found.command})' if found.command else ''}"
    return Blocker(sentence=f"{_who(found)}: {does}{_since(found)}, {holds}", gives_way=ends)


def _who(found: _Transaction) -> str:
    if found.prepared:
        return f"prepared transaction {found.prepared!r} of {found.login}"
    names = ", ".join(filter(None, (found.application, found.login and f"user {found.login}", found.client)))
    return f"process {found.pid} ({names})"


def _since(found: _Transaction) -> str:
    if found.since is None or found.seconds is None:
        return ""
    return f" since {found.since:%F %T %Z} ({format_seconds(found.seconds)})"


def _standbys(replication: Replication, route: Route, settings: PostgresqlSettings) -> list[Blocker]:
    """Those that would prolong the lock, and those that are too far behind already for the log of a copy."""
    allowed = settings.allow_moves_with_remote_apply or route.locked is not Locked.ALL
    prolongs = "" if allowed else prolonging(replication)
    behind = find_laggard(replication, settings.replica_queue_mib * MIB)
    lags = f"{behind} (replica_queue_mib: {settings.replica_queue_mib})" if behind else ""
    return [Blocker(sentence=sentence) for sentence in (prolongs, lags) if sentence]


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
        """Send the prologue and note how full the target is.

        Raises:
            PrivilegeMissing: sessions of this account cannot write. Some statements could be sent all the same: a
                rebuild, but nothing else of its group.
            ConnectorError: another subclass, as ``execute``.
        """
        self._route = route
        with self._watching:
            read_only = read_only_reason(self._watch)
        if read_only:
            raise PrivilegeMissing(f"nothing was sent: {read_only}", advice="Then plan it again.")
        for statement in self._prologue(route):
            self._send(statement, f"preparing to move {route.bundle.key}", 0.0)
        self._bytes_before, *_ = self._look(route)

    def _prologue(self, route: Route) -> tuple[str, ...]:
        """The patient one where all that is in the way gives way within that time."""
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
            self._let_count(step)
            self._send(self._text_of(step), step.purpose, step.timeout_seconds)
            self._let_count(step)
        finally:
            self._idle.set()

    def _text_of(self, step: Step) -> str:
        """What is sent: the statement, with a check of what it has locked where a transaction allows that."""
        return step.sql if self._route is None else with_identity_check(self._route, step)

    def _let_count(self, step: Step) -> None:
        """Let counters of dead rows come in before what removes these is sent, and again before others look at it.

        Until 14 a session reports what it has done every half a second, at the end of a statement, and what others read
        is as old. Rows that are reported after VACUUM has removed them would count as dead until the next one.
        """
        if step.operation is None or step.operation.name != MEND_STEP:
            return
        if self._session.info.server_version < COUNTS_AT_ONCE:
            for _ in range(2):
                self._clock.sleep(COUNTED_AFTER_SECONDS)
                self._send("SELECT 1", "letting the server count", 0.0)

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
