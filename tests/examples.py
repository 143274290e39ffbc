"""How many examples a property is tried on: a third in ``make test``, others each time; all in ``make soak``."""

from __future__ import annotations

import os

WHOLE = "HOTPLACE_ALL_EXAMPLES"  # set: as many as the test names
SHARE, FEW = 3, 5


def examples(number: int) -> int:
    """That many, or a third of them; a few are always tried."""
    return number if os.environ.get(WHOLE) else min(number, max(number // SHARE, FEW))
