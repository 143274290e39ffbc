"""Units separately or a space as a whole, and the most that any plan could save.

A **group** is what can be moved as a whole, such as a table space. Once the granularity of every group is fixed, its
units form either one bundle or one each, and the rest of the planner does not know the difference. No plan can then
move a unit both ways. A group that holds a pinned unit is not moved as a whole if that unit can move separately.

``choose_granularity`` fixes the granularity of every group, which leaves an ordinary knapsack for the ``solver``. It
uses a Lagrangian dual over both granularities: at given prices a group contributes the larger of its gain as a whole
and of its members' gains. That sum, minimised over the prices, bounds all answers of both kinds. A group is settled if
its better granularity leads by more than the remaining gap. Of the few least certain others, all combinations are
tried, as well as all groups separately and all as a whole.

``value_bound`` is an upper bound on what any plan saves, net of the cost of its moves. ``closer_bound`` tightens it by
search where the gap is wide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from connectors.model.observation import F64, I64, NO_WIDE, Bools, UnitTable
from policies.model.plan import Situation
from policies.model.settings import Pin
from policies.placement.placement_problem import PlacementProblem, build_problem
from policies.placement.plan_draft import PlanDraft
from policies.placement.solver.dual import minimise_within, price_limits
from policies.placement.solver.offers import STAY, Offers, best_options, reduce_to_scarce
from policies.placement.solver.solve import Bound, Placement, bound, place, rounded_bound

ALONE = -1  # the group of an item that has none
_CLOSE = 2e-5  # relative gap below which another trial is not worth its time
_FEW = 3  # groups, the least certain ones, whose combinations are all tried


@dataclass(frozen=True, slots=True, kw_only=True)
class GranularityProblem:
    """Offers for ``n`` separate items, and for ``g`` groups of some of them as a whole.

    Both have the same options and resources, and their items in canonical order.
    """

    single: Offers
    grouped: Offers  # one item a group
    group: I64  # (n,) item of ``grouped`` that holds each of ``single`` too, or ALONE

    def __len__(self) -> int:
        return len(self.single) + len(self.grouped)

    def joint(self) -> Offers:
        """All items, the separate ones first; of a group and its members only one side may be chosen."""
        return Offers(
            gain=np.concatenate((self.single.gain, self.grouped.gain), axis=1),
            consumption=np.concatenate((self.single.consumption, self.grouped.consumption), axis=2),
            capacity=self.single.capacity,
        )

    def offers(self, whole: Bools) -> Offers:
        """The ordinary problem with those groups as a whole and all else separate."""
        return self.joint().only(self.are_offered(whole))

    def are_offered(self, whole: Bools) -> Bools:
        """Which of all items that problem holds. Shape ``(n + g,)``."""
        return np.append(~np.append(whole, False)[self.group], whole)  # ALONE reads the last


@dataclass(frozen=True, slots=True, kw_only=True)
class GranularityChoice:
    """The granularity of every group, and what it is worth."""

    whole: Bools  # (g,)
    placement: Placement  # of ``GranularityProblem.offers(whole)``; its bound is one on the answers of both kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Dual:
    """The lowest bound found, and how much better each group is as a whole at its prices."""

    bound: float
    advantage: F64  # (g,) negative where the members are worth more by themselves


def choose_granularity(problem: GranularityProblem) -> GranularityChoice:
    """The best granularity found; optimal for a few groups and some dozen items.

    Never worse than all groups as a whole, or none.
    """
    none = np.zeros(len(problem.grouped), dtype=np.bool_)
    if not len(none):
        return GranularityChoice(whole=none, placement=place(problem.single))  # the only question there is
    dual = solve_dual(problem)
    start = dual.advantage > 0
    # Both extremes are tried whatever the dual says: so the answer is never worse than a planner that knows one
    # granularity.
    best = max((_solve_for(problem, whole) for whole in (none, ~none, start)), key=_gain)
    limit = dual.bound
    if limit - _gain(best) > _CLOSE * limit:
        open_ = _unsettled_groups(dual, _gain(best))
        tried = [_solve_for(problem, whole) for whole in _combinations(start, open_[:_FEW])]
        best = max((best, *tried), key=_gain)
        # All combinations of the open groups prove the optimum, since every other group is settled.
        if len(open_) <= _FEW:
            limit = min(limit, max(each.placement.bound for each in tried))
    return replace(best, placement=replace(best.placement, bound=max(limit, _gain(best))))


def _solve_for(problem: GranularityProblem, whole: Bools) -> GranularityChoice:
    return GranularityChoice(whole=whole, placement=place(problem.offers(whole)))


def _gain(choice: GranularityChoice) -> float:
    return choice.placement.gain


def _unsettled_groups(dual: Dual, gain: float) -> I64:
    """Groups whose other granularity may be part of a better answer, the least certain first."""
    doubt = np.abs(dual.advantage)
    open_ = np.flatnonzero(doubt <= dual.bound - gain)
    return open_[np.argsort(doubt[open_], kind="stable")]


def _combinations(start: Bools, open_: I64) -> Iterator[Bools]:
    """Every combination of the open groups, the others as they are."""
    for choice in product((False, True), repeat=len(open_)):
        whole = start.copy()
        whole[open_] = choice
        yield whole


def solve_dual(problem: GranularityProblem) -> Dual:
    """Minimise the bound on answers of both granularities by the ellipsoid method (``dual``).

    A resource that is overdrawn from the start counts as just used up, which keeps the bound valid: more capacity is
    never worth less.
    """
    scarce, _ = reduce_to_scarce(replace(problem.joint(), capacity=np.maximum(problem.single.capacity, 0.0)))

    def evaluate(_row: I64, price: F64) -> tuple[F64, F64]:
        found, slope = _evaluate_dual(scarce, problem.group, price[0])
        return np.array([found.bound]), slope[np.newaxis]

    # Prices of 0 as well: where nothing is scarce they are optimal, and they lie on the corner of the first ellipsoid,
    # which its cuts approach but never reach.
    prices = [np.zeros(len(scarce.capacity))]
    if len(scarce.capacity):
        prices.append(minimise_within(evaluate, price_limits(scarce))[0])
    return min((_evaluate_dual(scarce, problem.group, price)[0] for price in prices), key=lambda dual: dual.bound)


def _evaluate_dual(joint: Offers, group: I64, price: F64) -> tuple[Dual, F64]:
    """The dual at some prices, and a subgradient."""
    choice, worth = best_options(joint.reduced_gain(price))
    single = len(group)
    members = np.bincount(group + 1, weights=worth[:single], minlength=len(joint) - single + 1)
    advantage = worth[single:] - members[1:]
    taken = advantage > 0
    choice[:single][np.append(taken, False)[group]] = STAY  # ALONE reads the last
    choice[single:][~taken] = STAY
    bound = float(price @ joint.capacity + members.sum() + advantage[taken].sum())
    return Dual(bound=bound, advantage=advantage), joint.capacity - joint.total_consumption(choice)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One granularity of a situation: bundles in a draft, and which of them guards let come to each tier."""

    draft: PlanDraft
    open_to: Sequence[Bools]


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The groups of a situation, and which of them have a choice."""

    situation: Situation  # with every unit in its own bundle
    of_row: I64  # (n,) group of each row of the unit table, ALONE for none
    open: Bools  # (g,) either granularity is possible
    whole: Bools  # (g,) move as a whole: of one bundle, or with a pinned unit that has no separate route
    stuck: Bools  # (g,) may move as a whole, and hold a bundle without a separate route

    def of(self, whole: Bools) -> Situation:
        """The situation with those groups as a whole, next to the ones that have no choice."""
        return _as_whole(self.situation, self.of_row, whole | self.whole)


def groups_of(situation: Situation) -> Groups | None:
    """The groups of a situation, None if nothing can move as a whole."""
    units = situation.units
    if units.wide is None or not len(units.wide_names) or not len(units):
        return None
    count = len(units.wide_names)
    of_row = _sound(units, count)
    usable = np.bincount(of_row + 1, minlength=count + 1)[1:] > 0
    usable &= np.array([name not in situation.no_wide for name in units.wide_names], dtype=np.bool_)
    blocked = _is_blocked(situation)
    pinned = np.isin(situation.pin, (Pin.MUST, Pin.NEVER))
    whole = usable & (_holding(of_row, pinned & blocked, count) | (_bundles_in(units, of_row, count) == 1))
    return Groups(
        situation=situation,
        of_row=of_row,
        open=usable & ~whole & ~_holding(of_row, pinned, count),
        whole=whole,
        stuck=usable & _holding(of_row, blocked, count),
    )


def single_where_possible(situation: Situation) -> Situation:
    """The situation for modes that move single units: groups move as a whole only if a unit has no separate route."""
    groups = groups_of(situation)
    return situation if groups is None else groups.of(groups.stuck)


def whole_where_possible(situation: Situation) -> Situation:
    """The situation for emptying a space: all groups without a pinned unit move as a whole."""
    groups = groups_of(situation)
    return situation if groups is None else groups.of(groups.open)


def _sound(units: UnitTable, count: int) -> I64:
    """Group of each row; ALONE for groups spread over several spaces or sharing a bundle with another group."""
    assert units.wide is not None, "called only if there are groups"
    group = units.wide.astype(np.int64)
    # Sorted by bundle and group, a bundle torn between two groups shows as unequal neighbours; comparing every pair
    # would be quadratic in units.
    order = np.lexsort((group, units.bundle))
    bundle, sorted_ = units.bundle[order], group[order]
    torn = (bundle[1:] == bundle[:-1]) & (sorted_[1:] != sorted_[:-1])
    broken = np.zeros(count + 1, dtype=np.bool_)  # ALONE is the last
    broken[sorted_[1:][torn]] = broken[sorted_[:-1][torn]] = True
    home = np.zeros(count + 1, dtype=np.int64)
    home[group] = units.space
    broken[group[units.space != home[group]]] = True
    return np.where(broken[group], ALONE, group).astype(np.int64)


def _bundles_in(units: UnitTable, group: I64, count: int) -> I64:
    """Number of bundles in each group, shape ``(count,)``."""
    inside = group != ALONE
    pairs = np.unique(np.stack((group[inside], units.bundle[inside])), axis=1)
    return np.bincount(pairs[0], minlength=count).astype(np.int64)


def _is_blocked(situation: Situation) -> Bools:
    """Units in a bundle without a separate route, shape ``(n,)``."""
    units = situation.units
    named = [row for row, key in enumerate(units.key) if key in situation.no_route] if situation.no_route else []
    # By bundle: one unit without a route keeps all that move with it.
    return np.isin(units.bundle, units.bundle[named])


def _holding(group: I64, which: Bools, count: int) -> Bools:
    """Groups that hold such a unit, shape ``(count,)``."""
    return np.bincount(group[which] + 1, minlength=count + 1)[1:] > 0


def _as_whole(situation: Situation, group: I64, whole: Bools) -> Situation:
    """The situation with each of these groups as one bundle."""
    if not whole.any():
        return situation
    units = situation.units
    _, own = np.unique(units.bundle, return_inverse=True)
    taken = np.append(whole, False)[group]
    problem = situation.no_route or situation.route_costs
    keys = {units.key[int(row)] for row in np.flatnonzero(taken)} if problem else set()
    mixed = _holding(group, situation.pin != Pin.PREFER, len(whole))  # there who is preferred speaks for itself only
    neighbour = taken & np.append(mixed, False)[group] & (situation.pin == Pin.PREFER)
    return replace(
        situation,
        units=replace(units, bundle=np.where(taken, int(own.max()) + 1 + group, own).astype(np.int64)),
        pin=np.where(neighbour, np.int8(Pin.NONE), situation.pin),
        no_route={key: why for key, why in situation.no_route.items() if key not in keys},
        route_costs={key: cost for key, cost in situation.route_costs.items() if key not in keys},
        whole=np.where(taken, group, NO_WIDE).astype(np.int32),
    )


def align_draft(single: PlanDraft, whole: PlanDraft) -> PlanDraft:
    """The draft of whole groups, brought to the state of the draft of single units.

    Args:
        single: with pins carried out.
        whole: fresh; changed and returned.
    """
    whole.state.room[:] = single.state.room
    whole.state.home[:] = single.state.home[single.bundles.of_row[whole.bundles.lead]]
    for load, same in zip(whole.state.loads, single.state.loads, strict=True):
        load.room = same.room
    np.logical_or.at(whole.moved, whole.bundles.of_row, single.moved[single.bundles.of_row])
    whole.left, whole.left_bytes, whole.demote = single.left, single.left_bytes, single.demote
    whole.left_copying = single.left_copying
    return whole


def granularity_problems(
    groups: Groups, single: Side, whole: Side
) -> tuple[GranularityProblem, GranularityProblem, I64]:
    """The choice of granularity, the same valued by waits and costs alone, and the group of each item that is whole."""
    narrow, wide = (build_problem(side.draft, side.open_to, all_rows=True) for side in (single, whole))
    group = groups.of_row[whole.draft.bundles.lead[wide.bundle]]
    chosen = np.flatnonzero(np.append(groups.open, False)[group])
    item = np.full(len(groups.open) + 1, ALONE, dtype=np.int64)
    item[group[chosen]] = np.arange(len(chosen))
    room = np.maximum(narrow.offers.capacity, wide.offers.capacity)  # the same but for rounding
    decided = GranularityProblem(
        single=replace(narrow.offers, capacity=room),
        grouped=replace(wide.offers.only(chosen), capacity=room),
        group=item[groups.of_row[single.draft.bundles.lead[narrow.bundle]]],
    )
    plain = replace(
        decided,
        single=replace(decided.single, gain=narrow.plain),
        grouped=replace(decided.grouped, gain=wide.plain[:, chosen]),
    )
    return decided, plain, group[chosen]


WIDE_GAP = 0.001  # relative
_LEAST = 0.5  # microseconds per hour: waits are whole ones, so a smaller bound is rounding
_FEW_ITEMS = 3000  # up to which a wide gap is worth a search for a tighter bound ...
_SEARCHED_ITEMS = 15_000  # ... and up to which a short one; of more, searches see a core only


def value_bound(problem: PlacementProblem) -> Bound:
    """Upper bound on the wait that any placement saves from the present state, and which resources limit it.

    Guards, pins and limits are respected; resident bonus, preference and uncertainty are left out.
    """
    return bound(replace(problem.offers, gain=problem.plain))


def closer_bound(problem: PlacementProblem, gain: float, saved: float) -> float:
    """That bound, tightened while it leaves a wide gap above what a plan saves.

    With capacities rounded to whole items; by a short search for more than the plan saves; and of few items by an
    unhurried one. Of some dozen items the last is what the best placement saves.
    """
    offers = replace(problem.offers, gain=problem.plain)
    searches = (len(offers) <= _SEARCHED_ITEMS) + (len(offers) <= _FEW_ITEMS)
    closer = [lambda: rounded_bound(offers), lambda: place(offers, saved).bound, lambda: place(offers).bound]
    return _tighten(gain, saved, closer[: 1 + searches])


def granularity_bound(problem: GranularityProblem, saved: float) -> float:
    """The same over plans of all granularities: that of one would call it optimal although another may save more."""
    searched = [lambda: choose_granularity(problem).placement.bound] if len(problem) <= _FEW_ITEMS else []
    return _tighten(solve_dual(problem).bound, saved, searched)


def _tighten(gain: float, saved: float, closer: Sequence[Callable[[], float]]) -> float:
    if gain < _LEAST:
        return 0.0
    for each in closer:
        if gain - saved <= WIDE_GAP * gain:
            break
        gain = min(gain, max(saved, each()))
    return gain
