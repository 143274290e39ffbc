"""The ledger on a PostgreSQL server: its transactions, and its tables brought up to date.

``ServerDatabase`` offers the same transactions as a file, by the server's own locks. Decisions are serial for the whole
ledger: each appends to one chain, so any two conflict. Waiting for a lock wastes nothing, while a serialization failure
wastes all work done. The lock is that of the chain's head (``SHARE ROW EXCLUSIVE``): readers go on, and only logins
that may write the head can take it. Under it each statement sees all earlier decisions (READ COMMITTED). Samples take
another lock and wait for no decision. Readers see one snapshot (REPEATABLE READ, READ ONLY).

An intent is on the server's disk, and on those of its synchronous standbys, when the call returns. Settings are made
for the transaction and never for the session, so that a pooler between agent and server may hand the same connection to
others. Errors are recognised by SQLSTATE, never by the text of a message.

``bring_up_to_date`` opens a ledger: its schema, whether it is one of ours, and its migrations.

``divide_history`` gives history and work a partition for each week. The server drops whole partitions, so no row is
deleted by age, and nothing is left for autovacuum. ``partitions.sql`` says who makes and drops them, and on whose word.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from contextlib import AbstractContextManager
from datetime import datetime
from importlib.resources import files
from itertools import count
from typing import Any, ClassVar

import psycopg
from sqlalchemy import Dialect, Text, bindparam, cast, column, extract, func, select, table
from sqlalchemy.dialects.postgresql import psycopg as psycopg_dialect
from sqlalchemy.schema import CreateSchema

from agent.config.models import LedgerServer
from agent.ledger.errors import (
    LedgerBusy,
    LedgerCorrupt,
    LedgerError,
    LedgerFull,
    LedgerMissing,
    LedgerReadOnly,
    LedgerUnreachable,
    WrongKind,
)
from agent.ledger.server.roles import owned_by, sight_of
from agent.ledger.state_names import HISTORY_KEPT
from agent.ledger.store.database import Database, Dropped, Reading, Sight, Transaction
from agent.ledger.store.schema import HEAD, MomentType, alembic_version, documents, given
from agent.ledger.store.tables import VERSION, create_tables, migrate, require_known
from connectors.postgresql.errors import is_full
from connectors.postgresql.sessions import LimitedConnection
from connectors.postgresql.settings import NOTICES_A_DEAD_SERVER

READ_ONLY = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
LOCK_DECISIONS = "LOCK TABLE audit_head IN SHARE ROW EXCLUSIVE MODE"
# 0x686F7470 is "hotp". An advisory lock, since autovacuum would hold up a lock on the large tables of samples.
LOCK_SAMPLES = "SELECT pg_advisory_xact_lock(1752134768, hashtext(current_schema))"
# A level above the usual one (remote_apply) stays; one below it would let a failover take an intent back.
DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', true) "
    "WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')"
)
NOT_DURABLE = "SET LOCAL synchronous_commit = off"
PATIENCE_SECONDS = 45.0  # for an answer of the server; longer than any lock is waited for
REST_SECONDS = 1.0  # between two tries to reach a server that does not answer
ROWS_IN_A_PIECE = 200  # of a long answer: proposals have texts of megabytes
_CURSORS = count(1)
IDLE_MS = 60_000  # of a transaction whose agent says nothing: then the server ends it and frees its locks
_NOW = select(cast(1_000_000 * extract("epoch", func.clock_timestamp()), MomentType))
_CLASSES = table("pg_class", column("oid"), column("relnamespace"), column("relkind"))
_SIZE = select(func.coalesce(func.sum(func.pg_total_relation_size(_CLASSES.c.oid)), 0)).where(
    _CLASSES.c.relnamespace == func.to_regnamespace(bindparam("schema", type_=Text)), _CLASSES.c.relkind == "r"
)

_DROP_WEEKS = select(func.keep_history(bindparam("now", type_=MomentType)).table_valued("dropped", "dropped_bytes"))


class ServerDatabase(Database):
    """Short transactions on a ledger of a PostgreSQL server. Safe to use from several threads."""

    errors: ClassVar[tuple[type[Exception], ...]] = (psycopg.Error, WrongKind)
    dialect: ClassVar[Dialect] = psycopg_dialect.dialect(dbapi=psycopg)  # type: ignore[no-untyped-call]  # SQLAlchemy's
    url: ClassVar[str] = "postgresql+psycopg://"

    def __init__(self, server: LedgerServer, *, busy_seconds: float) -> None:
        """Prepare; connects on first use.

        Args:
            server: where and who.
            busy_seconds: how long to wait for a lock before ``LedgerBusy``.
        """
        super().__init__(server.name, server.lease_seconds)
        self.server = server
        self._settings = _settings_of_transaction(server, busy_seconds)
        self._closed_until = -math.inf  # on the monotonic clock
        self._why_closed = ""

    def read(self) -> AbstractContextManager[Reading]:
        """One consistent snapshot; writers are not blocked."""
        return self._reading(f"{READ_ONLY}; {self._settings}")

    def write(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """One transaction, alone of its kind from its start; commits at the end, rolls back on any error.

        Raises:
            LedgerBusy: another session kept the lock.
            LedgerUnreachable: the server does not answer. If that happened at the commit, it may have been made.
        """
        return self.write_after(f"{DURABLE}; {LOCK_DECISIONS}" if durable else f"{NOT_DURABLE}; {LOCK_SAMPLES}")

    def write_apart(self) -> AbstractContextManager[Transaction]:
        """A durable transaction that waits for decisions only where it locks the same row."""
        return self.write_after(DURABLE)

    def write_after(self, *begin: str) -> AbstractContextManager[Transaction]:
        """A transaction that writes, begun with these statements after the settings of each."""
        return self._writing(f"BEGIN; {self._settings}", *begin)

    def latest_possible(self, reading: Reading, now: datetime) -> datetime:
        """What the clock of the server says, which refuses later rows."""
        del now
        return self.now(reading)

    def now(self, reading: Reading) -> datetime:
        """The clock of the server at this moment, not at the start of the transaction."""
        now: datetime = reading.scalar(_NOW)
        return now

    def sight(self, reading: Reading) -> Sight:
        """What the policies of ``grants.sql`` leave to the login."""
        return sight_of(reading)

    def find_owned(self, reading: Reading) -> frozenset[str] | None:
        """Those of the login's teams."""
        return owned_by(reading)

    def moved_to(self, reading: Reading) -> str:
        """Nowhere: there is no way back to a file."""
        del reading
        return ""

    def size_bytes(self) -> int:
        """All tables and indexes of the schema."""
        with self.read() as reading:
            return int(reading.scalar(_SIZE, schema=self.server.schema_name))

    def find_damage(self) -> str:
        """Nothing: the server's own checksums tell damage when a page is read."""
        return ""

    def drop_history(self, now: datetime, kept_seconds: float, databases: Collection[str]) -> Dropped:
        """Say how long these databases are kept, and drop the weeks that no database needs any more."""
        said = [
            {"database": name, "name": HISTORY_KEPT, "at": now, "body": str(round(kept_seconds))}
            for name in sorted(databases)
        ]
        if said:
            with self.write(durable=False) as transaction:
                transaction.put(documents, said)
        try:
            with self.write(durable=False) as transaction:
                row = transaction.first(_DROP_WEEKS, now=now)
        except LedgerBusy:  # a long look at history keeps its partitions for now: the next hour's turn
            return Dropped(rows=0, bytes=0)
        assert row is not None, "a function returns a row"
        return Dropped(rows=row.dropped, bytes=row.dropped_bytes)

    # -- sessions ------------------------------------------------------------------------------------------------

    def _take(self, *begin: str) -> LimitedConnection:
        """A session whose transaction has begun; one that the server has ended meanwhile is replaced."""
        first, *rest = begin
        with self.own_errors:
            session = self._begun_again(first)
            if session is None:
                session, rest = self._connect(), list(begin)
            self._begin(session, *rest)
            return session

    def _begun_again(self, begin: str) -> LimitedConnection | None:
        """A free session that still lives."""
        while self._free:
            session: LimitedConnection = self._free.pop()
            try:
                session.execute(begin.encode())
            except psycopg.OperationalError:  # restarted or failed over since: nothing was asked of it yet
                session.close()
            else:
                return session
        return None

    def _connect(self) -> LimitedConnection:
        """A new session; a server that has just not answered is left alone for a moment.

        Raises:
            psycopg.OperationalError: the server does not answer, or did not a moment ago, or refuses the login.
            SecretUnavailable: the password's place is empty.
        """
        # A sample makes a dozen calls. Each of them would wait for a silent network as long as a login may take, and
        # the sample would come minutes late.
        if time.monotonic() < self._closed_until:
            raise psycopg.OperationalError(self._why_closed)
        arguments: dict[str, Any] = {**self.server.connect_arguments(), **NOTICES_A_DEAD_SERVER}
        try:
            connection = LimitedConnection.connect(
                **arguments, application_name="hotplace ledger",
                client_encoding="utf8", autocommit=True,  # BEGIN is sent with the settings, in one go
                prepare_threshold=None,  # a prepared statement is the session's, and a pooler shares that
            )  # fmt: skip
        except psycopg.OperationalError as error:
            self._closed_until, self._why_closed = time.monotonic() + REST_SECONDS, str(error)
            raise
        connection.patience_seconds = PATIENCE_SECONDS
        return connection

    def cursor_of_many(self, driver: LimitedConnection) -> psycopg.ServerCursor:
        """One of the server, which sends some rows at a time, where it would else send all at once."""
        cursor = driver.cursor(name=f"rows_{next(_CURSORS)}")
        cursor.itersize = ROWS_IN_A_PIECE
        return cursor

    # -- errors --------------------------------------------------------------------------------------------------

    def translate(self, error: BaseException) -> LedgerError | None:
        """The ledger's own error for one of psycopg's; None where psycopg's says as much."""
        if isinstance(error, WrongKind):
            return self.corrupt(str(error), error.table, **error.key)
        if not isinstance(error, psycopg.Error):
            return None
        state = "53100" if is_full(error) else error.sqlstate or ""
        if state in _BY_STATE:
            kind, said, advice = _BY_STATE[state]
            return kind(f"the ledger {self.name} {said}: {_words(error)}", advice=advice)
        if state.startswith("08") or state in _ENDED_BY_SERVER or (not state and _of_connection(error)):
            return LedgerUnreachable(
                f"the ledger {self.name} does not answer: {_words(error)}",
                advice="Check that the server runs and is reached from here. "
                "What runs is finished; nothing new begins.",
            )
        return None

    def corrupt(self, detail: str, table: str = "", **key: object) -> LedgerCorrupt:
        """The error that says that something stored is damaged."""
        row = f"row {key['id']} of {table}: " if "id" in key else ""
        return LedgerCorrupt(
            f"{self.name} is not a usable ledger: {row}{detail}",
            advice="Look at the log of the server, and restore a backup of it.",
        )


