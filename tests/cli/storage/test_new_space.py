"""``space create`` on a real PostgreSQL: from an empty folder to a space in the catalog, and back."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

from agent.model.proposals import Proposal, proposal_from_text, proposal_text
from connectors.kit.contract import OutcomeUnknown
from connectors.model.moves import Step
from connectors.model.new_space import DEVICE, EMPTY, Check, CheckState, WantedSpace, failing, refuse_place
from connectors.postgresql.mover import PostgresqlMover
from tests.cli.site import Finished, Site
from tests.labs.postgresql import Cluster, small_file_system

HOSTILE, QUOTED = 'fa"st; DROP TABLE x --', '"fa""st; DROP TABLE x --"'


@pytest.fixture
def place(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Path]:
    """An empty folder of the server's user, on a file system of its own where this machine allows it."""
    folder = cluster.server.make_folder(f"new_{abs(hash(request.node.name))}")
    with small_file_system(cluster.server, folder):
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def real(tmp_path: Path, cluster: Cluster, dbname: str) -> Site:
    """A site with one tier that has a space, and one that is planned."""
    database: dict[str, Any] = {
        "name": "real",
        "engine": "postgresql",
        "connection": {"host": str(cluster.server.folder), "dbname": dbname, "user": "postgres"},
        "tiers": [{"name": "ssd", "size": "1 GiB"}, {"name": "hdd", "spaces": [{"name": "slow", "capacity": "1 GiB"}]}],
        "sample_every": "0.2s",
        "settle": "0.1s",
        "policy": {"minimum_history": "0s", "regret": 0},
    }
    return Site(tmp_path, database)


def spaces(cluster: Cluster) -> dict[str, str]:
    """Name and place of every tablespace."""
    with cluster.session() as dba:
        return dict(dba.execute("SELECT spcname, pg_tablespace_location(oid) FROM pg_tablespace").fetchall())


def create(site: Site, name: str, place: Path | str, *more: str) -> Finished:
    """Ask for a space; a file system in memory or on the same device is accepted."""
    return site.run("space", "create", name, "--location", str(place), *more)


ACCEPT = ("--accept", "restart", "--accept", "device")


def carry_out(site: Site, number: int, digest: str) -> list[str]:
    """Approve a proposal and carry it out; the states of its moves."""
    site.good("approve", str(number), "--digest", digest)
    moves = site.good("run", "--once", "--json").document["moves"]  # also what an undo among them takes back
    return [row["state"] for row in moves if row["proposal"] == number]


def test_from_an_empty_folder_to_a_space_and_back(real: Site, cluster: Cluster, dbname: str, place: Path) -> None:
    """Proposed, approved, made, used as a tier, kept; the undo is a proposal of its own and drops it."""
    shown = create(real, HOSTILE, place, *ACCEPT, "--json").document
    assert [each["check"] for each in shown["checks"]] == ["empty", "owner", "device", "restart", "standbys"]
    assert {each["check"]: each["state"] for each in shown["checks"]}["owner"] == "holds"
    assert shown["tier"] == "ssd"
    (move,) = shown["moves"]
    (statement,) = move["statements"]
    assert statement["sql"].endswith(f"CREATE TABLESPACE {QUOTED} LOCATION '{place}'")
    assert HOSTILE not in spaces(cluster), "it was only shown"
    stored = create(real, HOSTILE, place, *ACCEPT, "--propose", "--json").document["proposal"]
    text = real.good("show", str(stored["id"])).out
    for words in ("empty: holds", "owner: holds", "restart:", "device:"):
        assert words in text, words
    assert real.good("run", "--once", "--json").document["moves"] == [], "without an approval nothing is sent"
    assert HOSTILE not in spaces(cluster)
    assert carry_out(real, stored["id"], stored["digest"]) == ["placed"]
    assert spaces(cluster)[HOSTILE] == str(place)

    real.database["tiers"][0] = {"name": "ssd", "spaces": [{"name": HOSTILE, "capacity": "1 GiB"}]}
    real.write()
    assert "ssd" in real.good("doctor").out
    for _ in range(2):
        real.good("run", "--once")
    (row,) = real.good("history", "--json").document["moves"]
    assert row["state"] == "kept"
    back = real.good("undo", str(row["id"]), "--json").document
    assert back["moves"][0]["statements"][0]["sql"].endswith(f"DROP TABLESPACE {QUOTED}")
    with cluster.session(dbname) as dba:
        dba.execute(sql.SQL("CREATE TABLE holds_it () TABLESPACE {}").format(sql.Identifier(HOSTILE)))
    real.database["tiers"][0] = {"name": "ssd", "size": "1 GiB"}
    real.write()
    assert carry_out(real, back["proposal"], back["digest"]) == ["skipped"]
    with cluster.session(dbname) as dba:
        dba.execute("DROP TABLE holds_it")
    real.good("run", "--once")  # which sees that the first undo was not carried out
    again = real.good("undo", str(row["id"]), "--json").document
    assert carry_out(real, again["proposal"], again["digest"]) == ["placed"]
    assert HOSTILE not in spaces(cluster)
    real.good("audit", "verify")


