"""A draft's hops as the moves of a plan: names, figures and the sentence that says why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import inf

from policies.benefit.bundles import MICRO, Bundles, name_of_whole
from policies.benefit.foreground_wait import HOUR
from policies.explanation.verdicts import move_sentence
from policies.model.plan import PlannedMove, Situation
from policies.placement.placement_state import Group


def planned_moves(groups: Iterable[Group], bundles: Bundles, situation: Situation) -> Iterator[PlannedMove]:
    """The hops of all groups, in order."""
    tiers = [situation.tiers[tier].name if tier >= 0 else "" for tier in situation.tier_of_space.tolist()]
    spaces = [space.name for space in situation.spaces]
    tier_of = situation.tier_of_space.tolist()
    for number, group in enumerate(groups, start=1):
        payback = group.cost / group.saved * HOUR if group.saved > 0 else inf
        next_key = situation.units.key[bundles.members(group.hops[-1].bundle)[0]]
        for hop in group.hops:
            members = bundles.members(hop.bundle)
            size = int(situation.units.size_bytes[list(members)].sum())  # as it is, without what it may grow by
            before, after = tier_of[hop.source], tier_of[hop.target]
            move = PlannedMove(
                key=situation.units.key[members[0]],
                rows=members,
                size_bytes=size,
                from_space=spaces[hop.source],
                to_space=spaces[hop.target],
                from_tier=tiers[hop.source],
                to_tier=tiers[hop.target],
                reason=hop.reason,
                wait_saved_per_hour=float(bundles.wait[before, hop.bundle] - bundles.wait[after, hop.bundle]) / MICRO,
                copy_seconds=float(bundles.copying[hop.bundle]) / MICRO,
                payback_seconds=payback if before > after else inf,
                sentence="",
                wide=name_of_whole(situation, members[0]),
                group=number,
            )
            yield replace(move, sentence=move_sentence(move, next_key))
