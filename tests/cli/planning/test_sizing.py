"""``hotplace sizing`` on simulated databases."""

from __future__ import annotations

import csv
from xml.etree import ElementTree as ET

import pytest

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import HEAT
from agent.model.clock import SystemClock
from tests.cli.site import Site

PRICES = ("--price", "ssd=2.4", "--price", "hdd=0.3", "--drive-iops", "ssd=4000", "--drive-iops", "hdd=180")


@pytest.fixture
def watched(site: Site) -> Site:
    """A site whose heat is known."""
    site.good("plan", "--observe", "0.3")
    return site


def test_before_anything_is_known(site: Site) -> None:
    """Without heat nothing is known, which is not the same as nothing to gain, and what to do is said."""
    done = site.good("sizing")
    assert "nothing to buy it for" not in done.out
    assert "how much it would serve is not known" in done.out
    assert "hotplace plan --observe" in done.out
    document = site.good("sizing", "--json").document
    assert document["all_fast_wait_saved_per_hour_seconds"] == 0
    assert document["knee"] is None
    assert document["all_fast_forecast"] is None


def test_the_curve(watched: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture as wide as the terminal, a table with knee and present size, and what follows from it."""
    monkeypatch.setenv("COLUMNS", "70")
    text = watched.good("sizing").out
    picture = [line for line in text.splitlines() if "|" in line]
    assert len(picture) == 15
    assert max(map(len, picture)) <= 70
    for word in ("knee ", "present ", "next GiB saves", "without buying", "(measured)", "(configured"):
        assert word in text
    assert "cost/year" not in text, "nobody said a price"


def test_what_is_busiest_with_everything_on_the_fast_tier(watched: Site) -> None:
    """Who buys storage is told what holds sessions up next, with the same lines as those of a plan."""
    lines = watched.good("sizing").out.splitlines()
    begin = lines.index("with everything on ssd")
    titles = [line[:27].strip() for line in lines[begin + 1 : begin + 12]]
    assert {"transactions/s", "latency", "then busiest", "interval wider"} <= set(titles)
    found = watched.good("sizing", "--json").document["all_fast_forecast"]
    assert "busy" in found["busiest"]
    assert found["per_second_low"] < found["per_second"] < found["per_second_high"]


def test_plan_and_sizing_say_the_same_of_read_times(site: Site) -> None:
    """Each tier by itself, measured or not: two commands have one answer."""
    for _ in range(2):
        site.good("run", "--once")
    plan = site.good("plan", "--json").document["tiers"]
    assert [tier["measured"] for tier in plan] == [False, True], "all reads were on the slow tier"
    document = site.good("sizing", "--json").document
    assert [(tier["name"], tier["measured"]) for tier in document["tiers"]] == [("ssd", False), ("hdd", True)]
    (line,) = [line for line in site.good("sizing").out.splitlines() if line.startswith("read times")]
    assert line.count("(measured)") == 1
    assert line.count("(configured") == 1


def test_what_the_present_size_could_save_is_what_the_plan_says(watched: Site) -> None:
    """With something to move both name the same saving, and nothing is kept back that is worth a word."""
    plan = watched.good("plan", "--json").document
    found = watched.good("sizing", "--json").document["without_buying"]
    assert found["plan_moves"] == len(plan["moves"]) > 0
    assert found["plan_saves_per_hour_seconds"] == pytest.approx(plan["wait_saved_per_hour_seconds"], rel=0.1)
    assert found["could_save_per_hour_seconds"] >= 0.9 * found["plan_saves_per_hour_seconds"]
    text = watched.good("sizing").out
    assert f"hotplace plan has {found['plan_moves']} moves, which save " in text
    assert "why not more" not in text


def test_a_saving_that_no_plan_makes_is_given_with_the_reason(site: Site) -> None:
    """Where plan says nothing, sizing says so too, and what keeps the units back."""
    site.database["policy"] = {"minimum_history": "1h"}
    site.write()
    site.good("plan", "--observe", "0.3")
    assert site.good("plan", "--json").document["moves"] == []
    text = site.good("sizing").out
    assert "hotplace plan moves nothing of it now" in text
    assert "why not more: not_enough_history (" in text
    found = site.good("sizing", "--json").document["without_buying"]
    assert (found["plan_moves"], found["plan_saves_per_hour_seconds"]) == (0, 0)
    assert found["kept_back"][0]["verdict"] == "not_enough_history"
    kept = sum(each["wait_saved_per_hour_seconds"] for each in found["kept_back"])
    assert 0 < kept <= found["could_save_per_hour_seconds"] * (1 + 1e-9), "no more than all of it"


def test_the_document(watched: Site) -> None:
    """Points rise in size and saving up to all of it, and the knee and the present size are among them."""
    document = watched.good("sizing", "--json").document
    points = document["points"]
    saved = [point["wait_saved_per_hour_seconds"] for point in points]
    assert saved == sorted(saved)
    assert all(p["wait_saved_per_hour_seconds"] <= p["bound_per_hour_seconds"] + 1e-6 for p in points)
    assert points[-1]["of_all_fast_ratio"] == pytest.approx(1.0)
    assert document["knee"] in points
    assert document["present"] in points
    assert 0 < document["knee"]["units_ratio"] < 1
    assert document["knee"]["cost_per_year"] is None
    assert "straight line" in document["knee_definition"]


def test_prices_and_drives(watched: Site) -> None:
    """A year's cost includes head-room and what stays below; drives name their rate and RAID level."""
    document = watched.good("sizing", "--json", *PRICES, "--raid", "1").document
    knee = document["knee"]
    slow = document["managed_bytes"] - knee["used_bytes"]
    assert knee["cost_per_year"] == pytest.approx((knee["bytes"] * 2.4 + slow * 0.3) / 0.9 / 2**30)
    assert knee["drives_saved"] + knee["slow_drives"] == document["points"][0]["slow_drives"] > 0
    assert document["prices"]["hdd"]["per_gib_year"] == 0.3
    assert document["prices"]["hdd"]["drive_iops"] == 180.0
    assert document["prices"]["hdd"]["raid"] == 1
    text = watched.good("sizing", *PRICES, "--raid", "6").out
    for word in (
        "cost/year",
        "hdd drives saved",
        "IOPS per drive ssd 4,000, hdd 180",
        "RAID 6 makes 6 I/Os of a write",
    ):
        assert word in text


def test_prices_and_wear_of_the_configuration(watched: Site) -> None:
    """Prices, RAID and endurance are taken from the tiers; worn out n times as fast, flash costs n times as much."""
    plain = watched.good("sizing", "--json", "--price", "ssd=2.4", "--price", "hdd=0.3").document["points"][-1]
    assert plain["wear_ratio"] is None
    fast, slow = watched.database["tiers"]
    fast |= {"price": 2.4, "io_price": 0.01, "raid": 1, "written_per_day": "1 MB"}
    slow |= {"price": 0.3}
    watched.write()
    document = watched.good("sizing", "--json").document
    everything = document["points"][-1]
    assert everything["wear_ratio"] > 1
    assert document["prices"]["ssd"]["raid"] == 1
    flash = everything["bytes"] / 0.9 / 2**30 * 2.4
    assert everything["cost_per_year"] > flash * everything["wear_ratio"] > plain["cost_per_year"]
    assert "of what it endures a day" in watched.good("sizing").out


def test_files(watched: Site) -> None:
    """The CSV has the points of the document, the SVG is XML; an older file is written over."""
    table, picture = watched.folder / "curve.csv", watched.folder / "curve.svg"
    for _ in range(2):
        document = watched.good("sizing", "--json", "--csv", str(table), "--svg", str(picture)).document
    assert document["files"] == {"csv": str(table), "svg": str(picture)}
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["bytes"]) for row in rows] == [point["bytes"] for point in document["points"]]
    assert ET.parse(picture).getroot().tag.endswith("svg")
    assert f"written: {table}" in watched.good("sizing", "--csv", str(table)).out


