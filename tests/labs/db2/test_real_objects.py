"""Rules of real servers about what tables are made of, statistics and backups, over IBM's real driver."""

from __future__ import annotations

from typing import Any

import pytest

from tests.labs.db2.client import Db2
from tests.labs.db2.conftest import rows

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
STATISTICS = (
    "SELECT T.STATS_TIME, T.CARD, T.NPAGES, I.STATS_TIME, I.NLEAF FROM SYSCAT.TABLES AS T, SYSCAT.INDEXES AS I "
    "WHERE T.TABNAME = ? AND I.TABNAME = T.TABNAME WITH UR"
)
INDEXES = (
    "SELECT I.INDEXTYPE, I.INDSCHEMA, I.OWNER, I.OWNERTYPE, I.UNIQUERULE FROM SYSCAT.INDEXES AS I "
    "WHERE I.TABNAME = ? ORDER BY I.IID WITH UR"
)


def move(session: Any, table: str, options: str = "", phases: tuple[str, ...] = ("MOVE",)) -> None:
    """To the fast storage."""
    for phase in phases:
        rows(
            session,
            f"CALL SYSPROC.ADMIN_MOVE_TABLE('APP','{table}','TS_FAST','TS_FAST','TS_FAST','','','','','{options}',"
            f"'{phase}')",
        )


def test_emulated_server_rule_13_indexes_of_blocks_belong_to_the_system(db2: Db2, session: Any, table: str) -> None:
    """A table of two dimensions has an index for each and one for both, and they move with it alone."""
    db2.lab.drop_table("APP", table)
    db2.lab.create_clustered(table, ["REGION", "MONTH_OF"], table, 6_400)
    made = ("SYSIBM", "SYSIBM", "S", "D")
    found = rows(session, INDEXES, table)
    assert [row[0].strip() for row in found] == ["REG", "BLOK", "DIM", "DIM"]
    assert [tuple(row[1:]) for row in found[1:]] == [made] * 3
    query = "SELECT T.CLUSTERED FROM SYSCAT.TABLES AS T WHERE T.TABNAME = ? WITH UR"
    assert rows(session, query, table) == [("Y",)]
    query = "SELECT T.IID, T.NLEAF FROM TABLE(SYSPROC.MON_GET_INDEX('APP', ?, -2)) AS T ORDER BY T.IID WITH UR"
    assert rows(session, query, table)[1:] == [(2, 1), (3, 1), (4, 1)]
    names = "SELECT I.INDNAME FROM SYSCAT.INDEXES AS I WHERE I.TABNAME = ? ORDER BY I.IID WITH UR"
    before = rows(session, names, table)
    move(session, table)
    assert (rows(session, INDEXES, table), db2.lab.home("APP", table)[1]) == (found, "TS_FAST")
    assert [now == then for now, then in zip(rows(session, names, table), before, strict=True)] == [True] + [False] * 3


def test_emulated_server_rule_13_a_page_map_belongs_to_the_system(db2: Db2, session: Any, table: str) -> None:
    """A column-organized table without any index of its owner has one of kind CPMA."""
    db2.lab.drop_table("APP", table)
    db2.lab.create_columnar(table, table, 6_400)
    assert rows(session, INDEXES, table) == [("CPMA", "SYSIBM", "SYSIBM", "S", "D")]


def test_emulated_server_rule_14_a_lob_may_have_a_type_of_its_own(db2: Db2, session: Any, table: str) -> None:
    """SYSCAT.COLUMNS names the distinct type; what it is made of stands in SYSCAT.DATATYPES."""
    db2.lab.drop_table("APP", table)
    db2.lab.create_table("APP", table, f"{table}_PK", table, 64, 640)
    db2.lab.create_type("APP.LETTER", "SYSIBM.CLOB")
    db2.lab.alter_table("APP", table, lob_type="APP.LETTER")
    query = (
        "SELECT C.TYPESCHEMA, C.TYPENAME, D.METATYPE, D.SOURCESCHEMA, D.SOURCENAME FROM SYSCAT.COLUMNS AS C, "
        "SYSCAT.DATATYPES AS D WHERE C.TABNAME = ? AND D.TYPESCHEMA = C.TYPESCHEMA AND D.TYPENAME = C.TYPENAME "
        "ORDER BY C.COLNO WITH UR"
    )
    assert rows(session, query, table) == [
        ("SYSIBM", "INTEGER", "S", None, None), ("APP", "LETTER", "T", "SYSIBM", "CLOB"),
    ]  # fmt: skip


