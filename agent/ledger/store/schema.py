"""The tables as the newest migration leaves them, and what their columns hold.

``tests/ledger/test_schema.py`` holds tables and migrations to each other, on SQLite and on PostgreSQL. Instants are
whole microseconds since 1970 in UTC: exact, sortable, and without a time zone to misread. What was decided is text that
a person can read with any SQLite tool; what was measured is compressed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from agent.ledger.errors import WrongKind

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LARGEST = 2**63 - 1
APPLICATION_ID = 0x686F7470  # "hotp": tells a ledger from any other SQLite file
# Every migration, the oldest first.
REVISIONS = ("v0001", "v0002", "v0003", "v0004", "v0005", "v0006", "v0007", "v0008", "v0009", "v0010", "v0011")
HEAD = REVISIONS[-1]
ARRIVING = "arriving"  # in place of a revision, while the rows of another ledger are moved here


def microseconds(at: datetime) -> int:
    """Whole microseconds since 1970.

    Raises:
        ValueError: the time names no zone.
    """
    if at.tzinfo is None:
        raise ValueError(f"the time {at} names no zone")
    return (at - EPOCH) // timedelta(microseconds=1)


def instant(microseconds_: int) -> datetime:
    """Inverse of ``microseconds``.

    Raises:
        WrongKind: it is no number, or one of a time beyond the calendar.
    """
    try:
        return EPOCH + timedelta(microseconds=microseconds_)
    except (TypeError, ValueError, OverflowError) as error:
        raise WrongKind(f"an instant is {microseconds_!r:.40}") from error


class Moment(TypeDecorator[datetime]):
    """An aware datetime, stored as microseconds."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:  # noqa: ARG002  # SQLAlchemy's signature
        """Python to the database."""
        return None if value is None else microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002  # SQLAlchemy's signature
        """The database to Python."""
        return None if value is None else instant(value)


class Whole(TypeDecorator[int]):
    """A whole number that a query asks for, which may be one that no row can have: people mistype, and facts lie."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:  # noqa: ARG002  # SQLAlchemy's signature
        """The number, or the nearest that a database can hold: no row has a larger one."""
        return None if value is None else max(-LARGEST - 1, min(LARGEST, value))


metadata = MetaData(naming_convention={"ix": "ix_%(table_name)s_%(column_0_name)s"})

proposals = Table(
    "proposals",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("database", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("same_work", Text, nullable=False),  # equal for proposals that would do the same
    Column("body", Text, nullable=False),  # agent.model.proposals.proposal_text
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Column("decided_at", Moment),
    Column("decided_by", Text, nullable=False),
    Column("decided_from", Text, nullable=False),
    Column("approved_digest", Text),
    Index("ix_proposals_database", "database", "state"),
    Index("ix_proposals_created_at", "created_at"),
    sqlite_autoincrement=True,  # a number that a person has seen is never given again
)

moves = Table(
    "moves",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("proposal_id", Integer, ForeignKey("proposals.id"), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("updated_at", Moment, nullable=False),
    UniqueConstraint("proposal_id", "ordinal"),
    Index("ix_moves_state", "state"),
    Index("ix_moves_updated_at", "updated_at"),
    sqlite_autoincrement=True,
)

placements = Table(
    "placements",
    metadata,
    Column("database", Text, primary_key=True),
    Column("unit_key", Text, primary_key=True),
    Column("placed_at", Moment, nullable=False),
    sqlite_with_rowid=False,
)

steps = Table(
    "steps",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("move_id", Integer, ForeignKey("moves.id"), nullable=False, index=True),
    Column("ordinal", Integer, nullable=False),
    Column("sql", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("intended_at", Moment, nullable=False),
    Column("ended_at", Moment, index=True),
)

outcomes = Table(
    "outcomes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("move_id", Integer, ForeignKey("moves.id"), nullable=False, index=True),
    Column("at", Moment, nullable=False),
    Column("body", Text, nullable=False),
)

asks = Table(
    "asks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("move_id", Integer, ForeignKey("moves.id"), nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Column("answer", Text, nullable=False),
    sqlite_autoincrement=True,
)

closed_spaces = Table(
    "closed_spaces",
    metadata,
    Column("database", Text, primary_key=True),
    Column("space", Text, primary_key=True),
    Column("who", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Moment, nullable=False),
    sqlite_with_rowid=False,
)

pins = Table(
    "pins",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("database", Text, nullable=False),
    Column("pattern", Text, nullable=False),
    Column("pin", Integer, nullable=False),
    Column("who", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("until", Moment),
    UniqueConstraint("database", "pattern"),
    sqlite_autoincrement=True,
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Moment, nullable=False, index=True),
    Column("actor", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("subject", Text, nullable=False, index=True),
    Column("facts", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

audit_head = Table(  # one row: where the chain ends, so that cutting off its tail shows
    "audit_head",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("last_id", Integer, nullable=False),
    Column("hash", Text, nullable=False),
    Column("at", Moment),  # the latest time of a row, apart from those that no clock can have said
)

arrays = Table(
    "arrays",
    metadata,
    Column("database", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("at", Moment, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

shared_columns = Table(  # one copy of each column of arrays, found by its hash: agent.ledger.shared_columns
    "shared_columns",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

array_columns = Table(  # which of them a set of arrays has
    "array_columns",
    metadata,
    Column("database", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("column", Text, primary_key=True),
    Column("digest", Text, nullable=False, index=True),
    sqlite_with_rowid=False,
)

documents = Table(
    "documents",
    metadata,
    Column("database", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("at", Moment, nullable=False),
    Column("body", Text, nullable=False),
)

unit_slots = Table(  # keys are unique within a database because slots are only given under the write lock
    "unit_slots",
    metadata,
    Column("database", Text, primary_key=True),
    Column("slot", Integer, primary_key=True),
    Column("unit_key", Text, nullable=False),
    sqlite_with_rowid=False,
)

history = Table(
    "history",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("database", Text, nullable=False),
    Column("resolution_seconds", Integer, nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("ended_at", Moment, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("signals", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("ix_history_database", "database", "ended_at"),
    Index("ix_history_resolution_seconds", "resolution_seconds", "ended_at"),
)

work = Table(
    "work",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("database", Text, nullable=False),
    Column("ended_at", Moment, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("body", Text, nullable=False),  # agent.ledger.measured.rates
    Index("ix_work_database", "database", "ended_at"),
)

statements = Table(
    "statements",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("database", Text, nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("ended_at", Moment, nullable=False),
    Column("body", LargeBinary, nullable=False),  # agent.ledger.measured.statements
    Index("ix_statements_database", "database", "ended_at"),
)

leases = Table(  # one row for each database that was ever acted on: agent.ledger.leases
    "leases",
    metadata,
    Column("database", Text, primary_key=True),
    Column("token", BigInteger, nullable=False),  # of the newest holder; it only ever grows
    Column("holder", Text, nullable=False),  # which process, in words
    Column("session", Text, nullable=False),  # the same, in a word that is never used again; "": given back
    Column("seconds", Float, nullable=False),  # how long it lasts without being renewed
    Column("expires_at", Moment),  # by the clock of the server; None: it lasts until another one takes it
    sqlite_with_rowid=False,
)

# Which revision the tables are of; Alembic's own, and so with its own name for the key.
alembic_version = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