def _settings_of_transaction(server: LedgerServer, busy_seconds: float) -> str:
    """What every transaction sets first."""
    # No schema but the ledger's, and temporary objects last: what a user puts into public is never found by name.
    return (
        f'SET LOCAL search_path = "{server.schema_name}", pg_catalog, pg_temp; '
        f"SET LOCAL lock_timeout = {round(1000 * busy_seconds)}; "
        f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_MS}"
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
              "Name the primary, or all of them with commas; where it is a setting, hotplace doctor says so."),
    "42501": (LedgerReadOnly, "lacks a privilege", "Run hotplace doctor: it names what is missing, and what gives it."),
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


def _of_connection(error: psycopg.Error) -> bool:
    """Whether an error without a SQLSTATE is the connection's: libpq gives it none."""
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def _words(error: psycopg.Error) -> str:
    """The server's own words on one line."""
    primary = error.diag.message_primary
    return " ".join((primary or str(error) or type(error).__name__).split())


OURS = "audit_head"  # a table that every revision has, besides that of the version
LOCK_OPENING = "SELECT pg_advisory_xact_lock(1752134768, hashtext('opening'))"
_TABLES = table("pg_tables", column("schemaname", Text), column("tablename", Text), schema="pg_catalog")
_SCHEMAS = table("pg_namespace", column("nspname", Text), column("nspowner"), schema="pg_catalog")
_TABLES_OF = select(_TABLES.c.tablename).where(given(_TABLES.c.schemaname))
_SCHEMA = select(_SCHEMAS.c.nspname).where(given(_SCHEMAS.c.nspname))
_OWNER = select(func.pg_get_userbyid(_SCHEMAS.c.nspowner)).where(given(_SCHEMAS.c.nspname))
# Of itself a login is a member too. Whether it may take the role (PostgreSQL 16 has an option for that) is seen then.
_MAY_BECOME = select(func.pg_has_role(bindparam("owner", type_=Text), "MEMBER"))


