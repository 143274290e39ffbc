"""Mode ``drain``: empty a space before it is removed, and say of everything that stays why.

What leaves goes to other spaces of the same tier while they have room, otherwise to the next slower tiers, otherwise to
the next faster ones. Pins hold: what must be on the fastest tier leaves it for no other, what must never be there does
not come. History does not matter, a cool-down does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from connectors.formatting import format_bytes, format_seconds
from connectors.model import Bools
from policies.benefit.bundles import Bundles
from policies.model.plan import LeftBehind, MoveReason, Pin, Situation
from policies.placement.placement_state import Group, PlacementState, Relocation
from policies.placement.plan_draft import PlanDraft, by_density


def drain_groups(drafts: tuple[PlanDraft, PlanDraft], space: int) -> list[Group]:
    """One group per bundle that leaves. Of two orders, hot first and large first, the one that leaves fewer bytes.

    Args:
        drafts: two empty ones, which are extended.
        space: row of the space to be emptied.
    """
    hot, large = drafts
    leaving = _movable(hot.bundles) & (hot.bundles.space == space)
    tier = hot.board.tier_of[space]
    if tier < 0:
        return []
    loss = hot.bundles.wait[min(tier + 1, hot.board.tiers - 1)] - hot.bundles.wait[tier]
    size = hot.bundles.size.astype(np.float64)
    ways = [
        _empty_space(hot, space, by_density(hot, leaving, loss)),
        _empty_space(large, space, by_density(large, leaving, size * np.maximum(size, 1))),
    ]
    return max(ways, key=lambda groups: (sum(group.size for group in groups), sum(group.saved for group in groups)))


def left_behind(
    situation: Situation, bundles: Bundles, board: PlacementState, groups: Sequence[Group], space: int
) -> tuple[LeftBehind, ...]:
    """What a drain leaves in its space, the largest first.

    Args:
        situation: of the plan.
        bundles: of the situation.
        board: as it is before the first group; used up.
        groups: that the plan carries out.
        space: row of the space to be emptied.
    """
    for group in groups:
        for hop in group.hops:
            board.do(hop)
    staying = [
        LeftBehind(
            key=situation.units.key[int(bundles.lead[bundle])],
            rows=bundles.members(bundle),
            size_bytes=int(bundles.size[bundle]),
            why=_why(situation, bundles, board, bundle),
        )
        for bundle in np.flatnonzero(board.home == space).tolist()
    ]
    return tuple(sorted(staying, key=lambda left: (-left.size_bytes, left.key)))


def _movable(bundles: Bundles) -> Bools:
    return np.asarray((bundles.cooling <= 0) & bundles.routable, dtype=np.bool_)


def _empty_space(draft: PlanDraft, space: int, order: Sequence[int]) -> list[Group]:
    groups: list[Group] = []
    for bundle in order:
        hop = _way_out(draft.bundles, draft.board, bundle, space) if draft.left > 0 else None
        if hop is not None:
            draft.board.do(hop)
            groups.append(draft.keep(draft.group([hop])))
    return groups


def _way_out(bundles: Bundles, board: PlacementState, bundle: int, space: int) -> Relocation | None:
    """The hop out of the space to the nearest tier with room, None where there is none."""
    for tier in _tiers(board.tier_of[space], board.tiers, Pin(int(bundles.pin[bundle]))):
        target = board.space_for(board.needed(bundle), tier, but=space)
        if target is not None:
            return Relocation(bundle, space, target, MoveReason.DRAIN)
    return None


def _tiers(home: int, count: int, pin: Pin) -> list[int]:
    """Tiers that a bundle may go to, the first choice first: its own, slower ones, faster ones."""
    if pin is Pin.MUST and home == 0:
        return [0]
    order = [*range(home, count), *range(home - 1, -1, -1)]
    return [tier for tier in order if tier > 0 or pin is not Pin.NEVER]


def _why(situation: Situation, bundles: Bundles, board: PlacementState, bundle: int) -> str:
    """Why a bundle is still in its space, as the board stands."""
    home, size = int(board.home[bundle]), format_bytes(int(bundles.size[bundle]))
    tier = board.tier_of[home]
    if tier < 0:
        return f"no tier is configured for {board.names[home]}, so nobody knows where it may go"
    if bundles.cooling[bundle] > 0:
        return f"it was moved not long ago and rests for another {format_seconds(float(bundles.cooling[bundle]))}"
    if not bundles.routable[bundle]:
        return situation.no_route[situation.units.key[int(bundles.lead[bundle])]]
    if _way_out(bundles, board, bundle, home) is not None:
        return "it waits for the next plan, since this one is full"
    if bundles.pin[bundle] == Pin.MUST and tier == 0:
        return f"it is pinned to {situation.tiers[0].name}, and no other space there has known room for {size}"
    return f"no other space that it may go to has known room for {size}"
