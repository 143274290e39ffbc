"""What the account that moves may not move is a move of a person: weighed, written, seen, and taken back by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.model.moves import Bundle, Route, UnitKind
from connectors.oracle.connector import OracleConnector
from tests.cli.site import Site
from tests.labs import clients
from tests.labs.oracle.harness import AGENT, OWNER, PASSWORD, OracleHarness, running_harness

MIB = 1 << 20


@pytest.fixture
def lab() -> Iterator[OracleHarness]:
    """A 19c lab with a table and its index; the agent has neither ALTER ANY TABLE nor ALTER ANY INDEX."""
    with running_harness("oracle 19 (emulated server)") as running:
        mails = running.database.add_table(OWNER, "MAILS", "SLOW", 4 * MIB)
        running.database.add_index(mails, "MAILS_PK", "SLOW", MIB, unique=True)
        running.database.users[AGENT].privileges -= {"ALTER ANY TABLE", "ALTER ANY INDEX"}
        yield running


def route_of(connector: OracleConnector, key: str) -> Route:
    """The kindest to the fast tablespace."""
    catalog = connector.catalog()
    row = catalog.units.key.index(key)
    bundle = Bundle(
        key=key, physical_ids=(int(catalog.units.physical_id[row]),), unit_keys=(key,),
        kind=UnitKind(int(catalog.units.kind[row])), size_bytes=MIB, space="SLOW",
    )  # fmt: skip
    found = connector.routes(bundle, "FAST")
    assert isinstance(found, tuple), found
    return found[0]


def test_which_rights_a_move_takes(lab: OracleHarness) -> None:
    """Each is named; a grant on the table will do, and so will owning it, but of indexes there is no grant."""
    lab.database.users[OWNER].privileges |= {"SELECT ANY DICTIONARY"}
    given = lab.database.add_user("GIVEN", PASSWORD, privileges={"SELECT ANY DICTIONARY"})
    given.grants.add(("ALTER", "APP.MAILS"))
    able = lab.database.add_user("ABLE", PASSWORD, privileges={"ALTER ANY TABLE", "ALTER ANY INDEX"})
    able.privileges.add("SELECT ANY DICTIONARY")
    agent = lab.connector()
    table, index = route_of(agent, "APP.MAILS"), route_of(agent, "APP.MAILS_PK INDEX")
    assert "lacks ALTER ANY TABLE, and APP.MAILS is not its own" in agent.lacking_rights(table)
    assert "lacks ALTER ANY INDEX, and APP.MAILS_PK INDEX is not its own" in agent.lacking_rights(index)
    for may_all in (OWNER, "ABLE"):
        other = lab.connector(may_all)
        assert (other.lacking_rights(table), other.lacking_rights(index)) == ("", ""), may_all
    other = lab.connector("GIVEN")
    assert other.lacking_rights(table) == ""
    assert "ALTER ANY INDEX" in other.lacking_rights(index)


def site_of(lab: OracleHarness, folder: Path, **more: Any) -> Site:
    """A configuration that pins the table to the fast tier."""
    (folder / "password").write_text(PASSWORD)
    connection = {
        "host": "127.0.0.1", "port": lab.server.port, "service": "orclpdb1", "user": AGENT,
        "password": {"file": str(folder / "password")},
    }  # fmt: skip
    site = Site(folder, {
        "name": "orders", "engine": "oracle", "connection": connection,
        "tiers": [{"name": "ssd", "spaces": ["/ssd"]}, {"name": "hdd", "spaces": ["SLOW"]}],
        "sample_every": "0.2s", "settle": "0.2s", "maximum_stall": "10min",
        "pins": [{"unit": "APP.MAILS", "pin": "must"}, *more.pop("pins", ())], "policy": {"minimum_history": "0s"},
    })  # fmt: skip
    site.values |= {"dry_run": False, **more}
    site.write()
    return site


def states(site: Site) -> set[str]:
    """Of all moves."""
    return {move["state"] for move in site.good("history", "--json").document["moves"]}


def run_by_a_person(lab: OracleHarness, text: str) -> list[str]:
    """What SQL*Plus would send, by the owner of the table."""
    sent = clients.sqlplus(text)
    with lab.session() as session, session.cursor() as cursor:
        for sql in sent:
            cursor.execute(sql)
    return sent


def test_a_life(lab: OracleHarness, tmp_path: Path) -> None:
    """The plan says who lacks what; the file runs as its owner; hotplace sees it, and a person takes it back.

    So do tables whose names mean something to SQL*Plus.
    """
    for name in clients.NAMES:
        lab.database.add_table(OWNER, name, "SLOW", MIB)
    site = site_of(lab, tmp_path, pins=[{"unit": "APP.*", "pin": "must"}])
    path = site.folder / "moves.sql"
    document = site.good("plan", "--observe", "0.5", "--propose", "--script", str(path), "--json").document
    assert {move["unit"] for move in document["moves"]} >= {
        "APP.MAILS",
        *(f'APP."{name}"' for name in clients.NAMES[:4]),
    }
    assert all(
        "the account that moves lacks ALTER ANY TABLE" in move["by_hand"]["because"] for move in document["moves"]
    )
    assert all(move["statements"] == [] for move in document["moves"])
    number = str(document["proposal"]["id"])
    site.good("approve", number, "--yes")
    site.good("run", "--once")
    assert states(site) == {"handed_over"}
    assert len(run_by_a_person(lab, path.read_text(encoding="utf-8"))) >= 3 * len(clients.NAMES)
    assert {lab.database.table(OWNER, name).segments[0].tablespace for name in ("MAILS", *clients.NAMES)} == {"FAST"}
    for _ in range(2):
        site.good("run", "--once")
    assert states(site) <= {"settling", "kept"}
    back = str(site.good("undo", "--proposal", number, "--json").document["proposal"])
    undo = site.good("show", back, "--sql").out
    site.good("approve", back, "--yes")
    run_by_a_person(lab, undo)
    for _ in range(2):
        site.good("run", "--once")
    assert lab.database.table(OWNER, "MAILS").segments[0].tablespace == "SLOW"
    assert site.good("history", "--audit", "--json").out.count("step.intended") == 0


def test_a_dry_run_asks_nobody(lab: OracleHarness, tmp_path: Path) -> None:
    """No session of the account that moves is opened for a plan, so its moves are hotplace's own."""
    (move,) = site_of(lab, tmp_path, dry_run=True).good("plan", "--observe", "0.5", "--json").document["moves"]
    assert move["by_hand"] is None


def test_whoever_plans_need_not_know_the_password_of_the_account_that_moves(lab: OracleHarness, tmp_path: Path) -> None:
    """Then its rights are not known, and the plan is made all the same."""
    site = site_of(lab, tmp_path)
    site.database["move_connection"] = {"user": "MOVER", "password": {"file": str(tmp_path / "of somebody else")}}
    site.write()
    (move,) = site.good("plan", "--observe", "0.5", "--json").document["moves"]
    assert move["by_hand"] is None
