"""Student's t without a library of statistics, which would be larger than hotplace."""

from __future__ import annotations

import math

import numpy as np

from connectors.model import F64

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
    angles, within = _shares(freedom)
    return math.sqrt(freedom) * math.tan(float(np.interp(share * within[-1], within, angles)))


def share_beyond(reach: float, freedom: float) -> float:
    """How much of Student's t lies farther from zero than that, on both sides together: the inverse of ``reach_of``."""
    angles, within = _shares(freedom)
    inside = float(np.interp(math.atan(reach / math.sqrt(freedom)), angles, within))
    return max(0.0, 1.0 - inside / float(within[-1]))


def _shares(freedom: float) -> tuple[F64, F64]:
    """Angles, and how much lies within each, not brought to 1."""
    angles = np.linspace(0.0, min(math.pi / 2, FARTHEST / math.sqrt(freedom)), POINTS)
    middles = (angles[1:] + angles[:-1]) / 2
    return angles, np.concatenate(([0.0], np.cumsum(np.cos(middles) ** (freedom - 1.0))))
