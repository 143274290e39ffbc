"""What is left of an ellipsoid that holds the best prices once some of it is cut away (Shor; Yudin and Nemirovski).

An ellipsoid is told by axes, which make a ball of length one into it: ``centre + axes @ ball``. So it stays one however
long and thin it becomes, where two resources are used alike; its matrix, ``axes @ axes.T``, would lose half the digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TypeVar

import numpy as np

from connectors.model import F64

Depth = TypeVar("Depth", float, F64)


@dataclass(slots=True)
class Ellipsoid:
    """Holds the prices, each at least 0, at which a convex figure is lowest; every look at the figure shrinks it."""

    centre: F64  # (n,)
    axes: F64  # (n, n)
    least: float = inf  # figure that was seen

    @classmethod
    def around(cls, n: int) -> Ellipsoid:
        """The smallest ball around all prices from 0 to 1."""
        return cls(np.full(n, 0.5), np.eye(n) * np.sqrt(n / 4))

    def cut(self, look: Callable[[F64], tuple[float, F64]], close: float) -> bool:
        """Cut away what cannot hold the lowest figure: prices below 0, or what is higher than the centre.

        Args:
            look: at the figure for some prices, and at a subgradient.
            close: share of the figure that is near enough.

        Returns:
            False where nothing is left to cut.
        """
        lowest = int(np.argmin(self.centre))
        if self.centre[lowest] < 0:
            slope, excess, near = np.zeros(len(self.centre)), -float(self.centre[lowest]), 0.0
            slope[lowest] = -1.0
        else:
            value, slope = look(self.centre)
            self.least = min(self.least, value)
            excess, near = value - self.least, close * abs(value)
        towards = slope @ self.axes
        reach = float(np.sqrt(towards @ towards))
        if reach <= max(excess, near):
            return False
        shift, kept, growth = rest(len(self.centre), excess / reach)
        step = self.axes @ (towards / reach)
        self.centre = self.centre - step * shift
        self.axes = (self.axes - step[:, np.newaxis] * (towards * ((1 - kept) / reach))) * growth
        return True


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
