"""The normal life of a proposal, command by command, on a simulated database."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from agent.cli.main import whole_app
from agent.config.files import load
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import HEAT
from agent.model.clock import SystemClock
from agent.planning.decisions import drop_old_decisions
from agent.planning.full_spaces import note_full
from tests.cli.site import Site


def test_init_writes_a_valid_private_file_once(tmp_path: Path) -> None:
    """The file is valid as it stands, readable by its owner only, and only --force writes over it."""
    target = tmp_path / "new.yaml"
    command = ["init", "--engine", "simulated", "--output", str(target)]
    first = CliRunner().invoke(whole_app(), command)
    assert first.exit_code == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert load(target).databases[0].engine == "simulated"
    target.write_text("mine")
    again = CliRunner().invoke(whole_app(), command)
    assert (again.exit_code, target.read_text()) == (6, "mine")
    assert "exists already" in again.stderr
    assert "--force" in again.stderr
    assert CliRunner().invoke(whole_app(), [*command, "--force", "--json"]).exit_code == 0
    assert yaml.safe_load(target.read_text())["databases"]
    assert [p.name for p in tmp_path.iterdir()] == ["new.yaml"]


def test_doctor_is_content(site: Site) -> None:
    """A sound set-up ends with 0, and says in both forms what was looked at."""
    shown = site.good("doctor").out
    assert "ready: hotplace run" in shown
    marks = [line.split()[0] for line in shown.splitlines() if line.startswith(("ERROR ", "WARNING ", "info ", "ok "))]
    assert marks == sorted(marks, key=["ERROR", "WARNING", "info", "ok"].index), "what is wrong comes first"
    document = site.good("doctor", "--json").document
    assert document["ok"] is True
    assert {"ledger_path", "connection", "room"} <= {f["code"] for f in document["databases"][0]["findings"]}


def test_a_person_says_that_a_full_space_has_room(site: Site) -> None:
    """Of one that a move has found full, and once."""
    with Ledger.open(site.ledger_path, SystemClock()) as ledger:
        note_full(ledger, "shop", "ssd", move=1, needed=1, free=None, now=datetime.now(UTC))
    assert "no move has found hdd full" in site.run("doctor", "--has-room", "hdd").err
    assert "ssd counts as having room" in site.good("doctor", "--has-room", "ssd").out
    assert site.run("doctor", "--has-room", "ssd").code == 6


def test_nothing_is_known_before_the_first_run(site: Site) -> None:
    """Every list is empty, says so, and is still one JSON document."""
    said = site.good("status").out
    assert "no daemon has ever watched" in said
    assert "hotplace plan --mode usage shows it as it is now" in said
    assert "ssd (ssd)" in site.good("plan", "--mode", "usage").out
    assert site.good("status", "--json").document["databases"][0]["daemon"]["state"] == "never"
    assert "no open proposal" in site.good("proposals").out
    assert site.good("proposals", "--json").document["proposals"] == []
    assert "no move" in site.good("history").out
    assert site.good("history", "--json").document["moves"] == []
    assert "nothing was measured" in site.good("outcomes").out
    assert site.good("outcomes", "--json").document["outcomes"] == []
    assert "no pin" in site.good("pin", "--list").out
    units = site.run("units")
    assert units.code == 7
    assert "nothing is ranked yet" in units.err
    assert "hotplace plan --observe 60" in site.good("plan").out


def test_from_samples_to_a_kept_move(site: Site) -> None:
    """Ranked, planned, proposed, approved, carried out, verified, measured and recorded."""
    for _ in range(2):
        site.good("run", "--once")
    _look(site)
    number, digest = _propose(site)
    _decide(site, number, digest)
    _carry_out(site, number)
    _look_back(site, number)


def _look(site: Site) -> None:
    text = site.good("units", "--limit", "3").out.splitlines()
    assert text[0].startswith("shop: 18 units, ranked ")
    assert text[1] == "benefit and saved: sessions that wait, on average"
    assert text[2].split()[:3] == ["unit", "tier", "size"]
    assert text[3].startswith('"shop"."orders"')
    assert text[-1].startswith("15 more")
    top = site.good("units", "--json").document["units"][0]
    assert (top["unit"], top["kind"], top["tier"], top["verdict"]) == ('"shop"."orders"', "table", "hdd", "promote")
    assert isinstance(top["sync_reads_per_second"], float)
    cached = site.good("units", "--verdict", "cached", "--all", "--json").document["units"]
    assert '"shop"."products"' in {unit["unit"] for unit in cached}
    liked = site.good("units", "--like", "*orders*", "--json").document
    assert liked["units_matching"] == len(liked["units"]) == 3
    chosen = site.good("units", "--columns", "size, unit", "--sort", "size").out.splitlines()[2:]
    assert chosen[0].split() == ["size", "unit"]
    assert chosen[1].split()[2] == '"shop"."events"', chosen
    refused = site.run("units", "--columns", "unit,sice")
    assert (refused.code, "'sice' is no column; there are unit, tier" in refused.err) == (2, True)
    assert "is none of benefit, saved" in site.run("units", "--sort", "name").err
    why = site.good("explain", "shop.orders").out
    assert why.startswith('"shop"."orders"\npromote: ')
    assert "2,000,000,000 bytes" in why
    told = site.good("explain", '"shop"."orders"', "--json").document
    assert (told["rank"], told["kind"]) == (1, "table")
    assert told["numbers"]["saves_per_hour"] >= told["numbers"]["surely_saves_per_hour"] > 0
    assert "is not worth a move" in why


def _propose(site: Site) -> tuple[int, str]:
    dry = site.good("plan", "--dry-run", "--sql")
    assert "dry run: nothing was changed" in dry.out
    assert 'MOVE TABLE "shop"."orders" TO SPACE "ssd"' in dry.out
    assert 'cached: "shop"."products" reads' in dry.out
    document = site.good("plan", "--json").document
    assert document["dry_run"] is True
    assert document["proposal"] is None
    assert document["moves"][0]["statements"][0]["sql"] in dry.out
    assert document["moves"][0]["if_interrupted"]["statements"][0]["sql"] in dry.out
    assert "only if an attempt is interrupted: at most 1 more statement" in dry.out
    assert document["bound_per_hour_seconds"] >= document["wait_saved_per_hour_seconds"] > 0
    proposed = site.good("plan", "--propose", "--json").document["proposal"]
    again = site.good("explain", "shop.orders", "--proposal", str(proposed["id"]), "--json").document
    shown = site.good("show", str(proposed["id"]), "--json").document
    (move,) = (move for move in shown["moves"] if move["unit"] == '"shop"."orders"')
    assert (again["verdict"], again["why"]) == ("promote", move["why"])
    assert site.run("explain", "shop.orders", "--proposal", "99").code == 7
    assert document["wait_saved_low_per_hour_seconds"] < document["wait_saved_per_hour_seconds"]
    listed = site.good("proposals", "--json").document["proposals"]
    assert [row["id"] for row in listed] == [proposed["id"]]
    assert listed[0]["digest"] == proposed["digest"]
    assert proposed["digest"][:12] in site.good("proposals").out
    return proposed["id"], proposed["digest"]


def _decide(site: Site, number: int, digest: str) -> None:
    shown = site.good("show", str(number))
    assert digest in shown.out
    assert "locks: " in shown.out
    document = site.good("show", str(number), "--json").document
    script = site.good("show", str(number), "--sql").out
    for move in document["moves"]:
        assert all(step["sql"] in script for step in move["statements"])
        (abort,) = move["if_interrupted"]["statements"]
        assert f"--   {abort['sql']};" in script.splitlines(), "to be read, and not run by whoever runs the script"
        assert abort["sql"] in shown.out
    assert all(line.startswith(("--", "/* hotplace")) or not line for line in script.splitlines())
    struck = site.good("strike", str(number), str(len(document["moves"])), "--reason", "not now", "--json").document
    assert struck["struck"]["state"] == "rejected"
    approved = site.good("approve", str(number), "--digest", digest[:12], "--reason", "tested", "--json").document
    assert (approved["state"], approved["digest"]) == ("approved", digest)
    assert approved["who"]
    assert approved["origin"]
    assert f"by {approved['who']} from {approved['origin']}" in site.good("show", str(number)).out
    assert site.good("show", str(number), "--json").document["decided_from"] == approved["origin"]
    assert "hotplace run" in approved["next"]
    (told,) = [line for line in site.good("status").out.splitlines() if line.startswith(f"proposal {number} ")]
    assert ", expires " in told


def _carry_out(site: Site, number: int) -> None:
    site.good("run", "--once")
    moves = site.good("history", "--json").document["moves"]
    done = [move for move in moves if move["proposal"] == number]
    assert {move["state"] for move in done} == {"placed", "rejected"}
    placed = [move for move in done if move["state"] == "placed"]
    assert all(step["state"] == "done" for move in placed for step in move["statements"])
    assert "placed" in site.good("history", "--limit", "100").out
    (told,) = [line for line in site.good("status").out.splitlines() if line.startswith(f"proposal {number} ")]
    assert told.endswith(", carried out, its outcome is not known yet"), "nothing of it can expire any more"
    assert f"proposal {number}: its moves settle until " in site.good("outcomes").out
    (awaited,) = site.good("outcomes", "--json").document["awaited"]
    settled, measured = (datetime.fromisoformat(awaited[name]) for name in ("settled_at", "measured_at"))
    assert (awaited["proposal"], measured - settled) == (number, timedelta(seconds=0.2))
    orders = site.good("explain", "shop.orders", "--json").document
    assert orders["space"] == "ssd", "ranked where it is now, without another plan"
    assert "moved since" not in site.good("units").out


def _look_back(site: Site, number: int) -> None:
    for _ in range(10):
        if site.good("outcomes", "--json").document["outcomes"]:
            break
        site.good("run", "--once")
    outcome = site.good("outcomes", "--json").document["outcomes"][0]
    assert outcome["proposal"] == number
    assert outcome["verdict"] in {"helped", "neutral", "hurt", "cannot tell", "unmeasured"}
    table = site.good("outcomes").out
    assert outcome["sentence"] in table
    table = table.replace("cannot tell", "cannot_tell")
    (cells,) = [line.split() for line in table.splitlines() if line.split()[:1] == [str(number)]]
    assert (cells[4:6] == ["-", "-"]) is (not outcome["measured"]), "figures that are no evidence are not shown as such"
    states = {move["state"] for move in site.good("history", "--json").document["moves"]}
    assert "kept" in states
    rooms = site.good("status", "--json").document["databases"][0]["spaces"]
    assert [(room["space"], room["tier"]) for room in rooms] == [("ssd", "ssd"), ("hdd", "hdd")]
    assert "room when last sampled" in site.good("status").out
    report = site.good("audit", "verify", "--json").document
    assert report["ok"] is True
    assert report["head"] in site.good("audit", "verify").out
    events = {row["event"] for row in site.good("history", "--audit", "--limit", "1000", "--json").document["audit"]}
    assert {"proposal.approved", "move.struck"} <= events
    assert "proposal.approved" in site.good("history", "--audit", "--limit", "1000").out
    approvals = site.good("history", "--audit", "--event", "proposal.appr*", "--json").document["audit"]
    assert {row["event"] for row in approvals} == {"proposal.approved"}
    assert all(f"digest {row['facts']['digest'][:12]};" in site.good("history", "--audit").out for row in approvals)
    assert site.good("audit", "verify", "--head", approvals[0]["hash"], "--json").document["ok"] is True
    another = site.run("audit", "verify", "--head", "0" * 64)
    assert (another.code, "another chain" in another.out) == (10, True)
    log = site.ledger_path.with_name(f"{site.ledger_path.name}.anchors")
    anchored = site.good("audit", "verify", "--anchors", str(log), "--json").document
    assert anchored["anchors"] == len(log.read_text().splitlines()) > 1
    assert (
        f"all {anchored['anchors']} anchors of this ledger in {log} fit"
        in site.good("audit", "verify", "--anchors", str(log)).out
    )
    noise = site.folder / "syslog"
    noise.write_text(log.read_text().replace(" row=", " row=9"))
    cut = site.run("audit", "verify", "--anchors", str(noise))
    assert (cut.code, "it was cut, or is an older copy" in cut.out) == (10, True)
    noise.write_text("nothing to see\n")
    nothing = site.run("audit", "verify", "--anchors", str(noise))
    assert (nothing.code, "no anchor of this ledger" in nothing.err) == (10, True)


def test_an_old_proposal_is_explained_by_the_numbers_of_its_day(site: Site) -> None:
    """After other settings, other tier speeds and more samples: the same sentence and figures, to the last digit."""
    number, _ = site.propose()
    old = ("explain", "shop.orders", "--proposal", str(number), "--json")
    then = site.good(*old).document
    site.database["policy"] = {"minimum_history": "3d", "minimum_gain": "30min", "payback": "1min"}
    site.database["tiers"][0]["random_read"] = "3ms"
    site.write()
    now = site.good("plan", "--observe", "0.3", "--json").document
    assert not now["moves"]
    assert site.good(*old).document == then
    assert then["verdict"] == "promote"
    today = site.good("explain", "shop.orders", "--json").document["numbers"]
    assert (then["numbers"]["floor_per_hour"], today["floor_per_hour"]) == (1.0, 1800.0)


def test_a_proposal_is_explained_when_its_situation_is_gone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Months later, history long dropped: sentence and numbers of that day, of what it moves and of a few others."""
    monkeypatch.setattr("agent.planning.decisions.MOST_OTHERS", 1)
    number, _ = site.propose()
    ended = ("--proposal", str(number), "--json")
    then = site.good("explain", "shop.orders", *ended).document
    beside = site.good("explain", "shop.measurements_2024q3", *ended).document
    assert (then["verdict"], beside["verdict"]) == ("promote", "would_not_fit")
    assert site.good("explain", "shop.history", *ended).document["verdict"] == "write_dominated"
    site.good("reject", str(number), "--reason", "month end")
    with Ledger.open(site.ledger_path, SystemClock()) as ledger:
        assert drop_old_decisions(ledger, datetime.now(UTC) + timedelta(days=90)) == 1
    site.database["policy"] = {"minimum_gain": "30min"}
    site.write()
    assert site.good("explain", "shop.orders", *ended).document == then
    assert site.good("explain", "shop.measurements_2024q3", *ended).document == beside
    assert f"as stored with proposal {number}" in site.good("explain", "shop.orders", *ended[:2]).out
    assert site.run("explain", "shop.history", *ended).code == 7


