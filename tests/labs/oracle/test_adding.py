"""Emulated server over the plain driver: partitions that are added, rules 15a to 15f of the README, no connector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oracledb
import pytest

from tests.labs.oracle.harness import PASSWORD, OracleHarness, running_harness
from tests.labs.oracle.model import UNLIMITED

ADD = "ALTER TABLE t ADD PARTITION {} VALUES LESS THAN (TO_DATE('{}', 'SYYYY-MM-DD HH24:MI:SS')){}"
PARTS = "SELECT partition_name, tablespace_name, high_value FROM dba_tab_partitions WHERE table_name = 'T' ORDER BY 1"
PIECES = "SELECT partition_name, tablespace_name, status FROM dba_ind_partitions WHERE index_name = 'T_D' ORDER BY 1"


@pytest.fixture(scope="module")
def lab() -> Iterator[OracleHarness]:
    """With somebody who may make tables."""
    with running_harness("adding") as running:
        rights = {"CREATE TABLE", "SELECT ANY DICTIONARY"}
        quotas = {"SLOW": UNLIMITED, "FAST": UNLIMITED}
        running.database.add_user("MAKER", PASSWORD, privileges=rights, quotas=quotas).default_tablespace = "SLOW"
        running.database.add_tablespace("WIDE", "/ssd/wide.dbf", 1 << 20).block_size = 16384
        yield running


@pytest.fixture
def maker(lab: OracleHarness) -> Iterator[oracledb.Cursor]:
    """Their session, with a table of one partition and a local index."""
    with lab.session("MAKER") as session:
        cursor = session.cursor()
        first = "PARTITION p1 VALUES LESS THAN (DATE '2026-02-01')"
        cursor.execute(f"CREATE TABLE t (d DATE NOT NULL, n NUMBER(5)) PARTITION BY RANGE (d) ({first})")
        cursor.execute("CREATE INDEX t_d ON t (d) LOCAL")
        yield cursor
        session.rollback()
    lab.database.drop_table("MAKER", "T")


def ask(cursor: oracledb.Cursor, query: str) -> list[tuple[Any, ...]]:
    """Rows of a query."""
    return list(cursor.execute(query))


def refused(cursor: oracledb.Cursor, statement: str) -> int:
    """The number of its error."""
    with pytest.raises(oracledb.DatabaseError) as caught:
        cursor.execute(statement)
    return int(caught.value.args[0].code)


def test_it_lies_where_it_is_said(maker: oracledb.Cursor) -> None:
    """Else where the table's default says; rows find it (15a); its bound is printed for any session (15f)."""
    maker.execute(ADD.format("p2", "2026-03-01 00:00:00", " TABLESPACE fast"))
    maker.execute(ADD.format("p3", "2026-04-01 00:00:00", ""))
    found = ask(maker, PARTS)
    assert [row[:2] for row in found] == [("P1", "SLOW"), ("P2", "FAST"), ("P3", "SLOW")]
    assert found[0][2] == "TO_DATE(' 2026-02-01 00:00:00', 'SYYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN')"
    maker.execute("INSERT INTO t SELECT DATE '2026-02-14', 1 FROM DUAL")
    assert ask(maker, "SELECT partition_name FROM dba_segments WHERE segment_name = 'T'") == [("P2",)]


def test_pieces_of_local_indexes(maker: oracledb.Cursor) -> None:
    """With the partition, or where the index has a default (15b)."""
    maker.execute(ADD.format("p2", "2026-03-01 00:00:00", " TABLESPACE fast"))
    maker.execute("ALTER INDEX t_d MODIFY DEFAULT ATTRIBUTES TABLESPACE slow")
    maker.execute(ADD.format("p3", "2026-04-01 00:00:00", " TABLESPACE fast"))
    assert ask(maker, PIECES) == [("P1", "SLOW", "USABLE"), ("P2", "FAST", "USABLE"), ("P3", "SLOW", "USABLE")]


def test_what_is_refused(lab: OracleHarness, maker: oracledb.Cursor) -> None:
    """Bounds, names, block sizes, tables of other kinds (15a, 15c, 15d)."""
    assert refused(maker, ADD.format("p2", "2026-01-01 00:00:00", "")) == 14074
    assert refused(maker, ADD.format("p1", "2026-03-01 00:00:00", "")) == 14013
    assert refused(maker, ADD.format("p2", "2026-03-01 00:00:00", " TABLESPACE wide")) == 14519
    assert refused(maker, ADD.format("p2", "2026-03-01 00:00:00", " TABLESPACE nowhere")) == 959
    lab.database.table("MAKER", "T").interval = "NUMTODSINTERVAL(1, 'DAY')"
    assert ask(maker, "SELECT interval FROM dba_part_tables") == [("NUMTODSINTERVAL(1, 'DAY')",)]
    assert refused(maker, ADD.format("p2", "2026-03-01 00:00:00", "")) == 14760
    maker.execute("CREATE TABLE whole (n NUMBER(5))")
    assert refused(maker, "ALTER TABLE whole ADD PARTITION p1 VALUES LESS THAN (1)") == 14501
    lab.database.drop_table("MAKER", "WHOLE")


def test_it_waits_for_open_transactions(lab: OracleHarness, maker: oracledb.Cursor) -> None:
    """Of any partition, and gives up (15e)."""
    maker.execute("INSERT INTO t SELECT DATE '2026-01-14', 1 FROM DUAL")
    with lab.session("MAKER") as other:
        assert refused(other.cursor(), ADD.format("p2", "2026-03-01 00:00:00", "")) == 54
    maker.connection.rollback()
    maker.execute(ADD.format("p2", "2026-03-01 00:00:00", ""))
    assert len(ask(maker, PARTS)) == 2
