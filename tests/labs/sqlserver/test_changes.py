"""What statements do to the emulated server: index builds, partition schemes, files - and how they fail."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytds
import pytest

from tests.labs.sqlserver.conftest import Ask, connect
from tests.labs.sqlserver.lab import FIRST_PAGES_SOON, Lab, running_lab, wait_until
from tests.labs.sqlserver.objects import JSON, Index, Options, Table
from tests.labs.sqlserver.storage import IN_ROW, LOB
from tests.labs.sqlserver.world import FAST, READER, SLOW, add_scheme, add_table

NumberOf = Callable[..., int]
MOVE = "CREATE UNIQUE CLUSTERED INDEX pk_orders ON dbo.orders (id ASC) WITH (DROP_EXISTING = ON, ONLINE = ON{}) ON {}"
NEW = "CREATE INDEX fresh ON dbo.orders (filler) WITH (ONLINE = ON, RESUMABLE = ON) ON [ssd]"


@pytest.fixture
def orders(lab: Lab) -> Table:
    """8,000 pages under a primary key and 40 of LOB, 1,000 of an index."""
    return add_table(lab.shop, "orders", lob_pages=40)


def space_of(lab: Lab, table: Table, index: int = 1, kind: int = IN_ROW) -> str:
    """Filegroup of the first partition's pages of that kind."""
    group = table.indexes[index].partitions[0].units[kind].filegroup
    return lab.shop.storage.filegroups[group].name


def used(lab: Lab, filegroup: str) -> int:
    """Pages used in all its files."""
    group = lab.shop.storage.filegroup_named(filegroup)
    assert group is not None
    return sum(file.used for file in lab.shop.storage.files_of(group.space_id))


def test_only_the_rows_move(lab: Lab, orders: Table, ask: Ask) -> None:
    """Pitfalls 12 and 16: rows go, LOB_DATA and nonclustered indexes stay; the pages are conserved."""
    ask(MOVE.format("", FAST))
    assert space_of(lab, orders) == FAST
    assert space_of(lab, orders, kind=LOB) == SLOW
    assert space_of(lab, orders, index=2) == SLOW
    assert (used(lab, FAST), used(lab, SLOW)) == (8000, 1040)
    assert orders.indexes[1].constraint == "PK"


def test_what_is_not_stated_is_lost(lab: Lab, orders: Table, ask: Ask) -> None:
    """Pitfall 13: options, INCLUDE, WHERE and compression fall back to their defaults."""
    index = orders.indexes[2]
    index.options, index.included, index.where = Options(fill_factor=70, no_recompute=True), ("filler",), "([id]>(1))"
    index.partitions[0].compression = "PAGE"
    ask("CREATE INDEX ix_orders ON orders (id) WITH (DROP_EXISTING = ON) ON ssd")
    new = orders.indexes[2]
    assert (new.options, new.included, new.where) == (Options(), (), None)
    assert new.partitions[0].compression == "NONE"


def test_what_is_stated_is_kept(lab: Lab, orders: Table, ask: Ask) -> None:
    """Every clause of CREATE INDEX reaches the catalog."""
    ask(
        "CREATE NONCLUSTERED INDEX [ix_orders] ON [dbo].[orders] ([id] DESC) INCLUDE ([filler]) WHERE ([id]>(1)) WITH "
        "(DROP_EXISTING = ON, PAD_INDEX = ON, FILLFACTOR = 80, IGNORE_DUP_KEY = OFF, STATISTICS_NORECOMPUTE = ON, "
        "ALLOW_PAGE_LOCKS = OFF, OPTIMIZE_FOR_SEQUENTIAL_KEY = ON, MAXDOP = 2, DATA_COMPRESSION = PAGE) ON [ssd]"
    )
    new = orders.indexes[2]
    expected = Options(
        fill_factor=80, pad_index=True, no_recompute=True, allow_page_locks=False, optimize_for_sequential_key=True
    )
    assert new.options == expected
    assert (new.keys, new.included, new.where) == ((("id", True),), ("filler",), "([id]>(1))")
    assert new.partitions[0].compression == "PAGE"


