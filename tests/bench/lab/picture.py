"""Lines over a size, as an SVG document that reads in black and white."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leather import Chart
from leather.shapes import Line as Path

from agent.pages.plots import Exact, Figure, add

QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line: points in per cent across and shares upward, and how it is drawn."""

    name: str
    points: tuple[tuple[float, float], ...]
    color: str
    width: float = 1.0
    dashes: str = ""


def picture(title: str, across: str, upward: str, lines: Sequence[Line]) -> str:
    """The document. Shares below 0 and above 1 are drawn at the edge."""
    chart = Chart()
    chart.set_x_scale(Exact(0.0, 1.0, QUARTERS))
    chart.add_x_axis(tick_formatter=_percent, name=across)
    chart.set_y_scale(Exact(0.0, 1.0, QUARTERS))
    chart.add_y_axis(tick_formatter=_percent, name=upward)
    for line in lines:
        points = [(percent / 100, min(1.0, max(0.0, share))) for percent, share in line.points]
        path = Path(stroke_color=line.color, width=line.width, stroke_dasharray=line.dashes or None)
        add(chart, path, points, line.name)
    says = f"{upward}, over {across}: {', '.join(line.name for line in lines)}"
    return Figure(name="curves", title=title, says=says, chart=chart, width=560, height=340).document()


def _percent(value: float, *_: object) -> str:
    return f"{value:.0%}"
