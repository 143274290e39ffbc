"""What psycopg raises, in the ledger's own words: by SQLSTATE, never by the text of a message."""

from __future__ import annotations

import psycopg

from agent.ledger.errors import (
    LedgerBusy,
    LedgerCorrupt,
    LedgerError,
    LedgerFull,
    LedgerMissing,
    LedgerReadOnly,
    LedgerUnreachable,
)

_BUSY = "Try again; if it persists, look in pg_stat_activity for a session named hotplace that does not end."
_BY_STATE: dict[str, tuple[type[LedgerError], str, str]] = {
    "55P03": (LedgerBusy, "was locked by another session for too long", _BUSY),
    "57014": (LedgerBusy, "did not answer within its time limit", _BUSY),
    "40001": (LedgerBusy, "was changed by another session at the same moment", _BUSY),
    "40P01": (LedgerBusy, "was locked by another session that waited for this one", _BUSY),
    "53300": (LedgerBusy, "has no connection left", "Raise max_connections or end sessions that are not needed."),
    "53100": (LedgerFull, "could not grow: the disk is full", "Make room on the disk of the server, then try again."),
    "25006": (LedgerReadOnly, "cannot be written: the server is a standby, or read-only",
              "Name the primary, or all of them with commas: the one that may be written is used."),
    "42501": (LedgerReadOnly, "lacks a privilege", "Run hotplace doctor: it prints the GRANT."),
    "42P01": (LedgerReadOnly, "is hidden from this user",
              "Make it a member of one of the ledger's roles; hotplace ledger grants prints how."),
    "3D000": (LedgerMissing, "names no database of the server", "Create it, or correct dbname."),
    "28P01": (LedgerUnreachable, "refuses the login", "Check the user and where its password comes from."),
    "28000": (LedgerUnreachable, "refuses the login",
              "Check the user, and the line of pg_hba.conf that speaks of it."),
    "XX001": (LedgerCorrupt, "is damaged", "Look at the log of the server, and restore a backup."),
    "XX002": (LedgerCorrupt, "has a damaged index", "REINDEX what the log of the server names."),
}  # fmt: skip
_ENDED_BY_SERVER = frozenset({"57P01", "57P02", "57P03", "57P04", "57P05"})  # shutdown, crash, starting, dropped, idle


def translate_server_error(name: str, error: BaseException) -> LedgerError | None:
    """The ledger's own error for one of psycopg's; None where psycopg's says as much.

    Args:
        name: of the ledger, without a secret.
        error: whatever was raised.
    """
    if not isinstance(error, psycopg.Error):
        return None
    state = error.sqlstate or ""
    if state in _BY_STATE:
        kind, said, advice = _BY_STATE[state]
        return kind(f"the ledger {name} {said}: {_words(error)}", advice=advice)
    if state.startswith("08") or state in _ENDED_BY_SERVER or (not state and _of_connection(error)):
        return LedgerUnreachable(
            f"the ledger {name} does not answer: {_words(error)}",
            advice="Check that the server runs and is reached from here. What runs is finished; nothing new begins.",
        )
    return None


def _of_connection(error: psycopg.Error) -> bool:
    """Whether an error without a SQLSTATE is the connection's: libpq gives it none."""
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def _words(error: psycopg.Error) -> str:
    """The server's own words on one line."""
    primary = error.diag.message_primary
    return " ".join((primary or str(error) or type(error).__name__).split())
