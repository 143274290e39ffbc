"""The sizing curve: what whole objects on the fastest tier save, the bound, and the sizes that have a name."""

from __future__ import annotations

from leather import Chart
from leather.shapes import Line

from agent.plots.charts import Exact, across_from_zero, add, byte_label, byte_unit
from agent.plots.figure import HEIGHT, WIDTH, Figure
from agent.plots.shapes import Band, Marks, Steps
from agent.plots.theme import BAND, MUTED, SERIES
from agent.terminal.charts import Curve, Mark
from connectors.formatting import format_bytes, format_ratio, format_wait

_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


def curve_figure(curve: Curve, *, width: int = WIDTH, height: int = HEIGHT) -> Figure:
    """Share of the wait that all on the fastest tier would save, over its size, from nothing to everything."""
    chart, unit = Chart(), byte_unit(curve.most_bytes)
    across_from_zero(chart, curve.most_bytes / unit, byte_label(unit))
    chart.set_y_scale(Exact(0.0, 1.0, _SHARES))
    chart.add_y_axis(tick_formatter=lambda value, _, __: f"{value:.0%}")
    sizes = [_within(size, curve.most_bytes) * curve.most_bytes / unit for size in curve.size_bytes]
    if curve.between_per_hour:
        ends = [[_within(end, curve.most_per_hour) for end in between] for between in curve.between_per_hour]
        add(chart, Band(BAND), [(size, *end) for size, end in zip(sizes, ends, strict=True)], "range")
    bound = [_within(value, curve.most_per_hour) for value in curve.bound_per_hour]
    dashed = Line(stroke_color=MUTED, width=1.5, stroke_dasharray="6 4")
    add(chart, dashed, list(zip(sizes, bound, strict=True)), "upper bound")
    reached = [_within(value, curve.most_per_hour) for value in curve.saved_per_hour]
    add(chart, Steps(SERIES[0]), [(0.0, 0.0), *zip(sizes, reached, strict=True)], "whole objects")
    right = curve.most_bytes / unit
    add(chart, Marks(), [(curve.across(mark) * right, _up(curve, mark), words(curve, mark)) for mark in curve.marks])
    return Figure(name="sizing", title=curve.title, says=says(curve), chart=chart, width=width, height=height)


def words(curve: Curve, mark: Mark) -> str:
    """A named size with its figures."""
    return f"{mark.name}: {format_bytes(mark.size_bytes)}, {format_ratio(mark.saved_per_hour / curve.most_per_hour)}"


def says(curve: Curve) -> str:
    """What the axes are, and the figures of the named sizes."""
    whole = f"with everything on it, 100%, {format_wait(curve.most_per_hour)} are saved"
    marks = "; ".join(words(curve, mark) for mark in curve.marks)
    shaded = " Shaded: by how queues shorten." if curve.between_per_hour else ""
    axes = "Share of the wait saved, over bytes on the fastest tier (head-room comes on top)"
    return f"{axes}; {whole}. Marked: {marks}.{shaded}"


def _up(curve: Curve, mark: Mark) -> float:
    return _within(mark.saved_per_hour, curve.most_per_hour)


def _within(value: float, most: float) -> float:
    """As a share of the most, 0 to 1."""
    return min(1.0, max(0.0, value / most))
