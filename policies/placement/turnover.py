"""A week's turnover of the fastest tier: how much of a plan the rest of it is worth.

The solver knows one price of giving way, that of the moment at which the plan is made. Within a plan the price rises
with every resident that goes (``costs.turnover_multiplier``), so that no single plan spends what was meant for weeks.

What has given way is a bucket that drains: each byte of a resident fills it, and a week drains as much as may give way
in one. So prices rise until no more gives way than that, fall while nothing does, and a large swap is made up for in
time. A count over the last seven days was all spent on the first, and a drifting load was followed one day in seven.

What a quiet week drains beyond empty is saved, for four weeks at most, and spent before the price rises. So a load that
changes places once a month has room for the way out and for the way back; a bucket that forgot what was not used made
the way back as dear as if somebody had wanted the room every day, and kept what had gone quiet for ten days.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policies.benefit.costs import turnover_multiplier
from policies.model.plan import MoveReason, Situation
from policies.placement.placement_state import Group, PlacementState
from policies.placement.plan_draft import Balance, PlanDraft
from policies.storage.capacity import capacity_bytes

WEEK_SECONDS = 7 * 24 * 3600.0
SAVED_WEEKS = 4.0  # whose turnover is kept at most where it was not used: what comes once a month finds a month's


def within_turnover(
    groups: Sequence[Group], draft: PlanDraft, situation: Situation, board: PlacementState
) -> list[Group]:
    """The groups that pay at the price that those kept before them leave; the others stay for later plans.

    A group that does not pay is passed over, and those behind it are asked all the same: one large swap that brings
    little is no reason to leave small ones that bring much. What was to come into the room that it would have made
    finds none, and is passed over with it. Pins stay in any case: nothing is passed over before they are done.

    Args:
        groups: in an order in which every hop finds room, those with pins first.
        draft: of the plan, not changed.
        situation: says what has given way already, and how large the tier is.
        board: as it is before the first group; used up.
    """
    used = situation.turned_over_ratio
    capacity = fastest_bytes(situation)
    kept: list[Group] = []
    for group in groups:
        gone = _giving_way(group, draft, situation)
        multiplier = turnover_multiplier(used, draft.settings)
        if (gone and not _pays(group, draft, multiplier)) or not board.carry_out(group):
            continue
        used += gone / capacity if capacity else 0.0
        kept.append(group)
    return kept


def bucket_level(gave_way: Iterable[tuple[float, float]], per_week: float) -> float:
    """How full the bucket is now, as a share of the fastest tier; negative: so much was saved in quiet weeks.

    Args:
        gave_way: how many seconds ago, and what share of the tier; in any order. Nothing is saved before the first.
        per_week: share that drains in a week.
    """
    level, before = 0.0, None
    for age, share in sorted(gave_way, reverse=True):
        level = (level if before is None else _drain(level, before - age, per_week)) + share
        before = age
    return 0.0 if before is None else _drain(level, max(0.0, before), per_week)


def _drain(level: float, seconds: float, per_week: float) -> float:
    """The level after so long in which nothing gave way."""
    return max(-SAVED_WEEKS * per_week, level - per_week * seconds / WEEK_SECONDS)


def fastest_bytes(situation: Situation) -> int:
    """Bytes of the fastest tier in all."""
    spaces = zip(situation.spaces, situation.tier_of_space, strict=True)
    return sum(capacity_bytes(space) for space, tier in spaces if tier == 0)


def _giving_way(group: Group, draft: PlanDraft, situation: Situation) -> int:
    """Bytes that leave the fastest tier for others; 0 where somebody asked for it."""
    if any(hop.reason is MoveReason.PIN for hop in group.hops):
        return 0
    return sum(
        int(draft.bundles.size[hop.bundle])
        for hop in group.hops
        if hop.reason is MoveReason.MAKE_ROOM and situation.tier_of_space[hop.source] == 0
    )


def _pays(group: Group, draft: PlanDraft, multiplier: float) -> bool:
    balance = Balance(draft, multiplier)
    for hop in group.hops:
        balance.add(hop)
    return balance.pays()
