"""A plan in the making: the board as it is after the groups found so far, and what of the limits is left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from connectors.model import F64, I64, Bools
from policies.benefit.bundles import MICRO, Bundles
from policies.benefit.foreground_wait import HOUR
from policies.benefit.guards import may_leave
from policies.model.density import KeysOf, densest_first
from policies.model.plan import MoveReason, Pin, PolicySettings
from policies.placement.placement_state import Group, PlacementState, Relocation

_PREFER, _MAKE_ROOM = int(Pin.PREFER), MoveReason.MAKE_ROOM  # looked up once: an enumeration is slow to ask in 3.11


@dataclass(slots=True)
class PlanDraft:
    """Bundles, the board, and what was decided so far."""

    bundles: Bundles
    board: PlacementState
    settings: PolicySettings
    keys: Sequence[str]  # of each bundle's leading unit
    moved: Bools  # bundles that a group moves; none is moved twice
    left: int  # hops that may still be added
    left_bytes: float = inf  # that may still be copied
    left_copying: float = inf  # microseconds that may still be spent on it
    demote: bool = True  # False: nothing goes down, only free room is filled
    turnover_multiplier: float = 1.0  # of the cost of a demotion; rises with what was demoted lately

    def tier(self) -> I64:
        """Tier of each bundle as the board stands, -1 where it is not managed."""
        return np.asarray(self.board.tier_of, dtype=np.int64)[self.board.home]

    def group(self, hops: Iterable[Relocation]) -> Group:
        """Hops with their sums."""
        hops = tuple(hops)
        size = sum(int(self.bundles.size[hop.bundle]) for hop in hops)
        cost = sum(float(self.bundles.cost[hop.bundle]) for hop in hops)
        copying = sum(float(self.bundles.copying[hop.bundle]) for hop in hops)
        return Group(hops, sum(self.board.saving_of(hop) for hop in hops), cost, size, copying)

    def keep(self, group: Group) -> Group:
        """Note that the hops, done on the board already, are in the plan."""
        for hop in group.hops:
            self.moved[hop.bundle] = True
        self.left -= len(group.hops)
        self.left_bytes -= group.size
        self.left_copying -= group.copying
        return group

    def take_back(self, groups: Sequence[Group]) -> None:
        """Undo groups that were kept, all that came after them taken back already."""
        for group in reversed(groups):
            self.board.undo(group.hops)
            for hop in group.hops:
                self.moved[hop.bundle] = False
            self.left += len(group.hops)
            self.left_bytes += group.size
            self.left_copying += group.copying

    def redo(self, groups: Sequence[Group]) -> None:
        """Do and keep groups again that were taken back, the board as it was before them."""
        for group in groups:
            for hop in group.hops:
                self.board.do(hop)
            self.keep(group)

    def affords(self, hops: Sequence[Relocation]) -> bool:
        """Whether that many hops, their bytes and their time may still be added."""
        return (
            len(hops) <= self.left
            and sum(int(self.bundles.size[hop.bundle]) for hop in hops) <= self.left_bytes
            and sum(float(self.bundles.copying[hop.bundle]) for hop in hops) <= self.left_copying
        )

    def preference(self, some: I64 | slice) -> F64:
        """How much more than their own benefit some bundles count."""
        return np.where(self.bundles.pin[some] == Pin.PREFER, self.settings.prefer_bonus, 1.0)

    @property
    def per_hour(self) -> float:
        """Share of a cost that an hour of the horizon bears: what a move costs serves as long as it is expected to."""
        return HOUR / self.settings.horizon_seconds

    def start_balance(self) -> Balance:
        """An empty balance at the turnover multiplier of the moment at which the plan is made."""
        return Balance(self, self.turnover_multiplier)

    def leavers(self) -> Bools:
        """Bundles that may give way, in spaces whose room is known."""
        known = np.array([self.board.is_room_known(space) for space in range(len(self.board.room))], dtype=np.bool_)
        free = ~self.moved & may_leave(self.bundles, self.settings) & self.demote
        return np.asarray(free & known[self.board.home], dtype=np.bool_)


def by_density(draft: PlanDraft, which: Bools, value: F64) -> list[int]:
    """Some bundles by falling value per byte, the same whatever order they came in."""
    items = np.flatnonzero(which)
    order = densest_first(value[items], draft.bundles.size[items], KeysOf(draft.keys, items))
    return [int(bundle) for bundle in items[order]]


@dataclass(slots=True)
class Balance:
    """What hops come to together, in microseconds per hour, and whether that is worth it.

    By the mean: whether what comes is surely worth a move of its own was asked by the guards, and that its gain is less
    sure than what others lose is no reason to keep them. Who gives way must have lost to who comes by both horizons:
    where what cools down would turn out what warms up, the last hours speak against it already, and a swap made all the
    same is made back as soon as the long horizon knows as much.
    """

    draft: PlanDraft
    turnover_multiplier: float  # of the cost of a demotion
    plain: float = 0.0  # saved
    counted: float = 0.0  # the same, preferred ones counting more
    net: float = 0.0  # of that, residents counting more too, upkeep taken off
    cost: float = 0.0  # session microseconds
    lately: float = 0.0  # saved, by the short horizon

    def add(self, hop: Relocation) -> None:
        """Count one more hop, done on the board or not."""
        draft, settings = self.draft, self.draft.settings
        saved = draft.board.saving_of(hop)
        favour = settings.prefer_bonus if draft.bundles.pin[hop.bundle] == _PREFER else 1.0
        gives_way = hop.reason is _MAKE_ROOM
        stays = settings.resident_bonus if gives_way and saved < 0 else 1.0
        cost = float(draft.bundles.cost[hop.bundle])
        self.plain += saved
        self.counted += saved * favour
        self.net += saved * favour * stays - cost * (self.turnover_multiplier if gives_way else 1.0) * draft.per_hour
        self.cost += cost
        self.lately += saved * draft.bundles.lately(hop.bundle)

    def pays(self) -> bool:
        """Whether the hops save more than they lose by both horizons and cost, pass the floor and pay back in time."""
        settings = self.draft.settings
        floor = settings.minimum_wait_saved_per_hour * MICRO
        return (
            self.plain > 0
            and self.lately > 0
            and self.net > 0
            and self.counted >= floor
            and self.cost * HOUR <= settings.payback_limit_seconds * self.counted
        )
