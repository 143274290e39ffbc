"""Heat over place and time, drawn with plain characters: darker is hotter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from connectors.formatting import format_bytes
from connectors.model import F64

SHADES = " .:-=+*#%@"
ROWS = 16
LABEL = 11  # columns of "1023.9 GiB "


def heat_map(heat: F64, ends: Sequence[str], size_bytes: int, columns: int) -> list[str]:
    """Lines of a picture: places down from the first block to the last, times across from ``ends[0]`` to ``ends[1]``.

    Args:
        heat: by time and place, shape ``(times, places)``; of several that share a character the mean is shown.
        ends: what stands under the first and the last time.
        size_bytes: of all places together.
        columns: of the terminal.
    """
    across = max(1, min(columns - LABEL - 2, len(heat)))
    cells = mean_of_rows(mean_of_rows(heat, across).T, min(ROWS, heat.shape[1]))
    top = float(cells.max(initial=0.0))
    shade = np.ceil(cells / top * (len(SHADES) - 1)).astype(np.int64) if top > 0 else np.zeros(cells.shape, np.int64)
    lines = [
        f"{format_bytes(size_bytes * row // len(cells)):>{LABEL - 1}} |{''.join(SHADES[each] for each in own)}|"
        for row, own in enumerate(shade.tolist())
    ]
    room = max(0, across - len(ends[0]) - len(ends[1]))
    return [*lines, " " * (LABEL + 1) + ends[0] + (" " * max(1, room) + ends[1] if len(heat) > 1 else "")]


def mean_of_rows(values: F64, rows: int) -> F64:
    """Rows made fewer, each the mean of those it stands for."""
    at = np.arange(len(values)) * rows // len(values)
    sums = np.zeros((rows, values.shape[1]))
    np.add.at(sums, at, values)
    return np.asarray(sums / np.maximum(np.bincount(at, minlength=rows), 1)[:, np.newaxis], dtype=np.float64)
