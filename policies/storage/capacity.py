"""How many bytes a space has, and how many may still be written to it."""

from __future__ import annotations

from math import ceil

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
