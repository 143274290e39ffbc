"""SELECT on the emulated server: rows worked out by hand, and what must fail fails with its number."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytds
import pytest

from tests.labs.sqlserver.conftest import Ask
from tests.labs.sqlserver.documented import documented
from tests.labs.sqlserver.instance import Database
from tests.labs.sqlserver.lab import Lab, running_lab
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.views.relations import Viewer
from tests.labs.sqlserver.views.relations_server import RELATIONS
from tests.labs.sqlserver.world import ADMINISTRATOR, FAST, READER, SLOW, STRANGER, add_scheme, add_table
from tests.over import over

NumberOf = Callable[..., int]


@pytest.fixture
def orders(lab: Lab) -> Table:
    """8,000 pages under a primary key, 1,000 of an index."""
    return add_table(lab.shop, "orders")


def test_counters_of_one_index(lab: Lab, orders: Table, ask: Ask) -> None:
    """100 random reads are 100 waits of 8 ms on that partition, and 819,200 bytes of its file."""
    lab.instance.read_randomly(lab.shop, orders.base.partitions[0], 100)
    stats = (
        "SELECT s.index_id, s.page_io_latch_wait_count, s.page_io_latch_wait_in_ms, s.singleton_lookup_count "
        f"FROM sys.dm_db_index_operational_stats(DB_ID(), {orders.object_id}, NULL, NULL) AS s"
    )
    assert ask(stats) == [(1, 100, 800, 100)]
    files = (
        "SELECT f.name, v.num_of_reads, v.num_of_bytes_read / 1024, v.io_stall_read_ms "
        "FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL) AS v WITH (NOLOCK) "
        "JOIN sys.database_files AS f ON f.file_id = v.file_id WHERE v.num_of_reads > 0"
    )
    assert ask(files) == [("shop_hdd", 100, 800, 800)]


def test_a_disk_that_does_not_seek_is_quick(lab: Lab, ask: Ask) -> None:
    """The same 100 reads of a table on the flash disk take 0.2 ms each, or nothing would ever be gained by a move."""
    quick = add_table(lab.shop, "quick", space=FAST)
    lab.instance.read_randomly(lab.shop, quick.base.partitions[0], 100)
    waits = "SELECT page_io_latch_wait_in_ms FROM sys.dm_db_index_operational_stats(DB_ID(), {}, 1, NULL)"
    assert ask(waits.format(quick.object_id)) == [(20,)]
    stalls = "SELECT num_of_reads, io_stall_read_ms FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL)"
    assert [row for row in ask(stalls) if row[0]] == [(100, 20)]


def test_a_scan_reads_ahead(lab: Lab, orders: Table, ask: Ask) -> None:
    """8,000 pages in reads of 64 are 125 reads of 512 KiB, and one wait."""
    lab.instance.scan(lab.shop, orders.base.partitions[0])
    assert ask("SELECT num_of_reads, num_of_bytes_read FROM sys.dm_io_virtual_file_stats(DB_ID(), 3)") == [
        (125, 125 * 65536 * 8)
    ]
    counter = "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE RTRIM(counter_name) = 'readahead pages/sec'"
    assert ask(counter) == [(7999,)]


def test_apply_and_outer_apply(orders: Table, ask: Ask) -> None:
    """CROSS APPLY drops what has no answer, OUTER APPLY keeps it with NULL."""
    asked = (
        "SELECT f.file_id, v.volume_mount_point FROM sys.database_files AS f "
        "{} APPLY sys.dm_os_volume_stats(DB_ID(), f.file_id * (1 - f.type)) AS v ORDER BY f.file_id"
    )
    with_volume = [(1, "D:\\"), (3, "D:\\"), (4, "S:\\")]
    assert ask(asked.format("CROSS")) == with_volume
    assert ask(asked.format("OUTER")) == [with_volume[0], (2, None), *with_volume[1:]]


def test_names_compare_without_case(orders: Table, ask: Ask) -> None:
    """As under the collation that the emulated server names; char columns without their padding."""
    asked = "SELECT o.name FROM sys.objects AS o WHERE o.name = N'ORDERS' AND o.type = 'U' AND o.name LIKE 'ord%'"
    assert ask(asked) == [("orders",)]


def test_aggregates_and_paging(orders: Table, ask: Ask) -> None:
    """GROUP BY, CTE, ROW_NUMBER, ISNULL, TOP and integer division as T-SQL does them."""
    asked = (
        "WITH sized AS (SELECT p.index_id, SUM(p.rows) / 3 AS third, ROW_NUMBER() OVER (ORDER BY p.index_id) AS n "
        "FROM sys.partitions AS p GROUP BY p.index_id) "
        "SELECT TOP (1) ISNULL(s.third, -1), s.n FROM sized AS s ORDER BY s.n"
    )
    assert ask(asked) == [(64000 // 3, 1)]


def test_functions_of_the_server(lab: Lab, ask: Ask) -> None:
    """SERVERPROPERTY and its like answer converted; an unknown property is NULL."""
    asked = (
        "SELECT CONVERT(nvarchar(50), SERVERPROPERTY('ProductVersion')), "
        "CONVERT(int, SERVERPROPERTY('EngineEdition')), "
        "CONVERT(nvarchar(9), SERVERPROPERTY('NoSuchThing')), DB_NAME(), QUOTENAME('a]b') + '.' + N'c', DB_ID('typo')"
    )
    assert ask(asked) == [("16.0.4000.1", 3, None, "shop", "[a]]b].c", None)]
    assert ask("SELECT sqlserver_start_time FROM sys.dm_os_sys_info") == [(datetime(2026, 1, 2, 3, 4, 5),)]


@over(
    ("sql", "number"),
    [
        ("SELECT name FROM sys.no_such_view", 208),
        ("SELECT no_such_column FROM sys.tables", 207),
        ("SELECT NO_SUCH_FUNCTION(1)", 195),
        ("SELECT name FROM master.sys.databases", 50000),
        ("SELECT id FROM dbo.orders", 208),
        ("SELECT 1 AS one INTO #t", 50000),
        ("SELECT FROM WHERE", 102),
        ("SELEC 1", 102),
        ("SELECT @nobody AS x", 137),
        ("SELECT SERVERPROPERTY('Edition') AS e", 50000),
        ("SELECT * FROM sys.dm_db_index_operational_stats(DB_ID(), NULL)", 313),
        ("SELECT name FROM sys.fulltext_catalogs", 50000),
        ("EXEC sp_who2", 2812),
        ("SET NO_SUCH_THING ON", 195),
        ("INSERT INTO t VALUES (1)", 102),
    ],
)
def test_what_is_unknown_fails(number_of: NumberOf, sql: str, number: int) -> None:
    """Never an empty result for what is not understood."""
    assert number_of(sql) == number


def test_columns_come_with_their_version() -> None:
    """optimize_for_sequential_key is of 2019, dm_os_host_info of 2017: 2016 has neither (207, 208)."""
    with running_lab(major=13) as lab:
        columns = documented("sys.indexes", lab.instance.major)
        assert columns is not None
        assert "optimize_for_sequential_key" not in columns.columns
        assert "compression_delay" in columns.columns
    assert documented("sys.dm_os_host_info", 13) is None
    assert documented("sys.dm_os_host_info", 14) is not None


def test_every_row_has_documented_columns_only(lab: Lab, orders: Table, ask: Ask) -> None:
    """The model gives no view a column that its documentation does not name."""
    orders.fulltext = True
    viewer = _viewer(lab.shop, lab)
    for name, rows in RELATIONS.items():
        view = documented(name, lab.instance.major)
        assert view is not None, name
        for row in list(rows(viewer))[:1]:
            assert row.keys() <= view.columns.keys() | view.arguments.keys(), name


def _viewer(shop: Database, lab: Lab) -> Viewer:
    from threading import Event

    from tests.labs.sqlserver.instance import Connected

    return Viewer(lab.instance, shop, ADMINISTRATOR, Connected(60, "sa", "p", "h", shop.name, Event()))


def test_rights(orders: Table, ask: Ask) -> None:
    """Without VIEW SERVER STATE a DMV says 300 and 297, and metadata and other sessions are silently not there."""
    with pytest.raises(pytds.DatabaseError, match="VIEW SERVER PERFORMANCE STATE permission was denied") as caught:
        ask("SELECT sample_ms FROM sys.dm_io_virtual_file_stats(NULL, NULL)", account=STRANGER)
    assert caught.value.number == 297  # python-tds keeps the number of the last message
    with pytest.raises(pytds.DatabaseError, match="VIEW DATABASE PERFORMANCE STATE permission denied in database"):
        ask("SELECT row_count FROM sys.dm_db_partition_stats", account=STRANGER)
    assert ask("SELECT name FROM sys.tables", account=STRANGER) == []
    ask("SELECT 1 AS other", account=READER)
    assert len(ask("SELECT session_id FROM sys.dm_exec_sessions", account=STRANGER)) == 1
    assert len(ask("SELECT session_id FROM sys.dm_exec_sessions", account=READER)) == 2


def test_partitions_lie_where_their_scheme_says(lab: Lab, ask: Ask) -> None:
    """A partitioned table has an allocation unit per partition, each in its filegroup."""
    add_scheme(lab.shop, "by_year", [2024, 2025], [SLOW, SLOW, FAST])
    add_table(lab.shop, "facts", space="by_year", column="id", pages=10)
    asked = (
        "SELECT p.partition_number, g.name, a.total_pages FROM sys.partitions AS p "
        "JOIN sys.allocation_units AS a ON a.container_id = p.hobt_id AND a.type = 1 "
        "JOIN sys.filegroups AS g ON g.data_space_id = a.data_space_id WHERE p.index_id = 1 ORDER BY p.partition_number"
    )
    assert ask(asked) == [(1, SLOW, 10), (2, SLOW, 10), (3, FAST, 10)]


def test_application_locks(lab: Lab, ask: Ask) -> None:
    """One session holds a lock until it lets go or ends; -1 for whoever comes second."""
    take = (
        "DECLARE @got int; EXEC @got = sys.sp_getapplock @Resource = N'only one', @LockMode = N'Exclusive', "
        "@LockOwner = N'Session', @LockTimeout = 0; SELECT @got AS got"
    )
    assert ask(take) == [(0,)]
    assert ask(take, account=READER) == [(-1,)]
    ask("EXEC sp_releaseapplock @Resource = N'only one', @LockOwner = N'Session'")
    assert ask(take, account=READER) == [(0,)]


def test_application_locks_in_the_name_of_a_principal(lab: Lab, ask: Ask) -> None:
    """Each principal has locks of its own; only its members and db_owner lock in its name, -999 for others."""
    me = "DECLARE @me sysname = USER_NAME(), @got int"

    def take(principal: str) -> str:
        return (
            f"{me}; EXEC @got = sys.sp_getapplock @Resource = N'only one', @LockMode = N'Exclusive', "
            f"@LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = {principal}; SELECT @got AS got"
        )

    assert ask(take("@me"), account=READER) == [(0,)]
    assert ask(take("N'public'"), account=STRANGER) == [(0,)], "of public it is another lock"
    assert ask(take("@me"), account=STRANGER) == [(0,)], "and of each user"
    assert ask(take(f"N'{READER.name}'"), account=STRANGER) == [(-999,)]
    assert ask(take(f"N'{READER.name}'")) == [(-1,)], "an administrator may, and it is taken"
    seen = "SELECT APPLOCK_MODE(USER_NAME(), N'only one', N'Session') AS mode"
    assert ask(seen, account=READER) == [("Exclusive",)]
    described = "SELECT resource_description FROM sys.dm_tran_locks WHERE resource_type = 'APPLICATION'"
    assert len({text.partition(":")[0] for (text,) in ask(described)}) == 3
