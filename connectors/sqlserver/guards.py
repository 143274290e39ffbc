"""Reasons not to start a move now: paused builds, the log, replicas, and transactions in the way.

``LogRoom`` is what is free in the transaction log, what its files can really grow by, and what holds the rest.

``find_crowding`` tells how far the replicas of an availability group lag: a move floods the log, and they receive all
of it.

``find_blockers`` names, before a statement is sent, the long-open transactions that its locks would wait for. A build
that has copied for hours asks for its last lock at the end, and gives up if it does not get it. Young transactions are
no obstacle: most end soon, and a busy table always has some.

``lacking_rights`` names the permissions that the login lacks for a route.

``operations`` lists the resumable index builds that the server holds, running or paused by a user, a failure or a
restart. ``against`` gives the reason not to start now, if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from connectors.kit.contract import Crowding, ObjectGone, PrivilegeMissing, StatementFailed
from connectors.kit.sessions import of_followers
from connectors.model.formatting import format_bytes, format_seconds
from connectors.model.moves import NoRoute, Route
from connectors.model.observation import Blocker
from connectors.sqlserver.ddl import quoted_table
from connectors.sqlserver.definition import Definition, find
from connectors.sqlserver.keys import Name, name_of, quote
from connectors.sqlserver.operations import (
    ADD_FILE,
    ADD_FILEGROUP,
    CREATE_FUNCTION,
    CREATE_SCHEME,
    CREATE_TABLE,
    DROP_FUNCTION,
    DROP_SCHEME,
    EMPTY_FILE,
    EXCHANGE,
    FIRST_FILE,
    GROW_FILE,
    LAST_FILE,
    MOVE_EMPTY,
    REMOVE_FILE,
    REMOVE_FILEGROUP,
    SPLIT_RANGE,
    SWITCH_BACK,
    resumable_index,
)
from connectors.sqlserver.sessions import ReadSession, Row
from connectors.sqlserver.settings import SqlserverSettings

NOTHING = "NOTHING"
OF_SPACES = frozenset({CREATE_FUNCTION, CREATE_SCHEME, DROP_FUNCTION, DROP_SCHEME})
ALSO_OF_SPACES = frozenset({EXCHANGE, MOVE_EMPTY, SPLIT_RANGE, SWITCH_BACK})  # of a table, and of its scheme
OF_FILES = frozenset(
    {ADD_FILE, ADD_FILEGROUP, EMPTY_FILE, FIRST_FILE, GROW_FILE, LAST_FILE, REMOVE_FILE, REMOVE_FILEGROUP}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRoom:
    """The log of one database.

    Attributes:
        total: its bytes.
        used: of them.
        growth: bytes that its files may still grow by, and their volumes have; None: without a limit that can be seen.
        recovery_model: FULL, BULK_LOGGED or SIMPLE.
        held_by: why what is used cannot be used again, as the server names it; NOTHING: it can.
    """

    total: int
    used: int
    growth: int | None
    recovery_model: str
    held_by: str

    @property
    def room(self) -> int | None:
        """Bytes that can be written before anything of it is used again; None: not known."""
        return None if self.growth is None else self.total - self.used + self.growth


def read_log_room(session: ReadSession) -> LogRoom | None:
    """None where the server tells nothing.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    doing = "looking at the log"
    rows = session.rows("log_space", doing=doing)
    if not rows:
        return None
    total, used, growth, unlimited = rows[0]
    allowed = None if unlimited or growth is None else int(growth)
    volumes = _free_on_volumes(session)
    growing = (allowed is None or allowed > 0) and volumes is not None
    model, held_by = session.rows("log_reuse", doing=doing)[0]
    return LogRoom(
        total=int(total),
        used=int(used),
        growth=min(volumes or 0, allowed if allowed is not None else volumes or 0) if growing else allowed,
        recovery_model=str(model),
        held_by=str(held_by),
    )


def tempdb_room(session: ReadSession) -> int | None:
    """Bytes on all volumes that data files of tempdb lie on; None where this cannot be known.

    Raises:
        ConnectorError: the server did not answer.
    """
    return _free_on_volumes(session, "tempdb_room")


def _free_on_volumes(session: ReadSession, query: str = "log_volume") -> int | None:
    """Bytes on all volumes of a query's files, no volume twice; None where this cannot be known."""
    try:
        rows = session.rows(query, doing="looking at volumes")
    except (ObjectGone, PrivilegeMissing, StatementFailed):
        return None
    return free_on_volumes(rows)


