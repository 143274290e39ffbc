"""What is kept of plays, and what is drawn of them, is what was played."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.bench.policies.wandering import days, figure
from tests.bench.policies.wandering.kept import keep, read
from tests.bench.policies.wandering.rules import rankers
from tests.bench.policies.wandering.shapes import world
from tests.bench.policies.wandering.stage import Stage, by_day
from tests.bench.policies.wandering.table import Play
from tests.bench.policy_wandering import Task, play, play_once

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


def test_the_figure_shows_every_contestant_of_every_shape(played: Play, tmp_path: Path) -> None:
    """Drawn from what was written; the best day stands at the height of its share."""
    days.write(days.days_of([played]), tmp_path / "days.json")
    stored = days.read(tmp_path / "days.json")
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
