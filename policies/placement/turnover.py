"""The budget of weekly turnover on the fastest tier: the rest of a plan that pays at a rising price.

The solver knows one price of a demotion, that of the moment at which the plan is made. Within a plan the price rises
with every resident that is demoted (``costs.turnover_multiplier``), so that no single plan spends the budget of weeks.

The budget is a leaky bucket: every demoted byte fills it, and in a week as much leaks as may be demoted in one. Prices
rise until demotions stay within that and fall while there are none, and a large swap is made up for in time. Why not
count the last seven days: the whole budget was spent on the first day, so a drifting load was followed on one day in
seven.

What a quiet week leaks beyond empty is saved, for four weeks at most, and spent before the price rises. So a load that
changes places once a month has a budget for the way out and for the way back. Without savings the way back was as
expensive as under constant demand, and what had gone cold kept its room for ten days.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policies.benefit.costs import turnover_multiplier
from policies.model.plan import MoveReason, Situation
from policies.placement.placement_state import Group, PlacementState
from policies.placement.plan_draft import Balance, PlanDraft
from policies.storage.capacity import capacity_bytes

WEEK_SECONDS = 7 * 24 * 3600.0
SAVED_WEEKS = 4.0  # most weeks of unused turnover that are saved: enough for a load that changes once a month


def within_turnover(
    groups: Sequence[Group], draft: PlanDraft, situation: Situation, state: PlacementState
) -> list[Group]:
    """The groups that pay at the price that the groups kept before them leave; the others wait for later plans.

    A group that does not pay is skipped, and those after it are still considered: one large swap that brings little is
    no reason to drop small ones that bring much. A group that needed the room of a skipped one does not fit, and is
    skipped as well. Pins are always kept: they come first.

    Args:
        groups: in an order in which every relocation finds room, those with pins first.
        draft: of the plan, not changed.
        situation: what was demoted lately, and how large the tier is.
        state: before the first group; used up.
    """
    used = situation.turned_over_ratio
    capacity = fastest_bytes(situation)
    kept: list[Group] = []
    for group in groups:
        gone = _giving_way(group, draft, situation)
        multiplier = turnover_multiplier(used, draft.settings)
        if (gone and not _pays(group, draft, multiplier)) or not state.carry_out(group):
            continue
        used += gone / capacity if capacity else 0.0
        kept.append(group)
    return kept


def bucket_level(gave_way: Iterable[tuple[float, float]], per_week: float) -> float:
    """The level of the bucket now, as a share of the fastest tier; negative: saved in quiet weeks.

    Args:
        gave_way: age in seconds and share of the tier of each demotion, in any order. Nothing is saved before the
            first.
        per_week: share that leaks in a week.
    """
    level, before = 0.0, None
    for age, share in sorted(gave_way, reverse=True):
        level = (level if before is None else _drain(level, before - age, per_week)) + share
        before = age
    return 0.0 if before is None else _drain(level, max(0.0, before), per_week)


def _drain(level: float, seconds: float, per_week: float) -> float:
    """The level after so many seconds without demotions."""
    return max(-SAVED_WEEKS * per_week, level - per_week * seconds / WEEK_SECONDS)


def fastest_bytes(situation: Situation) -> int:
    """Capacity of the fastest tier in bytes."""
    spaces = zip(situation.spaces, situation.tier_of_space, strict=True)
    return sum(capacity_bytes(space) for space, tier in spaces if tier == 0)


def _giving_way(group: Group, draft: PlanDraft, situation: Situation) -> int:
    """Bytes that leave the fastest tier to make room; 0 for a group that a pin asks for."""
    if any(relocation.reason is MoveReason.PIN for relocation in group.relocations):
        return 0
    return sum(
        int(draft.bundles.size[relocation.bundle])
        for relocation in group.relocations
        if relocation.reason is MoveReason.MAKE_ROOM and situation.tier_of_space[relocation.source] == 0
    )


def _pays(group: Group, draft: PlanDraft, multiplier: float) -> bool:
    balance = Balance(draft, multiplier)
    for relocation in group.relocations:
        balance.add(relocation)
    return balance.pays()