def free_on_volumes(rows: Sequence[Row]) -> int | None:
    """Of rows of ``sql/tempdb_room.sql`` or ``sql/log_volume.sql``; None where a row does not say."""
    # By volume: several files on one disk share its free bytes. Linux names no volume, so all files there may lie on
    # one: the largest figure is what is free at least.
    if not rows or any(available is None for _, _, available in rows):
        return None
    free: dict[str, int] = {}
    for _, mount, available in rows:
        free[str(mount or "")] = max(int(available), free.get(str(mount or ""), 0))
    return sum(free.values())


def find_crowding(session: ReadSession, settings: SqlserverSettings) -> Crowding:
    """The replica that is furthest behind, against both limits; nothing where this login may not look.

    Raises:
        ConnectorError: the server did not answer.
    """
    try:
        rows = session.rows("replicas", doing="looking at replicas")
    except PrivilegeMissing:
        return Crowding()
    behind = max(
        (max(sending or 0, redoing or 0) * KIB for local, _, sending, redoing, _ in rows if not local), default=0
    )
    return of_followers(
        "a replica of this database", behind, settings.replica_queue_mib, settings.replica_queue_abort_mib
    )


LONG_SECONDS = 60  # a transaction as old as that is not expected to end while a move waits for it


def find_blockers(session: ReadSession, route: Route) -> tuple[Blocker, ...]:
    """Sessions with an old transaction and a lock on the table; () where this login may not look.

    Raises:
        ConnectorError: the server did not answer.
    """
    if route.bundle.container or not route.bundle.unit_keys:
        return ()
    definition = find(session, name_of(route.bundle.key))
    if definition is None:
        return ()
    try:
        rows = session.rows("blockers", definition.owner.object_id, LONG_SECONDS, doing="looking for long transactions")
    except PrivilegeMissing:
        return ()
    return tuple(
        Blocker(
            sentence=f"{_holder(number, login, program, status)} "
            f"has a lock on {route.bundle.key} in a transaction of {format_seconds(float(seconds))}"
        )
        for number, login, program, status, seconds in rows
    )


ORPHANED = -2  # session number of transactions of a coordinator that has gone


def _holder(number: int, login: str | None, program: str | None, status: str | None) -> str:
    if number == ORPHANED:
        return "a distributed transaction in doubt (no session; its coordinator or KILL with its unit of work ends it)"
    return f"session {number} of {login or 'an unknown login'} ({program or 'no program name'}, {status})"


PAUSED = 1  # sys.index_resumable_operations.state
SINCE = 14  # the view
_COMMENT = re.compile(r"/\*.*?(?:\*/|(\Z))", re.DOTALL)  # the group: one without an end


@dataclass(frozen=True, slots=True)
class ResumableOperation:
    """A row of ``sql/resumable.sql``, in its order."""

    index: str
    sql: str | None
    state: int
    percent: float | None
    pages: int | None  # allocated so far, those of the mapping index included
    paused_at: datetime | None

    @property
    def paused(self) -> bool:
        """It is held; no session works on it."""
        return self.state == PAUSED


def operations(session: ReadSession, object_id: int) -> tuple[ResumableOperation, ...]:
    """Resumable builds of one object, running and paused.

    Raises:
        ConnectorError: the server did not answer.
    """
    if session.major < SINCE:
        return ()
    rows = session.rows("resumable", object_id, doing="looking for paused index builds")
    return tuple(ResumableOperation(*row) for row in rows)


def of_route(found: tuple[ResumableOperation, ...], route: Route) -> ResumableOperation | None:
    """That one of them which a statement of the route began: of its name, and of its text."""
    for step in route.steps:
        index = resumable_index(step)
        for operation in found:
            if index == operation.index and _same(operation.sql, step.sql):
                return operation
    return None


def _same(text: str | None, statement: str) -> bool:
    """Whether the server's text is our statement; the comment before it may or may not be part of it."""
    # By text and not by name alone: a DBA's own build may have the same index, and RESUME would go on with his in place
    # of ours.
    return text is not None and _plain(statement) in _plain(text)


def _plain(text: str) -> str:
    return " ".join(_COMMENT.sub(lambda found: " " if found[1] is None else found[0], text).split())


MIB = 1024 * 1024
KIB = 1024


