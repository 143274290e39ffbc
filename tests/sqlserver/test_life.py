"""The command line over each ODBC driver against an emulated server: what it proves is our side of the wire."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.site import Site
from tests.labs.sqlserver.lab import Lab, running_lab, wait_until
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.storage import IN_ROW
from tests.labs.sqlserver.world import FAST, MOVER, READER, SLOW, add_table
from tests.labs.tds.drivers import OdbcDriver, drivers

HOT = "[dbo].[orders]"


@pytest.fixture(params=drivers(), ids=lambda driver: f"emulated server, {driver.name}")
def driver(request: pytest.FixtureRequest) -> OdbcDriver:
    """Each ODBC driver that is here."""
    found: OdbcDriver = request.param
    if found.missing:
        pytest.skip(found.missing)
    return found


@pytest.fixture
def lab() -> Iterator[Lab]:
    """An emulated Enterprise edition of 2022."""
    with running_lab() as running:
        yield running


@pytest.fixture
def hot(lab: Lab) -> Table:
    """A table on the slow disk, and one that nobody reads."""
    add_table(lab.shop, "archive", pages=4000)
    return add_table(lab.shop, "orders", pages=2000)


def home_of(lab: Lab, table: Table) -> str:
    """Filegroup of the table's rows, from the model itself."""
    unit = table.base.partitions[0].units[IN_ROW]
    return next(g.name for g in lab.shop.storage.filegroups.values() if g.space_id == unit.filegroup)


def building(lab: Lab) -> bool:
    """Whether a session builds an index."""
    with lab.instance.lock:
        requests = [session.request for session in lab.instance.sessions.values()]
    return any(request is not None and "DROP_EXISTING" in request.sql for request in requests)


def connection(lab: Lab, driver: OdbcDriver, folder: Path, account: Any) -> dict[str, Any]:
    """The part of the configuration that says where the server is."""
    secret = folder / f"{account.name}.secret"
    secret.write_text(account.password)
    return {
        "host": "127.0.0.1",
        "port": lab.server.port,
        "database": lab.shop.name,
        "user": account.name,
        "password": {"file": str(secret)},
        "driver": driver.path,
        "encrypt": "no",
    }


@pytest.fixture
def site(tmp_path: Path, lab: Lab, driver: OdbcDriver, hot: Table) -> Site:
    """A site that watches with one login and moves with another."""
    return Site(
        tmp_path,
        {
            "name": "shop",
            "engine": "sqlserver",
            "connection": connection(lab, driver, tmp_path, READER),
            "move_connection": connection(lab, driver, tmp_path, MOVER),
            "tiers": [{"name": "ssd", "spaces": [FAST]}, {"name": "hdd", "spaces": [SLOW]}],
            "sample_every": "0.2s",
            "settle": "0.2s",
            "policy": {"minimum_history": "0s"},
        },
    )


@pytest.fixture
def load(lab: Lab, hot: Table) -> Iterator[None]:
    """Sessions that look up rows of the hot table, and wait for each."""
    done = threading.Event()

    def read() -> None:
        while not done.wait(0.02):
            lab.instance.read_randomly(lab.shop, hot.base.partitions[0], 50)

    reader = threading.Thread(target=read)
    reader.start()
    yield
    done.set()
    reader.join()


def proposed(site: Site) -> int:
    """The number of a proposal that moves the hot table."""
    found = site.good("plan", "--observe", "1", "--propose", "--json").document
    assert HOT in [move["unit"] for move in found["moves"]]
    return int(found["proposal"]["id"])


def test_a_life(site: Site, lab: Lab, hot: Table, load: None) -> None:
    """Observed, planned, approved and moved: the catalog agrees, and the audit chain verifies."""
    assert home_of(lab, hot) == SLOW
    number = proposed(site)
    assert "DROP_EXISTING = ON" in site.good("show", str(number), "--sql").out
    site.good("approve", str(number), "--yes")
    moved = site.good("run", "--once", "--json").document["moves"]
    assert {row["state"] for row in moved} == {"placed"}
    assert home_of(lab, hot) == FAST
    site.good("audit", "verify")


def test_killed_in_the_middle(site: Site, lab: Lab, hot: Table, load: None) -> None:
    """Kill -9 while the server builds: the next run asks the catalog, and every move ends where the catalog says."""
    number = proposed(site)
    site.good("approve", str(number), "--yes")
    with lab.slow():
        agent = site.start("run", "--once")
        wait_until(lambda: building(lab), "an index is built")
        agent.kill()
        agent.communicate()
        wait_until(lambda: not building(lab), "the server noticed")
    assert home_of(lab, hot) == SLOW
    site.run("run", "--once")
    for move in site.good("history", "--json").document["moves"]:
        assert move["state"] not in {"running", "precheck", "unknown"}
        if move["unit"] == HOT:
            assert home_of(lab, hot) == (FAST if move["state"] in {"placed", "settling", "kept"} else SLOW)
    site.good("audit", "verify")


def test_a_login_that_may_only_look_moves_nothing(site: Site, lab: Lab, hot: Table, load: None) -> None:
    """The move fails with the GRANT that mends it."""
    number = proposed(site)
    site.good("approve", str(number), "--yes")
    site.database["move_connection"] = site.database["connection"]
    site.write()
    assert site.run("run", "--once").code == 8
    moves = site.good("history", "--json").document["moves"]
    assert {move["state"] for move in moves} == {"failed"}
    assert home_of(lab, hot) == SLOW


def test_a_dry_run_changes_nothing(site: Site, lab: Lab, hot: Table, load: None) -> None:
    """Approved, and dry_run: the statements are printed and none is sent."""
    number = proposed(site)
    site.good("approve", str(number), "--yes")
    site.values["dry_run"] = True
    site.write()
    site.run("run", "--once", "--json")
    assert home_of(lab, hot) == SLOW


def test_doctor_tells_what_the_watching_login_lacks(site: Site) -> None:
    """The reader may look and not alter: the GRANT is printed."""
    assert "GRANT ALTER ON SCHEMA::[dbo] TO [watcher];" in site.run("doctor").out.replace("\n", " ")
