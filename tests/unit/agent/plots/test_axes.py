"""Axes: round ticks within the data, whatever its size, and instants in the zone of the reader."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leather import Chart

from agent.pages.plots import (
    MOST_TIME_TICKS,
    Figure,
    Intervals,
    Logarithmic,
    Steps,
    add,
    byte_label,
    byte_unit,
    over_time,
    rows_with_names,
    time_ticks,
    upward_from_zero,
)
from tests.examples import examples

SVG = "{http://www.w3.org/2000/svg}"
NOON = datetime(2026, 3, 28, 12, tzinfo=UTC)  # clocks in Berlin go forward in the night


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine in a zone with summer time."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def figure(chart: Chart) -> ET.Element:
    """The drawing."""
    return ET.fromstring(Figure(name="a", title="b", says="c", chart=chart).element())


def labels(drawing: ET.Element, axis: str) -> list[str]:
    """What stands at the ticks of an axis."""
    return [text.text or "" for text in drawing.iterfind(f".//{SVG}g[@class='axis {axis}']//{SVG}text")]


@given(most=st.floats(0, 1e12), points=st.lists(st.floats(0, 1), min_size=1, max_size=3))
@settings(max_examples=examples(60), deadline=None)
def test_any_height_has_ticks_and_fits(most: float, points: list[float]) -> None:
    """From nothing to very much: some ticks from 0 on, none the same, and the line within the plot."""
    chart = Chart()
    over_time(chart, NOON, NOON + timedelta(hours=3))
    upward_from_zero(chart, most)
    add(chart, Steps("var(--ink)"), [(NOON.timestamp() + at, share * most) for at, share in enumerate(points)])
    found = labels(drawing := figure(chart), "left")
    assert 3 <= len(found) == len(set(found)) <= 11
    assert "0" in found
    (path,) = drawing.findall(f".//{SVG}g[@class='series']/{SVG}path")
    heights = [float(each) for part in path.get("d", "").split("V")[1:] for each in [part.split("H")[0]]]
    assert all(-0.1 <= height <= 240 for height in heights)


@given(hours=st.floats(0.2, 24 * 90), begins=st.integers(0, 86_400))
@settings(max_examples=examples(60), deadline=None)
def test_any_period_has_few_ticks(hours: float, begins: int) -> None:
    """Within it, in order, and no more than there is room for."""
    since = NOON + timedelta(seconds=begins)
    until = since + timedelta(hours=hours)
    ticks = time_ticks(since, until)
    assert 1 <= len(ticks) <= MOST_TIME_TICKS + 1
    assert ticks == sorted(set(ticks))
    assert since.timestamp() <= ticks[0]
    assert ticks[-1] <= until.timestamp()


@pytest.mark.usefixtures("berlin")
def test_days_begin_at_midnight_where_the_reader_is() -> None:
    """Also the day after the clocks went forward, which is an hour shorter."""
    ticks = time_ticks(NOON, NOON + timedelta(days=4))
    local = [datetime.fromtimestamp(tick).astimezone() for tick in ticks]
    assert [(at.day, at.hour) for at in local] == [(29, 0), (30, 0), (31, 0), (1, 0)]
    assert [later - sooner for sooner, later in pairwise(ticks)] == [23 * 3600, 24 * 3600, 24 * 3600]


def test_powers_of_ten_enclose_the_values() -> None:
    """One decade at the least, and equal ratios are equal lengths."""
    scale = Logarithmic(0.0003, 0.0047)
    assert [round(math.log10(tick)) for tick in scale.ticks()] == [-4, -3, -2]
    assert scale.project(1e-3, 0, 100) == pytest.approx(50)
    assert len(Logarithmic(0.001, 0.001).ticks()) == 2


@pytest.mark.parametrize(("most", "said"), [(0, "0 B"), (900, "1 KiB"), (1500, "1 KiB"), (3 * 2**40, "2 TiB")])
def test_bytes_are_in_one_unit(most: int, said: str) -> None:
    """Round figures of the largest unit that fits."""
    unit = byte_unit(most)
    values = {0: 0, 900: 1024, 1500: 1024, 3 * 2**40: 2 * 2**40}
    assert byte_label(unit)(values[most] / unit) == said


def test_rows_stand_in_their_order_with_their_intervals() -> None:
    """The first on top; where no interval is known there is only the dot."""
    chart = Chart()
    chart.set_x_scale(Logarithmic(1, 50))
    rows_with_names(chart, ["first", "second"])
    add(chart, Intervals("var(--ink)"), [(5, "first", 2, 9, 0.0, "one"), (7, "second", None, None, 0.0, "two")])
    drawing = figure(chart)
    upper, lower = drawing.iter(f"{SVG}circle")
    assert float(upper.get("cy", "")) < float(lower.get("cy", ""))
    assert [upper.findtext(f"{SVG}title"), lower.findtext(f"{SVG}title")] == ["one", "two"]
    assert len(drawing.findall(f".//{SVG}g[@class='series']/{SVG}path")) == 1
