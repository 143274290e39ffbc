"""The balancer: from a situation to an ordered plan with its value, bound, gap, and a verdict for every unit.

Every prefix of a plan keeps these promises: no space is filled past its head-room, the source counting as occupied
until its copy is done; demotions come directly before the promotion that needs their room; each such group saves more
than it loses. There are two exceptions, which come first: pins, because an operator asked for them, at any cost; and
what leaves a space that growth would fill before the next plan can act.

Each space of a tier is a place of its own (``places``). A space whose free bytes and capacity are both
unknown is never a target, since its head-room could not be guaranteed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

import numpy as np

from connectors.model import I8, Bools
from policies.benefit.bundles import MICRO, Bundles, bundles_of
from policies.benefit.guards import why_not
from policies.explanation.plan_figures import nothing, plan_of, total_saved, verdicts_if_unmoved
from policies.explanation.plan_intervals import present_wait
from policies.model.density import KeysOf, compute_density
from policies.model.plan import Pin, Plan, PolicySettings, Situation, Verdict
from policies.model.relocation import Group
from policies.placement.granularity import Groups, Side, align_draft, granularity_problems, groups_of
from policies.placement.granularity_choice import choose_granularity
from policies.placement.group_order import tables_first
from policies.placement.hsm import best_groups, growth_groups, pin_groups
from policies.placement.placement_problem import ANYWHERE, PlacementProblem, build_problem
from policies.placement.placement_state import PlacementState
from policies.placement.plan_draft import PlanDraft
from policies.placement.turnover import within_turnover
from policies.placement.value_bound import closer_bound, granularity_bound, value_bound
from policies.storage.capacity import largest_unit


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
    state = _after(_fresh_state(situation, bundles, settings), begun.forced)
    # The solver's groups are found for the draft as it is; sorted afterwards, a plan that is stopped after any group
    # has done the best part first.
    groups = [*begun.forced, *_order_groups(best_groups(draft, problem), state)]
    fresh = partial(_fresh_state, situation, bundles, settings)
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
    net = _net_of_cost(draft, kept)
    best = limit(net) if limit else forced + closer_bound(bounding, bound.gain, net - forced)
    nothing_beats = best + total_saved(kept) - net
    return plan_of(situation, bundles, settings, kept, staying, nothing_beats)


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
