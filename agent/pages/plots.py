"""Static SVG: charts with hotplace's axes, shapes, and how every plot looks.

Colours are CSS variables: a page sets them, and a file of its own brings them along. The library's theme is global:
importing this module sets it for all charts of a process.

``Figure`` is one plot with its words: an element for a page, or a document that is a file of its own.

``Drawn`` is the base of shapes that the library lacks: steps, bands, cells of a heat map, bars, intervals, changes,
moments, named marks. Each draws the rows of a series into the scales of its chart; its docstring lists the columns.

``over_time``, ``rows_with_names`` and the functions between them make hotplace's axes: times, bytes, sessions, names of
units.

``curve_figure`` is the sizing curve: what whole objects on the fastest tier save, the bound, and the named sizes.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import floor, log10
from typing import Any, Final, Protocol
from xml.etree import ElementTree as ET

from leather import Chart, Linear, theme
from leather.scales import Ordinal, Scale
from leather.series import Series
from leather.shapes import Line, Shape

from agent.terminal.charts import ChartMark, Curve
from connectors.model.formatting import format_bytes, format_ratio, format_wait, printable

FONT_SIZE: Final = 12
CHARACTER: Final = 7  # width of one at that size, on average
MARGIN_RATIO: Final = 0.06  # of the width: half of the longest label below the axis
INK, MUTED, GRID, PAPER = "var(--ink)", "var(--muted)", "var(--grid)", "var(--paper)"
BAND, HEAT = "var(--band)", "var(--heat)"
SERIES: Final = tuple(f"var(--series-{number})" for number in range(1, 6))
GOOD, BAD, OPEN = "var(--series-3)", "var(--series-2)", "var(--series-5)"

# The series differ in lightness as well, and keep a contrast of 3 to the paper in both schemes (WCAG 1.4.11).
LIGHT: Final = (
    "--ink: #1b1f24; --muted: #57606a; --grid: #dfe3e8; --paper: #ffffff; --panel: #f6f8fa; --line: #d0d7de; "
    "--series-1: #0b5394; --series-2: #c2410c; --series-3: #2e7d32; --series-4: #7b3fa0; --series-5: #6b7280; "
    "--heat: #b3360b; --band: #0b539422; --bad: #b42318; --link: #0b5394;"
)
DARK: Final = (
    "--ink: #e6edf3; --muted: #a3adb8; --grid: #30363d; --paper: #0d1117; --panel: #161b22; --line: #3d444d; "
    "--series-1: #6cb6ff; --series-2: #ff9b54; --series-3: #6bc46d; --series-4: #d2a8ff; --series-5: #9aa4af; "
    "--heat: #ff8a4c; --band: #6cb6ff33; --bad: #ff7b72; --link: #6cb6ff;"
)
VARIABLES: Final = (  # for a page or a file: dark where the reader wants it, light on paper
    f":root {{ color-scheme: light dark; {LIGHT} }}\n"
    f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}\n"
)

theme.background_color = "none"
theme.margin = MARGIN_RATIO
theme.title_color = INK
theme.legend_color = theme.label_color = theme.axis_title_color = MUTED
theme.tick_color, theme.zero_color = GRID, MUTED
theme.default_series_colors = list(SERIES)
theme.title_font_size = FONT_SIZE + 1
theme.legend_font_size = theme.axis_title_font_size = theme.tick_font_size = FONT_SIZE
theme.legend_font_char_width = theme.axis_title_font_char_width = theme.tick_font_char_width = CHARACTER
theme.legend_font_char_height = theme.tick_font_char_height = theme.axis_title_font_char_height = FONT_SIZE
theme.title_font_family = theme.legend_font_family = theme.axis_title_font_family = "inherit"
theme.tick_font_family = "inherit"


WIDTH: Final = 440  # in units of the drawing, so that text can still be read where a phone is 390 wide
HEIGHT: Final = 240
HEAD: Final = 26  # of a document: its title
SCALE: Final = 2  # pixels of a document for one of the drawing's
SVG: Final = "http://www.w3.org/2000/svg"


class Drawing(Protocol):
    """A chart of the library, or several that are drawn as one."""

    def to_svg_group(self, width: int, height: int) -> ET.Element:
        """All that is drawn, in that size."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart, and what it says to who cannot see it."""

    name: str  # an identifier, unique on its page
    title: str  # what is plotted, with its unit
    says: str  # what can be seen in it, in a sentence
    chart: Drawing
    width: int = WIDTH
    height: int = HEIGHT

    def element(self) -> str:
        """As an SVG element within a page that sets the colours and shows the title next to it."""
        return _text(self._describe())

    def document(self) -> str:
        """As an SVG document, with its title in the picture and with colours of its own."""
        root = self._describe()
        root.set("viewBox", f"0 {-HEAD} {self.width} {self.height + HEAD}")
        root.set("width", str(self.width * SCALE))
        root.set("height", str((self.height + HEAD) * SCALE))
        style = ET.Element("style")
        style.text = VARIABLES
        size = {"width": str(self.width), "height": str(self.height + HEAD)}
        paper = ET.Element("rect", {"x": "0", "y": str(-HEAD), **size, "fill": PAPER})
        title = ET.Element("text", {"x": "8", "y": str(18 - HEAD), "fill": INK, "font-size": "14"})
        title.text = self.title
        for at, part in enumerate((style, paper, title)):
            root.insert(2 + at, part)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{_text(root)}\n'

    def _describe(self) -> ET.Element:
        """The drawing in an element that names and describes it and takes the size of its place."""
        names = f"{self.name}-title {self.name}-says"
        attributes = {"xmlns": SVG, "viewBox": f"0 0 {self.width} {self.height}", "role": "img"}
        root = ET.Element("svg", {**attributes, "aria-labelledby": names, "font-family": "system-ui, sans-serif"})
        for kind, name, words in (("title", "title", self.title), ("desc", "says", self.says)):
            part = ET.SubElement(root, kind, {"id": f"{self.name}-{name}"})
            part.text = words
        root.append(self.chart.to_svg_group(self.width, self.height))
        return root


