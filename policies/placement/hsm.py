"""Mode ``hsm``: hot data up, cold data down only to make room, in groups that each pay for themselves.

A group is the demotions that make room, then the promotion that uses it. Pins come first and need not pay, since an
operator asked for them. Then the solver decides for all tiers at once which bundle belongs where, and groups are built
such that each saves more than it loses, exceeds the floor and pays back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from connectors.model import F64, I64, Bools
from policies.model.plan import MoveReason, Pin, Situation
from policies.model.relocation import Group, Relocation
from policies.placement.move_ordering import TargetPlace, find_order
from policies.placement.placement_problem import PlacementProblem
from policies.placement.placement_state import PlacementState
from policies.placement.plan_draft import PlanDraft
from policies.placement.schedule import Timetable, ordered_groups, schedule_groups
from policies.solver.offers import STAY, Offers
from policies.solver.placement import Placement, place
from policies.storage.capacity import room_bytes

_AGAIN = (8, 4)  # further answers, for few and for many items, if one cannot be carried out as it is
_FEW = 500  # items
_TOLERATED = 0.5  # share of the head-room that growth may take before something has to leave
_FEW_MOVES = 24  # up to which a way is searched for with moves that are in no answer
_MISSED = (1e-9, 1e-4)  # of few and of many items: share of an answer's gain whose loss is worth no further answer


def pin_groups(draft: PlanDraft, wanted: Bools) -> list[Group]:
    """Demote what must never be on the fastest tier, then promote what must be there, at any cost.

    Args:
        draft: is extended.
        wanted: bundles with ``Pin.MUST`` that may be moved.
    """
    bundles, state = draft.bundles, draft.state
    free = (bundles.cooling <= 0) & bundles.routable
    groups = []
    barred = free & (bundles.pin == Pin.NEVER) & (bundles.tier == 0) & draft.demote
    for bundle in draft.by_density(barred, bundles.saving_on(0)):
        relocation = state.demotion_of(bundle, MoveReason.PIN)
        if relocation is not None and draft.left > 0:
            state.apply(relocation)
            groups.append(draft.keep(draft.group([relocation])))
    if not wanted.any():
        return groups
    upper = [row for row, place in enumerate(state.places) if place.tier == 0]
    residents = draft.by_density(draft.leavers() & (draft.tier() == 0), _loss(draft, 0))[::-1]
    table = Timetable(draft, dict.fromkeys(residents, len(upper)))
    table.let_leave(residents)
    for bundle in draft.by_density(wanted & (bundles.tier > 0), bundles.saving_on(0)):
        places = sorted(upper, key=lambda place: -state.free_bytes(place))
        relocations = next(filter(None, (table.way(bundle, place) for place in places)), None)
        if relocations:
            relocations[-1] = replace(relocations[-1], reason=MoveReason.PIN)
            groups.append(draft.keep(draft.group(relocations)))
    return groups


def growth_groups(draft: PlanDraft, situation: Situation) -> list[Group]:
    """Demote what loses least per byte from spaces that growth is filling, until all growth has its room.

    Plans fill spaces up to their head-room, growth included. Only once growth would take half of that does something
    leave: not for the sake of a page.

    Args:
        draft: is extended.
        situation: with the room of each space once everything has grown.
    """
    if situation.growth is None or not draft.demote:
        return []
    state, groups, settings = draft.state, list[Group](), draft.settings
    growing = np.bincount(situation.units.space, weights=situation.growth, minlength=len(situation.spaces)) > 0
    for row, tier in enumerate(state.tier_of):
        left = room_bytes(situation.spaces[row], settings.head_room_ratio * (1.0 - _TOLERATED))
        if not 0 <= tier < state.tiers - 1 or not growing[row] or left is None or left >= 0 or state.room[row] >= 0:
            continue
        leaving = draft.leavers() & (state.home == row) & (draft.bundles.size > 0)
        coldest_first = reversed(draft.by_density(leaving, _loss(draft, tier)))
        relocations: list[Relocation] = []
        for bundle in coldest_first:
            if _is_within_room(state, row) or len(relocations) >= draft.left:
                break
            relocation = state.demotion_of(bundle, MoveReason.GROWTH)
            if relocation is not None:
                state.apply(relocation)
                relocations.append(relocation)
        if _is_within_room(state, row):
            relocations = state.without_needless(relocations, partial(_is_within_room, state, row))
        groups += [draft.keep(draft.group([relocation])) for relocation in relocations]
    return groups


def _is_within_room(state: PlacementState, space: int) -> bool:
    return state.room[space] >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """Groups that carry out an answer, kept in the draft."""

    groups: list[Group]
    choice: I64  # the answer
    placed: float  # gain of the answer
    gain: float  # of the groups
    missed: float  # of the answer's gain, since it could not be carried out as it is
    elsewhere: tuple[I64, I64]  # options and items that were chosen and not carried out
    left: Sequence[TargetPlace] = ()  # those of the answer that find room in no order


def best_groups(draft: PlanDraft, problem: PlacementProblem) -> list[Group]:
    """Groups that bring every tier nearer to its best content: of the problem's answer and of some alternatives.

    The solver sees the final placement only, not the way there. If two full tiers would exchange bundles for which
    neither has room, its answer cannot be carried out. Then the problem is solved again, a few times, with what failed
    ruled out.

    Args:
        draft: is extended.
        problem: of the draft as it is.
    """
    offers, tolerated = problem.offers, _MISSED[len(problem.bundle) > _FEW]
    best = last = _carry_out(draft, problem, offers)
    for _ in range(_AGAIN[len(offers) > _FEW]):
        # An answer bounds what any variant with less in it can bring.
        if last.missed <= tolerated * last.gain or (last is not best and last.placed <= best.gain):
            break
        draft.take_back(best.groups)
        offers = _with_what_failed_ruled_out(draft, problem, offers, last)
        last = _carry_out(draft, problem, offers, best.gain)
        draft.take_back(last.groups)
        best = max(best, last, key=lambda outcome: outcome.gain)
        draft.redo(best.groups)
    return best.groups


def _with_what_failed_ruled_out(draft: PlanDraft, problem: PlacementProblem, offers: Offers, last: _Outcome) -> Offers:
    """The problem with one more condition, which its last answer does not meet.

    On the way a bundle occupies both places. The largest one that found room in no order fits only if all that is free
    in the exchanging places, with what leaves them for good, can hold it. Where the answer meets that too, those that
    found no room may not all go together. Where all found some, what did not pay stays out.
    """
    items = np.flatnonzero(np.isin(problem.bundle, [target.bundle for target in last.left]))
    if not len(items):
        gain = offers.gain.copy()
        gain[last.elsewhere] = -np.inf
        return replace(offers, gain=gain)
    size, upper = draft.bundles.size[problem.bundle].astype(np.float64), draft.state.exchanging
    target = problem.place_of(np.arange(len(offers.gain), dtype=np.int64)[:, np.newaxis], slice(None))
    largest = items[int(size[items].argmax())]
    freed = draft.bundles.freed[problem.bundle].astype(np.float64)
    taken, free = np.where(target >= upper, -freed, 0.0), sum(draft.state.free_bytes(place) for place in range(upper))
    taken[last.choice[largest], largest] = size[largest]
    chosen = np.flatnonzero(last.choice != STAY)
    if taken[last.choice[chosen], chosen].sum() <= free:
        taken, free = np.zeros(target.shape), len(items) - 1
        taken[last.choice[items], items] = 1.0
    consumption = np.concatenate((offers.consumption, taken[np.newaxis]))
    return replace(offers, consumption=consumption, capacity=np.append(offers.capacity, float(free)))


def _carry_out(draft: PlanDraft, problem: PlacementProblem, offers: Offers, floor: float = -np.inf) -> _Outcome:
    """The outcome of a problem's answer: swap by swap, or else in one order for all."""
    placed = place(offers, floor)
    items = np.flatnonzero(placed.choice != STAY)
    # Nothing to schedule: even carried out in full the answer would not beat what another variant already has.
    if placed.gain <= floor:
        return _outcome(draft, problem, placed, [])
    bundle, target = problem.bundle[items], problem.place_of(placed.choice[items], items)
    outcome = _outcome(draft, problem, placed, schedule_groups(draft, bundle, target))
    tolerated = _MISSED[len(offers) > _FEW]
    if outcome.missed > tolerated * outcome.gain and draft.bundles.transient[bundle].any():
        outcome = _while_there_is_room(draft, problem, placed, outcome, (bundle, target))
    if outcome.missed <= tolerated * outcome.gain:
        return outcome
    groups = outcome.groups
    draft.take_back(groups)
    # Swap by swap first, and one order for all only where that misses something: the groups of one order are longer, so
    # a plan that is stopped early has less done.
    targets = [TargetPlace(*pair) for pair in zip(bundle.tolist(), target.tolist(), strict=True)]
    order, left = find_order(draft.state, targets, partial(_helpers, problem, placed))
    others = ordered_groups(draft, order or ())
    other = _outcome(draft, problem, placed, others)
    if other.gain > outcome.gain:
        return replace(other, left=left)
    draft.take_back(others)
    draft.redo(groups)
    return replace(outcome, left=left)


