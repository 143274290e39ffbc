"""A few numbers as one line of blocks: how something went, where there is no room for a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
