"""Emulated server: an availability group fails over, and a right is taken away, in the middle of things."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.model.clock import SystemClock
from connectors.kit.contract import Crowding, OutcomeUnknown, PrivilegeMissing, SeesQueues, StatementFailed
from connectors.kit.settings import SecretSource
from connectors.model.moves import NoRoute
from connectors.model.observation import Home
from connectors.sqlserver.connector import SqlserverConnector
from connectors.sqlserver.settings import SqlserverSettings
from tests.contract.asking import bundle_of, route_to, run
from tests.labs.sqlserver.lab import Lab, running_lab, wait_until
from tests.labs.sqlserver.world import ADMINISTRATOR, FAST, add_table
from tests.labs.tds.drivers import OdbcDriver

ORDERS = "[dbo].[orders]"


@pytest.fixture
def lab() -> Iterator[Lab]:
    """A primary replica of two."""
    with running_lab() as running:
        add_table(running.shop, "orders", pages=2000)
        running.instance.join_group(running.shop)
        yield running


def connected(lab: Lab, driver: OdbcDriver, folder: Path, **values: object) -> SqlserverConnector:
    """As the administrator."""
    secret = folder / "secret"
    secret.write_text(ADMINISTRATOR.password)
    given = {
        "host": "127.0.0.1",
        "port": lab.server.port,
        "database": lab.shop.name,
        "user": ADMINISTRATOR.name,
        "password": SecretSource(file=secret),
        "driver": driver.path,
        "encrypt": "no",
    }
    return SqlserverConnector(SqlserverSettings.model_validate(given | values), SystemClock())


@pytest.fixture
def connector(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> Iterator[SqlserverConnector]:
    """By table."""
    found = connected(lab, driver, tmp_path)
    yield found
    found.close()


def test_a_failover_in_the_middle_of_a_build(lab: Lab, connector: SqlserverConnector) -> None:
    """Nobody claims to know, the lease is lost, the new secondary moves nothing, and the table is where it was."""
    before = connector.identify()
    assert (before.topology, before.writable) == ("availability group primary", True)
    lease = connector.acquire_lease("one")
    route = route_to(connector, ORDERS, FAST)
    with connector.open_mover() as mover, lab.slow():
        mover.prepare(route)
        failing = threading.Thread(target=fail_over_while_it_copies, args=(lab,))
        failing.start()
        with pytest.raises(OutcomeUnknown):
            mover.execute(route.steps[0])
        failing.join()
    wait_until(lambda: not lab.shop.operations, "it is rolled back")
    after = connector.identify()
    assert (after.topology, after.writable) == ("availability group secondary", False)
    assert after.fingerprint == before.fingerprint
    assert not lease.is_held()
    assert connector.inspect(route).home is Home.SOURCE
    reason = connector.routes(bundle_of(connector.catalog(), ORDERS), FAST)
    assert isinstance(reason, NoRoute)
    assert reason.code == "standby"
    with pytest.raises(StatementFailed, match="read-only"):
        run(connector, route)


def fail_over_while_it_copies(lab: Lab) -> None:
    """Wait for the first pages."""
    wait_until(lambda: any(build.copied_pages for build in lab.shop.operations), "pages are copied")
    lab.instance.fail_over(lab.shop)


def test_pitfall_20_a_failover_only_pauses_what_can_be_resumed(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """Pitfall 20: a resumable build goes on when the database has come back, with the pages that it has."""
    connector = connected(lab, driver, tmp_path, resumable="indexes")
    key = f"{ORDERS}.[ix_orders]"
    route = route_to(connector, key, FAST)
    with connector.open_mover() as mover, lab.slow():
        mover.prepare(route)
        failing = threading.Thread(target=fail_over_while_it_copies, args=(lab,))
        failing.start()
        with pytest.raises(OutcomeUnknown):
            mover.execute(route.steps[0])
        failing.join()
    wait_until(lambda: any(build.paused for build in lab.shop.operations), "it is paused")
    lab.instance.fail_over(lab.shop)
    assert connector.inspect(route).paused
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.resume(route.steps[0])
        mover.execute(route.steps[1])
    assert connector.inspect(route).home is Home.TARGET
    connector.close()


def test_pitfall_35_a_secondary_shows_the_paths_of_the_primary(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """Pitfall 35: physical_name is no evidence there, so no file is ever moved by it."""
    disks = {"slow": "D:\\", "fast": "S:\\"}
    connector = connected(lab, driver, tmp_path, move_by="filegroup", disks=disks, disks_on_replicas=True)
    assert not isinstance(connector.routes(bundle_of(connector.catalog(), ORDERS), "fast"), NoRoute)
    lab.instance.fail_over(lab.shop)
    reason = connector.routes(bundle_of(connector.catalog(), ORDERS), "fast")
    assert isinstance(reason, NoRoute)
    assert reason.code == "standby"
    connector.close()


def test_a_replica_that_falls_behind_holds_a_move_and_ends_it(
    lab: Lab, connector: SqlserverConnector, driver: OdbcDriver, tmp_path: Path
) -> None:
    """What the executor looks at before a move and, by the mover's second session, while it runs: two limits."""
    replica, mib = lab.instance.replicas[1], 2**10  # queues are KiB
    assert connector.crowding() == Crowding()
    replica.update(log_send_queue_size=2048 * mib, redo_queue_size=512 * mib)
    hold, abort = connector.crowding()
    assert hold == "a replica of this database is 2.0 GiB of log behind (replica_queue_mib: 1024)"
    assert abort == ""
    with connector.open_mover() as mover:
        assert isinstance(mover, SeesQueues)
        replica.update(redo_queue_size=9000 * mib)
        assert "(replica_queue_abort_mib: 8192)" in mover.crowding().abort
    with pytest.raises(ValueError, match="given up before it is held"):
        connected(lab, driver, tmp_path, replica_queue_mib=100, replica_queue_abort_mib=99)


def test_a_replica_that_is_behind_or_suspended_stops_moves(lab: Lab, connector: SqlserverConnector) -> None:
    """A move floods the log, and all of it goes there: 2 GiB of queue in KiB is over the limit of 1 GiB."""
    moved = bundle_of(connector.catalog(), ORDERS)
    lab.instance.replicas[1]["redo_queue_size"] = 2 * 2**20
    behind = connector.routes(moved, FAST)
    assert isinstance(behind, NoRoute)
    assert (behind.code, "2.0 GiB" in behind.sentence) == ("replica_behind", True)
    lab.instance.replicas[1].update(redo_queue_size=0, is_suspended=True)
    suspended = connector.routes(moved, FAST)
    assert isinstance(suspended, NoRoute)
    assert suspended.code == "replica_suspended"
    assert "replica_suspended" in [finding.code for finding in connector.doctor()]


def test_a_denied_view_is_told_apart_from_a_missing_right(lab: Lab, connector: SqlserverConnector) -> None:
    """Error 229 on one view: what needs it says so, what is optional goes on without."""
    denied = frozenset({"sys.dm_io_virtual_file_stats"})
    lab.instance.accounts[ADMINISTRATOR.name] = replace(ADMINISTRATOR, denied=denied)
    connector._session._drop()  # a session keeps the rights that it began with
    assert connector.sample().spaces is None
    lab.instance.accounts[ADMINISTRATOR.name] = replace(ADMINISTRATOR, denied=frozenset({"sys.partitions"}))
    connector._session._drop()
    with pytest.raises(PrivilegeMissing) as caught:
        connector.catalog()
    assert caught.value.native_code == "229"
