"""The balancer: from a situation to an ordered plan with its value, bound, gap and verdicts.

``make_plan`` is mode ``hsm``: hot data goes up, and cold data goes down only to make room. The solver decides for all
tiers at once which bundle belongs where. A group is the demotions that make room, then the promotion that uses it.

Every prefix of a plan keeps three promises. No space is filled past its head-room, and the source counts as occupied
until its copy is done. Demotions come directly before the promotion that needs their room. Each such group saves more
than it loses, exceeds the floor and pays back.

Two kinds of groups come first and need not pay: ``pin_groups``, because an operator asked for the pins, and
``growth_groups``, which leave a space that growth would fill before the next plan can act.

Each space of a tier is a place of its own (``placement_state``). A space with both free bytes and capacity unknown is
never a target, since its head-room could not be guaranteed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

import numpy as np

from connectors.model.observation import F64, I8, I64, Bools
from policies.evidence.bundles import MICRO, Bundles, bundles_of
from policies.evidence.capacity import largest_unit, room_bytes
from policies.evidence.guards import why_not
from policies.model.columns import KeysOf, compute_density
from policies.model.moves import Group, MoveReason, Relocation
from policies.model.plan import Plan, SavingLimit, Situation, Verdict
from policies.model.settings import Pin, PolicySettings
from policies.placement.granularity import (
    Groups,
    Side,
    align_draft,
    choose_granularity,
    closer_bound,
    granularity_bound,
    granularity_problems,
    groups_of,
    value_bound,
)
from policies.placement.placement_problem import ANYWHERE, PlacementProblem, build_problem
from policies.placement.placement_state import PlacementState
from policies.placement.plan_draft import PlanDraft, within_turnover
from policies.placement.plan_figures import nothing, plan_of, present_wait, total_saved, verdicts_if_unmoved
from policies.placement.schedule import (
    TargetPlace,
    Timetable,
    find_order,
    ordered_groups,
    schedule_groups,
    tables_first,
)
from policies.placement.solver.offers import STAY, Offers
from policies.placement.solver.solve import Placement, place

_AGAIN = (8, 4)  # further answers, for few and for many items, if one cannot be carried out as it is
_FEW = 500  # items
TOLERATED = 0.5  # share of the head-room that growth may take before something has to leave
_FEW_TO_KEEP = 15_000  # bundles, up to which a plan keeps its problem until somebody reads its bound
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
        left = room_bytes(situation.spaces[row], settings.head_room_ratio * (1.0 - TOLERATED))
        if not 0 <= tier < state.tiers - 1 or not growing[row] or left is None or left >= 0 or state.room[row] >= 0:
            continue
        leaving = draft.leavers() & (state.home == row) & (draft.bundles.size > 0)
        loss = _loss(draft, tier)
        coldest = np.array(draft.by_density(leaving, loss)[::-1], dtype=np.int64)
        relocations: list[Relocation] = []
        for bundle in coldest[_cheapest_to_leave(loss[coldest], state.freed[coldest], -int(state.room[row]))].tolist():
            if len(relocations) >= draft.left:
                break
            relocation = state.demotion_of(bundle, MoveReason.GROWTH)
            if relocation is not None:
                state.apply(relocation)
                relocations.append(relocation)
        if _is_within_room(state, row):
            relocations = state.without_needless(relocations, partial(_is_within_room, state, row))
        groups += [draft.keep(draft.group([relocation])) for relocation in relocations]
    return groups


def _cheapest_to_leave(loss: F64, freed: I64, needed: int) -> I64:
    """Which units free so many bytes and lose little together: positions, in the given order, of all if none suffice.

    The coldest by the byte and then one that suffices, at whatever place among them that is cheapest: by the byte alone
    a large unit would leave for a few bytes, and the next plan would want it back.

    Args:
        loss: of each unit, those first that lose least by the byte.
        freed: bytes of each.
        needed: bytes.
    """
    lost, room = (np.concatenate(([0.0], np.cumsum(column))) for column in (loss, freed))
    best, found = np.inf, np.arange(len(loss))
    for many in range(len(loss)):
        last = many + np.flatnonzero(freed[many:] >= needed - room[many])
        if len(last):
            at = int(last[np.argmin(loss[last])])
            if lost[many] + loss[at] < best:
                best, found = lost[many] + loss[at], np.append(np.arange(many), at)
        if room[many + 1] >= needed:
            break
    return found


def _is_within_room(state: PlacementState, space: int) -> bool:
    return state.room[space] >= 0


def _with_forced(forced: Sequence[Group], groups: Sequence[Group], fresh: Callable[[], PlacementState]) -> list[Group]:
    """The forced groups and the others in the best order, without what leaves for growth though others leave enough.

    Args:
        forced: pins, and what leaves for growth, of which the dearest stay first.
        groups: the others, which find room in this order.
        fresh: gives the state before the first group.
    """
    kept, ordered = list(forced), _order_groups(groups, _after(fresh(), forced))
    growing = [each for each in forced if each.relocations[0].reason is MoveReason.GROWTH] if groups else []
    for group in sorted(growing, key=lambda each: each.saved):
        rest = [each for each in kept if each is not group]
        order = _order_groups(groups, _after(fresh(), rest))
        state = _after(fresh(), rest)
        if all(map(state.carry_out, order)) and _is_within_room(state, group.relocations[0].source):
            kept, ordered = rest, order
    return [*kept, *ordered]


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


def make_plan(
    situation: Situation, settings: PolicySettings, *, demote: bool = True, time_limit_seconds: float = inf
) -> Plan:
    """Plan in mode ``hsm``: hot data up, and cold data down if its room is needed.

    The same situation gives the same plan, in whatever order its units are listed.

    Args:
        situation: what the plan is made from.
        settings: limits and weights.
        demote: False fills free room only and demotes nothing.
        time_limit_seconds: the plan ends before the group whose copying would exceed this.
    """
    if not situation.tiers:
        return nothing(situation)
    begin = partial(_begin, settings=settings, demote=demote, seconds=time_limit_seconds)
    groups, limit = groups_of(situation), None
    if groups is not None:
        begun = begin(groups.of(np.zeros_like(groups.open)))
        if groups.open.any():
            begun, limit = _in_best_granularity(groups, begun, begin)
    else:
        begun = begin(situation)
    return _complete(begun, time_limit_seconds, limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """A plan that holds what does not depend on its gain: pins, and room for what grows."""

    situation: Situation
    reasons: list[I8]
    side: Side
    forced: list[Group]  # what pins ask for, then what gives its room to growth


def _begin(situation: Situation, *, settings: PolicySettings, demote: bool, seconds: float) -> _Begun:
    bundles = bundles_of(situation, settings)
    reasons = reasons_of(situation, bundles, settings)
    wanted = (bundles.pin == Pin.MUST) & (reasons[0] == Verdict.PROMOTE)
    draft = new_draft(situation, bundles, settings, demote=demote, seconds=seconds)
    open_to = [(reason == Verdict.PROMOTE) & (bundles.pin != Pin.MUST) for reason in reasons]
    forced = [*pin_groups(draft, wanted), *growth_groups(draft, situation)]
    return _Begun(situation=situation, reasons=reasons, side=Side(draft=draft, open_to=open_to), forced=forced)


def _complete(begun: _Begun, seconds: float, limit: Callable[[float], float] | None) -> Plan:
    """The plan with the groups that follow what is forced; ``begun`` is used up.

    Args:
        begun: what is forced.
        seconds: the plan ends before the group whose copying would exceed this.
        limit: bound on plans of any granularity for one that saves so much, None: this granularity is the only one.
    """
    situation, draft, open_to = begun.situation, begun.side.draft, begun.side.open_to
    bundles, settings = draft.bundles, draft.settings
    problem = build_problem(draft, open_to)
    bounding = _bounding_problem(draft, open_to, problem)
    bound, forced = value_bound(bounding), _net_of_cost(draft, begun.forced)
    fresh = partial(_fresh_state, situation, bundles, settings)
    # The solver's groups are found for the draft as it is; sorted afterwards, a plan that is stopped after any group
    # has done the best part first.
    groups = _with_forced(begun.forced, best_groups(draft, problem), fresh)
    worn = within_turnover(groups, bundles, situation, settings, fresh)
    # The limits come last: both steps before them drop or reorder groups, and a prefix cut before would end at other
    # groups than the plan that is carried out.
    kept = within_limits(tables_first(worn, bundles, situation.units, fresh()), settings, seconds)
    large = (bundles.size > draft.left_bytes) | (bundles.copying > draft.left_copying)
    # Where a limit of this plan is what keeps out more, the next plan has more to gain.
    more = bool(bound.limiting[bounding.by_plan].any())
    full = large | more | (draft.left < 1) | (len(kept) < len(groups))
    staying = verdicts_if_unmoved(bundles, begun.reasons[0], settings, full=full)
    # Bound and plan are compared by what they are worth once moves are paid for: a saving that costs more than itself
    # is not missed. The bound that is shown has the cost of the plan's own moves in it, as its saving has.
    net, saved = _net_of_cost(draft, kept), total_saved(kept)

    def nothing_beats() -> float:
        best = limit(net) if limit else forced + closer_bound(bounding, bound.gain, net - forced)
        return (best + saved - net) / MICRO

    # Of many bundles at once: little of the time of such a plan is the bound's, and the problem would be kept for it.
    few = len(bundles) <= _FEW_TO_KEEP
    found = SavingLimit(work_out=nothing_beats) if few else SavingLimit(nothing_beats())
    return plan_of(situation, bundles, settings, kept, staying, found)


def _bounding_problem(draft: PlanDraft, open_to: Sequence[Bools], problem: PlacementProblem) -> PlacementProblem:
    """The problem whose bound holds for all plans: of many bundles one in which the spaces of a tier share their room.

    Prices cannot tell such spaces apart, and the room of a tier is a bound on that of its spaces.
    """
    if len(problem.bundle) <= ANYWHERE or len(draft.state.places) == draft.state.tiers:
        return problem
    return build_problem(replace(draft, state=draft.state.by_tier()), open_to)


def _in_best_granularity(
    groups: Groups, single: _Begun, begin: Callable[[Situation], _Begun]
) -> tuple[_Begun, Callable[[float], float]]:
    """The plan to complete in the best granularity; and a bound on plans of all granularities."""
    whole, draft = begin(groups.of(groups.open)), single.side.draft
    fresh = new_draft(whole.situation, whole.side.draft.bundles, draft.settings, demote=draft.demote)
    # Whole groups start from a fresh draft brought to the state of the single one: pins carried out in each of the two
    # would leave them with different room, and their bounds could not be compared.
    sides = single.side, Side(draft=align_draft(draft, fresh), open_to=whole.side.open_to)
    decided, plain, group = granularity_problems(groups, *sides)
    taken, forced = np.zeros_like(groups.open), _net_of_cost(draft, single.forced)
    taken[group[choose_granularity(decided).whole]] = True
    return begin(groups.of(taken)), lambda net: forced + granularity_bound(plain, net - forced)


def reasons_of(situation: Situation, bundles: Bundles, settings: PolicySettings) -> list[I8]:
    """Verdict of each bundle on coming to each tier but the slowest, at least on the fastest."""
    targets = range(max(1, len(situation.tiers) - 1))
    limits = [tier.limits for tier in situation.tiers]
    largest = [largest_unit(situation, tier, settings.head_room_ratio) for tier in range(len(situation.tiers))]
    return why_not(bundles, targets, present_wait(bundles), settings, limits, largest)


def within_limits(groups: Sequence[Group], settings: PolicySettings, seconds: float) -> list[Group]:
    """The longest prefix of groups within the limits of bytes and time; a group is carried out whole or not at all."""
    spent = np.cumsum(np.array([group.size for group in groups], dtype=np.int64))
    lasts = np.cumsum(np.array([group.copying for group in groups], dtype=np.float64))
    most = copy_limit_bytes(settings), copy_limit_micros(settings, seconds)
    # A prefix, not the groups that fit: each group was checked with all before it carried out, and may need the room
    # that one of them frees.
    return list(
        groups[: min(int(np.searchsorted(*each, side="right")) for each in zip((spent, lasts), most, strict=True))]
    )


def copy_limit_bytes(settings: PolicySettings) -> float:
    """Bytes that a plan may copy; inf without a limit."""
    return inf if settings.maximum_bytes is None else float(settings.maximum_bytes)


def copy_limit_micros(settings: PolicySettings, seconds: float = inf) -> float:
    """Microseconds that a plan may copy, at most so many seconds; inf without a limit."""
    limits = [seconds, *(limit for limit in (settings.maximum_copy_seconds,) if limit is not None)]
    return min(limits) * MICRO


def _net_of_cost(draft: PlanDraft, groups: Sequence[Group]) -> float:
    """What groups save less what one hour bears of the cost of their moves, microseconds per hour."""
    moving = [relocation.bundle for group in groups for relocation in group.relocations]
    return total_saved(groups) - float(draft.bundles.cost[moving].sum()) * draft.per_hour


def new_draft(
    situation: Situation, bundles: Bundles, settings: PolicySettings, *, demote: bool = True, seconds: float = inf
) -> PlanDraft:
    """An empty draft: everything is where it is now."""
    return PlanDraft(
        bundles=bundles,
        state=_fresh_state(situation, bundles, settings),
        settings=settings,
        keys=KeysOf(situation.units.key, bundles.lead),
        moved=np.zeros(len(bundles), dtype=np.bool_),
        left=settings.maximum_moves,
        left_bytes=copy_limit_bytes(settings),
        left_copying=copy_limit_micros(settings, seconds),
        demote=demote,
    )


def _fresh_state(situation: Situation, bundles: Bundles, settings: PolicySettings) -> PlacementState:
    return PlacementState(bundles, situation, settings)


def _after(state: PlacementState, groups: Iterable[Group]) -> PlacementState:
    for group in groups:
        for relocation in group.relocations:
            state.apply(relocation)
    return state


def _order_groups(groups: Sequence[Group], state: PlacementState) -> list[Group]:
    """Groups by saving per byte copied, each as soon as it finds room; in the given order if that does not work out."""
    saved, size = (np.array(column) for column in ([group.saved for group in groups], [group.size for group in groups]))
    by_density = np.argsort(-compute_density(saved, size), kind="stable")  # ties keep the draft's order
    waiting = [groups[at] for at in by_density.tolist()]
    done: list[Group] = []
    while waiting:
        ready = [state.carry_out(group) for group in waiting]
        done += [group for group, fits in zip(waiting, ready, strict=True) if fits]
        waiting = [group for group, fits in zip(waiting, ready, strict=True) if not fits]
        # No order by density carries out all of them, so the draft's order is kept whole, which did. A mixture could
        # leave a group without the room that the draft had for it.
        if not any(ready):
            return list(groups)
    return done
