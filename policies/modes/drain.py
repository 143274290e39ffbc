"""Mode ``drain``: empty a space before it is removed, and give a reason for every unit that stays.

Bundles go to other spaces of the same tier while they have room, otherwise to the next slower tiers, otherwise to the
next faster ones. Pins hold: a bundle pinned to the fastest tier does not leave it, one pinned off it does not enter it.
A short history does not matter here, a cool-down does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from connectors.formatting import format_bytes, format_seconds
from connectors.model import Bools
from policies.benefit.bundles import Bundles
from policies.model.plan import LeftBehind, MoveReason, Pin, Situation
from policies.model.relocation import Group, Relocation
from policies.placement.placement_state import PlacementState
from policies.placement.plan_draft import PlanDraft


def drain_groups(drafts: tuple[PlanDraft, PlanDraft], space: int) -> list[Group]:
    """One group per bundle that leaves. Of two orders, hot first and large first, the one that leaves fewer bytes.

    Args:
        drafts: two empty ones, which are extended.
        space: row of the space to be emptied.
    """
    hot, large = drafts
    leaving = _movable(hot.bundles) & (hot.bundles.space == space)
    tier = hot.state.tier_of[space]
    if tier < 0:
        return []
    loss = hot.bundles.wait[min(tier + 1, hot.state.tiers - 1)] - hot.bundles.wait[tier]
    size = hot.bundles.size.astype(np.float64)
    ways = [
        _empty_space(hot, space, hot.by_density(leaving, loss)),
        # by_density divides by the size: its square there is what makes the largest bundle the first.
        _empty_space(large, space, large.by_density(leaving, size * np.maximum(size, 1))),
    ]
    return max(ways, key=lambda groups: (sum(group.size for group in groups), sum(group.saved for group in groups)))


def left_behind(
    situation: Situation, bundles: Bundles, state: PlacementState, groups: Sequence[Group], space: int
) -> tuple[LeftBehind, ...]:
    """Bundles that a drain leaves in its space, the largest first.

    Args:
        situation: of the plan.
        bundles: of the situation.
        state: before the first group; used up.
        groups: that the plan carries out.
        space: row of the space to be emptied.
    """
    for group in groups:
        for relocation in group.relocations:
            state.apply(relocation)
    staying = [
        LeftBehind(
            key=situation.units.key[int(bundles.lead[bundle])],
            rows=bundles.members(bundle),
            size_bytes=int(bundles.size[bundle]),
            why=_why(situation, bundles, state, bundle),
        )
        for bundle in np.flatnonzero(state.home == space).tolist()
    ]
    return tuple(sorted(staying, key=lambda left: (-left.size_bytes, left.key)))


def _movable(bundles: Bundles) -> Bools:
    return np.asarray((bundles.cooling <= 0) & bundles.routable, dtype=np.bool_)


def _empty_space(draft: PlanDraft, space: int, order: Sequence[int]) -> list[Group]:
    groups: list[Group] = []
    for bundle in order:
        relocation = _way_out(draft.bundles, draft.state, bundle, space) if draft.left > 0 else None
        if relocation is not None:
            draft.state.apply(relocation)
            groups.append(draft.keep(draft.group([relocation])))
    return groups


def _way_out(bundles: Bundles, state: PlacementState, bundle: int, space: int) -> Relocation | None:
    """The hop out of the space to the nearest tier with room, None where there is none."""
    for tier in _tiers(state.tier_of[space], state.tiers, Pin(int(bundles.pin[bundle]))):
        target = state.space_for(state.needed_bytes(bundle), tier, but=space)
        if target is not None:
            return Relocation(bundle, space, target, MoveReason.DRAIN)
    return None


def _tiers(home: int, count: int, pin: Pin) -> list[int]:
    """Tiers that a bundle may go to, the first choice first: its own, slower ones, faster ones."""
    if pin is Pin.MUST and home == 0:
        return [0]
    order = [*range(home, count), *range(home - 1, -1, -1)]
    return [tier for tier in order if tier > 0 or pin is not Pin.NEVER]


def _why(situation: Situation, bundles: Bundles, state: PlacementState, bundle: int) -> str:
    """Why a bundle is still in its space, as the board stands."""
    home, size = int(state.home[bundle]), format_bytes(int(bundles.size[bundle]))
    tier = state.tier_of[home]
    if tier < 0:
        return f"no tier is configured for {state.names[home]}, so its targets are not known"
    if bundles.cooling[bundle] > 0:
        return (
            f"it was moved recently and is not moved again for another {format_seconds(float(bundles.cooling[bundle]))}"
        )
    if not bundles.routable[bundle]:
        return situation.no_route[situation.units.key[int(bundles.lead[bundle])]]
    if _way_out(bundles, state, bundle, home) is not None:
        return "it waits for the next plan: this one has reached its limits"
    if bundles.pin[bundle] == Pin.MUST and tier == 0:
        return f"it is pinned to {situation.tiers[0].name}, and no other space there has known room for {size}"
    return f"no other space that it may go to has known room for {size}"
