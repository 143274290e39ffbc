"""The sizing curve drawn with plain characters and as SVG."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from agent.terminal.charts import HEIGHT, NARROWEST, WIDEST, Curve, Mark, svg_chart, text_chart

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
            Mark(sign="K", name="knee", size_bytes=most_bytes // 10, saved_per_hour=80.0),
            Mark(sign="P", name="present size", size_bytes=present, saved_per_hour=80.0),
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


def test_a_present_size_beyond_everything_stands_at_the_end() -> None:
    """More room than the database has bytes: the mark is at the right edge, in both pictures."""
    wide = curve(present=10**15)
    row = next(line for line in text_chart(wide, 80) if "P" in line)
    assert (row[-1], len(row)) == ("P", max(map(len, text_chart(wide, 80))))
    assert ET.fromstring(svg_chart(wide)).find(f"{SVG}circle[@cx='770.0']") is not None


def test_the_svg_is_valid_and_says_everything_in_words() -> None:
    """Well-formed, axes with units, both curves told apart by their line, knee and present size by shape and name."""
    root = ET.fromstring(svg_chart(curve()))
    words = " ".join(element.text or "" for element in root.iter(f"{SVG}text"))
    for said in ("shop", "0 B", "100.0 GiB", "waiting sessions saved", "bytes on the fastest tier", "50%",
                 "whole objects", "upper bound", "knee: 10.0 GiB, 80%", "present size: 80.0 GiB, 80%"):  # fmt: skip
        assert said in words
    upper, reached = root.findall(f"{SVG}polyline")
    assert upper.get("stroke-dasharray")
    assert reached.get("stroke-dasharray") is None
    assert len(root.findall(f"{SVG}circle")) == 1
    assert root.findtext(f"{SVG}title") == "shop"


@pytest.mark.parametrize("title", ["<a & b>", 'q"uote', "bell\x07", "umlaut ü"])
def test_any_name_is_valid_xml(title: str) -> None:
    """Whatever a database is called, the picture stays well-formed."""
    assert ET.fromstring(svg_chart(curve(title))).findtext(f"{SVG}title") == title.replace("\x07", "\ufffd")


@pytest.mark.parametrize("most_bytes", [1, 999, 3 * 2**20, 2**50, 2**62])
def test_any_size_has_a_few_ticks(most_bytes: int) -> None:
    """From one byte to exbibytes there are labels enough to read the axis, and not too many."""
    root = ET.fromstring(svg_chart(curve(most_bytes=most_bytes)))
    labels = [t for t in root.iter(f"{SVG}text") if t.get("text-anchor") == "middle"]
    assert 3 <= len(labels) <= 8
