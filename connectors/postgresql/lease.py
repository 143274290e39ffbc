"""One agent acts on a database at a time: taking the lease, and ending what a former holder could still send.

One agent acts on a database at a time: an advisory lock of the database, on a session of its own.

Ending what an agent that has lost its lease could still send: its sessions may outlive its silence.

A frozen agent may have noted an intent and not sent its statement yet. The statement would go over a session that was
open by then, so once each idle session that moves is gone, nothing comes of it. A session at work is let work: what it
does is one statement, after which its agent writes to the ledger before all else, and is refused.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress

import psycopg

from connectors.kit.contract import LeaseHeld
from connectors.kit.sessions import Holder, take_public_lease
from connectors.postgresql.errors import translate
from connectors.postgresql.sessions import OF_QUERIES, ReadSession, Row, ask, milliseconds, open_connection, query
from connectors.postgresql.settings import PostgresqlSettings

LEASE_KEY = 0x686F74706C616365  # "hotplace" in ASCII: a key unlikely to be used by others
# NAMEDATALEN - 1: PostgreSQL cuts an application_name there.
NAME_BYTES = 63
MARK = "hotplace lease!"  # begins the name of a session that acts though a stranger has the lock
_NAME = "hotplace lease"


class PostgresqlLease:
    """Held as long as its session lives; the server releases it when the process or the connection dies."""

    def __init__(self, connection: psycopg.Connection, holder: str, stranger: str = "") -> None:
        self._connection = connection
        self._holder = holder
        self._stranger = stranger

    @property
    def stranger(self) -> str:
        """See ``NamesStranger``."""
        return self._stranger

    def is_held(self) -> bool:
        """Whether this very session still holds the lock, or acts without it and no agent has it.

        The lock is taken as soon as the stranger lets it go.
        """
        if self._connection.closed:
            return False
        try:
            # Asked of the server: an advisory lock goes with its backend, and a connection may look open long after
            # that has ended.
            rows = ask(self._connection, query("lease_holder"), {"key": LEASE_KEY})
            if any(ours for *_, ours in rows):
                return True
            return bool(self._stranger) and self._holds_without(rows)
        except psycopg.Error:
            return False  # a session that cannot answer holds nothing that can be relied on

    def release(self) -> None:
        """Unlock, and end the session."""
        _let_go(self._connection)

    def _holds_without(self, rows: list[Row]) -> bool:
        """Whether it still acts by its mark while a stranger or no one has the lock."""
        if any(own and name.startswith(_NAME) for _, name, _, _, own, _ in rows):
            return False
        self._stranger = next((_in_words(row) for row in rows), self._stranger)
        if not rows and ask(self._connection, query("lease_take"), {"key": LEASE_KEY})[0][0]:
            self._stranger = ""
            ask(self._connection, query("lease_name"), {"name": _name(_NAME, self._holder)})
        return True


def acquire_lease(settings: PostgresqlSettings, holder: str) -> PostgresqlLease:
    """Take the lease.

    Raises:
        LeaseHeld: another agent has it.
        CannotConnect: or what else connecting raises.
    """
    taken = take_public_lease(
        lambda: open_connection(settings, name=_name(_NAME, holder), options=lease_options(settings)),
        lambda connection: bool(_ask(connection, "lease_take", {"key": LEASE_KEY})[0][0]),
        lambda connection: [_holder(row) for row in _ask(connection, "lease_holder", {"key": LEASE_KEY})],
        _let_go,
        lambda connection, without: _act_without(connection, holder, without=without),
    )
    return PostgresqlLease(taken.connection, holder, taken.stranger)


def _let_go(connection: psycopg.Connection) -> None:
    """Unlock, so that no one need wait for the server to notice that the session has ended; end it."""
    with suppress(psycopg.Error):  # a session that is gone holds nothing
        ask(connection, query("lease_release"), {"key": LEASE_KEY})
    connection.close()


def find_stranger(session: ReadSession) -> str:
    """Who has the lock of the lease and is no session of this login, in words; "" for no one.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows(query("lease_holder"), {"key": LEASE_KEY}, doing="looking at the lock of the lease")
    return next((_in_words(row) for row in rows if not row[4]), "")


def _act_without(connection: psycopg.Connection, holder: str, *, without: bool) -> list[Holder]:
    if without:
        _ask(connection, "lease_name", {"name": _name(MARK, holder)})
    return [_holder(row) for row in _ask(connection, "lease_marked", {"mark": MARK}) if not row[5]]


def _holder(row: Row) -> Holder:
    return Holder(_in_words(row), own=row[4])


def _in_words(row: Row) -> str:
    pid, name, client, role, own, _ = row
    who = (name if own else "") or "a session"  # what a stranger calls himself says nothing
    return f"{who} (pid {pid}, from {client}), role {role}"


def _ask(connection: psycopg.Connection, name: str, values: Mapping[str, object]) -> list[Row]:
    try:
        return ask(connection, query(name), values)
    except psycopg.Error as error:
        raise translate(error, "taking the lease") from error


def lease_options(settings: PostgresqlSettings) -> dict[str, str]:
    """What sessions set that hold or end a lease."""
    return {
        **OF_QUERIES,
        "default_transaction_read_only": "on",
        "statement_timeout": milliseconds(settings.statement_timeout),
        "lock_timeout": milliseconds(settings.lock_timeout),
    }


def _name(kind: str, holder: str) -> str:
    """Application names are cut at 63 bytes, and PostgreSQL keeps only printable ASCII in them."""
    return f"{kind} {holder}".encode("ascii", "replace").decode()[:NAME_BYTES]


MOVING = "hotplace move"  # application_name of sessions that move
SETTLES_SECONDS = 1.0  # what prepares a statement takes milliseconds: a session at work for longer is at the statement
ENDS_SECONDS = 5.0  # a session that is not gone by then, is not gone soon: its process does not run
LOOK_EVERY_SECONDS = 0.1


def end_holder(settings: PostgresqlSettings, holder: str) -> None:
    """End the session that has the lease under a name with ``holder`` in it, and idle sessions that move.

    Nothing is ended where the lease is held under another name: that is an agent of another ledger.

    Raises:
        LeaseHeld: a session that was ended is still there.
        ConnectorError: the server did not answer, or the login may not end the session.
    """
    with open_connection(settings, name="hotplace takeover", options=lease_options(settings)) as connection:
        try:
            _end(connection, holder)
        except psycopg.Error as error:
            raise translate(error, "ending the sessions of an agent that has lost its lease") from error


def _end(connection: psycopg.Connection, holder: str) -> None:
    began = time.monotonic()
    while True:
        values = {"key": LEASE_KEY, "moving": MOVING, "mark": MARK}
        found = ask(connection, query("agent_sessions"), values)
        if any(has_lease and holder not in name for _, name, _, has_lease in found):
            return
        to_end = [pid for pid, _, active, has_lease in found if has_lease or not active]
        for pid in to_end:
            ask(connection, query("end_session"), {"pid": pid})
        waited = time.monotonic() - began
        if not found or (not to_end and waited >= SETTLES_SECONDS):
            return
        if waited >= ENDS_SECONDS:
            raise LeaseHeld(
                f"the sessions {to_end} of the agent before do not end",
                advice="They are ended again at the next turn; look at them in pg_stat_activity.",
            )
        time.sleep(LOOK_EVERY_SECONDS)