def test_what_is_looked_at_before(real: Site, place: Path, cluster: Cluster, tmp_path: Path) -> None:
    """Each check that fails refuses, with what the server saw; the folder and its owner cannot be accepted."""
    done = create(real, "fast2", place)
    assert done.code == 6
    assert "--accept" in done.err
    (place / "something").touch()
    done = create(real, "fast2", place, *ACCEPT)
    assert (done.code, "the folder is not empty: 1 thing in it" in done.err) == (6, True)
    (place / "something").unlink()
    done = create(real, "fast2", place / "none", *ACCEPT)
    assert (done.code, "there is no such folder on the server's host" in done.err) == (6, True)
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o755)
    done = create(real, "fast2", foreign, *ACCEPT)
    assert (done.code, "does not belong to the user that the server runs as" in done.out + done.err) == (6, True)
    assert create(real, "fast2", place, "--accept", "owner").code == 2
    assert "fast2" not in spaces(cluster)


def test_a_place_in_memory_or_on_the_data_s_device(real: Site, cluster: Cluster, place: Path) -> None:
    """What the server's own mounts say: another device holds, the same one fails, memory is lost at a restart."""
    states = {each["check"]: each for each in create(real, "fast2", place, *ACCEPT, "--json").document["checks"]}
    if cluster.limited:
        assert states["device"]["state"] == "holds"
        assert "tmpfs: what is in it is lost when the host restarts" in states["restart"]["sentence"]
        assert states["restart"]["accepted"]
    beside = cluster.server.make_folder("beside")
    states = {each["check"]: each for each in create(real, "fast2", beside, *ACCEPT, "--json").document["checks"]}
    assert states["device"]["state"] == "fails"
    assert "same file system as the data directory" in states["device"]["sentence"]


@pytest.mark.parametrize(
    ("name", "location", "words"),
    [("pg_fast", "/ssd", "the server's own"), ("fast", "ssd", "absolute folder"), ("f\nast", "/ssd", "printable"),
     ("fast", "/s'sd", "quotation mark"), ("fast", "/s\nsd", "printable"), ("ü" * 32, "/ssd", "at most 63 bytes"),
     ("slow", "/ssd", "already"), ("", "/ssd", "printable")],
)  # fmt: skip
def test_names_and_places_that_none_can_have(real: Site, name: str, location: str, words: str) -> None:
    """Refused by the rule that they break, before the server is asked to do anything."""
    done = create(real, name, location, *ACCEPT)
    assert (done.code, words in done.err) == (6, True), done


def test_what_has_changed_since_the_approval(real: Site, cluster: Cluster, place: Path) -> None:
    """The place is looked at again before the statement: a folder in which something lies by now is not used."""
    stored = create(real, "fast2", place, *ACCEPT, "--propose", "--json").document["proposal"]
    real.good("approve", str(stored["id"]), "--digest", stored["digest"])
    (place / "meanwhile").touch()
    (row,) = real.good("run", "--once", "--json").document["moves"]
    assert (row["state"], "not empty" in row["reason"]) == ("skipped", True), row
    assert "fast2" not in spaces(cluster)
    (place / "meanwhile").unlink()


