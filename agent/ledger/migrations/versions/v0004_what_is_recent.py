"""What is recent is found without a look at everything that is older."""

from __future__ import annotations

from alembic import op

revision = "v0004"
down_revision = "v0003"


def upgrade() -> None:
    """Four indexes by time; what is there stays as it is."""
    op.create_index("ix_proposals_created_at", "proposals", ["created_at"])
    op.create_index("ix_moves_updated_at", "moves", ["updated_at"])
    op.create_index("ix_steps_ended_at", "steps", ["ended_at"])
    op.create_index("ix_audit_at", "audit", ["at"])
