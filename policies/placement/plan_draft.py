"""A plan in the making, and the budget of wear that it may use.

A plan in the making: the placement state after the groups found so far, and what is left of the plan's limits.

The budget of wear that a user may give: how much of the fastest tier makes room for other bundles in a week.

Without one, what moves is decided by what it costs and brings alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from connectors.model.observation import F64, I64, Bools
from policies.evidence.bundles import MICRO, Bundles
from policies.evidence.capacity import capacity_bytes
from policies.evidence.guards import may_make_room, may_move
from policies.evidence.prices import HOUR
from policies.model.columns import KeysOf, densest_first
from policies.model.moves import Group, MoveReason, Relocation
from policies.model.plan import Situation
from policies.model.settings import PREFERENCE, THERE_AND_BACK, Pin, PolicySettings
from policies.placement.placement_state import PlacementState

_PREFER, _MAKE_ROOM = int(Pin.PREFER), MoveReason.MAKE_ROOM  # looked up once: enum attributes are slow in 3.11


@dataclass(slots=True)
class PlanDraft:
    """Bundles, their placement state, the decisions so far, and what is left of the plan's limits."""

    bundles: Bundles
    state: PlacementState
    settings: PolicySettings
    keys: Sequence[str]  # of each bundle's leading unit
    moved: Bools  # bundles that a group moves; none is moved twice
    left: int  # relocations that may still be added
    left_bytes: float = inf  # that may still be copied
    left_copying: float = inf  # microseconds of copying that may still be spent
    demote: bool = True  # False: no demotions, only free room is filled

    def tier(self) -> I64:
        """Present tier of each bundle in the state, -1 where it is not managed."""
        return np.asarray(self.state.tier_of, dtype=np.int64)[self.state.home]

    def place(self) -> I64:
        """Present place of each bundle in the state, -1 where it is not managed."""
        return np.asarray(self.state.place_of, dtype=np.int64)[self.state.home]

    def group(self, relocations: Iterable[Relocation]) -> Group:
        """Relocations with their sums."""
        relocations = tuple(relocations)
        size = sum(int(self.bundles.size[relocation.bundle]) for relocation in relocations)
        cost = sum(float(self.bundles.cost[relocation.bundle]) for relocation in relocations)
        copying = sum(float(self.bundles.copying[relocation.bundle]) for relocation in relocations)
        return Group(
            relocations, sum(self.state.saving_of(relocation) for relocation in relocations), cost, size, copying
        )

    def keep(self, group: Group) -> Group:
        """Charge a group, already applied to the state, to the plan's limits."""
        for relocation in group.relocations:
            self.moved[relocation.bundle] = True
        self.left -= len(group.relocations)
        self.left_bytes -= group.size
        self.left_copying -= group.copying
        return group

    def take_back(self, groups: Sequence[Group]) -> None:
        """Undo kept groups; those kept after them must have been taken back before."""
        for group in reversed(groups):
            self.state.undo(group.relocations)
            for relocation in group.relocations:
                self.moved[relocation.bundle] = False
            self.left += len(group.relocations)
            self.left_bytes += group.size
            self.left_copying += group.copying

    def redo(self, groups: Sequence[Group]) -> None:
        """Apply and keep groups again that were taken back, in the state in which they began."""
        # Relocations are applied again one by one instead of restoring a copy of the state: homes of a million bundles
        # would be copied for every variant that is tried.
        for group in groups:
            for relocation in group.relocations:
                self.state.apply(relocation)
            self.keep(group)

    def affords(self, relocations: Sequence[Relocation]) -> bool:
        """Whether the plan's limits still allow these relocations, their bytes and their copying time."""
        return (
            len(relocations) <= self.left
            and sum(int(self.bundles.size[relocation.bundle]) for relocation in relocations) <= self.left_bytes
            and sum(float(self.bundles.copying[relocation.bundle]) for relocation in relocations) <= self.left_copying
        )

    def density_order(self, bundle: I64, value: F64) -> I64:
        """Positions of some bundles by falling value of each per byte (``columns``)."""
        return densest_first(value, self.bundles.size[bundle], KeysOf(self.keys, bundle))

    def by_density(self, which: Bools, value: F64) -> list[int]:
        """Those bundles by falling value per byte; ``value`` is of all."""
        items = np.flatnonzero(which)
        return [int(bundle) for bundle in items[self.density_order(items, value[items])]]

    def preference(self, some: I64 | slice) -> F64:
        """Factor on the benefit of some bundles: ``PREFERENCE`` for preferred ones, otherwise 1."""
        return np.where(self.bundles.pin[some] == Pin.PREFER, PREFERENCE, 1.0)

    @property
    def per_hour(self) -> float:
        """Share of a move's cost that one hour bears: that of its copy and of the one back, over the stay between them.

        Nothing stays for ever. So who goes up or makes room pays for the way back as well, and what would be exchanged
        to and fro for little is left where it is.
        """
        return THERE_AND_BACK * HOUR / self.settings.horizon_seconds

    def leavers(self) -> Bools:
        """Bundles that may be demoted, in spaces whose room is known."""
        known = np.array([self.state.is_room_known(space) for space in range(len(self.state.room))], dtype=np.bool_)
        free = ~self.moved & may_make_room(self.bundles, self.settings) & self.demote
        return np.asarray(free & known[self.state.home], dtype=np.bool_)

    def changers(self) -> Bools:
        """Bundles that may change to another space of their tier; what a pin keeps on its tier may do so too."""
        pinned = ~self.moved & may_move(self.bundles, self.settings) & (self.bundles.pin == Pin.MUST) & self.demote
        return np.asarray((self.leavers() & (self.bundles.cooling <= 0)) | pinned, dtype=np.bool_)


