"""The sizing curve and heat over place and time, drawn with plain characters.

The sizing curve, and how a terminal shows it with plain characters and no colour.

Wait saved over the size of the fastest tier, from nothing to everything: the bound, what whole objects reach,
and the marks (knee, present size). ``agent.pages.plots`` draws the same as SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from connectors.model.formatting import format_bytes
from connectors.model.observation import F64

NARROWEST, WIDEST = 40, 120  # columns of a terminal that are used
HEIGHT = 14  # lines of the plot
LABEL = 5  # columns of "100% "
REACHED, UPPER = "#", "."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartMark:
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
    marks: tuple[ChartMark, ...]
    between_per_hour: Sequence[tuple[float, float]] = ()  # ends of what whole objects save; empty: not said

    def upper(self, size: float) -> float:
        """The upper curve at a size, as a share of the top."""
        return float(np.interp(size, self.size_bytes, self.bound_per_hour)) / self.most_per_hour

    def share_at(self, size: float) -> float:
        """What whole objects reach at a size: as much as at the last point before it."""
        at = int(np.searchsorted(self.size_bytes, size, side="right")) - 1
        return self.saved_per_hour[max(0, at)] / self.most_per_hour

    def across(self, mark: ChartMark) -> float:
        """How far to the right a mark is, 0 to 1."""
        return mark.size_bytes / self.most_bytes

    @property
    def drawn(self) -> tuple[ChartMark, ...]:
        """The marks that lie within the picture: one beyond its end would look like a smaller size there."""
        return tuple(mark for mark in self.marks if mark.size_bytes <= self.most_bytes)


def text_chart(curve: Curve, width: int) -> list[str]:
    """The curve as lines of plain characters, none longer than ``width`` (which is taken within reason)."""
    columns = min(WIDEST, max(NARROWEST, width)) - LABEL - 2
    grid = [[" "] * columns for _ in range(HEIGHT + 1)]
    for column in range(columns):
        size = column / (columns - 1) * curve.most_bytes
        for share, sign in ((curve.upper(size), UPPER), (curve.share_at(size), REACHED)):
            grid[_line(share)][column] = sign
    for mark in curve.drawn:
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


SHADES = " .:-=+*#%@"
ROWS = 16
HEAT_LABEL = 11  # columns of "1023.9 GiB "


def heat_map(heat: F64, ends: Sequence[str], size_bytes: int, columns: int) -> list[str]:
    """Lines of a picture: places down from the first block to the last, times across from ``ends[0]`` to ``ends[1]``.

    Args:
        heat: by time and place, shape ``(times, places)``; of several that share a character the mean is shown.
        ends: what stands under the first and the last time.
        size_bytes: of all places together.
        columns: of the terminal.
    """
    across = max(1, min(columns - HEAT_LABEL - 2, len(heat)))
    cells = mean_of_rows(mean_of_rows(heat, across).T, min(ROWS, heat.shape[1]))
    top = float(cells.max(initial=0.0))
    shade = np.ceil(cells / top * (len(SHADES) - 1)).astype(np.int64) if top > 0 else np.zeros(cells.shape, np.int64)
    lines = [
        f"{format_bytes(size_bytes * row // len(cells)):>{HEAT_LABEL - 1}} |{''.join(SHADES[each] for each in own)}|"
        for row, own in enumerate(shade.tolist())
    ]
    room = max(0, across - len(ends[0]) - len(ends[1]))
    return [*lines, " " * (HEAT_LABEL + 1) + ends[0] + (" " * max(1, room) + ends[1] if len(heat) > 1 else "")]


def mean_of_rows(values: F64, rows: int) -> F64:
    """Rows made fewer, each the mean of those it stands for."""
    at = np.arange(len(values)) * rows // len(values)
    sums = np.zeros((rows, values.shape[1]))
    np.add.at(sums, at, values)
    return np.asarray(sums / np.maximum(np.bincount(at, minlength=rows), 1)[:, np.newaxis], dtype=np.float64)
