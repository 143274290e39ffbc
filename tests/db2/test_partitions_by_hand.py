"""Data partitions that no statement moves alone: weighed, written for a person, seen in the catalog, and taken back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connectors.db2.names import whole_name
from connectors.model.moves import BY_HAND, Bundle, Locked, NoRoute, Route, UnitKind
from connectors.model.observation import Home
from tests.db2.conftest import Connect
from tests.db2.life import Life, load
from tests.labs import clients
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.server import FAST, SLOW, TS_FAST, TS_SLOW

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
NAME, KEY = "odd Log", 'APP."odd Log"'
OWN = "TS_OWN"
NAMES_FOR_CLP = (
    "a;",
    "-- z",
    "!ls",
    "@@#%",
)  # each move costs the emulated server seconds
PARTS = (
    ("P0", TS_SLOW, "'2030-01-01'", "'2030-02-01'"),
    ("P1", TS_SLOW, "'2030-02-01'", "'2030-03-01'"),
    ("P2", OWN, "'2030-03-01'", "'2030-04-01'"),
)
_LITERAL, _TABLE = r"'((?:[^']|'')*)'", r'"APP"\."((?:[^"]|"")+)"'
DETACH = re.compile(rf'ALTER TABLE {_TABLE} DETACH PARTITION "(\w+)" INTO {_TABLE}')
LOOK = re.compile(
    r"VALUES CASE WHEN EXISTS \(SELECT 1 FROM SYSCAT\.DATAPARTITIONS WHERE STATUS <> '' AND TABSCHEMA = 'APP' "
    rf"AND TABNAME = {_LITERAL}\) THEN RAISE_ERROR\('75\d\d\d', '[^']{{1,70}}'\) ELSE 0 END"
)
MOVE = re.compile(
    rf"CALL SYSPROC\.ADMIN_MOVE_TABLE\('APP',{_LITERAL},{_LITERAL},{_LITERAL},{_LITERAL},'','','','','','MOVE'\)"
)
ATTACH = re.compile(
    rf'ALTER TABLE {_TABLE} ATTACH PARTITION "(\w+)" STARTING \(({_LITERAL})\) INCLUSIVE '
    rf"ENDING \(({_LITERAL})\) EXCLUSIVE FROM {_TABLE}"
)
INTEGRITY = re.compile(rf"SET INTEGRITY FOR {_TABLE} ALLOW WRITE ACCESS IMMEDIATE CHECKED")


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """An emulated 11.5."""
    with running_db2() as running:
        yield running


@pytest.fixture(autouse=True)
def _table(db2: Db2) -> Iterator[None]:
    """Two partitions share a table space, one has its own."""
    db2.lab.create_space(OWN, SLOW)
    db2.lab.create_ranges("APP", NAME, list(PARTS))
    yield
    db2.lab.drop_table("APP", NAME)
    db2.lab.drop_space(OWN)


def bundle(connector: Any, part: str, **more: Any) -> Bundle:
    """Of one partition as a plan has it."""
    catalog = connector.catalog()
    key = f"{KEY} partition {part}"
    row = catalog.units.key.index(key)
    return Bundle(
        key=key, physical_ids=(int(catalog.units.physical_id[row]),), unit_keys=(key,), kind=UnitKind.TABLE_PARTITION,
        size_bytes=int(catalog.units.size_bytes[row]), space=catalog.spaces[int(catalog.units.space[row])].name, **more,
    )  # fmt: skip


def run_by_a_person(db2: Db2, text: str) -> None:
    """What the command line processor would send, by the syntax of IBM's pages; the partition is then where it says."""
    detach, look, move, attach, integrity = clients.clp(text)
    table, part, alone = DETACH.fullmatch(detach).groups()  # type: ignore[union-attr]
    assert LOOK.fullmatch(look).groups() == (table,)  # type: ignore[union-attr]
    moved, data, *others = MOVE.fullmatch(move).groups()  # type: ignore[union-attr]
    again, same, low, _, high, _, from_ = ATTACH.fullmatch(attach).groups()  # type: ignore[union-attr]
    assert INTEGRITY.fullmatch(integrity).groups() == (table,)  # type: ignore[union-attr]
    bounds = {name: bounds for name, _, _, bounds in db2.lab.parts("APP", table)}
    assert (again, same, moved, from_, (low, high)) == (table, part, alone, alone, bounds[part])
    assert len(others) == 2
    db2.lab.move_part("APP", table, part, data)


