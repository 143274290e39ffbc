"""From the solver's answer to an executable sequence of groups: the demotions that make room, then the promotion.

Promotions go by saving per byte. If a target has no room, bundles that the answer moves out of it go first, in the
order of least loss per byte, each to its own target place, which may need others to leave in turn. No more than
necessary leaves. A group that does not pay is undone. Where only several promotions together pay for what gives way to
them, one order for all of the answer finds them (``swaps``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from connectors.model import I64
from policies.model.density import KeysOf, densest_first
from policies.placement.move_ordering import relocation_between
from policies.placement.placement_state import Group, Relocation
from policies.placement.plan_draft import PlanDraft

_PASSES = 4  # over promotions that found no room: a later group may have freed it


@dataclass(slots=True)
class _Timetable:
    """The target of every bundle, and the bundles that are to leave each space."""

    draft: PlanDraft
    target: dict[int, int]  # place of each bundle that is to move
    leaving: dict[int, list[int]] = field(default_factory=dict)  # per space, the least loss last
    clearing: set[int] = field(default_factory=set)  # places being cleared up the call stack: breaks cycles

    def clear(self, place: int, bundle: int) -> list[Relocation] | None:
        """Make room for a bundle in some space of a place, applied to the state. None if that is not possible."""
        # Two full places that wait for each other would clear one another for ever. What really has to change places in
        # a circle is found by ``move_ordering``.
        if place in self.clearing:
            return None
        self.clearing.add(place)
        try:
            spaces = sorted(self.draft.state.places[place].spaces, key=lambda space: -self.draft.state.room[space])
            # A generator: clearing is applied to the state, so the next space may only be tried if the one before gave
            # up.
            found = (self._clear(space, bundle) for space in spaces)
            return next((relocations for relocations in found if relocations is not None), None)
        finally:
            self.clearing.remove(place)

    def _clear(self, space: int, for_: int) -> list[Relocation] | None:
        """Move bundles out of a space until it can take a bundle, then undo those that need not have left."""
        draft, state = self.draft, self.draft.state
        relocations: list[Relocation] = []
        own: list[Relocation] = []
        for bundle in self._waiting(space, for_):
            if state.holds(for_, space):
                break
            found = None if draft.moved[bundle] else self._sent_away(bundle)
            if found is not None:
                relocations += found
                own.append(found[-1])
        if not state.holds(for_, space):
            state.undo(relocations)
            return None
        return self._prune(relocations, own, for_, space)

    def _waiting(self, space: int, for_: int) -> Iterator[int]:
        """Bundles that are to leave a space; if its tier is overloaded, also from the tier's other spaces."""
        state = self.draft.state
        yield from self._leaving(space)
        if state.loads and state.room[space] >= state.needed_bytes(for_):
            for other in sorted(state.spaces(state.tier_of[space]), key=lambda other: state.names[other]):
                yield from self._leaving(other) if other != space else ()

    def _leaving(self, space: int) -> Iterator[int]:
        waiting = self.leaving.get(space, [])
        while waiting and self.draft.moved[waiting[-1]]:  # moved for good: drop it from the list
            waiting.pop()
        for bundle in reversed(waiting):
            if self.draft.state.home[bundle] == space:
                yield bundle

    def _sent_away(self, bundle: int) -> list[Relocation] | None:
        """The relocations that take one bundle out, applied to the state, those that make room for it first.

        It goes to its target place. If that can only be cleared once this very bundle has left, a demotion goes further
        down instead.
        """
        state, chosen = self.draft.state, self.target[bundle]
        tier = state.places[chosen].tier
        below = range(chosen + 1, len(state.places)) if tier > state.tier_of_bundle(bundle) else ()
        for place in (chosen, *below):
            space = state.space_in_place(bundle, place)
            relocations = self.clear(place, bundle) if space is None and place == chosen else []
            space = state.space_in_place(bundle, place) if relocations else space
            if space is not None:
                relocation = relocation_between(state, bundle, space)
                state.apply(relocation)
                return [*(relocations or []), relocation]
        return None

    def _prune(self, relocations: list[Relocation], own: list[Relocation], for_: int, space: int) -> list[Relocation]:
        """Without the relocations that turn out not to be needed, those of the highest loss spared first.

        Where others left for their sake in turn, all of them stay.
        """
        # Leaving out one of them could take away the room that another needed on its way, and each check would be a
        # search of its own.
        if len(relocations) > len(own):
            return relocations
        state = self.draft.state
        return state.without_needless(own, lambda: state.holds(for_, space))

    def way(self, bundle: int) -> list[Relocation] | None:
        """Relocations that bring a bundle to its target, applied to the state.

        None if there is no room, or if it is there already because it left for another bundle of the same group.
        """
        draft, state = self.draft, self.draft.state
        place = self.target[bundle]
        if state.place_of_bundle(bundle) == place:
            return None
        space = state.space_in_place(bundle, place)
        relocations = self.clear(place, bundle) if space is None else []
        if relocations is None:
            return None
        space = state.space_in_place(bundle, place)
        relocation = None if space is None else relocation_between(state, bundle, space)
        if relocation is None or not draft.affords([*relocations, relocation]):
            state.undo(relocations)
            return None
        state.apply(relocation)
        return [*relocations, relocation]


