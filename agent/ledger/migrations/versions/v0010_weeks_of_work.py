"""Work on a server has a partition for each week, as history has: ``server/partitions.sql`` makes them."""

from __future__ import annotations

revision = "v0010"
down_revision = "v0009"


def upgrade() -> None:
    """Nothing for a file: SQLite has no partitions. What is there stays as it is."""