def _text(root: ET.Element) -> str:
    """The element as text that any parser of XML or HTML takes, with figures no longer than the eye can tell."""
    for each in root.iter():
        each.text = each.text and printable(each.text, keep="\n")
        for name, value in each.attrib.items():
            each.set(name, _shorten(value) if name in _GEOMETRY else printable(value))
    return ET.tostring(root, encoding="unicode")


_GEOMETRY: Final = frozenset({"x", "y", "x1", "x2", "y1", "y2", "width", "height", "cx", "cy", "r", "d", "points"})
_LONG: Final = re.compile(r"-?(?<!\d)\d+\.\d+(?:[Ee][-+]?\d+)?")


def _shorten(value: str) -> str:
    """Its numbers to a tenth: the library writes all 28 digits of a decimal."""
    return _LONG.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), value)


THICKNESS: Final = 0.6  # of a bar, as a share of its row

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Canvas:
    """Where values are within the plot."""

    width: float
    height: float
    x_scale: Scale
    y_scale: Scale

    def x(self, value: Any) -> float:  # noqa: ANN401  # whatever the scale takes
        """How far to the right."""
        return float(self.x_scale.project(value, 0, self.width))

    def y(self, value: Any) -> float:  # noqa: ANN401  # whatever the scale takes
        """How far down."""
        return float(self.y_scale.project(value, self.height, 0))

    @property
    def row_height(self) -> float:
        """Of one name of an ordinal scale of rows."""
        assert isinstance(self.y_scale, Ordinal), "rows have names"
        return self.height / len(self.y_scale.ticks())


class Drawn(Shape):
    """What all have in common: any data will do, and the legend shows their colour unless they are left out of it."""

    def __init__(self, color: str, *, in_legend: bool = True) -> None:
        self._fill_color = color
        self._in_legend = in_legend

    def validate_series(self, series: Series) -> None:
        """Any series."""

    def to_svg(self, width: float, height: float, x_scale: Scale, y_scale: Scale, series: Series, _: Any) -> ET.Element:  # noqa: ANN401  # the library's signature
        """All rows in one group."""
        group = ET.Element("g", {"class": "series"})
        group.extend(self.draw(Canvas(float(width), float(height), x_scale, y_scale), [d.row for d in series.data()]))
        return group

    def legend_to_svg(self, series: Series, palette: Any) -> list[tuple[ET.Element, float]]:  # noqa: ANN401  # the library's signature
        """A colour and a name, as wide as they are."""
        if not self._in_legend:
            return []
        ((item, _),) = Shape.legend_to_svg(self, series, palette)
        return [(item, (len(str(series.name)) + 4) * CHARACTER)]

    @abstractmethod
    def draw(self, canvas: Canvas, rows: Sequence[Row]) -> Iterator[ET.Element]:
        """The elements, from the lowest up."""


