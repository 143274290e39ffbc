"""Rule 19: what secondaries have not received or redone yet, and the room in the log while a build writes it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.labs.sqlserver.changes.log import LOG_FACTOR
from tests.labs.sqlserver.conftest import Ask
from tests.labs.sqlserver.instance import Account
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.world import add_table

QUEUES = (
    "SELECT h.is_local, h.is_primary_replica, h.log_send_queue_size, h.redo_queue_size, h.synchronization_state_desc "
    "FROM sys.dm_hadr_database_replica_states AS h WHERE h.database_id = DB_ID() ORDER BY h.replica_id"
)
LOG = (
    "SELECT u.total_log_size_in_bytes, u.used_log_space_in_bytes, u.log_space_in_bytes_since_last_backup "
    "FROM sys.dm_db_log_space_usage AS u"
)
BUILD = "CREATE INDEX ix_orders ON dbo.orders (id) WITH (DROP_EXISTING = ON, ONLINE = ON) ON ssd"


def test_without_a_group_there_are_no_rows(ask: Ask) -> None:
    """A database by itself follows nobody, and nobody follows it."""
    assert ask(QUEUES) == []


def test_the_primary_has_no_queue_of_its_own(lab: Lab, ask: Ask) -> None:
    """NULL in its own row; KiB of each secondary: not sent yet, and received but not redone."""
    lab.instance.join_group(lab.shop)
    late = lab.instance.add_secondary(lab.shop)
    late.update(log_send_queue_size=2_048, redo_queue_size=512, synchronization_state_desc="SYNCHRONIZING")
    assert ask(QUEUES) == [
        (True, True, None, None, "SYNCHRONIZED"),
        (False, False, 0, 0, "SYNCHRONIZED"),
        (False, False, 2_048, 512, "SYNCHRONIZING"),
    ]


def test_a_secondary_sees_itself_only(lab: Lab, ask: Ask) -> None:
    """After a failover this server has its own row."""
    lab.instance.join_group(lab.shop)
    lab.instance.fail_over(lab.shop)
    assert [row[:2] for row in ask(QUEUES)] == [(True, False)]


def test_a_build_fills_the_queue(lab: Lab, ask: Ask) -> None:
    """Copied online, pages are 1.2 times as much log; where half of it waits to be sent, the queue says so."""
    table = add_table(lab.shop, "orders", pages=80)
    lab.instance.join_group(lab.shop)
    lab.shop.unsent_share = 0.5
    ask(BUILD)
    pages = sum(unit.total for unit in table.indexes[2].partitions[0].units.values())
    assert 4 * pages <= ask(QUEUES)[1][2] <= 4 * pages * LOG_FACTOR
    lab.shop.unsent_kib = 0.0
    assert ask(QUEUES)[1][2] == 0


def test_the_log_in_bytes(lab: Lab, ask: Ask) -> None:
    """Its size, what is in use, and what the next log backup would save."""
    lab.shop.log_pages, lab.shop.log_used, lab.shop.log_since_backup = 1_000, 250, 90
    assert ask(LOG) == [(1_000 * 8_192, 250 * 8_192, 90 * 8_192)]
    lab.shop.recovery_model, lab.shop.log_reuse_wait = "FULL", "AVAILABILITY_REPLICA"
    assert ask("SELECT d.log_reuse_wait_desc FROM sys.databases AS d WHERE d.name = DB_NAME()") == [
        ("AVAILABILITY_REPLICA",)
    ]


def test_waits_for_secondaries_have_a_type(lab: Lab, ask: Ask) -> None:
    """HADR_SYNC_COMMIT: commits that waited for a secondary with synchronous commit."""
    lab.instance.waits.update({"HADR_SYNC_COMMIT": 900, "HADR_SYNC_COMMIT/n": 30})
    waits = "SELECT w.wait_time_ms, w.waiting_tasks_count FROM sys.dm_os_wait_stats AS w "
    assert ask(waits + "WHERE w.wait_type = 'HADR_SYNC_COMMIT'") == [(900, 30)]


@pytest.mark.parametrize("sql", [QUEUES, LOG])
def test_rights(lab: Lab, number_of: Callable[..., int], sql: str) -> None:
    """Both open to VIEW SERVER STATE, and not to the database's right."""
    accounts = {
        "server": Account("server", "right", server_rights=frozenset({"VIEW SERVER STATE"})),
        "database": Account("database", "right", database_rights=frozenset({"VIEW DATABASE STATE"})),
    }
    lab.instance.accounts.update(accounts)
    assert [number_of(sql, account=account) for account in accounts.values()] == [0, 297]