def test_a_rebuild_clears_the_counters(lab: Lab, orders: Table, ask: Ask) -> None:
    """Pitfall 2: operational counters start anew with the new structure."""
    lab.instance.read_randomly(lab.shop, orders.base.partitions[0], 10)
    ask(MOVE.format("", FAST))
    assert not orders.base.partitions[0].counters


def test_large_objects_follow_through_a_scheme(lab: Lab, orders: Table, ask: Ask) -> None:
    """Onto a partition scheme and off it again takes LOB_DATA along; then scheme and function can go, before not."""
    ask("CREATE PARTITION FUNCTION f (int) AS RANGE RIGHT FOR VALUES (NULL)")
    ask("CREATE PARTITION SCHEME s AS PARTITION f TO (ssd, ssd)")
    ask(MOVE.format("", "s (id)"))
    with pytest.raises(pytds.DatabaseError) as caught:
        ask("DROP PARTITION SCHEME s")
    assert caught.value.number == 7717
    ask(MOVE.format("", FAST))
    ask("DROP PARTITION SCHEME s")
    ask("DROP PARTITION FUNCTION f")
    assert (space_of(lab, orders), space_of(lab, orders, kind=LOB)) == (FAST, FAST)
    assert (used(lab, FAST), used(lab, SLOW)) == (8040, 1000)


def test_one_partition_moves_by_another_scheme(lab: Lab, ask: Ask) -> None:
    """Partitions stay apart when an index is built on a second scheme of the same function."""
    add_scheme(lab.shop, "slow_ones", [1, 2], [SLOW, SLOW, SLOW])
    add_scheme(lab.shop, "last_fast", [1, 2], [SLOW, SLOW, FAST])
    table = add_table(lab.shop, "orders", space="slow_ones", column="id", pages=100)
    ask(MOVE.format(", DATA_COMPRESSION = ROW ON PARTITIONS (1 TO 2)", "last_fast (id)"))
    groups = [lab.shop.storage.filegroups[p.units[IN_ROW].filegroup].name for p in table.base.partitions]
    assert groups == [SLOW, SLOW, FAST]
    assert [p.compression for p in table.base.partitions] == ["ROW", "ROW", "NONE"]


def test_a_heap_moves_by_an_index(lab: Lab, ask: Ask) -> None:
    """A clustered index takes the rows along, and dropping it with MOVE TO leaves them there."""
    table = add_table(lab.shop, "pile", heap=True, pages=50)
    ask("CREATE CLUSTERED INDEX carrier ON pile (id) WITH (ONLINE = ON) ON ssd")
    ask("DROP INDEX carrier ON pile WITH (ONLINE = ON, MAXDOP = 1, MOVE TO ssd)")
    assert table.base.index_id == 0
    assert space_of(lab, table, index=0) == FAST
    assert (used(lab, FAST), used(lab, SLOW)) == (50, 8)


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        (MOVE.format("", "nowhere"), 1921),
        (MOVE.format("", FAST).replace("pk_orders", "pk_none"), 7999),
        (MOVE.format("", FAST).replace("dbo.orders", "dbo.none"), 1088),
        (MOVE.format("", FAST).replace("(id ASC)", "(id DESC)"), 1907),
        (MOVE.format("", FAST).replace("UNIQUE CLUSTERED", "NONCLUSTERED"), 1925),
        (MOVE.format(", RESUMABLE = ON", FAST), 10665),
        (MOVE.format(", FASTER = ON", FAST), 155),
        (MOVE.format(", MAXDOP 1", FAST), 102),
        ("CREATE CLUSTERED INDEX another ON orders (id) ON ssd", 1902),
        ("CREATE INDEX ix_orders ON orders (id)", 1913),
        ("CREATE INDEX x ON orders (id) WITH (RESUMABLE = ON)", 11438),
        ("DROP INDEX pk_orders ON orders", 3723),
        ("DROP INDEX no_such ON orders", 3701),
        ("ALTER INDEX ix_orders ON orders REBUILD", 102),
        ("ALTER INDEX ix_orders ON orders RESUME", 10638),
        ("CREATE PARTITION SCHEME s AS PARTITION none TO (ssd)", 7707),
        ("ALTER DATABASE shop REMOVE FILE shop_PRIMARY", 5020),
        ("ALTER DATABASE shop REMOVE FILE shop_hdd", 5042),
        ("DBCC SHRINKFILE (shop_PRIMARY, EMPTYFILE)", 2555),
        ("DBCC SHRINKFILE (shop_hdd, EMPTYFILE)", 1105),
        ("ALTER DATABASE shop MODIFY FILE (NAME = shop_hdd, SIZE = 1MB)", 5039),
        ("DBCC SHRINKFILE (no_such, EMPTYFILE)", 8985),
    ],
)
def test_refusals(lab: Lab, orders: Table, number_of: NumberOf, sql: str, number: int) -> None:
    """Each refused statement has the documented number, and nothing has changed."""
    before = (used(lab, SLOW), used(lab, FAST), sorted(orders.indexes))
    assert number_of(sql) == number
    assert (used(lab, SLOW), used(lab, FAST), sorted(orders.indexes)) == before


