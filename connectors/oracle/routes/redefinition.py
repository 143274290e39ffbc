"""Online redefinition, written down for a person and never sent. Pure.

Before 12.2 no heap table moves online, and DBMS_REDEFINITION (Enterprise Edition) is how it is done all the same. It
needs many ANY privileges and leaves things behind when it is interrupted, so a person watches over it. Since 12.1 one
call does it all; before that an interim table is made, filled, kept up to date and swapped, and the rows of both are
counted before what the table was is dropped. A table with policies on its rows is refused by START_REDEF_TABLE
(copy_vpd_opt is CONS_VPD_NONE). PL/SQL Packages Reference, DBMS_REDEFINITION.
"""

from __future__ import annotations

from connectors.oracle.reading.facts import Facts
from connectors.oracle.reading.names import plain, quote
from connectors.oracle.session.server import Server

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
    """What 11.2 has: by primary key; by ROWID for a table without one, with options_flag => 2."""
    interim = f"HP${facts.lead.object_id}"
    own, both = f"{_text(facts.table_owner)}, {_text(facts.table)}", _names(facts, interim)
    lobs = "".join(f" LOB ({quote(lob.column)}) STORE AS (TABLESPACE {quote(to_space)})" for lob in facts.lobs)
    copy = f"COPY_TABLE_DEPENDENTS({both}, copy_indexes => DBMS_REDEFINITION.CONS_ORIG_PARAMS, num_errors => errors)"
    source, made = quote(facts.table_owner, facts.table), quote(facts.table_owner, interim)
    return [
        f"BEGIN DBMS_REDEFINITION.CAN_REDEF_TABLE({own}); END",
        " ".join(
            ("CREATE TABLE", made, "TABLESPACE", quote(to_space) + lobs, "AS SELECT * FROM", source, "WHERE 1 = 0")
        ),
        f"BEGIN DBMS_REDEFINITION.START_REDEF_TABLE({both}); END",
        f"DECLARE errors PLS_INTEGER; BEGIN DBMS_REDEFINITION.{copy}; END",
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
