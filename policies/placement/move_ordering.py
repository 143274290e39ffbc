"""An order of moves in which every one finds room, where groups of swaps alone find none.

While a bundle is copied it occupies both spaces. Bundles of two full tiers that change places need the few free bytes
there: one moves, and the room it leaves lets the next one come back. Each may have to wait for another, so a greedy
order can block although a feasible one exists. Bundles that leave for the slowest tier go first, since they only free
room; those that come up from it go last, since they only need it. The order of the exchange between the upper tiers is
found by depth-first search, largest bundle first. If there is none, other moves help, the least loss first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from policies.model.plan import MoveReason
from policies.placement.placement_state import PlacementState, Relocation

_LOOKS = 4000  # candidates examined in one search for an order
_HELPERS = 24  # moves that are tried as helpers
_PAIRED = 10  # helpers that are tried two at a time


@dataclass(frozen=True, slots=True)
class TargetPlace:
    """A bundle and the place it is to go to."""

    bundle: int
    place: int


def find_order(
    state: PlacementState, targets: Sequence[TargetPlace], helpers: Callable[[], Sequence[TargetPlace]]
) -> tuple[list[TargetPlace] | None, list[TargetPlace]]:
    """A feasible order of all targets, None if none was found; and which of them fit in none of the orders tried.

    Where every place is nearly full, what the answer leaves alone may be in the way, or one that goes down a little
    would have to go all the way down. So one or two other moves are tried as well, which gain nothing. A helper of a
    target's own bundle replaces it. The state is left unchanged.

    Args:
        state: before the first move.
        targets: the answer.
        helpers: moves that may open a way, the least loss first.
    """
    order, left = _order_of(state, targets)
    tried = helpers()[:_HELPERS] if left else ()
    for more in [*((each,) for each in tried), *combinations(tried[:_PAIRED], 2)]:
        bundles = {each.bundle for each in more}
        if len(bundles) == len(more):
            order, stuck = _order_of(state, [*more, *(each for each in targets if each.bundle not in bundles)])
            if not stuck:
                return order, left
    return (None if left else order), left


def _order_of(state: PlacementState, targets: Iterable[TargetPlace]) -> tuple[list[TargetPlace], list[TargetPlace]]:
    """The best order found, those for a place that takes all first; and what is left over. State unchanged."""
    first, between, last = list[TargetPlace](), list[TargetPlace](), list[TargetPlace]()
    for target in targets:
        comes = state.place_of_bundle(target.bundle) >= state.exchanging
        (first if target.place >= state.exchanging else last if comes else between).append(target)
    search = _Search(state, first, between)
    return [*first, *search.order, *last], search.left


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

    def __init__(self, state: PlacementState, first: list[TargetPlace], between: list[TargetPlace]) -> None:
        self.order: list[TargetPlace] = []
        # Largest first: small ones fit into what a large one leaves, but may take the only room that it fits into.
        self.left = sorted(between, key=lambda target: -int(state.size[target.bundle]))
        self._state, self._dead = state, set[int]()
        done = []
        for target in first:
            relocation = self._relocation_to(target)
            if relocation is not None:
                state.apply(relocation)
                done.append(relocation)
        free = sum(state.free_bytes(place) for place in range(state.exchanging))
        # Moves between these places leave the sum of their free bytes as it is. A bundle larger than it fits in
        # no order, so a search would only prove it slowly: one greedy pass is enough to name what is stuck.
        doomed = any(int(state.size[target.bundle]) > free for target in between)
        self._looks = 2 * len(self.left) + (0 if doomed else _LOOKS)
        self._go(list(self.left))
        if len(done) < len(first):
            self.left = self.left or first
        state.undo(done)

    def _relocation_to(self, target: TargetPlace) -> Relocation | None:
        """The relocation to a target place, None if there is no room now."""
        space = self._state.space_in_place(target.bundle, target.place)
        return None if space is None else relocation_between(self._state, target.bundle, space)

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
            relocation = self._relocation_to(target)
            if relocation is not None:
                return at, target, relocation
        return None

    def _weight(self, targets: Sequence[TargetPlace]) -> tuple[int, int]:
        return sum(int(self._state.size[target.bundle]) for target in targets), len(targets)
