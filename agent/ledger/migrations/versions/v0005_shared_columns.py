"""One copy of each column that several sets of arrays have in common."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0005"
down_revision = "v0004"


def upgrade() -> None:
    """Two new tables; arrays that are there stay as they are, in one piece."""
    op.create_table(
        "shared_columns",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_table(
        "array_columns",
        sa.Column("database", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("column", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("database", "name", "column"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_array_columns_digest", "array_columns", ["digest"])
