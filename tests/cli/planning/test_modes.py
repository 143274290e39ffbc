"""The balancer's modes, as they are typed: ``plan --mode``."""

from __future__ import annotations

import pytest

from connectors.model.formatting import format_bytes
from tests.cli.site import Site

ARCHIVE = '"shop"."archive_2019"'


def test_drain_is_shown_and_proposed(site: Site) -> None:
    """A dry run prints moves and statements and stores nothing; --propose stores exactly that plan."""
    dry = site.good("plan", "--mode", "drain", "--space", "ssd", "--sql", "--wide")
    assert "the plan: drain ssd" in dry.out
    assert f'MOVE TABLE {ARCHIVE} TO SPACE "hdd"' in dry.out
    assert "because ssd is to be emptied" in dry.out
    assert "empties" in dry.out
    assert "dry run: nothing was changed" in dry.out
    assert site.good("proposals", "--json").document["proposals"] == []
    document = site.good("plan", "--mode", "drain", "--space", "ssd", "--propose", "--json").document
    assert {move["reason"] for move in document["moves"]} == {"drain"}
    assert (document["mode"], document["dry_run"], document["left_behind"]) == ("drain", False, [])
    (listed,) = site.good("proposals", "--json").document["proposals"]
    assert listed["digest"] == document["proposal"]["digest"]
    number = str(document["proposal"]["id"])
    site.good("approve", number, "--digest", listed["digest"])
    site.good("run", "--once")
    assert {m["state"] for m in site.good("history", "--json").document["moves"]} == {"placed"}
    assert "nothing to move" in site.good("plan", "--mode", "drain", "--space", "ssd").out


def test_a_drain_outlives_what_is_planned_meanwhile(site: Site) -> None:
    """Asked for, then a cycle of the agent with a plan of its own: both are open, told apart; the drain still goes."""
    asked = site.good("plan", "--mode", "drain", "--space", "ssd", "--propose", "--json").document["proposal"]
    site.good("run", "--once")
    own, drain = site.good("proposals", "--json").document["proposals"]
    assert (drain["id"], drain["purpose"], bool(drain["asked_by"])) == (asked["id"], "drain ssd", True)
    assert (own["purpose"], own["asked_by"]) == ("hsm", None)
    for shown in (("proposals",), ("status",), ("show", str(drain["id"]))):
        assert f"drain ssd, asked by {drain['asked_by']}" in site.good(*shown).out
    site.good("approve", str(drain["id"]), "--yes")
    refused = site.run("plan", "--propose")
    assert (refused.code, f"of proposal {drain['id']} comes first" in refused.err) == (6, True), refused
    site.good("run", "--once")
    assert {m["state"] for m in site.good("show", str(drain["id"]), "--json").document["moves"]} == {"placed"}


def test_the_only_container_stands_for_its_space(site: Site) -> None:
    """The same moves as without it: the units leave the space."""
    space = ("plan", "--mode", "drain", "--space", "ssd")
    spaces = site.good("status", "--containers", "--json").document["databases"][0]["containers"]
    path = next(each["containers"][0]["name"] for each in spaces if each["space"] == "ssd")
    assert site.good(*space, "--container", path).out == site.good(*space).out
    document = site.good(*space, "--container", path, "--json").document
    assert {move["reason"] for move in document["moves"]} == {"drain"}


def test_what_a_drain_leaves_is_named(site: Site) -> None:
    """Hdd holds more than ssd can take: each unit that stays is listed with its reason, in both forms."""
    document = site.good("plan", "--mode", "drain", "--space", "hdd", "--json").document
    left = {bundle["unit"]: bundle["why"] for bundle in document["left_behind"]}
    assert "has known room for" in left['"shop"."events"']
    text = site.good("plan", "--mode", "drain", "--space", "hdd").out
    assert "what stays in the space" in text
    assert left['"shop"."events"'] in text


def test_the_time_limit_cuts_the_plan(site: Site) -> None:
    """The longest prefix whose copies take no longer is left, and what was cut off waits."""
    drain = ("plan", "--mode", "drain", "--space", "hdd", "--json")
    whole = site.good(*drain).document
    seconds = sum(move["copy_seconds"] for move in whole["moves"][:2])
    assert len(whole["moves"]) > 2
    short = site.good(*drain, "--time-limit", "1us")
    assert "1 µs is too short: the shortest useful move, of " in " ".join(str(short.document["why_nothing"]).split())
    cut = site.good(*drain, "--time-limit", f"{seconds + 0.01:.2f}s").document
    assert [move["unit"] for move in cut["moves"]] == [move["unit"] for move in whole["moves"][:2]]
    waiting = {left["unit"] for left in cut["left_behind"] if "waits for the next plan" in left["why"]}
    assert {move["unit"] for move in whole["moves"][2:]} <= waiting


def test_hsm_in_its_three_subtypes(site: Site) -> None:
    """All ways by default; hdd only brings up, ssd only takes down, until the stated share is free."""
    full = site.good("plan", "--observe", "0.3")
    assert full.out.splitlines()[1].startswith("gain ")
    assert "best possible" in full.out
    up = site.good("plan", "--subtype", "hdd", "--json").document["moves"]
    assert up
    assert {move["to_space"] for move in up} == {"ssd"}
    down = site.good("plan", "--subtype", "ssd", "--free-share", "90%", "--json").document["moves"]
    assert {move["unit"] for move in down} >= {ARCHIVE}
    assert {move["reason"] for move in down} == {"clear"}
    assert site.good("plan", "--subtype", "ssd", "--free-share", "0%", "--json").document["moves"] == []