class Steps(Drawn):
    """A value that holds until the next one: (x, y)."""

    def __init__(self, color: str, dashes: str = "") -> None:
        super().__init__(color)
        self._dashes = {"stroke-dasharray": dashes} if dashes else {}

    def draw(self, canvas: Canvas, rows: Sequence[Row]) -> Iterator[ET.Element]:
        """One path."""
        x, y = canvas.x(rows[0][0]), canvas.y(rows[0][1])
        path = f"M{x:.1f} {y:.1f}" + "".join(f"H{canvas.x(x):.1f}V{canvas.y(y):.1f}" for x, y in rows[1:])
        attributes = {"d": path, "fill": "none", "stroke": self._fill_color, "stroke-width": "2"}
        yield ET.Element("path", {**attributes, **self._dashes})


class Band(Drawn):
    """What lies between two lines: (x, low, high)."""

    def draw(self, canvas: Canvas, rows: Sequence[Row]) -> Iterator[ET.Element]:
        """One polygon, there along the upper ends and back along the lower ones."""
        corners = [(x, high) for x, _, high in rows] + [(x, low) for x, low, _ in reversed(rows)]
        points = " ".join(f"{canvas.x(x):.1f},{canvas.y(y):.1f}" for x, y in corners)
        yield ET.Element("polygon", {"points": points, "fill": self._fill_color})


class Cells(Drawn):
    """A heat map: (x from, row's name, x to, share of the darkest, what a pointer shows)."""

    def draw(self, canvas: Canvas, rows: Sequence[Row]) -> Iterator[ET.Element]:
        """One rectangle a cell."""
        high = canvas.row_height
        for begins, name, ends, share, says in rows:
            left, right = canvas.x(begins), canvas.x(ends)
            place = {"x": f"{left:.1f}", "y": f"{canvas.y(name) - high / 2 + 1:.1f}"}
            size = {"width": f"{max(1.0, right - left - 1):.1f}", "height": f"{high - 2:.1f}"}
            # Never quite empty: a unit that was not read at all has no cell.
            cell = ET.Element("rect", {**place, **size, "fill": self._fill_color, "fill-opacity": f"{share:.2f}"})
            yield _says(cell, says)


class Bars(Drawn):
    """A length in each row: (value, row's name, label, colour)."""

    def draw(self, canvas: Canvas, rows: Sequence[Row]) -> Iterator[ET.Element]:
        """A rectangle and its label behind it, or within it where there is no room behind."""
        high = canvas.row_height * THICKNESS
        for value, name, label, color in rows:
            left, right, middle = canvas.x(0), canvas.x(value), canvas.y(name)
            place = {"x": f"{left:.1f}", "y": f"{middle - high / 2:.1f}"}
            yield ET.Element("rect", {**place, "width": f"{right - left:.1f}", "height": f"{high:.1f}", "fill": color})
            within = right + len(label) * CHARACTER > canvas.width
            at = right - 5 if within else right + 5
            yield _words(at, middle + 4, label, anchor="end" if within else "start", color=PAPER if within else INK)


class Intervals(Drawn):
    """A value with its interval in each row: (value, row's name, low, high, how far above its middle, what it says).

    ``low`` and ``high`` are None where the interval is not known.
    """

    def draw(self, canvas: Canvas, rows: Sequence[Row]) -> Iterator[ET.Element]:
        """A line with ends, and a dot."""
        for value, name, low, high, above, says in rows:
            y = canvas.y(name) - above * canvas.row_height
            if low is not None and high is not None:
                left, right = canvas.x(low), canvas.x(high)
                ends = f"M{left:.1f} {y - 4:.1f}v8M{left:.1f} {y:.1f}H{right:.1f}M{right:.1f} {y - 4:.1f}v8"
                yield ET.Element("path", {"d": ends, "stroke": self._fill_color, "stroke-width": "2", "fill": "none"})
            dot = {"cx": f"{canvas.x(value):.1f}", "cy": f"{y:.1f}", "r": "4.5", "fill": self._fill_color}
            yield _says(ET.Element("circle", dot), says)


class Changes(Drawn):
    """From one value to another in each row: (after, row's name, before, what it says)."""

    def draw(self, canvas: Canvas, rows: Sequence[Row]) -> Iterator[ET.Element]:
        """A ring before, a dot after, and a line between them."""
        for after, name, before, says in rows:
            y, there, here = canvas.y(name), canvas.x(before), canvas.x(after)
            color = self._fill_color
            yield ET.Element("path", {"d": f"M{there:.1f} {y:.1f}H{here:.1f}", "stroke": color, "stroke-width": "2"})
            ring = {"cx": f"{there:.1f}", "cy": f"{y:.1f}", "r": "4.5", "fill": PAPER, "stroke": color}
            yield ET.Element("circle", {**ring, "stroke-width": "2"})
            dot = {"cx": f"{here:.1f}", "cy": f"{y:.1f}", "r": "5", "fill": color}
            yield _says(ET.Element("circle", dot), says)