def test_reject(site: Site) -> None:
    """A rejected proposal is no longer open, and none of its moves runs."""
    number, _ = site.propose()
    assert "rejected by" in site.good("reject", str(number), "--reason", "month end").out
    assert site.good("proposals", "--json").document["proposals"] == []
    (row,) = site.good("proposals", "--past", "--json").document["proposals"]
    assert (row["state"], row["reason"]) == ("rejected", "month end")
    site.good("run", "--once")
    states = {m["state"] for m in site.good("history", "--json").document["moves"] if m["proposal"] == number}
    assert states == {"rejected"}


def test_a_dry_run_configuration_says_so_and_moves_nothing(site: Site) -> None:
    """With dry_run on, approving tells that nothing will run, and nothing does."""
    site.values["dry_run"] = True
    site.write()
    number, digest = site.propose()
    assert "dry_run is on" in site.good("approve", str(number), "--digest", digest).out
    site.good("run", "--once")
    assert {m["state"] for m in site.good("history", "--json").document["moves"]} == {"approved"}


def test_pins(site: Site) -> None:
    """A pin is listed with its end and reason, changes the next plan, and goes with unpin."""
    site.database["pins"] = [{"unit": '"shop"."history"', "pin": "prefer", "reason": "configured"}]
    site.write()
    site.good("plan", "--observe", "0.3")
    set_ = site.good("pin", '"shop"."orders"', "never", "--reason", "[red]why", "--until", "30d")
    assert "pinned: never, until" in set_.out
    assert set_.err == ""
    listed = site.good("pin", "--list", "--json").document["pins"]
    assert [(p["unit"], p["pin"], p["from"]) for p in listed] == [
        ('"shop"."history"', "prefer", "configuration"), ('"shop"."orders"', "never", "command"),
    ]  # fmt: skip
    assert "[red]why" in site.good("pin", "--list").out
    assert '"shop"."orders"' not in {m["unit"] for m in site.good("plan", "--json").document["moves"]}
    site.good("pin", "--remove", '"shop"."orders"')
    assert len(site.good("pin", "--list", "--json").document["pins"]) == 1
    assert site.run("pin", "--remove", '"shop"."orders"').code == 7
    for wrong in (
        ("--list", "x"),
        ("--list", "--remove", "x"),
        ("x", "must", "--remove", "y"),
        ("--remove", "x", "--until", "1d"),
        (),
    ):
        assert site.run("pin", *wrong).code == 2


