"""An ellipsoid that contains the minimum of a convex function, and cuts that shrink it (Shor; Yudin and Nemirovski).

Represented by axes that map the unit ball to it, ``centre + axes @ ball``. The textbook form is the matrix
``axes @ axes.T``; it squares the condition number and so loses half the digits when two resources are consumed nearly
alike and the ellipsoid becomes long and thin.
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
    """Contains the non-negative prices at which a convex function is lowest; every evaluation shrinks it."""

    centre: F64  # (n,)
    axes: F64  # (n, n)
    lowest_value: float = inf  # of the function so far

    @classmethod
    def around(cls, n: int) -> Ellipsoid:
        """The smallest ball around all prices from 0 to 1."""
        return cls(np.full(n, 0.5), np.eye(n) * np.sqrt(n / 4))

    def cut(self, look: Callable[[F64], tuple[float, F64]], close: float) -> bool:
        """Cut away a part that cannot contain the minimum: negative prices, or prices worse than the best one seen.

        Args:
            look: evaluates the function and a subgradient at some prices.
            close: relative tolerance of the function's value.

        Returns:
            False once the minimum is within the tolerance, or nothing is left to cut.
        """
        lowest = int(np.argmin(self.centre))
        if self.centre[lowest] < 0:
            # Cut without evaluating: at a negative price the sum is no bound, since overdrawing a resource would be
            # rewarded, and an evaluation costs a pass over all items.
            slope, excess, near = np.zeros(len(self.centre)), -float(self.centre[lowest]), 0.0
            slope[lowest] = -1.0
        else:
            value, slope = look(self.centre)
            self.lowest_value = min(self.lowest_value, value)
            # A deep cut, through the best value seen: where the linear minorant exceeds it there can be no minimum. A
            # cut through the centre would keep that part, and need more evaluations.
            excess, near = value - self.lowest_value, close * abs(value)
        direction = slope @ self.axes
        half_width = float(np.sqrt(direction @ direction))
        # The function cannot fall by more than the half width inside the ellipsoid, so this is also the proof of how
        # near the best value is to the minimum.
        if half_width <= max(excess, near):
            return False
        shift, kept, growth = enclosing_cut(len(self.centre), excess / half_width)
        step = self.axes @ (direction / half_width)
        self.centre = self.centre - step * shift
        self.axes = (self.axes - step[:, np.newaxis] * (direction * ((1 - kept) / half_width))) * growth
        return True


def enclosing_cut(n: int, depth: Depth) -> tuple[Depth, Depth, Depth]:
    """The smallest ellipsoid around what a half-space leaves of an ellipsoid.

    Args:
        n: dimensions.
        depth: of the cut, 0 through the centre to 1 at the far end; one or several.

    Returns:
        the shift of the centre and the length left, both in the direction of the cut and as shares of the old half
            width;
        and the factor by which all lengths grow afterwards.
    """
    # In one dimension the ellipsoid is an interval; the general formula would divide by n * n - 1 = 0.
    if n == 1:
        return (1 + depth) / 2, (1 - depth) / 2, depth**0  # 1, for each
    left = (n - 1) * (1 - depth) / ((n + 1) * (1 + depth))
    return (1 + n * depth) / (n + 1), left**0.5, (n * n / (n * n - 1) * (1 - depth * depth)) ** 0.5
