"""Queueing relief of a plan by tier: what units that do not move gain or lose from shorter or longer queues."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policies.benefit.bundles import MICRO, Bundles
from policies.model.plan import Situation
from policies.model.relocation import Relocation
from policies.storage.limits import drive_io
from policies.storage.queueing import relief, utilisation
from policies.storage.stations import stations_of


def reliefs(bundles: Bundles, situation: Situation, relocations: Sequence[Relocation]) -> tuple[float, ...]:
    """Seconds per hour that the units staying on each tier wait less after the relocations, fastest tier first."""
    if not relocations:
        return (0.0,) * len(situation.tiers)
    moved = np.zeros(len(bundles), dtype=np.bool_)
    after = bundles.tier.copy()
    for relocation in relocations:
        moved[relocation.bundle] = True
        after[relocation.bundle] = situation.tier_of_space[relocation.target]
    found, stations = [], stations_of(situation.tiers)
    for row, tier in enumerate(situation.tiers):
        if not utilisation(tier.speed.random_read_seconds, tier.speed.idle_read_seconds):
            found.append(0.0)
            continue
        io = drive_io(bundles.rates, tier.limits)
        here = bundles.tier == row
        found.append(
            relief(
                float(bundles.wait[row, here & ~moved].sum()) / MICRO,
                tier.speed.random_read_seconds,
                tier.speed.idle_read_seconds,
                float(io[here].sum()),
                float(io[after == row].sum()),
                stations.queue(row),
            )
        )
    return tuple(found)