@pytest.mark.parametrize(("move_by", "to_space", "lands"), [("table", TS_FAST, ""), ("both", FAST, TS_FAST)])
def test_a_route_for_a_person(db2: Db2, connect: Connect, move_by: str, to_space: str, lands: str) -> None:
    """A partition that shares its table space; seen where it is, and taken back to where it was."""
    connector = connect(move_by=move_by)
    (route,) = connector.routes(bundle(connector, "P1"), to_space)
    assert isinstance(route, Route)
    assert (route.name, route.steps, route.locked, route.online) == (BY_HAND, (), Locked.ALL, False)
    assert route.joins == (whole_name(lands) if lands else "")
    assert "no statement that moves one data partition" in route.by_hand.because  # type: ignore[union-attr]
    assert connector.inspect(route).home is Home.SOURCE
    run_by_a_person(db2, "\n".join(route.by_hand.statements))  # type: ignore[union-attr]
    assert connector.inspect(route).home is Home.TARGET
    connector.catalog()
    (back,) = connector.routes(
        bundle(connector, "P1", homes=(whole_name(TS_SLOW),) if lands else ()), route.bundle.space
    )
    assert 'INTO "APP"."odd Log_P1"' in back.by_hand.statements[2]
    run_by_a_person(db2, "\n".join(route.by_hand.undo))  # type: ignore[union-attr]
    assert connector.inspect(route).home is Home.SOURCE


def test_what_moves_without_a_person(connect: Connect) -> None:
    """With both ways a partition that is alone in its table space moves with it; by table alone a person moves it."""
    both, by_table = connect(move_by="both"), connect(move_by="table")
    found = both.routes(bundle(both, "P2"), FAST)
    assert isinstance(found, NoRoute)
    assert "one partition moves with its table space" in found.sentence
    assert isinstance(both.routes(bundle(both, "P2", wide=whole_name(OWN)), FAST)[0], Route)
    (route,) = by_table.routes(bundle(by_table, "P2"), TS_FAST)
    assert route.name == BY_HAND


def test_what_a_person_cannot_move_either(db2: Db2, connect: Connect) -> None:
    """A target with other pages or of another database partition group; the same place; no such partition."""
    connector = connect(move_by="table")
    own = bundle(connector, "P1")
    assert "is already in TS_SLOW" in connector.routes(own, TS_SLOW).sentence
    gone = connector.routes(replace(own, key=f"{KEY} partition P9"), TS_FAST)
    assert "no longer exists" in gone.sentence
    db2.lab.alter_space(TS_FAST, system_managed=True)
    assert "SMS" in connector.routes(own, TS_FAST).sentence
    db2.lab.alter_space(TS_FAST, system_managed=False)


def test_a_life(db2: Db2, tmp_path: Path) -> None:
    """Hot rows of a shared table space: planned with their value, approved, carried out, seen and measured."""
    life = Life(db2, tmp_path, {"ssd": [FAST], "hdd": [SLOW]}, move_by="table")
    life.database["tiers"] = [{"name": "ssd", "spaces": [TS_FAST]}, {"name": "hdd", "spaces": [TS_SLOW, OWN]}]
    life.site.write()
    path = tmp_path / "moves.sql"
    with load(db2, NAME):
        document = life.good("plan", "--observe", "0.5", "--propose", "--script", str(path), "--json").document
    own = [move for move in document["moves"] if move["unit"] == f"{KEY} partition P0"]
    assert [move["route"] for move in own] == [BY_HAND], document
    assert own[0]["wait_saved_per_hour_seconds"] > 0
    number = str(document["proposal"]["id"])
    for move in document["moves"]:
        if move not in own:
            life.good("strike", number, str(move["ordinal"]), "--reason", "another test")
    life.good("approve", number, "--yes")
    assert {move["unit"]: move["state"] for move in life.moves()}[own[0]["unit"]] == "handed_over"
    run_by_a_person(db2, life.good("show", number, "--sql").out)
    for _ in range(2):
        life.good("run", "--once")
    assert {move["unit"]: move["state"] for move in life.moves()}[own[0]["unit"]] in {"settling", "kept"}


def test_a_file_of_tables(db2: Db2, tmp_path: Path) -> None:
    """A database with ``by_hand`` and names that mean something to the command line processor; the server takes all."""
    import ibm_db_dbi

    for name in NAMES_FOR_CLP:
        db2.lab.create_table("HAND", name, f"{name} pk", TS_SLOW, 10)
    life = Life(db2, tmp_path, {"ssd": [TS_FAST], "hdd": [TS_SLOW]}, move_by="table")
    life.database.update(by_hand=True, pins=[{"unit": "HAND.*", "pin": "must"}])
    life.site.write()
    path = tmp_path / "moves.sql"
    found = life.good("plan", "--mode", "preference", "--observe", "0.3", "--propose", "--script", str(path), "--json")
    life.good("approve", str(found.document["proposal"]["id"]), "--yes")
    session = ibm_db_dbi.connect(db2.dsn())
    try:
        for statement in clients.clp(path.read_text(encoding="utf-8")):
            cursor = session.cursor()
            cursor.execute(statement)
            cursor.close()
        session.commit()
    finally:
        session.close()
    for _ in range(2):
        life.good("run", "--once")
    assert len(life.moves()) >= len(NAMES_FOR_CLP)
    assert {move["state"] for move in life.moves()} <= {"settling", "kept"}
    for name in NAMES_FOR_CLP:
        db2.lab.drop_table("HAND", name)
