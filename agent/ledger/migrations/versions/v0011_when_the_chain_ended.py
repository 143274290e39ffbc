"""The head of the chain holds the latest time of its rows: the next one is not dated before it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0011"
down_revision = "v0010"


def upgrade() -> None:
    """One column, filled by the next row."""
    op.add_column("audit_head", sa.Column("at", sa.BigInteger))
