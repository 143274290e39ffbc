"""The board on which a plan is thought through: where every bundle is, and what every space and tier can still take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from connectors.model import F64, I64
from policies.benefit.bundles import Bundles
from policies.model.plan import MoveReason, PolicySettings, Situation
from policies.placement.tier_load import tier_loads_of
from policies.storage.capacity import room_bytes

# A space of unknown room is no target at all: nobody could promise that it keeps its head-room. Bundles may leave it.
UNKNOWN_ROOM = -(2**62)


@dataclass(frozen=True, slots=True)
class Relocation:
    """One bundle from space to space, by their rows."""

    bundle: int
    source: int
    target: int
    reason: MoveReason


@dataclass(frozen=True, slots=True)
class Group:
    """Hops that belong together: what gives way, then what comes in its place."""

    hops: tuple[Relocation, ...]
    saved: float  # microseconds per hour, all hops together
    cost: float  # session microseconds
    size: int  # bytes copied
    copying: float  # microseconds that it takes


class PlacementState:
    """Mutable, and private to the making of one plan. ``do`` and ``undo`` keep room and homes in step."""

    def __init__(self, bundles: Bundles, situation: Situation, settings: PolicySettings) -> None:
        rooms = [room_bytes(space, settings.head_room_ratio) for space in situation.spaces]
        self.size: I64 = bundles.size
        self.transient: I64 = bundles.transient
        self.wait: F64 = bundles.wait
        self.home: I64 = bundles.space.copy()
        self.room = [UNKNOWN_ROOM if room is None else room for room in rooms]
        self.tier_of = [int(tier) for tier in situation.tier_of_space]
        self.names = [space.name for space in situation.spaces]
        self.tiers = len(situation.tiers)
        # room that nobody knows stays unknown, whatever comes and goes
        self._spaces = [self._of_tier(tier) for tier in range(self.tiers)]
        self.strains = tier_loads_of(bundles, situation, settings)

    def spaces(self, tier: int) -> list[int]:
        """Rows of the spaces of a tier whose room is known."""
        return self._spaces[tier]

    def _of_tier(self, tier: int) -> list[int]:
        return [row for row, at in enumerate(self.tier_of) if at == tier and self.is_room_known(row)]

    def is_room_known(self, space: int) -> bool:
        """Whether anybody knows how much room the space has."""
        return self.room[space] > UNKNOWN_ROOM // 2

    def free_bytes(self, tier: int) -> int:
        """Bytes that may still be written to the spaces of a tier; spaces past their head-room count as full."""
        return sum(max(0, self.room[space]) for space in self.spaces(tier))

    def capacity_left(self, tier: int) -> float:
        """The same as the solver's capacity: negative where the tier's only space is past its head-room.

        The solver then repays the overdraft. With several spaces it could not tell which one to relieve.
        """
        spaces = self.spaces(tier)
        return float(self.room[spaces[0]] if len(spaces) == 1 else self.free_bytes(tier))

    def do(self, hop: Relocation) -> None:
        """Copy, then free the source."""
        self._shift(hop.bundle, hop.source, hop.target)
        self._strain(hop, 1)

    def carry_out(self, group: Group) -> bool:
        """Do the group's hops if every one finds room at its turn; otherwise leave the board as it was."""
        done: list[Relocation] = []
        for hop in group.hops:
            if not self.fits(hop):
                self.undo(done)
                return False
            self.do(hop)
            done.append(hop)
        return True

    def undo(self, hops: Iterable[Relocation]) -> None:
        """Take hops back, the last one first."""
        for hop in reversed(list(hops)):
            self._shift(hop.bundle, hop.target, hop.source)
            self._strain(hop, -1)

    def _shift(self, bundle: int, source: int, target: int) -> None:
        size = int(self.size[bundle])
        self.room[target] -= size
        self.room[source] += size
        self.home[bundle] = target

    def _strain(self, hop: Relocation, times: int) -> None:
        for strain in self.strains:
            strain.shift(hop.bundle, self.tier_of[hop.source], self.tier_of[hop.target], times)

    def saving_of(self, hop: Relocation) -> float:
        """Microseconds per hour that a hop saves, negative for what gives way."""
        return float(self.wait[self.tier_of[hop.source], hop.bundle] - self.wait[self.tier_of[hop.target], hop.bundle])

    def fits(self, hop: Relocation) -> bool:
        """Whether the target takes the bundle while the source still holds it; who asked for a pin asked for strain."""
        if hop.reason is MoveReason.PIN:
            return self.room[hop.target] >= self.needed(hop.bundle)
        return self.holds(hop.bundle, hop.target)

    def holds(self, bundle: int, space: int) -> bool:
        """Whether a space has room for a bundle, and its tier bears it."""
        return self.room[space] >= self.needed(bundle) and self.bears(bundle, self.tier_of[space])

    def needed(self, bundle: int) -> int:
        """Bytes that a space must have for a bundle to come: its own, and what its move takes beyond them."""
        return int(self.size[bundle] + self.transient[bundle])

    def bears(self, bundle: int, tier: int) -> bool:
        """Whether a tier bears the I/Os and written bytes of a bundle that comes to it."""
        return all(strain.bears(bundle) for strain in self.strains if strain.tier == tier)

    def seat(self, bundle: int, tier: int) -> int | None:
        """The space of a tier that takes a bundle as things are, None where there is none."""
        return self.space_for(self.needed(bundle), tier) if self.bears(bundle, tier) else None

    def space_for(self, size: int, tier: int, but: int | None = None) -> int | None:
        """The space of the tier with most room, if it has enough; of equals the first by name; never ``but``."""
        spaces = [space for space in self.spaces(tier) if space != but]
        spaces.sort(key=lambda space: (-self.room[space], self.names[space]))
        return spaces[0] if spaces and self.room[spaces[0]] >= size else None

    def way_down(self, bundle: int, reason: MoveReason) -> Relocation | None:
        """The hop to the next slower tier that takes the bundle, None where there is none."""
        home = int(self.home[bundle])
        for tier in range(self.tier_of[home] + 1, self.tiers):
            space = self.seat(bundle, tier)
            if space is not None:
                return Relocation(bundle, home, space, reason)
        return None

    def way_up(
        self, bundle: int, tier: int, reason: MoveReason, cold: dict[int, list[int]], most: int
    ) -> tuple[Relocation, ...] | None:
        """Hops that bring a bundle to a tier, those that make room for it first; None where no room can be made.

        Args:
            bundle: what comes.
            tier: where to.
            reason: of the last hop.
            cold: per space, the bundles that may give way, the least regretted first.
            most: no more hops than this.
        """
        size, home = self.needed(bundle), int(self.home[bundle])
        free = self.space_for(size, tier)
        if free is not None:
            return (Relocation(bundle, home, free, reason),) if most >= 1 else None
        ways: list[tuple[float, int, int, tuple[Relocation, ...]]] = []
        for order, space in enumerate(sorted(self.spaces(tier), key=lambda row: self.names[row])):
            leaving = self._find_demotions(space, size, cold.get(space, ()), most - 1)
            if leaving is not None:
                ways.append((-sum(self.saving_of(hop) for hop in leaving), order, space, leaving))
        if not ways:
            return None
        _, _, space, leaving = min(ways)
        return (*leaving, Relocation(bundle, home, space, reason))

    def _find_demotions(self, space: int, size: int, cold: Sequence[int], most: int) -> tuple[Relocation, ...] | None:
        """Demotions that give a space room for ``size`` bytes; the board is left as it was."""
        hops: list[Relocation] = []
        for bundle in cold:
            if self.room[space] >= size or len(hops) >= most:
                break
            hop = self.way_down(bundle, MoveReason.MAKE_ROOM) if self.home[bundle] == space else None
            if hop is not None and self.size[bundle] > 0:
                self.do(hop)
                hops.append(hop)
        spare = self.room[space] - size
        self.undo(hops)
        return self._prune(hops, spare) if spare >= 0 else None

    def _prune(self, hops: list[Relocation], spare: int) -> tuple[Relocation, ...]:
        """Without the demotions that turn out not to be needed, the most regretted looked at first."""
        kept = []
        for hop in reversed(hops):
            size = int(self.size[hop.bundle])
            if size <= spare:
                spare -= size
            else:
                kept.append(hop)
        return tuple(reversed(kept))
