"""Minima of convex functions of prices, by the ellipsoid method with deep cuts (Shor; Yudin and Nemirovski).

A dual is convex and piecewise linear in the prices, and a subgradient is free: capacity less consumption. With two to
eight resources an ellipsoid in price space shrinks fast, needs no step size, and ends with a proof of how near it is.
Subgradient descent needs tuned steps and has no such proof; bisection works for a single resource only.

Several functions are minimised side by side, one ellipsoid each. An ellipsoid is represented by axes that map the unit
ball to it, ``centre + axes @ ball``. The textbook form is the matrix ``axes @ axes.T``; it squares the condition number
and so loses half the digits when two resources are consumed nearly alike and the ellipsoid becomes long and thin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from connectors.model import F64, I64

Depth = TypeVar("Depth", float, F64)
CLOSE = 1e-9  # relative tolerance of a bound
_ROUNDS = 400  # most cuts, times the number of resources

# Values ``(s,)`` and subgradients ``(s, k)`` of the functions of some rows ``(s,)`` at prices ``(s, k)``.
Evaluate = Callable[[I64, F64], tuple[F64, F64]]


@dataclass(frozen=True, slots=True)
class Minima:
    """The lowest that was found of each of ``s`` functions, and all that was tried, the lowest first."""

    price: F64  # (s, k)
    tried: F64  # (tries, k), of all functions


def minimise(
    evaluate: Evaluate, centre: F64, radius: F64, rounds: int, *, relative: float = 0.0, absolute: float = 0.0
) -> Minima:
    """Minimise over the non-negative prices.

    Args:
        evaluate: the functions.
        centre: prices at which each begins, shape ``(s, k)``.
        radius: half lengths of its first ellipsoid, shape ``(s, k)``.
        rounds: most cuts of each.
        relative: tolerance of the value, as a share of it.
        absolute: tolerance of the value.
    """
    unit = np.eye(centre.shape[1])
    axes = radius[:, :, np.newaxis] * unit
    best, lowest_value, row = centre.copy(), np.full(len(centre), np.inf), np.arange(len(centre))
    values, tried = [np.zeros(0)], [np.zeros((0, centre.shape[1]))]
    for _ in range(rounds):
        depth = -centre.min(axis=1)
        outside = depth > 0
        # Cut without evaluating: at a negative price the sum is no bound, since overdrawing a resource would be
        # rewarded, and an evaluation costs a pass over all items.
        if outside.all():
            slope, near = -unit[centre.argmin(axis=1)], 0.0 * depth
        else:
            value, slope = evaluate(row, centre)
            near = np.where(outside, 0.0, relative * np.abs(value) + absolute)
            if outside.any():
                value[outside], slope[outside] = np.inf, -unit[centre[outside].argmin(axis=1)]
            values.append(value)
            tried.append(centre)
            better = value < lowest_value[row]
            lowest_value[row[better]], best[row[better]] = value[better], centre[better]
            # A deep cut, through the best value seen: where the linear minorant exceeds it there can be no minimum. A
            # cut through the centre would keep that part, and need more evaluations.
            depth = np.where(outside, depth, value - lowest_value[row])
        direction = (slope[:, np.newaxis] @ axes)[:, 0]
        half_width = np.sqrt((direction * direction).sum(axis=1))
        # The function cannot fall by more than the half width inside the ellipsoid, so this is also the proof of how
        # near the best value is to the minimum.
        live = half_width > np.maximum(depth, near)
        if not live.all():
            row, centre, axes = row[live], centre[live], axes[live]
            direction, half_width, depth = direction[live], half_width[live], depth[live]
        if not len(row):
            break
        half_width = half_width[:, np.newaxis]
        centre, axes = _cut(centre, axes, direction / half_width, depth[:, np.newaxis] / half_width)
    found = np.concatenate(values)
    order = np.argsort(found, kind="stable")[: np.count_nonzero(np.isfinite(found))]
    return Minima(best, np.concatenate(tried)[order])


def minimise_within(evaluate: Evaluate, limits: F64, worth: float = 0.0, close: float = CLOSE) -> F64:
    """Prices tried while minimising one function over the box up to some limits, the best first, ``(tries, k)``.

    Args:
        evaluate: the function, as the only row.
        limits: upper bound of the optimal price of each resource.
        worth: is added to the function's value where the tolerance is taken.
        close: tolerance, as a share of the value.
    """
    resources = len(limits)
    # The smallest ellipsoid around the box.
    centre, radius = limits[np.newaxis] / 2, limits[np.newaxis] * np.sqrt(resources / 4)
    rounds = _ROUNDS * resources
    return minimise(evaluate, centre, radius, rounds, relative=close, absolute=close * max(worth, 0.0)).tried


def _cut(centre: F64, axes: F64, direction: F64, depth: F64) -> tuple[F64, F64]:
    """Centres ``(s, k)`` and axes ``(s, k, k)`` after one cut each.

    Args:
        centre: of each.
        axes: of each.
        direction: unit normal of each cut, in the coordinates of the ball that the axes map, shape ``(s, k)``.
        depth: of each cut, shape ``(s, 1)``.
    """
    shift, kept, growth = enclosing_cut(centre.shape[1], depth)
    step = (axes @ direction[:, :, np.newaxis])[:, :, 0]
    shorter = step[:, :, np.newaxis] * (direction * (1 - kept))[:, np.newaxis]
    return centre - step * shift, (axes - shorter) * growth[:, :, np.newaxis]


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
