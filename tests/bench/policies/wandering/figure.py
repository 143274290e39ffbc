"""Gain over time for each shape, next to the rules, as an SVG picture: small multiples, one for each shape.

``python -m tests.bench.policies.wandering.figure`` draws it from ``wandering_days.json``, which the table writes. Each
day's gain is drawn as a share of what no placement of whole units can exceed on that day, so that 100 % is hindsight.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from leather import Chart
from leather.series import Series
from leather.shapes import Line

from agent.pages.plots import INK, MUTED, SERIES, Exact, Figure, add
from tests.bench.policies.wandering import days
from tests.bench.policies.wandering.frozen import HELD_OUT
from tests.bench.policies.wandering.table import COMMAND

PATH = Path(__file__).parents[4] / "docs" / "pages" / "wandering.svg"
COLUMNS = 3
WIDE, HIGH = 230, 150  # of one panel with its axes
TITLE_LEFT, TITLE_DOWN = 48, 22
LEGEND_ROW = 18
MOST = 1.25  # the top of the axis; a cache of pages may exceed 1
UPWARD = (0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pen:
    """How one contestant is drawn, and its name in the legend."""

    name: str
    color: str
    width: float = 1.0
    dashes: str = ""

    def shape(self) -> Line:
        """Its line; the legend of the whole picture names it, not each panel's."""
        return UnnamedLine(self)


class UnnamedLine(Line):
    """A line that the legend of a chart leaves out."""

    def __init__(self, pen: Pen) -> None:
        Line.__init__(self, stroke_color=pen.color, width=pen.width, stroke_dasharray=pen.dashes or None)

    def legend_to_svg(self, series: Series, palette: Any) -> list[tuple[ET.Element, float]]:
        """Nothing."""
        return []


RULES = (
    Pen(name="daily 24 h mean", color="#a07a3a"),
    Pen(name="6 h mean, residents x2", color="#31a354"),
    Pen(name="per 6 h, residents x2", color="#8f88c8"),
    Pen(name="LFU with ageing", color="#e6550d"),
    Pen(name="busiest first", color="#a6a6a6"),
    Pen(name="LRU, 80/20 pages", color=MUTED, dashes="2 2"),
    Pen(name="best fixed", color=INK, dashes="6 3"),
)
OURS = Pen(name="hotplace", color=SERIES[0], width=2.2)
PENS = (*RULES, OURS)  # hotplace above the others


@dataclass(frozen=True, slots=True)
class Panels:
    """One chart for each shape with its title, in rows, below the legend of all."""

    charts: Sequence[tuple[str, Chart]]

    @property
    def height(self) -> int:
        """Of all of them."""
        return self._legend_height + -(-len(self.charts) // COLUMNS) * HIGH

    @property
    def _legend_height(self) -> int:
        return 10 + -(-len(PENS) // COLUMNS) * LEGEND_ROW

    def to_svg_group(self, width: int, height: int) -> ET.Element:
        """All in one group."""
        group = ET.Element("g")
        group.extend(self._legend())
        for at, (title, chart) in enumerate(self.charts):
            across, down = at % COLUMNS * WIDE, self._legend_height + at // COLUMNS * HIGH
            panel = chart.to_svg_group(WIDE, HIGH)
            panel.set("transform", f"translate({across} {down})")
            panel.append(_words(TITLE_LEFT, TITLE_DOWN, title))  # where a chart has room for the legend of its own
            group.append(panel)
        return group

    def _legend(self) -> Iterator[ET.Element]:
        for at, pen in enumerate(PENS):
            x, y = 14 + at % COLUMNS * WIDE, 10 + at // COLUMNS * LEGEND_ROW
            line = {"d": f"M{x} {y}h30", "stroke": pen.color, "stroke-width": str(pen.width)}
            yield ET.Element("path", {**line, **({"stroke-dasharray": pen.dashes} if pen.dashes else {})})
            yield _words(x + 36, y + 4, pen.name)


def _words(x: int, y: int, words: str) -> ET.Element:
    text = ET.Element("text", {"x": str(x), "y": str(y), "fill": INK, "font-size": "12"})
    text.text = words
    return text


def draw(shapes: dict[str, days.Days]) -> str:
    """The document."""
    panels = Panels([_panel(shape, of) for shape, of in shapes.items()])
    title = "Gain of each day, of what no placement of whole units can exceed on that day"
    says = f"One panel for each of {len(shapes)} kinds of load, with hotplace and {len(RULES)} rules"
    figure = Figure(
        name="wandering", title=title, says=says, chart=panels, width=COLUMNS * WIDE + 10, height=panels.height
    )
    return figure.document()


def _panel(shape: str, of: days.Days) -> tuple[str, Chart]:
    count, seeds = len(of["most"]), len(of["seeds"])
    chart = Chart()
    chart.set_x_scale(Exact(0.0, float(count), [float(day) for day in range(0, count + 1, 7)]))
    chart.add_x_axis(tick_formatter=lambda day, _, __: f"{day:.0f}" if day else "day 0")
    chart.set_y_scale(Exact(0.0, MOST, UPWARD))
    chart.add_y_axis(tick_formatter=lambda share, _, __: f"{share:.0%}")
    for pen in PENS:
        add(chart, pen.shape(), _points(of["gains"][pen.name], of["most"]), pen.name)
    mark = " (held out)" if shape in HELD_OUT else ""
    return f"{shape.replace('_', ' ')}, {seeds} seed{'s' if seeds > 1 else ''}{mark}", chart


def _points(gains: Sequence[float], most: Sequence[float]) -> list[tuple[float, float]]:
    """Each day in its middle."""
    shares = [gain / best if best else 0.0 for gain, best in zip(gains, most, strict=True)]
    return [(day + 0.5, min(MOST, max(0.0, share))) for day, share in enumerate(shares)]


def main() -> int:
    """Draw it, in the documentation; 1 where there is nothing to draw from."""
    if not days.PATH.exists():
        print(f"{days.PATH} is missing; {COMMAND} --days {days.PATH.name} writes it", file=sys.stderr)
        return 1
    PATH.write_text(draw(days.read(days.PATH)), encoding="utf-8")
    print(PATH)
    return 0


if __name__ == "__main__":
    sys.exit(main())
