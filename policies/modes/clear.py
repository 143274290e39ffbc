"""Mode ``hsm``, subtype ``ssd``: cold leaves the fastest tier until a stated share of each of its spaces is free.

Cold is what would wait less than the floor more on the next slower tier. What is hot stays, even where the share is
then not reached.
"""

from __future__ import annotations

import numpy as np

from connectors.model import Bools
from policies.benefit.bundles import MICRO
from policies.benefit.guards import may_leave
from policies.model.plan import MoveReason, Pin, Situation
from policies.model.relocation import Group
from policies.placement.plan_draft import PlanDraft
from policies.storage.capacity import room_bytes


def clear_groups(draft: PlanDraft, situation: Situation, free_ratio: float) -> list[Group]:
    """One group per demotion, the least regretted first.

    Args:
        draft: is extended.
        situation: for the room of its spaces.
        free_ratio: share of the capacity of each space that is to be free, 0 to 1.
    """
    loss = draft.bundles.wait[min(1, draft.state.tiers - 1)] - draft.bundles.wait[0]
    coldest_first = list(reversed(draft.by_density(_cold(draft), loss)))
    groups: list[Group] = []
    for space in sorted(draft.state.spaces(0), key=lambda row: draft.state.names[row]):
        free = room_bytes(situation.spaces[space], free_ratio)
        missing = 0 if free is None else -free
        for bundle in coldest_first:
            if missing <= 0 or draft.left < 1:
                break
            relocation = (
                draft.state.demotion_of(bundle, MoveReason.CLEAR) if draft.state.home[bundle] == space else None
            )
            if relocation is not None:
                draft.state.apply(relocation)
                groups.append(draft.keep(draft.group([relocation])))
                # Counted down here and not asked of the state, whose rooms leave free the configured head-room, not the
                # share asked for.
                missing -= int(draft.bundles.freed[bundle])
    return groups


def _cold(draft: PlanDraft) -> Bools:
    """Bundles on the fastest tier that may leave and lose less than the floor by it; preferred ones lose more."""
    bundles, settings = draft.bundles, draft.settings
    loss = (bundles.wait[min(1, draft.state.tiers - 1)] - bundles.wait[0]) * draft.preference(slice(None))
    little = loss < settings.minimum_wait_saved_per_hour * MICRO
    there = (bundles.tier == 0) & (bundles.size > 0) & may_leave(bundles, settings)
    return np.asarray(there & (little | (bundles.pin == Pin.NEVER)), dtype=np.bool_)
