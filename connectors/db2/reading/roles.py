"""The transaction log and temporary table spaces as figures of roles. Db2 has no undo space: the log is read back.

Waits for the log are counted where sessions wait (LOG_DISK_WAIT_TIME), so a flush that several wait for counts for each
of them. Temporary table spaces are known by the pages that sessions read and wrote themselves, and by direct I/O; no
function tells their use by table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connectors.db2.reading.space_counters import MILLISECONDS, SpaceTotals
from connectors.db2.session.sessions import Row
from connectors.model import F64
from connectors.storage_io import Role, RoleFigures

TEMPORARY = frozenset({"SYSTEMP", "USRTEMP"})
LOG = "transaction log"


def log_figures(members: Sequence[Row]) -> tuple[RoleFigures, ...]:
    """Of all members by rows of ``sql/database.sql``; none where the version does not tell."""
    if not members:
        return ()
    waited = sum(int(row[5] or 0) for row in members) / MILLISECONDS
    flushes = float(sum(int(row[4] or 0) for row in members))
    return (RoleFigures(role=Role.LOG, name=LOG, writes=flushes, write_seconds=waited, waited_seconds=waited),)


def temporary_figures(
    names: Sequence[str], contents: Sequence[str], totals: SpaceTotals, columns: Mapping[str, F64]
) -> tuple[RoleFigures, ...]:
    """Of each temporary table space over all members.

    Args:
        names: of the table space of each row of ``sql/sample_spaces.sql``.
        contents: TBSP_CONTENT_TYPE of each.
        totals: figures of each row.
        columns: the numbers of each row by name.
    """
    reads = totals.sync + columns["DIRECT_READ_REQS"]
    read_seconds = totals.sync_read_seconds + columns["DIRECT_READ_TIME"] / MILLISECONDS
    writes = totals.sync_writes + columns["DIRECT_WRITE_REQS"]
    write_seconds = totals.sync_write_seconds + columns["DIRECT_WRITE_TIME"] / MILLISECONDS
    rows_of: dict[str, list[int]] = {}
    for row, (name, content) in enumerate(zip(names, contents, strict=True)):
        if content in TEMPORARY:
            rows_of.setdefault(name, []).append(row)
    return tuple(
        RoleFigures(
            role=Role.TEMP,
            name=name,
            reads=float(reads[rows].sum()),
            read_seconds=float(read_seconds[rows].sum()),
            writes=float(writes[rows].sum()),
            write_seconds=float(write_seconds[rows].sum()),
            waited_seconds=float((read_seconds + write_seconds)[rows].sum()),
        )
        for name, rows in rows_of.items()
    )
