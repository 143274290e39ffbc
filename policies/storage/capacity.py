"""How many bytes a space has, how many may still be written to it, and when a unit outgrows it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf

from connectors.model import Space
from policies.model.plan import Situation


def room_bytes(space: Space, head_room_ratio: float) -> int | None:
    """Bytes that may still be written to a space: what is free, less the head-room; negative when already past it.

    None where neither free bytes nor capacity are known. Where both are, the smaller claim counts.
    """
    if space.capacity_bytes is None and space.free_bytes is None:
        return None
    capacity = capacity_bytes(space)
    free = capacity - space.used_bytes
    if space.free_bytes is not None:
        free = min(free, space.free_bytes)
    return free - ceil(capacity * head_room_ratio)


def capacity_bytes(space: Space) -> int:
    """Bytes of a space in all; if no capacity is known, used plus free bytes."""
    return space.used_bytes + (space.free_bytes or 0) if space.capacity_bytes is None else space.capacity_bytes


def largest_unit(situation: Situation, tier: int, head_room_ratio: float) -> int:
    """Bytes of the largest unit that a space of the tier could take if it were emptied, -1 where no room is known."""
    rooms = [
        room + space.used_bytes
        for space, at in zip(situation.spaces, situation.tier_of_space, strict=True)
        if at == tier and (room := room_bytes(space, head_room_ratio)) is not None
    ]
    return max(rooms, default=-1)


def seconds_until_outgrown(situation: Situation, rows: Sequence[int], tier: int, head_room_ratio: float) -> float:
    """When units that move as one will be larger than any space of a tier, if they go on growing; inf: never.

    Args:
        situation: says how much they grow.
        rows: of the units.
        tier: whose spaces they may outgrow.
        head_room_ratio: of each space, never filled.
    """
    grown = 0 if situation.growth is None else int(situation.growth[list(rows)].sum())
    if not grown or not situation.growth_seconds > 0:
        return inf
    left = largest_unit(situation, tier, head_room_ratio) - int(situation.units.size_bytes[list(rows)].sum())
    return max(0.0, left / (grown / situation.growth_seconds))