def against(session: ReadSession, route: Route, *, queue_mib: int) -> NoRoute | None:
    """The reason not to, None where there is none or this login may not look.

    Raises:
        ConnectorError: the server did not answer.
    """
    try:
        return _log_full(session, route) or _replica_behind(session, queue_mib)
    except PrivilegeMissing:
        return None


def paused_build(session: ReadSession, definition: Definition | None) -> NoRoute | None:
    """A build of the table that is paused or runs: it blocks DDL, and the same statement would resume it (10645).

    Raises:
        ConnectorError: the server did not answer.
    """
    found = () if definition is None else operations(session, definition.owner.object_id)
    if definition is None or not found:
        return None
    index, table = quote(found[0].index), quoted_table(definition.name)
    return NoRoute(
        code="paused_build",
        sentence=f"a resumable build of {index} is open: ALTER INDEX {index} ON {table} RESUME or ABORT comes first",
    )


def _log_full(session: ReadSession, route: Route) -> NoRoute | None:
    """What counts is what is free in the log and on its volume: 2 TB is what every log may grow to."""
    log = read_log_room(session)
    if log is None or log.room is None or log.room >= route.log_bytes:
        return None
    held = "" if log.held_by == NOTHING else f", and what is used cannot be used again because of {log.held_by}"
    return NoRoute(
        code="log_full",
        sentence=f"the transaction log has room for {format_bytes(log.room)}{held}; moving {route.bundle.key} writes "
        f"about {format_bytes(route.log_bytes)}",
    )


def _replica_behind(session: ReadSession, queue_mib: int) -> NoRoute | None:
    for local, suspended, send_queue, redo_queue, _ in session.rows("replicas", doing="looking at replicas"):
        if suspended:
            return NoRoute(code="replica_suspended", sentence="a replica of this database is suspended")
        behind = max(send_queue or 0, redo_queue or 0) * KIB
        if not local and behind > queue_mib * MIB:
            sentence = f"a replica of this database is {format_bytes(behind)} of log behind"
            return NoRoute(code="replica_behind", sentence=sentence)
    return None


@dataclass(frozen=True, slots=True)
class Rights:
    """The row of ``sql/rights.sql``: 1 may, 0 may not, None unknown to this version."""

    login: str
    view_server_state: int | None
    view_server_performance_state: int | None
    view_database_state: int | None
    view_database_performance_state: int | None
    view_definition: int | None
    alter_database: int | None
    alter_any_dataspace: int | None
    control_database: int | None
    create_table: int | None

    @property
    def sees_server(self) -> bool:
        """Files, counters, other sessions."""
        return bool(self.view_server_state or self.view_server_performance_state)

    @property
    def sees_objects(self) -> bool:
        """Counters of partitions."""
        return self.sees_server or bool(self.view_database_state or self.view_database_performance_state)


def read_rights(session: ReadSession) -> Rights:
    """What this login may do.

    Raises:
        ConnectorError: the server did not answer.
    """
    return Rights(*session.rows("rights", doing="examining rights")[0])


def lacking_rights(session: ReadSession, route: Route, rights: Rights) -> str:
    """Permissions that this login lacks for the steps of a route, a clause; "" where it lacks none.

    Raises:
        ConnectorError: the server did not answer.
    """
    done = {step.operation.name for step in route.steps if step.operation is not None}
    missing = []
    if done & OF_FILES:
        missing += ["ALTER on the database"] * (not rights.alter_database)
        missing += ["db_owner, which empties files"] * (EMPTY_FILE in done and not rights.control_database)
    if done & (OF_SPACES | ALSO_OF_SPACES) and not (rights.alter_any_dataspace or rights.alter_database):
        missing.append("ALTER ANY DATASPACE")
    if done - OF_FILES - OF_SPACES:
        missing += _lacking_on_table(session, name_of(route.bundle.key), rights, copies=CREATE_TABLE in done)
    return f"the account that moves lacks {' and '.join(missing)}" if missing else ""


def _lacking_on_table(session: ReadSession, name: Name, rights: Rights, *, copies: bool) -> Iterator[str]:
    rows = session.rows("move_may", (name.schema, name.table), doing=f"looking at the rights to move {name.key}")
    if not rows:
        return  # it is gone, which others notice
    table = f"{quote(name.schema)}.{quote(name.table)}"
    alters, reads, adds = map(bool, rows[0])
    if not alters:
        yield f"ALTER on {table}"
    if copies and not rights.create_table:
        yield "CREATE TABLE"
    if copies and not (reads and adds):
        yield f"SELECT and INSERT on {table}"
