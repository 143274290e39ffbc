"""The sizing curve drawn with plain characters and as SVG."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from agent.pages.plots import curve_figure
from agent.terminal.charts import HEIGHT, NARROWEST, WIDEST, ChartMark, Curve, text_chart
from connectors.model.formatting import printable

GIB = 2**30
SVG = "{http://www.w3.org/2000/svg}"


def curve(title: str = "shop", most_bytes: int = 100 * GIB, present: int = 80 * GIB) -> Curve:
    """A steep rise to 80 % at a tenth, then slowly to the top."""
    return Curve(
        title=title,
        size_bytes=[0, most_bytes // 20, most_bytes // 10, most_bytes],
        saved_per_hour=[0.0, 30.0, 80.0, 100.0],
        bound_per_hour=[0.0, 40.0, 80.0, 100.0],
        most_bytes=most_bytes,
        most_per_hour=100.0,
        marks=(
            ChartMark(sign="K", name="knee", size_bytes=most_bytes // 10, saved_per_hour=80.0),
            ChartMark(sign="P", name="present size", size_bytes=present, saved_per_hour=80.0),
        ),
    )


@pytest.mark.parametrize("present", [10 * GIB, 80 * GIB], ids=["at the knee", "beyond it"])
@pytest.mark.parametrize("width", [1, 40, 60, 80, 120, 500])
def test_the_text_keeps_to_the_width(width: int, present: int) -> None:
    """Plain characters, no longer than the terminal within reason, and both marks are there."""
    lines = text_chart(curve(present=present), width)
    assert len(lines) == HEIGHT + 3
    assert max(map(len, lines)) <= min(WIDEST, max(NARROWEST, width))
    assert all(line.isascii() and line.isprintable() for line in lines)
    assert sum(line.count("K") for line in lines[:-1]) == sum(line.count("P") for line in lines[:-1]) == 1


def test_the_text_has_axes() -> None:
    """Shares on the left, sizes below, the whole range of both."""
    lines = text_chart(curve(), 80)
    assert [line.split("|")[0].strip() for line in lines[:-2] if line.split("|")[0].strip()] == ["100%", "50%", "0%"]
    assert lines[-1].split() == ["0", "B", "25.0", "GiB", "50.0", "GiB", "75.0", "GiB", "100.0", "GiB"]


def test_a_present_size_beyond_everything_is_said_and_not_drawn() -> None:
    """More room than the database has bytes: a mark at the right edge would stand at a size that is not its own."""
    wide = curve(present=10**15)
    assert not any("P" in line for line in text_chart(wide, 80))
    drawing = ET.fromstring(curve_figure(wide).document())
    assert not list(drawing.iter(f"{SVG}circle"))
    assert "present size: 909.5 TiB, 80%, more than there is to put there" in curve_figure(wide).says


def test_the_svg_is_valid_and_says_everything_in_words() -> None:
    """Well-formed, axes with units, both curves told apart by their line, knee and present size by shape and name."""
    root = ET.fromstring(curve_figure(curve()).document())
    words = " ".join(element.text or "" for element in root.iter(f"{SVG}text"))
    for said in ("shop", "0 B", "100 GiB", "50%", "whole objects", "upper bound", "knee: 10.0 GiB, 80%",
                 "present size: 80.0 GiB, 80%"):  # fmt: skip
        assert said in words
    (bound,) = root.findall(f".//{SVG}g[@class='series lines']/{SVG}path")
    (reached,) = root.findall(f".//{SVG}path[@stroke='var(--series-1)']")
    assert bound.get("stroke-dasharray")
    assert reached.get("stroke-dasharray") is None
    assert len(root.findall(f".//{SVG}circle")) == 1
    assert root.findtext(f"{SVG}title") == "shop"
    described = root.findtext(f"{SVG}desc") or ""
    assert "Share of the wait saved, over bytes on the fastest tier" in described
    assert "with everything on it, 100%, 0.0278 waiting sessions (1 min 40 s/h) are saved" in described


def test_a_file_brings_its_colours() -> None:
    """Each colour that is used is set, for light and for dark; on a page the page sets them."""
    document, element = curve_figure(curve()).document(), curve_figure(curve()).element()
    used = set(re.findall(r"var\((--[\w-]+)\)", document))
    light, dark = document.split("@media")
    assert len(used) >= 4
    for name in used:
        assert f"{name}: #" in light
        assert f"{name}: #" in dark
    assert "<style" not in element


@pytest.mark.parametrize("title", ["<a & b>", 'q"uote', "bell\x07", "umlaut ü"])
def test_any_name_is_valid_xml(title: str) -> None:
    """Whatever a database is called, the picture stays well-formed."""
    assert ET.fromstring(curve_figure(curve(title)).document()).findtext(f"{SVG}title") == printable(title)


@pytest.mark.parametrize("most_bytes", [1, 999, 3 * 2**20, 2**50, 2**62])
def test_any_size_has_a_few_ticks(most_bytes: int) -> None:
    """From one byte to exbibytes there are labels enough to read the axis, and not too many."""
    root = ET.fromstring(curve_figure(curve(most_bytes=most_bytes)).document())
    labels = root.findall(f".//{SVG}g[@class='axis bottom']//{SVG}text")
    assert 3 <= len(labels) <= 8
