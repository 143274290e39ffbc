"""Queueing relief of a plan, tier by tier: what units that no move touches gain or lose in their queues."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policies.benefit.bundles import MICRO, Bundles
from policies.model.plan import Beside, Situation
from policies.placement.placement_state import Relocation
from policies.storage.limits import drive_io
from policies.storage.queueing import relief, utilisation


def reliefs(bundles: Bundles, situation: Situation, hops: Sequence[Relocation]) -> tuple[float, ...]:
    """Seconds per hour that the units staying on each tier are spared once the hops are done, fastest first."""
    if not hops:
        return (0.0,) * len(situation.tiers)
    moved = np.zeros(len(bundles), dtype=np.bool_)
    after = bundles.tier.copy()
    for hop in hops:
        moved[hop.bundle] = True
        after[hop.bundle] = situation.tier_of_space[hop.target]
    found = []
    for row, tier in enumerate(situation.tiers):
        if not utilisation(tier.speed.random_read_seconds, tier.speed.idle_read_seconds):
            found.append(0.0)
            continue
        io = drive_io(bundles.rates, tier.limits)
        here = bundles.tier == row
        beside = situation.beside if row == len(situation.tiers) - 1 else Beside()
        found.append(
            relief(
                float(bundles.wait[row, here & ~moved].sum() + beside.wait) / MICRO,
                tier.speed.random_read_seconds,
                tier.speed.idle_read_seconds,
                float(io[here].sum() + beside.io),
                float(io[after == row].sum() + beside.io),
            )
        )
    return tuple(found)
