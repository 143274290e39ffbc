"""Places: what a plan may send bundles to. Each space of a tier is one, where its room matters.

Free bytes of two spaces are not free in either of them, so a bundle that fits in their sum may fit in none. Therefore
each space is a resource of its own, and bundles may change between spaces of one tier to make room. Where one space of
a tier could take all that is on the other tiers, its room never matters, and the tier is one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policies.model.plan import Situation
from policies.model.settings import PolicySettings
from policies.storage.capacity import room_bytes

MOST_OF_A_TIER = 4  # spaces that count on their own, the largest; the others of the tier together are one place


@dataclass(frozen=True, slots=True)
class Place:
    """One space, or several of a tier that count as one."""

    tier: int
    spaces: tuple[int, ...]  # rows of spaces whose room is known


def places_in(situation: Situation, settings: PolicySettings) -> tuple[Place, ...]:
    """The places of a situation, by its spaces alone: the same whatever units are left out of it."""
    return places_of(
        [space.name for space in situation.spaces],
        situation.tier_of_space.tolist(),
        [room_bytes(space, settings.head_room_ratio) for space in situation.spaces],
        [space.used_bytes for space in situation.spaces],
        len(situation.tiers),
    )


def places_of(
    names: Sequence[str], tier_of: Sequence[int], room: Sequence[int | None], held: Sequence[int], tiers: int
) -> tuple[Place, ...]:
    """The places of all tiers, fastest first and within a tier the one with most room first; at least one of each tier.

    Args:
        names: of the spaces.
        tier_of: of each space, -1 where it is not managed.
        room: bytes that may still be written to each space, None where that is not known.
        held: bytes in use in each space.
        tiers: how many there are.
    """
    managed = sum(size for size, tier in zip(held, tier_of, strict=True) if tier >= 0)
    places = []
    for tier in range(tiers):
        rows = [row for row, at in enumerate(tier_of) if at == tier]
        free = {row: each for row in rows if (each := room[row]) is not None}
        if len(free) < 2 or max(free.values()) >= managed - sum(held[row] for row in rows):
            places.append(Place(tier, tuple(free)))
            continue
        largest_first = sorted(free, key=lambda row: (-free[row] - held[row], names[row]))
        alone, others = largest_first[:MOST_OF_A_TIER], largest_first[MOST_OF_A_TIER:]
        alone.sort(key=lambda row: (-free[row], names[row]))
        places += [Place(tier, (row,)) for row in alone]
        places += [Place(tier, tuple(others))] if others else []
    return tuple(places)


def place_of_spaces(places: Sequence[Place], tier_of: Sequence[int]) -> list[int]:
    """Place of each space; of those whose room is not known the first of their tier, -1 where they are not managed."""
    # Reversed, so that of several places of a tier the first one is what stays in the dict.
    first = {place.tier: at for at, place in reversed(list(enumerate(places)))}
    found = [first.get(tier, -1) for tier in tier_of]
    for at, place in enumerate(places):
        for row in place.spaces:
            found[row] = at
    return found
