"""An order of moves in which every one finds room, where groups of swaps alone find none.

While a bundle is copied it occupies both spaces. Bundles of two full tiers that change places need the few free bytes
there: one moves, and the room it leaves lets the next one come back. Each may have to wait for another, so a greedy
order can block although a feasible one exists. Bundles that leave for the slowest tier go first, since they only free
room; those that come up from it go last, since they only need it. The order of the exchange between the upper tiers is
found by depth-first search, largest bundle first. If there is none, bundles that would go down a little go all the way
down instead, the least loss first: a detour that frees room.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from policies.model.plan import MoveReason
from policies.placement.placement_state import PlacementState, Relocation

_LOOKS = 4000  # candidates examined in one search for an order
_DETOURS = 24  # bundles that are tried as detours
_PAIRED = 10  # helpers that are tried two at a time


@dataclass(frozen=True, slots=True)
class TargetPlace:
    """A bundle and the place it is to go to."""

    bundle: int
    place: int


def find_stuck(state: PlacementState, targets: Sequence[TargetPlace]) -> list[TargetPlace]:
    """The fewest bytes of targets that fit in no order tried. The state is left unchanged."""
    return _Search(state, _split_by_phase(state, targets)).left


def with_detours(state: PlacementState, targets: Sequence[TargetPlace]) -> list[TargetPlace] | None:
    """A feasible order of all targets, with as few detours to the slowest tier as possible; None if none was found.

    Ties are broken by the order of ``targets``. The state is left unchanged.
    """
    slowest = state.tiers - 1
    order = _find_order(state, targets)
    if order is not None:
        return order
    falling = [
        target for target in targets if state.tier_of_bundle(target.bundle) < state.places[target.place].tier < slowest
    ]
    falling.sort(key=lambda target: (_regret(state, target), state.size[target.bundle]))
    down: list[int] = []
    # One more detour at a time, not the best set of them: each trial is a whole search, and a detour that proves
    # needless is taken back below.
    for target in falling[:_DETOURS]:
        down.append(target.bundle)
        order = _find_order(state, _sent_down(targets, down, len(state.places) - 1))
        if order is not None:
            break
    # A detour added early may have become needless once later ones are there: try the order without each of them.
    for bundle in down[-2::-1] if order is not None else ():
        without = [other for other in down if other != bundle]
        shorter = _find_order(state, _sent_down(targets, without, len(state.places) - 1))
        if shorter is not None:
            down, order = without, shorter
    return order


def with_helpers(
    state: PlacementState, targets: Sequence[TargetPlace], helpers: Sequence[TargetPlace]
) -> list[TargetPlace] | None:
    """A feasible order of all targets and of one or two helpers; None if none was found. The state is left unchanged.

    Where every place is nearly full, what no answer moves may be in the way: a cold unit that changes places with
    nothing saves nothing, and what it leaves lets the others pass. A helper of a target's own bundle replaces it.
    """
    for more in [*((each,) for each in helpers[:_DETOURS]), *combinations(helpers[:_PAIRED], 2)]:
        bundles = {each.bundle for each in more}
        if len(bundles) < len(more):
            continue
        order = _find_order(state, [*more, *(target for target in targets if target.bundle not in bundles)])
        if order is not None:
            return order
    return None


def _sent_down(targets: Iterable[TargetPlace], down: Sequence[int], place: int) -> list[TargetPlace]:
    return [TargetPlace(target.bundle, place) if target.bundle in down else target for target in targets]


def _regret(state: PlacementState, target: TargetPlace) -> float:
    """Microseconds per hour lost by going to the slowest tier instead."""
    return float(
        state.wait[state.tiers - 1, target.bundle] - state.wait[state.places[target.place].tier, target.bundle]
    )


@dataclass(frozen=True, slots=True)
class _Phases:
    """Targets by when they find room."""

    first: list[TargetPlace]  # leave for a place that takes all
    between: list[TargetPlace]  # exchange places
    last: list[TargetPlace]  # come up from there


def _split_by_phase(state: PlacementState, targets: Iterable[TargetPlace]) -> _Phases:
    phases = _Phases([], [], [])
    for target in targets:
        if target.place >= state.exchanging:
            phases.first.append(target)
        elif state.place_of_bundle(target.bundle) >= state.exchanging:
            phases.last.append(target)
        else:
            phases.between.append(target)
    return phases


def _find_order(state: PlacementState, targets: Iterable[TargetPlace]) -> list[TargetPlace] | None:
    """An order in which all targets fit, those for the slowest tier first; None if none is found. State unchanged."""
    phases = _split_by_phase(state, targets)
    search = _Search(state, phases)
    return None if search.left else [*phases.first, *search.order, *phases.last]


def relocate_in_order(state: PlacementState, targets: Iterable[TargetPlace]) -> list[Relocation]:
    """Relocations of the targets that fit one after the other, applied to the state."""
    relocations = []
    for target in targets:
        relocation = relocation_to(state, target)
        if relocation is not None:
            state.apply(relocation)
            relocations.append(relocation)
    return relocations


def relocation_to(state: PlacementState, target: TargetPlace) -> Relocation | None:
    """The relocation to a target place, None if there is no room now."""
    space = state.space_in_place(target.bundle, target.place)
    return None if space is None else relocation_between(state, target.bundle, space)


def relocation_between(state: PlacementState, bundle: int, space: int) -> Relocation:
    """The relocation of a bundle to a space: up, down to make room, or within its tier."""
    before, after = state.tier_of_bundle(bundle), state.tier_of[space]
    within = MoveReason.LEVEL if before == after else MoveReason.MAKE_ROOM
    return Relocation(bundle, int(state.home[bundle]), space, MoveReason.PROMOTE if after < before else within)


class _Search:
    """Depth-first search through the orders of an exchange, with memory of dead ends.

    A set of waiting targets determines the state of the upper tiers, in whatever order the others have moved. So a set
    that led nowhere once is never searched again. The state is left unchanged.
    """

    def __init__(self, state: PlacementState, phases: _Phases) -> None:
        self.order: list[TargetPlace] = []
        # Largest first: small ones fit into what a large one leaves, but may take the only room that it fits into.
        self.left = sorted(phases.between, key=lambda target: -int(state.size[target.bundle]))
        self._state, self._dead = state, set[int]()
        first = relocate_in_order(state, phases.first)
        free = sum(state.free_bytes(place) for place in range(state.exchanging))
        # Moves between these places leave the sum of their free bytes as it is. A bundle larger than it fits in
        # no order, so a search would only prove it slowly: one greedy pass is enough to name what is stuck.
        doomed = any(int(state.size[target.bundle]) > free for target in phases.between)
        self._looks = 2 * len(self.left) + (0 if doomed else _LOOKS)
        self._go(list(self.left))
        if len(first) < len(phases.first):
            self.left = self.left or phases.first
        state.undo(first)

    def _go(self, waiting: list[TargetPlace]) -> None:
        # An explicit path instead of recursion: an exchange of thousands of bundles is deeper than Python's stack.
        path: list[tuple[int, TargetPlace, Relocation]] = []
        # A set of waiting bundles as the bits of one number: a frozenset of thousands would be built and hashed for
        # every candidate.
        bit = {target.bundle: 1 << at for at, target in enumerate(waiting)}
        mask, at = (1 << len(waiting)) - 1, 0
        while self.left:
            step = self._next(waiting, at, mask, bit)
            if step is not None:
                at, target, relocation = step
                self._state.apply(relocation)
                path.append((at, waiting.pop(at), relocation))
                mask, at = mask ^ bit[target.bundle], 0
                if waiting:
                    continue
            if self._weight(waiting) < self._weight(self.left):
                self.left, self.order = list(waiting), [each for _, each, _ in path]
            self._dead.add(mask)
            if not path or self._looks < 1:
                break
            at, target, relocation = path.pop()
            self._state.undo([relocation])
            waiting.insert(at, target)
            mask, at = mask ^ bit[target.bundle], at + 1
        self._state.undo(relocation for _, _, relocation in path)

    def _next(
        self, waiting: list[TargetPlace], start: int, mask: int, bit: dict[int, int]
    ) -> tuple[int, TargetPlace, Relocation] | None:
        """The next target that finds room now: its position, the target, and its relocation."""
        for at in range(start, len(waiting)):
            target = waiting[at]
            if self._looks < 1 or mask ^ bit[target.bundle] in self._dead:
                continue
            self._looks -= 1
            relocation = relocation_to(self._state, target)
            if relocation is not None:
                return at, target, relocation
        return None

    def _weight(self, targets: Sequence[TargetPlace]) -> tuple[int, int]:
        return sum(int(self._state.size[target.bundle]) for target in targets), len(targets)
