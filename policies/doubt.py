"""How sure the figures of a plan are: what its moves save at least and at most, in hours and as a share of all wait."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policies.board import Hop
from policies.bundles import MICRO, Bundles
from policies.interval import Interval, Placed, Shift, plan_interval, ratio_interval
from policies.plan import PolicySettings, Situation


def present_wait(bundles: Bundles, situation: Situation) -> float:
    """Microseconds per hour that everything managed waits where it is."""
    managed = np.flatnonzero(bundles.tier >= 0)
    return float(bundles.wait[bundles.tier[managed], managed].sum() + situation.beside.wait)


def share_interval(
    bundles: Bundles,
    situation: Situation,
    settings: PolicySettings,
    hops: Sequence[Hop],
    spared: Sequence[float],
    wait: float,
) -> Interval:
    """The share of all wait that the moves save, at least and at most; relief in queues may add to it.

    ``spared``: by tier, from ``relief.reliefs``; ``wait``: seconds per hour that everything managed waits where it is.
    """
    after = bundles.tier.copy()
    for hop in hops:
        after[hop.bundle] = situation.tier_of_space[hop.target]
    rows = np.flatnonzero(bundles.tier >= 0)
    placed = Placed(
        wait_before=bundles.wait[bundles.tier[rows], rows],
        wait_after=bundles.wait[after[rows], rows],
        tier_before=bundles.tier[rows],
        tier_after=after[rows],
        error=bundles.error[rows],
        beside=situation.beside.wait,
        beside_doubt=situation.beside.doubt,
    )
    found = ratio_interval(placed, [tier.speed.error_ratio for tier in situation.tiers], settings.certainty)
    gained, lost = (sum(each for each in spared if (each > 0) is up) / max(wait, 1 / MICRO) for up in (True, False))
    return Interval(low=found.low + lost, high=min(1.0, found.high + gained))


def saving_interval(
    bundles: Bundles,
    situation: Situation,
    settings: PolicySettings,
    hops: Sequence[Hop],
    spared: Sequence[float],
    wait: float,
) -> Interval:
    """What all moves save at least and at most, seconds per hour; never more than all wait there is.

    ``spared`` and ``wait`` as for ``share_interval``.
    """
    shifts = [_shift(hop, bundles, situation) for hop in hops]
    found = plan_interval(shifts, [tier.speed.error_ratio for tier in situation.tiers], settings.certainty)
    gained, lost = (sum(each for each in spared if (each > 0) is up) for up in (True, False))
    return Interval(low=found.low + lost, high=min(found.high + gained, wait))


def _shift(hop: Hop, bundles: Bundles, situation: Situation) -> Shift:
    before, after = (int(situation.tier_of_space[row]) for row in (hop.source, hop.target))
    return Shift(
        from_tier=before,
        to_tier=after,
        wait_before=float(bundles.wait[before, hop.bundle]) / MICRO,
        wait_after=float(bundles.wait[after, hop.bundle]) / MICRO,
        error=float(bundles.error[hop.bundle]),
    )
