"""A week's turnover of the fastest tier: how much of a plan the rest of it is worth.

The solver knows one price of giving way, that of the moment at which the plan is made. Within a plan the price rises
with every resident that goes (``costs.dearness``), so that no single plan spends what was meant for weeks.

What has given way is a bucket that drains: each byte of a resident fills it, and a week drains as much as may give way
in one. So prices rise until no more gives way than that, fall while nothing does, and a large swap is made up for in
time. A count over the last seven days was all spent on the first, and a drifting load was followed one day in seven.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from policies.board import Board, Group, capacity_bytes
from policies.costs import dearness
from policies.draft import Balance, Draft
from policies.plan import MoveReason, Situation

WEEK_SECONDS = 7 * 24 * 3600.0


def within_turnover(groups: Sequence[Group], draft: Draft, situation: Situation, board: Board) -> list[Group]:
    """The groups that pay at the price that those kept before them leave; the others stay for later plans.

    A group that does not pay is passed over, and those behind it are asked all the same: one large swap that brings
    little is no reason to leave small ones that bring much. What was to come into the room that it would have made
    finds none, and is passed over with it. Pins stay in any case: nothing is passed over before they are done.

    Args:
        groups: in an order in which every hop finds room, those with pins first.
        draft: of the plan; its price is put back.
        situation: says what has given way already, and how large the tier is.
        board: as it is before the first group; used up.
    """
    used, first = situation.turned_over_ratio, draft.dearness
    capacity = fastest_bytes(situation)
    kept: list[Group] = []
    for group in groups:
        gone = _giving_way(group, draft, situation)
        draft.dearness = dearness(used, draft.settings)
        if (gone and not _pays(group, draft)) or not board.carry_out(group):
            continue
        used += gone / capacity if capacity else 0.0
        kept.append(group)
    draft.dearness = first
    return kept


def undrained(gave_way: Iterable[tuple[float, float]], per_week: float) -> float:
    """How full the bucket is now, as a share of the fastest tier.

    Args:
        gave_way: how many seconds ago, and what share of the tier; in any order.
        per_week: share that drains in a week.
    """
    level, before = 0.0, inf
    for age, share in sorted(gave_way, reverse=True):
        level = max(0.0, level - per_week * (before - age) / WEEK_SECONDS) + share
        before = age
    return max(0.0, level - per_week * max(0.0, before) / WEEK_SECONDS) if before < inf else 0.0


def fastest_bytes(situation: Situation) -> int:
    """Bytes of the fastest tier in all."""
    spaces = zip(situation.spaces, situation.tier_of_space, strict=True)
    return sum(capacity_bytes(space) for space, tier in spaces if tier == 0)


def _giving_way(group: Group, draft: Draft, situation: Situation) -> int:
    """Bytes that leave the fastest tier for others; 0 where somebody asked for it."""
    if any(hop.reason is MoveReason.PIN for hop in group.hops):
        return 0
    return sum(
        int(draft.bundles.size[hop.bundle])
        for hop in group.hops
        if hop.reason is MoveReason.MAKE_ROOM and situation.tier_of_space[hop.source] == 0
    )


def _pays(group: Group, draft: Draft) -> bool:
    balance = Balance(draft)
    for hop in group.hops:
        balance.add(hop)
    return balance.pays()
