"""One agent acts on a database at a time: an advisory lock of the database, on a session of its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import psycopg

from connectors.postgresql.session.errors import translate
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import (
    OF_QUERIES,
    ReadSession,
    Row,
    ask,
    milliseconds,
    open_connection,
)
from connectors.postgresql.settings import PostgresqlSettings
from connectors.sessions.leases import Holder, take_public_lease

LEASE_KEY = 0x686F74706C616365  # "hotplace" in ASCII: a key unlikely to be used by others
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
        """Whether it acts by its mark still, a stranger or nobody having the lock."""
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
    """Unlock, so that nobody need wait for the server to notice that the session has ended; end it."""
    with suppress(psycopg.Error):  # a session that is gone holds nothing
        ask(connection, query("lease_release"), {"key": LEASE_KEY})
    connection.close()


def find_stranger(session: ReadSession) -> str:
    """Who has the lock of the lease and is no session of this login, in words; "" for nobody.

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