MODES = [("hsm",), ("usage",), ("capacity",), ("preference",), ("drain", "--space", "ssd")]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode[0])
def test_every_mode_shows_the_spaces_before_and_after(site: Site, mode: tuple[str, ...]) -> None:
    """JSON has exact numbers that agree with the moves, the table the same in words, moves or not."""
    document = site.good("plan", "--mode", *mode, "--observe", "0.3", "--json").document
    assert [(space["space"], space["tier"]) for space in document["spaces"]] == [("ssd", "ssd"), ("hdd", "hdd")]
    for space in document["spaces"]:
        come = sum(move["bytes"] for move in document["moves"] if move["to_space"] == space["space"])
        gone = sum(move["bytes"] for move in document["moves"] if move["from_space"] == space["space"])
        assert space["after"]["used_bytes"] == space["before"]["used_bytes"] + come - gone
        assert set(space["after"]) == {"used_bytes", "fill_ratio", "reads_per_second", "read_seconds_per_second"}
    assert bool(document["moves"]) == (document["spaces"][0]["before"] != document["spaces"][0]["after"])
    assert sum(space["before"]["reads_per_second"] for space in document["spaces"]) > 0
    text = site.good("plan", "--mode", *mode).out
    (line,) = [line for line in text.splitlines() if line.startswith("ssd (ssd) ")]
    assert format_bytes(document["spaces"][0]["before"]["used_bytes"]) in line
    assert (" -> " in line) == bool(document["moves"])
    assert (" -> 0 B " in line) == (mode[0] == "drain")


@pytest.mark.parametrize(("mode", "evens"), [("usage", "load"), ("capacity", "fill")])
def test_evening_out_stays_within_a_tier(site: Site, mode: str, evens: str) -> None:
    """With both spaces in one tier the fuller one gives to the other; with one space a tier there is nothing to do."""
    nothing = site.good("plan", "--mode", mode, "--observe", "0.3")
    assert f"even {evens} among the spaces: nothing to move" in nothing.out
    assert "ssd has one space, ssd: there is nothing to even out" in nothing.out
    assert "`hotplace plan` moves them between tiers" in nothing.out
    site.database["tiers"] = [{"name": "all", "spaces": ["ssd", "hdd"], "kind": "hdd"}]
    site.write()
    document = site.good("plan", "--mode", mode, "--tier", "all", "--json").document
    assert document["moves"]
    assert {(move["from_tier"], move["to_tier"], move["reason"]) for move in document["moves"]} == {
        ("all", "all", "level")
    }
    assert "evens out" in site.good("plan", "--mode", mode).out


def test_preference_and_the_state_of_pins(site: Site) -> None:
    """A pin is planned by --mode preference, listed with its state after a plan, and with the reason where it waits."""
    site.good("pin", '"shop"."history"', "must")
    site.good("pin", '"shop"."events"', "must")
    assert "not planned yet" in site.good("pin", "--list").out
    assert site.good("pin", "--list", "--json").document["pins"][0]["state"] is None
    document = site.good("plan", "--mode", "preference", "--json").document
    assert [(pin["unit"], pin["state"]) for pin in document["pins"]] == [
        ('"shop"."history"', "planned"), ('"shop"."events"', "impossible"),
    ]  # fmt: skip
    assert '"shop"."history"' in {move["unit"] for move in document["moves"]}
    text = site.good("plan", "--mode", "preference").out
    assert "0 of 2 pinned units are where they belong" in text
    assert "more than any space on ssd" in text
    site.good("plan")
    listed = site.good("pin", "--list")
    assert "impossible" in listed.out
    assert "more than any space on ssd" in listed.out
    states = {pin["unit"]: pin["state"] for pin in site.good("pin", "--list", "--json").document["pins"]}
    assert states == {'"shop"."history"': "planned", '"shop"."events"': "impossible"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--mode", "drain"], 2, "--space"),
        (["--mode", "drain", "--space", "tape"], 7, "no space is named 'tape'"),
        (["--mode", "drain", "--container", "/ssd"], 2, "--space"),
        (["--mode", "drain", "--space", "ssd", "--container", "/ssd", "--trace"], 2, "does not take it"),
        (["--mode", "drain", "--space", "ssd", "--container", "/tape"], 7, "no container of ssd is named '/tape'"),
        (["--mode", "usage", "--container", "/ssd"], 2, "does not take it"),
        (["--mode", "usage", "--tier", "tape"], 7, "no tier is named 'tape'"),
        (["--mode", "usage", "--space", "ssd"], 2, "does not take it"),
        (["--subtype", "hdd", "--free-share", "10%"], 2, "does not take it"),
        (["--subtype", "ssd", "--free-share", "much"], 2, "not a ratio"),
        (["--time-limit", "30"], 2, "not a duration"),
        (["--mode", "sideways"], 2, "sideways"),
    ],
)
def test_wrong_use_is_said(site: Site, arguments: list[str], code: int, words: str) -> None:
    """Options of another mode, names that do not exist and figures without a unit are refused."""
    done = site.run("plan", *arguments)
    assert (done.code, done.out) == (code, "")
    assert words in " ".join(done.err.replace("│", " ").split())