def test_a_secondary_refuses(lab: Lab, orders: Table, number_of: NumberOf) -> None:
    """After a failover the database is read-only here: 3906."""
    lab.shop.updateability = "READ_ONLY"
    assert number_of(MOVE.format("", FAST)) == 3906


def test_an_xml_index_ties_its_primary_key(orders: Table, number_of: NumberOf) -> None:
    """Pitfall 15: error 1996."""
    orders.has_xml_index = True
    assert number_of(MOVE.format("", FAST)) == 1996


def test_a_json_index_ties_its_primary_key(lab: Lab, orders: Table, number_of: NumberOf) -> None:
    """Rule 29: sys.indexes shows it as type 9; taken to be refused as an XML index is."""
    orders.indexes[3] = Index(3, "jx", JSON, orders.base.data_space, [])
    assert number_of(MOVE.format("", FAST)) == 1996
    assert lab.instance.builds == 0


def test_the_history_of_a_temporal_table_is_rebuilt(lab: Lab, orders: Table, ask: Ask) -> None:
    """Rule 32: while versioning is on."""
    orders.temporal_type = 1
    ask(MOVE.format("", FAST))
    assert space_of(lab, orders) == FAST


def test_no_file_goes_while_a_database_snapshot_exists(lab: Lab, orders: Table, number_of: NumberOf) -> None:
    """Rule 30: and the refusal comes after the file was emptied, which nothing stops."""
    lab.shop.add_file("spare", orders.base.data_space, next(iter(lab.shop.storage.files.values())).volume, pages=64)
    lab.shop.database_snapshots.append("shop_before")
    remove = "ALTER DATABASE shop REMOVE FILE spare"
    assert number_of("DBCC SHRINKFILE (spare, EMPTYFILE)") == 0
    assert number_of(remove) == 50000
    lab.shop.database_snapshots.clear()
    assert number_of(remove) == 0


@pytest.mark.parametrize("state", [2, 4, 5, 6])
def test_no_file_goes_while_encryption_changes(lab: Lab, orders: Table, number_of: NumberOf, state: int) -> None:
    """Rule 36a: the refusal comes after the file was emptied, which nothing stops."""
    lab.shop.add_file("spare", orders.base.data_space, next(iter(lab.shop.storage.files.values())).volume, pages=64)
    lab.shop.encryption_state = state
    assert number_of("DBCC SHRINKFILE (spare, EMPTYFILE)") == 0
    assert number_of("ALTER DATABASE shop REMOVE FILE spare") == 50000
    lab.shop.encryption_state = 3
    assert number_of("ALTER DATABASE shop REMOVE FILE spare") == 0


