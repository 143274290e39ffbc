"""A new storage group: its statement, refusals, and its life on the emulated server, back included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connectors.db2.new_space import routes_new_space
from connectors.model.moves import NoRoute, Route
from connectors.model.new_space import WantedSpace
from tests.cli.site import Site
from tests.db2.facts import SETTINGS, STORAGE
from tests.db2.test_command_line import site
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.conftest import connect, end, rows
from tests.labs.db2.server import FAST, SLOW

WHOLE = SETTINGS.model_copy(update={"move_by": "both"})
WANTED = WantedSpace(name='Fa"st', location="/ssd/it's")


def test_its_statement() -> None:
    """Quoted by the rules of identifiers and of strings; RESTRICT on the way back; nothing could be looked at."""
    found = routes_new_space(WANTED, STORAGE, WHOLE)
    route = found.answer
    assert isinstance(route, Route)
    (step,), (back,) = route.steps, route.undo_steps
    assert step.sql.startswith("CREATE STOGROUP \"Fa\"\"st\" ON '/ssd/it''s' /* hotplace move ")
    assert back.sql.startswith('DROP STOGROUP "Fa""st" RESTRICT /* hotplace move ')
    assert [check.state for check in found.checks] == ["not checked"] * 4
    assert any("SYSADM or SYSCTRL" in note for note in route.notes)


def test_where_tiers_name_table_spaces_a_person_makes_one() -> None:
    """DROP TABLESPACE drops what is in one: a look that fails comes before it, and a person sees to the rest."""
    route = routes_new_space(WANTED, STORAGE, SETTINGS.model_copy(update={"move_by": "table"})).answer
    assert isinstance(route, Route)
    assert route.by_hand is not None
    assert route.by_hand.statements == (
        "CREATE STOGROUP \"Fa\"\"st\" ON '/ssd/it''s';",
        'CREATE TABLESPACE "Fa""st" MANAGED BY AUTOMATIC STORAGE USING STOGROUP "Fa""st";',
    )
    look, *drops = route.by_hand.undo
    assert look.startswith("VALUES CASE WHEN EXISTS (SELECT 1 FROM SYSCAT.TABLES WHERE 'Fa\"st' IN (TBSPACE, ")
    assert look.endswith("THEN RAISE_ERROR('75001', 'the table space is not empty') ELSE 0 END;")
    assert drops == ['DROP TABLESPACE "Fa""st";', 'DROP STOGROUP "Fa""st" RESTRICT;']


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name"),
    ({"name": "a\nb"}, "name"),
    ({"name": "x" * 129}, "name"),
    ({"name": "SYSFAST"}, "name"),
    ({"name": next(iter(STORAGE.groups))}, "exists"),
    ({"name": next(iter(STORAGE.spaces.values())).name}, "exists"),
    ({"location": "ssd"}, "location"),
    ({"location": "/a\nb"}, "location"),
    ({"location": "/" + "x" * 175}, "location"),
]


@pytest.mark.parametrize(("wanted", "code"), REFUSED)
def test_what_is_refused(wanted: dict[str, Any], code: str) -> None:
    """By the rule that it breaks."""
    answer = routes_new_space(replace(WANTED, **wanted), STORAGE, WHOLE).answer
    assert isinstance(answer, NoRoute)
    assert answer.code == code


def test_a_path_that_is_in_use() -> None:
    """Within a path of a storage group, or around one: the same device, unless a person accepts it."""
    (group,) = [each for each in STORAGE.groups.values() if each.name == SLOW]
    used = replace(STORAGE, groups={SLOW: replace(group, paths=("/db2/slow",))})
    for path in ("/db2/slow/new", "/db2"):
        answer = routes_new_space(replace(WANTED, location=path), used, WHOLE).answer
        assert isinstance(answer, NoRoute)
        assert answer.setting == "--accept device"
        accepted = replace(WANTED, location=path, accepted=("device",))
        assert isinstance(routes_new_space(accepted, used, WHOLE).answer, Route)


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """One emulated server."""
    with running_db2("11.5") as running:
        yield running


def carried_out(real: Site, number: int, digest: str) -> list[str]:
    """Approved by its digest, and what became of its moves."""
    real.good("approve", str(number), "--digest", digest)
    moves = real.run("run", "--once", "--json").document["moves"]  # also what an undo among them takes back
    return [row["state"] for row in moves if row["proposal"] == number]


@pytest.mark.db2
@pytest.mark.xdist_group("db2")
def test_emulated_server_made_and_taken_back(db2: Db2, tmp_path: Path) -> None:
    """Nothing before the approval; then the group; one that a table space uses stays; an unused one is dropped."""
    real = site(db2, tmp_path, "both", FAST, [SLOW])
    real.database["pins"] = []
    real.database["settle"] = "0.1s"
    real.write()
    asked = ("space", "create", "NEW", "--location", "/ssd/new", "--propose", "--json")
    stored = real.good(*asked).document["proposal"]
    real.good("run", "--once")
    assert not [sql for sql in db2.lab.sent() if sql.startswith("CREATE STOGROUP")]
    assert carried_out(real, stored["id"], stored["digest"]) == ["placed"]
    db2.lab.create_space("TS_NEW", "NEW")
    back = real.good("undo", "1", "--json").document
    assert carried_out(real, back["proposal"], back["digest"]) == ["skipped"]
    db2.lab.drop_space("TS_NEW")
    real.run("run", "--once")
    again = real.good("undo", "1", "--json").document
    assert carried_out(real, again["proposal"], again["digest"]) == ["placed"]
    assert [sql for sql in db2.lab.sent() if sql.startswith('DROP STOGROUP "NEW" RESTRICT')]


@pytest.mark.db2
@pytest.mark.xdist_group("db2")
def test_emulated_server_a_table_space_by_a_person(db2: Db2, tmp_path: Path) -> None:
    """With move_by: table the group and its table space are handed over, seen, and taken back by a person."""
    real = site(db2, tmp_path, "table", "TS_FAST", ["TS_SLOW"])
    real.database["pins"] = []
    real.database["settle"] = "0.1s"
    real.write()
    stored = real.good("space", "create", "NEW", "--location", "/ssd/new", "--propose", "--json").document["proposal"]
    assert carried_out(real, stored["id"], stored["digest"]) == []
    session = connect(db2)
    rows(session, "CREATE STOGROUP NEW ON '/ssd/new'")
    real.good("run", "--once")
    assert state_of(real, 1) == "handed_over"  # half of it
    db2.lab.create_space("NEW", "NEW")
    real.good("run", "--once")
    real.good("run", "--once")
    assert state_of(real, 1) in {"settling", "kept"}
    back = real.good("undo", "1", "--json").document
    assert "RAISE_ERROR" in real.good("show", str(back["proposal"]), "--sql").out
    real.good("approve", str(back["proposal"]), "--digest", back["digest"])
    db2.lab.drop_space("NEW")
    rows(session, "DROP STOGROUP NEW RESTRICT")
    end(session)
    for _ in range(2):
        real.good("run", "--once")
    assert state_of(real, 2) in {"settling", "kept"}


def state_of(real: Site, move: int) -> str:
    """Of that move."""
    moves = real.good("history", "--json").document["moves"]
    return str(next(each["state"] for each in moves if each["id"] == move))
