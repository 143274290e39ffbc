"""The first tables: proposals, moves, their journal, pins, audit chain, small state and history."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0001"
down_revision = None


def upgrade() -> None:
    """Create them all."""
    _decisions()
    _journal()
    _audit()
    _small_state()
    _history()


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def _integer(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False)


def _moment(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=nullable)


def _decisions() -> None:
    op.create_table(
        "proposals",
        _integer("id"),
        _text("database"),
        _text("fingerprint"),
        _text("digest"),
        _text("same_work"),
        _text("body"),
        _text("state"),
        _text("reason"),
        _moment("created_at"),
        _moment("expires_at"),
        _moment("decided_at", nullable=True),
        _text("decided_by"),
        _text("decided_from"),
        _text("approved_digest", nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_proposals_database", "proposals", ["database", "state"])
    op.create_table(
        "pins",
        _integer("id"),
        _text("database"),
        _text("pattern"),
        _integer("pin"),
        _text("who"),
        _text("reason"),
        _moment("created_at"),
        _moment("until", nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("database", "pattern"),
        sqlite_autoincrement=True,
    )


def _journal() -> None:
    op.create_table(
        "moves",
        _integer("id"),
        _integer("proposal_id"),
        _integer("ordinal"),
        _text("state"),
        _text("reason"),
        _integer("attempts"),
        _moment("updated_at"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("proposal_id", "ordinal"),
        sa.ForeignKeyConstraint(["proposal_id"], ["proposals.id"]),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_moves_state", "moves", ["state"])
    op.create_table(
        "placements",
        _text("database"),
        _text("unit_key"),
        _moment("placed_at"),
        sa.PrimaryKeyConstraint("database", "unit_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "steps",
        _integer("id"),
        _integer("move_id"),
        _integer("ordinal"),
        _text("sql"),
        _text("state"),
        _text("detail"),
        _moment("intended_at"),
        _moment("ended_at", nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["move_id"], ["moves.id"]),
    )
    op.create_index("ix_steps_move_id", "steps", ["move_id"])
    op.create_table(
        "outcomes",
        _integer("id"),
        _integer("move_id"),
        _moment("at"),
        _text("body"),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["move_id"], ["moves.id"]),
    )
    op.create_index("ix_outcomes_move_id", "outcomes", ["move_id"])


def _audit() -> None:
    op.create_table(
        "audit",
        _integer("id"),
        _moment("at"),
        _text("actor"),
        _text("event"),
        _text("subject"),
        _text("facts"),
        _text("previous"),
        _text("hash"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table("audit_head", _integer("id"), _integer("last_id"), _text("hash"), sa.PrimaryKeyConstraint("id"))


def _small_state() -> None:
    op.create_table(
        "arrays",
        _text("database"),
        _text("name"),
        _moment("at"),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("database", "name"),
    )
    op.create_table(
        "documents",
        _text("database"),
        _text("name"),
        _moment("at"),
        _text("body"),
        sa.PrimaryKeyConstraint("database", "name"),
    )


def _history() -> None:
    op.create_table(
        "unit_slots",
        _text("database"),
        _integer("slot"),
        _text("unit_key"),
        sa.PrimaryKeyConstraint("database", "slot"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "history",
        _integer("id"),
        _text("database"),
        _integer("resolution_seconds"),
        _moment("started_at"),
        _moment("ended_at"),
        sa.Column("seconds", sa.Float(), nullable=False),
        _integer("signals"),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_history_database", "history", ["database", "ended_at"])
    op.create_index("ix_history_resolution_seconds", "history", ["resolution_seconds", "ended_at"])
