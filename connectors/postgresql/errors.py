"""Turns what psycopg raises into the errors of the contract: by SQLSTATE, never by the text of a message."""

from __future__ import annotations

import re

import psycopg

from connectors.kit.contract import (
    AuthenticationFailed,
    CannotConnect,
    ConnectorError,
    Interrupted,
    LockNotObtained,
    ObjectGone,
    OutcomeUnknown,
    PrivilegeMissing,
    SpaceFull,
    StatementFailed,
    TimedOut,
)
from connectors.model.formatting import format_seconds

QUERY_CANCELED = "57014"  # PostgreSQL has one state for a time-out and a cancel; who asked tells them apart

_EQUAL_ROWS = (
    "Rows are equal under this unique index, which is damaged: find them with enable_indexscan, enable_indexonlyscan "
    "and enable_bitmapscan off, by SELECT key, count(*) FROM table GROUP BY key HAVING count(*) > 1. Remove all but "
    "one of each, then plan again."
)
_BY_STATE: dict[str, tuple[type[ConnectorError], str]] = {
    "28P01": (AuthenticationFailed, "Check the user and where its password comes from."),
    "28000": (AuthenticationFailed, "Check the user, and the line of pg_hba.conf that speaks of it."),
    "3D000": (CannotConnect, "Check dbname; psql -l lists the databases."),
    "53300": (CannotConnect, "All connections are in use; raise max_connections or wait."),
    "57P03": (CannotConnect, "The server is starting or shutting down; wait."),
    "55P03": (
        LockNotObtained,
        "The object is in use; tried again later. Autovacuum gives way if lock_timeout exceeds deadlock_timeout.",
    ),
    "40P01": (LockNotObtained, "A deadlock was resolved against this statement; it is tried again later."),
    "53100": (SpaceFull, "Make room in the target, or choose another space."),
    "42501": (PrivilegeMissing, "Run hotplace doctor: it prints the GRANT."),
    "42P01": (ObjectGone, "It was dropped or renamed; plan again."),
    "42704": (ObjectGone, "It was dropped or renamed; plan again."),
    "3F000": (ObjectGone, "Its schema was dropped or renamed; plan again."),
    "23505": (StatementFailed, _EQUAL_ROWS),
    "22021": (StatementFailed, "A name in this database is no UTF-8, which SQL_ASCII lets in: rename what has it."),
    "25006": (StatementFailed, "The session is read-only: a standby, or default_transaction_read_only of this role."),
}
# Where the server's own sources use files: an operating system that refuses one has the state of a missing privilege.
_OF_FILES = frozenset({"dbsize.c", "fd.c", "md.c", "smgr.c", "storage.c"})
_MAKES_FOLDERS = "TablespaceCreateDbspace"  # a function in a file that refuses by privileges as well
# A full disk has a state of its own (53100); for a quota that is used up the server has none, and says XX000 where it
# makes a file or extends one. What else it cannot do there has a state: 42501, 53000, 58...
_TAKES_ROOM = frozenset({"mdcreate", "mdextend", "mdzeroextend", _MAKES_FOLDERS})
FILE_REFUSED = "file"  # native code
_FILE_ADVICE = (
    "The operating system lets the server not use this file: look at the owner and the rights of the tablespace's "
    "folder, and how its file system is mounted."
)
_ENDED_BY_SERVER = frozenset({"57P01", "57P02", "57P04", "57P05"})  # shutdown, crash, database dropped, idle time-out


_NOT_OF_FUNCTIONS = frozenset({QUERY_CANCELED, "55P03", "40P01", "53100"})  # whatever was going on
# Not a DO statement: those are ours.
_IN_FUNCTION = re.compile(r"^(?:PL/\w+|SQL) function (?!inline_code_block )\"?([\w.$]+(?:\([^)]*\))?)\"?", re.MULTILINE)
_OF_FUNCTION = (
    "The function {} of this database failed, which the statement calls: an event trigger, or part of an index. "
    "If it misses a name, give it a search_path of its own (ALTER FUNCTION ... SET search_path); moves have none of "
    "the application's."
)


def _function_of(error: psycopg.Error) -> str:
    """The function of users in which it was raised; "" if none."""
    found = _IN_FUNCTION.search(error.diag.context or "")
    return found[1] if found else ""


