"""What marks a ledger's file, and the revisions of its tables."""

from __future__ import annotations

APPLICATION_ID = 0x686F7470  # "hotp": tells a ledger from any other SQLite file
# Every migration, the oldest first.
REVISIONS = ("v0001", "v0002", "v0003", "v0004", "v0005", "v0006", "v0007", "v0008", "v0009", "v0010")
HEAD = REVISIONS[-1]
ARRIVING = "arriving"  # in place of a revision, while the rows of another ledger are moved here
VERSION_TABLE = "alembic_version"
