"""Student's t without a library of statistics, which would be larger than hotplace."""

from __future__ import annotations

import math

import numpy as np

POINTS = 4097
FARTHEST = (
    12.0  # the density beyond it is nothing where freedom is large; where it is small the grid reaches to infinity
)


def reach_of(share: float, freedom: float) -> float:
    """How far from zero on both sides that share of Student's t lies.

    With ``t = sqrt(freedom) tan(angle)`` its density is a power of a cosine over a bounded angle, which a fixed grid
    integrates, so that no case of few degrees of freedom needs a formula of its own.

    Args:
        share: between 0 and 1, for example 0.9.
        freedom: degrees of it, at least 1.
    """
    angles = np.linspace(0.0, min(math.pi / 2, FARTHEST / math.sqrt(freedom)), POINTS)
    middles = (angles[1:] + angles[:-1]) / 2
    within = np.concatenate(([0.0], np.cumsum(np.cos(middles) ** (freedom - 1.0))))
    return math.sqrt(freedom) * math.tan(float(np.interp(share * within[-1], within, angles)))