def is_of_files(error: psycopg.Error) -> bool:
    """Whether the operating system has refused the server a file, or could not read it."""
    state = error.sqlstate or ""
    of_files = error.diag.source_file in _OF_FILES or error.diag.source_function == _MAKES_FOLDERS
    return of_files and (state == "42501" or state.startswith("58"))


def is_full(error: psycopg.Error) -> bool:
    """Whether there was no room: on the disk, or under a quota."""
    state = error.sqlstate or ""
    return state == "53100" or (state == "XX000" and error.diag.source_function in _TAKES_ROOM)


def connection_broke(error: psycopg.Error, connection: psycopg.Connection) -> bool:
    """Whether the session itself is gone, so that the outcome of its statement is unknown."""
    state = error.sqlstate or ""
    # Not by the flag alone: when the server's last message is read, the connection still looks open.
    return connection.closed or state in _ENDED_BY_SERVER or state.startswith("08")


def translate(error: psycopg.Error, doing: str) -> ConnectorError:
    """The error of the contract for a statement that failed while its session lives on, or for a refused connection.

    Args:
        error: from psycopg.
        doing: what was tried, to begin the message with; holds no secret.
    """
    state = "53100" if is_full(error) else error.sqlstate or ""
    kind, advice = _BY_STATE.get(state, (StatementFailed, ""))
    if is_of_files(error):
        return StatementFailed(f"{doing}: {_words(error)}", advice=_FILE_ADVICE, native_code=FILE_REFUSED)
    if (function := _function_of(error)) and state not in _NOT_OF_FUNCTIONS:
        # Whatever is missing is missed by the function: the object that is moved is there.
        kind, advice = StatementFailed, _OF_FUNCTION.format(function)
    elif not advice and state == QUERY_CANCELED:
        kind, advice = TimedOut, "Raise statement_timeout, or look at what the server is busy with."
    return kind(f"{doing}: {_words(error)}", advice=advice, native_code=state)


def cancellation_error(doing: str, *, by_us: bool, after_seconds: float, limit_seconds: float) -> ConnectorError:
    """Distinguish the three causes of SQLSTATE 57014: our own cancel, the time-out we set, another session's cancel."""
    if by_us:
        return Interrupted(f"{doing}: cancelled on request", native_code=QUERY_CANCELED)
    # By the time that passed, with a little less than the limit since two clocks count it: the state is the same for a
    # DBA's pg_cancel_backend.
    if limit_seconds and after_seconds >= 0.98 * limit_seconds:
        return TimedOut(
            f"{doing}: not finished within {format_seconds(limit_seconds)}",
            advice="Raise move_timeout (a split that moves rows: plan it again), or move it when the disks are "
            "less busy.",
            native_code=QUERY_CANCELED,
        )
    return Interrupted(
        f"{doing}: cancelled by another session after {format_seconds(after_seconds)}",
        advice="Ask who cancelled it before trying again.",
        native_code=QUERY_CANCELED,
    )


def outcome_unknown(error: psycopg.Error, doing: str) -> OutcomeUnknown:
    """The session broke under a statement that changes something."""
    # Neither a failure nor a success: the answer to a COMMIT is lost like any other, so a rollback must not be assumed.
    # Only the catalog shows where the relation is now.
    return OutcomeUnknown(
        f"{doing}: the session ended before the server answered ({_words(error)})",
        advice="The catalog is asked what became of it.",
        native_code=error.sqlstate or "",
    )


def cannot_connect(error: psycopg.Error, where: str, state: str) -> CannotConnect:
    """A refused or failed connection.

    Args:
        error: from psycopg; libpq gives it no SQLSTATE.
        where: the database in words.
        state: SQLSTATE that the server sent, "" when it never answered.
    """
    kind, advice = _BY_STATE.get(state, (CannotConnect, "Check host and port, and that the server runs."))
    if not issubclass(kind, CannotConnect):
        kind = CannotConnect
    return kind(f"cannot connect to {where}: {_words(error)}", advice=advice, native_code=state)


def _words(error: psycopg.Error) -> str:
    """The server's own words on one line."""
    primary = error.diag.message_primary
    return " ".join((primary or str(error) or type(error).__name__).split())
