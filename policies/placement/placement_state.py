"""The state of a placement: the space of every bundle, and the room and load left.

``Place`` is what a plan sends bundles to. Free bytes of two spaces are not all free in either of them, so a bundle that
fits in their sum may fit in none. Each space is therefore a resource of its own, and bundles may change between spaces
of one tier to make room. If one space of a tier could take all that is on the other tiers, its room never matters, and
the tier is one place.

``TierLoad`` is a limit of a tier next to its bytes: I/Os its drives can serve, or bytes written to it per day. A bundle
that comes takes its share; one that leaves releases what it would go on to take. The two differ for written bytes,
because the copy that brought a bundle stays written when it leaves. Numbers are whole, so sums do not depend on the
order of moves.

``PlacementState`` is the only mutable part: ``apply`` and ``undo`` keep homes, rooms and loads consistent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from connectors.model.observation import F64, I64, Bools
from policies.evidence.bundles import MICRO, Bundles
from policies.evidence.capacity import drive_io, room_bytes, written_per_day
from policies.model.moves import Group, MoveReason, Relocation
from policies.model.plan import Situation
from policies.model.settings import Pin, PolicySettings

MOST_OF_A_TIER = 4  # spaces that count on their own, the largest; the others of the tier together are one place


@dataclass(frozen=True, slots=True)
class Place:
    """One space, or several of a tier that count as one."""

    tier: int
    spaces: tuple[int, ...]  # rows of spaces whose room is known


def places_in(situation: Situation, settings: PolicySettings) -> tuple[Place, ...]:
    """The places of a situation, by its spaces alone: the same whatever units are left out of it."""
    return places_of(
        [space.name for space in situation.spaces],
        situation.tier_of_space.tolist(),
        [room_bytes(space, settings.head_room_ratio) for space in situation.spaces],
        [space.used_bytes for space in situation.spaces],
        len(situation.tiers),
        [space.domain for space in situation.spaces],
    )


def places_of(
    names: Sequence[str],
    tier_of: Sequence[int],
    room: Sequence[int | None],
    held: Sequence[int],
    tiers: int,
    domains: Sequence[str] = (),
) -> tuple[Place, ...]:
    """The places of all tiers, fastest first and within a tier the one with most room first; at least one of each tier.

    A place is within one domain.

    Args:
        names: of the spaces.
        tier_of: of each space, -1 where it is not managed.
        room: bytes that may still be written to each space, None where that is not known.
        held: bytes in use in each space.
        tiers: how many there are.
        domains: of the spaces; (): all of one.
    """
    domain = domains or [""] * len(names)
    places = []
    for tier in range(tiers):
        within = sorted({each for each, at in zip(domain, tier_of, strict=True) if at == tier})
        for each in within or [""]:
            mine = [at if of == each else -1 for of, at in zip(domain, tier_of, strict=True)]
            places += _places_of_one(names, mine, room, held, tier)
    return tuple(places)


def _places_of_one(
    names: Sequence[str], tier_of: Sequence[int], room: Sequence[int | None], held: Sequence[int], tier: int
) -> list[Place]:
    """The places of one tier, as if there were no spaces but those of one domain."""
    managed = sum(size for size, at in zip(held, tier_of, strict=True) if at >= 0)
    rows = [row for row, at in enumerate(tier_of) if at == tier]
    free = {row: each for row in rows if (each := room[row]) is not None}
    if len(free) < 2 or max(free.values()) >= managed - sum(held[row] for row in rows):
        return [Place(tier, tuple(free))]
    largest_first = sorted(free, key=lambda row: (-free[row] - held[row], names[row]))
    alone, others = largest_first[:MOST_OF_A_TIER], largest_first[MOST_OF_A_TIER:]
    alone.sort(key=lambda row: (-free[row], names[row]))
    return [Place(tier, (row,)) for row in alone] + ([Place(tier, tuple(others))] if others else [])


def number_domains(situation: Situation) -> I64 | None:
    """Number of the domain of each space; None where all that are managed have one."""
    names = [space.domain for space in situation.spaces]
    managed = {name for name, tier in zip(names, situation.tier_of_space.tolist(), strict=True) if tier >= 0}
    if len(managed) < 2:
        return None
    numbers = {name: at for at, name in enumerate(sorted(set(names)))}
    return np.array([numbers[name] for name in names], dtype=np.int64)


def place_of_spaces(places: Sequence[Place], tier_of: Sequence[int]) -> list[int]:
    """Place of each space; of those whose room is not known the first of their tier, -1 where they are not managed."""
    # Reversed, so that of several places of a tier the first one is what stays in the dict.
    first = {place.tier: at for at, place in reversed(list(enumerate(places)))}
    found = [first.get(tier, -1) for tier in tier_of]
    for at, place in enumerate(places):
        for row in place.spaces:
            found[row] = at
    return found


PLANNED_IO = 0.8  # of a tier's I/Os, the rest is never planned for: queues grow without bound near the end


@dataclass(slots=True)
class TierLoad:
    """One limit of one tier. Present bundles may exceed it; then none may come until others have left."""

    tier: int
    taken: F64  # (m,) by each bundle that comes
    freed: F64  # (m,) by each bundle that leaves
    room: float  # left of the limit; negative: exceeded

    def can_bear(self, bundle: int, *, present: bool = False) -> bool:
        """Whether the bundle may come; ``present``: from another space of the tier."""
        freed = float(self.freed[bundle]) if present else 0.0
        # At least 0: what causes no load may come even to a tier that is past its limit.
        return float(self.taken[bundle]) - freed <= max(0.0, self.room)

    def shift(self, bundle: int, source: int, target: int, times: int) -> None:
        """Count a bundle that goes from tier to tier (``times`` 1), or undo that (-1)."""
        if target == self.tier:
            self.room -= times * float(self.taken[bundle])
        if source == self.tier:
            self.room += times * float(self.freed[bundle])


def tier_loads_of(bundles: Bundles, situation: Situation, settings: PolicySettings) -> tuple[TierLoad, ...]:
    """The limits of all tiers that have any, with every bundle where it is: millionths of I/Os, and bytes per day."""
    return tuple(load for row in range(len(situation.tiers)) for load in _tier_loads(bundles, situation, settings, row))


def _tier_loads(bundles: Bundles, situation: Situation, settings: PolicySettings, row: int) -> Iterator[TierLoad]:
    limits, here = situation.tiers[row].limits, bundles.tier == row
    if limits.io_per_second is not None:
        io = np.rint(drive_io(bundles.rates, limits) * MICRO)
        most = np.floor(limits.io_per_second * PLANNED_IO * MICRO)
        yield TierLoad(row, io, io, float(most - io[here].sum()))
    if limits.written_bytes_per_day is not None:
        own = np.rint(written_per_day(bundles.rates, settings.block_bytes))
        left = np.floor(limits.written_bytes_per_day) - own[here].sum()
        # The day's copies keep other bundles out, but force none to leave.
        copied = limits.copied_bytes
        yield TierLoad(row, own + bundles.size, own, float(left - copied))


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
        self.domain = number_domains(situation)
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
        if self.domain is not None and not self.is_reached(bundle, space):
            return False
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
        return self._roomiest(self._spaces_in_reach(bundle, self.places[place].spaces), self.needed_bytes(bundle))

    def space_for(self, bundle: int, tier: int, but: int | None = None) -> int | None:
        """The space of the tier with the most room, if that is enough for it; ties by name; never ``but``."""
        spaces = self._spaces_in_reach(bundle, [space for space in self.spaces(tier) if space != but])
        return self._roomiest(spaces, self.needed_bytes(bundle))

    def is_reached(self, bundle: int, space: int) -> bool:
        """Whether a bundle may go to a space at all: they are of one domain."""
        return self.domain is None or bool(self.domain[self.home[bundle]] == self.domain[space])

    def _spaces_in_reach(self, bundle: int, spaces: Sequence[int]) -> Sequence[int]:
        return spaces if self.domain is None else [space for space in spaces if self.is_reached(bundle, space)]

    def _roomiest(self, spaces: Sequence[int], size: int) -> int | None:
        # The name breaks ties, since engines list spaces in any order and the same situation must give the same plan.
        best = min(spaces, key=lambda space: (-self.room[space], self.names[space]), default=None)
        return best if best is not None and self.room[best] >= size else None

    def demotion_of(self, bundle: int, reason: MoveReason) -> Relocation | None:
        """The relocation to the next slower tier that can take the bundle, None if none can."""
        home = int(self.home[bundle])
        for tier in range(self.tier_of[home] + 1, self.tiers):
            space = self.space_for(bundle, tier) if self.can_bear(bundle, tier) else None
            if space is not None:
                return Relocation(bundle, home, space, reason)
        return None
