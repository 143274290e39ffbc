"""Moves written down for a person and never sent: online redefinition, and splits. Pure.

``redefinition`` uses DBMS_REDEFINITION (Enterprise Edition), which moves a heap table online before 12.2. It needs many
ANY privileges and leaves objects behind when it is interrupted, so a person watches over it. Since 12.1 one call does
it all. Before that, an interim table is made, filled, kept up to date and swapped, and the rows of both tables are
counted before the old one is dropped. START_REDEF_TABLE refuses a table with policies on its rows (copy_vpd_opt is
CONS_VPD_NONE). Source: PL/SQL Packages Reference, DBMS_REDEFINITION.

``by_hand`` splits a table by a range of a column with MODIFY PARTITION BY RANGE ... ONLINE. Unlike PostgreSQL, Oracle
copies every row: both parts are new segments, so there must be room for the table twice. Source: VLDB and Partitioning
Guide, converting a non-partitioned table (12.2); SQL Language Reference, ALTER TABLE.
"""

from __future__ import annotations

import re

from connectors.model.formatting import comment
from connectors.model.moves import Border, Bundle, ByHand, NoRoute
from connectors.oracle.facts import Facts
from connectors.oracle.names import plain, quote
from connectors.oracle.sessions import Server

ONE_CALL_SINCE = (12, 1)
OPTION = "Online Redefinition"


def redefinition(facts: Facts, to_space: str, server: Server, *, lock_seconds: int) -> str:
    """Statements to be sent one after the other, "" where this edition has no redefinition.

    Args:
        facts: of a whole heap table.
        to_space: tablespace for the table and its LOBs; its indexes stay where they are.
        server: its release.
        lock_seconds: how long the swap waits for its lock; without a limit it would wait for ever.
    """
    if not server.has(OPTION):
        return ""
    if server.since(*ONE_CALL_SINCE):
        return _one_call(facts, to_space, lock_seconds)
    return "; ".join(_chain(facts, to_space)) + ";"


def _one_call(facts: Facts, to_space: str, lock_seconds: int) -> str:
    named = {"uname": facts.table_owner, "tname": facts.table, "table_part_tablespace": to_space}
    if facts.lobs:
        named["lob_tablespace"] = to_space
    arguments = ", ".join(f"{name} => {_text(value)}" for name, value in named.items())
    return f"BEGIN DBMS_REDEFINITION.REDEF_TABLE({arguments}, dml_lock_timeout => {lock_seconds}); END;"


def _chain(facts: Facts, to_space: str) -> list[str]:
    """What 11.2 has: by primary key; by ROWID for a table without one.

    The interim table has the NOT NULL constraints already, and copying them ends with ORA-01442, which has to be
    ignored. The view of errors says, before the tables are swapped, whether there were others.
    """
    interim = f"HP${facts.lead.object_id}"
    own, both = f"{_text(facts.table_owner)}, {_text(facts.table)}", _names(facts, interim)
    lobs = "".join(f" LOB ({quote(lob.column)}) STORE AS (TABLESPACE {quote(to_space)})" for lob in facts.lobs)
    how = "copy_indexes => DBMS_REDEFINITION.CONS_ORIG_PARAMS, ignore_errors => TRUE, num_errors => errors"
    copy = f"COPY_TABLE_DEPENDENTS({both}, {how})"
    source, made = quote(facts.table_owner, facts.table), quote(facts.table_owner, interim)
    return [
        f"BEGIN DBMS_REDEFINITION.CAN_REDEF_TABLE({own}); END",
        "without a primary key (ORA-12089): this and START_REDEF_TABLE with options_flag => 2",
        " ".join(
            ("CREATE TABLE", made, "TABLESPACE", quote(to_space) + lobs, "AS SELECT * FROM", source, "WHERE 1 = 0")
        ),
        f"BEGIN DBMS_REDEFINITION.START_REDEF_TABLE({both}); END",
        f"DECLARE errors PLS_INTEGER; BEGIN DBMS_REDEFINITION.{copy}; END",
        "SELECT OBJECT_NAME, DDL_TXT FROM SYS.DBA_REDEFINITION_ERRORS, of which only NOT NULL may be there",
        f"BEGIN DBMS_REDEFINITION.SYNC_INTERIM_TABLE({both}); END",
        f"BEGIN DBMS_REDEFINITION.FINISH_REDEF_TABLE({both}); END",
        f"SELECT (SELECT COUNT(*) FROM {source}) - (SELECT COUNT(*) FROM {made}) FROM DUAL",  # noqa: S608  # quoted
        f"once that is what was written since, counted by a user whom no policy filters: DROP TABLE {made} PURGE",
        f"after any error instead: BEGIN DBMS_REDEFINITION.ABORT_REDEF_TABLE({both}); END and the DROP",
    ]


def _names(facts: Facts, interim: str) -> str:
    named = {"uname": facts.table_owner, "orig_table": facts.table, "int_table": interim}
    return ", ".join(f"{name} => {_text(value)}" for name, value in named.items())


def _text(name: str) -> str:
    """The name as an argument: quoted within where it must be, so that case and spaces survive."""
    return "'" + plain(name).replace("'", "''") + "'"


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
                "waits for transactions that use it; indexes that begin with other columns become global, others local;"
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
