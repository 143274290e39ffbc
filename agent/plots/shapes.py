"""Shapes that the library does not have: steps, bands, cells of a heat map, intervals, bars, marks with a name.

Each draws the rows of a series into the scales of its chart; which columns a row has is said with each.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from xml.etree import ElementTree as ET

from leather.scales import Ordinal, Scale
from leather.series import Series
from leather.shapes import Shape

from agent.plots.theme import CHARACTER, FONT_SIZE, INK, MUTED, PAPER

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
