"""Rules 5, 6 and 7: what room the log has, how a build gets its last lock, what is read while no other session may."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytds
import pytest

from tests.labs.sqlserver.changes import log
from tests.labs.sqlserver.conftest import Ask, connect
from tests.labs.sqlserver.lab import SOMEBODY, Lab, running_lab
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.storage import PAGE, Volume
from tests.labs.sqlserver.world import FAST, add_table

NumberOf = Callable[..., int]
MOVE = "CREATE UNIQUE CLUSTERED INDEX pk_orders ON dbo.orders (id) WITH (DROP_EXISTING = ON, ONLINE = {}) ON ssd"
LOW = "ON (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF))"
TWO_TB = 268435456  # pages: max_size of a log for which nothing was said


@pytest.fixture
def orders(lab: Lab) -> Table:
    """8,000 pages: an online build writes 9,600 pages of log."""
    return add_table(lab.shop, "orders")


def small_log(lab: Lab, free_pages: int) -> None:
    """A log of 1,024 pages that may grow to 2 TB, on a volume of its own with that many pages left."""
    lab.shop.log_pages, lab.shop.log_max_size, lab.shop.log_growth = 1024, TWO_TB, 512
    lab.shop.log_volume = Volume("L:\\", 10 * free_pages * PAGE, free_pages * PAGE, seeks=False)


def test_the_cap_of_two_terabytes_is_no_room(lab: Lab, orders: Table, ask: Ask, number_of: NumberOf) -> None:
    """max_size says 2 TB, the volume has room for 4,096 pages: 9002. With 16,384 pages the same build ends well."""
    small_log(lab, free_pages=4096)
    found = ask(
        "SELECT f.max_size, v.available_bytes FROM sys.database_files AS f "
        "CROSS APPLY sys.dm_os_volume_stats(DB_ID(), f.file_id) AS v WHERE f.type = 1"
    )
    assert found == [(TWO_TB, 4096 * PAGE)]
    assert number_of(MOVE.format("ON")) == 9002
    small_log(lab, free_pages=16384)
    assert number_of(MOVE.format("ON")) == 0
    assert lab.shop.log_pages > 9600


def test_without_a_log_backup_nothing_is_used_again(lab: Lab, orders: Table, ask: Ask, number_of: NumberOf) -> None:
    """FULL: the second build finds what the first one wrote, log_reuse_wait_desc says why; after BACKUP LOG it runs."""
    lab.shop.recovery_model, lab.shop.log_pages = "FULL", 12000
    reason = "SELECT log_reuse_wait_desc FROM sys.databases WHERE database_id = DB_ID()"
    assert ask(reason) == [("NOTHING",)]
    assert number_of(MOVE.format("ON")) == 0
    assert ask(reason) == [("LOG_BACKUP",)]
    assert number_of(MOVE.format("ON").replace("ssd", "hdd")) == 9002
    log.back_up(lab.shop)
    assert number_of(MOVE.format("ON").replace("ssd", "hdd")) == 0


@pytest.mark.parametrize(("model", "number"), [("FULL", 9002), ("BULK_LOGGED", 0), ("SIMPLE", 0)])
def test_an_offline_build_is_logged_in_the_full_model(
    lab: Lab, orders: Table, number_of: NumberOf, model: str, number: int
) -> None:
    """Minimally logged in the two other models only."""
    lab.shop.recovery_model, lab.shop.log_pages = model, 4000
    assert number_of(MOVE.format("OFF")) == number


def test_whoever_holds_the_log_is_named(lab: Lab, orders: Table, number_of: NumberOf) -> None:
    """A replica that is behind keeps the log from being used again, in every model."""
    lab.shop.log_pages, lab.shop.log_reuse_wait = 12000, "AVAILABILITY_REPLICA"
    assert number_of(MOVE.format("ON")) == 0
    assert number_of(MOVE.format("ON").replace("ssd", "hdd")) == 9002


@pytest.mark.parametrize(("beats", "number"), [(True, 1222), (False, 0)])
def test_both_limits_of_a_wait_at_low_priority(
    lab: Lab, orders: Table, ask: Ask, number_of: NumberOf, beats: bool, number: int
) -> None:
    """LOCK_TIMEOUT 100 ms within a minute of low priority: whichever counts, the lab plays it."""
    lab.instance.lock_timeout_beats_low_priority = beats
    ask("SET LOCK_TIMEOUT 100")
    with lab.held(orders, "IS"):
        released = threading.Timer(0.5, orders.lock_holders.clear)
        released.start()
        assert number_of(MOVE.format(LOW)) == number
        released.join()
        orders.lock_holders[SOMEBODY] = "IS"


def test_only_a_wait_at_low_priority_holds_no_session_up(
    lab: Lab, orders: Table, ask: Ask, number_of: NumberOf
) -> None:
    """Whoever waits for Sch-M at its usual priority has everyone else queue behind it."""
    lab.instance.minute = 0.2
    with lab.held(orders, "IS"):
        assert number_of(MOVE.format(LOW)) == 1222
        assert lab.instance.queued_seconds == 0.0
        ask("SET LOCK_TIMEOUT 200")
        assert number_of(MOVE.format("ON")) == 1222
    assert lab.instance.queued_seconds >= 0.2


def test_a_build_loses_everything_at_its_last_lock(lab: Lab, orders: Table, ask: Ask, number_of: NumberOf) -> None:
    """The copy ran; a reader at the end and a short LOCK_TIMEOUT throw it away: the pages are free again."""
    ask("SET LOCK_TIMEOUT 50")
    with lab.held(orders, "IS"):
        assert number_of(MOVE.format("ON")) == 1222
    assert lab.instance.builds == 1
    group = lab.shop.storage.filegroup_named(FAST)
    assert group is not None
    assert sum(file.used for file in lab.shop.storage.files_of(group.space_id)) == 0


def test_who_holds_a_table_and_since_when(lab: Lab, orders: Table, ask: Ask) -> None:
    """dm_tran_locks names the session, its transaction has its time: an hour."""
    asked = (
        "SELECT l.request_session_id, DATEDIFF(second, a.transaction_begin_time, GETDATE()) AS age "
        "FROM sys.dm_tran_locks AS l "
        "JOIN sys.dm_tran_session_transactions AS s ON s.session_id = l.request_session_id "
        "JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = s.transaction_id "
        "JOIN sys.dm_exec_sessions AS e ON e.session_id = s.session_id "
        "WHERE l.resource_type = 'OBJECT' AND e.open_transaction_count > 0"
    )
    assert ask(asked) == []
    with lab.held(orders, "IX", since_seconds=3600.0):
        ((spid, age),) = ask(asked)
    assert spid == SOMEBODY
    assert 3595 <= age <= 3700


def test_counting_under_sch_m_keeps_readers_out(ask: Ask) -> None:
    """Behind SWITCH both tables stay locked to the end of the transaction: a count there is noted, before it is not."""
    with running_lab() as lab:
        add_table(lab.shop, "orders", heap=True)
        add_table(lab.shop, "twin", heap=True, pages=0)
        for table in lab.shop.tables.values():
            del table.indexes[2]
        _run(lab, f"BEGIN TRANSACTION; {COUNT}; ALTER TABLE dbo.orders SWITCH TO dbo.twin; COMMIT TRANSACTION", 50001)
        assert lab.instance.scans_under_lock == 0
        _run(lab, f"BEGIN TRANSACTION; ALTER TABLE dbo.orders SWITCH TO dbo.twin; {COUNT}; COMMIT TRANSACTION", 50001)
        assert lab.instance.scans_under_lock == 2


COUNT = "IF (SELECT COUNT_BIG(*) FROM dbo.orders) <> (SELECT COUNT_BIG(*) FROM dbo.twin) THROW 50001, N'they differ', 1"


def _run(lab: Lab, sql: str, number: int) -> None:
    """Run it as the administrator; it ends with that error."""
    with connect(lab) as session, session.cursor() as cursor, pytest.raises(pytds.DatabaseError) as caught:
        cursor.execute(sql)
    assert caught.value.number == number
