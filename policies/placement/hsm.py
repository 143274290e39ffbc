"""Mode ``hsm``: hot up, cold down only where its room is needed, as groups each of which pays by itself.

A group is what gives way followed by what comes in its place. Pins come first and need not pay: somebody asked for
them. Then the solver says for all tiers at once who deserves which, and groups are built so that every one of them
saves more than it loses, passes the floor and pays back. What could not be done that way is asked anew without it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from connectors.model import F64, I64, Bools
from policies.model.plan import MoveReason, Pin, Tier
from policies.placement.move_ordering import TargetTier, find_stuck
from policies.placement.placement_problem import PlacementProblem, question
from policies.placement.placement_state import Group
from policies.placement.plan_draft import PlanDraft, by_density
from policies.placement.schedule import schedule_groups
from policies.placement.swaps import swap_groups
from policies.placement.transit_capacity import with_transit_constraints, without_largest
from policies.solver.offers import STAY, Offers
from policies.solver.placement import Placement, bound, place

_ROUNDS = 4  # of asking the solver again with the moves and the room that are left
_AGAIN = (8, 4)  # answers to few items, and to many, that are looked for beside one that cannot be carried out
_FEW = 500  # items
_MISSED = 1e-4  # of an answer's gain: less is not worth another


def pin_groups(draft: PlanDraft, wanted: Bools) -> list[Group]:
    """What must never be on the fastest tier goes down, then what must be there comes up, cost what it may.

    Args:
        draft: is extended.
        wanted: bundles with ``Pin.MUST`` that may be moved.
    """
    bundles, board = draft.bundles, draft.board
    free = (bundles.cooling <= 0) & bundles.routable
    groups = []
    barred = free & (bundles.pin == Pin.NEVER) & (bundles.tier == 0) & draft.demote
    for bundle in by_density(draft, barred, bundles.saving_on(0)):
        hop = board.way_down(bundle, MoveReason.PIN)
        if hop is not None and draft.left > 0:
            board.do(hop)
            groups.append(draft.keep(draft.group([hop])))
    if not wanted.any():
        return groups
    residents = draft.leavers() & (draft.tier() == 0)
    cold = _cold(draft, by_density(draft, residents, _loss(draft, 0)))
    for bundle in by_density(draft, wanted & (bundles.tier > 0), bundles.saving_on(0)):
        hops = board.way_up(bundle, 0, MoveReason.PIN, cold, draft.left)
        for hop in hops or ():
            board.do(hop)
        if hops:
            groups.append(draft.keep(draft.group(hops)))
    return groups


def best_groups(
    draft: PlanDraft, tiers: Sequence[Tier], open_to: Sequence[Bools], asked: PlacementProblem
) -> list[Group]:
    """Groups that bring every tier nearer to what deserves it.

    Args:
        draft: is extended.
        tiers: fastest first.
        open_to: per tier but the slowest, the bundles that guards let come to it.
        asked: the question about the draft as it is.
    """
    groups: list[Group] = []
    allowed = [column.copy() for column in open_to]
    for again in range(_ROUNDS):
        outcome = _carried_out(draft, asked)
        groups += outcome.groups
        for column in allowed:
            column[outcome.refused] = False
        if not outcome.refused or draft.left < 1 or (again and not outcome.groups):
            break
        asked = question(draft, tiers, allowed, among=asked.bundle[outcome.near])
    return groups


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """Groups that answer a question, kept in the draft."""

    groups: list[Group]
    refused: list[int]  # bundles that were to come and could not
    near: I64  # items worth asking about again
    choice: I64  # the answer
    placed: float  # gain of the answer
    gain: float  # of the groups
    missed: float  # of the answer's gain, because it could not be carried out as it is
    elsewhere: tuple[I64, I64]  # options and items that were chosen and not done
    left: Sequence[TargetTier] = ()  # those of the answer that find room in no order


def _carried_out(draft: PlanDraft, asked: PlacementProblem) -> _Outcome:
    """What comes of a question.

    Where the answer cannot be carried out as it is - two full tiers that would exchange what neither has room for - the
    question is put again in two ways: without the largest unit that found no room, and with what was in its way told.
    What promises most is followed first, for some answers. The best outcome stays.
    """
    best = first = _carry_out(draft, asked, asked.offers)
    if first.missed <= _MISSED * first.gain or len(asked.offers.gain) < 2:
        return first
    draft.take_back(first.groups)
    ahead, count = [(-first.placed, 0, first, asked.offers)], 0
    while ahead and count < _AGAIN[len(asked.bundle) > _FEW]:
        _, _, last, offers = heappop(ahead)
        if last.missed <= _MISSED * last.gain or last.placed <= best.gain:
            continue
        for again in _put_again(draft, asked, offers, last):
            done = _carry_out(draft, asked, again, best.gain)
            draft.take_back(done.groups)
            best = max(best, done, key=lambda outcome: outcome.gain)
            count += 1
            heappush(ahead, (-done.placed, count, done, again))
    draft.redo(best.groups)
    return best


def _put_again(draft: PlanDraft, asked: PlacementProblem, offers: Offers, last: _Outcome) -> Iterator[Offers]:
    """Both ways. The draft is as it was when the question was asked."""
    if last.left:
        yield without_largest(draft, asked, offers, last.choice, last.left)
    yield with_transit_constraints(draft, asked, offers, last.choice, last.left, last.elsewhere)


def _carry_out(draft: PlanDraft, asked: PlacementProblem, offers: Offers, floor: float = -np.inf) -> _Outcome:
    """What comes of some offers of a question: swap after swap, or else in one order for all."""
    placed = place(offers, floor)
    items = np.flatnonzero(placed.choice != STAY)
    if placed.gain <= floor:
        return _outcome(draft, asked, placed, [], [])
    bundle, target = asked.bundle[items], asked.target[placed.choice[items], items]
    outcome = _outcome(draft, asked, placed, *schedule_groups(draft, bundle, target))
    if outcome.missed > _MISSED * outcome.gain and draft.bundles.transient[bundle].any():
        outcome = _while_there_is_room(draft, asked, placed, outcome, (bundle, target))
    if outcome.missed <= _MISSED * outcome.gain:
        return outcome
    groups = outcome.groups
    draft.take_back(groups)
    aims = [TargetTier(*aim) for aim in zip(bundle.tolist(), target.tolist(), strict=True)]
    left = find_stuck(draft.board, aims)
    others = swap_groups(draft, aims)
    refused = [each for each in bundle[target < draft.bundles.tier[bundle]].tolist() if not draft.moved[each]]
    other = _outcome(draft, asked, placed, others, refused)
    if other.gain > outcome.gain:
        return replace(other, left=left)
    draft.take_back(others)
    draft.redo(groups)
    return replace(outcome, left=left)


def _while_there_is_room(
    draft: PlanDraft, asked: PlacementProblem, placed: Placement, outcome: _Outcome, moving: tuple[I64, I64]
) -> _Outcome:
    """The outcome, or the one of the other order: what takes most room on the way comes first."""
    draft.take_back(outcome.groups)
    other = _outcome(draft, asked, placed, *schedule_groups(draft, *moving, most_on_the_way_first=True))
    if other.gain > outcome.gain:
        return other
    draft.take_back(other.groups)
    draft.redo(outcome.groups)
    return outcome


def _outcome(
    draft: PlanDraft, asked: PlacementProblem, placed: Placement, groups: list[Group], refused: list[int]
) -> _Outcome:
    items = np.flatnonzero(placed.choice != STAY)
    went = _went(draft, asked, items, groups)
    moved = went != STAY
    gain = float(asked.offers.gain[went[moved], items[moved]].sum())
    other = items[went != placed.choice[items]]
    return _Outcome(
        groups=groups,
        refused=refused,
        near=placed.near,
        choice=placed.choice,
        placed=placed.gain,
        gain=gain,
        missed=placed.gain - gain,
        elsewhere=(placed.choice[other], other),
    )


def _went(draft: PlanDraft, asked: PlacementProblem, items: I64, groups: Sequence[Group]) -> I64:
    """The option that each of some items really took."""
    at = {bundle: row for row, bundle in enumerate(asked.bundle[items].tolist())}
    went = np.full(len(items), STAY, dtype=np.int64)
    hops = [hop for group in groups for hop in group.hops]
    if not hops:
        return went
    rows = np.array([at[hop.bundle] for hop in hops], dtype=np.int64)
    tier = np.array([draft.board.tier_of[hop.target] for hop in hops], dtype=np.int64)
    went[rows] = (asked.target[:, items[rows]] == tier).argmax(axis=0)
    return went


def value_bound(asked: PlacementProblem) -> tuple[float, bool]:
    """Microseconds per hour that no placement beats from the board as it stands, guards, pins and limits given.

    About wait alone: resident bonus, preference and move cost are left out, doubt too. Also whether it is the moves or
    bytes of one plan that hold it up: then there is more to gain in the next.
    """
    found = bound(replace(asked.offers, gain=asked.plain))
    return found.gain, bool(found.held_up[asked.by_plan].any())


def proven_bound(asked: PlacementProblem) -> float:
    """The same by searching as well as by prices: of some dozen items, what the best placement really saves."""
    return place(replace(asked.offers, gain=asked.plain)).bound


def _loss(draft: PlanDraft, tier: int) -> F64:
    """What each bundle would lose by going from that tier to the next slower one."""
    wait = draft.bundles.wait
    below = min(tier + 1, len(wait) - 1)
    return np.asarray(wait[below] - wait[tier], dtype=np.float64)


def _cold(draft: PlanDraft, densest_first: Iterable[int] | I64) -> dict[int, list[int]]:
    """Bundles that may give way per space, the least regretted first."""
    cold: dict[int, list[int]] = defaultdict(list)
    for bundle in reversed(list(densest_first)):
        cold[int(draft.board.home[bundle])].append(int(bundle))
    return cold
