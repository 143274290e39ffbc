"""Configured tiers matched with the spaces that the database has."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent.config.errors import ConfigError, Problem, path_text
from agent.config.mistakes import nearest
from agent.config.tiers import SpaceConfig, TierConfig
from policies.model.settings import Tier

if TYPE_CHECKING:
    from connectors.model import I32, Catalog, Space

NOT_MANAGED = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """The spaces of a catalog with their tiers."""

    tiers: tuple[Tier, ...]  # fastest first
    tier_of_space: I32  # (len(spaces),) row in tiers, -1: the configuration gives it none
    spaces: tuple[Space, ...]  # those of the catalog, in its order, room completed from the configuration


def resolve(database: str, tiers: Sequence[TierConfig], catalog: Catalog) -> Storage:
    """Find every configured space in the catalog.

    A configured name is that of a space, or a folder or disk group (``/ssd``, ``+FAST``) that stands for every space
    whose path is in it and which no tier names itself; of two such places the inner one decides.

    Raises:
        ConfigError: a configured space does not exist; every such one is named with its nearest neighbour.
    """
    import numpy as np  # here, since every command reads the configuration, and few ask a database for its spaces

    places = [(number, tier.spaces[at]) for number, tier in enumerate(tiers) for at in range(len(tier.spaces))]
    chosen = [_chosen(space, places) for space in catalog.spaces]
    used = {configured.name for _, configured in places if _speaks_of_any(configured.name, catalog)}
    missing = list(_missing(database, tiers, used, [space.name for space in catalog.spaces]))
    if missing:
        raise ConfigError(
            missing,
            source=f"database {database}",
            advice="Correct the name under tiers, or create the space in the database.",
        )
    tier_of_space = np.full(len(catalog.spaces), NOT_MANAGED, dtype=np.int32)
    spaces = list(catalog.spaces)
    for row, place in enumerate(chosen):
        if place is not None:
            tier_of_space[row] = place[0]
            spaces[row] = with_capacity(spaces[row], place[1].capacity)
    return Storage(tiers=tuple(tier.tier for tier in tiers), tier_of_space=tier_of_space, spaces=tuple(spaces))


def _chosen(space: Space, places: Sequence[tuple[int, SpaceConfig]]) -> tuple[int, SpaceConfig] | None:
    """Tier and entry of the configuration that speak of a space: by its name, else by the longest place it is in."""
    named = [place for place in places if place[1].name == space.name]
    around = [place for place in places if _lies_in(space.path, place[1].name)]
    return named[0] if named else max(around, key=lambda place: len(place[1].name), default=None)


def _speaks_of_any(name: str, catalog: Catalog) -> bool:
    return any(space.name == name or _lies_in(space.path, name) for space in catalog.spaces)


def _lies_in(path: str, place: str) -> bool:
    """Whether a container is in that folder or disk group; a bare name is neither."""
    if not (place.startswith(("/", "+")) or place[1:3] == ":\\"):
        return False
    # With a separator: `/ssd` must not take `/ssd2/data` in.
    return path == place or path.startswith((place.rstrip("/\\") + "/", place.rstrip("/\\") + "\\"))


def with_capacity(space: Space, capacity: int | None) -> Space:
    """The space with no more room than both the engine and the configuration (bytes, used ones included) grant it."""
    total = _least([space.capacity_bytes, capacity])
    left = None if total is None else max(0, total - space.used_bytes)
    return replace(space, capacity_bytes=total, free_bytes=_least([space.free_bytes, left]))


def _least(values: Iterable[int | None]) -> int | None:
    """The smallest known value; None where none is known."""
    return min((value for value in values if value is not None), default=None)


def _missing(
    database: str, tiers: Sequence[TierConfig], used: Container[str], names: Sequence[str]
) -> Iterable[Problem]:
    for number, tier in enumerate(tiers):
        for position, space in enumerate(tier.spaces):
            if space.name not in used:
                where = path_text(("databases", database, "tiers", number, "spaces", position))
                hint = nearest(space.name, names)
                yield Problem(where, f"the database has no space {space.name!r}; {hint}")
