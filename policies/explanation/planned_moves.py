"""A draft's relocations as the moves of a plan: names, figures, and the sentence that gives the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from math import inf

import numpy as np

from policies.benefit.bundles import MICRO, Bundles, name_of_whole
from policies.benefit.prices import HOUR
from policies.explanation.verdicts import growth_sentence, move_sentence
from policies.model.plan import PlannedMove, PolicySettings, Situation
from policies.model.relocation import Group


def planned_moves(
    groups: Iterable[Group], bundles: Bundles, situation: Situation, settings: PolicySettings
) -> Iterator[PlannedMove]:
    """The relocations of all groups, in order."""
    tiers = [situation.tiers[tier].name if tier >= 0 else "" for tier in situation.tier_of_space.tolist()]
    spaces = [space.name for space in situation.spaces]
    tier_of = situation.tier_of_space.tolist()
    size = np.add.reduceat(situation.units.size_bytes[bundles.rows], bundles.start[:-1])  # without expected growth
    for number, group in enumerate(groups, start=1):
        payback = group.cost / group.saved * HOUR if group.saved > 0 else inf
        next_key = situation.units.key[bundles.members(group.relocations[-1].bundle)[0]]
        for relocation in group.relocations:
            members = bundles.members(relocation.bundle)
            before, after = tier_of[relocation.source], tier_of[relocation.target]
            move = partial(
                PlannedMove,
                key=situation.units.key[members[0]],
                rows=members,
                size_bytes=int(size[relocation.bundle]),
                from_space=spaces[relocation.source],
                to_space=spaces[relocation.target],
                from_tier=tiers[relocation.source],
                to_tier=tiers[relocation.target],
                reason=relocation.reason,
                wait_saved_per_hour=float(
                    bundles.wait[before, relocation.bundle] - bundles.wait[after, relocation.bundle]
                )
                / MICRO,
                copy_seconds=float(bundles.copying[relocation.bundle]) / MICRO,
                payback_seconds=payback if before > after else inf,
                wide=name_of_whole(situation, members[0]),
                group=number,
            )
            outgrown = growth_sentence(situation, members, after, settings) if before > after >= 0 else ""
            yield move(sentence=move_sentence(move(sentence=""), next_key, outgrown))
