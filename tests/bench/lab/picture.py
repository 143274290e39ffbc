"""Lines over a size, as an SVG document that reads in black and white."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 800, 480
LEFT, RIGHT, TOP, BOTTOM = 80, 770, 60, 380
QUARTERS = (0, 25, 50, 75, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line: points in per cent across and shares upward, and its SVG stroke."""

    name: str
    points: tuple[tuple[float, float], ...]
    style: str


def picture(title: str, across: str, upward: str, lines: Sequence[Line]) -> str:
    """The document. Shares below 0 and above 1 are drawn at the edge."""
    body = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 26, title, size=17),
        _text(LEFT - 60, TOP - 14, upward),
        _text((LEFT + RIGHT) / 2, BOTTOM + 40, across, anchor="middle"),
        *(part for percent in QUARTERS for part in _ticks(percent)),
        *(_line(line) for line in lines),
        *(part for at, line in enumerate(lines) for part in _legend(at, line)),
    ]
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="sans-serif">'
    return "\n".join(
        ['<?xml version="1.0" encoding="UTF-8"?>', head, f"<title>{escape(title)}</title>", *body, "</svg>\n"]
    )


def _x(percent: float) -> float:
    return LEFT + percent / 100 * (RIGHT - LEFT)


def _y(share: float) -> float:
    return BOTTOM - min(1.0, max(0.0, share)) * (BOTTOM - TOP)


def _ticks(percent: int) -> list[str]:
    x, y = _x(percent), _y(percent / 100)
    return [
        f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{BOTTOM}" stroke="#ddd"/>',
        f'<line x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}" stroke="#ddd"/>',
        _text(x, BOTTOM + 18, f"{percent} %", anchor="middle"),
        _text(LEFT - 8, y + 4, f"{percent} %", anchor="end"),
    ]


def _line(line: Line) -> str:
    points = " ".join(f"{_x(percent):.1f},{_y(share):.1f}" for percent, share in line.points)
    return f'<polyline points="{points}" fill="none" {line.style}/>'


def _legend(at: int, line: Line) -> list[str]:
    x, y = LEFT + at * 230, HEIGHT - 16
    return [f'<line x1="{x}" y1="{y - 4}" x2="{x + 28}" y2="{y - 4}" {line.style}/>', _text(x + 34, y, line.name)]


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(words)}</text>'
