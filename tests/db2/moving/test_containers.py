"""One container out of a table space or storage group: golden text, what is refused, and a life over IBM's driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from connectors.db2.inspection import space_home
from connectors.db2.operations import change_of
from connectors.db2.space_move import Instance, containers_of, paths_of, route_out
from connectors.db2.storage import ServerStorage, TableSpace
from connectors.model.moves import ByHand, NoRoute, Route
from connectors.model.observation import Home, Space
from tests.db2.facts import SETTINGS, SLOW, STORAGE, bundle, space
from tests.db2.life import SCHEMA, Life
from tests.labs.db2.client import Db2, running_db2

A, B, C = "/hdd/files/a", "/hdd/files/it's", "/ssd/files/c"
FILES = {A: 400, B: 400, C: 200}
DMS = space(
    automatic=False, group="", grows=False, containers=tuple(FILES), container_pages=FILES, total_bytes=1000 * 4096,
    used_bytes=300 * 4096, top_page=320,
)  # fmt: skip


def out(path: str, of: TableSpace = DMS, instance: Instance | None = None) -> Route | ByHand | NoRoute:
    """That container out of that table space."""
    taken = replace(bundle(), key=f"{path} of TS_SLOW", unit_keys=(), physical_ids=(), container=path)
    return route_out(ServerStorage({4: of}, STORAGE.groups), taken, SETTINGS, instance or Instance())


def untagged(route: Route) -> tuple[list[str], list[str], list[str]]:
    """Statements there, back, and of who gives it up."""
    sides = (route.steps, route.undo_steps, route.tidy_steps)
    return tuple([step.sql.partition(" /* hotplace ")[0] for step in side] for side in sides)  # type: ignore[return-value]  # two sides


def test_golden_drop() -> None:
    """One file out; the undo adds it with its pages; whoever gives up lets the rebalance end and adds it too."""
    route = out(B)
    assert isinstance(route, Route), route
    added = "ALTER TABLESPACE \"TS_SLOW\" ADD (FILE '/hdd/files/it''s' 400)"
    assert untagged(route) == (
        ["ALTER TABLESPACE \"TS_SLOW\" DROP (FILE '/hdd/files/it''s')"],
        [added],
        ['ALTER TABLESPACE "TS_SLOW" REBALANCE RESUME', added],
    )
    assert route.steps[0].pausable
    assert (route.to_space, route.transient_bytes) == (route.bundle.space, 0)


def test_containers_share_what_is_used() -> None:
    """300 pages in use, striped: 40, 40 and 20 percent of them, and nothing grows."""
    found = {each.name: (each.size_bytes, each.used_bytes, each.free_bytes) for each in containers_of(DMS)}
    page = 4096
    assert found == {
        A: (400 * page, 120 * page, 280 * page), B: (400 * page, 120 * page, 280 * page),
        C: (200 * page, 60 * page, 140 * page),
    }  # fmt: skip


def test_where_it_is_by_the_step_alone() -> None:
    """Before and after, there and back."""
    route = out(B)
    assert isinstance(route, Route)
    there, back = (change_of(steps[0]) for steps in (route.steps, route.undo_steps))
    assert there is not None
    assert back is not None
    assert (there.drop, back.add) == ((B,), (B,))
    less = replace(DMS, containers=(A, C), container_pages={A: 400, C: 200})
    storage = ServerStorage({4: DMS}, {})
    assert space_home(storage, DMS, route, there) is Home.SOURCE
    assert space_home(storage, less, route, there) is Home.TARGET
    assert space_home(storage, less, route, back) is Home.SOURCE
    assert space_home(storage, DMS, route, back) is Home.TARGET


@pytest.mark.parametrize(
    ("path", "of", "instance", "code"),
    [
        ("/nowhere", DMS, Instance(), "gone"),
        (A, replace(DMS, name="SYSCATSPACE"), Instance(), "system_space"),
        (A, replace(DMS, managed="S"), Instance(), "sms"),
        (A, replace(DMS, mode="FWD_REBAL"), Instance(), "rebalancing"),
        (A, replace(DMS, state="BACKUP_PENDING"), Instance(), "not_normal"),
        (A, DMS, Instance(purescale=True), "purescale"),
        (next(iter(space().container_pages)), space(), Instance(), "only_one"),
    ],
)
def test_what_stays(path: str, of: TableSpace, instance: Instance, code: str) -> None:
    """Each with its reason before anything is sent; a storage group of one path keeps it."""
    found = out(path, of, instance)
    if path == "/db/slow":
        found = route_out(
            ServerStorage({4: of}, STORAGE.groups), replace(bundle(space="SLOW"), container=path), SETTINGS, instance
        )
    assert isinstance(found, NoRoute), found
    assert found.code == code


def test_the_high_water_mark_decides() -> None:
    """Without b 600 pages are left, less an extent of 32 in each: to page 536 it goes at once, beyond by hand."""
    assert isinstance(out(B, replace(DMS, top_page=536)), Route)
    lower = out(B, replace(DMS, top_page=537))
    assert isinstance(lower, ByHand)
    assert lower.statements[0] == 'ALTER TABLESPACE "TS_SLOW" LOWER HIGH WATER MARK'
    assert "page 537" in lower.because
    assert "536" in lower.because
    old = out(B, replace(DMS, top_page=537, reclaimable=False))
    assert isinstance(old, ByHand)
    assert len(old.statements) == 1


def test_written_for_a_person() -> None:
    """A path of a storage group goes from under all of its table spaces; partitions and devices have own words."""
    group = replace(SLOW, paths=("/db/slow", "/db/old"))
    storage = ServerStorage({4: space(), 5: space(number=5, name="TS_2")}, {"SLOW": group})
    for name in ("/db/old", "/db/slow"):
        found = route_out(storage, replace(bundle(space="SLOW"), container=name), SETTINGS, Instance())
        assert isinstance(found, ByHand)
        assert found.statements == (
            f"ALTER STOGROUP \"SLOW\" DROP '{name}'",
            'ALTER TABLESPACE "TS_2" REBALANCE',
            'ALTER TABLESPACE "TS_SLOW" REBALANCE',
        )
    assert [(path.name, path.size_bytes) for path in paths_of(storage, group)] == [
        ("/db/slow", 2 * 488 * 4096),
        ("/db/old", 0),
    ]
    own = route_out(storage, replace(bundle(), container=next(iter(space().container_pages))), SETTINGS, Instance())
    assert isinstance(own, ByHand)  # what Db2 placed cannot be named, so its path goes
    assert own.statements[0] == "ALTER STOGROUP \"SLOW\" DROP '/db/slow'"
    parted = out(A, instance=Instance(partitions=2))
    assert isinstance(parted, ByHand)
    assert parted.statements[0].endswith("ON DBPARTITIONNUM (<number>)")
    assert isinstance(out(A, replace(DMS, only_files=False)), ByHand)


SITE_FILES = {"/db2/slow/files/a": 400, "/db2/slow/files/b": 400, "/db2/fast/files/c": 400}
B_FILE = "/db2/slow/files/b"
DRAIN = ("plan", "--mode", "drain", "--space", "TS_FILES", "--container")


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """One emulated server."""
    with running_db2("11.5") as running:
        yield running


@pytest.fixture
def life(db2: Db2, tmp_path: Path) -> Iterator[Life]:
    """A table in a table space of three files."""
    db2.lab.create_dms("TS_FILES", dict(SITE_FILES))
    db2.lab.create_table(SCHEMA, "FILED", "FILED_PK", "TS_FILES", 400)  # in whole extents it fits two files
    yield Life(db2, tmp_path, {"hdd": ["TS_FILES"]}, move_by="table")
    db2.lab.behave(extents_per_second=1e9)
    db2.lab.drop_table(SCHEMA, "FILED")
    db2.lab.drop_space("TS_FILES")


@pytest.mark.db2
@pytest.mark.slow
@pytest.mark.xdist_group("db2 life")
def test_emulated_server_a_file_leaves_and_comes_back(db2: Db2, life: Life) -> None:
    """Listed, approved by its digest, verified in the catalog, taken back; while it is gone nobody finds it."""
    spaces = life.good("status", "--containers", "--json").document["databases"][0]["containers"]
    space = next(each for each in spaces if each["space"] == "TS_FILES")
    assert sorted(each["name"] for each in space["containers"]) == sorted(SITE_FILES)
    document = life.good(*DRAIN, B_FILE, "--propose", "--json").document
    (move,) = document["moves"]
    assert move["statements"][0]["sql"].startswith(f"ALTER TABLESPACE \"TS_FILES\" DROP (FILE '{B_FILE}')")
    assert (document["by_hand"], document["container"]["bytes"]) == (None, 400 * 4096)
    life.good("approve", str(document["proposal"]["id"]), "--digest", document["proposal"]["digest"])
    assert life.go_on()["state"] == "placed"
    assert sorted(db2.lab.containers("TS_FILES")) == sorted(SITE_FILES.keys() - {B_FILE})
    gone = life.run(*DRAIN, B_FILE)
    assert (gone.code, "no container of TS_FILES is named" in gone.err) == (7, True)
    life.undo()
    assert sorted(db2.lab.containers("TS_FILES")) == sorted(SITE_FILES)
    life.good("audit", "verify")


@pytest.mark.db2
@pytest.mark.slow
@pytest.mark.xdist_group("db2 life")
def test_emulated_server_killed_while_a_file_leaves(db2: Db2, life: Life) -> None:
    """Kill -9 in the middle of the rebalance; the next run finds it done and drops nothing twice."""
    document = life.good(*DRAIN, B_FILE, "--propose", "--json").document
    life.good("approve", str(document["proposal"]["id"]), "--digest", document["proposal"]["digest"])
    at = len(db2.lab.sent())
    db2.lab.behave(extents_per_second=0.5)
    life.kill_when("a rebalance", lambda: "TS_FILES" in db2.lab.rebalancing())
    db2.lab.behave(extents_per_second=1e9)
    assert life.go_on()["state"] in {"placed", "settling", "kept"}
    assert life.sent(at) == [f"DROP (FILE '{B_FILE}')"]
    assert sorted(db2.lab.containers("TS_FILES")) == sorted(SITE_FILES.keys() - {B_FILE})


@pytest.mark.db2
@pytest.mark.slow
@pytest.mark.xdist_group("db2 life")
def test_emulated_server_the_others_must_have_room(db2: Db2, life: Life) -> None:
    """Filled to where two files cannot hold it above their head-room: refused with size, room and what else to do."""
    db2.lab.drop_table(SCHEMA, "FILED")
    db2.lab.create_table(SCHEMA, "FILED", "FILED_PK", "TS_FILES", 690)
    done = life.run(*DRAIN, B_FILE)
    assert done.code == 6, done
    assert "above their head-room" in done.err
    assert "--space TS_FILES" in done.err
    assert db2.lab.rebalancing() == []


def test_a_space_knows_the_room_without_one() -> None:
    """What precheck compares with: b's 120 pages go to a and c, which have 420 left; an unknown one leaves all."""
    from agent.planning.single_moves import without

    whole = Space(
        name="TS_SLOW", path=A, used_bytes=0, free_bytes=None, capacity_bytes=None, containers=containers_of(DMS)
    )
    assert without(whole, B).free_bytes == 420 * 4096
    assert without(whole, "gone").free_bytes == 700 * 4096