class Moments(Drawn):
    """Vertical lines at values of x: (x, any y, what it says)."""

    def draw(self, canvas: Canvas, rows: Sequence[Row]) -> Iterator[ET.Element]:
        """A dashed line from top to bottom each."""
        for at, _, says in rows:
            path = {"d": f"M{canvas.x(at):.1f} 0V{canvas.height:.1f}", "stroke": self._fill_color}
            yield _says(ET.Element("path", {**path, "stroke-dasharray": "2 3", "stroke-width": "1.5"}), says)


class Marks(Drawn):
    """Named points, each of another shape: (x, y, name)."""

    def __init__(self) -> None:
        super().__init__(INK, in_legend=False)

    def draw(self, canvas: Canvas, rows: Sequence[Row]) -> Iterator[ET.Element]:
        """A line down to the axis, a sign, and the name on the side that has room, one below the other."""
        for at, (value, height, name) in enumerate(rows):
            x, y = canvas.x(value), canvas.y(height)
            path = {"d": f"M{x:.1f} {y:.1f}V{canvas.height:.1f}", "stroke": MUTED, "stroke-dasharray": "2 3"}
            yield ET.Element("path", path)
            yield _sign(x, y, at)
            leftward = x > canvas.width / 2
            below = min(canvas.height - 30, y + 22) + 17 * at
            yield _words(x - 10 if leftward else x + 10, below, name, anchor="end" if leftward else "start")


def _sign(x: float, y: float, at: int) -> ET.Element:
    """A square or a ring, in turn."""
    if at % 2 == 0:
        return ET.Element(
            "rect", {"x": f"{x - 5:.1f}", "y": f"{y - 5:.1f}", "width": "10", "height": "10", "fill": INK}
        )
    ring = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "7", "fill": "none"}
    return ET.Element("circle", {**ring, "stroke": INK, "stroke-width": "2"})


def _words(x: float, y: float, words: str, *, anchor: str, color: str = INK) -> ET.Element:
    """Words that can be read across lines."""
    halo = {} if color == PAPER else {"stroke": PAPER, "stroke-width": "4", "paint-order": "stroke"}
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor, "font-size": str(FONT_SIZE)}
    text = ET.Element("text", {**place, "fill": color, **halo})
    text.text = words
    return text


def _says(element: ET.Element, words: str) -> ET.Element:
    """The element with what a pointer shows over it."""
    ET.SubElement(element, "title").text = words
    return element


MOST_LONG_LABELS, LONG_LABEL_EDGE = 2, 0.03  # labels of a day and a time; share of the axis at either end without
MOST_TIME_TICKS: Final = 7
_HOUR: Final = 3600
_TIME_STEPS: Final = (
    *(60 * minutes for minutes in (1, 2, 5, 10, 20, 30)),
    *(_HOUR * hours for hours in (1, 2, 3, 6, 12, 24, 48, 96, 168, 336, 672, 2016, 4032)),
)
_DAY_STEP: Final = 24 * _HOUR
_LEAST: Final = 1e-6  # the top of an axis on which nothing is more than 0


class Exact(Scale):
    """A linear scale that ends where it is said to: the library's own goes on to the next tick."""

    def __init__(self, least: float, most: float, ticks: Sequence[float]) -> None:
        self._least, self._most, self._ticks = least, most, ticks

    def contains(self, value: float) -> bool:
        """Whether it lies within."""
        return self._least <= value <= self._most

    def project(self, value: float, range_min: float, range_max: float) -> float:
        """Where a value is in the range."""
        share = (float(value) - self._least) / (self._most - self._least)
        return float(range_min) + share * (float(range_max) - float(range_min))

    def ticks(self) -> Sequence[float]:
        """Where lines and labels are."""
        return self._ticks


class Logarithmic(Exact):
    """Powers of ten, from the one below the least to the one above the most."""

    def __init__(self, least: float, most: float) -> None:
        low, high = floor(log10(least)), floor(log10(most)) + 1
        super().__init__(low, high, [10.0**power for power in range(low, high + 1)])

    def contains(self, value: float) -> bool:
        """Whether it lies within."""
        return value > 0 and super().contains(log10(value))

    def project(self, value: float, range_min: float, range_max: float) -> float:
        """Where a value is in the range."""
        return super().project(log10(value), range_min, range_max)


def add(chart: Chart, shape: Shape, rows: Sequence[Row], name: str = "") -> None:
    """A series of rows whose first two columns are x and y; nothing where there are none."""
    if rows:
        chart.add_series(Series(list(rows), name=name), shape)


