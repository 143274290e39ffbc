"""Points and lines drawn with plain characters: predicted against measured, and how something went.

A few numbers as one line of blocks: how something went, where there is no room for a picture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import isfinite

from connectors.model.formatting import format_ratio

ROWS, COLUMNS = 15, 51
LABEL = 6  # columns of "-100% "
POINT, SEVERAL, DIAGONAL = "o", "@", "."


def scatter(points: Sequence[tuple[float, float]], across: str, upwards: str) -> list[str]:
    """Lines of a plot of shares, with the diagonal where both are equal.

    Args:
        points: across and upwards, as shares; what lies outside is drawn at the edge.
        across: what is drawn to the right.
        upwards: what is drawn upwards.
    """
    known = [point for point in points if all(map(isfinite, point))]
    low = min([0.0, *(max(-1.0, min(point)) for point in known)])
    cells = [[" "] * COLUMNS for _ in range(ROWS)]
    for column in range(COLUMNS):
        cells[_at(column / (COLUMNS - 1), ROWS)][column] = DIAGONAL
    for point in known:
        column, row = (
            _at((value - low) / (1 - low), count) for value, count in zip(point, (COLUMNS, ROWS), strict=True)
        )
        cells[row][column] = SEVERAL if cells[row][column] in {POINT, SEVERAL} else POINT
    lines = [f"{_label(row, low):>{LABEL - 1}} |{''.join(cells[row])}".rstrip() for row in reversed(range(ROWS))]
    axis = " " * LABEL + "+" + "-" * COLUMNS
    ends = f"{format_ratio(low)}{'100%':>{COLUMNS - len(format_ratio(low))}}"
    note = f"{upwards} (upwards) against {across} (to the right); {DIAGONAL} as predicted"
    return [*lines, axis, " " * (LABEL + 1) + ends, note]


def _at(share: float, count: int) -> int:
    """The cell of a share of the way."""
    return min(count - 1, max(0, round(share * (count - 1))))


def _label(row: int, low: float) -> str:
    """Every other end of the scale and the middle."""
    return format_ratio(low + row / (ROWS - 1) * (1 - low)) if row in {0, ROWS // 2, ROWS - 1} else ""


BLOCKS = "▁▂▃▄▅▆▇█"
SIGNS = ".:-=+*#@"  # where the terminal's encoding has no blocks
UNKNOWN = " "


def sparkline(values: Sequence[float], *, blocks: bool = True) -> str:
    """One character a value, by its share of the largest one; a blank where it is NaN.

    Nothing is the lowest sign, so that it differs from what is not known.

    >>> sparkline([0.0, 1.0, math.nan, 8.0])
    '▁▁ █'
    >>> sparkline([1.0, 8.0], blocks=False)
    '.@'
    """
    signs = BLOCKS if blocks else SIGNS
    top = max((value for value in values if value == value), default=0.0)
    return "".join(UNKNOWN if math.isnan(value) else signs[_height(value, top, len(signs))] for value in values)


def _height(value: float, top: float, heights: int) -> int:
    return min(heights - 1, max(0, math.ceil(value / top * heights) - 1)) if top > 0 else 0