def test_who_may_only_look(orders: Table, number_of: NumberOf) -> None:
    """Without ALTER a table is as good as not there (1088), and a file may not be added (5011)."""
    assert number_of(MOVE.format("", FAST), account=READER) == 1088
    added = "ALTER DATABASE shop ADD FILE (NAME = n, FILENAME = 'S:\\n.ndf') TO FILEGROUP hdd"
    assert number_of(added, account=READER) == 5011
    assert number_of("DBCC SHRINKFILE (shop_hdd, EMPTYFILE)", account=READER) == 2571


def test_editions_and_versions(orders: Table) -> None:
    """Pitfalls 17 and 18: no ONLINE on Standard (1712), no low priority in CREATE INDEX before 2022 (155)."""
    low = MOVE.format(" (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF))", FAST)
    for major, edition, sql, number in (
        (16, 2, MOVE.format("", FAST), 1712),
        (15, 3, low, 155),
        (16, 3, low, 0),
        (14, 3, MOVE.format(", OPTIMIZE_FOR_SEQUENTIAL_KEY = OFF", FAST), 155),
    ):
        with running_lab(major=major, engine_edition=edition) as lab:
            add_table(lab.shop, "orders")
            with connect(lab) as session, session.cursor() as cursor:
                got = 0
                try:
                    cursor.execute(sql)
                except pytds.DatabaseError as error:
                    got = error.number
                assert got == number, sql


@pytest.mark.parametrize("number", [1205, 9002, 10660])
def test_ordered_errors(lab: Lab, orders: Table, number_of: NumberOf, number: int) -> None:
    """A test may order the error that the next build ends with; it is rolled back, and the one after it succeeds."""
    lab.instance.next_errors.append(number)
    assert number_of(MOVE.format("", FAST)) == number
    assert (space_of(lab, orders), used(lab, FAST)) == (SLOW, 0)
    assert number_of(MOVE.format("", FAST)) == 0


def test_no_room(lab: Lab, orders: Table, number_of: NumberOf) -> None:
    """1105 where the filegroup is full, 9002 where the log is: an online build is logged in full."""
    with lab.full(FAST):
        assert number_of(MOVE.format("", FAST)) == 1105
    lab.shop.log_pages = 9000
    assert number_of(MOVE.format("", FAST)) == 9002
    assert number_of(MOVE.format("", FAST).replace("ONLINE = ON", "ONLINE = OFF")) == 0


def test_locks(lab: Lab, orders: Table, ask: Ask) -> None:
    """A lock held by somebody else ends the wait by 1222; low priority ends it by itself; a reader blocks the end."""
    low = " (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF))"
    lab.instance.minute = 0.05
    for mode, option, prologue in (("X", "", "SET LOCK_TIMEOUT 50"), ("IS", low, "SET LOCK_TIMEOUT -1")):
        with lab.held(orders, mode):
            ask(prologue)
            with pytest.raises(pytds.DatabaseError) as caught:
                ask(MOVE.format(option, FAST))
            assert caught.value.number == 1222
    assert (space_of(lab, orders), used(lab, FAST)) == (SLOW, 0)


def test_a_waiting_build_is_seen(lab: Lab, orders: Table, ask: Ask) -> None:
    """dm_exec_requests shows command, wait and blocker; percent_complete of an index build stays 0 (pitfall 22)."""
    waiting = threading.Thread(target=_quietly, args=(lab, MOVE.format("", FAST)))
    asked = (
        "SELECT r.command, r.wait_type, r.blocking_session_id, r.percent_complete FROM sys.dm_exec_requests AS r "
        "CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) AS t WHERE t.text LIKE 'CREATE UNIQUE%'"
    )
    seen: list[tuple[object, ...]] = []

    def look() -> bool:
        seen[:] = ask(asked)
        return bool(seen) and seen[0][1] is not None

    with lab.held(orders, "X"):
        waiting.start()
        wait_until(look, "it waits")
    waiting.join()
    assert seen[0] == ("CREATE INDEX", "LCK_M_S", 40, 0.0)


