"""Whether the moves of a plan find room in their order, with growth and temporary space included.

While a bundle is copied the source still holds it, and the target holds the copy plus what the route needs beyond it
(sorts, journals, all that a table space has allocated). Afterwards the source is free of it, unless the original is
kept there for a time, and the target holds the copy alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policies.model.plan import PlannedMove, PolicySettings, Situation
from policies.storage.capacity import room_bytes


def without_room(
    moves: Iterable[PlannedMove],
    situation: Situation,
    settings: PolicySettings,
    transient: Mapping[str, int],
    staying: Mapping[str, int],
) -> PlannedMove | None:
    """The first move that finds no room at its turn, None if all do.

    Args:
        moves: in the order in which they are carried out.
        situation: with the room of every space, and the expected growth.
        settings: for the head-room.
        transient: bytes beyond the copy while a move runs, by ``PlannedMove.name``.
        staying: bytes that are not free in the source after it, likewise.
    """
    room = {space.name: room_bytes(space, settings.head_room_ratio) for space in situation.spaces}
    for move in moves:
        # Move by move and not by the sums at the end: a plan whose final placement fits may still have no room
        # half-way, because the source holds each bundle until its copy is done.
        target, source, size = room[move.to_space], room[move.from_space], expected_bytes(move, situation)
        if target is None or target < size + transient.get(move.name, 0):
            return move
        room[move.to_space] = target - size
        if source is not None:
            room[move.from_space] = source + max(0, size - staying.get(move.name, 0))
    return None


def expected_bytes(move: PlannedMove, situation: Situation) -> int:
    """Bytes that a move copies, with the growth expected until then."""
    rows = list(move.rows)
    return move.size_bytes + (0 if situation.growth is None else int(situation.growth[rows].sum()))
