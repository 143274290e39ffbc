"""The command line over the ODBC drivers by turns, before an emulated server: this proves our side of the wire."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from connectors.sqlserver.file_moves import EMPTY_PAGES
from tests.cli.site import Site
from tests.labs import clients
from tests.labs.sqlserver.lab import Lab, wait_until
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.storage import IN_ROW
from tests.labs.sqlserver.world import FAST, MOVER, OWNER, READER, SLOW, add_scheme, add_table
from tests.labs.tds.drivers import OdbcDriver

HOT = "[dbo].[orders]"
pytestmark = pytest.mark.by_turns


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


@pytest.fixture
def pausing(site: Site, lab: Lab) -> Site:
    """A site whose index builds can be paused, DROP_EXISTING included, as on servers that take both."""
    lab.instance.resumable_with_drop_existing = True
    for part in ("connection", "move_connection"):
        site.database[part]["resumable"] = "all"
    site.write()
    return site


@pytest.fixture
def by_files(site: Site, lab: Lab, driver: OdbcDriver) -> Site:
    """A site that moves whole filegroups from disk D: to disk S:; what acts owns the database."""
    own = connection(lab, driver, site.folder, OWNER)
    disks = {"move_by": "filegroup", "disks": {"slow": "D:\\", "fast": "S:\\"}}
    site.database["connection"].update(disks)
    site.database["move_connection"] = own | disks
    site.database["tiers"] = [{"name": "ssd", "spaces": ["fast"]}, {"name": "hdd", "spaces": ["slow"]}]
    site.write()
    return site


def on_disk(lab: Lab, mount: str) -> int:
    """Pages of filegroup hdd on that disk, from the model itself."""
    group = lab.shop.storage.filegroup_named(SLOW)
    assert group is not None
    return sum(f.used for f in lab.shop.storage.files_of(group.space_id) if f.path.startswith(mount))


def states(site: Site) -> dict[str, str]:
    """State of each move by the unit that leads it."""
    return {move["unit"]: move["state"] for move in site.good("history", "--json").document["moves"]}


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


def test_a_file_for_sqlcmd(site: Site, lab: Lab, driver: OdbcDriver, hot: Table) -> None:
    """A database with ``by_hand`` and names that mean something to sqlcmd: its batches, sent by another client."""
    import pyodbc

    names = ("a;", "GO", "$(SQLCMDUSER)", "-- z")
    tables = [hot, *(add_table(lab.shop, name, pages=20) for name in names)]
    del site.database["move_connection"]
    site.database.update(by_hand=True, pins=[{"unit": "*", "pin": "must"}])
    site.write()
    path = site.folder / "moves.sql"
    plan = ("plan", "--mode", "preference", "--observe", "0.3", "--propose", "--script", str(path), "--json")
    site.good("approve", str(site.good(*plan).document["proposal"]["id"]), "--yes")
    place = f"SERVER=127.0.0.1,{lab.server.port};DATABASE={lab.shop.name};UID={MOVER.name};PWD={{{MOVER.password}}}"
    session = pyodbc.connect(f"DRIVER={driver.path};{place};Encrypt=no", autocommit=True)
    try:
        for batch in clients.batches(path.read_text(encoding="utf-8")):
            session.execute(batch)
    finally:
        session.close()
    assert {home_of(lab, table) for table in tables} == {FAST}
    for _ in range(2):
        site.good("run", "--once")
    assert {move["state"] for move in site.good("history", "--json").document["moves"]} <= {"settling", "kept"}


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


def test_killed_while_it_can_be_held(pausing: Site, lab: Lab, hot: Table, load: None) -> None:
    """Kill -9 in a resumable build: what is built stays, and the next run goes on with it instead of beginning anew."""
    number = proposed(pausing)
    assert "RESUMABLE = ON" in pausing.good("show", str(number), "--sql").out
    pausing.good("approve", str(number), "--yes")
    with lab.slow():
        agent = pausing.start("run", "--once")
        wait_until(lambda: any(build.copied_pages for build in lab.shop.operations), "pages are copied")
        agent.kill()
        agent.communicate()
        wait_until(lambda: any(build.paused for build in lab.shop.operations), "the server noticed")
    kept = lab.shop.operations[0].copied_pages
    assert kept > 0
    pausing.good("run", "--once")
    assert home_of(lab, hot) == FAST
    assert not lab.shop.operations
    assert states(pausing)[HOT] == "placed"
    pausing.good("audit", "verify")


def test_a_filegroup_by_its_files(by_files: Site, lab: Lab, hot: Table, load: None) -> None:
    """The whole life: planned, approved, moved to the last page, taken back by an undo approved like any other."""
    found = by_files.good("plan", "--observe", "1", "--propose", "--json").document
    assert "EMPTYFILE" in by_files.good("show", str(found["proposal"]["id"]), "--sql").out
    everything = on_disk(lab, "D:")
    by_files.good("approve", str(found["proposal"]["id"]), "--yes")
    moved = by_files.good("run", "--once", "--json").document["moves"]
    assert {row["state"] for row in moved} == {"placed"}
    assert (on_disk(lab, "D:"), on_disk(lab, "S:")) == (0, everything)
    undo = by_files.good("undo", "--proposal", str(found["proposal"]["id"]), "--json").document
    by_files.good("approve", str(undo["proposal"]), "--yes")
    by_files.good("run", "--once")
    assert (on_disk(lab, "D:"), on_disk(lab, "S:")) == (everything, 0)
    by_files.good("audit", "verify")


def test_killed_while_a_file_is_emptied(by_files: Site, lab: Lab, hot: Table, load: None) -> None:
    """Kill -9 in the middle of EMPTYFILE: what has moved stays moved, and the next run goes on from there."""
    found = by_files.good("plan", "--observe", "1", "--propose", "--json").document
    by_files.good("approve", str(found["proposal"]["id"]), "--yes")
    everything = on_disk(lab, "D:")
    with lab.slow():
        agent = by_files.start("run", "--once")
        wait_until(lambda: on_disk(lab, "S:") > 10 * EMPTY_PAGES, "pages have moved")
        agent.kill()
        agent.communicate()
        wait_until(lambda: not emptying(lab), "the server noticed")
    assert 0 < on_disk(lab, "S:") < everything
    by_files.good("run", "--once")
    assert (on_disk(lab, "D:"), on_disk(lab, "S:")) == (0, everything)
    assert set(states(by_files).values()) == {"placed"}
    by_files.good("audit", "verify")


def emptying(lab: Lab) -> bool:
    """Whether a session empties a file."""
    with lab.instance.lock:
        requests = [session.request for session in lab.instance.sessions.values()]
    return any(request is not None and "EMPTYFILE" in request.sql for request in requests)


def test_undone(site: Site, lab: Lab, hot: Table, load: None) -> None:
    """A move that was placed is taken back by a proposal of its own, and the catalog agrees."""
    number = proposed(site)
    site.good("approve", str(number), "--yes")
    site.good("run", "--once")
    assert home_of(lab, hot) == FAST
    undo = site.good("undo", "--proposal", str(number), "--json").document
    site.good("approve", str(undo["proposal"]), "--yes")
    site.good("run", "--once")
    assert home_of(lab, hot) == SLOW
    site.good("audit", "verify")


def copying(lab: Lab) -> bool:
    """Whether a resumable build is at work and has got somewhere."""
    return any(build.copied_pages and not build.paused for build in lab.shop.operations)


def state_of(site: Site, number: str) -> str:
    """Of that move."""
    return next(str(m["state"]) for m in site.good("history", "--json").document["moves"] if str(m["id"]) == number)


def test_paused_and_resumed_by_hand(pausing: Site, lab: Lab, hot: Table, load: None) -> None:
    """`hotplace pause` holds the build on the server, `resume` goes on with the pages that it has kept."""
    number = proposed(pausing)
    pausing.good("approve", str(number), "--yes")
    move = str(next(m["id"] for m in pausing.good("history", "--json").document["moves"] if m["unit"] == HOT))
    with lab.slow():
        agent = pausing.start("run")
        try:
            wait_until(lambda: copying(lab), "the hot table is built anew")
            assert "paused" in pausing.good("pause", move, "--reason", "backup runs", "--wait", "30s").out
            assert state_of(pausing, move) == "paused"
            kept = lab.shop.operations[0].copied_pages
            assert lab.shop.operations[0].paused
            assert home_of(lab, hot) == SLOW
            lab.instance.build_seconds = 0.0
            pausing.good("resume", move, "--wait", "30s")
            wait_until(lambda: home_of(lab, hot) == FAST, "it has ended", seconds=60.0)
        finally:
            agent.terminate()
            agent.communicate()
    assert kept > 0
    assert not lab.shop.operations
    pausing.good("audit", "verify")


def test_a_held_build_is_cancelled_by_hand(pausing: Site, lab: Lab, hot: Table, load: None) -> None:
    """`hotplace cancel` aborts what is held: the table is where it was, and nothing is left on the server."""
    number = proposed(pausing)
    pausing.good("approve", str(number), "--yes")
    moves = {str(m["id"]): m["unit"] for m in pausing.good("history", "--json").document["moves"]}
    (move,) = (number for number, unit in moves.items() if unit == HOT)
    for other in moves.keys() - {move}:
        pausing.good("cancel", other)  # or the next one would be built
    with lab.slow():
        agent = pausing.start("run")
        try:
            wait_until(lambda: copying(lab), "the hot table is built anew")
            pausing.good("pause", move, "--wait", "30s")
            done = pausing.good("cancel", move, "--reason", "wrong week", "--wait", "30s", "--json")
            (asked,) = done.document["asked"]
            assert (asked["state"], asked["answer"]) == ("cancelled", "the move is cancelled")
        finally:
            agent.terminate()
            agent.communicate()
    assert home_of(lab, hot) == SLOW
    assert not lab.shop.operations
    pausing.good("audit", "verify")


def test_partitions_of_one_index_take_turns(site: Site, lab: Lab, load: None) -> None:
    """Two hot partitions: each plan has one, because its build writes the whole index; none is refused half way."""
    add_scheme(lab.shop, "ps", [10, 20], [SLOW, SLOW, SLOW])
    days = add_table(lab.shop, "days", space="ps", pages=500, column="id")
    moved = []
    for _ in range(2):
        with reading(lab, days):
            found = site.good("plan", "--observe", "0.5", "--propose", "--json").document
        own = [move["unit"] for move in found["moves"] if move["unit"].startswith("[dbo].[days] partition")]
        assert len(own) == 1, found["moves"]
        moved += own
        site.good("approve", str(found["proposal"]["id"]), "--yes")
        done = site.good("run", "--once", "--json").document["moves"]
        assert {row["state"] for row in done} <= {"placed", "settling", "kept"}
    assert sorted(moved) == [f"[dbo].[days] partition {number}" for number in (2, 3)]


@contextmanager
def reading(lab: Lab, table: Table) -> Iterator[None]:
    """Sessions look up rows of all but the first partition inside, and wait for each: enough to teach both speeds."""
    done = threading.Event()

    def read() -> None:
        while not done.wait(0.02):
            for partition in table.base.partitions[1:]:
                lab.instance.read_randomly(lab.shop, partition, 200)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        done.set()
        reader.join()
