"""Rows of the V$ views about redo: online logs, archive destinations, standbys, the recovery area."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tests.labs.oracle.model import STARTED
from tests.labs.oracle.redo import GROUPS, Destination, interval

if TYPE_CHECKING:
    from tests.labs.oracle.database import EmulatedDatabase

Rows = Iterator[dict[str, Any]]
WHOLE = 0  # CON_ID of what the whole database has
PRIMARY = "PRIMARY"
TO_SECOND, TO_MILLISECOND = "day(2) to second(0) interval", "day(2) to second(3) interval"


def destinations(db: EmulatedDatabase, _: int) -> Rows:
    """V$ARCHIVE_DEST: a local one, and those that feed standbys."""
    redo = db.redo
    yield {
        "DEST_ID": 1, "DEST_NAME": "LOG_ARCHIVE_DEST_1", "STATUS": "VALID", "TARGET": "PRIMARY", "BINDING": "MANDATORY",
        "DESTINATION": "USE_DB_RECOVERY_FILE_DEST" if redo.area_limit else "/u01/arch", "ERROR": None,
        "LOG_SEQUENCE": redo.sequence - 1, "DELAY_MINS": 0, "TRANSMIT_MODE": "SYNCHRONOUS", "AFFIRM": "NO",
        "DB_UNIQUE_NAME": "NONE", "CON_ID": WHOLE,
    }  # fmt: skip
    for to in redo.destinations:
        yield {
            "DEST_ID": to.number, "DEST_NAME": f"LOG_ARCHIVE_DEST_{to.number}", "STATUS": to.status,
            "TARGET": "STANDBY", "BINDING": "OPTIONAL", "DESTINATION": _name(to).lower(), "ERROR": to.error or None,
            "LOG_SEQUENCE": redo.sequence - redo.not_received(to), "DELAY_MINS": 0,
            "TRANSMIT_MODE": "PARALLELSYNC" if to.synchronous else "ASYNCHRONOUS",
            "AFFIRM": "YES" if to.synchronous else "NO", "DB_UNIQUE_NAME": _name(to), "CON_ID": WHOLE,
        }  # fmt: skip


def _name(to: Destination) -> str:
    return f"STANDBY{to.number}"


def destination_states(db: EmulatedDatabase, _: int) -> Rows:
    """V$ARCHIVE_DEST_STATUS: which log each has received last, and which a standby has applied."""
    last = db.redo.sequence - 1
    common = {"ARCHIVED_THREAD#": 1, "APPLIED_THREAD#": 1, "CON_ID": WHOLE}
    yield {
        **common, "DEST_ID": 1, "DEST_NAME": "LOG_ARCHIVE_DEST_1", "STATUS": "VALID", "TYPE": "LOCAL",
        "DATABASE_MODE": "OPEN", "RECOVERY_MODE": "IDLE", "PROTECTION_MODE": "MAXIMUM PERFORMANCE",
        "ARCHIVED_SEQ#": last, "APPLIED_SEQ#": 0, "ERROR": None, "DB_UNIQUE_NAME": db.name,
        "SYNCHRONIZATION_STATUS": "CHECK CONFIGURATION", "SYNCHRONIZED": "NO", "GAP_STATUS": None,
    }  # fmt: skip
    for to in db.redo.destinations:
        received = last - db.redo.not_received(to)
        yield {
            **common, "DEST_ID": to.number, "DEST_NAME": f"LOG_ARCHIVE_DEST_{to.number}", "STATUS": to.status,
            "TYPE": "PHYSICAL", "DATABASE_MODE": "MOUNTED-STANDBY", "RECOVERY_MODE": "MANAGED REAL TIME APPLY",
            "PROTECTION_MODE": "MAXIMUM PERFORMANCE", "ARCHIVED_SEQ#": received,
            "APPLIED_SEQ#": received - to.logs_not_applied, "ERROR": to.error or None, "DB_UNIQUE_NAME": _name(to),
            "SYNCHRONIZATION_STATUS": "OK" if to.synchronized else "CHECK CONFIGURATION",
            "SYNCHRONIZED": "YES" if to.synchronized else "NO", "GAP_STATUS": to.gap_status,
        }  # fmt: skip


def lags(db: EmulatedDatabase, _: int) -> Rows:
    """V$DATAGUARD_STATS: on a standby only."""
    if db.quirks.role == PRIMARY:
        return
    metrics = (
        ("transport lag", interval(db.redo.transport_lag), TO_SECOND),
        ("apply lag", interval(db.redo.apply_lag), TO_SECOND),
        ("apply finish time", "+00 00:00:00.000", TO_MILLISECOND),
        ("estimated startup time", "12", "second"),
    )
    for name, value, unit in metrics:
        yield {
            "NAME": name, "VALUE": value, "UNIT": unit, "TIME_COMPUTED": f"{STARTED:%m/%d/%Y %H:%M:%S}",
            "DATUM_TIME": f"{STARTED:%m/%d/%Y %H:%M:%S}", "SOURCE_DBID": 0, "SOURCE_DB_UNIQUE_NAME": None,
            "CON_ID": WHOLE,
        }  # fmt: skip


def online_logs(db: EmulatedDatabase, _: int) -> Rows:
    """V$LOG: groups that take turns."""
    for group in range(1, GROUPS + 1):
        behind = (db.redo.sequence - group) % GROUPS
        yield {
            "GROUP#": group, "THREAD#": 1, "SEQUENCE#": db.redo.sequence - behind, "BYTES": db.redo.log_bytes,
            "BLOCKSIZE": 512, "MEMBERS": 1, "ARCHIVED": "YES" if behind else "NO",
            "STATUS": "INACTIVE" if behind else "CURRENT", "FIRST_TIME": STARTED, "CON_ID": WHOLE,
        }  # fmt: skip


def recovery_area(db: EmulatedDatabase, _: int) -> Rows:
    """V$RECOVERY_FILE_DEST: nothing where there is none."""
    redo = db.redo
    if redo.area_limit:
        yield {
            "NAME": "/u01/fra", "SPACE_LIMIT": redo.area_limit, "SPACE_USED": redo.area_used,
            "SPACE_RECLAIMABLE": redo.area_reclaimable, "NUMBER_OF_FILES": 1, "CON_ID": WHOLE,
        }  # fmt: skip


def recovery_area_usage(db: EmulatedDatabase, _: int) -> Rows:
    """V$RECOVERY_AREA_USAGE: all of it archived logs."""
    redo = db.redo
    for kind in ("ARCHIVED LOG", "BACKUP PIECE", "FLASHBACK LOG"):
        share = 100 / redo.area_limit if redo.area_limit and kind == "ARCHIVED LOG" else 0.0
        yield {
            "FILE_TYPE": kind, "PERCENT_SPACE_USED": redo.area_used * share, "CON_ID": WHOLE,
            "PERCENT_SPACE_RECLAIMABLE": redo.area_reclaimable * share, "NUMBER_OF_FILES": int(share > 0),
        }  # fmt: skip


REDO: dict[str, Callable[[EmulatedDatabase, int], Rows]] = {
    "V$ARCHIVE_DEST": destinations,
    "V$ARCHIVE_DEST_STATUS": destination_states,
    "V$DATAGUARD_STATS": lags,
    "V$LOG": online_logs,
    "V$RECOVERY_FILE_DEST": recovery_area,
    "V$RECOVERY_AREA_USAGE": recovery_area_usage,
}
