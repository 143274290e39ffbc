"""Moves of columnstores, out of read-only filegroups, of fill factors, on old editions: emulated server.

Rules 8 and 10 of ``tests/labs/sqlserver/README.md``.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from connectors.kit.contract import ConnectorError
from connectors.model.moves import NoRoute
from connectors.model.observation import Demand, Interval
from connectors.sqlserver.connector import SqlserverConnector
from policies.evidence.counter_deltas import difference
from tests.contract.asking import route_to, run
from tests.labs.sqlserver.lab import Lab, running_lab
from tests.labs.sqlserver.objects import CLUSTERED_COLUMNSTORE, NONCLUSTERED_COLUMNSTORE
from tests.labs.sqlserver.storage import IN_ROW, PAGE, Volume
from tests.labs.sqlserver.world import FAST, READER, SLOW, add_table, new_index
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.connected import connected, ways

pytestmark = pytest.mark.by_turns
KEY, INDEX = "[dbo].[orders]", "[dbo].[orders].[ix_orders]"


@pytest.mark.parametrize("major", [15, 16])
def test_a_clustered_columnstore_moves_online(major: int, driver: OdbcDriver, tmp_path: Path) -> None:
    """The kindest statement is one that the server takes."""
    with running_lab(major=major) as lab:
        facts = add_table(lab.shop, "facts", pages=80)
        facts.indexes = {1: new_index(lab.shop, 1, "cci", CLUSTERED_COLUMNSTORE, SLOW, 80)}
        facts.base.partitions[0].compression = "COLUMNSTORE"
        with connected(lab, driver, tmp_path) as connector:
            route = route_to(connector, "[dbo].[facts]", FAST)
            assert route.online
            run(connector, route)
        moved = facts.base.partitions[0].units[IN_ROW].filegroup
        assert lab.shop.storage.filegroups[moved].name == FAST


def test_nothing_is_planned_out_of_a_read_only_filegroup(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """The server would refuse it with 1924: there is no route, and a reason."""
    add_table(lab.shop, "orders", pages=80)
    group = lab.shop.storage.filegroup_named(SLOW)
    assert group is not None
    group.read_only = True
    with connected(lab, driver, tmp_path) as connector:
        assert isinstance(ways(connector, KEY), NoRoute)


def test_a_fill_factor_of_nothing_stays(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """Full pages before, full pages after, whatever the server's default is: 0 and 100 are the same."""
    orders = add_table(lab.shop, "orders", pages=80)
    lab.instance.default_fill_factor = 70
    with connected(lab, driver, tmp_path) as connector:
        run(connector, route_to(connector, INDEX, FAST))
    assert orders.indexes[2].options.fill_factor in (0, 100)


@pytest.mark.parametrize("major", [11, 12])
def test_large_objects_stay_where_partitioning_is_enterprises(major: int, driver: OdbcDriver, tmp_path: Path) -> None:
    """Standard 2012 and 2014 make no partition function: what has none of its routes is refused."""
    with running_lab(major=major, engine_edition=2) as lab:
        add_table(lab.shop, "orders", pages=80, lob_pages=40)
        with connected(lab, driver, tmp_path, lob_moves=True) as connector:
            found = ways(connector, KEY)
            steps = [] if isinstance(found, NoRoute) else [step.sql for route in found for step in route.steps]
    assert not [sql for sql in steps if "PARTITION" in sql]


def test_a_table_with_a_columnstore_is_built_offline_on_2016(driver: OdbcDriver, tmp_path: Path) -> None:
    """35352 would end an online build; offline it goes."""
    with running_lab(major=13) as lab:
        orders = add_table(lab.shop, "orders", pages=80)
        orders.indexes[3] = new_index(lab.shop, 3, "ncci", NONCLUSTERED_COLUMNSTORE, SLOW, 80)
        orders.indexes[3].included = ("id",)
        with connected(lab, driver, tmp_path) as connector:
            run(connector, route_to(connector, INDEX, FAST))
        moved = orders.indexes[2].partitions[0].units[IN_ROW].filegroup
        assert lab.shop.storage.filegroups[moved].name == FAST


