"""From the solver's answer to an executable sequence of groups: the demotions that make room, then the promotion.

Promotions go by saving per byte. If a target has no room, bundles that the answer moves out of it go first, in the
order of least loss per byte, each to its own target tier, which may need others to leave in turn. No more than
necessary leaves. A group that does not pay alone is extended by the next promotions until it does; if it never pays, it
is undone and its promotion is refused for this plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from connectors.model import I64
from policies.model.density import KeysOf, densest_first
from policies.model.plan import MoveReason
from policies.placement.placement_state import Group, Relocation
from policies.placement.plan_draft import PlanDraft

_FOLLOWERS = 256  # further promotions tried to make a group pay before it is given up
_PASSES = 4  # over promotions that found no room: a later group may have freed it


@dataclass(slots=True)
class _Timetable:
    """The target of every bundle, and the bundles that are to leave each space."""

    draft: PlanDraft
    target: dict[int, int]  # tier of each bundle that is to move
    leaving: dict[int, list[int]] = field(default_factory=dict)  # per space, the least loss last
    clearing: set[int] = field(default_factory=set)  # tiers being cleared up the call stack: breaks cycles

    def clear(self, tier: int, bundle: int) -> list[Relocation] | None:
        """Make room for a bundle in some space of a tier, applied to the state. None if that is not possible."""
        if tier in self.clearing:
            return None
        self.clearing.add(tier)
        try:
            return self._cheapest(tier, bundle)
        finally:
            self.clearing.remove(tier)

    def _cheapest(self, tier: int, bundle: int) -> list[Relocation] | None:
        """Clear the space of a tier where that costs least."""
        best: tuple[float, int] | None = None
        spaces = self._by_name(tier)
        if len(spaces) == 1:
            return self._clear(spaces[0], bundle)
        for at, space in enumerate(spaces):
            relocations = self._clear(space, bundle)
            if relocations is not None:
                regret = -sum(self.draft.state.saving_of(relocation) for relocation in relocations)
                self.draft.state.undo(relocations)
                best = min(best or (regret, at), (regret, at))
        return None if best is None else self._clear(spaces[best[1]], bundle)

    def _by_name(self, tier: int) -> list[int]:
        return sorted(self.draft.state.spaces(tier), key=lambda space: self.draft.state.names[space])

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
            for other in self._by_name(state.tier_of[space]):
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

        It goes to its target tier. If that can only be cleared once this very bundle has left, a demotion goes further
        down instead.
        """
        state, chosen = self.draft.state, self.target[bundle]
        rises = chosen < state.tier_of[int(state.home[bundle])]
        for tier in [chosen] if rises else range(chosen, state.tiers):
            space = state.space_for_bundle(bundle, tier)
            relocations = self.clear(tier, bundle) if space is None and tier == chosen else []
            space = state.space_for_bundle(bundle, tier) if relocations else space
            if space is not None:
                reason = MoveReason.PROMOTE if rises else MoveReason.MAKE_ROOM
                relocation = Relocation(bundle, int(state.home[bundle]), space, reason)
                state.apply(relocation)
                return [*(relocations or []), relocation]
        return None

    def _prune(self, relocations: list[Relocation], own: list[Relocation], for_: int, space: int) -> list[Relocation]:
        """Without the relocations that turn out not to be needed, those of the highest loss spared first.

        Where others left for their sake in turn, all of them stay.
        """
        if len(relocations) > len(own):
            return relocations
        kept, state = [], self.draft.state
        for relocation in reversed(own):
            state.undo([relocation])
            if not state.holds(for_, space):
                state.apply(relocation)
                kept.append(relocation)
        return kept[::-1]

    def way(self, bundle: int) -> list[Relocation] | None:
        """Relocations that bring a bundle to its target, applied to the state.

        None if there is no room, or if it is there already because it left for another bundle of the same group.
        """
        draft, state = self.draft, self.draft.state
        home, tier = int(state.home[bundle]), self.target[bundle]
        if state.tier_of[home] == tier:
            return None
        space = state.space_for_bundle(bundle, tier)
        relocations = self.clear(tier, bundle) if space is None else []
        if relocations is None:
            return None
        space = state.space_for_bundle(bundle, tier)
        if space is None or not draft.affords([*relocations, Relocation(bundle, home, space, MoveReason.PROMOTE)]):
            state.undo(relocations)
            return None
        relocation = Relocation(bundle, home, space, MoveReason.PROMOTE)
        state.apply(relocation)
        return [*relocations, relocation]


def schedule_groups(
    draft: PlanDraft, bundle: I64, target: I64, *, most_on_the_way_first: bool = False
) -> tuple[list[Group], list[int]]:
    """Groups that bring bundles to their target tiers, and the promotions that were not possible.

    Args:
        draft: is extended.
        bundle: those that move.
        target: tier of each.
        most_on_the_way_first: promotions that need the most room beyond their copy come first, while free room is
            largest. If any order fits, this one does.
    """
    table = _Timetable(draft, dict(zip(bundle.tolist(), target.tolist(), strict=True)))
    rises = target < draft.tier()[bundle]
    coming = _by_saving(draft, bundle[rises], target[rises])
    if most_on_the_way_first:
        coming.sort(key=lambda each: -int(draft.bundles.transient[each]))
    for each in reversed([*_by_saving(draft, bundle[~rises], target[~rises]), *coming]):
        table.leaving.setdefault(int(draft.state.home[each]), []).append(each)
    groups: list[Group] = []
    for _ in range(_PASSES):
        found = _pass(draft, table, coming)
        groups += found
        coming = [each for each in coming if not draft.moved[each]]
        if not found or not coming:
            break
    return groups, coming


def _by_saving(draft: PlanDraft, bundle: I64, target: I64) -> list[int]:
    """Bundles by saving per byte, most first; losses count as negative."""
    wait = draft.bundles.wait
    saved = wait[draft.tier()[bundle], bundle] - wait[target, bundle]
    order = densest_first(saved, draft.bundles.size[bundle], KeysOf(draft.keys, bundle))
    return [int(each) for each in bundle[order]]


def _pass(draft: PlanDraft, table: _Timetable, coming: Sequence[int]) -> list[Group]:
    """One pass over the promotions that are still open."""
    groups: list[Group] = []
    for at, bundle in enumerate(coming):
        if draft.left < 1:
            break
        relocations = None if draft.moved[bundle] else table.way(bundle)
        if relocations:
            relocations = _paying(draft, table, relocations, coming[at + 1 : at + 1 + _FOLLOWERS])
        if relocations:
            groups.append(draft.keep(draft.group(relocations)))
    return groups


def _paying(
    draft: PlanDraft, table: _Timetable, relocations: list[Relocation], followers: Iterable[int]
) -> list[Relocation] | None:
    """The relocations, with further promotions into free room until they pay. Undone, and None, if they never do."""
    balance = draft.start_balance()
    for relocation in relocations:
        balance.add(relocation)
    if balance.pays():
        return relocations
    for follower in followers if len(relocations) > 1 else ():
        more = None if draft.moved[follower] else table.way(follower)
        if more and draft.affords([*relocations, *more]):
            relocations += more
            for relocation in more:
                balance.add(relocation)
            if balance.pays():
                return relocations
        elif more:
            draft.state.undo(more)
    draft.state.undo(relocations)
    return None