def test_a_pin_without_unit_is_set_with_a_note(site: Site) -> None:
    """A pin may come before its unit: a typing error still shows, with what may have been meant."""
    site.good("plan", "--observe", "0.3")
    done = site.good("pin", "shop.order", "must", "--until", "2999-12-31")
    assert "no unit matches" in done.err
    assert '"shop"."orders"' in done.err


@pytest.mark.parametrize("until", ["yesterday", "2001-01-01", "-3d"])
def test_a_pin_ends_in_the_future(site: Site, until: str) -> None:
    """What is no date or over already is wrong use."""
    assert site.run("pin", "x", "must", f"--until={until}").code == 2


def test_plan_writes_no_heat_without_watching(site: Site) -> None:
    """Planning from what is stored leaves the stored heat as it is: a daemon may know more by then."""
    from agent.ledger.ledger import Ledger
    from agent.model.clock import SystemClock

    site.good("plan")
    with Ledger.open(site.ledger_path, SystemClock()) as ledger:
        assert ledger.state.load_arrays("shop", HEAT) is None
    site.good("plan", "--observe", "0.3")
    with Ledger.open(site.ledger_path, SystemClock()) as ledger:
        assert ledger.state.load_arrays("shop", HEAT) is not None


def test_undo(site: Site) -> None:
    """A placed move is proposed to be taken back, approved by its digest, and undone; what was not moved is refused."""
    number, digest = site.propose()
    assert site.run("undo", "--proposal", str(number)).code == 6
    site.good("approve", str(number), "--digest", digest)
    site.good("run", "--once")
    back = site.good("undo", "--proposal", str(number), "--json").document
    shown = site.good("proposals", "--json").document["proposals"]
    undone = site.good("show", str(shown[0]["id"])).out
    assert ("costs " in undone, "ceiling" in undone, "best possible" in undone) == (True, False, False)
    status = site.good("status").out.splitlines()
    (told,) = [line for line in status if line.startswith("proposal ") and "; undo " in line]
    assert ", costs " in told
    assert "-" not in told.partition(", costs ")[2].partition(" waiting session")[0]
    assert "as much as the moves that it takes back were predicted to save" in undone
    (costs,) = [line for line in undone.splitlines() if line.startswith("costs ")]
    assert "-" not in costs, "no negative saving"
    assert len(back["undoes"]) == len(back["moves"]) > 0
    assert "placed, undo proposed" in site.good("history").out
    assert "placed, undo proposed" in site.good("report").out
    taken_back = [move for move in site.good("history", "--json").document["moves"] if move["state"] == "undo_proposed"]
    assert taken_back
    assert all(move["placed"] for move in taken_back)
    site.good("approve", str(back["proposal"]), "--digest", back["digest"])
    site.good("run", "--once")
    site.good("run", "--once")
    states = {move["state"] for move in site.good("history", "--json").document["moves"] if move["proposal"] == number}
    assert states == {"undone"}
    assert site.run("undo").code == 2
    assert site.run("undo", "999").code == 7