def bring_up_to_date(database: ServerDatabase, *, create: bool) -> str | None:
    """Create or migrate the tables where needed; the revision found, "" for a new ledger, None when all was in place.

    Raises:
        LedgerMissing: there is none, and none is to be made.
        LedgerCorrupt: the schema holds something else.
        LedgerTooNew: a newer hotplace wrote it.
        LedgerReadOnly: the user may not create the schema or its tables.
    """
    if read_revision(database) == HEAD:
        return None
    with database.write_after(LOCK_OPENING) as transaction:
        found = read_revision(database)  # again under the lock: another process may have made it meanwhile
        if found == HEAD:
            return None
        if not found and not create:
            raise LedgerMissing(
                f"there is no ledger at {database.name}", advice="Start hotplace once, or correct ledger.postgresql."
            )
        if found:
            _migrate(database, transaction)
        else:
            require_schema(database, transaction)
            create_tables(transaction)
            divide_history(transaction, database.server.schema_name)
    return found


def _migrate(database: ServerDatabase, transaction: Transaction) -> None:
    """Bring the tables up to date.

    Raises:
        LedgerReadOnly: they belong to another role.
    """
    try:
        _become_owner(database, transaction)
        migrate(transaction)
        divide_history(transaction, database.server.schema_name)
    except LedgerReadOnly as error:
        raise LedgerReadOnly(
            f"the tables of the ledger {database.name} are older than this hotplace, and its user may not change them",
            advice="Run hotplace rules list once with a login that is a member of the owner's role, then what hotplace "
            "ledger grants prints.",
        ) from error