def heard(lab: Lab, connector: SqlserverConnector) -> Demand:
    """Of 500 look-ups."""
    table = next(iter(lab.shop.tables.values()))
    before = connector.sample()
    lab.instance.read_randomly(lab.shop, table.base.partitions[0], 500)
    interval = difference(before, connector.sample(), longest_seconds=3600.0)
    assert isinstance(interval, Interval)
    return connector.classify(interval, connector.catalog())


def test_an_update_of_statistics_is_no_demand(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """UPDATE STATISTICS reads whole tables: an interval with it makes nothing hot."""
    add_table(lab.shop, "orders", pages=80)
    with connected(lab, driver, tmp_path, READER) as connector:
        assert heard(lab, connector).observed.all()
        lab.instance.extra_requests.append("UPDATE STATISTICS")
        assert not heard(lab, connector).observed.any()


def test_a_backup_from_master_is_seen(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """BACKUP DATABASE shop, sent from master, reads this database's files: their figures are left aside."""
    add_table(lab.shop, "orders", pages=80)
    with connected(lab, driver, tmp_path, READER) as connector:
        assert heard(lab, connector).spaces is not None
        lab.instance.requests_elsewhere.append("BACKUP DATABASE")
        assert heard(lab, connector).spaces is None


def test_azure_sql_database_has_nothing_to_move(driver: OdbcDriver, tmp_path: Path) -> None:
    """One filegroup and no choice of disks: doctor says by name that there is nothing to do here."""
    with running_lab(engine_edition=5) as lab:
        add_table(lab.shop, "orders", space="PRIMARY", pages=80)
        with connected(lab, driver, tmp_path) as connector:
            sentences = [finding.sentence for finding in connector.doctor()]
    assert any("Azure SQL Database" in sentence and "PRIMARY" in sentence for sentence in sentences)


def test_a_managed_instance_hears_what_makes_its_filegroups_differ(driver: OdbcDriver, tmp_path: Path) -> None:
    """On General Purpose the I/O of a file grow with its size: which filegroup is fast follows from that."""
    with running_lab(engine_edition=8) as lab:
        add_table(lab.shop, "orders", pages=80)
        with connected(lab, driver, tmp_path) as connector:
            (found,) = [finding for finding in connector.doctor() if finding.code == "managed_instance"]
            assert isinstance(ways(connector, KEY), tuple)
    assert "size" in found.sentence
    assert "Business Critical" in found.remedy


@pytest.mark.parametrize(("major", "kib", "told"), [(16, 64 << 20, True), (16, 0, False), (11, 64 << 20, False)])
def test_a_buffer_pool_extension_is_told(major: int, kib: int, told: bool, driver: OdbcDriver, tmp_path: Path) -> None:
    """Part of what sessions miss in memory is served from fast storage already; 2012 knows no such view."""
    with running_lab(major=major) as lab:
        lab.instance.pool_extension_kib = kib
        with connected(lab, driver, tmp_path) as connector:
            found = [finding for finding in connector.doctor() if finding.code == "pool_extension"]
    assert [("64.0 GiB" in finding.sentence, "F:\\pool.bpe" in finding.sentence) for finding in found] == (
        [(True, True)] if told else []
    )


def test_a_sort_in_tempdb_is_not_begun_without_room(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """8,000 pages to sort and 100 in tempdb's volume: refused, or built without SORT_IN_TEMPDB; none is lost."""
    orders = add_table(lab.shop, "orders")
    lab.instance.tempdb_volume = Volume("T:\\", 2**30, 100 * PAGE, seeks=False)
    with connected(lab, driver, tmp_path, sort_in_tempdb=True) as connector:
        found = ways(connector, KEY)
        if isinstance(found, tuple):
            with suppress(ConnectorError):
                run(connector, found[0])
    moved = lab.shop.storage.filegroups[orders.base.partitions[0].units[IN_ROW].filegroup].name == FAST
    assert lab.instance.builds == int(moved)
