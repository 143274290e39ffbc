"""The budget of wear that a user may give: how much of the fastest tier makes room for other bundles in a week.

Without one, what moves is decided by what it costs and brings alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policies.benefit.bundles import Bundles
from policies.model.plan import MoveReason, PolicySettings, Situation
from policies.model.relocation import Group
from policies.placement.placement_state import PlacementState
from policies.storage.capacity import capacity_bytes


def within_turnover(
    groups: Sequence[Group],
    bundles: Bundles,
    situation: Situation,
    settings: PolicySettings,
    fresh: Callable[[], PlacementState],
) -> list[Group]:
    """The groups for which the budget lasts, the one that exhausts it included; the others wait for later plans.

    A group that makes nothing on the fastest tier give way needs no budget, nor does one that a pin asks for. What
    needed the room of a group that waits does not fit, and waits as well.

    Args:
        groups: in an order in which every relocation finds room, those with pins first.
        bundles: that they relocate.
        situation: what gave way lately, and how large the tier is.
        settings: with the budget.
        fresh: gives the state before the first group.
    """
    capacity = fastest_bytes(situation)
    if settings.turnover_per_week is None or not capacity:
        return list(groups)
    used, state, kept = situation.turned_over_ratio, fresh(), list[Group]()
    for group in groups:
        gone = _giving_way(group, bundles, situation)
        # The budget is asked before the group and not after it: a group larger than a whole week's budget could
        # otherwise never run, and one week's excess is drained by the next.
        if (gone and used >= settings.turnover_per_week) or not state.carry_out(group):
            continue
        used += gone / capacity
        kept.append(group)
    return kept


def fastest_bytes(situation: Situation) -> int:
    """Capacity of the fastest tier in bytes."""
    spaces = zip(situation.spaces, situation.tier_of_space, strict=True)
    return sum(capacity_bytes(space) for space, tier in spaces if tier == 0)


def _giving_way(group: Group, bundles: Bundles, situation: Situation) -> int:
    """Bytes that leave the fastest tier to make room; 0 for a group that a pin asks for."""
    if any(relocation.reason is MoveReason.PIN for relocation in group.relocations):
        return 0
    return sum(
        int(bundles.size[relocation.bundle])
        for relocation in group.relocations
        if relocation.reason is MoveReason.MAKE_ROOM and situation.tier_of_space[relocation.source] == 0
    )
