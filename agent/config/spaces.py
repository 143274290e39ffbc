"""Configured tiers beside the spaces that the database really has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from agent.config.errors import ConfigError, Problem, path_text
from agent.config.mistakes import nearest
from agent.config.tiers import TierConfig
from connectors.model import I32, Catalog, Space
from policies.plan import Tier

NOT_MANAGED = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """The spaces of a catalog with their tiers."""

    tiers: tuple[Tier, ...]  # fastest first
    tier_of_space: I32  # (len(spaces),) row in tiers, -1: the configuration gives it none
    spaces: tuple[Space, ...]  # those of the catalog, in its order, room completed from the configuration


def resolve(database: str, tiers: Sequence[TierConfig], catalog: Catalog) -> Storage:
    """Find every configured space in the catalog.

    Raises:
        ConfigError: a configured space does not exist; every such one is named with its nearest neighbour.
    """
    rows = {space.name: row for row, space in enumerate(catalog.spaces)}
    missing = list(_missing(database, tiers, rows))
    if missing:
        raise ConfigError(
            missing,
            source=f"database {database}",
            advice="Correct the name under tiers, or create the space in the database.",
        )
    tier_of_space = np.full(len(catalog.spaces), NOT_MANAGED, dtype=np.int32)
    spaces = list(catalog.spaces)
    for number, tier in enumerate(tiers):
        for configured in tier.spaces:
            row = rows[configured.name]
            tier_of_space[row] = number
            spaces[row] = completed(spaces[row], configured.capacity)
    return Storage(tiers=tuple(tier.tier for tier in tiers), tier_of_space=tier_of_space, spaces=tuple(spaces))


def completed(space: Space, capacity: int | None) -> Space:
    """The space with no more room than both the engine and the configuration (bytes, used ones included) grant it."""
    total = _least([space.capacity_bytes, capacity])
    left = None if total is None else max(0, total - space.used_bytes)
    return replace(space, capacity_bytes=total, free_bytes=_least([space.free_bytes, left]))


def _least(values: Iterable[int | None]) -> int | None:
    """The smallest known value; None where none is known."""
    return min((value for value in values if value is not None), default=None)


def _missing(database: str, tiers: Sequence[TierConfig], rows: Mapping[str, int]) -> Iterable[Problem]:
    for number, tier in enumerate(tiers):
        for position, space in enumerate(tier.spaces):
            if space.name not in rows:
                where = path_text(("databases", database, "tiers", number, "spaces", position))
                hint = nearest(space.name, rows)
                yield Problem(where, f"the database has no space {space.name!r}; {hint}")