def schedule_groups(
    draft: PlanDraft, bundle: I64, target: I64, *, most_on_the_way_first: bool = False
) -> tuple[list[Group], list[int]]:
    """Groups that bring bundles to their target places, and the promotions that were not possible.

    Args:
        draft: is extended.
        bundle: those that move.
        target: place of each.
        most_on_the_way_first: promotions that need the most room beyond their copy come first, while free room is
            largest. If any order fits, this one does.
    """
    table = _Timetable(draft, dict(zip(bundle.tolist(), target.tolist(), strict=True)))
    tier = np.array([place.tier for place in draft.state.places], dtype=np.int64)[target]
    rises = tier < draft.tier()[bundle]
    coming = _by_saving(draft, bundle[rises], tier[rises])
    if most_on_the_way_first:
        coming.sort(key=lambda each: -int(draft.bundles.transient[each]))
    # Demotions end up at the list's end and so leave first; a bundle that is itself on its way up leaves its place only
    # if they do not suffice.
    for each in reversed([*_by_saving(draft, bundle[~rises], tier[~rises]), *coming]):
        table.leaving.setdefault(int(draft.state.home[each]), []).append(each)
    groups: list[Group] = []
    for _ in range(_PASSES):
        found = _pass(draft, table, coming)
        groups += found
        coming = [each for each in coming if not draft.moved[each]]
        if not found or not coming:
            break
    return groups, coming


def _by_saving(draft: PlanDraft, bundle: I64, tier: I64) -> list[int]:
    """Bundles by saving per byte, most first; losses count as negative."""
    wait = draft.bundles.wait
    saved = wait[draft.tier()[bundle], bundle] - wait[tier, bundle]
    order = densest_first(saved, draft.bundles.size[bundle], KeysOf(draft.keys, bundle))
    return [int(each) for each in bundle[order]]


def _pass(draft: PlanDraft, table: _Timetable, coming: Sequence[int]) -> list[Group]:
    """One pass over the promotions that are still open."""
    groups: list[Group] = []
    for bundle in coming:
        if draft.left < 1:
            break
        relocations = None if draft.moved[bundle] else table.way(bundle)
        if relocations and _pays(draft, relocations):
            groups.append(draft.keep(draft.group(relocations)))
        elif relocations:
            draft.state.undo(relocations)
    return groups


def _pays(draft: PlanDraft, relocations: Iterable[Relocation]) -> bool:
    balance = draft.start_balance()
    for relocation in relocations:
        balance.add(relocation)
    return balance.pays()
