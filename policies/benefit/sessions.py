"""Modelled waits are bounded by the sessions that can wait.

A model multiplies reads by the time of one, and knows nothing of who waits for them: reads of a busy day at the read
time of its longest queue come to more than all sessions together have time for. Where the engine tells how long
sessions execute, that is the most that they can have waited, and read times are taken to be so much shorter. The queued
tiers give way first, as in ``loop``: how long their queues are is what no speed tells.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from connectors.model import F64
from policies.benefit.prices import HOUR, Prices
from policies.model.plan import PolicySettings, Situation, Tier, TierSpeed
from policies.storage.closed_network import LEAST_QUEUED, queued_tiers


def most_waiting(situation: Situation) -> float:
    """Session seconds a second that can be waited, on average over the time that heat speaks of; inf: not known."""
    known = [each for each in (situation.sessions, situation.database.active) if each > 0]  # NaN is left out
    return max(known, default=float("inf"))


def session_share(situation: Situation, waits_per_hour: F64) -> float:
    """Share of each unit's wait that leaves their sum within what sessions can wait, 0 to 1.

    One share for all units keeps their order and their proportions; a bound on each unit alone would make the hottest
    equal, and their sum would still exceed the wait of all sessions.

    Args:
        situation: how many sessions are at work.
        waits_per_hour: seconds per hour of each unit, 0 or more.
    """
    total, most = float(waits_per_hour.sum()), most_waiting(situation) * HOUR
    return most / total if total > most else 1.0


def with_bounded_waits(situation: Situation, settings: PolicySettings) -> Situation:
    """The situation with read times cut so that, in the present placement, sessions wait no longer than they can.

    Unchanged where the waits are within that, or where the engine does not count sessions.
    """
    most = most_waiting(situation)
    waits = present_waits(situation, settings)
    if waits.sum() <= most:
        return situation
    queued = queued_tiers(situation)
    slow, fast = float(waits[queued].sum()), float(waits[~queued].sum())
    if slow > LEAST_QUEUED * (slow + fast) and most > fast:
        factor = np.where(queued, (most - fast) / slow, 1.0)
    else:
        factor = np.full(len(queued), most / (slow + fast))
    return replace(situation, tiers=_faster(situation.tiers, factor))


def present_waits(situation: Situation, settings: PolicySettings) -> F64:
    """Seconds a second that are waited on each tier where everything is, by the model. Shape ``(tiers,)``."""
    homes = situation.tier_of_space[situation.units.space].astype(np.int64)
    return Prices.of(situation, settings).by_tier(situation.heat.rates, homes)


def _faster(tiers: tuple[Tier, ...], factor: F64) -> tuple[Tier, ...]:
    """Tiers with shorter read times; none comes out slower than the one below it."""
    found: list[Tier] = []
    for tier, share in zip(reversed(tiers), reversed(factor.tolist()), strict=True):
        speed = tier.speed
        below = found[-1].speed if found else None
        found.append(replace(tier, speed=_cap(speed, share, below)))
    return tuple(reversed(found))


def _cap(speed: TierSpeed, share: float, below: TierSpeed | None) -> TierSpeed:
    random, run = speed.random_read_seconds * share, speed.sequential_read_seconds * share
    if below is not None:
        random, run = min(random, below.random_read_seconds), min(run, below.sequential_read_seconds)
    return replace(speed, random_read_seconds=random, sequential_read_seconds=run)
