"""A failing run with as few events as it takes: leave out halves, then quarters, then one after the other."""

from __future__ import annotations

from collections.abc import Callable


def shrink(numbers: list[int], fails: Callable[[list[int]], bool]) -> list[int]:
    """The smallest part that was found which still fails (delta debugging, Zeller 1999, without its complements).

    Args:
        numbers: of the events of a run that fails.
        fails: whether the run fails with those events alone.
    """
    size = max(1, len(numbers) // 2)
    while numbers:
        for start in range(0, len(numbers), size):
            rest = numbers[:start] + numbers[start + size :]
            if fails(rest):
                numbers = rest
                break
        else:
            if size == 1:
                return numbers
            size = max(1, size // 2)
        size = min(size, max(1, len(numbers)))
    return numbers
