"""A week's turnover of the fastest tier: how much of a plan the rest of it is worth.

The solver knows one price of giving way, that of the moment at which the plan is made. Within a plan the price rises
with every resident that goes (``costs.dearness``), so that no single plan spends what was meant for weeks.
"""

from __future__ import annotations

from collections.abc import Sequence

from policies.board import Group, capacity_bytes
from policies.costs import dearness
from policies.draft import Balance, Draft
from policies.plan import MoveReason, Situation


def within_turnover(groups: Sequence[Group], draft: Draft, situation: Situation) -> list[Group]:
    """The longest prefix of groups each of which pays at the price that those before it leave; pins stay in any case.

    Args:
        groups: in the order in which they are carried out.
        draft: of the plan; its price is put back.
        situation: says what has given way already, and how large the tier is.
    """
    used, first = situation.turned_over_ratio, draft.dearness
    capacity = fastest_bytes(situation)
    kept: list[Group] = []
    for group in groups:
        gone = _giving_way(group, draft, situation)
        draft.dearness = dearness(used, draft.settings)
        if gone and not _pays(group, draft):
            break
        used += gone / capacity if capacity else 0.0
        kept.append(group)
    draft.dearness = first
    return kept


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
