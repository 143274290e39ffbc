"""From the solver's answer to groups in an order that can be carried out: what gives way, then what comes in its place.

What comes goes by saving per byte. Where it finds no room, those that the solver sends away from there go first, the
least regretted per byte before the others and those last that go up, each to the tier chosen for it, which may need
somebody to leave in turn. No
more leaves than is needed. A group that does not pay alone takes in what comes next until it does; one that never
pays is given up, and so is the question of its bundle in this plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from connectors.model import I64
from policies.model.density import KeysOf, densest_first
from policies.model.plan import MoveReason
from policies.placement.placement_state import Group, Relocation
from policies.placement.plan_draft import PlanDraft

_FOLLOWERS = 256  # tried beside somebody who does not pay alone, before the swap is given up
_PASSES = 4  # over what found no room: somebody may have freed it meanwhile


@dataclass(slots=True)
class _Timetable:
    """Who is to come, and who is to leave each space."""

    draft: PlanDraft
    target: dict[int, int]  # tier of each bundle that is to move
    leaving: dict[int, list[int]] = field(default_factory=dict)  # per space, the least regretted last
    clearing: set[int] = field(default_factory=set)  # tiers that somebody waits for already

    def clear(self, tier: int, bundle: int) -> list[Relocation] | None:
        """Make some space of a tier take a bundle; the hops are done on the board. None: it cannot be."""
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
            hops = self._clear(space, bundle)
            if hops is not None:
                regret = -sum(self.draft.board.saving_of(hop) for hop in hops)
                self.draft.board.undo(hops)
                best = min(best or (regret, at), (regret, at))
        return None if best is None else self._clear(spaces[best[1]], bundle)

    def _by_name(self, tier: int) -> list[int]:
        return sorted(self.draft.board.spaces(tier), key=lambda space: self.draft.board.names[space])

    def _clear(self, space: int, for_: int) -> list[Relocation] | None:
        """Send away from a space until it takes a bundle, then let those stay that need not go."""
        draft, board = self.draft, self.draft.board
        hops: list[Relocation] = []
        own: list[Relocation] = []
        for bundle in self._waiting(space, for_):
            if board.holds(for_, space):
                break
            found = None if draft.moved[bundle] else self._sent_away(bundle)
            if found is not None:
                hops += found
                own.append(found[-1])
        if not board.holds(for_, space):
            board.undo(hops)
            return None
        return self._prune(hops, own, for_, space)

    def _waiting(self, space: int, for_: int) -> Iterator[int]:
        """Who is to leave a space; where it has room but its tier too much to bear, others on that tier too."""
        board = self.draft.board
        yield from self._leaving(space)
        if board.strains and board.room[space] >= board.needed(for_):
            for other in self._by_name(board.tier_of[space]):
                yield from self._leaving(other) if other != space else ()

    def _leaving(self, space: int) -> Iterator[int]:
        waiting = self.leaving.get(space, [])
        while waiting and self.draft.moved[waiting[-1]]:  # for good
            waiting.pop()
        for bundle in reversed(waiting):
            if self.draft.board.home[bundle] == space:
                yield bundle

    def _sent_away(self, bundle: int) -> list[Relocation] | None:
        """The way of one bundle out, done on the board, with whatever has to leave there first.

        It goes to the tier chosen for it. Where that has no room until others have left that wait for this very bundle
        to go, what goes down goes further down, to free room.
        """
        board, chosen = self.draft.board, self.target[bundle]
        rises = chosen < board.tier_of[int(board.home[bundle])]
        for tier in [chosen] if rises else range(chosen, board.tiers):
            space = board.seat(bundle, tier)
            hops = self.clear(tier, bundle) if space is None and tier == chosen else []
            space = board.seat(bundle, tier) if hops else space
            if space is not None:
                reason = MoveReason.PROMOTE if rises else MoveReason.MAKE_ROOM
                hop = Relocation(bundle, int(board.home[bundle]), space, reason)
                board.do(hop)
                return [*(hops or []), hop]
        return None

    def _prune(self, hops: list[Relocation], own: list[Relocation], for_: int, space: int) -> list[Relocation]:
        """Without what turns out not to be needed, the most regretted first; where others left for it, all stays."""
        if len(hops) > len(own):
            return hops
        kept, board = [], self.draft.board
        for hop in reversed(own):
            board.undo([hop])
            if not board.holds(for_, space):
                board.do(hop)
                kept.append(hop)
        return kept[::-1]

    def way(self, bundle: int) -> list[Relocation] | None:
        """Hops that bring a bundle where it is to go, done on the board.

        None: there is no room to be had, or it has gone there already to make room for somebody in the same group.
        """
        draft, board = self.draft, self.draft.board
        home, tier = int(board.home[bundle]), self.target[bundle]
        if board.tier_of[home] == tier:
            return None
        space = board.seat(bundle, tier)
        hops = self.clear(tier, bundle) if space is None else []
        if hops is None:
            return None
        space = board.seat(bundle, tier)
        if space is None or not draft.affords([*hops, Relocation(bundle, home, space, MoveReason.PROMOTE)]):
            board.undo(hops)
            return None
        hop = Relocation(bundle, home, space, MoveReason.PROMOTE)
        board.do(hop)
        return [*hops, hop]


def schedule_groups(
    draft: PlanDraft, bundle: I64, target: I64, *, most_on_the_way_first: bool = False
) -> tuple[list[Group], list[int]]:
    """Groups that bring bundles to tiers, and those that were to come up and could not.

    Args:
        draft: is extended.
        bundle: those that move.
        target: tier of each.
        most_on_the_way_first: what takes most room beyond its copy comes first, while there is most room: where any
            order fits, this one does.
    """
    table = _Timetable(draft, dict(zip(bundle.tolist(), target.tolist(), strict=True)))
    rises = target < draft.tier()[bundle]
    coming = _by_saving(draft, bundle[rises], target[rises])
    if most_on_the_way_first:
        coming.sort(key=lambda each: -int(draft.bundles.transient[each]))
    for each in reversed([*_by_saving(draft, bundle[~rises], target[~rises]), *coming]):
        table.leaving.setdefault(int(draft.board.home[each]), []).append(each)
    groups: list[Group] = []
    for _ in range(_PASSES):
        found = _pass(draft, table, coming)
        groups += found
        coming = [each for each in coming if not draft.moved[each]]
        if not found or not coming:
            break
    return groups, coming


def _by_saving(draft: PlanDraft, bundle: I64, target: I64) -> list[int]:
    """Bundles by what they save per byte, most first; what they lose counts as negative."""
    wait = draft.bundles.wait
    saved = wait[draft.tier()[bundle], bundle] - wait[target, bundle]
    order = densest_first(saved, draft.bundles.size[bundle], KeysOf(draft.keys, bundle))
    return [int(each) for each in bundle[order]]


def _pass(draft: PlanDraft, table: _Timetable, coming: Sequence[int]) -> list[Group]:
    """One look at everybody who is still to come."""
    groups: list[Group] = []
    for at, bundle in enumerate(coming):
        if draft.left < 1:
            break
        hops = None if draft.moved[bundle] else table.way(bundle)
        if hops:
            hops = _paying(draft, table, hops, coming[at + 1 : at + 1 + _FOLLOWERS])
        if hops:
            groups.append(draft.keep(draft.group(hops)))
    return groups


def _paying(
    draft: PlanDraft, table: _Timetable, hops: list[Relocation], followers: Iterable[int]
) -> list[Relocation] | None:
    """The hops, with as many followers into free room as it takes to pay; undone where that is never."""
    balance = draft.start_balance()
    for hop in hops:
        balance.add(hop)
    if balance.pays():
        return hops
    for follower in followers if len(hops) > 1 else ():
        more = None if draft.moved[follower] else table.way(follower)
        if more and draft.affords([*hops, *more]):
            hops += more
            for hop in more:
                balance.add(hop)
            if balance.pays():
                return hops
        elif more:
            draft.board.undo(more)
    draft.board.undo(hops)
    return None
