"""What the account that moves may not do on Db2 is planned for a person, each authority by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connectors.model.moves import Route
from connectors.model.new_space import WantedSpace
from tests.contract.asking import route_to
from tests.db2.conftest import Connect
from tests.db2.life import KEY, SCHEMA, TABLE, Life
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.server import ADMIN, FAST, LOOKER, MOVER, NARROW, SLOW, TS_FAST, TS_SLOW

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
LACKS = "the account that moves lacks "


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """One emulated server."""
    with running_db2("11.5") as running:
        yield running


@pytest.fixture
def lab(db2: Db2) -> Iterator[Any]:
    """One table on slow storage in a table space of its own."""
    db2.lab.create_space("TS_OWN", SLOW)
    db2.lab.create_table(SCHEMA, TABLE, "ORDERS_PK", "TS_OWN", 2000)
    yield db2.lab
    db2.lab.grant(LOOKER.authid)
    db2.lab.drop_table(SCHEMA, TABLE)
    db2.lab.drop_space("TS_OWN")


def test_emulated_server_rule_30_authorities_of_a_table(lab: Any, connect: Connect) -> None:
    """SQLADM or DBADM, CREATETAB, and USE, that of any group or role counting, as membership is not seen."""
    route = route_to(connect(), KEY, TS_FAST)
    looker = connect(LOOKER)
    needs = f"SQLADM and CREATETAB and USE of table space {TS_FAST} and USE of table space TS_OWN"
    assert looker.lacking_rights(route) == LACKS + needs
    lab.grant(LOOKER.authid, "SQLADM", "CREATETAB", f"USE {TS_FAST}")
    assert looker.lacking_rights(route) == f"{LACKS}USE of table space TS_OWN"
    lab.grant("PUBLIC", "USE TS_OWN")
    assert looker.lacking_rights(route) == ""
    lab.grant("PUBLIC")
    assert connect().lacking_rights(route) == ""
    assert "USE of" in connect(MOVER).lacking_rights(route)


def test_emulated_server_rule_30_authorities_of_a_table_space(lab: Any, connect: Connect) -> None:
    """SYSCTRL or SYSADM, which the instance gives by a group: DBADM is none of them."""
    route = route_to(connect(move_by="table_space"), KEY, FAST)
    lab.grant(LOOKER.authid, "DBADM")
    assert connect(LOOKER).lacking_rights(route) == f"{LACKS}SYSCTRL, a group of the instance"
    assert connect().lacking_rights(route) == ""


def test_a_storage_group_is_made_by_who_may(lab: Any, connect: Connect) -> None:
    """CREATE STOGROUP takes the same: without it the space is made by hand."""
    assert lab.tables(SCHEMA) == [TABLE]
    wanted = WantedSpace(name="NEWFAST", location="/db2/newfast")
    made = [connect(user, move_by="both").routes_new_space(wanted, moves=True).answer for user in (MOVER, ADMIN)]
    assert [isinstance(each, Route) and each.by_hand is not None for each in made] == [True, False]
    plain = connect(MOVER, move_by="both").routes_new_space(wanted, moves=False).answer
    assert isinstance(plain, Route)
    assert plain.by_hand is None


def test_unreadable_authorities_are_not_missing(lab: Any, connect: Connect) -> None:
    """Where the function does not answer, the account may have every right: the move stays hotplace's."""
    route: Route = route_to(connect(), KEY, TS_FAST)
    blind = connect(replace(LOOKER, may_not_use=frozenset({"AUTH_LIST_AUTHORITIES_FOR_AUTHID"})))
    blind._session.optional_rows = lambda *_, **__: None
    assert lab.tables(SCHEMA) == [TABLE]
    assert blind.lacking_rights(route) == ""


def test_the_plan_leaves_it_to_a_person(lab: Any, db2: Db2, tmp_path: Path) -> None:
    """By commands: the reason stands in the file, which the command line processor of Db2 runs."""
    life = Life(db2, tmp_path, {"ssd": [TS_FAST], "hdd": ["TS_OWN", TS_SLOW]}, move_by="table")
    life.database["move_connection"] = dict(life.database["connection"])
    life.database["pins"] = [{"unit": KEY, "pin": "must"}]
    life.site.write()
    path = tmp_path / "moves.sql"
    (move,) = life.good("plan", "--observe", "0.3", "--script", str(path), "--json").document["moves"]
    assert move["by_hand"]["because"].startswith(f"{LACKS}SQLADM and CREATETAB")
    assert "CALL SYSPROC.ADMIN_MOVE_TABLE(" in path.read_text(encoding="utf-8")
    assert lab.tables(SCHEMA) == [TABLE]


def test_storage_groups_that_may_not_be_read_have_no_room(lab: Any, connect: Connect) -> None:
    """SYSCAT.STOGROUPS is hidden: SGNAME tells the group of each table space, and nothing tells its room."""
    assert lab.tables(SCHEMA) == [TABLE]
    catalog = connect(NARROW, move_by="both").catalog()
    spaces = {space.name: space for space in catalog.spaces}
    assert {SLOW, FAST} <= spaces.keys()
    assert spaces[SLOW].free_bytes is None
    assert catalog.spaces[int(catalog.units.space[list(catalog.units.key).index(KEY)])].name == SLOW
