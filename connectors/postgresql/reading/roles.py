"""The write-ahead log and what sorts and temporary tables do, as figures of roles. PostgreSQL has no undo space.

Nothing times the temporary files of sorts and hashes (not even ``track_io_timing``), and no view tells them by table.
"""

from __future__ import annotations

from collections.abc import Sequence

from connectors.postgresql.session.sessions import Row
from connectors.storage_io import Role, RoleFigures

LOG_BY_OBJECT, TEMPORARY_TABLES = 180000, 160000  # versions whose pg_stat_io knows the log, and temporary tables
_TIMES = ("read_seconds", "write_seconds", "waited_seconds")
_COLUMNS = ("reads", "read_seconds", "writes", "write_seconds", "waited_seconds", "written_bytes", "active_seconds")
_UNTIMED = {
    "pg_wal": "its I/O is not timed; ALTER SYSTEM SET track_wal_io_timing = on, then SELECT pg_reload_conf(), times it",
    "temporary tables": "track_io_timing is off",
    "temporary files": "PostgreSQL does not time the files of sorts and hashes; more work_mem keeps them in memory, "
    "and temp_tablespaces puts them on other storage",
}
_OF_ALL_PROCESSES = (
    "times of all processes that write it; sessions wait for most of them, unless commits are asynchronous"
)


def query_for(version: int) -> str:
    """Name of the query of roles for a server of that version."""
    if version >= LOG_BY_OBJECT:
        return "roles"
    return "roles_16" if version >= TEMPORARY_TABLES else "roles_14"


def role_figures(rows: Sequence[Row]) -> tuple[RoleFigures, ...]:
    """Rows of ``sql/roles.sql``: what is NULL, or a time while timing is off, is unknown."""
    return tuple(_figures(row) for row in rows)


def _figures(row: Row) -> RoleFigures:
    role, name, *values, timed = row
    known = {
        column: float(value)
        for column, value in zip(_COLUMNS, values, strict=True)
        if value is not None and (timed or column not in _TIMES)
    }
    note = _UNTIMED[name] if not timed else "" if "waited_seconds" in known else _OF_ALL_PROCESSES
    return RoleFigures(role=Role(role), name=name, note=note, **known)
