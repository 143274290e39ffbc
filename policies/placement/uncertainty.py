"""How sure the figures of a plan are: what its moves save at least and at most, in hours and as a share of all wait."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policies.benefit.bundles import MICRO, Bundles
from policies.model.confidence import ConfidenceInterval, Placed, Shift, plan_interval, ratio_interval
from policies.model.plan import PolicySettings, Situation
from policies.placement.placement_state import Relocation


def present_wait(bundles: Bundles, situation: Situation) -> float:
    """Microseconds per hour that everything managed waits where it is."""
    managed = np.flatnonzero(bundles.tier >= 0)
    return float(bundles.wait[bundles.tier[managed], managed].sum() + situation.beside.wait)


def intervals(
    bundles: Bundles,
    situation: Situation,
    settings: PolicySettings,
    hops: Sequence[Relocation],
    spared: Sequence[float],
    wait: float,
) -> tuple[ConfidenceInterval, ConfidenceInterval]:
    """What the moves save at least and at most: seconds per hour, and the share of all wait.

    Args:
        bundles: as they are before the moves.
        situation: tiers, their errors, and what is beside the bundles.
        settings: the certainty.
        hops: the moves.
        spared: relief in queues by tier, from ``relief.reliefs``, which may add to both.
        wait: seconds per hour that everything managed waits where it is; no more can be saved.
    """
    errors = [tier.speed.error_ratio for tier in situation.tiers]
    saving = plan_interval([_shift(hop, bundles, situation) for hop in hops], errors, settings.certainty)
    share = ratio_interval(_placements(bundles, situation, hops), errors, settings.certainty)
    gained, lost = (sum(each for each in spared if (each > 0) is up) for up in (True, False))
    whole = max(wait, 1 / MICRO)
    return (
        ConfidenceInterval(low=saving.low + lost, high=min(saving.high + gained, wait)),
        ConfidenceInterval(low=share.low + lost / whole, high=min(1.0, share.high + gained / whole)),
    )


def _placements(bundles: Bundles, situation: Situation, hops: Sequence[Relocation]) -> Placed:
    """Everything managed, before and after the moves."""
    after = bundles.tier.copy()
    for hop in hops:
        after[hop.bundle] = situation.tier_of_space[hop.target]
    rows = np.flatnonzero(bundles.tier >= 0)
    return Placed(
        wait_before=bundles.wait[bundles.tier[rows], rows],
        wait_after=bundles.wait[after[rows], rows],
        tier_before=bundles.tier[rows],
        tier_after=after[rows],
        error=bundles.error[rows],
        beside=situation.beside.wait,
        beside_doubt=situation.beside.doubt,
    )


def _shift(hop: Relocation, bundles: Bundles, situation: Situation) -> Shift:
    before, after = (int(situation.tier_of_space[row]) for row in (hop.source, hop.target))
    return Shift(
        from_tier=before,
        to_tier=after,
        wait_before=float(bundles.wait[before, hop.bundle]) / MICRO,
        wait_after=float(bundles.wait[after, hop.bundle]) / MICRO,
        error=float(bundles.error[hop.bundle]),
    )
