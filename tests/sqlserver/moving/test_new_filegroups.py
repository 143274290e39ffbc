"""A new filegroup with its file: statements, refusals, and its life on the emulated server, back included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connectors.model.moves import NoRoute, Route
from connectors.model.new_space import WantedSpace
from connectors.sqlserver.ddl import ServerFeatures
from connectors.sqlserver.file_moves import FilePlace
from connectors.sqlserver.new_space import routes_new_space
from tests.cli.site import Site
from tests.labs.sqlserver.lab import Lab, running_lab
from tests.labs.sqlserver.storage import Filegroup
from tests.labs.sqlserver.world import OWNER, READER, SLOW, add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.made import settings
from tests.sqlserver.moving.test_files import file
from tests.sqlserver.moving.test_life import connection

pytestmark = pytest.mark.by_turns
PLACE = FilePlace(
    database="a]pp", server=ServerFeatures(major=15, edition=2), replicated=False, settings=settings()
)  # fmt: skip
WANTED = WantedSpace(name="fa]st", location="F:\\sql's")
DATA = (file(3, "one"),)  # on D:


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")


def test_its_statements() -> None:
    """Filegroup, then file; back the file, then the filegroup; quoted by the rules of identifiers and of texts."""
    found = routes_new_space(WANTED, DATA, PLACE, may=True)
    route = found.answer
    assert isinstance(route, Route)
    assert [step.sql.partition("*/ ")[2] for step in route.steps] == [
        "ALTER DATABASE [a]]pp] ADD FILEGROUP [fa]]st]",
        (
            "ALTER DATABASE [a]]pp] ADD FILE (NAME = [fa]]st_1], FILENAME = N'F:\\sql''s\\fa]st_1.ndf', SIZE = 1024MB) "
            "TO FILEGROUP [fa]]st]"
        ),
    ]
    assert [step.sql.partition("*/ ")[2] for step in route.undo_steps] == [
        "ALTER DATABASE [a]]pp] REMOVE FILE [fa]]st_1]", "ALTER DATABASE [a]]pp] REMOVE FILEGROUP [fa]]st]",
    ]  # fmt: skip
    assert [check.state for check in found.checks] == ["not checked", "not checked", "holds", "not checked"]
    assert any("drive f:, the data files on d:" in note for note in route.notes)


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"name": ""}, {}, "name"),
    ({"name": "a\nb"}, {}, "name"),
    ({"name": "x" * 129}, {}, "name"),
    ({"name": "..\\..\\evil"}, {}, "name"),
    ({"name": "a/b"}, {}, "name"),
    ({"name": "hdd"}, {}, "exists"),
    ({"location": "sql"}, {}, "location"),
    ({"location": "F:sql"}, {}, "location"),
    ({"location": "F:\\a\nb"}, {}, "location"),
    ({"location": "D:\\ssd"}, {}, "place"),
    ({}, {"writable": False}, "standby"),
    ({}, {"server": ServerFeatures(major=99, edition=8)}, "cloud"),
]


@pytest.mark.parametrize(("wanted", "place", "code"), REFUSED)
def test_what_is_refused(wanted: dict[str, Any], place: dict[str, Any], code: str) -> None:
    """By the rule that it breaks; the drive of the data may be accepted."""
    found = routes_new_space(replace(WANTED, **wanted), DATA, replace(PLACE, **place), may=True)
    assert isinstance(found.answer, NoRoute)
    assert found.answer.code == code
    if code == "place":
        accepted = replace(WANTED, **wanted, accepted=("device",))
        assert isinstance(routes_new_space(accepted, DATA, PLACE, may=True).answer, Route)


def test_without_the_right_a_person_does_it() -> None:
    """The statements, and which right is missing."""
    answer = routes_new_space(WANTED, DATA, PLACE, may=False).answer
    assert isinstance(answer, Route)
    assert answer.by_hand is not None
    wanted = "ALTER DATABASE [a]]pp] ADD FILEGROUP [fa]]st];\nGO\n"
    assert any(sql.startswith(wanted) for sql in answer.by_hand.statements)
    assert "ALTER on the database" in answer.by_hand.because


@pytest.fixture
def lab() -> Iterator[Lab]:
    """An emulated Standard edition of 2019."""
    with running_lab(major=15, engine_edition=2) as running:
        add_table(running.shop, "orders", pages=400)
        yield running


@pytest.fixture
def site(tmp_path: Path, lab: Lab, driver: OdbcDriver) -> Site:
    """Watches with one login, moves with that of the owner; there is one tier."""
    return Site(
        tmp_path,
        {
            "name": "shop",
            "engine": "sqlserver",
            "connection": connection(lab, driver, tmp_path, READER),
            "move_connection": connection(lab, driver, tmp_path, OWNER),
            "tiers": [{"name": "ssd"}, {"name": "hdd", "spaces": [SLOW]}],
            "sample_every": "0.2s",
            "settle": "0.1s",
        },
    )


def groups(lab: Lab) -> dict[str, list[str]]:
    """Names of filegroups with those of their files, from the model itself."""
    storage = lab.shop.storage
    return {
        group.name: [each.name for each in storage.files_of(group.space_id)] for group in storage.filegroups.values()
    }


def asked(site: Site, lab: Lab) -> dict[str, Any]:
    """The proposal of a filegroup on the volume that the lab has."""
    volume = next(iter(lab.shop.storage.files.values())).volume.mount
    found = site.good(
        "space", "create", "new", "--location", f"{volume}fast", "--size", "8MiB", "--accept", "device", "--propose",
        "--json",
    ).document  # fmt: skip
    stored: dict[str, Any] = found["proposal"]
    return stored


def carried_out(site: Site, number: int, digest: str) -> list[str]:
    """Approved by its digest, and what became of its moves."""
    site.good("approve", str(number), "--digest", digest)
    moves = site.run("run", "--once", "--json").document["moves"]  # also what an undo among them takes back
    return [row["state"] for row in moves if row["proposal"] == number]


def test_made_and_taken_back(site: Site, lab: Lab) -> None:
    """Nothing before the approval; then the filegroup with its file; the undo removes both, by its own digest."""
    stored = asked(site, lab)
    site.good("run", "--once")
    assert "new" not in groups(lab)
    assert carried_out(site, stored["id"], stored["digest"]) == ["placed"]
    assert groups(lab)["new"] == ["new_1"]
    back = site.good("undo", "1", "--json").document
    assert carried_out(site, back["proposal"], back["digest"]) == ["placed"]
    assert "new" not in groups(lab)


def test_a_filegroup_that_holds_something_stays(site: Site, lab: Lab) -> None:
    """The server refuses to remove its file (5042)."""
    stored = asked(site, lab)
    assert carried_out(site, stored["id"], stored["digest"]) == ["placed"]
    add_table(lab.shop, "held", space="new", pages=10)
    back = site.good("undo", "1", "--json").document
    assert carried_out(site, back["proposal"], back["digest"]) == ["failed"]
    assert groups(lab)["new"] == ["new_1"]


def test_a_filegroup_without_its_file_goes_before_the_next_try(site: Site, lab: Lab) -> None:
    """What the first statement left behind, whose second one failed, is removed by a statement of the approval."""
    stored = asked(site, lab)
    number = lab.shop.next_id("space")
    lab.shop.storage.filegroups[number] = Filegroup(number, "new")
    assert carried_out(site, stored["id"], stored["digest"]) == ["placed"]
    assert groups(lab)["new"] == ["new_1"]
