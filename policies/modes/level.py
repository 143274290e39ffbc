"""Modes ``usage`` and ``capacity``: even out read load, or fill, among the spaces of one tier.

The bundle that lowers the fullest space most per byte copied goes to the least full space that has room for it. Two
dead-bands, as Citus has them, keep things at rest: a space within 10 % of the mean gives nothing away, and a move
has to lower the fullest of the two spaces by at least half of what the bundle weighs. So no move ever raises the
maximum, and moves that are made again and again under the same load come to an end: every one of them lowers the
fullest of its two spaces, and thereby the sorted list of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from connectors.model import F64, I64, Bools, Signal, Space
from policies.benefit.bundles import MICRO, Bundles
from policies.benefit.prices import HOUR
from policies.model.density import KeysOf, canonical_order, compute_density
from policies.model.plan import MoveReason, Situation, TierSpeed
from policies.model.relocation import Group, Relocation
from policies.placement.placement_state import PlacementState
from policies.placement.plan_draft import PlanDraft
from policies.storage.capacity import room_bytes

DEAD_BAND = 0.10  # above the mean
LEAST_IMPROVEMENT = 0.5  # of what the bundle weighs where it is
_DIGITS = 9  # beyond these, two moves lower a space equally much per byte


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """The load to even out. All but ``scale`` are whole numbers, so that no sum depends on its order."""

    of_bundle: F64  # (m,)
    elsewhere: F64  # (spaces,) what a space carries apart from its bundles
    scale: F64  # (spaces,) spaces are even where what they carry, by this, is equal

    def of_spaces(self, state: PlacementState, spaces: list[int]) -> F64:
        """Load of each space in this placement, movable or not, by its scale. Shape ``(len(spaces),)``."""
        carried = self.elsewhere + np.bincount(state.home, weights=self.of_bundle, minlength=len(state.room))
        return np.asarray((carried / self.scale)[spaces], dtype=np.float64)

    def mean(self, state: PlacementState, spaces: list[int]) -> float:
        """Load of each space if all were even."""
        scale = self.scale[spaces]
        return float((self.of_spaces(state, spaces) * scale).sum() / scale.sum())


def read_load(bundles: Bundles, speed: TierSpeed, spaces: int) -> Weight:
    """Microseconds per hour that a space is busy with reads, prefetched ones included.

    Args:
        bundles: of the situation.
        speed: of the tier.
        spaces: how many there are.
    """
    seconds = read_seconds(bundles.rates, speed)
    return Weight(of_bundle=np.rint(seconds * HOUR * MICRO), elsewhere=np.zeros(spaces), scale=np.ones(spaces))


def read_seconds(rates: F64, speed: TierSpeed) -> F64:
    """Seconds per second that reads take on a tier, prefetched ones included. Shape ``(n,)`` of ``(SIGNALS, n)``."""
    ahead = rates[Signal.PREFETCHED_READ] + rates[Signal.DIRECT_READ]
    seconds = rates[Signal.SYNC_READ] * speed.random_read_seconds + ahead * speed.sequential_read_seconds
    return np.asarray(seconds, dtype=np.float64)


def fill(situation: Situation, bundles: Bundles) -> Weight:
    """Used share of each space's capacity, 0 to 1; a space of unknown capacity counts as empty and endless."""
    size = bundles.size.astype(np.float64)
    capacity, used = np.array([capacity_and_used(space) for space in situation.spaces], dtype=np.float64).T
    held = np.bincount(bundles.space, weights=size, minlength=len(capacity))
    return Weight(of_bundle=size, elsewhere=used - held, scale=np.maximum(capacity, 1))


def capacity_and_used(space: Space) -> tuple[float, float]:
    """Bytes; what is not free counts as used, for whatever purpose. Infinity and 0 where the capacity is not known."""
    free = room_bytes(space, 0.0)
    if free is None:
        return inf, 0.0
    capacity = space.capacity_bytes if space.capacity_bytes is not None else space.used_bytes + free
    return capacity, capacity - free


def level_groups(draft: PlanDraft, tier: int, weight: Weight, movable: Bools) -> list[Group]:
    """One group per move, each from a space above the dead-band.

    Args:
        draft: is extended.
        tier: whose spaces are evened out; those of unknown room neither give nor take.
        weight: what is evened out.
        movable: bundles that may move.
    """
    spaces = sorted(draft.state.spaces(tier), key=lambda space: draft.state.names[space])
    groups: list[Group] = []
    while len(spaces) > 1 and draft.left > 0:
        relocation = _best(draft, spaces, weight, movable & ~draft.moved)
        if relocation is None:
            break
        draft.state.apply(relocation)
        groups.append(draft.keep(draft.group([relocation])))
    return groups


def _best(draft: PlanDraft, spaces: list[int], weight: Weight, movable: Bools) -> Relocation | None:
    """The best move out of the fullest space that has one."""
    carried = weight.of_spaces(draft.state, spaces)
    limit = weight.mean(draft.state, spaces) * (1 + DEAD_BAND)
    fullest_first = np.argsort(-carried, kind="stable")
    for source in fullest_first[carried[fullest_first] > limit]:
        items = np.flatnonzero(movable & (draft.state.home == spaces[source]))
        for target in reversed(fullest_first):
            if carried[target] < carried[source]:
                ends = (spaces[source], spaces[target])
                bundle = _lightening(draft, items, ends, (carried[source], carried[target]), weight)
                if bundle is not None:
                    return Relocation(bundle, *ends, MoveReason.LEVEL)
    return None


def _lightening(
    draft: PlanDraft, items: I64, ends: tuple[int, int], carried: tuple[float, float], weight: Weight
) -> int | None:
    """The bundle that lowers the fuller end most per byte, None where none does by enough; of equals the largest."""
    leaving, coming = (weight.of_bundle[items] / weight.scale[space] for space in ends)
    lowered = carried[0] - np.maximum(carried[0] - leaving, carried[1] + coming)
    fits = draft.bundles.size[items] + draft.bundles.transient[items] <= draft.state.room[ends[1]]
    good = np.flatnonzero(fits & (leaving > 0) & (lowered >= LEAST_IMPROVEMENT * leaving))
    if not len(good):
        return None
    size = draft.bundles.size[items[good]].astype(np.float64)
    score = compute_density(lowered[good], size)
    order = canonical_order(np.round(score / score.max(), _DIGITS), -size, KeysOf(draft.keys, items[good]))
    return int(items[good[order[0]]])
