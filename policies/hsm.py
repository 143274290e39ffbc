"""Mode ``hsm``: hot up, cold down only where its room is needed, as groups each of which pays by itself.

A group is what gives way followed by what comes in its place. Pins come first and need not pay: somebody asked for
them. Then, tier by tier from the fastest, the solver says who deserves the room, and groups are built so that every one
of them saves more than it loses, passes the floor and pays back. Whatever still fits into free room is added last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from connectors.model import F64, I64, Bools
from policies.benefit import HOUR
from policies.board import Board, Group, Hop
from policies.bundles import MICRO, Bundles, canonical_order
from policies.guards import may_leave
from policies.placement import Knapsack, bound, select
from policies.plan import MoveReason, Pin, PolicySettings

_ROUNDS = 3  # of asking the solver again with the moves and the room that are left
_LOOKAHEAD = 16  # promotions tried in the room that a demotion left over, before the swap is given up


@dataclass(slots=True)
class Draft:
    """A plan in the making: the board as it is after the groups found so far."""

    bundles: Bundles
    board: Board
    settings: PolicySettings
    keys: Sequence[str]  # of each bundle's leading unit
    moved: Bools  # bundles that a group moves; none is moved twice
    left: int  # hops that may still be added
    marginal: bool = False  # rank by what a tier saves over the next slower one, not over where each bundle is
    demote: bool = True  # False: nothing goes down, only free room is filled

    def tier(self) -> I64:
        """Tier of each bundle as the board stands, -1 where it is not managed."""
        return np.asarray(self.board.tier_of, dtype=np.int64)[self.board.home]

    def group(self, hops: Iterable[Hop]) -> Group:
        """Hops with their sums."""
        hops = tuple(hops)
        size = sum(int(self.bundles.size[hop.bundle]) for hop in hops)
        cost = sum(float(self.bundles.cost[hop.bundle]) for hop in hops)
        return Group(hops, sum(self.board.saved(hop) for hop in hops), cost, size)

    def keep(self, group: Group) -> Group:
        """Note that the hops, done on the board already, are in the plan."""
        for hop in group.hops:
            self.moved[hop.bundle] = True
        self.left -= len(group.hops)
        return group

    def preference(self) -> F64:
        """How much more than its own benefit a bundle counts."""
        return np.where(self.bundles.pin == Pin.PREFER, self.settings.prefer_bonus, 1.0)

    def upkeep(self) -> F64:
        """Cost of moving each bundle, spread over the hours that a move is expected to serve."""
        return np.asarray(self.bundles.cost * (HOUR / self.settings.horizon_seconds), dtype=np.float64)


def pin_groups(draft: Draft, wanted: Bools) -> list[Group]:
    """What must never be on the fastest tier goes down, then what must be there comes up, cost what it may.

    Args:
        draft: is extended.
        wanted: bundles with ``Pin.MUST`` that may be moved.
    """
    bundles, board = draft.bundles, draft.board
    free = (bundles.cooling <= 0) & bundles.routable
    groups = []
    barred = free & (bundles.pin == Pin.NEVER) & (bundles.tier == 0) & draft.demote
    for bundle in by_density(draft, barred, bundles.saved(0)):
        hop = board.way_down(bundle, MoveReason.PIN)
        if hop is not None and draft.left > 0:
            board.do(hop)
            groups.append(draft.keep(draft.group([hop])))
    cold = _cold(draft, by_density(draft, _residents(draft, 0), _loss(draft, 0))) if wanted.any() else {}
    for bundle in by_density(draft, wanted & (bundles.tier > 0), bundles.saved(0)):
        hops = board.way_up(bundle, 0, MoveReason.PIN, cold, draft.left)
        for hop in hops or ():
            board.do(hop)
        if hops:
            groups.append(draft.keep(draft.group(hops)))
    return groups


def tier_groups(draft: Draft, target: int, candidates: Bools) -> list[Group]:
    """Groups that bring the tier ``target`` nearer to what deserves it.

    Args:
        draft: is extended.
        target: row of the tier.
        candidates: bundles that guards let come to it; those already there or faster are ignored.
    """
    groups: list[Group] = []
    for _ in range(_ROUNDS):
        found = _round(draft, target, candidates) if draft.left > 0 else []
        groups += found
        if not found:
            break
    return groups


def _round(draft: Draft, target: int, candidates: Bools) -> list[Group]:
    """Let the solver decide from the board as it stands, and build groups from what it says."""
    items, sack = _knapsack(draft, target, candidates)
    if not len(items):
        return []
    chosen = select(sack)
    coming = [int(bundle) for bundle in items[chosen & ~sack.inside]]
    cold = _cold(draft, items[sack.inside & ~chosen])
    groups = []
    for at, bundle in enumerate(coming):
        if draft.left < 1:
            break
        group = None if draft.moved[bundle] else _paying_group(draft, target, bundle, coming[at + 1 :], cold)
        if group is not None:
            groups.append(draft.keep(group))
    return groups + _fill(draft, target, items[~sack.inside])


def _paying_group(
    draft: Draft, target: int, bundle: int, followers: list[int], cold: dict[int, list[int]]
) -> Group | None:
    """The bundle's way up with the demotions it needs, and followers into left-over room until the swap pays."""
    hops = list(draft.board.way_up(bundle, target, MoveReason.PROMOTE, cold, draft.left) or ())
    for hop in hops:
        draft.board.do(hop)
    if not hops or _pays(draft, hops):
        return draft.group(hops) if hops else None
    for follower in followers[:_LOOKAHEAD] if len(hops) > 1 else ():
        extra = None if draft.moved[follower] else _free_hop(draft, follower, target)
        if extra is not None and len(hops) < draft.left:
            draft.board.do(extra)
            hops.append(extra)
            if _pays(draft, hops):
                return draft.group(hops)
    draft.board.undo(hops)
    return None


