"""The emulated server itself, over IBM's real driver: what it executes, refuses, and how it breaks."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.labs.db2.client import Db2, wait_until
from tests.labs.db2.conftest import connect, end, refused, rows
from tests.labs.db2.derby import class_path
from tests.labs.db2.server import ADMIN, BLIND, LOOKER

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
REBALANCES = "SELECT R.REBALANCER_STATUS FROM TABLE(SYSPROC.MON_GET_REBALANCE_STATUS('', -2)) AS R WITH UR"
IJ_SECONDS = 60.0


def move(table: str, phase: str, to: str = "TS_FAST") -> str:
    """One call of ADMIN_MOVE_TABLE."""
    homes = f"'{to}','{to}','{to}'" if phase == "INIT" else "'','',''"
    return f"CALL SYSPROC.ADMIN_MOVE_TABLE('APP','{table}',{homes},'','','','','','{phase}')"


def status(session: Any, table: str) -> str:
    """STATUS of its move."""
    query = 'SELECT CAST(M."VALUE" AS VARCHAR(100)) FROM SYSTOOLS.ADMIN_MOVE_TABLE AS M WHERE M.TABNAME = ? '
    return str(rows(session, query + "AND M.\"KEY\" = 'STATUS' WITH UR", table)[0][0])


def home(session: Any, table: str) -> tuple[str | None, str | None]:
    """Table spaces of its data and its indexes, by the catalog."""
    query = "SELECT T.TBSPACE, T.INDEX_TBSPACE FROM SYSCAT.TABLES AS T WHERE T.TABNAME = ? WITH UR"
    (found,) = rows(session, query, table)
    return found[0], found[1]


def test_emulated_server_agrees_with_an_independent_client(db2: Db2, table: str, tmp_path: Path) -> None:
    """Derby's own JDBC client, which shares no code with IBM's driver, sees the same rows and moves the same table."""
    db2.lab.read_randomly("APP", table, 7)
    url = f"jdbc:derby://127.0.0.1:{db2.port}/SAMPLE;user={ADMIN.name};password={ADMIN.password}"
    query = f"SELECT 'READS=' || RTRIM(CHAR(T.OBJECT_DATA_P_READS)) FROM TABLE(MON_GET_TABLE('', '{table}', -2)) AS T"
    script = f"connect '{url}';\n{query};\n{move(table, 'INIT')};\nALTER TABLESPACE NONE REBALANCE;\nexit;\n"
    command = ["java", "-cp", class_path(), "org.apache.derby.tools.ij"]
    done = subprocess.run(
        command, input=script, capture_output=True, text=True, timeout=IJ_SECONDS, check=True, cwd=tmp_path
    )  # it writes a derby.log where it is
    assert "READS=7 " in done.stdout
    assert "ERROR 42704: NONE" in done.stdout
    assert done.stdout.count("ERROR") == 1, done.stdout
    assert db2.lab.sent()[-2].endswith("'INIT')")


def test_emulated_server_gives_long_results_whole(db2: Db2, session: Any) -> None:
    """Results of many segments arrive complete: 3,825 rows of 300 characters."""
    rows(session, "CREATE TABLE APP_WIDE (N INTEGER, C VARCHAR(300))")
    values = ", ".join(f"({n}, CAST('{n % 10}' AS VARCHAR(300)))" for n in range(45))
    rows(session, f"INSERT INTO APP_WIDE VALUES {values}")
    query = "SELECT A.N, '{}' || C.C FROM APP_WIDE AS A, APP_WIDE AS B, APP_WIDE AS C "
    found = rows(session, query.format("x" * 299) + "WHERE C.N = 1 OR (C.N = 2 AND B.N < 40)")
    assert len(found) == 45 * 45 + 45 * 40
    assert all(len(text) == 300 for _, text in found)


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("PLEASE BE FASTER", "SQL0104N"),
        ("ALTER TABLESPACE TS_SLOW FASTER", "SQL0104N"),
        ("SELECT N FROM SYSCAT.NOTHING", "SQL0204N"),
        ("SELECT NOTHING FROM SYSCAT.TABLES", "SQL0206N"),
        ("SELECT * FROM TABLE(SYSPROC.MON_GET_NOTHING(-2)) AS T", "SQL0440N"),
        ("SELECT * FROM TABLE(SYSPROC.MON_GET_TABLE('', -2)) AS T", "SQL0440N"),
        ("CALL SYSPROC.ADMIN_MOVE_TABLE('APP','T','INIT')", "SQL0104N|SQL0440N"),
        ("CALL SYSPROC.ADMIN_NOTHING('APP')", "SQL0104N"),
        ("ALTER TABLESPACE NONE USING STOGROUP FAST", "SQL0204N"),
        ("ALTER TABLESPACE TS_SLOW USING STOGROUP NONE", "SQL0204N"),
    ],
)
def test_emulated_server_refuses_what_it_does_not_know(session: Any, statement: str, code: str) -> None:
    """Unknown statements, views, columns, functions and names fail with Db2's codes, never with an empty result."""
    assert any(one in refused(session, statement) for one in code.split("|"))


