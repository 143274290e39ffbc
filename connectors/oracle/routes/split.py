"""A table split by a range of a column, written for a person: MODIFY PARTITION BY RANGE ... ONLINE. Pure.

Unlike PostgreSQL it copies every row: both parts are new segments, and there is room for the table twice meanwhile.
Source: VLDB and Partitioning Guide, converting a non-partitioned table (12.2); SQL Language Reference, ALTER TABLE.
"""

from __future__ import annotations

import re

from connectors.containers import ByHand
from connectors.model import Bundle, NoRoute
from connectors.oracle.reading.facts import Facts
from connectors.oracle.reading.names import quote
from connectors.oracle.session.server import Server
from connectors.scripts import comment
from connectors.splitting import Border

SINCE = (12, 2)
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}")


def by_hand(facts: Facts | None, bundle: Bundle, border: Border, to_space: str, server: Server) -> ByHand | NoRoute:
    """The statements, or why there is no way.

    Args:
        facts: of the table; None: it is gone.
        bundle: the table.
        border: where it is split; numbers, days and instants (``2030-02-01 12:00:00``) are written as such.
        to_space: of rows from the border on.
        server: what it can.
    """
    if facts is None:
        return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists")
    for applies, code, sentence in _reasons(facts, server):
        if applies:
            return NoRoute(code=code, sentence=sentence)
    table, column = f"{quote(facts.table_owner)}.{quote(facts.table)}", quote(border.column)
    parts = (
        f"PARTITION HOTPLACE_P0 VALUES LESS THAN ({value_of(border.value)}) TABLESPACE {quote(bundle.space)}, "
        f"PARTITION HOTPLACE_P1 VALUES LESS THAN (MAXVALUE) TABLESPACE {quote(to_space)}"
    )
    return ByHand(
        statements=(
            comment(
                "the licence of Partitioning is needed, which no view tells; the option says whether it is linked:"
            ),
            "SELECT VALUE FROM SYS.V_$OPTION WHERE PARAMETER = 'Partitioning'",
            comment(f"room for {bundle.key} once more, indexes included, and for the changes of its journal:"),
            "SELECT TABLESPACE_NAME, SUM(BYTES) FROM SYS.DBA_FREE_SPACE GROUP BY TABLESPACE_NAME",
            comment("how many rows go where; it reads the table:"),
            f"SELECT COUNT(*) FROM {table} WHERE {column} >= {value_of(border.value)}",  # noqa: S608  # quoted names
            comment("reads and writes go on; the table is locked for a moment at the begin and at the end, where it"),
            comment(
                "waits for transactions that use it; unique indexes without the column become global, others local;"
            ),
            comment("the only way back is a redefinition:"),
            f"ALTER TABLE {table} MODIFY PARTITION BY RANGE ({column}) ({parts}) ONLINE UPDATE INDEXES",
        ),
        because="it copies all rows, needs the licence of Partitioning, and hotplace has no way back for it",
    )


def value_of(value: str) -> str:
    """A border as Oracle reads it whatever the session's formats are.

    >>> value_of("17"), value_of("2030-02-01"), value_of("it's")
    ('17', "TO_DATE('2030-02-01', 'SYYYY-MM-DD')", "'it''s'")
    """
    if _NUMBER.fullmatch(value):
        return value
    if _DAY.fullmatch(value):
        return f"TO_DATE('{value}', 'SYYYY-MM-DD')"
    if _INSTANT.fullmatch(value):
        return f"TO_DATE('{value}', 'SYYYY-MM-DD HH24:MI:SS')"
    return "'" + value.replace("'", "''") + "'"


def _reasons(facts: Facts, server: Server) -> tuple[tuple[bool, str, str], ...]:
    no_option = server.options.get("Partitioning", "FALSE").upper() != "TRUE"
    return (
        (not server.writable, "standby", f"the database is {server.role}, {server.open_mode}: no DDL here"),
        (facts.lead.type != "TABLE", "no_table", "only a table that is neither partitioned nor clustered can be split"),
        (facts.is_iot, "index_organised", "an index-organised table is not split online"),
        (not server.allows(*SINCE), "too_old", "MODIFY PARTITION BY RANGE is there since 12.2"),
        (no_option, "no_option", "the server is without the Partitioning option"),
    )