def test_a_session_that_breaks_behind_the_statement(
    real: Site, cluster: Cluster, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it was carried out only the catalog knows: it is asked, and nothing is sent twice."""
    stored = create(real, "fast2", place, *ACCEPT, "--propose", "--json").document["proposal"]
    execute, sent = PostgresqlMover.execute, []

    def broken(mover: PostgresqlMover, step: Step) -> None:
        sent.append(step.sql)
        execute(mover, step)
        raise OutcomeUnknown("the connection broke")

    monkeypatch.setattr(PostgresqlMover, "execute", broken)
    assert carry_out(real, stored["id"], stored["digest"]) == ["placed"]
    assert len(sent) == 1
    assert spaces(cluster)["fast2"] == str(place)
    with cluster.session() as dba:
        dba.execute("DROP TABLESPACE fast2")


def test_one_that_someone_else_has_made(real: Site, cluster: Cluster, place: Path) -> None:
    """The same name meanwhile: nothing is sent, and an undo of nothing is refused."""
    stored = create(real, "fast2", place, *ACCEPT, "--propose", "--json").document["proposal"]
    other = cluster.server.make_folder("of_another")
    with cluster.session() as dba:
        dba.execute(f"CREATE TABLESPACE fast2 LOCATION '{other}'")
    try:
        real.good("approve", str(stored["id"]), "--digest", stored["digest"])
        (row,) = real.good("run", "--once", "--json").document["moves"]
        assert (row["state"], f"is at {other}" in row["reason"]) == ("skipped", True), row
        assert real.run("undo", "1").code == 6
    finally:
        with cluster.session() as dba:
            dba.execute("DROP TABLESPACE fast2")


def test_a_tier_that_is_not_configured_yet(real: Site, place: Path) -> None:
    """With one tier a new space is for another one: an SSD, or what --tier says, with what to write then."""
    real.database["tiers"] = real.database["tiers"][1:]
    real.write()
    text = create(real, "fast2", place, *ACCEPT).out
    assert "then: add the tier ssd to the configuration, the fastest first:" in text
    assert '      spaces: ["fast2"]' in text.splitlines()
    assert create(real, "fast2", place, *ACCEPT, "--tier", "nvme", "--json").document["tier"] == "nvme"
    assert "-- move 1: space fast2\n" in text.replace("\r", "")


def test_a_login_that_is_no_superuser(real: Site, cluster: Cluster, place: Path) -> None:
    """Hotplace asks for no such right: a person gets the statements, and the right to use the space for the login."""
    real.database["connection"]["user"] = "looker"
    real.write()
    found = create(real, 'fa"st', place, "--propose", "--json").document
    assert [each["state"] for each in found["checks"]] == [*["not checked"] * 4, "holds"]
    (move,) = found["moves"]
    assert move["statements"] == []
    made, granted = move["by_hand"]["statements"][-2:]
    assert made.endswith(f"""CREATE TABLESPACE "fa""st" LOCATION '{place}';""")
    assert granted == 'GRANT CREATE ON TABLESPACE "fa""st" TO looker;'
    stored = found["proposal"]
    real.good("approve", str(stored["id"]), "--digest", stored["digest"])
    real.good("run", "--once")
    assert state_of_moves(real) == ["handed_over"]
    assert 'fa"st' not in spaces(cluster)
    with cluster.session() as dba:
        for statement in move["by_hand"]["statements"]:
            dba.execute(statement)
    real.good("run", "--once")
    real.good("run", "--once")
    assert state_of_moves(real)[0] in {"settling", "kept"}
    back = real.good("undo", "1", "--json").document
    real.good("approve", str(back["proposal"]), "--digest", back["digest"])
    (drop,) = real.good("show", str(back["proposal"]), "--json").document["moves"]
    with cluster.session() as dba:
        for statement in drop["by_hand"]["statements"]:
            dba.execute(statement)
    real.good("run", "--once")
    real.good("run", "--once")
    assert 'fa"st' not in spaces(cluster)
    assert state_of_moves(real)[1] in {"settling", "kept"}


def state_of_moves(real: Site) -> list[str]:
    """States, in the order of their numbers."""
    moves = real.good("history", "--json").document["moves"]
    return [move["state"] for move in sorted(moves, key=lambda each: each["id"])]


def test_a_dry_run(real: Site, cluster: Cluster, place: Path) -> None:
    """With dry_run the account that moves is not connected: the statements are shown, and what they need."""
    real.database["connection"]["user"] = "looker"
    real.values["dry_run"] = True
    real.write()
    found = create(real, "fast2", place, "--json").document
    assert found["moves"][0]["statements"][0]["sql"].endswith(f"LOCATION '{place}'")
    assert any("superuser" in note for note in found["moves"][0]["notes"])
    assert "fast2" not in spaces(cluster)


def test_an_engine_that_makes_no_spaces(site: Site) -> None:
    """It is said."""
    done = create(site, "fast", "/ssd")
    assert (done.code, "makes no spaces" in done.err) == (6, True)


def test_only_some_checks_may_be_accepted() -> None:
    """Whatever a stored operation says was accepted: a folder that is not empty is used by nothing."""
    full = Check(name=EMPTY, state=CheckState.FAILS, sentence="the folder is not empty")
    assert failing([full], (EMPTY, DEVICE)) == (full,)
    assert failing([replace(full, name=DEVICE)], (EMPTY, DEVICE)) == ()
    refused = refuse_place(WantedSpace(name="fast", location="/ssd", accepted=(EMPTY,)), [full])
    assert refused is not None
    assert refused.setting == ""


def _elsewhere(proposal: Proposal, place: Path) -> Proposal:
    """The same proposal with statements for another place."""
    (move,) = proposal.moves
    steps = tuple(
        replace(step, sql=step.sql.replace("LOCATION '", f"LOCATION '{place}' --")) for step in move.route.steps
    )
    return replace(proposal, moves=(replace(move, route=replace(move.route, steps=steps)),))


@pytest.mark.parametrize("approved", [True, False], ids=["other statements", "no approval"])
def test_a_forged_ledger_makes_no_space(real: Site, cluster: Cluster, place: Path, approved: bool) -> None:
    """Statements changed behind an approval, digest and all; or a move marked as approved that no one has approved."""
    stored = create(real, "fast2", place, *ACCEPT, "--propose", "--json").document["proposal"]
    if approved:
        real.good("approve", str(stored["id"]), "--digest", stored["digest"])
    with sqlite3.connect(real.ledger_path) as ledger:
        (body,) = ledger.execute("SELECT body FROM proposals").fetchone()
        forged = proposal_from_text(body) if not approved else _elsewhere(proposal_from_text(body), place)
        ledger.execute("UPDATE proposals SET body = ?, digest = ?", (proposal_text(forged), forged.digest))
        ledger.execute("UPDATE proposals SET state = 'approved'")
        ledger.execute("UPDATE moves SET state = 'approved'")
    done = real.run("run", "--once", "--json")
    assert done.code != 0 or done.document["moves"] == [], done
    assert "fast2" not in spaces(cluster)
    assert real.run("audit", "verify").code != 0