def test_emulated_server_knows_its_users(db2: Db2, table: str) -> None:
    """A wrong password, a function without EXECUTE, a move without the authority: each has its own code."""
    import ibm_db_dbi

    with pytest.raises(ibm_db_dbi.Error, match="SQL30082N"):
        connect(db2, LOOKER.name, "guessed")
    looker, blind = connect(db2, LOOKER.name, LOOKER.password), connect(db2, BLIND.name, BLIND.password)
    query = "SELECT T.TABNAME FROM TABLE(SYSPROC.MON_GET_TABLE('', '', -2)) AS T WITH UR"
    assert (table,) in rows(looker, query)
    assert "SQL0440N" in refused(blind, query)
    assert "SQL0551N" in refused(looker, move(table, "INIT"))
    assert "SQL0552N" in refused(looker, f"ALTER TABLESPACE {table} USING STOGROUP FAST")
    end(looker)
    end(blind)


def test_emulated_server_applies_arguments_of_functions(db2: Db2, session: Any, table: str) -> None:
    """Empty names and -2 mean all; a name, by literal or parameter, and a member narrow the rows."""
    before = db2.lab.behave(members=2)
    try:
        count = "SELECT COUNT(*) FROM TABLE(MON_GET_TABLE({})) AS T WITH UR"
        assert rows(session, count.format(f"'', '{table}', -2")) == [(2,)]
        assert rows(session, count.format(f"'APP', '{table}', -1")) == [(1,)]
        assert rows(session, count.format("?, ?, 1"), "APP", table) == [(1,)]
        assert rows(session, count.format("?, ?, -2"), "OTHER", table) == [(0,)]
    finally:
        db2.lab.behave(**before)


def test_emulated_server_moves_a_space_at_the_commit(db2: Db2, table: str) -> None:
    """Pitfalls 12 and 13: nothing before COMMIT, nothing after ROLLBACK; when the rebalance ends its row is gone."""
    session = connect(db2)
    session.set_autocommit(False)
    before = db2.lab.behave(extents_per_second=0.5)
    group = "SELECT S.SGNAME FROM SYSCAT.TABLESPACES AS S WHERE S.TBSPACE = ? WITH UR"
    try:
        rows(session, f"ALTER TABLESPACE {table} USING STOGROUP FAST")
        assert rows(session, group, table) == [("SLOW",)]
        session.rollback()
        rows(session, f"ALTER TABLESPACE {table} USING STOGROUP FAST")
        session.commit()
        assert rows(session, group, table) == [("FAST",)]
        assert rows(session, REBALANCES) == [("ACTIVE",)]
        rows(session, f"ALTER TABLESPACE {table} REBALANCE SUSPEND")
        assert rows(session, REBALANCES) == [("SUSPENDED",)]
        db2.lab.behave(extents_per_second=1e9)
        assert rows(session, REBALANCES) == [("SUSPENDED",)]
        rows(session, f"ALTER TABLESPACE {table} REBALANCE RESUME")
        assert rows(session, REBALANCES) == []
        containers = f"SELECT C.CONTAINER_NAME FROM TABLE(MON_GET_CONTAINER('{table}', -2)) AS C WITH UR"
        ((path,),) = rows(session, containers)
        assert path.startswith("/db2/fast/")
    finally:
        db2.lab.behave(**before)
        session.rollback()
        end(session)


