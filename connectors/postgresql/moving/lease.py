"""One agent acts on a database at a time: an advisory lock of the database, on a session of its own."""

from __future__ import annotations

from contextlib import suppress

import psycopg

from connectors.postgresql.session.errors import translate
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import OF_QUERIES, Row, milliseconds, open_connection
from connectors.postgresql.settings import PostgresqlSettings
from connectors.sessions.leases import take_lease

LEASE_KEY = 0x686F74706C616365  # "hotplace" in ASCII: a key unlikely to be used by others
NAME_BYTES = 63


class PostgresqlLease:
    """Held as long as its session lives; the server releases it when the process or the connection dies."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def is_held(self) -> bool:
        """Whether this very session still holds the lock."""
        if self._connection.closed:
            return False
        try:
            rows = self._connection.execute(query("lease_holder"), {"key": LEASE_KEY}).fetchall()
        except psycopg.Error:
            return False  # a session that cannot answer holds nothing that can be relied on
        # Asked of the server: an advisory lock goes with its backend, and a connection may look open long after that
        # has ended.
        return any(ours for _, _, _, ours in rows)

    def release(self) -> None:
        """Unlock, so that the next one need not wait for the server to notice that the session has ended; end it."""
        with suppress(psycopg.Error):  # a session that is gone holds nothing
            self._connection.execute(query("lease_release"), {"key": LEASE_KEY})
        self._connection.close()


def acquire_lease(settings: PostgresqlSettings, holder: str) -> PostgresqlLease:
    """Take the lease.

    Raises:
        LeaseHeld: another agent has it.
        CannotConnect: or what else connecting raises.
    """
    connection = take_lease(
        lambda: open_connection(settings, name=_name(holder), options=lease_options(settings)),
        _try_take,
        _find_holder,
        psycopg.Connection.close,
    )
    return PostgresqlLease(connection)


def _try_take(connection: psycopg.Connection) -> bool:
    return bool(_ask(connection, "lease_take")[0][0])


def _find_holder(connection: psycopg.Connection) -> str:
    for pid, application, client, _ in _ask(connection, "lease_holder"):
        return f"{application or 'a session'} (pid {pid}, from {client})"
    return ""


def _ask(connection: psycopg.Connection, name: str) -> list[Row]:
    try:
        return connection.execute(query(name), {"key": LEASE_KEY}).fetchall()
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


def _name(holder: str) -> str:
    """Application names are cut at 63 bytes, and PostgreSQL keeps only printable ASCII in them."""
    return f"hotplace lease {holder}".encode("ascii", "replace").decode()[:NAME_BYTES]