def _pays(draft: Draft, hops: list[Hop]) -> bool:
    """Whether hops together save more than they lose, residents and preferred ones counting more, and pay back."""
    settings, preference, upkeep = draft.settings, draft.bundles.pin == Pin.PREFER, draft.bundles.cost
    net = counted = plain = cost = 0.0
    for hop in hops:
        saved = draft.board.saved(hop)
        sure = draft.bundles.certain[draft.board.tier_of[hop.target], hop.bundle] if saved > 0 else 1.0
        favour = settings.prefer_bonus if preference[hop.bundle] else 1.0
        stays = settings.resident_bonus if hop.reason is MoveReason.MAKE_ROOM and saved < 0 else 1.0
        plain += saved
        counted += saved * favour * sure
        net += saved * favour * stays * sure
        cost += float(upkeep[hop.bundle])
    net -= cost * HOUR / settings.horizon_seconds
    floor = settings.minimum_wait_saved_per_hour * MICRO
    return plain > 0 and net > 0 and counted >= floor and cost * HOUR <= settings.payback_limit_seconds * counted


def _free_hop(draft: Draft, bundle: int, target: int) -> Hop | None:
    """The way up into room that is free already."""
    ways = draft.board.way_up(bundle, target, MoveReason.PROMOTE, {}, 1)
    return ways[0] if ways else None


def _fill(draft: Draft, target: int, candidates: I64) -> list[Group]:
    """Bring what still fits into free room, densest first."""
    groups: list[Group] = []
    waiting = candidates[~draft.moved[candidates]]
    while draft.left > 0 and len(waiting):
        room = max((draft.board.room[space] for space in draft.board.spaces(target)), default=-1)
        waiting = waiting[draft.bundles.size[waiting] <= room]
        if not len(waiting):
            break
        hop = _free_hop(draft, int(waiting[0]), target)
        waiting = waiting[1:]
        if hop is not None and _pays(draft, [hop]):
            draft.board.do(hop)
            groups.append(draft.keep(draft.group([hop])))
    return groups


