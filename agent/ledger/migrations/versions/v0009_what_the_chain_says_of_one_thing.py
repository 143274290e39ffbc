"""What the chain says of one proposal, move or step is found without a look at all rows."""

from __future__ import annotations

from alembic import op

revision = "v0009"
down_revision = "v0008"


def upgrade() -> None:
    """One index; what is there stays as it is."""
    op.create_index("ix_audit_subject", "audit", ["subject"])