def test_a_file_that_cannot_be_written(watched: Site) -> None:
    """It is said which, and nothing else happens."""
    done = watched.run("sizing", "--svg", str(watched.folder / "none" / "x.svg"))
    assert done.code == 6
    assert "x.svg cannot be written" in done.err


def _refuse(*_: object) -> None:
    raise AssertionError("a connection that could write was asked for")


def test_it_changes_nothing(watched: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the stored heat nor the database: it is for looking, over the watching account only."""
    monkeypatch.setattr(DatabaseConfig, "connect_mover_side", _refuse)
    with Ledger.open(watched.ledger_path, SystemClock()) as ledger:
        before = ledger.state.load_arrays("shop", HEAT)
    watched.good("sizing")
    watched.good("sizing", "--all")
    with Ledger.open(watched.ledger_path, SystemClock()) as ledger:
        after = ledger.state.load_arrays("shop", HEAT)
        assert before is not None
        assert after is not None
        assert before[0] == after[0]
        assert not ledger.proposals.rows()


@pytest.mark.parametrize(
    "wrong",
    [("--raid", "3"), ("--price", "gold=1"), ("--price", "ssd=much"), ("--price", "ssd=-1"), ("--drive-iops", "hdd=0"),
     ("--price", "ssd"), ("--all", "--csv", "x.csv"), ("--all", "--price", "ssd=1"),
     ("--more", "1GiB"), ("--break-even", "--raid", "5"), ("--drive-size", "hdd=4TB")],
    ids=" ".join,
)  # fmt: skip
def test_wrong_use(site: Site, wrong: tuple[str, ...]) -> None:
    """Unknown tiers, amounts that are none, and options of all databases, or of one, in the wrong place."""
    assert site.run("sizing", *wrong).code == 2
