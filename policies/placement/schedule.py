"""From the solver's answer to an executable sequence of groups.

``find_order`` finds an order in which every move finds room, where groups of swaps alone find none. While a bundle is
copied it occupies both spaces, so bundles of two full tiers that change places take turns in the few free bytes there.
A greedy order can block although a feasible one exists. Bundles that leave for the slowest tier go first, since they
only free room. Those that come up from it go last, since they only need it. In between whatever finds room goes, the
largest first; for few bundles, orders are searched. If no order is found, other moves help, the least loss first.

``tables_first`` places an index after its table. Engines build an index in its new space by reading the table. If both
are promoted, that reading is fast and disturbs no sessions once the table is on the fast tier. Only the order changes.

``schedule_groups`` takes promotions by saving per byte. If a target has no room, bundles that the answer moves out of
it go first, by least loss per byte, each to its own target place, which may need others to leave in turn. Only what is
necessary leaves. A group that does not pay is undone. Where only several promotions together pay for what gives way to
them, ``ordered_groups`` cuts one order for all of the answer into groups as short as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from connectors.model.moves import UnitKind
from connectors.model.observation import I64, UnitTable
from policies.evidence.bundles import Bundles
from policies.model.moves import Group, MoveReason, Relocation
from policies.placement.placement_state import PlacementState
from policies.placement.plan_draft import Balance, PlanDraft

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


INDEXES = (UnitKind.INDEX, UnitKind.INDEX_PARTITION)


def tables_first(groups: Sequence[Group], bundles: Bundles, units: UnitTable, state: PlacementState) -> list[Group]:
    """The groups with each index that moves alone placed directly after its table, where the table moves later.

    Args:
        groups: in an order in which every relocation finds room.
        bundles: of the situation.
        units: the unit table, for the parent of each index.
        state: before the first group; used up.

    Returns:
        the groups as given if the new order would leave a relocation without room: another move may wait for the bytes
        that an index frees in its source.
    """
    alone = np.array([group.relocations[0].bundle for group in groups if len(group.relocations) == 1], dtype=np.int64)
    if not np.isin(units.kind[bundles.lead[alone]], INDEXES).any():
        return list(groups)
    position = {bundle: at for at, group in enumerate(groups) for bundle in _coming(group)}
    place = [float(at) for at in range(len(groups))]
    for at, group in enumerate(groups):
        if len(group.relocations) == 1:
            table = _table_of(group.relocations[0].bundle, bundles, units)
            # Half a place behind the table: a swap of the two groups would also bring the table forward, ahead of
            # groups that are worth more.
            place[at] = max(place[at], position.get(table, -1) + 0.5)
    order = [groups[at] for at in sorted(range(len(groups)), key=lambda at: (place[at], at))]
    return order if all(state.carry_out(group) for group in order) else list(groups)


def _coming(group: Group) -> tuple[int, ...]:
    """The bundle for which the group exists: that of its last relocation."""
    return tuple(relocation.bundle for relocation in group.relocations[-1:])


def _table_of(bundle: int, bundles: Bundles, units: UnitTable) -> int:
    """Bundle of the table that an index belongs to, -1 for other units."""
    lead = int(bundles.rows[bundles.start[bundle]])
    if units.kind[lead] not in INDEXES:
        return -1
    parent = int(units.parent[lead])
    row = int(units.rows_of(np.array([parent], dtype=np.int64))[0])
    return int(bundles.of_row[row]) if row >= 0 else -1


@dataclass(slots=True)
class Timetable:
    """The target of every bundle, and the bundles that are to leave each space."""

    draft: PlanDraft
    target: dict[int, int]  # place of each bundle that is to move
    leaving: dict[int, list[int]] = field(default_factory=dict)  # per space, the least loss last
    clearing: set[int] = field(default_factory=set)  # places being cleared up the call stack: breaks cycles

    def let_leave(self, bundles: Sequence[int]) -> None:
        """Bundles may leave their spaces for their targets, those named first before the others."""
        for each in reversed(bundles):
            self.leaving.setdefault(int(self.draft.state.home[each]), []).append(each)

    def way(self, bundle: int, place: int) -> list[Relocation] | None:
        """Relocations that bring a bundle to a place within the plan's limits, applied to the state.

        None if there is no room, or if it is there already because it left for another bundle of the same group.
        """
        state = self.draft.state
        relocations = None if state.place_of_bundle(bundle) == place else self.bring(bundle, place)
        if relocations is None or self.draft.affords(relocations):
            return relocations
        state.undo(relocations)
        return None

    def bring(self, bundle: int, place: int, *, clear: bool = True) -> list[Relocation] | None:
        """The relocation of a bundle to a place, preceded by those that make room; applied. None if there is no room.

        ``clear``: others may leave the place for it.
        """
        state = self.draft.state
        space = state.space_in_place(bundle, place)
        relocations = self._clear(place, bundle) if space is None and clear else []
        if relocations:
            space = state.space_in_place(bundle, place)
        if space is None or relocations is None:
            return None
        relocation = relocation_between(state, bundle, space)
        state.apply(relocation)
        return [*relocations, relocation]

    def _clear(self, place: int, for_: int) -> list[Relocation] | None:
        """Make room for a bundle in some space of a place, applied to the state. None if that is not possible."""
        # Two full places that wait for each other would clear one another for ever. What really has to change places in
        # a circle is found by ``find_order``.
        if place in self.clearing:
            return None
        self.clearing.add(place)
        spaces = sorted(self.draft.state.places[place].spaces, key=lambda space: -self.draft.state.room[space])
        # A generator: clearing is applied to the state, so the next space may only be tried if the one before gave up.
        found = (self._clear_space(space, for_) for space in spaces)
        relocations = next((each for each in found if each is not None), None)
        self.clearing.remove(place)
        return relocations

    def _clear_space(self, space: int, for_: int) -> list[Relocation] | None:
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
        # Where others left for their sake in turn, all of them stay: leaving out one could take away the room that
        # another needed on its way, and each check would be a search of its own.
        return (
            relocations
            if len(relocations) > len(own)
            else state.without_needless(own, lambda: state.holds(for_, space))
        )

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
        """The relocations that take one bundle out to its target place, applied to the state.

        If that can only be cleared once this very bundle has left, a demotion goes further down instead.
        """
        state, chosen = self.draft.state, self.target[bundle]
        falls = state.places[chosen].tier > state.tier_of_bundle(bundle)
        places = range(chosen, len(state.places) if falls else chosen + 1)
        # A generator, as above.
        found = (self.bring(bundle, place, clear=place == chosen) for place in places)
        return next((relocations for relocations in found if relocations is not None), None)


def schedule_groups(draft: PlanDraft, bundle: I64, target: I64, *, most_on_the_way_first: bool = False) -> list[Group]:
    """Groups that bring bundles to their target places.

    Args:
        draft: is extended.
        bundle: those that move.
        target: place of each.
        most_on_the_way_first: promotions that need the most room beyond their copy come first, while free room is
            largest. If any order fits, this one does.
    """
    table = Timetable(draft, dict(zip(bundle.tolist(), target.tolist(), strict=True)))
    tier = np.array([place.tier for place in draft.state.places], dtype=np.int64)[target]
    rises = tier < draft.tier()[bundle]
    coming = _by_saving(draft, bundle[rises], tier[rises])
    if most_on_the_way_first:
        coming.sort(key=lambda each: -int(draft.bundles.transient[each]))
    # A bundle that is itself on its way up leaves its place only if the demotions do not suffice.
    table.let_leave([*_by_saving(draft, bundle[~rises], tier[~rises]), *coming])
    return _pass(draft, table, coming)


def ordered_groups(draft: PlanDraft, order: Sequence[TargetPlace]) -> list[Group]:
    """Groups that bring bundles to their target places in this order, as many as pay; each ends as soon as it pays.

    Bundles that leave for the slowest tier do so directly before their room is needed. A last group that does not pay
    is not carried out.

    Args:
        draft: is extended.
        order: in which every bundle finds room.
    """
    state, table = draft.state, Timetable(draft, {each.bundle: each.place for each in order})
    away = np.array([each.bundle for each in order if each.place >= state.exchanging], dtype=np.int64)
    place = np.array([table.target[each] for each in away.tolist()], dtype=np.int64)
    tier = np.array([place.tier for place in state.places], dtype=np.int64)[place]
    table.let_leave(_by_saving(draft, away, tier))
    groups: list[Group] = []
    relocations: list[Relocation] = []
    balance = Balance(draft)
    for target in (target for target in order if target.place < state.exchanging):
        more = table.bring(target.bundle, target.place) or []
        # Ends here instead of passing over it: what follows in this order may need the room that this one would have
        # left.
        if not draft.affords([*relocations, *more]):
            state.undo(more)
            break
        relocations += more
        for relocation in more:
            balance.add(relocation)
        # A group may not end with a demotion, though the balance may already pay before it: it would make room for what
        # the next group may never bring.
        if relocations and relocations[-1].reason is MoveReason.PROMOTE and balance.pays():
            groups.append(draft.keep(draft.group(relocations)))
            relocations, balance = [], Balance(draft)
    state.undo(relocations)
    return groups


def _by_saving(draft: PlanDraft, bundle: I64, tier: I64) -> list[int]:
    """Bundles by saving per byte, most first; losses count as negative."""
    wait = draft.bundles.wait
    saved = wait[draft.tier()[bundle], bundle] - wait[tier, bundle]
    return [int(each) for each in bundle[draft.density_order(bundle, saved)]]


def _pass(draft: PlanDraft, table: Timetable, coming: Sequence[int]) -> list[Group]:
    """One pass over the promotions that are still open."""
    groups: list[Group] = []
    for bundle in coming:
        if draft.left < 1:
            break
        relocations = None if draft.moved[bundle] else table.way(bundle, table.target[bundle])
        if relocations and _pays(draft, relocations):
            groups.append(draft.keep(draft.group(relocations)))
        elif relocations:
            draft.state.undo(relocations)
    return groups


def _pays(draft: PlanDraft, relocations: Iterable[Relocation]) -> bool:
    balance = Balance(draft)
    for relocation in relocations:
        balance.add(relocation)
    return balance.pays()
