"""A catalogue at rest as the situation a plan is made from: two tiers, everything on the slow one."""

from __future__ import annotations

import numpy as np

from connectors.model.observation import DatabaseDemand, Space
from policies.model.plan import HeatView, Situation
from policies.model.settings import PolicySettings, Tier, TierSpeed
from tests.workloads.catalogue import Catalogue

# No guard but capacity: what the choice itself is judged by.
UNGUARDED = PolicySettings(
    head_room_ratio=0.0,
    minimum_history_seconds=0.0,
    minimum_wait_saved_per_hour=0.0,
    payback_limit_seconds=1e12,
    resident_bonus=1.0,
    horizon_seconds=1e15,
    copy_bytes_per_second=1e15,
    maximum_moves=100_000,
)


def at_rest(
    catalogue: Catalogue,
    capacity: float,
    speeds: tuple[TierSpeed, TierSpeed],
    database: DatabaseDemand | None = None,
) -> Situation:
    """Everything on the slow tier, watched for long.

    Args:
        catalogue: the units with their mean demand.
        capacity: bytes of the fast tier, all free.
        speeds: of the fast and the slow tier.
        database: rates of the whole database.
    """
    n, held = len(catalogue), int(catalogue.size_bytes.sum())
    fast, slow = speeds
    return Situation(
        units=catalogue.units(),
        heat=HeatView(rates=catalogue.rates, observed_seconds=np.full(n, 1e7), confidence=np.ones(n)),
        spaces=(
            Space(name="fast", path="", used_bytes=0, free_bytes=int(capacity), capacity_bytes=int(capacity)),
            Space(name="slow", path="", used_bytes=held, free_bytes=2**50, capacity_bytes=2**50 + held),
        ),
        tiers=(Tier(name="ssd", speed=fast, spaces=("fast",)), Tier(name="hdd", speed=slow, spaces=("slow",))),
        tier_of_space=np.array([0, 1], dtype=np.int32),
        pin=np.zeros(n, dtype=np.int8),
        cooling_seconds=np.zeros(n),
        database=database or DatabaseDemand(),
    )