def upward_from_zero(chart: Chart, most: float, label: Callable[[float], str] = "{:g}".format) -> None:
    """A vertical axis from 0, with ticks at round figures."""
    chart.set_y_scale(Linear(0.0, max(most, _LEAST)))
    chart.add_y_axis(tick_formatter=lambda value, _, __: label(float(value)))


def across_from_zero(chart: Chart, most: float, label: Callable[[float], str] = "{:g}".format) -> None:
    """The same from left to right."""
    chart.set_x_scale(Linear(0.0, max(most, _LEAST)))
    chart.add_x_axis(tick_formatter=lambda value, _, __: label(float(value)))


def byte_unit(most: float) -> float:
    """The largest binary unit that is not larger than that: values are divided by it, so that ticks are round."""
    return float(1024.0 ** floor(log10(max(1.0, most)) / log10(1024)))


def byte_label(unit: float) -> Callable[[float], str]:
    """Labels of an axis in that unit."""
    return lambda value: format_bytes(value * unit).replace(".0 ", " ")


def over_time(chart: Chart, since: datetime, until: datetime) -> None:
    """A horizontal axis of instants as seconds since 1970, labelled in the zone of this machine."""
    ticks = time_ticks(since, until)
    by_day = len(ticks) < 2 or ticks[1] - ticks[0] >= _DAY_STEP - _HOUR  # a day in spring has 23 hours
    pattern = "%d %b" if by_day else "%d %b %H:%M" if until - since > timedelta(days=1) else "%H:%M"
    if pattern == "%d %b %H:%M":
        ticks = _with_long_labels(ticks, since.timestamp(), until.timestamp())
    chart.set_x_scale(Exact(since.timestamp(), until.timestamp(), ticks))
    chart.add_x_axis(tick_formatter=lambda value, _, __: datetime.fromtimestamp(value).astimezone().strftime(pattern))


def _with_long_labels(ticks: list[float], since: float, until: float) -> list[float]:
    """Those whose labels, of a day and a time, neither touch one another nor leave the picture at its ends."""
    edge = (until - since) * LONG_LABEL_EDGE
    within = [tick for tick in ticks if since + edge <= tick <= until - edge]
    return within[:: -(-len(within) // MOST_LONG_LABELS)] if within else ticks[:1]


def time_ticks(since: datetime, until: datetime) -> list[float]:
    """Round instants within a period, in the zone of this machine, as seconds since 1970; eight at most."""
    span = (until - since).total_seconds()
    step = next((step for step in _TIME_STEPS if span / step <= MOST_TIME_TICKS), _TIME_STEPS[-1])
    midnight = since.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    ticks = []
    at = midnight.replace(tzinfo=None)
    while (instant := at.astimezone().timestamp()) <= until.timestamp():
        if instant >= since.timestamp():
            ticks.append(instant)
        at += timedelta(seconds=step)
    return ticks


def rows_with_names(chart: Chart, names: Sequence[str], label: Callable[[str], str] = str) -> None:
    """A vertical axis of names, the first one on top."""
    chart.set_y_scale(Ordinal(list(reversed(names))))
    chart.add_y_axis(tick_formatter=lambda value, _, __: label(value))


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
    marks = [(curve.across(mark) * right, _up(curve, mark), words(curve, mark)) for mark in curve.drawn]
    if marks:
        add(chart, Marks(), marks)
    return Figure(name="sizing", title=curve.title, says=says(curve), chart=chart, width=width, height=height)


def words(curve: Curve, mark: ChartMark) -> str:
    """A named size with its figures."""
    beyond = "" if mark in curve.drawn else ", more than there is to put there"
    share = format_ratio(mark.saved_per_hour / curve.most_per_hour)
    return f"{mark.name}: {format_bytes(mark.size_bytes)}, {share}{beyond}"


def says(curve: Curve) -> str:
    """What the axes are, and the figures of the named sizes."""
    whole = f"with everything on it, 100%, {format_wait(curve.most_per_hour)} are saved"
    marks = "; ".join(words(curve, mark) for mark in curve.marks)
    shaded = " Shaded: by how queues shorten." if curve.between_per_hour else ""
    axes = "Share of the wait saved, over bytes on the fastest tier (head-room comes on top)"
    return f"{axes}; {whole}. Marked: {marks}.{shaded}"


def _up(curve: Curve, mark: ChartMark) -> float:
    return _within(mark.saved_per_hour, curve.most_per_hour)


def _within(value: float, most: float) -> float:
    """As a share of the most, 0 to 1."""
    return min(1.0, max(0.0, value / most))
