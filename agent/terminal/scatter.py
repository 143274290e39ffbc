"""Predicted against measured, drawn with plain characters."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from connectors.formatting import format_ratio

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