def _knapsack(draft: Draft, target: int, candidates: Bools) -> tuple[I64, Knapsack]:
    """Who competes for a tier, in canonical order, and the knapsack in which they do."""
    bundles, settings = draft.bundles, draft.settings
    coming = candidates & (bundles.tier > target) & ~draft.moved
    inside = _residents(draft, target)
    gain = _loss(draft, target) if draft.marginal else bundles.saved(target)
    asking = gain * bundles.certain[target] * draft.preference() - draft.upkeep()
    holding = _loss(draft, target) * settings.resident_bonus * draft.preference() + draft.upkeep()
    value = np.rint(np.where(inside, holding, asking))
    items = np.flatnonzero((coming & (value > 0)) | inside)
    size = np.maximum(bundles.size[items], 1).astype(np.float64)
    order = canonical_order(value[items] / size, size, Names(draft.keys, items))
    items = items[order]
    sack = Knapsack(
        size=size[order],
        value=value[items],
        inside=inside[items],
        capacity=_capacity(draft, [target], inside),
        moves=draft.left,
    )
    return items, sack


class Names(Sequence[str]):
    """Keys of some bundles, looked up only where they are asked for."""

    def __init__(self, keys: Sequence[str], items: I64) -> None:
        self._keys = keys
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, at: int) -> str:  # type: ignore[override]
        return self._keys[int(self._items[at])]


def _residents(draft: Draft, tier: int) -> Bools:
    """Bundles of a tier that may give way, in spaces whose room is known."""
    known = np.array([draft.board.known(space) for space in range(len(draft.board.room))], dtype=np.bool_)
    there = (draft.tier() == tier) & ~draft.moved & may_leave(draft.bundles, draft.settings) & draft.demote
    return np.asarray(there & known[draft.board.home], dtype=np.bool_)


def _loss(draft: Draft, tier: int) -> F64:
    """What each bundle would lose by going from that tier to the next slower one."""
    wait = draft.bundles.wait
    below = min(tier + 1, len(wait) - 1)
    return np.asarray(wait[below] - wait[tier], dtype=np.float64)


def _capacity(draft: Draft, tiers: Sequence[int], leaving: Bools) -> float:
    """Room of tiers for those that compete: what is free, and what the residents that may leave take up."""
    board, bundles = draft.board, draft.bundles
    held = np.bincount(board.home[leaving], weights=bundles.size[leaving].astype(float), minlength=len(board.room))
    return float(sum(max(0.0, board.room[space] + held[space]) for tier in tiers for space in board.spaces(tier)))


def by_density(draft: Draft, which: Bools, value: F64) -> list[int]:
    """Some bundles by falling value per byte, the same whatever order they came in."""
    items = np.flatnonzero(which)
    size = np.maximum(draft.bundles.size[items], 1).astype(np.float64)
    order = canonical_order(value[items] / size, size, Names(draft.keys, items))
    return [int(bundle) for bundle in items[order]]


def _cold(draft: Draft, densest_first: Iterable[int] | I64) -> dict[int, list[int]]:
    """Bundles that may give way per space, the least regretted first."""
    cold: dict[int, list[int]] = defaultdict(list)
    for bundle in reversed(list(densest_first)):
        cold[int(draft.board.home[bundle])].append(int(bundle))
    return cold


def value_bound(draft: Draft, candidates: Bools) -> float:
    """Microseconds per hour that no placement beats from the board as it stands, guards and pins given.

    Per border between two tiers a linear relaxation: saving is the sum, over the borders a bundle crosses, of what one
    crossing saves, and what lies on the fast side of a border must fit into the tiers on that side. Resident bonus and
    move cost are left out, so the bound is about wait alone.
    """
    tiers = len(draft.bundles.wait)
    total = 0.0
    tier = draft.tier()
    residents = np.zeros(len(tier), dtype=np.bool_)
    for border in range(tiers - 1):
        residents |= _residents(draft, border)
        crossing = _loss(draft, border)
        coming = candidates & (tier > border) & ~draft.moved & (crossing > 0)
        items = np.flatnonzero(coming | residents)
        sack = Knapsack(
            size=np.maximum(draft.bundles.size[items], 1).astype(np.float64),
            value=crossing[items],
            inside=residents[items],
            capacity=_capacity(draft, range(border + 1), residents),
            moves=draft.left,
        )
        total += bound(sack)
    return total
