"""The state of a placement: the space of every bundle, and the room left in every space and tier."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy

from connectors.model import F64, I64, Bools
from policies.benefit.bundles import Bundles
from policies.model.plan import MoveReason, Pin, PolicySettings, Situation
from policies.model.relocation import Group, Relocation
from policies.placement.places import Place, place_of_spaces, places_in
from policies.placement.tier_load import tier_loads_of
from policies.storage.capacity import room_bytes

# A space whose room is unknown is never a target, since its head-room could not be guaranteed. Bundles may leave it.
UNKNOWN_ROOM = -(2**62)


class PlacementState:
    """The mutable state while a plan is made. ``apply`` and ``undo`` keep homes, rooms and loads consistent."""

    def __init__(self, bundles: Bundles, situation: Situation, settings: PolicySettings) -> None:
        rooms = [room_bytes(space, settings.head_room_ratio) for space in situation.spaces]
        self.size: I64 = bundles.size
        self.transient: I64 = bundles.transient
        self.freed: I64 = bundles.freed
        self.wait: F64 = bundles.wait
        self.pinned: Bools = bundles.pin == Pin.MUST
        self.home: I64 = bundles.space.copy()
        self.room = [UNKNOWN_ROOM if room is None else room for room in rooms]
        self.tier_of = [int(tier) for tier in situation.tier_of_space]
        self.names = [space.name for space in situation.spaces]
        self.tiers = len(situation.tiers)
        # fixed lists: unknown room stays unknown, whatever comes and goes
        self._spaces = [self._of_tier(tier) for tier in range(self.tiers)]
        self.loads = tier_loads_of(bundles, situation, settings)
        self.places = places_in(situation, settings)
        self.place_of = place_of_spaces(self.places, self.tier_of)

    def spaces(self, tier: int) -> list[int]:
        """Rows of the spaces of a tier whose room is known."""
        return self._spaces[tier]

    def _of_tier(self, tier: int) -> list[int]:
        return [row for row, at in enumerate(self.tier_of) if at == tier and self.is_room_known(row)]

    def is_room_known(self, space: int) -> bool:
        """Whether the room of a space is known."""
        return self.room[space] > UNKNOWN_ROOM // 2

    def free_bytes(self, place: int) -> int:
        """Bytes that may still be written to the spaces of a place; spaces past their head-room count as full."""
        # Not the plain sum: a space past its head-room would take away free bytes that another space really has.
        return sum(max(0, self.room[space]) for space in self.places[place].spaces)

    def capacity_left(self, place: int) -> float:
        """The same as the solver's capacity: negative where the only space is past its head-room.

        The solver then repays the overdraft. With several spaces it could not tell which one to relieve.
        """
        spaces = self.places[place].spaces
        return float(self.room[spaces[0]] if len(spaces) == 1 else self.free_bytes(place))

    @property
    def exchanging(self) -> int:
        """How many places, the first ones, exchange bundles: those of the upper tiers, or all, see below.

        One place of the slowest tier is taken to have room for whatever leaves; of several each may be full.
        """
        upper = sum(place.tier < self.tiers - 1 for place in self.places)
        return len(self.places) if len(self.places) - upper > 1 else upper

    def by_tier(self) -> PlacementState:
        """A copy in which each tier is one place, as if its spaces shared their room; not to be changed."""
        state = copy(self)
        state.places = tuple(Place(tier, tuple(self.spaces(tier))) for tier in range(self.tiers))
        state.place_of = self.tier_of
        return state

    def tier_of_bundle(self, bundle: int) -> int:
        """Row of the tier that holds a bundle now, -1 where it is not managed."""
        return self.tier_of[int(self.home[bundle])]

    def place_of_bundle(self, bundle: int) -> int:
        """Row of the place that holds a bundle now, -1 where it is not managed."""
        return self.place_of[int(self.home[bundle])]

    def apply(self, relocation: Relocation) -> None:
        """Move a bundle: copy it to the target, then free the source of what does not stay there."""
        self._shift(relocation, 1)

    def carry_out(self, group: Group) -> bool:
        """Apply the group's relocations if each one fits at its turn; otherwise leave the state unchanged."""
        done: list[Relocation] = []
        for relocation in group.relocations:
            if not self.holds(relocation.bundle, relocation.target):
                self.undo(done)
                return False
            self.apply(relocation)
            done.append(relocation)
        return True

    def undo(self, relocations: Iterable[Relocation]) -> None:
        """Take relocations back, the last one first."""
        for relocation in reversed(list(relocations)):
            self._shift(relocation, -1)

    def without_needless(self, relocations: Iterable[Relocation], enough: Callable[[], bool]) -> list[Relocation]:
        """The applied relocations that are needed for what is asked, those of the highest loss spared first."""
        kept = []
        for relocation in reversed(list(relocations)):
            self.undo([relocation])
            if not enough():
                self.apply(relocation)
                kept.append(relocation)
        return kept[::-1]

    def _shift(self, relocation: Relocation, times: int) -> None:
        """Carry out a relocation (``times`` 1), or undo it (-1)."""
        size = times * int(self.size[relocation.bundle])
        self.room[relocation.target] -= size
        self.room[relocation.source] += times * int(self.freed[relocation.bundle])
        self.home[relocation.bundle] = relocation.target if times > 0 else relocation.source
        for load in self.loads:
            load.shift(relocation.bundle, self.tier_of[relocation.source], self.tier_of[relocation.target], times)

    def saving_of(self, relocation: Relocation) -> float:
        """Microseconds per hour that a relocation saves, negative for a demotion that loses."""
        return float(
            self.wait[self.tier_of[relocation.source], relocation.bundle]
            - self.wait[self.tier_of[relocation.target], relocation.bundle]
        )

    def holds(self, bundle: int, space: int) -> bool:
        """Whether a space has room for a bundle while its source still holds it, and the tier can bear the load."""
        return self.room[space] >= self.needed_bytes(bundle) and self.can_bear(bundle, self.tier_of[space])

    def needed_bytes(self, bundle: int) -> int:
        """Bytes that must be free for a bundle to come: its size, and what its route needs beyond it while it runs."""
        return int(self.size[bundle] + self.transient[bundle])

    def can_bear(self, bundle: int, tier: int) -> bool:
        """Whether a tier's load limits admit the I/Os and written bytes of a bundle. Pins may exceed them."""
        if self.loads and self.pinned[bundle]:
            return True
        present = self.tier_of_bundle(bundle) == tier if self.loads else False
        return all(load.can_bear(bundle, present=present) for load in self.loads if load.tier == tier)

    def space_in_place(self, bundle: int, place: int) -> int | None:
        """The space of a place that can take a bundle now, None if there is none."""
        if not self.can_bear(bundle, self.places[place].tier):
            return None
        return self._roomiest(self.places[place].spaces, self.needed_bytes(bundle))

    def space_for(self, size: int, tier: int, but: int | None = None) -> int | None:
        """The space of the tier with the most room, if that is enough; ties by name; never ``but``."""
        return self._roomiest([space for space in self.spaces(tier) if space != but], size)

    def _roomiest(self, spaces: Sequence[int], size: int) -> int | None:
        # The name breaks ties, since engines list spaces in any order and the same situation must give the same plan.
        best = min(spaces, key=lambda space: (-self.room[space], self.names[space]), default=None)
        return best if best is not None and self.room[best] >= size else None

    def demotion_of(self, bundle: int, reason: MoveReason) -> Relocation | None:
        """The relocation to the next slower tier that can take the bundle, None if none can."""
        home = int(self.home[bundle])
        for tier in range(self.tier_of[home] + 1, self.tiers):
            space = self.space_for(self.needed_bytes(bundle), tier) if self.can_bear(bundle, tier) else None
            if space is not None:
                return Relocation(bundle, home, space, reason)
        return None
