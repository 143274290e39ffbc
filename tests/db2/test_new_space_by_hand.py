"""New spaces on a simulated IBM i and z/OS: proposed with its checks, carried out by a person, seen, taken back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connectors.db2.plan_only import session
from connectors.db2.plan_only.connector import PlanOnlyConnector
from connectors.db2.sessions import Platform
from connectors.model.moves import ByHand, NoRoute, Route
from connectors.model.new_space import NEW_SPACE, SpaceAnswer, WantedSpace
from connectors.model.observation import Home
from tests.cli.site import Site
from tests.db2.by_hand_worlds import SLOW, Held, Refused, SimulatedI, SimulatedZ, Space
from tests.db2.hand_made import GIB, connector_over
from tests.db2.test_by_hand import site_of, statements_of, states


def one_tier(folder: Path, platform: str, space: str) -> Site:
    """A configuration with the slow tier alone: the first question of everyone who has no SSD yet."""
    site = site_of(folder, platform, ("unused", space))
    del site.database["tiers"][0]
    site.write()
    return site


def proposed(site: Site, *asked: str) -> tuple[int, str]:
    """The number of a stored proposal of a new space, and its file."""
    document = site.good("space", "create", *asked, "--propose", "--json").document
    assert [move["route"] for move in document["moves"]] == [NEW_SPACE]
    number = document["proposal"]["id"]
    return number, site.good("show", str(number), "--sql").out


def seen(site: Site) -> list[str]:
    """States of all moves once the catalog was looked at."""
    for _ in range(2):
        site.good("run", "--once")
    return [state for _, state in states(site)]


def test_a_storage_group_from_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Proposed, approved, made by a person, seen; while a space lies in it the system keeps it; then dropped."""
    world = SimulatedZ(Space("SHOPDB", "PLAIN", "SGHDD", " "))
    monkeypatch.setattr(session, "open_zos", lambda _: (world, "DB2", "12.01"))
    site = one_tier(tmp_path, "zos", "SGHDD")
    number, text = proposed(site, "SGSSD", "--location", "SSD002,SSD001")
    assert statements_of(text) == [
        "CREATE STOGROUP \"SGSSD\" VOLUMES ('SSD001', 'SSD002') VCAT DSNCAT;",
        "COMMIT;",
    ]
    site.good("approve", str(number), "--yes")
    assert seen(site) == ["handed_over"]
    world.run(text)
    assert set(seen(site)) <= {"settling", "kept"}
    back = site.good("undo", "1", "--json").document["proposal"]
    script = site.good("show", str(back), "--sql").out
    assert statements_of(script) == ['DROP STOGROUP "SGSSD";', "COMMIT;"]
    world.spaces[0].group = "SGSSD"
    with pytest.raises(Refused, match="-616"):
        world.run(script)
    world.spaces[0].group = "SGHDD"
    site.good("approve", str(back), "--yes")
    world.run(script)
    assert set(seen(site)) <= {"undone", "settling", "kept"}
    assert set(world.groups) == {"SGHDD"}
    assert all(sent.startswith("SELECT") for sent in world.sent)


