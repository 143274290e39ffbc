"""Whether a move looks at the log's room and at who is in its way before it copies: emulated server.

Rules 5, 6 and 7 of ``tests/labs/sqlserver/README.md``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from connectors.kit.contract import ConnectorError, SeesBlockers
from connectors.model.moves import Route
from connectors.sqlserver.connector import SqlserverConnector
from connectors.sqlserver.guards import ORPHANED
from tests.contract.asking import run
from tests.labs.sqlserver.instance import Account
from tests.labs.sqlserver.lab import SOMEBODY, Lab, running_lab, wait_until
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.storage import IN_ROW, PAGE, Volume
from tests.labs.sqlserver.world import FAST, MOVER, SLOW, add_scheme, add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.connected import connected, ways

pytestmark = pytest.mark.by_turns
KEY = "[dbo].[orders]"
TWO_TB = 268435456  # pages: max_size of a log for which nothing was said
COPIER = Account("copier", "S3cret of the copier", MOVER.server_rights, MOVER.database_rights | {"SELECT", "INSERT"})


@pytest.fixture
def orders(lab: Lab) -> Table:
    """8,000 pages, whose online build writes 9,600 pages of log."""
    return add_table(lab.shop, "orders")


@pytest.fixture
def connector(lab: Lab, orders: Table, driver: OdbcDriver, tmp_path: Path) -> Iterator[SqlserverConnector]:
    """One that may alter, and builds online only."""
    with connected(lab, driver, tmp_path, offline_moves=False) as found:
        yield found


def home(lab: Lab, table: Table) -> str:
    """Filegroup of the rows, from the model itself."""
    return lab.shop.storage.filegroups[table.base.partitions[0].units[IN_ROW].filegroup].name


def kindest(connector: SqlserverConnector, key: str = KEY) -> Route:
    """The first route."""
    found = ways(connector, key)
    assert isinstance(found, tuple), found
    return found[0]


def begun(lab: Lab, connector: SqlserverConnector) -> int:
    """How many builds have begun to copy when the move has been tried."""
    found = ways(connector, KEY)
    if isinstance(found, tuple):
        with pytest.raises(ConnectorError):
            run(connector, found[0])
    return lab.instance.builds


def test_a_log_of_fixed_size_without_room_is_seen_first(lab: Lab, orders: Table, connector: SqlserverConnector) -> None:
    """8,000 pages free and 9,600 needed: no page is copied."""
    lab.shop.log_pages, lab.shop.log_used = 9000, 1000
    assert begun(lab, connector) == 0
    assert home(lab, orders) == SLOW


def test_a_log_whose_volume_has_no_room_is_seen_first(lab: Lab, orders: Table, connector: SqlserverConnector) -> None:
    """The log may grow to 2 TB, its volume has 4,096 pages: no page is copied."""
    lab.shop.log_pages, lab.shop.log_max_size, lab.shop.log_growth = 1024, TWO_TB, 512
    lab.shop.log_volume = Volume("L:\\", 2**30, 4096 * PAGE, seeks=False)
    assert begun(lab, connector) == 0
    assert home(lab, orders) == SLOW


def test_a_log_whose_volume_has_room_is_no_obstacle(lab: Lab, orders: Table, connector: SqlserverConnector) -> None:
    """The same log with 16,384 pages on its volume: the move is carried out."""
    lab.shop.log_pages, lab.shop.log_max_size, lab.shop.log_growth = 1024, TWO_TB, 512
    lab.shop.log_volume = Volume("L:\\", 2**30, 16384 * PAGE, seeks=False)
    run(connector, kindest(connector))
    assert home(lab, orders) == FAST


def test_an_offline_build_in_the_full_model_needs_the_log_too(
    lab: Lab, orders: Table, driver: OdbcDriver, tmp_path: Path
) -> None:
    """FULL logs every page: the offline route names at least the bytes that it copies."""
    lab.shop.recovery_model = "FULL"
    with connected(lab, driver, tmp_path) as connector:
        found = ways(connector, KEY)
        assert isinstance(found, tuple)
        offline = next(route for route in found if not route.online)
        assert offline.log_bytes >= 8000 * PAGE


@pytest.mark.parametrize("why", ["LOG_BACKUP", "AVAILABILITY_REPLICA", "REPLICATION"])
def test_what_holds_the_log_is_a_finding(lab: Lab, orders: Table, connector: SqlserverConnector, why: str) -> None:
    """Four fifths of the log cannot be used again: doctor names the reason as the server does."""
    lab.shop.recovery_model, lab.shop.log_reuse_wait = "FULL", why
    lab.shop.log_used = lab.shop.log_pages * 4 // 5
    assert why in " ".join(str(finding) for finding in connector.doctor())


@contextmanager
def reader_at_the_end(lab: Lab, table: Table, seconds: float) -> Iterator[None]:
    """Somebody reads the table for that long, from when pages are copied: still when the build wants its last lock."""

    def read() -> None:
        wait_until(lambda: any(build.copied_pages for build in lab.shop.operations), "pages are copied")
        with lab.held(table, "IS"):
            time.sleep(seconds)

    reader = threading.Thread(target=read)
    lab.instance.minute = 20.0
    with lab.slow(0.4):
        reader.start()
        try:
            yield
        finally:
            reader.join()


@pytest.mark.parametrize("major", [15, 16])
def test_a_reader_of_two_seconds_does_not_cost_the_build(major: int, driver: OdbcDriver, tmp_path: Path) -> None:
    """The copy is there when the reader ends: it is not thrown away for two seconds, with and without low priority."""
    with running_lab(major=major) as lab:
        orders = add_table(lab.shop, "orders")
        with connected(lab, driver, tmp_path, offline_moves=False) as connector, reader_at_the_end(lab, orders, 2.0):
            run(connector, kindest(connector))
        assert (home(lab, orders), lab.instance.builds) == (FAST, 1)


@pytest.mark.parametrize("beats", [True, False])
def test_at_low_priority_no_session_queues_whichever_limit_counts(
    lab: Lab, orders: Table, connector: SqlserverConnector, beats: bool
) -> None:
    """2022: which of LOCK_TIMEOUT and WAIT_AT_LOW_PRIORITY counts is not documented, the move has to do under both."""
    lab.instance.lock_timeout_beats_low_priority = beats
    lost: list[ConnectorError] = []
    with reader_at_the_end(lab, orders, 2.0):
        try:
            run(connector, kindest(connector))
        except ConnectorError as error:
            lost.append(error)
    assert lab.instance.queued_seconds == 0.0
    assert not lost


def test_a_long_transaction_is_named_before_the_move(lab: Lab, orders: Table, connector: SqlserverConnector) -> None:
    """A transaction that has been open for an hour with a lock on the table is a blocker, named by its session."""
    route = kindest(connector)
    assert isinstance(connector, SeesBlockers)
    assert connector.blockers(route) == ()
    with lab.held(orders, "IX", since_seconds=3600.0):
        (blocker,) = connector.blockers(route)
    assert str(SOMEBODY) in blocker.sentence
    with lab.held(orders, "IX", since_seconds=3600.0):
        holder = orders.lock_holders.pop(SOMEBODY)
        lab.instance.transactions[ORPHANED] = lab.instance.transactions.pop(SOMEBODY)
        orders.lock_holders[ORPHANED] = holder
        (blocker,) = connector.blockers(route)
        del lab.instance.transactions[ORPHANED]
        orders.lock_holders[SOMEBODY] = orders.lock_holders.pop(ORPHANED)
    assert "in doubt" in blocker.sentence


def test_nothing_is_counted_while_readers_are_kept_out(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """Partition 2 is copied and switched: both tables are counted before they are locked for everyone."""
    lab.instance.accounts[COPIER.name] = COPIER
    add_scheme(lab.shop, "ps", [10, 20], [SLOW, SLOW, SLOW])
    days = add_table(lab.shop, "days", space="ps", pages=80, column="id")
    with connected(lab, driver, tmp_path, COPIER, partitions="switched") as connector:
        run(connector, kindest(connector, "[dbo].[days] partition 2"))
    moved = days.base.partitions[1].units[IN_ROW].filegroup
    assert lab.shop.storage.filegroups[moved].name == FAST
    assert lab.instance.scans_under_lock == 0