def test_emulated_server_may_wait_for_an_explicit_rebalance(db2: Db2, session: Any, table: str) -> None:
    """Sources disagree whether a rebalance starts by itself: switched off, old containers stay until REBALANCE."""
    before = db2.lab.behave(rebalance_starts=False)
    dropped = f"SELECT T.TBSP_PATHS_DROPPED FROM TABLE(MON_GET_TABLESPACE('{table}', -2)) AS T WITH UR"
    try:
        rows(session, f'ALTER TABLESPACE "{table}" USING STOGROUP "FAST"')
        assert rows(session, dropped) == [(1,)]
        rows(session, f'ALTER TABLESPACE "{table}" REBALANCE /* hotplace */')
        assert rows(session, dropped) == [(0,)]
    finally:
        db2.lab.behave(**before)


def test_emulated_server_moves_a_table_phase_by_phase(session: Any, table: str) -> None:
    """STATUS names the next phase; a phase out of turn is SQL2105N, a second INIT SQL2104N; only SWAP changes homes."""
    rows(session, move(table, "INIT"))
    assert status(session, table) == "COPY"
    assert "SQL2105N" in refused(session, move(table, "SWAP"))
    assert "SQL2104N" in refused(session, move(table, "INIT"))
    rows(session, move(table, "COPY"))
    rows(session, move(table, "REPLAY"))
    assert home(session, table) == (table, table)
    rows(session, move(table, "SWAP"))
    assert home(session, table) == ("TS_FAST", "TS_FAST")
    assert "SQL2105N" in refused(session, move(table, "CANCEL"))
    rows(session, move(table, "CLEANUP"))
    assert status(session, table) == "COMPLETE"


def test_emulated_server_starts_counters_anew_for_a_moved_table(db2: Db2, session: Any, table: str) -> None:
    """A move makes a new object: file id changed, counters at zero. CANCEL before SWAP leaves both as they were."""
    seen = "SELECT T.TAB_FILE_ID, T.OBJECT_DATA_P_READS FROM TABLE(MON_GET_TABLE('APP', ?, -2)) AS T WITH UR"
    db2.lab.read_randomly("APP", table, 5)
    ((file_id, reads),) = rows(session, seen, table)
    for phase in ("INIT", "COPY", "CANCEL"):
        rows(session, move(table, phase))
    assert rows(session, seen, table) == [(file_id, reads)] == [(file_id, 5)]
    rows(session, move(table, "INIT").replace("'INIT'", "'MOVE'"))
    ((moved, after),) = rows(session, seen, table)
    assert (moved != file_id, after) == (True, 0)


@pytest.mark.parametrize("change", [{"type": "S"}, {"type": "H"}])
def test_emulated_server_restricts_admin_move_table(db2: Db2, session: Any, table: str, change: dict[str, Any]) -> None:
    """Materialized query tables and what is of a type make INIT fail; for foreign keys see test_real_keys."""
    db2.lab.alter_table("APP", table, **change)
    assert "SQL2104N" in refused(session, move(table, "INIT"))


def test_emulated_server_has_locks_room_and_states(db2: Db2, session: Any, table: str) -> None:
    """SQL0911N with reason 68, SQL0289N, SQL0290N; each can be repeated once its cause is gone."""
    rows(session, move(table, "INIT"))
    db2.lab.fill("FAST", True)
    assert "SQL0289N" in refused(session, move(table, "COPY"))
    assert "SQL0289N" in refused(session, f"ALTER TABLESPACE {table} USING STOGROUP FAST")
    db2.lab.fill("FAST", False)
    rows(session, move(table, "COPY"))
    db2.lab.lock("APP", table, True)
    message = refused(session, move(table, "SWAP"))
    assert "SQL0911N" in message
    assert '"68"' in message
    db2.lab.lock("APP", table, False)
    rows(session, move(table, "SWAP"))
    db2.lab.set_state(table, "BACKUP_IN_PROGRESS")
    assert "SQL0290N" in refused(session, f"ALTER TABLESPACE {table} REBALANCE")


def test_emulated_server_can_force_an_application(db2: Db2, session: Any, table: str) -> None:
    """FORCE APPLICATION ends what another session runs with SQL1224N; the phase has not happened, CANCEL tidies."""
    other = connect(db2)
    before = db2.lab.behave(phase_seconds=20.0)

    def force() -> None:
        wait_until(lambda: bool(db2.lab.running()), "the phase runs")
        rows(session, f"CALL SYSPROC.ADMIN_CMD('FORCE APPLICATION ({db2.lab.running()[0][0]})')")

    forcing = threading.Thread(target=force)
    forcing.start()
    try:
        assert "SQL1224N" in refused(other, move(table, "INIT"))
    finally:
        forcing.join()
        db2.lab.behave(**before)
        end(other)
    assert status(session, table) == "INIT"
    rows(session, move(table, "CANCEL"))
    rows(session, move(table, "INIT"))


