"""A draft's hops as the moves of a plan: names, figures and the sentence that says why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf

from connectors.model import NO_WIDE
from policies.benefit import HOUR, copy_seconds
from policies.board import Group, Hop
from policies.bundles import MICRO, Bundles
from policies.explain import move_sentence
from policies.plan import PlannedMove, PolicySettings, Situation


def planned_moves(
    groups: Iterable[Group], bundles: Bundles, situation: Situation, settings: PolicySettings
) -> Iterable[PlannedMove]:
    """The hops of all groups, in order."""
    for group in groups:
        for hop in group.hops:
            yield _move(hop, group, bundles, situation, settings)


def _name_of_whole(situation: Situation, row: int) -> str:
    """What a unit is judged with as a whole, "" where it is judged alone."""
    at = NO_WIDE if situation.whole is None else int(situation.whole[row])
    return "" if at == NO_WIDE else situation.units.wide_names[at]


def _move(hop: Hop, group: Group, bundles: Bundles, situation: Situation, settings: PolicySettings) -> PlannedMove:
    members = bundles.members(hop.bundle)
    source, target = situation.spaces[hop.source], situation.spaces[hop.target]
    from_tier, to_tier = (situation.tiers[int(situation.tier_of_space[row])].name for row in (hop.source, hop.target))
    rise = situation.tier_of_space[hop.source] > situation.tier_of_space[hop.target]
    wait = bundles.wait[situation.tier_of_space[[hop.source, hop.target]], hop.bundle]
    saved = float(wait[0] - wait[1]) / MICRO
    payback = group.cost / group.saved * HOUR if rise and group.saved > 0 else inf
    move = PlannedMove(
        key=situation.units.key[members[0]],
        rows=members,
        size_bytes=int(bundles.size[hop.bundle]),
        from_space=source.name,
        to_space=target.name,
        from_tier=from_tier,
        to_tier=to_tier,
        reason=hop.reason,
        wait_saved_per_hour=saved,
        copy_seconds=float(copy_seconds(bundles.size[[hop.bundle]], settings)[0]),
        payback_seconds=payback,
        sentence="",
        wide=_name_of_whole(situation, members[0]),
    )
    next_key = situation.units.key[bundles.members(group.hops[-1].bundle)[0]]
    return replace(move, sentence=move_sentence(move, next_key))
