"""Emulated server over the plain driver: tables that statements make, rules 11a to 11k of the README, no connector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oracledb
import pytest

from tests.labs.oracle.harness import PASSWORD, OracleHarness, running_harness
from tests.labs.oracle.model import UNLIMITED

KB, MB = 1 << 10, 1 << 20
NUMBERS = "(SELECT LEVEL AS g FROM DUAL CONNECT BY LEVEL <= {})"
SEGMENTS = (
    "SELECT segment_name, partition_name, tablespace_name, bytes FROM dba_segments WHERE owner = 'MAKER' ORDER BY 1, 2"
)
READS = (
    "SELECT o.object_name, s.value FROM v$segstat s JOIN dba_objects o ON o.object_id = s.obj# "
    "WHERE s.statistic_name = 'logical reads' AND o.owner = 'MAKER' ORDER BY 1"
)


@pytest.fixture(scope="module")
def lab() -> Iterator[OracleHarness]:
    """Enterprise Edition of 19c with somebody who may make tables."""
    with running_harness("made") as running:
        rights = {"CREATE TABLE", "SELECT ANY DICTIONARY"}
        running.database.add_user(
            "MAKER", PASSWORD, privileges=rights, quotas={"SLOW": UNLIMITED, "FAST": UNLIMITED}
        ).default_tablespace = "SLOW"
        running.database.add_user("POOR", PASSWORD, privileges={"CREATE TABLE", "SELECT ANY DICTIONARY"})
        yield running


@pytest.fixture
def maker(lab: OracleHarness) -> Iterator[oracledb.Cursor]:
    """A session of theirs; what it has made is dropped."""
    with lab.session("MAKER") as session:
        yield session.cursor()
        session.rollback()
    for owner, name in list(lab.database.tables):
        if owner in ("MAKER", "POOR"):
            lab.database.drop_table(owner, name)


def ask(cursor: oracledb.Cursor, query: str) -> list[tuple[Any, ...]]:
    """Rows of a query."""
    return list(cursor.execute(query))


def refused(cursor: oracledb.Cursor, statement: str) -> int:
    """The number of its error."""
    with pytest.raises(oracledb.DatabaseError) as caught:
        cursor.execute(statement)
    return int(caught.value.args[0].code)


def fill(cursor: oracledb.Cursor, table: str, values: str, rows: int) -> None:
    """So many rows, committed; ``g`` in the values is their number."""
    cursor.execute(f"INSERT INTO {table} SELECT {values} FROM {NUMBERS.format(rows)}")
    cursor.connection.commit()


def test_segments_come_with_the_first_rows(maker: oracledb.Cursor) -> None:
    """Of the table and its index (11a), in extents of 64 KiB, of 1 MiB beyond the first (11b)."""
    maker.execute("CREATE TABLE t (id NUMBER(10) CONSTRAINT t_pk PRIMARY KEY, filler VARCHAR2(1000)) PCTFREE 0")
    assert ask(maker, SEGMENTS) == []
    fill(maker, "t", "g, 'x'", 1)
    assert ask(maker, SEGMENTS) == [("T", None, "SLOW", 64 * KB), ("T_PK", None, "SLOW", 64 * KB)]
    fill(maker, "t", "g + 1, RPAD('x', 1000, 'y')", 2200)
    (table, index) = ask(maker, SEGMENTS)
    assert table[3] == 3 * MB  # eight rows of 1,009 bytes a block: 276 blocks, 2,208 KiB
    assert index[3] == 128 * KB  # 34 bytes a key: 11 blocks


def test_a_partition_gets_its_segment_with_its_first_row(maker: oracledb.Cursor) -> None:
    """And pieces of a local index lie where their partitions lie (11d)."""
    maker.execute(
        "CREATE TABLE t (d DATE NOT NULL, n NUMBER(5)) PARTITION BY RANGE (d) "
        "(PARTITION p1 VALUES LESS THAN (DATE '2026-02-01') TABLESPACE fast, PARTITION p2 VALUES LESS THAN (MAXVALUE))"
    )
    maker.execute("CREATE INDEX t_d ON t (d) LOCAL")
    fill(maker, "t", "DATE '2026-01-01' + MOD(g, 31), g", 100)
    assert [row[:3] for row in ask(maker, SEGMENTS)] == [("T", "P1", "FAST"), ("T_D", "P1", "FAST")]
    fill(maker, "t", "DATE '2026-02-01', g", 1)
    assert [row[:3] for row in ask(maker, SEGMENTS)][1::2] == [("T", "P2", "SLOW"), ("T_D", "P2", "SLOW")]


def test_large_values_of_a_lob_lie_outside(maker: oracledb.Cursor) -> None:
    """Those of 4,000 bytes with their rows, larger ones in chunks of two bytes a character (11e)."""
    maker.execute("CREATE TABLE t (id NUMBER(5), body CLOB) LOB (body) STORE AS SECUREFILE (TABLESPACE fast)")
    fill(maker, "t", "g, RPAD('x', 4000, 'y')", 10)
    assert [row[2:] for row in ask(maker, SEGMENTS)] == [("FAST", 64 * KB), ("FAST", 64 * KB), ("SLOW", 128 * KB)]
    fill(maker, "t", "g, TO_CLOB(RPAD('x', 4000, 'y')) || RPAD('x', 4000, 'z')", 10)
    sizes = sorted(row[3] for row in ask(maker, SEGMENTS) if row[2] == "FAST")
    assert sizes == [64 * KB, 192 * KB]  # two chunks each: 20 blocks, 160 KiB
    assert ask(maker, "SELECT SUM(DBMS_LOB.GETLENGTH(body)) FROM maker.t") == [(120_000,)]


def test_changes_are_taken_back_by_a_rollback(lab: OracleHarness, maker: oracledb.Cursor) -> None:
    """And lock the table against DDL until then, which DDL of the same session commits (11f)."""
    maker.execute("CREATE TABLE t (id NUMBER(5), state VARCHAR2(9))")
    fill(maker, "t", "g, 'old'", 3)
    maker.execute("UPDATE t SET state = 'new' WHERE id = 2")
    with lab.session("MAKER") as other:
        assert refused(other.cursor(), "ALTER TABLE t MOVE TABLESPACE fast") == 54
    maker.connection.rollback()
    assert ask(maker, "SELECT COUNT(*) FROM maker.t WHERE state = 'old'") == [(3,)]
    maker.execute("INSERT INTO t SELECT 4, 'kept' FROM DUAL")
    maker.execute("COMMENT ON TABLE t IS 'commits'")
    maker.connection.rollback()
    assert ask(maker, "SELECT state FROM maker.t WHERE id = 4") == [("kept",)]


def test_a_move_keeps_everything_but_the_place(maker: oracledb.Cursor) -> None:
    """Rows, statistics, rights, comments, constraints (11g, 11i); a rebuilt index has new statistics."""
    maker.execute("CREATE TABLE t (id NUMBER(5) NOT NULL, note VARCHAR2(9) DEFAULT 'n' CHECK (note <> 'x'))")
    fill(maker, "t", "g, 'a'", 50)
    maker.execute("CREATE INDEX t_note ON t (LOWER(note), id DESC)")
    maker.execute("GRANT SELECT, UPDATE (note) ON t TO PUBLIC")
    maker.execute("COMMENT ON COLUMN t.note IS 'why'")
    assert ask(maker, "SELECT num_rows FROM dba_indexes WHERE index_name = 'T_NOTE'") == [(50,)]
    assert ask(maker, "SELECT num_rows FROM dba_tables WHERE table_name = 'T'") == [(None,)]
    maker.execute("BEGIN DBMS_STATS.GATHER_TABLE_STATS(ownname => 'MAKER', tabname => 'T'); END;")
    looks = (
        "SELECT num_rows, last_analyzed FROM dba_tables WHERE owner = 'MAKER'",
        "SELECT column_name, num_distinct, data_default FROM dba_tab_columns WHERE owner = 'MAKER' ORDER BY 1",
        "SELECT search_condition FROM dba_constraints WHERE owner = 'MAKER' ORDER BY 1",
        "SELECT privilege, column_name, grantee FROM dba_col_privs WHERE owner = 'MAKER'",
        "SELECT privilege, grantee FROM dba_tab_privs WHERE owner = 'MAKER'",
        "SELECT comments FROM dba_col_comments WHERE column_name = 'NOTE'",
        "SELECT COUNT(*), SUM(ORA_HASH(id || ',' || note)) FROM maker.t",
    )
    before = [ask(maker, look) for look in looks]
    assert before[1:6] == [
        [("ID", 50, None), ("NOTE", 1, "'n'")], [('"ID" IS NOT NULL',), ("note <> 'x'",)],
        [("UPDATE", "NOTE", "PUBLIC")], [("SELECT", "PUBLIC")], [("why",)],
    ]  # fmt: skip
    maker.execute("ALTER TABLE t MOVE TABLESPACE fast UPDATE INDEXES")
    assert [ask(maker, look) for look in looks] == before


def test_descending_keys_and_expressions_are_hidden_columns(maker: oracledb.Cursor) -> None:
    """In both views, and the index is function-based (11j)."""
    maker.execute("CREATE TABLE t (id NUMBER(5), note VARCHAR2(9))")
    maker.execute("CREATE INDEX t_plain ON t (note, id)")
    maker.execute("CREATE INDEX t_desc ON t (id DESC)")
    assert ask(maker, "SELECT index_name, index_type FROM dba_indexes WHERE owner = 'MAKER' ORDER BY 1") == [
        ("T_DESC", "FUNCTION-BASED NORMAL"), ("T_PLAIN", "NORMAL"),
    ]  # fmt: skip
    assert ask(maker, "SELECT column_name, descend FROM dba_ind_columns ORDER BY index_name, column_position") == [
        ("SYS_NC00003$", "DESC"), ("NOTE", "ASC"), ("ID", "ASC"),
    ]  # fmt: skip
    assert ask(maker, "SELECT column_expression FROM dba_ind_expressions") == [("ID",)]


def test_look_ups_and_scans_are_counted(maker: oracledb.Cursor) -> None:
    """One logical read a row that an index finds, one a used block of a scan (11h)."""
    maker.execute("CREATE TABLE t (id NUMBER(10) CONSTRAINT t_pk PRIMARY KEY, filler VARCHAR2(1000)) PCTFREE 0")
    fill(maker, "t", "g, RPAD('x', 1000, 'y')", 800)
    before = dict(ask(maker, READS))
    keys = "(SELECT 1 + MOD(LEVEL * 41, 800) AS id FROM DUAL CONNECT BY LEVEL <= 70)"
    ask(maker, f"SELECT SUM(LENGTH(t.filler)) FROM {keys} k JOIN maker.t t ON t.id = k.id")
    after = dict(ask(maker, READS))
    assert {name: after[name] - before.get(name, 0) for name in after} == {"T": 70, "T_PK": 140}
    ask(maker, "SELECT SUM(LENGTH(filler)) FROM maker.t")
    assert dict(ask(maker, READS))["T"] - after["T"] == 100  # eight rows a block


def test_what_it_needs_to_make_a_table(lab: OracleHarness, maker: oracledb.Cursor) -> None:
    """A privilege, a free name, and a quota once rows come (11a, 11k)."""
    maker.execute("CREATE TABLE t (id NUMBER(5))")
    assert refused(maker, "CREATE TABLE t (id NUMBER(5))") == 955
    assert refused(maker, "CREATE TABLE poor.t (id NUMBER(5))") == 1031
    assert refused(maker, "CREATE TABLE u (id NUMERAL)") == 902
    assert refused(maker, "CREATE TABLE u (id NUMBER(5)) TABLESPACE nowhere") == 959
    with lab.session("POOR") as session:
        session.cursor().execute("CREATE TABLE t (id NUMBER(5)) TABLESPACE slow")
        assert refused(session.cursor(), "INSERT INTO t SELECT 1 FROM DUAL") == 1950
        assert ask(session.cursor(), "SELECT COUNT(*) FROM poor.t") == [(0,)]


def test_nothing_unknown_is_answered(maker: oracledb.Cursor) -> None:
    """What the lab does not play is an error, never done in part."""
    assert refused(maker, "CREATE VIEW v AS SELECT 1 AS n FROM DUAL") == 3001
    assert refused(maker, "CREATE TABLE t (at TIMESTAMP)") == 3001
    maker.execute("CREATE TABLE t (id NUMBER(5))")
    assert refused(maker, "DELETE FROM t") == 3001
    assert refused(maker, "INSERT INTO t VALUES (1)") == 3001
    assert refused(maker, "SELECT id FROM maker.u") == 942


def test_what_is_executed_again_is_committed_again(lab: OracleHarness, maker: oracledb.Cursor) -> None:
    """With autocommit the driver tells it in other bits of a statement that the server knows already."""
    maker.execute("CREATE TABLE t (id NUMBER(5), n NUMBER(5))")
    fill(maker, "t", "g, 0", 3)
    maker.connection.autocommit = True
    for _ in range(3):
        maker.execute("UPDATE t SET n = n + 1 WHERE id = 2")
        assert not lab.database.table_locks
    maker.connection.rollback()
    assert ask(maker, "SELECT SUM(n) FROM maker.t") == [(3,)]
