"""Emulated server: queries over the dictionary mean what Oracle means, and what is unknown fails loudly.

Every expected row is worked out by hand from the model below.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.labs.oracle.database import EmulatedDatabase
from tests.labs.oracle.documented import view
from tests.labs.oracle.model import BLOCK, Quirks
from tests.labs.oracle.session import EmulatedSession
from tests.labs.oracle.views.dictionary import DICTIONARY
from tests.labs.oracle.views.performance import PERFORMANCE
from tests.labs.tns.backend import Bind, Client, OracleError
from tests.labs.tns.values import OracleType
from tests.over import over

MB = 2**20
VERSIONS = ((11, 2, 0, 4), (12, 1, 0, 2), (12, 2, 0, 1), (19, 22, 0), (23, 4, 0))


def database(version: tuple[int, ...] = (19, 22, 0, 0, 0), **quirks: Any) -> EmulatedDatabase:
    """One tablespace, a table with an index, a partitioned one."""
    made = EmulatedDatabase(version, Quirks(**quirks))
    made.add_tablespace("DATA", "/hdd/data01.dbf", 1024 * MB)
    made.add_user("APP", "app", quotas={"DATA": -1})
    made.add_user("DBA_", "dba", privileges={"SELECT ANY DICTIONARY"})
    orders = made.add_table("APP", "ORDERS", "DATA", 8 * MB)
    made.add_index(orders, "ORDERS_PK", "DATA", 1 * MB, unique=True)
    made.add_table("APP", "EVENTS", "DATA", 2 * MB, partitions=("P1", "P2"))
    return made


def session(of: EmulatedDatabase, user: str = "DBA_") -> EmulatedSession:
    """A session without a wire."""
    opened = of.open(Client(user=user, service="orcl"))
    assert isinstance(opened, EmulatedSession)
    return opened


def ask(of: EmulatedDatabase, sql: str, *values: Any, user: str = "DBA_") -> list[tuple[Any, ...]]:
    """Rows of a query."""
    asking = session(of, user)
    binds = [Bind(OracleType.VARCHAR, 100, [value]) for value in values]
    return [tuple(row) for row in asking.execute(sql, binds, 1).rows]


@pytest.fixture(scope="module")
def usual() -> EmulatedDatabase:
    """A 19c."""
    return database()


@over(
    ("sql", "expected"),
    [
        ("SELECT NVL('', 'nothing') FROM dual", [("nothing",)]),
        ("SELECT COUNT(*) FROM dual WHERE '' IS NULL", [(1,)]),
        ("SELECT 'a' || NULL || 'b' FROM dual", [("ab",)]),
        ("SELECT DECODE(NULL, NULL, 'same', 'other') FROM dual", [("same",)]),
        ("SELECT 7 / 2 FROM dual", [(3.5,)]),
        ("SELECT NVL2(dummy, 1, 2) FROM dual", [(1,)]),
        ("SELECT TO_NUMBER('12') + 1 FROM dual", [(13,)]),
        ("SELECT bytes FROM dba_segments WHERE segment_name = 'ORDERS'", [(8 * MB,)]),
        ("SELECT segment_name FROM dba_segments WHERE rownum <= 1 AND segment_name LIKE 'ORD%PK'", [("ORDERS_PK",)]),
        ("SELECT partition_name FROM dba_segments WHERE owner = 'APP' ORDER BY 1 DESC FETCH FIRST 1 ROWS ONLY",
         [(None,)]),
        ("SELECT COUNT(*) FROM v$instance WHERE startup_time < SYSDATE", [(1,)]),
        ("SELECT 1 FROM dual WHERE SYSDATE - 2 / 86400 < SYSDATE - 1 / 86400 AND SYSDATE - 1 / 3 < SYSDATE", [(1,)]),
        ("SELECT TO_CHAR(startup_time, 'YYYY-MM-DD HH24:MI:SS') FROM v$instance", [("2026-01-05 06:00:00",)]),
        ("SELECT value FROM v$parameter WHERE name = 'statistics_level'", [("TYPICAL",)]),
        ("SELECT SYS_CONTEXT('USERENV', 'SESSION_USER'), user FROM dual", [("DBA_", "DBA_")]),
        ("SELECT t.table_name, i.index_name FROM dba_tables t, dba_indexes i WHERE i.table_name (+) = t.table_name",
         [("EVENTS", None), ("ORDERS", "ORDERS_PK")]),
        ("SELECT tablespace_name, partitioned FROM sys.dba_tables WHERE table_name = 'EVENTS'", [(None, "YES")]),
        ("SELECT COUNT(*), SUM(bytes) FROM dba_segments WHERE owner = 'APP'", [(4, 13 * MB)]),
        ("SELECT object_type, data_object_id FROM dba_objects WHERE object_name = 'EVENTS' AND subobject_name IS NULL",
         [("TABLE", None)]),
    ],
)  # fmt: skip
def test_a_query_means_what_oracle_means(usual: EmulatedDatabase, sql: str, expected: list[tuple[Any, ...]]) -> None:
    """Empty strings are NULL, NULLs sort high, old outer joins keep their rows, ROWNUM limits."""
    assert sorted(ask(usual, sql)) == expected


def test_binds_by_name_and_position(usual: EmulatedDatabase) -> None:
    """Each occurrence takes its own value."""
    sql = "SELECT segment_name FROM dba_segments WHERE owner = :o AND segment_type = :2 AND bytes > :big"
    assert ask(usual, sql, "APP", "INDEX", 1000) == [("ORDERS_PK",)]


@over(
    ("sql", "number"),
    [
        ("SELECT 1 FROM dba_nothing", 942),
        ("SELECT 1 FROM x$bh", 942),
        ("SELECT wrong FROM dba_segments", 904),
        ("SELECT FROM WHERE", 900),
        ("SELECT bytes AS size FROM dba_segments", 923),
        ("SELECT session.sid FROM v$session session", 923),
        ("SELECT 1 FROM dual WHERE dummy = :level", 1745),
        ("PLEASE BE FASTER", 900),
        ("SELECT dbms_random.value FROM dual", 3001),
        ("SELECT standard_hash('a') FROM dual", 3001),
        ("SELECT 1 FROM v$db_cache_advice", 3001),
        ("SELECT 1 FROM dba_rollback_segs", 3001),
        ("SELECT level FROM dual CONNECT BY level < 3", 3001),
        ("SELECT TO_CHAR(SYSDATE, 'DAY') FROM dual", 3001),
        ("SELECT rownum FROM dba_segments", 3001),
        ("INSERT INTO t VALUES (1)", 942),
        ("CREATE TABLE t (a NUMBER)", 1031),
        ("ALTER TABLE APP.ORDERS SHRINK SPACE", 933),
        ("BEGIN dbms_stats.gather_table_stats('APP', 'ORDERS'); END;", 20000),
    ],
)
def test_the_unknown_fails_loudly(usual: EmulatedDatabase, sql: str, number: int) -> None:
    """Never an empty result: missing objects as Oracle says it, everything else as not emulated."""
    with pytest.raises(OracleError) as caught:
        ask(usual, sql)
    assert caught.value.number == number


def test_missing_binds_are_noticed(usual: EmulatedDatabase) -> None:
    """ORA-01008."""
    with pytest.raises(OracleError) as caught:
        ask(usual, "SELECT 1 FROM dual WHERE dummy = :x")
    assert caught.value.number == 1008


@pytest.mark.parametrize("version", VERSIONS)
def test_columns_come_with_their_release(version: tuple[int, ...]) -> None:
    """CON_ID and ORACLE_MAINTAINED exist from 12.1 on, and asking for them earlier is an invalid identifier."""
    of = database(version)
    for sql in ("SELECT con_id FROM v$segstat", "SELECT oracle_maintained FROM dba_objects"):
        if version >= (12, 1):
            ask(of, sql)
        else:
            with pytest.raises(OracleError, match="ORA-00904"):
                ask(of, sql)


@over("name", sorted({**DICTIONARY, **PERFORMANCE}))
def test_every_emulated_column_is_documented(usual: EmulatedDatabase, name: str) -> None:
    """The lab shows no column that the documentation of the newest release does not have."""
    shown = view(name, (23, 99))
    assert shown is not None
    made = DICTIONARY[name](usual) if name in DICTIONARY else PERFORMANCE[name](usual, 1)
    assert {column for row in made for column in row} <= set(shown.columns)


def test_a_view_needs_a_grant(usual: EmulatedDatabase) -> None:
    """Without one it does not even exist; a grant on SYS.V_$ opens the synonym V$ and nothing else."""
    with pytest.raises(OracleError, match="ORA-00942"):
        ask(usual, "SELECT COUNT(*) FROM v$segstat", user="APP")
    usual.users["APP"].grants.add(("READ", "SYS.V_$SEGSTAT"))
    assert ask(usual, "SELECT COUNT(*) FROM v$segstat", user="APP") == [(0,)]
    with pytest.raises(OracleError, match="ORA-00942"):
        ask(usual, "SELECT COUNT(*) FROM gv$segstat", user="APP")


def test_each_instance_counts_for_itself() -> None:
    """V$ shows the instance one is on, GV$ both; all statistics of a touched segment are there."""
    of = database(instances=2)
    orders = of.tables["APP", "ORDERS"].segments[0]
    of.read_randomly(orders, 100, instance=1)
    of.read_randomly(orders, 40, instance=2)
    reads = "FROM {} WHERE statistic_name = 'physical reads'"
    assert ask(of, f"SELECT value {reads.format('v$segstat')}") == [(100,)]
    assert ask(of, f"SELECT inst_id, value {reads.format('gv$segstat')} ORDER BY 1") == [(1, 100), (2, 40)]
    assert ask(of, "SELECT COUNT(*) FROM v$segstat") == [(19,)]


def test_a_scan_is_counted_in_multiblock_calls() -> None:
    """8 MB are 1,024 blocks, in calls of 128 blocks; past the cache they are direct reads as well as reads."""
    of = database()
    orders = of.tables["APP", "ORDERS"].segments[0]
    assert orders.blocks == 8 * MB // BLOCK == 1024
    of.scan(orders, direct=True)
    found = dict(ask(of, "SELECT statistic_name, value FROM v$segstat WHERE value > 0"))
    assert found == {
        "logical reads": 1024,
        "physical reads": 1024,
        "physical reads direct": 1024,
        "physical read requests": 8,
        "segment scans": 1,
    }


def test_basic_statistics_count_nothing() -> None:
    """With STATISTICS_LEVEL=BASIC segments are not counted, and V$STATISTICS_LEVEL says so."""
    of = database(statistics_level="BASIC")
    of.read_randomly(of.tables["APP", "ORDERS"].segments[0], 100)
    assert ask(of, "SELECT COUNT(*) FROM v$segstat") == [(0,)]
    assert ask(of, "SELECT system_status FROM v$statistics_level") == [("DISABLED",)]


def test_file_times_have_two_units() -> None:
    """300 reads of 5 ms are 150 hundredths of a second in V$FILESTAT and 1,500 milliseconds in V$IOSTAT_FILE."""
    of = database()
    of.read_randomly(of.tables["APP", "ORDERS"].segments[0], 300, microseconds=5000)
    assert ask(of, "SELECT singleblkrds, singleblkrdtim FROM v$filestat WHERE singleblkrds > 0") == [(300, 150)]
    sql = "SELECT small_sync_read_reqs, small_sync_read_latency FROM v$iostat_file WHERE small_sync_read_reqs > 0"
    assert ask(of, sql) == [(300, 1500)]


def test_what_was_answered_is_not_kept_longer_than_it_is_true() -> None:
    """The lab keeps relations and answers: a change shows at once, whoever asked before, and for which columns."""
    of = database()
    counted, names = "SELECT COUNT(*) FROM dba_tables", "SELECT table_name FROM dba_tables ORDER BY 1"
    assert [ask(of, counted), ask(of, names)] == [[(2,)], [("EVENTS",), ("ORDERS",)]]
    of.add_table("APP", "LATER", "DATA", MB)
    assert [ask(of, counted), ask(of, names)] == [[(3,)], [("EVENTS",), ("LATER",), ("ORDERS",)]]
    mine = "SELECT COUNT(*) FROM session_privs WHERE privilege = :which"
    asked = [("DBA_", "SELECT ANY DICTIONARY"), ("APP", "SELECT ANY DICTIONARY"), ("DBA_", "DROP ANY TABLE")]
    assert [ask(of, mine, which, user=user) for user, which in asked] == [[(1,)], [(0,)], [(0,)]]


def test_another_column_of_what_did_not_change() -> None:
    """A column that has no value in any row, named for the first time: the relation as it lies there lacks it."""
    of, documented = database(), view("V$DATABASE", VERSIONS[-2])
    assert documented is not None
    assert ask(of, "SELECT name FROM v$database") == [("ORCL",)]
    unset = next(c for c in documented.columns if ask(database(), f"SELECT {c} FROM v$database") == [(None,)])
    assert ask(of, f"SELECT {unset} FROM v$database") == [(None,)]
    assert ask(of, f"SELECT name, {unset} FROM v$database") == [("ORCL", None)]
