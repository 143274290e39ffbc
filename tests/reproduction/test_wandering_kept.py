"""What is kept of plays, and what is drawn of them, is what was played."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.bench import policy_wandering, published
from tests.bench.policies.wandering import days, figure
from tests.bench.policies.wandering.kept import keep, read
from tests.bench.policies.wandering.rules import rankers
from tests.bench.policies.wandering.shapes import world
from tests.bench.policies.wandering.stage import Stage, by_day
from tests.bench.policies.wandering.table import COMMAND, Play
from tests.bench.policy_wandering import Task, play, play_once
from tests.docs.reference import wandering

SVG = {"svg": "http://www.w3.org/2000/svg"}

HOURS = 30


@pytest.fixture(scope="module")
def played() -> Play:
    """A day and six hours of one shape, every contestant."""
    return play(Task(shape="hot_spot_24h", seed=1, hours=HOURS, delayed=False))


def test_days_add_up_to_the_gain() -> None:
    """Of a rule that moves and pays for it."""
    score = Stage(world("hot_spot_24h", 1, hours=HOURS)).play(rankers(world("hot_spot_24h", 1, hours=HOURS))[1])
    assert score.cost_seconds > 0
    assert len(score.days) == 2
    assert sum(score.days) == pytest.approx(score.gain, abs=2)
    assert by_day(np.arange(25.0)) == (sum(range(24)), 24.0)


def test_a_kept_play_is_read_as_it_was_and_not_played_again(played: Play, tmp_path: Path) -> None:
    """Also one with a delay; and what is kept is believed."""
    assert read(tmp_path / "none.json") is None
    delayed = Play(**{**{name: getattr(played, name) for name in Play.__slots__}, "delayed": played.product})
    keep(delayed, path := tmp_path / "hot_spot_24h-1.json")
    assert read(path) == delayed
    assert play_once(Task(shape="hot_spot_24h", seed=1, hours=HOURS), tmp_path) == delayed


def test_to_a_play_kept_without_the_delay_only_that_is_added(played: Play, tmp_path: Path) -> None:
    """What was played at once stays as it was kept."""
    keep(replace(played, equal_pages=played.fixed), path := tmp_path / "hot_spot_24h-1.json")
    found = play_once(Task(shape="hot_spot_24h", seed=1, hours=HOURS), tmp_path)
    assert found.equal_pages == played.fixed
    assert found.delayed is not None
    assert 0 < found.delayed.saved_seconds < played.product.saved_seconds
    assert read(path) == found


def test_the_figure_shows_every_contestant_of_every_shape(played: Play, tmp_path: Path) -> None:
    """Drawn from what was written; the best day stands at the height of its share."""
    days.write(days.days_of([played]), tmp_path / "days.json")
    stored = days.read(tmp_path / "days.json")
    assert stored["hot_spot_24h"]["totals"]["hotplace"] == [round(played.product.gain)]
    assert stored["hot_spot_24h"]["gains"]["hotplace"] == [round(day) for day in played.product.days]
    drawing = ElementTree.fromstring(figure.draw(stored))
    lines = drawing.findall(".//svg:g[@class='series lines']/svg:path", SVG)
    assert len(lines) == len(figure.PENS)
    height = float(lines[-1].attrib["d"].split()[-1])
    ticks = [float(tick.attrib["y1"]) for tick in drawing.findall(".//svg:g[@class='axis left']//svg:line", SVG)]
    bottom, top = max(ticks), min(ticks)  # 0 and 100 %
    share = played.product.days[1] / played.most[1]
    assert 0 < share < 1
    assert (bottom - height) / (bottom - top) == pytest.approx(share, abs=0.01)


def test_what_was_played_is_published_with_the_command_that_plays_it_again(
    played: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of loads that were not played again go, those of other benchmarks stay; the page has the same rows."""
    old = {"name": "policy.wandering.churn", "value": 9.0, "unit": "", "better": "higher", "command": "an older one"}
    other = {**old, "name": "policy.wander"}
    (tmp_path / "results.json").write_text(json.dumps([old, other]), encoding="utf-8")
    monkeypatch.setattr(published.write_rows, "__defaults__", (tmp_path,))
    monkeypatch.setattr(days, "PATH", tmp_path / "days.json")
    keep(played, tmp_path / "hot_spot_24h-1.json")
    command = ["--shapes", "hot_spot_24h", "--seeds", "1", "--at-once"]
    assert policy_wandering.main([*command, "--workers", "1", "--keep", str(tmp_path), "--write"]) == 0
    rows = {row["name"]: row for row in published.read_rows(tmp_path)}
    row = rows["policy.wandering.hot_spot_24h"]
    assert row["value"] == pytest.approx(played.share(played.product))
    assert row["command"] == f"{COMMAND} --at-once --shapes hot_spot_24h --seeds 1"
    assert "policy.wander" in rows
    assert "policy.wandering.churn" not in rows
    assert f"`{row['command']}`" in (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert days.read(tmp_path / "days.json")["hot_spot_24h"]["seeds"] == [1]


def test_the_table_shows_the_worst_seed_and_what_was_possible_there(played: Play) -> None:
    """Of two seeds, one of them with an approval delay and half of the gain."""
    gain, best = played.product.gain, played.best_rule
    half = replace(played.product, saved_seconds=played.product.cost_seconds + gain / 2)
    worse = replace(played, seed=2, product=half, delayed=half)
    header, _, row = wandering.table_of(days.days_of([worse, played])).splitlines()
    cells = dict(zip(header.split(" | "), row.split(" | "), strict=True))
    assert float(cells["of the best of six"]) == pytest.approx(0.75 * gain / best.gain, abs=1e-3)
    assert cells["its worst seed"] == f"{gain / 2 / best.gain:.3f} ({best.policy})"
    assert float(cells["possible there"]) == pytest.approx(played.most_paid / best.gain, abs=1e-3)
    assert cells["with 8 h |"] == f"{gain / 2 / best.gain:.3f} |"
