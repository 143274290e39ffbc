"""History on a server has a partition for each week: ``server/partitions.sql`` makes them after this."""

from __future__ import annotations

revision = "v0008"
down_revision = "v0007"


def upgrade() -> None:
    """Nothing for a file: SQLite has no partitions. What is there stays as it is."""