def test_emulated_server_is_as_new_when_it_is_renewed(db2: Db2, table: str) -> None:
    """Whoever takes it next finds no table, no move, no lock, no session and no behaviour of the one before."""
    before = connect(db2)
    before.set_autocommit(False)
    rows(before, move(table, "INIT"))
    rows(before, "LOCK TABLE HOTPLACE.LEASE IN EXCLUSIVE MODE")
    db2.lab.behave(members=3, auto_reval="DISABLED")
    db2.lab.grant("LOOKER", "SQLADM")
    db2.lab.utility("BACKUP")
    db2.lab.renew()
    assert (db2.lab.connections(), db2.lab.sent(), db2.lab.running()) == ([], [], [])
    end(before)
    session = connect(db2)
    try:
        rows(session, "LOCK TABLE HOTPLACE.LEASE IN EXCLUSIVE MODE")
        assert rows(session, "SELECT T.TABNAME FROM SYSCAT.TABLES AS T WITH UR") == []
        assert rows(session, "SELECT U.UTILITY_ID FROM TABLE(MON_GET_UTILITY(-2)) AS U WITH UR") == []
        assert rows(session, "SELECT A.GRANTEE FROM SYSCAT.DBAUTH AS A WHERE A.GRANTEE = 'LOOKER' WITH UR") == []
        assert len(rows(session, "SELECT D.MEMBER FROM TABLE(MON_GET_DATABASE(-2)) AS D WITH UR")) == 1
        assert "SQL0204N" in refused(session, 'SELECT M."KEY" FROM SYSTOOLS.ADMIN_MOVE_TABLE AS M WITH UR')
        assert db2.lab.behave(auto_reval="DEFERRED") == {"auto_reval": "DEFERRED"}
    finally:
        end(session)


def test_emulated_server_can_break_in_the_middle_of_rows(db2: Db2, table: str) -> None:
    """A connection that ends within an answer is an error of the driver, not a short result."""
    session = connect(db2)
    before = db2.lab.behave(cut_mid_answer=True)
    try:
        refused(session, "SELECT T.TABNAME FROM SYSCAT.TABLES AS T WITH UR")
    finally:
        db2.lab.behave(**before)
        end(session)


def test_emulated_server_can_be_silent(db2: Db2) -> None:
    """A server that accepts and says nothing costs ConnectTimeout, no more."""
    import ibm_db_dbi

    before = db2.lab.behave(silent=True)
    try:
        with pytest.raises(ibm_db_dbi.Error, match="SQL30081N"):
            ibm_db_dbi.connect(db2.dsn() + "ConnectTimeout=1;")
    finally:
        db2.lab.behave(**before)


def test_emulated_server_restarts_with_counters_at_zero(db2: Db2, table: str) -> None:
    """Deactivation ends connections, zeroes counters and changes DB_CONN_TIME."""
    asked = "SELECT D.DB_CONN_TIME FROM TABLE(MON_GET_DATABASE(-2)) AS D WITH UR"
    reads = "SELECT T.OBJECT_DATA_P_READS FROM TABLE(MON_GET_TABLE('APP', ?, -2)) AS T WITH UR"
    db2.lab.read_randomly("APP", table, 3)
    session = connect(db2)
    activated = rows(session, asked)
    assert rows(session, reads, table) == [(3,)]
    db2.lab.restart()
    end(session)
    session = connect(db2)
    assert rows(session, asked) != activated
    assert rows(session, reads, table) == [(0,)]
    end(session)


def test_emulated_server_has_partitioned_tables(db2: Db2, session: Any, table: str) -> None:
    """A partition in each table space; SYSCAT.TABLES names none, and ADMIN_MOVE_TABLE does not move it here."""
    db2.lab.create_partitioned("APP", "PARTED", "PARTED_PK", [table, "TS_FAST"], 320)
    try:
        query = (
            "SELECT P.DATAPARTITIONID, S.TBSPACE FROM SYSCAT.DATAPARTITIONS AS P, SYSCAT.TABLESPACES AS S"
            " WHERE P.TBSPACEID = S.TBSPACEID AND P.TABNAME = 'PARTED' ORDER BY 1 WITH UR"
        )
        assert rows(session, query) == [(0, table), (1, "TS_FAST")]
        assert home(session, "PARTED") == (None, None)
        assert "SQL2104N" in refused(session, move("PARTED", "INIT"))
    finally:
        db2.lab.drop_table("APP", "PARTED")


