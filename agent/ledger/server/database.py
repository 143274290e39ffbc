"""The ledger on a PostgreSQL server: the same transactions as on a file, by the server's own locks.

What is decided is one after the other for the whole ledger, as on a file: every decision appends to one chain, so any
two of them conflict, and what waits for a lock wastes nothing, where a serialization failure wastes all of its work.
The lock is that of the chain's head (``SHARE ROW EXCLUSIVE``): readers go on, and only who may write the head can
take it. Under it, each statement sees all that was decided before (READ COMMITTED). Samples take another lock and wait
for no decision. Readers see one snapshot (REPEATABLE READ, READ ONLY).

An intent is on the server's disk, and on that of its synchronous standbys, when the call returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from agent.config.ledger import LedgerServer
from agent.ledger.errors import LedgerCorrupt
from agent.ledger.file.instants import instant
from agent.ledger.file.reading import Reading, translated_errors, where
from agent.ledger.server.dialect import PostgresqlDialect
from agent.ledger.server.sessions import Door, Sessions, settings_of_transaction

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from agent.ledger.file.transaction import Transaction

READ_ONLY = "ISOLATION LEVEL REPEATABLE READ, READ ONLY"
LOCK_DECISIONS = "LOCK TABLE audit_head IN SHARE ROW EXCLUSIVE MODE"
# 0x686F7470 is "hotp". An advisory lock, since autovacuum would hold up a lock on the large tables of samples.
LOCK_SAMPLES = "SELECT pg_advisory_xact_lock(1752134768, hashtext(current_schema))"
# A level above the usual one (remote_apply) stays; one below it would let a failover take an intent back.
DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', true) "
    "WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')"
)
NOW = "SELECT CAST(1000000 * extract(epoch FROM clock_timestamp()) AS bigint)"
NOT_DURABLE = "SET LOCAL synchronous_commit = off"


class ServerDatabase:
    """Short transactions on a ledger of a PostgreSQL server. Safe to use from several threads."""

    def __init__(self, server: LedgerServer, *, busy_seconds: float) -> None:
        """Prepare; connects on first use.

        Args:
            server: where and who.
            busy_seconds: how long to wait for a lock before ``LedgerBusy``.
        """
        self.server = server
        self.name = server.name
        self.lease_seconds = server.lease_seconds
        self.dialect = PostgresqlDialect(self.name)
        self._settings = settings_of_transaction(server, busy_seconds)
        self._door = Door(server)
        self._reading = Sessions(self._door, self.dialect, f"BEGIN {READ_ONLY}; {self._settings}")

    @contextmanager
    def read(self) -> Iterator[Reading]:
        """One consistent snapshot; writers are not blocked."""
        with self._reading.begun() as session, translated_errors(self.dialect):
            yield Reading(self.dialect, session)

    @contextmanager
    def read_by_core(self) -> Iterator[Connection]:
        """The same for statements of SQLAlchemy's Core."""
        from agent.ledger.file.transaction import begun

        with begun(self._engine, f"SET TRANSACTION {READ_ONLY}; {self._settings}") as connection:
            yield connection

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Transaction]:
        """One transaction, alone of its kind from its start; commits at the end, rolls back on any error.

        Raises:
            LedgerBusy: another session kept the lock.
            LedgerUnreachable: the server does not answer. If that happened at the commit, it may have been made.
        """
        kind = f"{DURABLE}; {LOCK_DECISIONS}" if durable else f"{NOT_DURABLE}; {LOCK_SAMPLES}"
        with self.write_after(kind) as transaction:
            yield transaction

    def write_apart(self) -> AbstractContextManager[Transaction]:
        """A durable transaction that waits for decisions only where it locks the same row."""
        return self.write_after(DURABLE)

    def now(self, reading: Reading) -> datetime:
        """The clock of the server at this moment, not at the start of the transaction."""
        return instant(int(reading.scalar(NOW)))

    @contextmanager
    def write_after(self, *begin: str) -> Iterator[Transaction]:
        """A transaction that writes, begun with these statements after the settings of each."""
        from agent.ledger.file.transaction import writing

        with writing(self._engine, self.dialect, self._settings, *begin) as transaction:
            yield transaction

    def size_bytes(self) -> int:
        """All tables and indexes of the schema."""
        of_it = where("relnamespace = to_regnamespace(?)", self.server.schema_name), where("relkind = 'r'")
        with self.read() as reading:
            return int(reading.scalar("SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class", *of_it))

    def find_damage(self) -> str:
        """Nothing: the server's own checksums tell damage when a page is read."""
        return ""

    def corrupt(self, detail: str) -> LedgerCorrupt:
        """The error that says that something stored is damaged."""
        return LedgerCorrupt(
            f"{self.name} is not a usable ledger: {detail}",
            advice="Look at the log of the server, and restore a backup of it.",
        )

    def close(self) -> None:
        """End all sessions."""
        self._reading.close()
        if "_engine" in self.__dict__:
            self._engine.dispose()

    @cached_property
    def _engine(self) -> Engine:
        from sqlalchemy import QueuePool, create_engine

        from agent.ledger.file.transaction import prepare_engine

        engine = create_engine(
            "postgresql+psycopg://", creator=lambda: self._door.connect(autocommit=False),
            poolclass=QueuePool, pool_use_lifo=True, pool_pre_ping=True,
        )  # fmt: skip
        return prepare_engine(engine, self.dialect)
