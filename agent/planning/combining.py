"""Combine moves that one statement can make at once: a table with its indexes or its LOBs, if both were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from connectors.model import UnitKind
from policies.explanation.verdicts import move_sentence
from policies.model.plan import MoveReason, Plan, PlannedMove, PolicySettings, Situation
from policies.placement.group_order import INDEXES
from policies.storage.transit import without_room


def combine_moves(plan: Plan, first: int, second: int, situation: Situation, settings: PolicySettings) -> Plan | None:
    """The plan with two of its moves as one, in the place of the first or else of the second.

    None if their spaces or reasons differ, or if a space would not hold the new order.
    """
    one, other = plan.moves[first], plan.moves[second]
    if _way(one) != _way(other):
        return None
    if _rank(one, situation) > _rank(other, situation):
        one, other = other, one
    both = _both(one, other)
    rest = [move for at, move in enumerate(plan.moves) if at not in (first, second)]
    # In the place of the second the list is one shorter, since the first is taken out before it.
    for at in (first, second - 1):
        comes = next((move.key for move in rest[at:] if move.reason is not MoveReason.MAKE_ROOM), both.key)
        moves = _join_groups((*rest[:at], _with_sentence(both, other, comes), *rest[at:]), {one.group, other.group})
        if without_room(moves, situation, settings, situation.transient, situation.staying) is None:
            return replace(plan, moves=moves)
    return None


def _join_groups(moves: Sequence[PlannedMove], joined: set[int]) -> tuple[PlannedMove, ...]:
    """The moves with two groups and all between them joined, since a group is carried out without interruption."""
    places = [at for at, move in enumerate(moves) if move.group in joined]
    within = {move.group for move in moves[places[0] : places[-1] + 1]} | joined
    return tuple(replace(move, group=min(within)) if move.group in within else move for move in moves)


def _rank(move: PlannedMove, situation: Situation) -> int:
    """A table leads its LOBs and its indexes, a LOB the indexes."""
    kind = situation.units.kind[move.rows[0]]
    return 2 if kind in INDEXES else 1 if kind == UnitKind.LOB else 0


def _way(move: PlannedMove) -> tuple[str, str, str, str]:
    return move.from_space, move.to_space, move.reason, move.wide


def _both(one: PlannedMove, other: PlannedMove) -> PlannedMove:
    """Two moves as one, led by the first."""
    saved = one.wait_saved_per_hour + other.wait_saved_per_hour
    paid = [each for each in (one, other) if each.payback_seconds < inf]
    cost = sum(each.payback_seconds * each.wait_saved_per_hour for each in paid)
    return replace(
        one,
        rows=(*one.rows, *other.rows),
        size_bytes=one.size_bytes + other.size_bytes,
        wait_saved_per_hour=saved,
        copy_seconds=one.copy_seconds + other.copy_seconds,
        # A demotion has no pay-back time, so of a pair with one nothing finite can be said.
        payback_seconds=cost / saved if len(paid) == 2 and saved > 0 else inf,
    )


def _with_sentence(both: PlannedMove, other: PlannedMove, comes: str) -> PlannedMove:
    return replace(both, sentence=move_sentence(replace(both, key=f"{both.key} with {other.key}"), comes))