def test_an_event_that_nothing_matches_is_answered_with_those_there_are(site: Site) -> None:
    """No header over nothing: how many rows were looked at, and which events they are."""
    site.propose()
    shown = site.good("history", "--audit", "--event", "foo")
    assert "no row" in shown.out
    assert "'foo'" in shown.out
    assert "proposal.stored" in shown.out
    assert "subject" not in shown.out, "no header"
    document = site.good("history", "--audit", "--event", "foo", "--json").document
    assert document["audit"] == []
    assert "proposal.stored" in document["events"]


def test_proposals_that_stand_in_each_others_way_say_so(site: Site) -> None:
    """A drain of ssd and what the plan brings there: both lists, both pages and the approval name the other one."""
    for _ in range(2):
        site.good("run", "--once")
    drain = site.good("plan", "--mode", "drain", "--space", "ssd", "--propose", "--json").document["proposal"]["id"]
    plan = site.good("plan", "--propose", "--json").document["proposal"]["id"]
    first, second = sorted((drain, plan))
    said = f"proposals {first} and {second} cannot both be carried out: "
    assert said in site.good("proposals").out
    assert said in site.good("show", str(plan)).out
    listed = site.good("proposals", "--json").document["conflicts"]
    assert listed[0]["proposals"] == [first, second]
    shown = site.good("show", str(drain), "--json").document["conflicts"]
    assert shown == [{"with": plan, "why": listed[0]["why"]}]
    assert said in site.good("approve", str(drain), "--yes").out
    assert site.good("approve", str(plan), "--yes", "--json").document["conflicts"][0]["with"] == drain


def test_undo_of_what_a_group_is_for(site: Site) -> None:
    """Taking back only what room was made for is allowed, and says what is left without use; nothing else does."""
    number, digest = site.propose()
    site.good("approve", str(number), "--digest", digest)
    site.good("run", "--once")
    said = site.good("undo", "2").out
    assert 'made room for it stays where it went: 1 ("shop"."archive_2019"); hotplace undo --proposal 1 ' in said
    assert "made room" not in site.good("undo", "3").out