def _quietly(lab: Lab, sql: str) -> None:
    """Run it in a session of its own, whatever becomes of it."""
    with connect(lab) as session, session.cursor() as cursor:
        try:
            cursor.execute(sql)
        except pytds.Error:
            return


def test_a_lost_session_rolls_back(lab: Lab, orders: Table) -> None:
    """A build whose session dies leaves the old index and no pages."""
    sql = MOVE.format("", FAST)
    building = threading.Thread(target=_quietly, args=(lab, sql))
    with lab.slow():
        building.start()
        lab.running(sql).cut.set()
        building.join()
        wait_until(lambda: not lab.shop.operations, "it is rolled back")
    assert (space_of(lab, orders), used(lab, FAST)) == (SLOW, 0)


def test_a_resumable_build(lab: Lab, orders: Table, ask: Ask, number_of: NumberOf) -> None:
    """Pitfall 20: a lost session only pauses it; it is seen, blocks other builds (10637), resumes, or is aborted."""
    building = threading.Thread(target=_quietly, args=(lab, NEW))
    with lab.slow(FIRST_PAGES_SOON):
        building.start()
        wait_until(lambda: any(o.copied_pages for o in lab.shop.operations), "it has copied something")
        lab.running(NEW).cut.set()
        building.join()
        wait_until(lambda: any(o.paused for o in lab.shop.operations), "it is paused")
    asked = "SELECT name, state_desc, index_id FROM sys.index_resumable_operations"
    assert ask(asked) == [("fresh", "PAUSED", 0)]
    assert number_of(NEW.replace(", RESUMABLE = ON", "")) == 10637
    ask("ALTER INDEX fresh ON orders RESUME")
    assert ask(asked) == []
    assert space_of(lab, orders, index=3) == FAST


def test_pause_and_abort(lab: Lab, orders: Table, ask: Ask) -> None:
    """PAUSE from another session ends the building statement; ABORT forgets what it had."""
    building = threading.Thread(target=_quietly, args=(lab, NEW))
    with lab.slow(FIRST_PAGES_SOON):
        building.start()
        wait_until(lambda: any(o.copied_pages for o in lab.shop.operations), "it has copied something")
        ask("ALTER INDEX fresh ON orders PAUSE")
        building.join()
    ask("ALTER INDEX fresh ON orders ABORT")
    assert not lab.shop.operations
    assert orders.index_named("fresh") is None


def test_a_paused_build_keeps_its_room(lab: Lab, orders: Table, ask: Ask) -> None:
    """The builder hears 1219, then 596, and its session ends; the pages stay until ABORT."""
    caught: list[int] = []
    building = threading.Thread(target=_noting, args=(lab, NEW, caught))
    with lab.slow(FIRST_PAGES_SOON):
        building.start()
        wait_until(lambda: any(o.copied_pages for o in lab.shop.operations), "it has copied something")
        ask("ALTER INDEX fresh ON orders PAUSE")
        building.join()
    assert caught == [596]
    kept = used(lab, FAST)
    assert 0 < kept < 8040
    row = ask("SELECT page_count, state, last_pause_time FROM sys.index_resumable_operations")[0]
    assert (row[0], row[1]) == (kept, 1)
    assert row[2] is not None
    ask("ALTER INDEX fresh ON orders ABORT")
    assert used(lab, FAST) == 0


