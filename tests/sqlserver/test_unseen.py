"""A login that sees counters and not every definition, and what a rebuild may lose: emulated server.

Rules 2 and 9 of ``tests/labs/sqlserver/README.md``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from connectors.model.observation import Home, Signal
from connectors.sqlserver.connector import SqlserverConnector
from policies.evidence.counter_deltas import difference
from tests.cli.site import Site
from tests.contract.asking import route_to, run
from tests.labs.sqlserver.instance import Account
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.world import FAST, HALF_BLIND, MOVER, SLOW, WITHOUT_DEFINITIONS, add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.connected import connected
from tests.sqlserver.moving.test_life import connection

pytestmark = pytest.mark.by_turns
KEY = "[dbo].[orders]"


@pytest.fixture
def orders(lab: Lab) -> Table:
    """A table that everybody who sees definitions sees."""
    return add_table(lab.shop, "orders", pages=200)


@pytest.fixture
def secret(lab: Lab, orders: Table) -> Table:
    """Another one, on which VIEW DEFINITION is denied to some."""
    return add_table(lab.shop, "secret", pages=200)


def rates(lab: Lab, connector: SqlserverConnector, *tables: Table) -> dict[str, float]:
    """Waits a second by unit, after 500 look-ups of each table."""
    before = connector.sample()
    for table in tables:
        lab.instance.read_randomly(lab.shop, table.base.partitions[0], 500)
    interval = difference(before, connector.sample(), longest_seconds=3600.0)
    catalog = connector.catalog()
    demand = connector.classify(interval, catalog)  # type: ignore[arg-type]
    rows = catalog.units.rows_of(demand.physical_id)
    pairs = zip(rows, demand.rates[Signal.SYNC_READ], strict=True)
    return {catalog.units.key[row]: float(rate) for row, rate in pairs if row >= 0 and rate > 0}


def test_without_any_definition_sampling_goes_on(
    lab: Lab, orders: Table, secret: Table, driver: OdbcDriver, tmp_path: Path
) -> None:
    """Counters have rows and no unit has a name: nothing is ranked, and nothing breaks."""
    with connected(lab, driver, tmp_path, WITHOUT_DEFINITIONS) as connector:
        assert rates(lab, connector, orders, secret) == {}


def test_without_some_definitions_the_others_are_ranked(
    lab: Lab, orders: Table, secret: Table, driver: OdbcDriver, tmp_path: Path
) -> None:
    """What cannot be seen has its counters left aside."""
    with connected(lab, driver, tmp_path, HALF_BLIND) as connector:
        assert rates(lab, connector, orders, secret).keys() == {KEY}


def test_missing_definitions_are_a_finding_with_its_grant(
    lab: Lab, orders: Table, driver: OdbcDriver, tmp_path: Path
) -> None:
    """Doctor says which statement mends it."""
    with connected(lab, driver, tmp_path, WITHOUT_DEFINITIONS) as connector:
        remedies = " ".join(finding.remedy for finding in connector.doctor())
    assert "GRANT VIEW ANY DEFINITION" in remedies or "GRANT VIEW DEFINITION" in remedies


def test_counters_without_a_unit_are_a_finding(
    lab: Lab, orders: Table, secret: Table, driver: OdbcDriver, tmp_path: Path
) -> None:
    """Denied for one table only: its counters are there and it is not, which doctor says with a GRANT."""
    lab.instance.read_randomly(lab.shop, secret.base.partitions[0], 500)
    with connected(lab, driver, tmp_path, HALF_BLIND) as connector:
        remedies = " ".join(finding.remedy for finding in connector.doctor())
    assert "VIEW DEFINITION" in remedies or "VIEW ANY DEFINITION" in remedies


@pytest.mark.parametrize("account", [WITHOUT_DEFINITIONS, HALF_BLIND], ids=lambda account: account.name)
def test_a_plan_goes_on_without_definitions(
    lab: Lab, orders: Table, secret: Table, driver: OdbcDriver, tmp_path: Path, account: Account
) -> None:
    """Tables are read while it observes, whose definitions it does not see: it ends without a fault of its own."""
    site = Site(
        tmp_path,
        {
            "name": "shop",
            "engine": "sqlserver",
            "connection": connection(lab, driver, tmp_path, account),
            "tiers": [{"name": "ssd", "spaces": [FAST]}, {"name": "hdd", "spaces": [SLOW]}],
            "sample_every": "0.2s",
            "policy": {"minimum_history": "0s"},
        },
    )
    with reading(lab, orders, secret):
        found = site.run("plan", "--observe", "0.6", "--json")
    assert "fault of hotplace" not in found.err
    assert found.code == 0, found.err


@contextmanager
def reading(lab: Lab, *tables: Table) -> Iterator[None]:
    """Sessions look up rows of the tables inside, and wait for each."""
    done = threading.Event()

    def read() -> None:
        while not done.wait(0.02):
            for table in tables:
                lab.instance.read_randomly(lab.shop, table.base.partitions[0], 50)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        done.set()
        reader.join()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("index", "ix_orders"),
        ("unique", "unique"),
        ("compression", "PAGE"),
        ("extended property", "owner"),
        ("sample", "sample"),
        ("permission", "reporting"),
    ],
)
def test_what_a_rebuild_loses_is_told(
    lab: Lab, orders: Table, driver: OdbcDriver, tmp_path: Path, what: str, words: str
) -> None:
    """After the move everything is read again and compared with what was there when it was planned."""
    adorn(orders)
    with connected(lab, driver, tmp_path, MOVER) as connector:
        route = route_to(connector, KEY, FAST)
        lab.instance.rebuild_loses = frozenset({what})
        run(connector, route)
        seen = connector.inspect(route)
    assert seen.home is Home.TARGET
    assert "not as it was" in seen.sentence
    assert words in seen.sentence


def test_a_rebuild_that_loses_nothing_says_so(lab: Lab, orders: Table, driver: OdbcDriver, tmp_path: Path) -> None:
    """No difference is reported where there is none."""
    adorn(orders)
    with connected(lab, driver, tmp_path, MOVER) as connector:
        route = route_to(connector, KEY, FAST)
        run(connector, route)
        seen = connector.inspect(route)
    assert seen.home is Home.TARGET
    assert "not as it was" not in seen.sentence


def adorn(table: Table) -> None:
    """Everything that a rebuild could lose."""
    table.base.partitions[0].compression = "PAGE"
    table.base.properties["owner"], table.base.persisted_sample = "sales", 100.0
    table.grants = (("SELECT", "reporting"),)