@dataclass(slots=True)
class Balance:
    """What relocations bring together, in microseconds per hour, and whether that is worth making them.

    It works on means. The guards have already checked that each promotion is worth a move at its lower confidence
    bound; that its gain is less certain than others' losses is no reason to keep those in place.

    Two horizons: a swap must pay by the long and by the short one. Where a cooling bundle would displace a warming one,
    the last hours already speak against it, and the swap would be reversed as soon as the long horizon has caught up:
    two copies for nothing. Either horizon alone oscillates, the short one with every peak, the long one behind every
    shift.
    """

    draft: PlanDraft
    plain: float = 0.0  # saved
    counted: float = 0.0  # the same with the bonus of preferred bundles
    net: float = 0.0  # the same with the bonus of residents too, less the moves' cost per hour
    cost: float = 0.0  # session microseconds
    lately: float = 0.0  # saved, by the short horizon

    def add(self, relocation: Relocation) -> None:
        """Count one more relocation, applied to the state or not."""
        draft, settings = self.draft, self.draft.settings
        saved = draft.state.saving_of(relocation)
        favour = PREFERENCE if draft.bundles.pin[relocation.bundle] == _PREFER else 1.0
        gives_way = relocation.reason is _MAKE_ROOM
        # Only a loss weighs more for a resident: times the bonus, a saving would be one more reason to send it away.
        stays = settings.resident_bonus if gives_way and saved < 0 else 1.0
        cost = float(draft.bundles.cost[relocation.bundle])
        self.plain += saved
        self.counted += saved * favour
        self.net += saved * favour * stays - cost * draft.per_hour
        self.cost += cost
        self.lately += saved * draft.bundles.short_horizon_ratio(relocation.bundle)

    def pays(self) -> bool:
        """Whether the sum is positive by both horizons and net of cost, above the floor, and pays back in time."""
        settings = self.draft.settings
        floor = settings.minimum_wait_saved_per_hour * MICRO
        return (
            self.plain > 0
            and self.lately > 0
            and self.net > 0
            and self.counted >= floor
            and self.cost * HOUR <= settings.payback_limit_seconds * self.counted
        )


def within_turnover(
    groups: Sequence[Group],
    bundles: Bundles,
    situation: Situation,
    settings: PolicySettings,
    fresh: Callable[[], PlacementState],
) -> list[Group]:
    """The groups for which the budget lasts, the one that exhausts it included; the others wait for later plans.

    A group that makes nothing on the fastest tier give way needs no budget, nor does one that a pin asks for. What
    needed the room of a group that waits does not fit, and waits as well.

    Args:
        groups: in an order in which every relocation finds room, those with pins first.
        bundles: that they relocate.
        situation: what gave way lately, and how large the tier is.
        settings: with the budget.
        fresh: gives the state before the first group.
    """
    capacity = fastest_bytes(situation)
    if settings.turnover_per_week is None or not capacity:
        return list(groups)
    used, state, kept = situation.turned_over_ratio, fresh(), list[Group]()
    for group in groups:
        gone = _giving_way(group, bundles, situation)
        # The budget is asked before the group and not after it: a group larger than a whole week's budget could
        # otherwise never run, and one week's excess is drained by the next.
        if (gone and used >= settings.turnover_per_week) or not state.carry_out(group):
            continue
        used += gone / capacity
        kept.append(group)
    return kept


def fastest_bytes(situation: Situation) -> int:
    """Capacity of the fastest tier in bytes."""
    spaces = zip(situation.spaces, situation.tier_of_space, strict=True)
    return sum(capacity_bytes(space) for space, tier in spaces if tier == 0)


def _giving_way(group: Group, bundles: Bundles, situation: Situation) -> int:
    """Bytes that leave the fastest tier to make room; 0 for a group that a pin asks for."""
    if any(relocation.reason is MoveReason.PIN for relocation in group.relocations):
        return 0
    return sum(
        int(bundles.size[relocation.bundle])
        for relocation in group.relocations
        if relocation.reason is MoveReason.MAKE_ROOM and situation.tier_of_space[relocation.source] == 0
    )