def _become_owner(database: ServerDatabase, transaction: Transaction) -> None:
    """Do what follows in the transaction as the schema's owner: what a member of it makes would be the member's own.

    Raises:
        LedgerReadOnly: the user may not.
    """
    owner = transaction.scalar(_OWNER, nspname=database.server.schema_name)
    if owner is not None and transaction.scalar(_MAY_BECOME, owner=owner):
        escaped = str(owner).replace('"', '""')
        with database.own_errors:
            transaction.driver.execute(f'SET LOCAL ROLE "{escaped}"'.encode())


def divide_history(transaction: Transaction, schema: str) -> None:
    """Give the history of new or migrated tables its partitions; where it has them, only what keeps them.

    Args:
        transaction: that made the tables, or brought them up to date.
        schema: of the ledger, ``[a-z0-9_]`` only.

    Raises:
        LedgerReadOnly: the tables belong to another role.
    """
    text = files(__package__).joinpath("partitions.sql").read_text(encoding="utf-8")
    with transaction.database.own_errors:
        transaction.driver.execute(text.replace("@schema@", schema))


def require_schema(database: ServerDatabase, transaction: Transaction) -> None:
    """Make the schema where it is missing.

    Raises:
        LedgerReadOnly: the user may not.
    """
    schema = database.server.schema_name
    if transaction.first(_SCHEMA, nspname=schema) is not None:
        return
    try:
        with transaction.core() as core:
            core.execute(CreateSchema(schema))
    except LedgerReadOnly as error:
        raise LedgerReadOnly(
            f"the ledger {database.name} has no schema {schema} yet, and its user may not create it",
            advice=f'Let an administrator run: CREATE SCHEMA "{schema}" AUTHORIZATION "{database.server.user}";',
        ) from error


def read_revision(database: ServerDatabase) -> str:
    """The revision of the tables, "" when there are none yet.

    Raises:
        LedgerCorrupt: the schema holds something else.
        LedgerTooNew: a newer hotplace wrote it.
        LedgerMoved: another ledger is being moved there.
    """
    with database.read() as reading:
        revision = read_version(database, reading)
    if revision is None:
        return ""
    require_known(revision, database.name)
    return revision


def read_version(database: ServerDatabase, reading: Reading) -> str | None:
    """What the tables say that they are, known or not; None when there are none yet.

    Raises:
        LedgerCorrupt: the schema holds something else.
    """
    tables = {row.tablename for row in reading.rows(_TABLES_OF, schemaname=database.server.schema_name)}
    if not tables:
        return None
    if not tables >= {OURS, alembic_version.name}:
        raise database.corrupt("the schema holds tables of something else")
    return str(reading.scalar(VERSION))
