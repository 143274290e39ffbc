"""Rows of views that need a licence: what AWR kept of segments, and objects with ADO policies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.labs.oracle.database import EmulatedDatabase

Rows = Iterator[dict[str, Any]]
_DELTAS = {
    "LOGICAL_READS_DELTA": "logical reads",
    "PHYSICAL_READS_DELTA": "physical reads",
    "PHYSICAL_READS_DIRECT_DELTA": "physical reads direct",
    "PHYSICAL_READ_REQUESTS_DELTA": "physical read requests",
    "PHYSICAL_WRITES_DELTA": "physical writes",
}


@dataclass(slots=True)
class Snapshot:
    """One of AWR, of all instances: what the segments that stood out did since the one before."""

    number: int
    taken_at: datetime
    deltas: list[dict[tuple[int, int], Counter[str]]]  # by instance: object and data object id


def snapshots(db: EmulatedDatabase) -> Rows:
    """DBA_HIST_SNAPSHOT: a row for each instance."""
    for snapshot in db.snapshots:
        for at in range(db.quirks.instances):
            yield {
                "SNAP_ID": snapshot.number, "DBID": db.database_id, "INSTANCE_NUMBER": at + 1,
                "STARTUP_TIME": db.started[at], "BEGIN_INTERVAL_TIME": snapshot.taken_at,
                "END_INTERVAL_TIME": snapshot.taken_at, "SNAP_LEVEL": 1, "ERROR_COUNT": 0, "SNAP_FLAG": 0,
            }  # fmt: skip


def segment_history(db: EmulatedDatabase) -> Rows:
    """DBA_HIST_SEG_STAT: only segments that stood out."""
    container = db.database_id + (3 if db.quirks.container and db.version >= (12, 1) else 0)
    for snapshot in db.snapshots:
        for at, deltas in enumerate(snapshot.deltas):
            for (number, data), counted in deltas.items():
                yield {
                    "SNAP_ID": snapshot.number, "DBID": db.database_id, "INSTANCE_NUMBER": at + 1, "OBJ#": number,
                    "DATAOBJ#": data, "CON_DBID": container,
                    **{column: counted[name] for column, name in _DELTAS.items()},
                }  # fmt: skip


def ado_objects(db: EmulatedDatabase) -> Rows:
    """DBA_ILMOBJECTS."""
    for table in db.tables.values():
        if table.ado:
            yield {
                "POLICY_NAME": f"P{table.object_id}", "OBJECT_OWNER": table.owner, "OBJECT_NAME": table.name,
                "OBJECT_TYPE": "TABLE", "ENABLED": "YES",
            }  # fmt: skip
