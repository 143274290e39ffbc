"""Modes of the balancer besides the usual one: clear, drain, usage and capacity, preference.

``clear_groups`` is mode ``hsm``, subtype ``ssd``: cold bundles leave the fastest tier until a stated share of each of
its spaces is free. A bundle is cold if the next slower tier costs it less than the floor in wait. Hot ones stay, even
if the share is then not reached.

``drain_groups`` empties a space before it is removed. Bundles go to other spaces of the same tier while they have room,
then to the next slower tiers, then to the next faster ones. Pins and cool-downs hold; a short history does not matter.
``left_behind`` gives a reason for each bundle that stays.

``level_groups`` evens out read load (mode ``usage``) or fill (mode ``capacity``) among the spaces of one tier. The
bundle that lowers the fullest space most per byte copied goes to the least full space with room for it. Two dead-bands,
as in Citus, keep things at rest: a space within 10 % of the mean gives nothing away, and a move must lower the fuller
of its two spaces by at least half of the bundle's weight. No move raises the maximum. Under an unchanged load repeated
plans come to an end, because each move lowers the fuller of its two spaces, and so the sorted list of all.

``pin_view`` is mode ``preference``: how far each pin is fulfilled, and what stands in the way. Its moves are
``balancer.pin_groups``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from math import ceil, inf

import numpy as np

from connectors.model.formatting import format_bytes, format_ratio, format_seconds
from connectors.model.observation import F64, I8, I64, Bools, Signal, Space
from policies.evidence.bundles import MICRO, Bundles, bundles_of
from policies.evidence.capacity import closed_spaces, room_bytes
from policies.evidence.guards import may_leave
from policies.evidence.prices import HOUR
from policies.model.columns import KeysOf, canonical_order, compute_density
from policies.model.moves import Group, MoveReason, Relocation
from policies.model.plan import Plan, Situation, UndrainedBundle
from policies.model.settings import Pin, PolicySettings, TierSpeed
from policies.placement.granularity import single_where_possible
from policies.placement.placement_state import PlacementState
from policies.placement.plan_draft import PlanDraft


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
) -> tuple[UndrainedBundle, ...]:
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
        UndrainedBundle(
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
        target = state.space_for(bundle, tier, but=space)
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
    volume = space.volume
    return (inf, 0.0) if volume is None else (volume.capacity_bytes, volume.used_bytes)


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


def why_level(draft: PlanDraft, tier: int, name: str, weight: Weight, movable: Bools) -> str:
    """Why evening out a tier moves nothing, in a sentence.

    Args:
        draft: an empty one.
        tier: its row.
        name: of the tier.
        weight: what is evened out.
        movable: bundles that may move.
    """
    names = draft.state.names
    spaces = sorted(draft.state.spaces(tier), key=lambda space: names[space])
    if len(spaces) < 2:
        there = f"one space, {names[spaces[0]]}" if spaces else "no space of known room"
        return f"{name} has {there}: there is nothing to even out"
    carried, mean = weight.of_spaces(draft.state, spaces), weight.mean(draft.state, spaces)
    if mean <= 0:
        return f"{name} carries nothing that could be evened out"
    fullest = int(np.argmax(carried))
    above = f"{names[spaces[fullest]]} carries {format_ratio(float(carried[fullest]) / mean - 1)} more than the mean"
    if carried[fullest] <= mean * (1 + DEAD_BAND):
        return f"the spaces of {name} are even: {above}, and up to {format_ratio(DEAD_BAND)} is let be"
    if not (movable & (draft.state.home == spaces[fullest])).any():
        return f"{above} of {name}, but no unit in it may move: each rests, is too young, or has no way"
    return f"{above} of {name}, but no unit of it has room elsewhere and lowers it by enough to pay for its copy"


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
    domain = draft.state.domain
    if domain is not None and domain[ends[0]] != domain[ends[1]]:
        return None
    fits = draft.bundles.size[items] + draft.bundles.transient[items] <= draft.state.room[ends[1]]
    good = np.flatnonzero(fits & (leaving > 0) & (lowered >= LEAST_IMPROVEMENT * leaving))
    if not len(good):
        return None
    size = draft.bundles.size[items[good]].astype(np.float64)
    score = compute_density(lowered[good], size)
    order = canonical_order(np.round(score / score.max(), _DIGITS), -size, KeysOf(draft.keys, items[good]))
    return int(items[good[order[0]]])


NONE = np.int8(-1)  # not pinned


class PinState(IntEnum):
    """How far a pin is fulfilled, the best first."""

    SATISFIED = 0
    PLANNED = 1  # a move of the plan fulfils it
    PARTLY = 2  # of some of the units that it matches
    LEFT_TO_HEAT = 3  # preferred: its heat counts more, but decides
    RESTING = 4  # moved not long ago
    WAITING_FOR_ROOM = 5
    IMPOSSIBLE = 6

    @property
    def code(self) -> str:
        """The state as one word in JSON."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class PinSummary:
    """One pin over all units that it governs."""

    state: PinState
    units: int  # that it governs, at least one
    satisfied: int
    why: str  # of one of its units that are worst off; "" where all are satisfied


