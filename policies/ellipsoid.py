"""What is left of an ellipsoid that holds the best prices once some of it is cut away (Shor; Yudin and Nemirovski).

An ellipsoid is told by axes, which make a ball of length one into it: ``centre + axes @ ball``. So it stays one however
long and thin it becomes, where two resources are used alike; its matrix, ``axes @ axes.T``, would lose half the digits.
"""

from __future__ import annotations

from typing import TypeVar

from connectors.model import F64

Depth = TypeVar("Depth", float, F64)


def rest(n: int, depth: Depth) -> tuple[Depth, Depth, Depth]:
    """The smallest ellipsoid around what a cut leaves of one.

    Args:
        n: dimensions.
        depth: of the cut, 0 through the centre to 1 at the far end; one or several.

    Returns:
        how far its centre is from the old one, what is left of each length in the direction of the cut, both as shares
        of the old ellipsoid's; and by what all lengths then grow.
    """
    if n == 1:
        return (1 + depth) / 2, (1 - depth) / 2, depth**0  # 1, for each
    left = (n - 1) * (1 - depth) / ((n + 1) * (1 + depth))
    return (1 + n * depth) / (n + 1), left**0.5, (n * n / (n * n - 1) * (1 - depth * depth)) ** 0.5
