"""Several members, a shared disk, and the oldest version: over IBM's driver against the emulated server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from connectors.kit.contract import StatementFailed
from connectors.kit.findings import Severity
from connectors.model.moves import NoRoute
from connectors.model.observation import Home, Interval, Signal
from policies.evidence.counter_deltas import difference
from tests.contract.asking import bundle_of, route_to, run
from tests.db2.conftest import Connect
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.server import FAST, SLOW, TS_FAST, TS_SLOW

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
KEY = "APP.ORDERS"
PAGES = 2000


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """One emulated server."""
    with running_db2("11.5") as running:
        yield running


@pytest.fixture
def lab(db2: Db2) -> Iterator[Any]:
    """One table on slow storage in a table space of its own."""
    db2.lab.create_space("TS_OWN", SLOW)
    db2.lab.create_table("APP", "ORDERS", "ORDERS_PK", "TS_OWN", PAGES)
    yield db2.lab
    db2.lab.behave(members=1, pure_scale=False, hadr_role="STANDARD", extents_per_second=1e9, rebalance_fails=False)
    db2.lab.drop_table("APP", "ORDERS")
    db2.lab.drop_space("TS_OWN")


def rates(connector: Any, work: Any) -> dict[str, float]:
    """Reads a second that sessions waited for, by key, while that work was done."""
    catalog = connector.catalog()
    before = connector.sample()
    work()
    interval = difference(before, connector.sample(), longest_seconds=60.0)
    assert isinstance(interval, Interval), interval
    demand = connector.classify(interval, catalog)
    at = catalog.units.rows_of(demand.physical_id)
    sync = demand.rates[Signal.SYNC_READ] * demand.seconds
    return {catalog.units.key[row]: float(reads) for row, reads in zip(at, sync, strict=True) if row >= 0}


def test_emulated_server_pitfall_04_reads_of_all_members_are_summed(lab: Any, connect: Connect) -> None:
    """100 look-ups on the first and 300 on the third of three partitions are 400 of the table and of its index."""
    lab.behave(members=3)
    connector = connect()

    def work() -> None:
        lab.read_randomly("APP", "ORDERS", 100, 0)
        lab.read_randomly("APP", "ORDERS", 300, 2)

    assert rates(connector, work) == {KEY: pytest.approx(400.0), "index APP.ORDERS_PK": pytest.approx(400.0)}
    units = connector.catalog().units
    assert units.size_bytes[list(units.key).index(KEY)] == PAGES * 4096  # each partition has its part


def test_emulated_server_rule_23_room_of_several_hosts(lab: Any, connect: Connect) -> None:
    """Two members on a host share its file systems, those of another host are others; doctor asks for DB_MEMBERS."""

    def free() -> int | None:
        spaces = connect(move_by="both").catalog().spaces
        return next((int(space.free_bytes) for space in spaces if space.name == FAST), None)

    one = free()
    assert one
    before = lab.behave(members=4)
    try:
        assert free() == one
        lab.behave(hosts=("a", "b"))
        assert free() == 2 * one
        lab.behave(hosts=("a", "b", "c", "d"))
        assert free() == 4 * one
        assert [f for f in connect().doctor() if f.code == "execute" and f.values["function"] == "DB_MEMBERS"]
    finally:
        lab.behave(hosts=("db2host",), **before)


def test_emulated_server_rule_22_an_untouched_table_space_takes_tables(lab: Any, connect: Connect) -> None:
    """Since the start nobody has used the fast one: its storage group has room, and tables move into it."""
    before = lab.behave(untouched=(TS_FAST,))
    try:
        spaces = {space.name: space for space in connect(move_by="both").catalog().spaces}
        assert TS_FAST not in spaces
        assert spaces[FAST].capacity_bytes
        connector = connect(move_by="both", landing={FAST: TS_FAST})
        assert route_to(connector, KEY, FAST).joins.endswith(TS_FAST)
    finally:
        lab.behave(**before)


def test_emulated_server_skew_is_told(lab: Any, connect: Connect) -> None:
    """All reads on one of three members: 1 - average / maximum is two thirds, and doctor says so."""
    lab.behave(members=3)
    lab.restart()
    lab.read_randomly("APP", "ORDERS", 900, 1)
    (finding,) = (f for f in connect().doctor() if f.code == "skew")
    assert "67%" in finding.sentence


def test_emulated_server_one_member_restarted_is_another_epoch(lab: Any, connect: Connect) -> None:
    """Counters of one member at zero would halve the sum: the epoch of all changes with the activation of any."""
    lab.behave(members=2)
    connector = connect()
    before = connector.sample()
    assert before.epoch == connector.sample().epoch
    lab.restart(1)
    after = connector.sample().epoch
    assert after != before.epoch
    assert after.split(";")[0] == before.epoch.split(";")[0]


def test_emulated_server_a_rebalance_ends_on_every_member(lab: Any, connect: Connect) -> None:
    """Three members rebalance; extents are summed over them, and the move is done when no row is left."""
    lab.behave(members=3)
    connector = connect(move_by="table_space")
    route = route_to(connector, KEY, FAST)
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET
    assert lab.containers("TS_OWN") == ["/db2/fast"]


def test_emulated_server_pitfall_04_pure_scale_sums_reads_and_not_sizes(lab: Any, connect: Connect) -> None:
    """Two members of one disk: reads add up, the table is as large as each of them says."""
    lab.behave(members=2, pure_scale=True)
    connector = connect()

    def work() -> None:
        lab.read_randomly("APP", "ORDERS", 50, 0)
        lab.read_randomly("APP", "ORDERS", 70, 1)

    assert rates(connector, work)[KEY] == pytest.approx(120.0)
    catalog = connector.catalog()
    row = list(catalog.units.key).index(KEY)
    assert catalog.units.size_bytes[row] == PAGES * 4096
    assert connector.exact_sizes(catalog.units.physical_id[[row]])[0] == PAGES * 4096
    route = route_to(connector, KEY, TS_FAST)
    run(connector, route)  # table by table is how a pureScale moves
    assert connector.inspect(route).home is Home.TARGET


@pytest.fixture(scope="module")
def old() -> Iterator[Db2]:
    """An emulated server of 9.7: no storage groups, no counters of objects."""
    with running_db2("9.7") as running:
        running.lab.behave(mon_obj_metrics="BASE")
        running.lab.create_table("APP", "ORDERS", "ORDERS_PK", TS_SLOW, PAGES)
        yield running


def test_emulated_server_of_9_7_degrades_with_findings(old: Db2, connect: Connect) -> None:
    """It identifies, lists, samples table spaces and moves; of each table it says that nothing is known, never cold."""
    connector = connect(port=old.port)
    assert connector.identify().version_number[:2] == (9, 7)
    catalog = connector.catalog()
    before = connector.sample()
    old.lab.read_randomly("APP", "ORDERS", 100)
    interval = difference(before, connector.sample(), longest_seconds=60.0)
    assert isinstance(interval, Interval)
    demand = connector.classify(interval, catalog)
    assert catalog.units.key[catalog.units.rows_of(demand.physical_id)[0]] in {KEY, "index APP.ORDERS_PK"}
    assert len(demand.observed) == len(catalog.units) == 2
    assert not demand.observed.any()
    assert demand.spaces is not None
    reads = dict(zip(demand.spaces.name, np.round(demand.spaces.reads * demand.seconds).tolist(), strict=True))
    assert reads[TS_SLOW] == 200.0
    found = {f.code: f for f in connector.doctor()}
    assert found["version_unsupported"].severity is Severity.ERROR
    assert "EXTENDED" not in found["version_unsupported"].remedy  # there is none before 10.1
    missing = {f.values["function"] for f in connector.doctor() if f.code == "function_missing"}
    assert {"MON_GET_DATABASE", "MON_GET_REBALANCE_STATUS", "ADMIN_GET_STORAGE_PATHS"} <= missing
    route = route_to(connector, KEY, TS_FAST)
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET
    run(connector, route, undo=True)


def test_emulated_server_of_9_7_has_no_storage_groups(old: Db2, connect: Connect) -> None:
    """There is nothing to move a table space to."""
    connector = connect(port=old.port, move_by="table_space")
    found = connector.routes(bundle_of(connector.catalog(), KEY), FAST)
    assert isinstance(found, NoRoute)
    assert found.code == "no_space"


def test_emulated_server_a_rebalance_that_fails_is_told(lab: Any, connect: Connect) -> None:
    """It ends half-way: an error that says so, the table space still where it was, and REBALANCE goes on from there."""
    connector = connect(move_by="table_space")
    route = route_to(connector, KEY, FAST)
    lab.behave(rebalance_fails=True, extents_per_second=40.0)
    with pytest.raises(StatementFailed, match="not wholly where it should be"):
        run(connector, route)
    seen = connector.inspect(route)
    assert (seen.home, seen.running) == (Home.SOURCE, False)
    assert "waits for its REBALANCE" in seen.sentence
    (finding,) = (f for f in connector.doctor() if f.code == "space_half_moved")
    assert finding.remedy == 'ALTER TABLESPACE "TS_OWN" REBALANCE'
    lab.behave(rebalance_fails=False, extents_per_second=1e9)
    at = len(lab.sent())
    run(connector, route)
    assert [text.partition(" /*")[0] for text in lab.sent()[at:] if text.startswith("ALTER")] == [finding.remedy]
    assert connector.inspect(route).home is Home.TARGET


@pytest.mark.parametrize("version", ["10.1", "10.5", "11.1", "12.1"])
def test_emulated_server_of_each_version_answers(connect: Connect, version: str) -> None:
    """Every query runs over the columns of this version; what came later is missed by name, never a crash."""
    later = {"MON_GET_DATABASE", "MON_GET_UTILITY"} if version == "10.1" else set()
    with running_db2(version) as server:
        server.lab.create_table("APP", "ORDERS", "ORDERS_PK", TS_SLOW, PAGES)
        connector = connect(port=server.port)
        assert rates(connector, lambda: server.lab.read_randomly("APP", "ORDERS", 40))[KEY] == pytest.approx(40.0)
        findings = connector.doctor()
        assert {f.values["function"] for f in findings if f.code == "function_missing"} == later
        assert not [f for f in findings if f.code in {"version_unsupported", "version_untried", "mon_obj_metrics_off"}]
        route = route_to(connector, KEY, TS_FAST)
        run(connector, route)
        assert connector.inspect(route).home is Home.TARGET
        connector.close()
