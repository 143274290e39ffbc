"""Moves of a plan that one statement can do at once, made one: a table with its indexes, where both were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from policies.board import room_bytes
from policies.explain import move_sentence
from policies.order import INDEXES
from policies.plan import MoveReason, Plan, PlannedMove, PolicySettings, Situation


def combined(plan: Plan, first: int, second: int, situation: Situation, settings: PolicySettings) -> Plan | None:
    """The plan with two of its moves as one, where the first of them was or else where the second was.

    None where they do not go the same way for the same reason, or where a space would not hold the new order.
    """
    one, other = plan.moves[first], plan.moves[second]
    if _way(one) != _way(other):
        return None
    if situation.units.kind[one.rows[0]] in INDEXES and situation.units.kind[other.rows[0]] not in INDEXES:
        one, other = other, one  # a table leads its indexes
    both = _both(one, other)
    rest = [move for at, move in enumerate(plan.moves) if at not in (first, second)]
    for at in (first, second - 1):
        comes = next((move.key for move in rest[at:] if move.reason is not MoveReason.MAKE_ROOM), both.key)
        moves = (*rest[:at], _told(both, other, comes), *rest[at:])
        if _finds_room(moves, situation, settings):
            return replace(plan, moves=moves)
    return None


def _way(move: PlannedMove) -> tuple[str, str, str, str]:
    return move.from_space, move.to_space, move.reason, move.wide


def _both(one: PlannedMove, other: PlannedMove) -> PlannedMove:
    """Two moves as one, the first leading."""
    saved = one.wait_saved_per_hour + other.wait_saved_per_hour
    paid = [each for each in (one, other) if each.payback_seconds < inf]
    cost = sum(each.payback_seconds * each.wait_saved_per_hour for each in paid)
    return replace(
        one,
        rows=(*one.rows, *other.rows),
        size_bytes=one.size_bytes + other.size_bytes,
        wait_saved_per_hour=saved,
        copy_seconds=one.copy_seconds + other.copy_seconds,
        payback_seconds=cost / saved if len(paid) == 2 and saved > 0 else inf,
    )


def _told(both: PlannedMove, other: PlannedMove, comes: str) -> PlannedMove:
    return replace(both, sentence=move_sentence(replace(both, key=f"{both.key} with {other.key}"), comes))


def _finds_room(moves: Sequence[PlannedMove], situation: Situation, settings: PolicySettings) -> bool:
    """Whether every move finds room at its turn, its source still holding it."""
    room = {space.name: room_bytes(space, settings.head_room_ratio) for space in situation.spaces}
    for move in moves:
        target, source = room[move.to_space], room[move.from_space]
        if target is None or target < move.size_bytes:
            return False
        room[move.to_space] = target - move.size_bytes
        if source is not None:
            room[move.from_space] = source + move.size_bytes
    return True
