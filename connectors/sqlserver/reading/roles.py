"""The log of a database and tempdb as figures of roles. SQL Server has no undo space: tempdb holds row versions.

Waits for logs (WRITELOG) are counted for the whole server, and stalls of tempdb are of all its databases and of
background writes too: both are upper bounds of what sessions here wait for. Nothing tells the use of tempdb by table.
"""

from __future__ import annotations

from collections.abc import Sequence

from connectors.sqlserver.session.sessions import Row
from connectors.storage_io import Role, RoleFigures

MILLISECONDS = 1e-3
LOG, TEMP, WAIT = "log", "temp", "wait"
_OF_ALL_LOGS = "WRITELOG waits of all databases of the server, an upper bound"
_OF_ALL_STALLS = "stalls of all reads and writes of tempdb by all databases, an upper bound"


def role_figures(rows: Sequence[Row]) -> tuple[RoleFigures, ...]:
    """Rows of ``sql/roles.sql``; a database in the cloud shows no tempdb, whose sums are then NULL."""
    waited = next((float(row[5]) * MILLISECONDS for row in rows if row[0] == WAIT), float("nan"))
    files = [row for row in rows if row[0] in {LOG, TEMP} and row[2] is not None]
    return tuple(_figures(row, waited) for row in files)


def _figures(row: Row, log_waits: float) -> RoleFigures:
    role, name, reads, read_ms, writes, write_ms, written = row
    read_seconds, write_seconds = float(read_ms) * MILLISECONDS, float(write_ms) * MILLISECONDS
    return RoleFigures(
        role=Role(role),
        name=str(name),
        reads=float(reads),
        read_seconds=read_seconds,
        writes=float(writes),
        write_seconds=write_seconds,
        waited_seconds=log_waits if role == LOG else read_seconds + write_seconds,
        written_bytes=float(written),
        note=_OF_ALL_LOGS if role == LOG else _OF_ALL_STALLS,
    )
