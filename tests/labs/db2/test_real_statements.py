"""Rules of real servers about the package cache, standbys and the log, over IBM's real driver; numbers as in README."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.conftest import connect, end, refused, rows
from tests.labs.db2.server import BLIND

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
LOOK = "SELECT * FROM APP.ORDERS WHERE ID = ?"
CACHE = (
    "SELECT S.MEMBER, S.NUM_EXECUTIONS, S.NUM_EXEC_WITH_METRICS, S.STMT_EXEC_TIME, S.TOTAL_CPU_TIME, S.POOL_READ_TIME "
    "FROM TABLE(SYSPROC.MON_GET_PKG_CACHE_STMT('D', NULL, NULL, -2)) AS S "
    "WHERE CAST(S.STMT_TEXT AS VARCHAR(2000)) = ? ORDER BY S.MEMBER WITH UR"
)
STANDBYS = (
    "SELECT H.STANDBY_ID, H.HADR_STATE, H.HADR_CONNECT_STATUS, H.HADR_LOG_GAP, H.STANDBY_RECV_REPLAY_GAP, "
    "H.LOG_HADR_WAIT_TIME FROM TABLE(SYSPROC.MON_GET_HADR(-2)) AS H ORDER BY H.STANDBY_ID WITH UR"
)
LOG = (
    "SELECT L.TOTAL_LOG_AVAILABLE, L.TOTAL_LOG_USED, L.APPLID_HOLDING_OLDEST_XACT "
    "FROM TABLE(SYSPROC.MON_GET_TRANSACTION_LOG(-1)) AS L WITH UR"
)
FUNCTIONS = ("MON_GET_PKG_CACHE_STMT(NULL, NULL, NULL, -2)", "MON_GET_HADR(-2)", "MON_GET_TRANSACTION_LOG(-2)")


@pytest.fixture(autouse=True)
def _as_it_was(db2: Db2) -> Iterator[None]:
    """What a test sets is taken back."""
    before = db2.lab.behave(hadr_role="STANDARD", mon_act_metrics="BASE", log_files=(1024, 13, 12), members=1)
    yield
    db2.lab.behave(**before)
    db2.lab.evict()
    db2.lab.use_log(0)


def test_emulated_server_rule_16_sections_have_totals(db2: Db2, session: Any, table: str) -> None:
    """100 look-ups: two pages of 8 ms each, told in milliseconds; the time of processors in microseconds."""
    db2.lab.read_randomly("APP", table, 100, by=LOOK)
    assert rows(session, CACHE, LOOK) == [(0, 100, 100, 1_605, 5_000, 1_600)]
    db2.lab.run(LOOK, {"NUM_EXECUTIONS": 100, "STMT_EXEC_TIME": 45})
    assert rows(session, CACHE, LOOK)[0][1:4] == (200, 200, 1_650)


def test_emulated_server_rule_16_each_member_has_its_own(db2: Db2, session: Any, table: str) -> None:
    """A statement is in the cache of each member that has executed it, as another section with the same STMTID."""
    db2.lab.behave(members=2)
    for member in (0, 1):
        db2.lab.run(LOOK, {"NUM_EXECUTIONS": member + 1}, member)
    assert [row[:2] for row in rows(session, CACHE, LOOK)] == [(0, 1), (1, 2)]
    query = "SELECT COUNT(DISTINCT S.{}) FROM TABLE(SYSPROC.MON_GET_PKG_CACHE_STMT(NULL, NULL, NULL, -2)) AS S WITH UR"
    found = [rows(session, query.format(column)) for column in ("STMTID", "EXECUTABLE_ID")]
    assert found == [[(1,)], [(2,)]]


def test_emulated_server_rule_16_what_leaves_the_cache_begins_anew(db2: Db2, session: Any, table: str) -> None:
    """The entry goes with its counters; INSERT_TIMESTAMP tells that it came again."""
    query = (
        "SELECT S.INSERT_TIMESTAMP, S.NUM_EXECUTIONS FROM TABLE(MON_GET_PKG_CACHE_STMT(NULL, NULL, NULL, -2)) AS S "
        "WITH UR"
    )
    db2.lab.run(LOOK, {"NUM_EXECUTIONS": 100})
    ((before, _),) = rows(session, query)
    db2.lab.evict(LOOK)
    assert rows(session, query) == []
    db2.lab.run(LOOK, {"NUM_EXECUTIONS": 3})
    ((after, executions),) = rows(session, query)
    assert (after > before, executions) == (True, 3)


def test_emulated_server_rule_16_without_activity_metrics_executions_only(db2: Db2, session: Any) -> None:
    """With mon_act_metrics NONE the executions go on and nothing is measured: times say nothing then."""
    db2.lab.behave(mon_act_metrics="NONE")
    db2.lab.run(LOOK, {"NUM_EXECUTIONS": 100, "STMT_EXEC_TIME": 500})
    assert rows(session, CACHE, LOOK) == [(0, 100, 0, 0, 0, 0)]
    query = "SELECT C.\"VALUE\" FROM TABLE(SYSPROC.DB_GET_CFG(-2)) AS C WHERE C.NAME = 'mon_act_metrics' WITH UR"
    assert rows(session, query) == [("NONE",)]


def test_emulated_server_rule_17_no_rows_without_hadr(db2: Db2, session: Any) -> None:
    """A standard database has none; a primary one for each standby, in bytes and milliseconds."""
    assert rows(session, STANDBYS) == []
    db2.lab.behave(hadr_role="PRIMARY")
    assert rows(session, STANDBYS) == [(1, "PEER", "CONNECTED", 0, 0, 0)]
    db2.lab.set_standby(1, gap=5_000_000, replay_gap=7_000, log_wait_ms=340, log_waits=12)
    db2.lab.set_standby(2, state="DISCONNECTED", connected="DISCONNECTED", gap=None, replay_gap=None)
    assert rows(session, STANDBYS) == [
        (1, "PEER", "CONNECTED", 5_000_000, 7_000, 340),
        (2, "DISCONNECTED", "DISCONNECTED", None, None, 0),
    ]


@pytest.mark.parametrize(("options", "share"), [("", 0.5), ('COPY_USE_LOAD "COPY YES TO /backup"', 0.0)])
def test_emulated_server_rule_17_a_copy_is_log(db2: Db2, session: Any, table: str, options: str, share: float) -> None:
    """Inserts of COPY are logged: what is not sent is the gap, while it runs too. A LOAD writes no rows there."""
    db2.lab.behave(hadr_role="PRIMARY")
    db2.lab.set_standby(1, state="PEER", connected="CONNECTED", gap=0, replay_gap=0, unsent_share=0.5)
    call = (
        f"CALL SYSPROC.ADMIN_MOVE_TABLE('APP','{table}','TS_FAST','TS_FAST','TS_FAST','','','','','{options}','{{}}')"
    )
    rows(session, call.format("INIT"))
    assert rows(session, STANDBYS)[0][3] == 0
    rows(session, call.format("COPY"))
    pages = (640 + 32) + (64 + 32)  # of data and of the index, each with an extent of its map
    assert rows(session, STANDBYS)[0][3] == int(pages * 4_096 * share)
    db2.lab.set_standby(1, unsent_share=0.0, unsent=0.0)
    rows(session, call.format("CANCEL"))


def test_emulated_server_rule_18_log_room_in_bytes(db2: Db2, session: Any) -> None:
    """25 files of 1,024 pages of 4 KB, less what transactions hold; whose is the oldest."""
    assert rows(session, LOG) == [(25 * 1_024 * 4_096, 0, 0)]
    db2.lab.use_log(100_000_000, by=77)
    assert rows(session, LOG) == [(25 * 1_024 * 4_096 - 100_000_000, 100_000_000, 77)]
    db2.lab.behave(log_files=(1024, 13, -1))
    assert rows(session, LOG)[0][0] == -1


def test_emulated_server_rule_18_none_of_them_is_for_everybody(db2: Db2, session: Any) -> None:
    """SQL0440N without EXECUTE; the GRANT opens each."""
    blind = connect(db2, BLIND.name, BLIND.password)
    try:
        for call in FUNCTIONS:
            query = f"SELECT COUNT(*) FROM TABLE({call}) AS T WITH UR"
            assert "SQL0440N" in refused(blind, query)
            rows(session, f"GRANT EXECUTE ON FUNCTION SYSPROC.{call.partition('(')[0]} TO USER BLIND")
            assert len(rows(blind, query)) == 1
    finally:
        end(blind)


@pytest.mark.parametrize(("version", "known"), [("9.7", (True, False, False)), ("10.1", (True, True, False))])
def test_emulated_server_rule_18_they_came_one_by_one(version: str, known: tuple[bool, ...]) -> None:
    """The package cache with 9.7, HADR with 10.1, the log with 10.5."""
    with running_db2(version) as older:
        session = connect(older)
        for call, there in zip(FUNCTIONS, known, strict=True):
            query = f"SELECT COUNT(*) FROM TABLE({call}) AS T WITH UR"
            assert len(rows(session, query)) == 1 if there else "SQL0440N" in refused(session, query)
        end(session)


def test_emulated_server_rule_29_the_clock_in_utc(session: Any) -> None:
    """By the query of exports, as it stands and within another one."""
    taken = "VARCHAR_FORMAT(CURRENT TIMESTAMP - CURRENT TIMEZONE, 'YYYY-MM-DD HH24:MI:SS')"
    clock = f"SELECT {taken} AS TAKEN_AT FROM SYSIBM.SYSDUMMY1"
    for statement in (clock, f"SELECT * FROM ({clock}) AS Q"):
        ((taken_at,),) = rows(session, statement)
        at = datetime.strptime(f"{taken_at}+0000", "%Y-%m-%d %H:%M:%S%z")
        assert abs((datetime.now(UTC) - at).total_seconds()) < 30.0
