"""A draft's hops as the moves of a plan: names, figures and the sentence that says why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import inf

from connectors.model import NO_WIDE
from policies.benefit import HOUR
from policies.board import Group
from policies.bundles import MICRO, Bundles
from policies.explain import move_sentence
from policies.plan import PlannedMove, PolicySettings, Situation


def planned_moves(
    groups: Iterable[Group], bundles: Bundles, situation: Situation, settings: PolicySettings
) -> Iterator[PlannedMove]:
    """The hops of all groups, in order."""
    tiers = [situation.tiers[tier].name if tier >= 0 else "" for tier in situation.tier_of_space.tolist()]
    spaces = [space.name for space in situation.spaces]
    tier_of = situation.tier_of_space.tolist()
    for group in groups:
        payback = group.cost / group.saved * HOUR if group.saved > 0 else inf
        next_key = situation.units.key[bundles.members(group.hops[-1].bundle)[0]]
        for hop in group.hops:
            members, size = bundles.members(hop.bundle), int(bundles.size[hop.bundle])
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
                copy_seconds=size / settings.copy_bytes_per_second,
                payback_seconds=payback if before > after else inf,
                sentence="",
                wide=_name_of_whole(situation, members[0]),
            )
            yield replace(move, sentence=move_sentence(move, next_key))


def _name_of_whole(situation: Situation, row: int) -> str:
    """What a unit is judged with as a whole, "" where it is judged alone."""
    at = NO_WIDE if situation.whole is None else int(situation.whole[row])
    return "" if at == NO_WIDE else situation.units.wide_names[at]
