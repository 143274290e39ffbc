"""A database whose moves people carry out (``by_hand``): planned, written to a file, approved, run by them, seen."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

from agent.config.files import load
from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from connectors.simulated.connector import connect
from connectors.simulated.settings import SimulatedSettings
from tests.cli.site import Site
from tests.labs import clients
from tests.labs.postgresql import Cluster
from tests.ledger.test_by_hand import by_hand
from tests.unit.samples import a_move, a_proposal


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """The simulated engine, whose account may not move anything."""
    made = Site(tmp_path)
    made.database["by_hand"] = True
    made.database["connection"] |= {"may_move": False, "speed": 600}
    made.values["dry_run"] = False
    made.write()
    return made


def lasting() -> dict[str, Any]:
    """Times of a proposal that waits now."""
    now = SystemClock().now()
    return {"created_at": now, "expires_at": now + timedelta(days=1)}


def states(site: Site) -> dict[str, str]:
    """State of each move by its unit."""
    return {move["unit"]: move["state"] for move in site.good("history", "--json").document["moves"]}


def run_by_a_person(site: Site, text: str) -> list[str]:
    """Run the statements of a file in a session that may move; returns them."""
    settings = SimulatedSettings.model_validate({**site.database["connection"], "may_move": True})
    connector = connect(settings, SystemClock())
    statements = [line.rstrip(";") for line in text.splitlines() if line and not line.startswith("--")]
    mover: Any = connector.open_mover()
    try:
        for sql in statements:
            mover.run(sql)
    finally:
        mover.close()
        connector.close()
    return statements


def test_a_life(site: Site) -> None:
    """Every move of the plan is by hand, with its value; hotplace sends none of them, and sees what was done."""
    path = site.folder / "moves.sql"
    document = site.good("plan", "--observe", "0.6", "--propose", "--script", str(path), "--json").document
    moves = document["moves"]
    assert moves
    assert all(move["by_hand"]["statements"] and move["statements"] == [] == move["undo"] for move in moves)
    assert all("by_hand is set" in move["by_hand"]["because"] for move in moves)
    text = path.read_text(encoding="utf-8")
    site.good("approve", str(document["proposal"]["id"]), "--yes")
    site.good("run", "--once")
    assert set(states(site).values()) == {"handed_over"}
    assert run_by_a_person(site, text)
    for _ in range(2):
        site.good("run", "--once")
    assert set(states(site).values()) <= {"settling", "kept", "undo_proposed"}
    assert site.good("history", "--audit", "--json").out.count("step.intended") == 0
    back = site.good("undo", str(len(moves)), "--json").document["proposal"]  # a promotion: there is room below
    undo = site.good("show", str(back), "--sql").out
    assert "by hand, because by_hand is set" in undo.lower().replace("\n-- ", " ")
    site.good("approve", str(back), "--yes")
    assert run_by_a_person(site, undo)
    for _ in range(2):
        site.good("run", "--once")
    assert site.good("history", "--audit", "--json").out.count("step.intended") == 0
    assert site.good("audit", "verify").out.startswith("all ")


def test_whoever_carries_moves_out_can_change(site: Site) -> None:
    """Without by_hand the same plan is hotplace's own, and so is the way back of what a person has moved."""
    number = site.good("plan", "--observe", "0.6", "--propose", "--json").document["proposal"]["id"]
    text = site.good("show", str(number), "--sql").out
    site.good("approve", str(number), "--yes")
    site.good("run", "--once")
    run_by_a_person(site, text)
    for _ in range(2):
        site.good("run", "--once")
    site.database["by_hand"] = False
    site.write()
    back = site.good("undo", "1", "--json").document["proposal"]
    (move, *_) = site.good("show", str(back), "--json").document["moves"]
    assert move["by_hand"] is None
    assert move["statements"]


def test_the_file_of_a_mixed_proposal_sends_nothing_of_hotplaces_own(site: Site) -> None:
    """Its other moves are comments behind those by hand: who runs the file would run them a second time."""
    with Ledger.open(site.ledger_path, SystemClock()) as ledger:
        number = ledger.proposals.store(a_proposal(by_hand(1), a_move(2), **lasting()))
        own = [step.sql for step in a_move(2).route.steps]
    text = site.good("show", str(number), "--sql").out
    run = [line for line in text.splitlines() if line and not line.startswith("--")]
    assert "MOVE IT" in run
    assert own
    assert not any(sql in line for sql in own for line in run)
    assert all(f"-- {sql}" in text for sql in own)


def test_a_pin_names_what_is_approved_already(site: Site) -> None:
    """Such a move is skipped in its turn if it contradicts the pin, and the one who pins is told."""
    with Ledger.open(site.ledger_path, SystemClock()) as ledger:
        number = ledger.proposals.store(a_proposal(a_move(1), database=site.database["name"], **lasting()))
        ledger.proposals.approve(number, who="a", origin="tty", digest=ledger.proposals.row(number).digest)
    assert "move 1 (public.orders to fast) is approved" in site.good("pin", "public.orders*", "never").err
    assert "is approved" not in site.good("pin", "public.items", "never").err


def test_the_setting_is_read(site: Site) -> None:
    """False unless it is set."""
    assert load(site.folder / "hotplace.yaml").databases[0].by_hand
    assert not load(Site(site.folder).folder / "hotplace.yaml").databases[0].by_hand


def test_a_file_for_postgresql(tmp_path: Path, cluster: Cluster, dbname: str) -> None:
    """Psql carries the file out, and hotplace, whose login may not move, sees where tables and indexes went."""
    names = ("o'ld; \"t", *clients.NAMES)
    with cluster.session(dbname) as dba:
        for name in names:
            dba.execute(sql.SQL("CREATE TABLE {} (id int PRIMARY KEY) TABLESPACE slow").format(sql.Identifier(name)))
    database: dict[str, Any] = {
        "name": "real", "engine": "postgresql", "by_hand": True,
        "connection": {"host": str(cluster.server.folder), "dbname": dbname, "user": "looker"},
        "tiers": [{"name": name, "spaces": [{"name": space, "capacity": "1 GiB"}]}
                  for name, space in (("ssd", "fast"), ("hdd", "slow"))],
        "sample_every": "0.2s", "settle": "0.1s", "policy": {"minimum_history": "0s", "regret": 0},
    }  # fmt: skip
    site, path = Site(tmp_path, database), tmp_path / "moves.sql"
    assert "space_create_missing" not in site.run("doctor").out + site.run("doctor", "--json").out
    site.good("pin", "public.*", "must")
    document = site.good(
        "plan", "--mode", "preference", "--observe", "0.5", "--propose", "--script", str(path), "--json"
    ).document
    assert len(document["moves"]) >= len(names)
    site.good("approve", str(document["proposal"]["id"]), "--yes")
    psql = ("psql", "-X", "-h", str(cluster.server.folder), "-U", "postgres", "-d", dbname)
    subprocess.run([*psql, "-f", str(path)], check=True, capture_output=True)
    with cluster.session(dbname) as dba:
        left = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND reltablespace <> "
        assert dba.execute(f"{left} (SELECT oid FROM pg_tablespace WHERE spcname = 'fast')").fetchone() == (0,)
    for _ in range(2):
        site.good("run", "--once")
    assert set(states(site).values()) <= {"settling", "kept"}
