"""How much of what could be tried is tried in ``make test``; all of it in ``make soak``.

A property is tried on a third of its examples, others each time; of values that are tried at many places each place has
one, by turns.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

Value = TypeVar("Value")
WHOLE = "HOTPLACE_ALL_EXAMPLES"  # set: as many as the test names
SHARE, FEW = 3, 5


def examples(number: int) -> int:
    """That many, or a third of them; a few are always tried."""
    return number if os.environ.get(WHOLE) else min(number, max(number // SHARE, FEW))


def by_turns(values: Sequence[Value], place: int) -> Sequence[Value]:
    """All of them in ``make soak``, else the one whose turn it is at that place."""
    return values if os.environ.get(WHOLE) else (values[place % len(values)],)
