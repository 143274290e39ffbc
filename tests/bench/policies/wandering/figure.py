"""Gain over time for each shape, next to the rules, as an SVG picture: small multiples, one for each shape.

``python -m tests.bench.policies.wandering.figure`` draws it from ``wandering_days.json``, which the table writes. Each
day's gain is drawn as a share of what no placement of whole units can exceed on that day, so that 100 % is hindsight.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from tests.bench.policies.wandering import days
from tests.bench.policies.wandering.frozen import HELD_OUT
from tests.bench.policies.wandering.table import COMMAND

PATH = Path(__file__).parents[4] / "docs" / "pages" / "wandering.svg"
COLUMNS = 4
WIDE, HIGH = 220, 120  # of one panel's axes
STEP_X, STEP_Y = 250, 170
LEFT, TOP = 50, 120
MOST = 1.25  # the top of the axis; a cache of pages may exceed 1
UPWARD = (0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pen:
    """How one contestant is drawn: SVG stroke, and its name in the legend."""

    name: str
    style: str


RULES = (
    Pen(name="daily 24 h mean", style='stroke="#8c6d31" stroke-width="1"'),
    Pen(name="6 h mean, residents x2", style='stroke="#31a354" stroke-width="1"'),
    Pen(name="per 6 h, residents x2", style='stroke="#756bb1" stroke-width="1"'),
    Pen(name="LFU with ageing", style='stroke="#e6550d" stroke-width="1"'),
    Pen(name="busiest first", style='stroke="#bdbdbd" stroke-width="1"'),
    Pen(name="LRU, 80/20 pages", style='stroke="#636363" stroke-width="1" stroke-dasharray="2 2"'),
    Pen(name="best fixed", style='stroke="black" stroke-width="1" stroke-dasharray="6 3"'),
)
OURS = Pen(name="hotplace", style='stroke="#08519c" stroke-width="2.2"')
PENS = (*RULES, OURS)  # hotplace above the others


def draw(shapes: dict[str, days.Days]) -> str:
    """The document."""
    high = TOP + -(-len(shapes) // COLUMNS) * STEP_Y
    width = LEFT + COLUMNS * STEP_X
    title = "Gain of each day, of what no placement of whole units can exceed on that day"
    body = [
        f'<rect width="{width}" height="{high}" fill="white"/>',
        _text(LEFT, 26, title, size=16),
        *_legend(),
        *(part for at, (shape, of) in enumerate(shapes.items()) for part in _panel(at, shape, of)),
    ]
    size = f'width="{width}" height="{high}" viewBox="0 0 {width} {high}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="sans-serif">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, f"<title>{title}</title>", *body, "</svg>\n"])


def _legend() -> Iterator[str]:
    for at, pen in enumerate(PENS):
        x, y = LEFT + at % COLUMNS * STEP_X, 50 + at // COLUMNS * 18
        yield f'<line x1="{x}" y1="{y}" x2="{x + 30}" y2="{y}" {pen.style}/>'
        yield _text(x + 36, y + 4, pen.name, size=12)


def _panel(at: int, shape: str, of: days.Days) -> Iterator[str]:
    x, y = LEFT + at % COLUMNS * STEP_X, TOP + at // COLUMNS * STEP_Y
    count = len(of["most"])
    yield f'<g transform="translate({x} {y})">'
    mark = " (held out)" if shape in HELD_OUT else ""
    yield _text(0, -6, f"{shape.replace('_', ' ')}, {len(of['seeds'])} seeds{mark}", size=12)
    for share in UPWARD:
        level = _y(share)
        yield f'<line x1="0" y1="{level:.0f}" x2="{WIDE}" y2="{level:.0f}" stroke="#ddd"/>'
        yield _text(-4, level + 4, f"{share:.0%}", size=10, anchor="end")
    for week in range(0, count + 1, 7):
        across = week / count * WIDE
        yield f'<line x1="{across:.0f}" y1="0" x2="{across:.0f}" y2="{HIGH}" stroke="#eee"/>'
        yield _text(across, HIGH + 13, f"day {week}" if not week else str(week), size=10, anchor="middle")
    yield from (_line(pen, of["gains"][pen.name], of["most"]) for pen in PENS)
    yield "</g>"


def _line(pen: Pen, gains: Sequence[float], most: Sequence[float]) -> str:
    """Each day in its middle."""
    shares = [gain / best if best else 0.0 for gain, best in zip(gains, most, strict=True)]
    points = " ".join(f"{(day + 0.5) / len(most) * WIDE:.0f},{_y(share):.1f}" for day, share in enumerate(shares))
    return f'<polyline points="{points}" fill="none" {pen.style}/>'


def _y(share: float) -> float:
    return HIGH * (1 - min(MOST, max(0.0, share)) / MOST)


def _text(x: float, y: float, text: str, *, size: int, anchor: str = "start") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'


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