@pytest.mark.parametrize(("options", "kept"), [("", "new"), ("COPY_STATS", "old"), ("NO_STATS", "none")])
def test_emulated_server_rule_15_statistics_after_a_move(session: Any, table: str, options: str, kept: str) -> None:
    """Collected anew at SWAP, copied, or none, which the catalog says with -1 and NULL."""
    (before,) = rows(session, STATISTICS, table)
    move(session, table, options)
    (after,) = rows(session, STATISTICS, table)
    if kept == "none":
        assert after == (None, -1, -1, None, -1)
    else:
        assert after[1:3] == before[1:3]
        assert (after[0] > before[0], after[3] > before[3]) == ((kept == "new"),) * 2


def test_emulated_server_rule_15_what_had_no_statistics_gets_none(db2: Db2, session: Any, table: str) -> None:
    """A move does not collect statistics of a table that had none."""
    db2.lab.alter_table("APP", table, analysed=False)
    move(session, table)
    ((when,),) = rows(session, "SELECT T.STATS_TIME FROM SYSCAT.TABLES AS T WHERE T.TABNAME = ? WITH UR", table)
    assert when is None


def test_emulated_server_rule_15_keep_takes_the_room_of_the_table(db2: Db2, session: Any, table: str) -> None:
    """What the table was stays under the name that the protocol says, with its indexes, until somebody drops it."""
    query = "SELECT S.TBSP_USED_PAGES FROM TABLE(SYSPROC.MON_GET_TABLESPACE(?, -2)) AS S WITH UR"
    before = rows(session, query, table)
    move(session, table, "KEEP", ("INIT", "COPY"))
    assert rows(session, query, "TS_FAST")[0][0] >= 640 + 64
    move(session, table, "KEEP", ("SWAP", "CLEANUP"))
    assert rows(session, query, table) == before
    name = (
        'SELECT CAST(P."VALUE" AS VARCHAR(128)) FROM SYSTOOLS.ADMIN_MOVE_TABLE AS P '
        'WHERE P.TABNAME = ? AND P."KEY" = ? WITH UR'
    )
    ((original,),) = rows(session, name, table, "ORIGINAL")
    assert len(rows(session, INDEXES, original)) == 1
    db2.lab.drop_table("APP", original)
    assert rows(session, query, table)[0][0] < before[0][0]


def test_emulated_server_rule_11_a_backup_between_two_looks(db2: Db2, session: Any, table: str) -> None:
    """It is told by LAST_BACKUP, by no utility, and by the space's direct reads of every page in use."""
    told = "SELECT D.LAST_BACKUP FROM TABLE(SYSPROC.MON_GET_DATABASE(-2)) AS D WITH UR"
    reads = "SELECT S.DIRECT_READS, S.TBSP_USED_PAGES FROM TABLE(SYSPROC.MON_GET_TABLESPACE(?, -2)) AS S WITH UR"
    ((before,),) = rows(session, told)
    db2.lab.back_up()
    ((after,),) = rows(session, told)
    assert after is not None
    assert before is None or before < after
    assert rows(session, "SELECT U.UTILITY_ID FROM TABLE(SYSPROC.MON_GET_UTILITY(-2)) AS U WITH UR") == []
    ((sectors, pages),) = rows(session, reads, table)
    assert sectors == pages * 8
    query = "SELECT T.DIRECT_READS FROM TABLE(SYSPROC.MON_GET_TABLE('APP', ?, -2)) AS T WITH UR"
    assert rows(session, query, table) == [(0,)]


def test_emulated_server_rule_11_a_space_tells_its_limit(db2: Db2, session: Any, table: str) -> None:
    """TBSP_MAX_SIZE in bytes, -1 without one, whatever room the storage has."""
    query = "SELECT S.TBSP_MAX_SIZE FROM TABLE(SYSPROC.MON_GET_TABLESPACE(?, -2)) AS S WITH UR"
    assert rows(session, query, table) == [(-1,)]
    db2.lab.alter_space(table, max_pages=1_000)
    assert rows(session, query, table) == [(1_000 * 4_096,)]