def _while_there_is_room(
    draft: PlanDraft, problem: PlacementProblem, placed: Placement, outcome: _Outcome, moving: tuple[I64, I64]
) -> _Outcome:
    """The outcome, or the one of the other order: what takes most room on the way comes first."""
    draft.take_back(outcome.groups)
    other = _outcome(draft, problem, placed, schedule_groups(draft, *moving, most_on_the_way_first=True))
    if other.gain > outcome.gain:
        return other
    draft.take_back(other.groups)
    draft.redo(outcome.groups)
    return outcome


def _outcome(draft: PlanDraft, problem: PlacementProblem, placed: Placement, groups: list[Group]) -> _Outcome:
    went, items = problem.options_to(draft.place()[problem.bundle]), np.arange(len(problem.bundle))
    moved, other = went != STAY, (went != placed.choice) & (placed.choice != STAY)
    gain = float(problem.offers.gain[went[moved], items[moved]].sum())
    return _Outcome(
        groups=groups,
        choice=placed.choice,
        placed=placed.gain,
        gain=gain,
        missed=placed.gain - gain,
        elsewhere=(placed.choice[other], items[other]),
    )


def _helpers(problem: PlacementProblem, placed: Placement) -> list[TargetPlace]:
    """Moves that gain nothing and may open a way for few others, the least loss first."""
    items = np.arange(len(problem.bundle))
    if np.count_nonzero(placed.choice != STAY) > _FEW_MOVES:
        return []
    chosen = np.where(placed.choice == STAY, 0.0, problem.offers.gain[placed.choice, items])
    gain = np.where(np.isfinite(problem.offers.gain) & (problem.offers.gain <= 0), problem.offers.gain, -np.inf)
    gain[placed.choice[placed.choice != STAY], items[placed.choice != STAY]] = -np.inf
    loss = chosen - gain
    option, item = np.unravel_index(np.argsort(loss, axis=None, kind="stable"), loss.shape)
    found = zip(problem.bundle[item].tolist(), problem.place_of(option, item).tolist(), strict=True)
    return [TargetPlace(*pair) for pair in found][: int(np.isfinite(loss).sum())]


def _loss(draft: PlanDraft, tier: int) -> F64:
    """Microseconds per hour that each bundle would lose by going from that tier to the next slower one."""
    wait = draft.bundles.wait
    below = min(tier + 1, len(wait) - 1)
    return np.asarray(wait[below] - wait[tier], dtype=np.float64)
