"""One file out of a filegroup that keeps others: statements by hand, and its life over the drivers that are here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.model.moves import NoRoute, Route
from connectors.sqlserver.catalog import PAGE, File, Volume, spaces_of
from connectors.sqlserver.ddl import ServerFeatures
from connectors.sqlserver.file_moves import EMPTY_PAGES, FilePlace, removal_route
from tests.cli.site import Site
from tests.labs.sqlserver.lab import Lab, running_lab, wait_until
from tests.labs.sqlserver.storage import DataFile
from tests.labs.sqlserver.world import OWNER, READER, SLOW, add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.made import bundle, settings
from tests.sqlserver.moving.test_files import file
from tests.sqlserver.moving.test_life import connection, emptying

STANDARD = ServerFeatures(major=15, edition=2)
pytestmark = pytest.mark.by_turns
ONE, TWO = file(3, "one"), file(4, "it's", growth=10, percent_growth=1)


def out(
    name: str, *files: File, server: ServerFeatures = STANDARD, replicated: bool = False, **given: Any
) -> Route | NoRoute:
    """That file out of filegroup HDD of a database with those files."""
    taken = bundle(space="HDD", size=12801 * PAGE)
    taken = type(taken)(
        key=f"{name} of HDD", physical_ids=(), unit_keys=(), kind=taken.kind, size_bytes=taken.size_bytes, space="HDD",
        container=name,
    )  # fmt: skip
    place = FilePlace(database="a]pp", server=server, replicated=replicated, settings=settings(), **given)
    return removal_route(taken, files, place)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")


def test_the_statements_of_a_file() -> None:
    """Emptied, then removed; back comes one of 12,900 pages (101 MB) that grows alike, under a name of its own."""
    route = out("it's", ONE, TWO)
    assert isinstance(route, Route), route
    assert [step.sql.partition("*/ ")[2] for step in route.steps] == [
        "DBCC SHRINKFILE (N'it''s', EMPTYFILE)",
        "ALTER DATABASE [a]]pp] REMOVE FILE [it's]",
    ]
    assert [step.sql.partition("*/ ")[2] for step in route.tidy_steps] == [
        "ALTER DATABASE [a]]pp] MODIFY FILE (NAME = [it's], SIZE = 102MB)"
    ]
    made = f"hotplace_{route.steps[0].sql.split()[3]}_back_1"
    assert [step.sql.partition("*/ ")[2] for step in route.undo_steps] == [
        (
            f"ALTER DATABASE [a]]pp] ADD FILE (NAME = [{made}], FILENAME = N'D:\\{made}.ndf', SIZE = 101MB, "
            "FILEGROWTH = 10%) TO FILEGROUP [HDD]"
        )
    ]
    assert (route.to_space, route.transient_bytes, route.online) == ("HDD", 0, True)
    younger = out("it's", ONE, TWO, server=ServerFeatures(major=16, edition=2))
    assert isinstance(younger, Route)
    assert younger.steps[0].sql.endswith("EMPTYFILE) WITH WAIT_AT_LOW_PRIORITY (ABORT_AFTER_WAIT = SELF)")


@pytest.mark.parametrize(
    ("files", "given", "code"),
    [
        ((file(5, "other"), TWO), {}, "gone"),
        ((file(1, "one"), TWO), {}, "primary_file"),
        ((file(3, "one", read_only=1), TWO), {}, "read_only_space"),
        ((ONE,), {}, "no_other"),
        ((ONE, file(4, "b", space="SSD")), {}, "no_other"),
        ((ONE, file(4, "b", state="OFFLINE")), {}, "no_other"),
        ((ONE, TWO), {"server": ServerFeatures(major=99, edition=8)}, "no_files"),
        ((ONE, TWO), {"writable": False}, "standby"),
        ((ONE, TWO), {"replicated": True, "server": ServerFeatures(major=13, edition=3)}, "replicas"),
    ],
)
def test_what_stays(files: tuple[File, ...], given: dict[str, object], code: str) -> None:
    """Pitfalls 27 and 44 and others: the primary file is never emptied, and its pages must have somewhere to go."""
    reason = out("one", *files, **given)  # type: ignore[arg-type]  # fields by name
    assert isinstance(reason, NoRoute)
    assert (reason.code, bool(reason.sentence)) == (code, True)


def test_files_are_containers() -> None:
    """99 pages of 8192 free in each; both grow into the one volume; what a login may not see is unknown."""
    volume = Volume("D:\\", 10**9, 5 * 10**8)
    (space,) = spaces_of([ONE, TWO, file(5, "fixed", growth=0, used_pages=None)], {3: volume, 4: volume, 5: volume}, {})
    one, two, fixed = space.containers
    assert (one.name, one.path, one.size_bytes, one.used_bytes) == ("one", "D:\\one.ndf", 12900 * PAGE, 12801 * PAGE)
    assert one.free_bytes == two.free_bytes == 99 * PAGE + 5 * 10**8
    assert one.device == two.device
    assert (fixed.growth_bytes, fixed.free_bytes, fixed.holder) == (0, None, "HDD")


@pytest.fixture
def lab() -> Iterator[Lab]:
    """An emulated Standard edition of 2019 with a filegroup of two files, both half full."""
    with running_lab(major=15, engine_edition=2) as running:
        storage = running.shop.storage
        group = storage.filegroup_named(SLOW)
        assert group is not None
        (first,) = storage.files_of(group.space_id)
        running.shop.add_file("second", group.space_id, first.volume, pages=first.size)
        add_table(running.shop, "orders", pages=4000)
        yield running


def files_of(lab: Lab) -> dict[str, DataFile]:
    """Those of the filegroup, from the model itself."""
    group = lab.shop.storage.filegroup_named(SLOW)
    assert group is not None
    return {each.name: each for each in lab.shop.storage.files_of(group.space_id)}


@pytest.fixture
def site(tmp_path: Path, lab: Lab, driver: OdbcDriver) -> Site:
    """Watches with one login, moves with that of the owner."""
    return Site(
        tmp_path,
        {
            "name": "shop",
            "engine": "sqlserver",
            "connection": connection(lab, driver, tmp_path, READER),
            "move_connection": connection(lab, driver, tmp_path, OWNER),
            "tiers": [{"name": "hdd", "spaces": [SLOW]}],
            "sample_every": "0.2s",
            "settle": "0.2s",
        },
    )


DRAIN = ("plan", "--mode", "drain", "--space", SLOW, "--container")


def approved(site: Site) -> int:
    """Number of the only move, approved by its digest."""
    document = site.good(*DRAIN, "second", "--propose", "--json").document
    (move,) = document["moves"]
    assert (move["reason"], move["from_space"], move["to_space"], move["units"]) == ("container", SLOW, SLOW, [])
    site.good("approve", str(document["proposal"]["id"]), "--digest", document["proposal"]["digest"])
    (row,) = site.good("history", "--json").document["moves"]
    return int(row["id"])


def state(site: Site) -> str:
    """Of the newest move."""
    return str(max(site.good("history", "--json").document["moves"], key=lambda move: int(move["id"]))["state"])


def test_a_file_leaves_and_another_comes(site: Site, lab: Lab) -> None:
    """Shown, approved by digest, emptied into the other one, removed, measured; the undo adds an empty one."""
    held = sum(each.used for each in files_of(lab).values())
    assert files_of(lab)["second"].used > EMPTY_PAGES
    shown = site.good(*DRAIN, "second").out
    assert "DBCC SHRINKFILE (N'second', EMPTYFILE)" in shown
    assert "dry run: nothing was changed" in shown
    number = approved(site)
    site.good("run", "--once")
    assert {name: each.used for name, each in files_of(lab).items()} == {f"shop_{SLOW}": held}
    assert state(site) == "placed"
    undo = site.good("undo", str(number), "--json").document
    site.good("approve", str(undo["proposal"]), "--yes")
    (taken_back,) = site.good("show", str(undo["proposal"]), "--json").document["moves"]
    assert (taken_back["bytes"], taken_back["copy_seconds"]) == (0, 0.0)
    site.good("run", "--once")
    (back,) = files_of(lab).keys() - {f"shop_{SLOW}"}
    assert back.startswith("hotplace_")
    assert files_of(lab)[back].used == 0
    again = site.run("undo", str(taken_back["id"]))
    assert (again.code, "--container takes it out again" in " ".join(again.err.split())) == (6, True), again
    site.good("audit", "verify")


def test_killed_while_a_file_is_emptied(site: Site, lab: Lab) -> None:
    """Kill -9 in the middle of EMPTYFILE: what has moved stays moved, and the next run goes on from there."""
    approved(site)
    before = files_of(lab)["second"].used
    with lab.slow():
        agent = site.start("run", "--once")
        wait_until(lambda: files_of(lab)["second"].used < before - EMPTY_PAGES, "pages have moved")
        agent.kill()
        agent.communicate()
        wait_until(lambda: not emptying(lab), "the server noticed")
    assert 0 < files_of(lab)["second"].used < before
    site.good("run", "--once")
    assert set(files_of(lab)) == {f"shop_{SLOW}"}
    assert state(site) == "placed"
    site.good("audit", "verify")


def test_held_and_given_up(site: Site, lab: Lab) -> None:
    """Held by a person in the middle, then cancelled: what moved stays, and the file is open to new data again."""
    number, before, size = str(approved(site)), files_of(lab)["second"].used, files_of(lab)["second"].size
    with lab.slow():
        agent = site.start("run", "--once")
        wait_until(lambda: files_of(lab)["second"].used < before - EMPTY_PAGES, "pages have moved")
        site.run("pause", number, "--wait", "20s")
        agent.communicate()
    assert state(site) == "paused"
    site.run("cancel", number, "--wait", "1s")
    site.run("run", "--once")
    assert state(site) == "cancelled"
    assert 0 < files_of(lab)["second"].used < before
    assert files_of(lab)["second"].size == size + 128  # a MiB more, the only way to tell the server
    site.good("audit", "verify")


def test_the_room_is_gone_by_then(site: Site, lab: Lab) -> None:
    """Approved, and the other file has been capped since: precheck skips it, a new plan refuses it."""
    approved(site)
    other = files_of(lab)[f"shop_{SLOW}"]
    other.growth, other.size = 0, other.used + 100
    site.run("run", "--once")
    assert state(site) == "skipped"
    done = site.run(*DRAIN, "second")
    assert (done.code, "above their head-room" in done.err) == (6, True)
    assert "second" in files_of(lab)


def test_names(site: Site) -> None:
    """What does not exist is named with what does; the only file of a space stands for it; options that clash."""
    spaces = site.good("status", "--containers", "--json").document["databases"][0]["containers"]
    listed = next(each["containers"] for each in spaces if each["space"] == SLOW)
    assert [(each["name"], each["path"]) for each in listed] == [
        (f"shop_{SLOW}", f"D:\\shop_{SLOW}.ndf"), ("second", "D:\\second.ndf"),
    ]  # fmt: skip
    site.database["tiers"][0]["spaces"] = [SLOW, "PRIMARY"]
    site.write()
    for space, container, words in (
        (SLOW, "third", f"no container of {SLOW} is named 'third'; there are shop_{SLOW}, second"),
        ("tape", "second", "no space is named 'tape'"),
    ):
        done = site.run("plan", "--mode", "drain", "--space", space, "--container", container)
        assert (done.code, words in " ".join(done.err.split())) == (7, True), done
    only = site.good("plan", "--mode", "drain", "--space", "PRIMARY", "--container", "shop_PRIMARY")
    assert only.out == site.good("plan", "--mode", "drain", "--space", "PRIMARY").out
    assert site.run(*DRAIN, "second", "--time-limit", "1h").code == 2
    assert site.run("plan", "--mode", "usage", "--container", "second").code == 2