def _noting(lab: Lab, sql: str, numbers: list[int]) -> None:
    """Run it and keep the number of its error."""
    with connect(lab) as session, session.cursor() as cursor:
        try:
            cursor.execute(sql)
        except pytds.DatabaseError as error:
            numbers.append(int(error.number))


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("CREATE INDEX x ON pile (id) WITH (ONLINE = ON, RESUMABLE = ON) ON ssd", 10668),
        ("CREATE INDEX x ON orders (id) INCLUDE (filler) WITH (ONLINE = ON, RESUMABLE = ON) ON ssd", 10670),
        ("CREATE INDEX x ON orders (id) WHERE id > 1 WITH (ONLINE = ON, RESUMABLE = ON) ON ssd", 10671),
        ("CREATE INDEX x ON orders (id) WITH (ONLINE = OFF, RESUMABLE = ON) ON ssd", 11438),
        ("ALTER INDEX ix_orders ON orders RESUME", 10638),
    ],
)
def test_what_is_not_resumable(lab: Lab, orders: Table, number_of: NumberOf, statement: str, number: int) -> None:
    """Each by the number of the message catalog."""
    add_table(lab.shop, "pile", heap=True, pages=50)
    assert number_of(statement) == number


def test_an_index_takes_the_place_of_another_at_once(lab: Lab, orders: Table, ask: Ask, number_of: NumberOf) -> None:
    """DROP and sp_rename in one transaction: both or neither; a name that is taken (15335) brings the old one back."""
    ask(NEW)
    swap = (
        "BEGIN TRANSACTION; DROP INDEX [ix_orders] ON [dbo].[orders]; EXEC sys.sp_rename "
        "@objname = N'[dbo].[orders].[fresh]', @newname = N'{}', @objtype = N'INDEX'; COMMIT TRANSACTION"
    )
    before = used(lab, SLOW)
    assert number_of(swap.format("pk_orders")) == 15335
    assert {index.name for index in orders.indexes.values()} == {"pk_orders", "ix_orders", "fresh"}
    assert used(lab, SLOW) == before
    ask(swap.format("ix_orders"))
    assert {index.name for index in orders.indexes.values()} == {"pk_orders", "ix_orders"}
    assert used(lab, SLOW) == before - 1000


def test_a_filegroup_changes_disks_by_its_files(lab: Lab, orders: Table, ask: Ask) -> None:
    """ADD FILE on the fast disk, EMPTYFILE the old one, REMOVE it: the pages are all in the new file."""
    before = used(lab, SLOW)
    ask("ALTER DATABASE [shop] ADD FILE (NAME = N'h2', FILENAME = N'S:\\h2.ndf', SIZE = 80 MB) TO FILEGROUP [hdd]")
    row = ask("DBCC SHRINKFILE (N'shop_hdd', EMPTYFILE) WITH NO_INFOMSGS")[0]
    assert (row[1], row[4]) == (3, 0)
    ask("ALTER DATABASE [shop] REMOVE FILE [shop_hdd]")
    files = ask("SELECT name, physical_name FROM sys.database_files WHERE data_space_id = 2")
    assert files == [("h2", "S:\\h2.ndf")]
    assert used(lab, SLOW) == before


def test_an_interrupted_emptyfile_keeps_its_work(lab: Lab, orders: Table, ask: Ask) -> None:
    """percent_complete rises; what has moved stays moved, and the file may fill again."""
    ask("ALTER DATABASE [shop] ADD FILE (NAME = N'h2', FILENAME = N'S:\\h2.ndf', SIZE = 80 MB) TO FILEGROUP [hdd]")
    old = lab.shop.storage.files[3]
    before, sql = old.used, "DBCC SHRINKFILE (3, EMPTYFILE)"
    emptying = threading.Thread(target=_quietly, args=(lab, sql))
    asked = "SELECT MAX(percent_complete) AS p FROM sys.dm_exec_requests"
    with lab.slow():
        emptying.start()
        wait_until(lambda: ask(asked)[0][0] > 0, "percent_complete rises")
        lab.running(sql).cut.set()
        emptying.join()
        wait_until(lambda: not old.closed, "it has ended")
    assert 0 < old.used < before