def test_disk_units_of_an_asp(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """There is no command for it: the file says what to do in SST and has no statement; then the units are seen."""
    world = SimulatedI(Held("ORDERS", 40_000, unit=SLOW, size=GIB), spare=("DMP019", "DMP020"))
    monkeypatch.setattr(session, "open_i", lambda _: (world, "DB2/400 SQL", "07.05"))
    site = one_tier(tmp_path, "i", "ASP1 HDD")
    number, text = proposed(site, "ASP1 SSD", "--location", "DMP019,DMP020")
    assert statements_of(text) == []
    assert "Work with disk units" in text
    assert "DMP019, DMP020 to ASP 1" in text
    site.good("approve", str(number), "--yes")
    assert seen(site) == ["handed_over"]
    world.add_units()
    assert set(seen(site)) <= {"settling", "kept"}


def zos(*volumes: str, of_class: str = "") -> PlanOnlyConnector:
    """z/OS with one storage group."""
    world = SimulatedZ(Space("SHOPDB", "PLAIN", "SGHDD", " "))
    world.groups = {"SGHDD": (volumes or ("HDD001",), of_class)}
    world.look()
    return connector_over(Platform.ZOS, world)


def asked(connector: PlanOnlyConnector, name: str, location: str, **more: Any) -> SpaceAnswer:
    """What it says of that space."""
    return connector.routes_new_space(WantedSpace(name=name, location=location, **more), moves=False)


def states_of(answer: SpaceAnswer) -> dict[str, str]:
    """State of each check, by its name."""
    return {check.name: check.state.value for check in answer.checks}


@pytest.mark.parametrize(
    ("location", "statement"),
    [
        ("*", "CREATE STOGROUP \"NEW\" VOLUMES ('*') VCAT DSNCAT;"),
        ("STORCLAS(FAST)", 'CREATE STOGROUP "NEW" VCAT DSNCAT STORCLAS FAST;'),
        ("SSD001", "CREATE STOGROUP \"NEW\" VOLUMES ('SSD001') VCAT DSNCAT;"),
    ],
)
def test_places_of_zos(location: str, statement: str) -> None:
    """Volumes, SMS, or a class of SMS: each is made on the double, and recognised as what was approved."""
    world = SimulatedZ(Space("SHOPDB", "PLAIN", "SGHDD", " "))
    connector = connector_over(Platform.ZOS, world)
    route = asked(connector, "NEW", location).answer
    assert isinstance(route, Route)
    assert route.by_hand is not None
    assert route.by_hand.statements[0] == statement
    assert connector.inspect(route).home is Home.SOURCE
    world.run(statement)
    assert connector.inspect(route).home is Home.TARGET
    world.groups["NEW"] = (("OTHER1",), "")
    world.look()
    assert connector.inspect(route).home is Home.ELSEWHERE


def test_checks_of_volumes() -> None:
    """A volume of another group is no other device, unless a person accepts it; what SMS chooses is not checked."""
    used = asked(zos("HDD001", "SSD001"), "NEW", "SSD001")
    assert isinstance(used.answer, NoRoute)
    assert used.answer.setting == "--accept device"
    assert isinstance(asked(zos("SSD001"), "NEW", "SSD001", accepted=("device",)).answer, Route)
    assert states_of(asked(zos(), "NEW", "SSD001"))["device"] == "holds"
    assert states_of(asked(zos("*"), "NEW", "SSD001"))["device"] == "not checked"
    assert states_of(asked(zos(), "NEW", "*"))["device"] == "not checked"


HOSTILE = 'A"; DROP STOGROUP "SGHDD\n; DROP DATABASE SHOPDB;\n--'


@pytest.mark.parametrize(
    ("name", "location", "code"),
    [
        ("", "SSD001", "name"),
        (HOSTILE, "SSD001", "name"),
        ("N" * 129, "SSD001", "name"),
        ("SGHDD", "SSD001", "exists"),
        ("NEW", "TOOLONG", "location"),
        ("NEW", "SSD001,SSD001", "location"),
        ("NEW", "SSD001'); DROP", "location"),
        ("NEW", "STORCLAS(A B)", "location"),
        ("NEW", "SSD1\n", "location"),
    ],
)
def test_what_zos_refuses(name: str, location: str, code: str) -> None:
    """By the rule that it breaks; nothing hostile reaches a file."""
    answer = asked(zos(), name, location).answer
    assert isinstance(answer, NoRoute)
    assert answer.code == code


def test_quoted_names_of_zos() -> None:
    """A name with quotation marks is one name in the statement."""
    route = asked(zos(), 'A"; DROP STOGROUP "SGHDD', "SSD001").answer
    assert isinstance(route, Route)
    assert route.by_hand is not None
    assert route.by_hand.statements[0].startswith('CREATE STOGROUP "A""; DROP STOGROUP ""SGHDD" VOLUMES')


def i(*spare: str) -> PlanOnlyConnector:
    """IBM i with a hard disk in ASP 1, and units that are in none."""
    return connector_over(Platform.I, SimulatedI(Held("ORDERS", 0), spare=spare))


@pytest.mark.parametrize(
    ("name", "location", "code"),
    [
        ("ASP1 SSD", "DMP002", "location"),  # is no SSD
        ("ASP1 SSD", "DMP999", "place"),  # is not there
        ("ASP1 SSD", "a;b", "location"),
        ("ASP1 SSD", "DMP019\n", "location"),
        ("ASP1 HDD", "DMP019", "exists"),
        ("ASP33 SSD", "DMP019", "name"),
        ('"; DROP', "DMP019", "name"),
        ("NAME\nCL: DLTLIB LIB(X);", "DMP019", "name"),
    ],
)
def test_what_i_refuses(name: str, location: str, code: str) -> None:
    """By the rule that it breaks, or by what the disk units show."""
    answer = asked(i("DMP019"), name, location).answer
    assert isinstance(answer, NoRoute)
    assert answer.code == code


def test_an_independent_asp_is_a_database_of_its_own() -> None:
    """Its command is printed, and no proposal is made of it."""
    answer = asked(i("DMP019", "DMP020"), "FASTIASP", "DMP019,DMP020").answer
    assert isinstance(answer, ByHand)
    (command,) = answer.statements
    assert command == "CL: CFGDEVASP ASPDEV(FASTIASP) ACTION(*CREATE) TYPE(*PRIMARY) UNITS(DMP019 DMP020);"
    assert "a database of its own" in answer.because


def test_what_disk_units_show() -> None:
    """Units of no ASP are empty and elsewhere; without the view nothing is known, and nothing refused."""
    answer = asked(i("DMP019"), "ASP1 SSD", "DMP019")
    assert states_of(answer) == {"empty": "holds", "owner": "not checked", "device": "holds", "restart": "holds"}
    world = SimulatedI(Held("ORDERS", 0), spare=("DMP019",))
    world.look = lambda: None  # type: ignore[method-assign]
    del world.rows["QSYS2.SYSDISKSTAT"]
    blind = asked(connector_over(Platform.I, world), "ASP1 SSD", "DMP019")
    assert set(states_of(blind).values()) == {"not checked"}
    assert isinstance(blind.answer, Route)
    dropped = replace(blind.answer, name="new space, back")
    assert connector_over(Platform.I, world).inspect(dropped).home is Home.TARGET
