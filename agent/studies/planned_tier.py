"""A tier that is not there yet, for ``sizing``: named in the configuration without a space, or by options.

A site with one class of storage asks first what a faster one would save. The tier is put before those that have spaces,
and holds nothing yet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from agent.config.models import DatabaseConfig
from agent.config.tiers import KINDS, TierConfig
from agent.planning.first_tier import USUAL
from connectors.model.observation import Space
from policies.model.plan import Situation
from policies.model.settings import Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTier:
    """A faster tier to compare with those that have spaces."""

    tier: Tier
    capacity_bytes: int | None  # None: not said, so only the curve tells
    speed_source: str  # where its speed comes from, in words


def planned_tier_of(
    database: DatabaseConfig,
    name: str | None = None,
    *,
    random_read_seconds: float | None = None,
    capacity_bytes: int | None = None,
) -> PlannedTier | None:
    """The tier that sizing compares with those that have spaces; None: two of these are compared with each other.

    Args:
        database: its configuration.
        name: of a tier without a space in the configuration, or of any other. None: if only one tier has a space,
            the fastest that the configuration plans, else an SSD of usual speed.
        random_read_seconds: of one block; None: as configured, else usual for its kind.
        capacity_bytes: that it is to have; None: as configured.

    Raises:
        ValueError: the name is that of a tier that has a space, or figures are given with no tier to have them.
    """
    in_use = [tier.name for tier in database.tiers_in_use]
    if name in in_use:
        raise ValueError(f"{name} has spaces; name a tier that is not there yet, sizing compares {in_use[-1]} with it")
    if name is None and len(in_use) > 1:
        if random_read_seconds is not None or capacity_bytes is not None:
            raise ValueError("say which tier it is about: --tier NAME")
        return None
    configured = _find_configured(database.planned_tiers, name)
    found = configured or _usual(name or USUAL, random_read_seconds)
    changed = {"random_read": random_read_seconds, "size": capacity_bytes}
    tier = found.model_copy(update={key: value for key, value in changed.items() if value is not None})
    return PlannedTier(
        tier=tier.tier, capacity_bytes=tier.size, speed_source=_source(tier, configured, given=random_read_seconds)
    )


def tiers_compared(database: DatabaseConfig, planned: PlannedTier | None) -> list[str]:
    """Names of the tiers that are compared: the fastest and the slowest."""
    in_use = database.tiers_in_use
    return [in_use[0].name if planned is None else planned.tier.name, in_use[-1].name]


def with_planned_tier(situation: Situation, planned: PlannedTier) -> Situation:
    """The situation with that tier before all others, and an empty space of its size in it, if that is known."""
    tier_of_space = np.where(situation.tier_of_space >= 0, situation.tier_of_space + 1, situation.tier_of_space)
    spaces = situation.spaces
    if planned.capacity_bytes is not None:
        size = planned.capacity_bytes
        room = Space(name=planned.tier.name, path="", used_bytes=0, free_bytes=size, capacity_bytes=size)
        spaces, tier_of_space = (*spaces, room), np.append(tier_of_space, 0)
    return replace(
        situation,
        tiers=(planned.tier, *situation.tiers),
        spaces=spaces,
        tier_of_space=tier_of_space.astype(situation.tier_of_space.dtype),
    )


def _find_configured(planned: Sequence[TierConfig], name: str | None) -> TierConfig | None:
    return next((tier for tier in planned if name in {None, tier.name}), None)


def _usual(name: str, random_read_seconds: float | None) -> TierConfig:
    """A tier of the kind that has that name, else of the kind that reads about as fast."""
    if name in KINDS or random_read_seconds is None:
        return TierConfig(name=name, kind=name if name in KINDS else USUAL)
    nearest = min(KINDS, key=lambda kind: abs(math.log(KINDS[kind].random_read_seconds / random_read_seconds)))
    return TierConfig(name=name, kind=nearest)


def _source(tier: TierConfig, configured: TierConfig | None, *, given: float | None) -> str:
    if given is not None:
        return "as given"
    if configured is not None and (configured.random_read is not None or configured.kind is None):
        return "as configured"
    return f"usual for an {tier.kind}"
