"""Sessions of the ledger's server, and what each transaction sets for itself.

Everything is set for the transaction and nothing for the session, so that a pooler between agent and server may hand
the same connection to others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from agent.config.ledger import LedgerServer
from agent.ledger.file.reading import translated_errors
from agent.ledger.server.dialect import PostgresqlDialect
from connectors.postgresql.session.patience import LimitedConnection
from connectors.postgresql.settings import NOTICES_A_DEAD_SERVER

PATIENCE_SECONDS = 45.0  # for an answer of the server; longer than any lock is waited for
REST_SECONDS = 1.0  # between two tries to reach a server that does not answer
IDLE_MS = 60_000  # of a transaction whose agent says nothing: then the server ends it and frees its locks


def connect(server: LedgerServer, *, autocommit: bool) -> LimitedConnection:
    """A new session.

    Raises:
        psycopg.OperationalError: the server does not answer or refuses the login.
        SecretUnavailable: the password's place is empty.
    """
    arguments: dict[str, Any] = {**server.connect_arguments(), **NOTICES_A_DEAD_SERVER}
    connection = LimitedConnection.connect(
        **arguments, application_name="hotplace ledger",
        client_encoding="utf8", autocommit=autocommit,
        prepare_threshold=None,  # a prepared statement is the session's, and a pooler shares that
    )  # fmt: skip
    connection.patience_seconds = PATIENCE_SECONDS
    return connection


def settings_of_transaction(server: LedgerServer, busy_seconds: float) -> str:
    """What every transaction sets first."""
    # No schema but the ledger's, and temporary objects last: what somebody puts into public is never found by name.
    return (
        f'SET LOCAL search_path = "{server.schema_name}", pg_catalog, pg_temp; '
        f"SET LOCAL lock_timeout = {round(1000 * busy_seconds)}; "
        f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_MS}"
    )


class Door:
    """Opens sessions; a server that has just not answered is left alone for a moment. Safe from several threads."""

    def __init__(self, server: LedgerServer) -> None:
        """Nothing is opened yet."""
        self._server = server
        self._closed_until = -math.inf  # on the monotonic clock
        self._why = ""

    def connect(self, *, autocommit: bool) -> LimitedConnection:
        """A new session.

        Raises:
            psycopg.OperationalError: the server does not answer, or did not a moment ago, or refuses the login.
            SecretUnavailable: the password's place is empty.
        """
        # A sample makes a dozen calls. Each of them would wait for a silent network as long as a login may take, and
        # the sample would come minutes late.
        if time.monotonic() < self._closed_until:
            raise psycopg.OperationalError(self._why)
        try:
            return connect(self._server, autocommit=autocommit)
        except psycopg.OperationalError as error:
            self._closed_until, self._why = time.monotonic() + REST_SECONDS, str(error)
            raise


class Sessions:
    """Sessions that read, each for one thread at a time; the one that was used last comes first."""

    def __init__(self, door: Door, dialect: PostgresqlDialect, begin: str) -> None:
        """Nothing is opened yet.

        Args:
            door: opens sessions.
            dialect: for errors.
            begin: what begins a transaction that reads.
        """
        self._door, self._dialect, self._begin = door, dialect, begin
        self._free: list[LimitedConnection] = []

    @contextmanager
    def begun(self) -> Iterator[LimitedConnection]:
        """A session with a transaction, rolled back at the end."""
        session = self._take()
        try:
            yield session
        finally:
            if not session.closed:
                try:
                    session.rollback()
                except psycopg.OperationalError:  # Ctrl-C amid a statement: its answer has yet to come
                    session.close()
                else:
                    self._free.append(session)

    def close(self) -> None:
        """End those that are free."""
        while self._free:
            self._free.pop().close()

    def _take(self) -> LimitedConnection:
        """A session whose transaction has begun; one that the server has ended meanwhile is replaced."""
        with translated_errors(self._dialect):
            while self._free:
                session = self._free.pop()
                try:
                    session.execute(self._begin)
                except psycopg.OperationalError:  # restarted or failed over since: nothing was asked of it yet
                    session.close()
                else:
                    return session
            session = self._door.connect(autocommit=True)
            session.execute(self._begin)
            return session
