"""An order of moves in which every one finds room, where groups of swaps alone find none.

While a bundle is copied it occupies both spaces. Bundles of two full tiers that change places need the few free bytes
there: one moves, and the room it leaves lets the next one come back. Each may have to wait for another, so a greedy
order can block although a feasible one exists. Bundles that leave for the slowest tier go first, since they only free
room; those that come up from it go last, since they only need it. In the exchange between the upper tiers whatever
finds room goes, the largest first; of few, orders are searched. If none is found, other moves help, the least loss
first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from policies.model.plan import MoveReason
from policies.model.relocation import Relocation
from policies.placement.placement_state import PlacementState

_SEARCHED = 12  # targets, up to which orders are searched
_DEAD_ENDS = 400  # after which such a search gives up: there may be thousands, once for each helper
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
    # Largest first: small ones fit into what a large one leaves, but may take the only room that it fits into.
    waiting = (*first, *sorted(between, key=lambda target: -int(state.size[target.bundle])))
    order, left = _greedy_order(state, waiting)
    if left and len(waiting) <= _SEARCHED and (complete := _complete_order(state, waiting, set())):
        order, left = complete, []
    return [*order, *last], left


def _greedy_order(state: PlacementState, waiting: Iterable[TargetPlace]) -> tuple[list[TargetPlace], list[TargetPlace]]:
    """Whatever finds room goes, again and again; and what never finds any. State unchanged."""
    order, done, left, count = list[TargetPlace](), list[Relocation](), list(waiting), -1
    while len(order) > count:
        count, again = len(order), left
        left = []
        for target in again:
            relocation = _relocation_to(state, target)
            if relocation is None:
                left.append(target)
            else:
                state.apply(relocation)
                done.append(relocation)
                order.append(target)
    state.undo(done)
    return order, left


def _complete_order(
    state: PlacementState, waiting: tuple[TargetPlace, ...], dead: set[tuple[TargetPlace, ...]]
) -> list[TargetPlace] | None:
    """An order of all, by depth-first search; None if none was found. State unchanged.

    Those that wait determine the state, in whatever order the others have moved. So those that led nowhere once
    (``dead``) are never searched again.
    """
    if not waiting or waiting in dead or len(dead) >= _DEAD_ENDS:
        return None if waiting else []
    for at, target in enumerate(waiting):
        relocation = _relocation_to(state, target)
        if relocation is not None:
            state.apply(relocation)
            rest = _complete_order(state, waiting[:at] + waiting[at + 1 :], dead)
            state.undo([relocation])
            if rest is not None:
                return [target, *rest]
    dead.add(waiting)
    return None


def _relocation_to(state: PlacementState, target: TargetPlace) -> Relocation | None:
    """The relocation to a target place, None if there is no room now."""
    space = state.space_in_place(target.bundle, target.place)
    return None if space is None else relocation_between(state, target.bundle, space)


def relocation_between(state: PlacementState, bundle: int, space: int) -> Relocation:
    """The relocation of a bundle to a space: up, down to make room, or within its tier."""
    before, after = state.tier_of_bundle(bundle), state.tier_of[space]
    within = MoveReason.LEVEL if before == after else MoveReason.MAKE_ROOM
    return Relocation(bundle, int(state.home[bundle]), space, MoveReason.PROMOTE if after < before else within)