@dataclass(frozen=True, slots=True, kw_only=True)
class PinView:
    """The state of every pin under a plan."""

    situation: Situation
    bundles: Bundles
    state: I8  # (n,) PinState of each unit, NONE where it is not pinned

    def summary(self, rows: I64) -> PinSummary:
        """The pin that governs the units in these rows, at least one."""
        states, key = self.state[rows], self.situation.units.key
        satisfied = int((states == PinState.SATISFIED).sum())
        worst = PinState(int(states.max()))
        # By key: the reason shown must not depend on the order in which a catalog lists its units.
        first = min((int(row) for row in rows[states == worst]), key=lambda row: key[row])
        return PinSummary(
            state=PinState.PARTLY if 0 < satisfied < len(rows) else worst,
            units=len(rows),
            satisfied=satisfied,
            why="" if worst is PinState.SATISFIED else self.sentence(first),
        )

    def sentence(self, row: int) -> str:
        """The state of one pinned unit, and what stands in the way."""
        key = self.situation.units.key[row]
        match PinState(int(self.state[row])):
            case PinState.SATISFIED:
                return f"{key} is where its pin wants it."
            case PinState.PLANNED:
                return f"{key} gets there by a move of the plan."
            case PinState.LEFT_TO_HEAT:
                return f"{key} is preferred: its heat counts more, and decides."
            case PinState.RESTING:
                cooling = float(self.bundles.cooling[self.bundles.of_row[row]])
                rest = f"it rests for another {format_seconds(cooling)}"
                return f"{key} was moved, or a move of it failed, not long ago; {rest}."
            case PinState.WAITING_FOR_ROOM:
                needs = f"{format_bytes(self._size(row))} {self._where(row)}"
                return f"{key} needs {needs}; it waits for room or a later plan."
            case _:
                return f"{key} {self._obstacle(row)}."

    def _size(self, row: int) -> int:
        return int(self.bundles.size[self.bundles.of_row[row]])

    def _where(self, row: int) -> str:
        fast = self.situation.tiers[0].name
        return f"off {fast}" if self.situation.pin[row] == Pin.NEVER else f"on {fast}"

    def _obstacle(self, row: int) -> str:
        situation, bundle = self.situation, int(self.bundles.of_row[row])
        if self.bundles.tier[bundle] < 0:
            return f"is in {situation.spaces[int(self.bundles.space[bundle])].name}, for which no tier is configured"
        if self.bundles.pin[bundle] == Pin.NEVER and situation.pin[row] != Pin.NEVER:
            return f"moves together with a unit that is pinned off {situation.tiers[0].name}"
        if not self.bundles.routable[bundle]:
            return f"cannot be moved: {situation.no_route[situation.units.key[int(self.bundles.lead[bundle])]]}"
        fast = situation.pin[row] != Pin.NEVER
        closed = closed_spaces(situation, [at for at in range(len(situation.tiers)) if (at == 0) == fast])
        needs, other = f"needs {format_bytes(self._size(row))}", "other " if closed else ""
        return f"{needs}, more than any {other}space {self._where(row)} is known to hold{closed and f': {closed}'}"


def pin_view(situation: Situation, plan: Plan, settings: PolicySettings) -> PinView:
    """How far each pin is fulfilled, and what the plan does about it."""
    judged = single_where_possible(situation)
    bundles = bundles_of(judged, settings)
    situation = replace(judged, pin=situation.pin)  # who shares a way with others still has a pin of its own
    of_row, pin = bundles.of_row, situation.pin
    fast = situation.tier_of_space[situation.units.space] == 0
    moved = np.zeros(len(pin), dtype=np.bool_)
    moved[[row for move in plan.moves for row in move.rows]] = True
    cases: list[tuple[Bools, PinState]] = [
        # The order decides: `np.select` takes the first that holds, and a unit that is where it should be is satisfied
        # even if no route would lead it there again.
        (fast == (pin != Pin.NEVER), PinState.SATISFIED),
        (moved & (plan.chosen == (pin != Pin.NEVER)), PinState.PLANNED),
        (_impossible(situation, bundles, settings)[of_row], PinState.IMPOSSIBLE),
        ((bundles.pin == Pin.NEVER)[of_row] & (pin != Pin.NEVER), PinState.IMPOSSIBLE),
        (pin == Pin.PREFER, PinState.LEFT_TO_HEAT),
        (bundles.cooling[of_row] > 0, PinState.RESTING),
    ]
    words = [np.int8(word) for _, word in cases]
    state = np.select([case for case, _ in cases], words, np.int8(PinState.WAITING_FOR_ROOM))
    return PinView(situation=situation, bundles=bundles, state=np.where(pin == Pin.NONE, NONE, state).astype(np.int8))


def _impossible(situation: Situation, bundles: Bundles, settings: PolicySettings) -> Bools:
    """Bundles that no tier is known for, that have no route, or that no space there could hold even when empty."""
    fast = _largest(situation, settings, [row for row, tier in enumerate(situation.tier_of_space) if tier == 0])
    slow = _largest(situation, settings, [row for row, tier in enumerate(situation.tier_of_space) if tier > 0])
    too_large = bundles.size > np.where(bundles.pin == Pin.NEVER, slow, fast)
    return np.asarray((bundles.tier < 0) | ~bundles.routable | too_large, dtype=np.bool_)


def _largest(situation: Situation, settings: PolicySettings, spaces: list[int]) -> int:
    """Bytes that the largest of some spaces can hold, -1 where none is known."""
    sizes = [-1]
    for space in (situation.spaces[row] for row in spaces):
        free = room_bytes(space, 0.0)
        if free is not None:
            capacity = space.capacity_bytes if space.capacity_bytes is not None else space.used_bytes + free
            sizes.append(capacity - ceil(capacity * settings.head_room_ratio))
    return max(sizes)
