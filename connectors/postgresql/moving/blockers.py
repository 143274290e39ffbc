"""Whom a statement of a move would wait for, seen before it is sent: old transactions, autovacuum, standbys.

A statement that waits costs others: a request for ACCESS EXCLUSIVE makes all later readers queue, and a REINDEX
CONCURRENTLY that gives up leaves an index behind. So a try begins only while no old transaction is in its way. A young
one is no obstacle: most transactions end soon, and a busy table always has some. What a copy logs has to be replayed by
standbys and kept for slots: where one is far behind already, a copy waits too.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from connectors.formatting import format_seconds
from connectors.model import Blocker, Route
from connectors.move_effects import Locked
from connectors.postgresql.moving.relation import Relation, find_relation
from connectors.postgresql.reading.replication import Replication, find_laggard, prolonging, read_replication
from connectors.postgresql.reading.wal import MIB, find_full_log
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ReadSession
from connectors.postgresql.settings import PostgresqlSettings

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
        "snapshots": online and not tidying,
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
    holds = f"holds {found.modes} on it" if found.modes else "holds an old snapshot"
    does = f"{found.state or 'in a transaction'}{f' ({found.command})' if found.command else ''}"
    return Blocker(sentence=f"{_who(found)}: {does}{_since(found)}, {holds}")


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
