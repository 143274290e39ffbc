"""What ``explain`` shows of the heat inside a unit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from agent.sampling.block_heat import UnitBorders, save_block_heat, save_borders
from agent.terminal.errors import ExitCode
from connectors.model.blocks import CandidateColumn
from policies.evidence.borders import BorderLook, FoundBorder, ValueBorder
from policies.evidence.range_heat import RangeHeat, compare_looks, with_turnover
from tests.cli.site import Site, simulated

BLOCKS, KEY = 12_800, '"shop"."orders"'


def test_explain_shows_where_the_reads_of_a_large_table_go(site: Site) -> None:
    """Sentence, what a split would save, shares and a picture; the same as JSON, and nothing for other units."""
    site.good("plan", "--observe", "0.3")
    clock = SystemClock()
    with Ledger.open(site.ledger_path, clock) as ledger:
        save_block_heat(ledger, "shop", clock.now(), {KEY: newest()})
    shown = site.good("explain", "shop.orders").out
    assert "its newest 10.0 MiB (10% of it) take 7" in shown
    assert "split off and on ssd, that part would save" in shown
    assert shown.count(" |") >= 16
    inside = site.good("explain", "shop.orders", "--json").document["inside"]
    assert inside["shape"] == "newest"
    assert inside["part"]["of_reads"] > 0.7
    assert len(inside["hours"]) == 6
    assert inside["sentences"][0] in shown
    assert (inside["columns"], inside["border"]) == ([], None)
    assert site.good("explain", "shop.products", "--json").document["inside"] is None


def test_explain_shows_the_border_and_what_is_missing_for_it(site: Site) -> None:
    """The condition and how it wanders; without values the column that may be it; a refusal with its grant."""
    site.good("plan", "--observe", "0.3")
    clock = SystemClock()
    with Ledger.open(site.ledger_path, clock) as ledger:
        save_block_heat(ledger, "shop", clock.now(), {KEY: newest()})
        save_borders(ledger, "shop", {KEY: UnitBorders(columns=(ID, DAY))})
    assert "may be a range of id, day; with border_values on" in site.good("explain", "shop.orders").out
    looks = tuple(BorderLook(at_hour=hour, found=border(hour)) for hour in (0.0, 12.0, 24.0))
    with Ledger.open(site.ledger_path, clock) as ledger:
        save_borders(ledger, "shop", {KEY: UnitBorders(columns=(ID,), looks=looks)})
    shown = site.good("explain", "shop.orders").out
    assert "the rows with id >= 9240" in shown
    assert "its border moves by +240 a day" in shown
    found = site.good("explain", "shop.orders", "--json").document["inside"]["border"]
    assert (found["least"], found["below"], found["per_day"], found["low_distance"]) == ("9240", None, 240.0, 1000.0)
    with Ledger.open(site.ledger_path, clock) as ledger:
        save_borders(ledger, "shop", {KEY: UnitBorders(columns=(ID,), refused="GRANT it")})
    assert "by which values was not seen: GRANT it" in site.good("explain", "shop.orders").out


SPLIT, SCATTERED = '"shop"."measurements_2024q3"', '"shop"."events"'


def test_plan_explain_and_sizing_say_what_a_split_would_bring(site: Site) -> None:
    """Where the whole does not fit and its hot tenth does; where heat is scattered they say that no split helps."""
    site.good("plan", "--observe", "0.3")
    clock = SystemClock()
    with Ledger.open(site.ledger_path, clock) as ledger:
        save_block_heat(ledger, "shop", clock.now(), {SPLIT: newest(), SCATTERED: newest(scattered=True)})
        looks = (BorderLook(at_hour=0.0, found=border(0.0)),)
        save_borders(ledger, "shop", {SPLIT: UnitBorders(columns=(ID,), looks=looks)})
    planned = site.good("plan", "--json").document
    (split,) = planned["splits"]
    assert (split["unit"], split["border"]["least"], split["fits"], split["whole_fits"]) == (SPLIT, "9000", True, False)
    whole = split["whole_wait_saved_per_hour_seconds"]
    assert split["wait_saved_per_hour_seconds"] == pytest.approx(0.8 * whole)
    assert planned["forecast_with_splits"]["per_second"] > planned["forecast"]["per_second"]
    said = {each["subject"]: each for each in planned["advice"] if "split" in each["code"]}
    assert {key: each["code"] for key, each in said.items()} == {SPLIT: "split", SCATTERED: "no_split"}
    assert "its rows with id >= 9000 (95.4 MiB, 80% of its reads) would save" in said[SPLIT]["sentence"]
    assert "more memory at most" in said[SPLIT]["sentence"]
    assert f"`hotplace split '{SPLIT}' --column id --border VALUE` shows how" in said[SPLIT]["sentence"]
    assert "its reads go to few blocks all over it, so no split helps" in said[SCATTERED]["sentence"]
    assert "with these splits" in site.good("plan").out
    found = site.good("sizing", "--json").document["with_splits"]
    assert found["units"] == 1
    assert found["split_wait_saved_per_hour_seconds"] > found["wait_saved_per_hour_seconds"]
    assert 0 < found["alike_bytes"] <= site.good("sizing", "--json").document["managed_bytes"]
    assert "with the hot part of 1 unit split off" in site.good("sizing").out
    explained = site.good("explain", SPLIT, "--json").document["advice"]
    assert [each["code"] for each in explained] == ["split"]
    assert "its newest rows by id" in explained[0]["sentence"]
    assert "9000" not in explained[0]["sentence"]


def test_split_without_a_border_says_why_none_is_known(site: Site) -> None:
    """Looks are off or were not taken, heat is all over, values are not allowed, the hot rows are not the newest."""
    site.good("plan", "--observe", "0.3")
    clock = SystemClock()
    middle = replace(border(0.0), border=replace(border(0.0).border, below="9500"))
    assert "an agent that watches for some hours looks into units" in refused(site)
    with Ledger.open(site.ledger_path, clock) as ledger:
        save_block_heat(ledger, "shop", clock.now(), {KEY: newest(scattered=True)})
    assert "no split helps: more memory would hold its hot blocks" in refused(site)
    with Ledger.open(site.ledger_path, clock) as ledger:
        save_block_heat(ledger, "shop", clock.now(), {KEY: newest()})
    assert "border_values is off, which reads values" in refused(site)
    with Ledger.open(site.ledger_path, clock) as ledger:
        save_borders(ledger, "shop", {KEY: UnitBorders(columns=(ID,), refused="GRANT it")})
    assert "by which values was not seen: GRANT it" in refused(site)
    for found, said in ((None, "looked at: id"), (middle, "id >= 9000 and id < 9500, which are not its newest")):
        with Ledger.open(site.ledger_path, clock) as ledger:
            looks = (BorderLook(at_hour=0.0, found=found),)
            save_borders(ledger, "shop", {KEY: UnitBorders(columns=(ID,), looks=looks)})
        assert said in refused(site)
    with Ledger.open(site.ledger_path, clock) as ledger:
        looks = (BorderLook(at_hour=0.0, found=border(0.0)),)
        save_borders(ledger, "shop", {KEY: UnitBorders(columns=(ID,), looks=looks)})
    assert "a border of id, not of day" in refused(site, "--column", "day")
    done = site.run("split", KEY, "--border", "3")
    assert (done.code, "Give --column as well" in done.err) == (ExitCode.USAGE, True)


def test_split_without_a_border_says_that_looks_are_off(tmp_path: Path) -> None:
    """By the setting that switches them on."""
    site = Site(tmp_path, {**simulated(tmp_path), "block_looks": "0%"})
    assert "because looks are off (block_looks: 0%)" in refused(site)


def test_split_of_a_unit_that_does_not_exist_says_so(site: Site) -> None:
    """By the last plan, else by the database: nothing that watches for hours would find a border of it."""
    for made in ("nothing", "a plan"):
        if made == "a plan":
            site.good("plan", "--observe", "0.3")
            assert "no unit has the key 'nosuch'" in site.run("explain", "nosuch").err
        for more in ((), ("--column", "id")):
            done = site.run("split", "nosuch", *more)
            assert (done.code, "no unit has the key 'nosuch'" in done.err) == (ExitCode.NOT_FOUND, True), done
    assert "Did you mean: " in site.run("split", "shop.order").err


def refused(site: Site, *more: str) -> str:
    """What a refused split says, on one line."""
    done = site.run("split", KEY, *more)
    assert done.code == ExitCode.REFUSED, done
    return " ".join(done.err.split())


ID = CandidateColumn(
    name="id", type_name="bigint", is_time=False, is_key=True, nullable=False, correlation=1.0, readable=True
)
DAY = CandidateColumn(
    name="day", type_name="date", is_time=True, is_key=False, nullable=True, correlation=float("nan"), readable=True
)


def border(hour: float) -> FoundBorder:
    """One that rises by ten an hour."""
    least = 9000.0 + 10 * hour
    found = ValueBorder(
        column="id", type_name="bigint", least=str(int(least)), below=None, fit=0.95, of_rows=0.1, of_reads=0.8
    )
    return FoundBorder(border=found, is_time=False, least=least, below=None, newest=least + 1000.0)


def newest(*, scattered: bool = False) -> RangeHeat:
    """Four fifths of the reads in the newest tenth, or in a tenth all over the file."""
    heat, random = None, np.random.default_rng(1)
    hour = SystemClock().now().timestamp() / 3600
    for pair in range(6):
        tenth = np.arange(BLOCKS * 9 // 10, BLOCKS)
        if scattered:
            tenth = np.flatnonzero(np.arange(BLOCKS) // 128 % 10 == 3)
        hot = random.choice(tenth, 400, replace=False)
        resident = np.unique(np.concatenate((hot, random.choice(BLOCKS, 150, replace=False))))
        found = compare_looks(np.arange(0), resident.astype(np.int64), blocks=BLOCKS, block_bytes=8192, seconds=1.0)
        heat = with_turnover(heat, found, float(len(resident)), hour - 6 + pair)
    assert heat is not None
    return heat
