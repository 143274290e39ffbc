"""What ALTER TABLE ... ADD PARTITION does, and bounds of partitions as the server stores and prints them.

Sources: VLDB and Partitioning Guide, "Adding a Partition to a Range-Partitioned Table", "Adding a Partition to an
Interval-Partitioned Table", "Adding Index Partitions"; Database Error Messages. Rules 15a to 15e of the README.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from tests.labs.oracle.grammar import Words
from tests.labs.oracle.model import Segment, Table
from tests.labs.oracle.views.rewrite import refuse
from tests.labs.tns.backend import OracleError

if TYPE_CHECKING:
    from tests.labs.oracle.session import EmulatedSession

SMALLEST = 64 << 10  # bytes of a segment that has just been made
MAXVALUE = "MAXVALUE"
_DATE = re.compile(r"(?:DATE\s*|TO_DATE\s*\()'\s*(?P<day>\d{4}-\d\d-\d\d)(?P<time> \d\d:\d\d:\d\d)?'.*", re.IGNORECASE)


def day_of(bound: str) -> datetime | None:
    """The instant of a bound that is a date; None for a number or MAXVALUE."""
    found = _DATE.fullmatch(bound.strip())
    return datetime.fromisoformat(found["day"] + (found["time"] or " 00:00:00")) if found else None


def printed(bound: str) -> str:
    """HIGH_VALUE: a date as an expression that no setting of a session changes, another bound as it was written."""
    at = day_of(bound)
    if at is None:
        return bound
    return f"TO_DATE(' {at:%Y-%m-%d %H:%M:%S}', 'SYYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN')"


def add_partition(session: EmulatedSession, owner: str, name: str, words: Words) -> None:
    """Everything after ``ALTER TABLE name ADD PARTITION``: the table is locked for it. Raises OracleError."""
    part = words.name()
    words.need("VALUES", "LESS", "THAN", "(")
    bound = words.text_until(")")
    words.need(")")
    tablespace = words.name() if words.take("TABLESPACE") else ""
    words.end()
    database = session.database
    with database.changed:
        session.may_alter(owner, "TABLE", name)
        table = database.table(owner, name)
        _refuse(table, part, bound)
        home = database.tablespace(tablespace or table.default_tablespace)
        if home.block_size != database.tablespaces[table.segments[0].tablespace].block_size:
            raise OracleError(14519, f"Conflicting tablespace blocksizes for table {name}")
        session.wait_for_objects({table.object_id, *(segment.object_id for segment in table.segments)}, online=False)
        try:
            _add(session, table, part, home.name)
            table.bounds[part] = bound
        finally:
            session.unlock_all_ddl()
            database.touch()


def _refuse(table: Table, part: str, bound: str) -> None:
    if not table.partitioned:
        raise OracleError(14501, "object is not partitioned")
    if table.interval:
        raise OracleError(14760, "ADD PARTITION is not permitted on Interval partitioned objects")
    if table.composite or table.iot or table.lobs:
        raise refuse("ADD PARTITION of composite and index-organised tables and of those with LOBs")
    if part in table.bounds:
        raise OracleError(14013, "duplicate partition name")
    last = table.bounds[table.segments[-1].part]
    if last.upper() == MAXVALUE or not _is_higher(bound, last):
        raise OracleError(14074, "partition bound must collate higher than that of the last partition")


def _is_higher(bound: str, last: str) -> bool:
    days = day_of(bound), day_of(last)
    if None in days:
        return bound.upper() == MAXVALUE or int(bound) > int(last)
    return days[0] > days[1]  # type: ignore[operator]  # neither is None


def _add(session: EmulatedSession, table: Table, part: str, home: str) -> None:
    """Without segments until rows come. Pieces of local indexes lie where those have a default, else with it."""

    def made(owner: str, name: str, kind: str, tablespace: str) -> Segment:
        segment = session.database.segment(owner, name, kind, tablespace, SMALLEST, part)
        segment.created = False
        return segment

    table.segments.append(made(table.owner, table.name, "TABLE PARTITION", home))
    for index in table.indexes:
        if index.local:
            index.segments.append(made(index.owner, index.name, "INDEX PARTITION", index.default_tablespace or home))
