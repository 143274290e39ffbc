"""What a support bundle says of a ledger: numbers of rows, and no content."""

from __future__ import annotations

from typing import Any

from agent.ledger.file.reading import Reading
from agent.ledger.file.revisions import VERSION_TABLE
from agent.ledger.file.schema import metadata

_REVISION = f"SELECT version_num FROM {VERSION_TABLE}"  # noqa: S608  # our own


def read_figures(reading: Reading) -> dict[str, Any]:
    """Revision and rows of the tables, and how many proposals and moves are in which state."""
    return {
        "revision": [row.version_num for row in reading.rows(_REVISION)],
        "rows": {name: reading.scalar(f"SELECT count(*) FROM {name}") for name in sorted(metadata.tables)},  # noqa: S608  # our own
        "proposals_by_state": _by_state(reading, "proposals"),
        "moves_by_state": _by_state(reading, "moves"),
    }


def _by_state(reading: Reading, table: str) -> dict[str, int]:
    rows = reading.rows(f"SELECT state, count(*) AS number FROM {table}", then="GROUP BY state ORDER BY state")  # noqa: S608
    return {row.state: row.number for row in rows}