def test_emulated_server_takes_many_tables(db2: Db2, session: Any, table: str) -> None:
    """300 tables made at once appear with their names, quotes and commas included, and go again."""
    names = [f'many, "{number}"' for number in range(300)]
    for name in names:
        db2.lab.create_table("MANY", name, f"I{name}", table, 10)
    query = "SELECT T.TABNAME, T.FPAGES FROM SYSCAT.TABLES AS T WHERE T.TABSCHEMA = 'MANY' WITH UR"
    assert sorted(rows(session, query)) == sorted((name, 10) for name in names)
    for name in names:
        db2.lab.drop_table("MANY", name)
    assert rows(session, query) == []


def test_emulated_server_counts_by_hand(db2: Db2, session: Any, table: str) -> None:
    """By hand: 100 look-ups on SLOW wait for 200 pages, 1600 ms; a scan of 640 pages at 0.5 ms for none."""
    db2.lab.read_randomly("APP", table, 100)
    db2.lab.scan("APP", table)
    query = (
        "SELECT T.POOL_DATA_P_READS, T.POOL_INDEX_P_READS, T.POOL_ASYNC_DATA_READS, T.POOL_READ_TIME,"
        " T.POOL_ASYNC_READ_TIME FROM TABLE(MON_GET_TABLESPACE(?, -2)) AS T WITH UR"
    )
    assert rows(session, query, table) == [(740, 100, 640, 1920, 320)]


def test_emulated_server_shows_no_object_counters_below_extended(db2: Db2, session: Any, table: str) -> None:
    """Pitfall 1: with mon_obj_metrics at BASE object reads are 0 and nothing fails."""
    db2.lab.read_randomly("APP", table, 9)
    before = db2.lab.behave(mon_obj_metrics="BASE")
    query = "SELECT T.ROWS_READ, T.OBJECT_DATA_P_READS FROM TABLE(MON_GET_TABLE('APP', ?, -2)) AS T WITH UR"
    try:
        assert rows(session, query, table) == [(9, 0)]
    finally:
        db2.lab.behave(**before)
    assert rows(session, query, table) == [(9, 9)]


def test_emulated_server_divides_sizes_over_partitions(db2: Db2, session: Any, table: str) -> None:
    """640 pages are 320 on each of two database partitions, on pureScale 640 on each member."""
    pages = f"SELECT T.DATA_OBJECT_L_PAGES FROM TABLE(MON_GET_TABLE('APP', '{table}', -2)) AS T WITH UR"
    for shared, expected in ((False, [(320,), (320,)]), (True, [(640,), (640,)])):
        before = db2.lab.behave(members=2, pure_scale=shared)
        try:
            assert rows(session, pages) == expected
        finally:
            db2.lab.behave(**before)


@pytest.mark.parametrize("code", [-1024, -1224, -30081])
def test_emulated_server_ends_a_connection_with_a_code(db2: Db2, table: str, code: int) -> None:
    """Within a transaction the driver reconnects and says SQL30108N, whatever the server said; nothing has happened."""
    session = connect(db2)
    session.set_autocommit(False)
    rows(session, "SELECT 1 FROM SYSIBM.SYSDUMMY1 AS D")
    db2.lab.behave(end_with=code)
    assert "SQL30108N" in refused(session, f"ALTER TABLESPACE {table} USING STOGROUP FAST")
    assert db2.lab.containers(table) == ["/db2/slow"]
    end(session)


def test_the_path_decides_which_function_is_meant(db2: Db2) -> None:
    """Emulated server: the schema of one's own name is in CURRENT PATH until SET CURRENT PATH takes it out."""
    counted = "SELECT COUNT(*) FROM SYSCAT.TABLES AS T"
    before = db2.lab.behave(hostile_functions=True)
    session = connect(db2)
    try:
        assert "SQL0438N" in refused(session, counted)
        session.cursor().execute("SET CURRENT PATH = SYSTEM PATH")
        assert rows(session, counted)
    finally:
        end(session)
        db2.lab.behave(**before)
