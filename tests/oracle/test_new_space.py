"""A new tablespace: its statement, refusals, and its life on the emulated server, back included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connectors.model.moves import NoRoute, Route
from connectors.model.new_space import WantedSpace
from connectors.oracle.catalog import DataFile
from connectors.oracle.new_space import routes_new_space
from tests.cli.site import Site
from tests.labs.oracle.harness import AGENT, OWNER, PASSWORD, OracleHarness, running_harness
from tests.oracle.made import SETTINGS, server

MIB = 1 << 20
FILES = (DataFile(7, "SLOW", "/hdd/oradata/slow01.dbf", 100 * MIB, "ONLINE", "ONLINE"),)
WANTED = WantedSpace(name="Fa'st; --", location="/ssd/ora'data")
HELD = frozenset({"CREATE TABLESPACE", "DROP TABLESPACE"})


def found(wanted: WantedSpace = WANTED, held: frozenset[str] | None = HELD, **of: Any) -> Any:
    """What the connector answers, and what it has looked at."""
    return routes_new_space(wanted, FILES, {"FAST"}, server(**of), SETTINGS, held)


def test_its_statement() -> None:
    """Quoted by the rules of names and of texts; never REUSE, never INCLUDING CONTENTS; a file of its folder."""
    route = found().answer
    assert isinstance(route, Route)
    (step,), (back,) = route.steps, route.undo_steps
    assert step.sql.partition("*/ ")[2] == (
        "CREATE TABLESPACE \"Fa'st; --\" DATAFILE '/ssd/ora''data/hotplace_fa_st_____1.dbf' "
        "SIZE 1073741824 AUTOEXTEND ON NEXT 268435456 MAXSIZE UNLIMITED"
    )
    assert back.sql.partition("*/ ")[2] == 'DROP TABLESPACE "Fa\'st; --"'
    assert [check.state for check in found().checks] == ["not checked"] * 4
    assert any("its file stays on the disk" in note for note in route.notes)


def test_a_path_in_the_name_leads_nowhere() -> None:
    """What is no letter or digit of it is not in the file's name."""
    route = found(replace(WANTED, name="../../etc/x")).answer
    assert isinstance(route, Route)
    assert "'/ssd/ora''data/hotplace_______etc_x_1.dbf'" in route.steps[0].sql


def test_a_disk_group() -> None:
    """It is looked up by name; a group that holds the data already fails as another device, unless it is accepted."""
    checks = {check.name: check for check in found(replace(WANTED, location="+FAST")).checks}
    assert (checks["empty"].state, checks["device"].state, checks["restart"].state) == ("holds", "holds", "not checked")
    unknown = {check.name: check for check in found(replace(WANTED, location="+NONE")).checks}
    assert unknown["empty"].state == "not checked"
    taken = DataFile(8, "USERS", "+FAST/ORCL/DATAFILE/users.1.1", MIB, "ONLINE", "ONLINE")
    answer = routes_new_space(
        replace(WANTED, location="+FAST"), (*FILES, taken), {"FAST"}, server(), SETTINGS, HELD
    ).answer  # fmt: skip
    assert isinstance(answer, NoRoute)
    assert answer.setting == "--accept device"


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"name": ""}, {}, "name"),
    ({"name": 'a"b'}, {}, "name"),
    ({"name": "a\nb"}, {}, "name"),
    ({"name": "x" * 129}, {}, "name"),
    ({"name": "SLOW"}, {}, "exists"),
    ({"location": "ssd"}, {}, "location"),
    ({"location": "+FAST'; DROP"}, {}, "location"),
    ({"location": "/a\nb"}, {}, "location"),
    ({"location": "/hdd/oradata/"}, {}, "place"),
    ({}, {"open_mode": "READ ONLY"}, "standby"),
]


@pytest.mark.parametrize(("wanted", "of", "code"), REFUSED)
def test_what_is_refused(wanted: dict[str, Any], of: dict[str, Any], code: str) -> None:
    """By the rule that it breaks."""
    answer = found(replace(WANTED, **wanted), **of).answer
    assert isinstance(answer, NoRoute)
    assert answer.code == code


def test_without_the_privilege_a_person_does_it() -> None:
    """Hotplace asks for no such privilege; one that lacks DROP TABLESPACE is told."""
    answer = found(held=frozenset()).answer
    assert isinstance(answer, Route)
    assert answer.by_hand is not None
    assert any("CREATE TABLESPACE" in statement for statement in answer.by_hand.statements)
    assert "DROP TABLESPACE" in answer.by_hand.undo[0]
    route = found(held=frozenset({"CREATE TABLESPACE"})).answer
    assert isinstance(route, Route)
    assert any("lacks DROP TABLESPACE" in note for note in route.notes)


@pytest.fixture
def lab() -> Iterator[OracleHarness]:
    """A 19c lab with a table, and an account that may make tablespaces."""
    with running_harness("oracle 19 (emulated server)") as running:
        running.database.add_table(OWNER, "SALES", "SLOW", 8 * MIB)
        running.database.users[AGENT].privileges = running.database.users[AGENT].privileges | HELD
        yield running


@pytest.fixture
def site(lab: OracleHarness, tmp_path: Path) -> Site:
    """One tier."""
    secret = tmp_path / "password"
    secret.write_text(PASSWORD)
    return Site(
        tmp_path,
        {
            "name": "orders",
            "engine": "oracle",
            "connection": {
                "host": "127.0.0.1", "port": lab.server.port, "service": "orclpdb1", "user": AGENT,
                "password": {"file": str(secret)},
            },
            "tiers": [{"name": "ssd"}, {"name": "hdd", "spaces": ["SLOW"]}],
            "sample_every": "0.2s",
            "settle": "0.1s",
        },
    )  # fmt: skip


def carried_out(site: Site, number: int, digest: str) -> list[str]:
    """Approved by its digest, and what became of its moves."""
    site.good("approve", str(number), "--digest", digest)
    moves = site.run("run", "--once", "--json").document["moves"]  # also what an undo among them takes back
    return [row["state"] for row in moves if row["proposal"] == number]


def test_made_and_taken_back(site: Site, lab: OracleHarness) -> None:
    """Nothing before the approval; then the tablespace; one that holds a table stays; an empty one is dropped."""
    asked = ("space", "create", "NEW", "--location", "/ssd/new", "--size", "8MiB", "--propose", "--json")
    stored = site.good(*asked).document["proposal"]
    site.good("run", "--once")
    assert "NEW" not in lab.database.tablespaces
    assert carried_out(site, stored["id"], stored["digest"]) == ["placed"]
    assert [file.path for file in lab.database.tablespaces["NEW"].files] == ["/ssd/new/hotplace_new_1.dbf"]
    lab.database.add_table(OWNER, "HELD", "NEW", MIB)
    back = site.good("undo", "1", "--json").document
    assert carried_out(site, back["proposal"], back["digest"]) == ["failed"]
    assert "NEW" in lab.database.tablespaces
    lab.database.drop_table(OWNER, "HELD")
    site.run("run", "--once")
    again = site.good("undo", "1", "--json").document
    assert carried_out(site, again["proposal"], again["digest"]) == ["placed"]
    assert "NEW" not in lab.database.tablespaces
