"""The granularity of moves: each unit separately, or all units of a space as a whole.

A **group** is what can be moved as a whole, such as a table space. Once the granularity of every group is fixed, its
units form either one bundle or their own ones, and the rest of the planner does not know the difference. So no rule has
to prevent a unit from moving both ways: no plan has the unit in two bundles.

Pins decide first: a group that holds a pinned unit is not moved as a whole if that unit can move separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from connectors.model import I64, NO_WIDE, Bools, UnitTable
from policies.model.plan import Pin, Situation
from policies.placement.granularity_choice import ALONE, GranularityProblem
from policies.placement.placement_problem import build_problem
from policies.placement.plan_draft import PlanDraft


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
