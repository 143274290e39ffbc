"""A curve drawn for people: in a terminal with plain characters, and as an SVG file. Neither needs colour.

Both plot the wait saved over the size of the fastest tier, from nothing to everything: the bound, what whole
objects reach, and the marks (knee, present size). The SVG also shades how far off that may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10

import numpy as np

from connectors.formatting import format_bytes, format_ratio, format_sessions

NARROWEST, WIDEST = 40, 120  # columns of a terminal that are used
HEIGHT = 14  # lines of the plot
LABEL = 5  # columns of "100% "
REACHED, UPPER = "#", "."
SVG_WIDTH, SVG_HEIGHT = 800, 480
LEFT, RIGHT, TOP, BOTTOM = 90, 770, 76, 400  # of the plot within the picture
REACHED_STROKE = 'stroke="black" stroke-width="2.5"'
UPPER_STROKE = 'stroke="#666" stroke-width="1.5" stroke-dasharray="6 4"'
_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A size that is named."""

    sign: str  # one character
    name: str
    size_bytes: int
    saved_per_hour: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Points by rising size, from nothing to at least ``most_bytes``."""

    title: str
    size_bytes: Sequence[int]
    saved_per_hour: Sequence[float]  # by whole objects
    bound_per_hour: Sequence[float]  # upper curve
    most_bytes: int  # right end of the picture, > 0
    most_per_hour: float  # top of the picture, > 0
    marks: tuple[Mark, ...]
    between_per_hour: Sequence[tuple[float, float]] = ()  # ends of what whole objects save; empty: not said

    def upper(self, size: float) -> float:
        """The upper curve at a size, as a share of the top."""
        return float(np.interp(size, self.size_bytes, self.bound_per_hour)) / self.most_per_hour

    def share_at(self, size: float) -> float:
        """What whole objects reach at a size: as much as at the last point before it."""
        at = int(np.searchsorted(self.size_bytes, size, side="right")) - 1
        return self.saved_per_hour[max(0, at)] / self.most_per_hour

    def across(self, mark: Mark) -> float:
        """How far to the right a mark is, 0 to 1; a size beyond the end stands at the end."""
        return min(1.0, mark.size_bytes / self.most_bytes)


def text_chart(curve: Curve, width: int) -> list[str]:
    """The curve as lines of plain characters, none longer than ``width`` (which is taken within reason)."""
    columns = min(WIDEST, max(NARROWEST, width)) - LABEL - 2
    grid = [[" "] * columns for _ in range(HEIGHT + 1)]
    for column in range(columns):
        size = column / (columns - 1) * curve.most_bytes
        for share, sign in ((curve.upper(size), UPPER), (curve.share_at(size), REACHED)):
            grid[_line(share)][column] = sign
    for mark in curve.marks:
        row, column = grid[_line(mark.saved_per_hour / curve.most_per_hour)], round(curve.across(mark) * (columns - 1))
        taken = row[column] not in (" ", REACHED, UPPER)
        row[column + (1 if column + 1 < columns else -1) if taken else column] = mark.sign
    lines = [_row(at, row) for at, row in enumerate(grid)]
    lines.append(" " * LABEL + "+" + "-" * columns)
    lines.append(" " * (LABEL + 1) + _ruler(curve.most_bytes, columns))
    return lines


def _line(share: float) -> int:
    """Line of the grid, 0 at the top."""
    return HEIGHT - round(min(1.0, max(0.0, share)) * HEIGHT)


def _row(at: int, cells: Sequence[str]) -> str:
    share = 1 - at / HEIGHT
    label = f"{share:.0%}" if at * 2 % HEIGHT == 0 else ""
    return f"{label:>{LABEL}}|{''.join(cells).rstrip()}"


def _ruler(most_bytes: int, columns: int) -> str:
    """Sizes below the axis, as many as have room."""
    for parts in (4, 2, 1):
        labels = [format_bytes(most_bytes * part / parts) for part in range(parts + 1)]
        if sum(len(label) + 2 for label in labels) <= columns:
            break
    line = [" "] * columns
    for part, label in enumerate(labels):
        begin = min(columns - len(label), max(0, round(part / parts * (columns - 1)) - len(label) // 2))
        line[begin : begin + len(label)] = label
    return "".join(line).rstrip()


def svg_chart(curve: Curve) -> str:
    """The curve as one SVG document, axes with units, readable in black and white."""
    body = [
        f'<rect width="{SVG_WIDTH}" height="{SVG_HEIGHT}" fill="white"/>',
        _text(LEFT, 28, curve.title, size=17),
        *_x_axis(curve),
        *_y_axis(curve),
        *_band(curve),
        f'<polyline points="{_upper_path(curve)}" fill="none" {UPPER_STROKE}/>',
        f'<polyline points="{_reached_path(curve)}" fill="none" {REACHED_STROKE}/>',
        *(_drop(curve, mark) for mark in curve.marks),
        *(line for at, mark in enumerate(curve.marks) for line in _mark(curve, mark, at)),
        *_legend(),
    ]
    size = f'width="{SVG_WIDTH}" height="{SVG_HEIGHT}" viewBox="0 0 {SVG_WIDTH} {SVG_HEIGHT}"'
    head = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="sans-serif">',
        f"<title>{_escape(curve.title)}</title>",
    ]
    return "\n".join([*head, *body, "</svg>\n"])


def _x(curve: Curve, size: float) -> float:
    return LEFT + min(1.0, size / curve.most_bytes) * (RIGHT - LEFT)


def _y(curve: Curve, saved: float) -> float:
    return BOTTOM - min(1.0, saved / curve.most_per_hour) * (BOTTOM - TOP)


def _band(curve: Curve) -> list[str]:
    """From the lower to the upper end of what is saved, straight between the points."""
    if not curve.between_per_hour:
        return []
    ends = list(zip(curve.size_bytes, curve.between_per_hour, strict=True))
    along = [(size, high) for size, (_, high) in ends] + [(size, low) for size, (low, _) in reversed(ends)]
    points = " ".join(f"{_x(curve, size):.1f},{_y(curve, value):.1f}" for size, value in along)
    return [
        f'<polygon points="{points}" fill="#eee"/>',
        _text(LEFT + 440, SVG_HEIGHT - 14, "shaded: by how queues shorten"),
    ]


def _upper_path(curve: Curve) -> str:
    pairs = zip(curve.size_bytes, curve.bound_per_hour, strict=True)
    return " ".join(f"{_x(curve, size):.1f},{_y(curve, value):.1f}" for size, value in pairs)


def _reached_path(curve: Curve) -> str:
    """Steps: between two points no more is known than what the smaller one reaches."""
    corners: list[str] = []
    height = _y(curve, 0.0)
    for size, value in zip(curve.size_bytes, curve.saved_per_hour, strict=True):
        across = _x(curve, size)
        corners.append(f"{across:.1f},{height:.1f}")
        height = _y(curve, value)
        corners.append(f"{across:.1f},{height:.1f}")
    return " ".join(corners)


def _x_axis(curve: Curve) -> list[str]:
    unit = 1024.0 ** floor(log10(max(1, curve.most_bytes)) / log10(1024))
    lines = [_line_of(LEFT, BOTTOM, RIGHT, BOTTOM)]
    for tick in _ticks(curve.most_bytes / unit):
        x = _x(curve, tick * unit)
        lines += [_line_of(x, BOTTOM, x, BOTTOM + 5), _text(x, BOTTOM + 20, format_bytes(tick * unit), anchor="middle")]
    middle = (LEFT + RIGHT) / 2
    return [*lines, _text(middle, BOTTOM + 42, "bytes on the fastest tier (head-room comes on top)", anchor="middle")]


def _y_axis(curve: Curve) -> list[str]:
    lines = [_line_of(LEFT, TOP, LEFT, BOTTOM)]
    for percent in (0, 25, 50, 75, 100):
        value = curve.most_per_hour * percent / 100
        y = _y(curve, value)
        lines += [
            _line_of(LEFT - 5, y, LEFT, y),
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}" stroke="#ddd"/>',
            _text(LEFT - 8, y - 2, format_sessions(value), anchor="end"),
            _text(LEFT - 8, y + 11, f"{percent}%", anchor="end", size=10),
        ]
    return [*lines, _text(12, TOP - 26, "waiting sessions saved, and share of what all on it would save")]


def _drop(curve: Curve, mark: Mark) -> str:
    """A dotted line from a mark down to the axis."""
    x, y = _x(curve, mark.size_bytes), _y(curve, mark.saved_per_hour)
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{BOTTOM}" stroke="black" stroke-dasharray="2 3"/>'


def _mark(curve: Curve, mark: Mark, at: int) -> list[str]:
    """A sign on the curve, each of another shape, and its name with figures."""
    x, y = _x(curve, mark.size_bytes), _y(curve, mark.saved_per_hour)
    share = format_ratio(mark.saved_per_hour / curve.most_per_hour)
    name = f"{mark.name}: {format_bytes(mark.size_bytes)}, {share}"
    left_of = x > (LEFT + RIGHT) / 2
    shape = (
        f'<rect x="{x - 6:.1f}" y="{y - 6:.1f}" width="12" height="12" fill="black"/>'
        if at % 2 == 0
        else f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="none" stroke="black" stroke-width="2"/>'
    )
    label_y = min(BOTTOM - 30, max(TOP + 24, y + 26)) + 18 * at
    return [
        shape,
        _text(x - 12 if left_of else x + 12, label_y, name, anchor="end" if left_of else "start", size=13, halo=True),
    ]


def _legend() -> list[str]:
    y = SVG_HEIGHT - 14
    return [
        f'<line x1="{LEFT}" y1="{y - 4}" x2="{LEFT + 30}" y2="{y - 4}" {REACHED_STROKE}/>',
        _text(LEFT + 38, y, "whole objects"),
        f'<line x1="{LEFT + 170}" y1="{y - 4}" x2="{LEFT + 200}" y2="{y - 4}" {UPPER_STROKE}/>',
        _text(LEFT + 208, y, "upper bound: no placement saves more"),
    ]


def _ticks(most: float) -> list[float]:
    """Round figures from 0 to ``most``, about five of them."""
    power = 10.0 ** floor(log10(most / 6))
    step = next(power * step for step in _STEPS if power * step * 6 >= most)
    return [at * step for at in range(int(most / step + 1e-9) + 1)]


def _line_of(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="black"/>'


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12, halo: bool = False) -> str:
    """Words at a place; with a halo they can be read across lines."""
    paint = ' stroke="white" stroke-width="4" paint-order="stroke"' if halo else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{paint}>{_escape(words)}</text>'


def _escape(words: str) -> str:
    """Text as XML takes it: control characters are not allowed in it at all."""
    return escape("".join(c if c.isprintable() else "\ufffd" for c in words))
