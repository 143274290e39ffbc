"""Which units go by themselves and which with all that shares their space: the situation as either way sees it.

A **group** is what can move as a whole, such as a table space. Once it is said for each which way it goes, its units
make up one bundle or those that they are by themselves, and everything else - guards, pins, the board, the order -
is as ever. So never both is not a rule that somebody has to keep: there is no plan in which a unit is in two bundles.

Pins decide first: a group that holds a pinned unit does not go as a whole where that unit can go by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from connectors.model import I64, NO_WIDE, Bools, UnitTable
from policies.model.plan import Pin, Situation, Tier
from policies.placement.granularity_choice import ALONE, Ways, decide
from policies.placement.placement_problem import PlacementProblem, question
from policies.placement.plan_draft import PlanDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One way of looking at a situation: bundles in a draft, and which of them guards let come to each tier."""

    draft: PlanDraft
    open_to: Sequence[Bools]


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The groups of a situation, and which of them have a choice."""

    situation: Situation  # with every unit in its own bundle
    of_row: I64  # (n,) group of each row of the unit table, ALONE for none
    open: Bools  # (g,) may go either way
    whole: Bools  # (g,) go as a whole: of one bundle, or a pin wants a unit moved that has no way by itself
    stuck: Bools  # (g,) may go as a whole, and hold a bundle that has no way by itself

    def of(self, whole: Bools) -> Situation:
        """The situation with those groups as a whole, besides the ones that have no choice."""
        return _as_whole(self.situation, self.of_row, whole | self.whole)


def groups_of(situation: Situation) -> Groups | None:
    """The groups of a situation; None where nothing can move as a whole."""
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
    """The situation for modes that do not weigh both ways: as a whole goes only what holds units without a way."""
    groups = groups_of(situation)
    return situation if groups is None else groups.of(groups.stuck)


def whole_where_possible(situation: Situation) -> Situation:
    """The situation for emptying a space: as a whole goes what has no pinned unit."""
    groups = groups_of(situation)
    return situation if groups is None else groups.of(groups.open)


def _sound(units: UnitTable, count: int) -> I64:
    """Group of each row; ALONE for those of a group that is spread over spaces, or shares a bundle with another."""
    assert units.wide is not None, "asked only where there are groups"
    group = units.wide.astype(np.int64)
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
    """How many bundles each group holds, shape ``(count,)``."""
    inside = group != ALONE
    pairs = np.unique(np.stack((group[inside], units.bundle[inside])), axis=1)
    return np.bincount(pairs[0], minlength=count).astype(np.int64)


def _is_blocked(situation: Situation) -> Bools:
    """Units in a bundle that has no way by itself, shape ``(n,)``."""
    units = situation.units
    named = [row for row, key in enumerate(units.key) if key in situation.no_route] if situation.no_route else []
    return np.isin(units.bundle, units.bundle[named])


def _holding(group: I64, which: Bools, count: int) -> Bools:
    """Groups with such a unit, shape ``(count,)``."""
    return np.bincount(group[which] + 1, minlength=count + 1)[1:] > 0


def _as_whole(situation: Situation, group: I64, whole: Bools) -> Situation:
    """The situation with each of these groups as one bundle."""
    if not whole.any():
        return situation
    units = situation.units
    _, own = np.unique(units.bundle, return_inverse=True)
    taken = np.append(whole, False)[group]
    asked = situation.no_route or situation.route_costs
    keys = {units.key[int(row)] for row in np.flatnonzero(taken)} if asked else set()
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
    """The draft of the groups with everything where it is on the board of the single units.

    Args:
        single: with pins carried out.
        whole: fresh; changed and given back.
    """
    whole.board.room[:] = single.board.room
    whole.board.home[:] = single.board.home[single.bundles.of_row[whole.bundles.lead]]
    for strain, same in zip(whole.board.strains, single.board.strains, strict=True):
        strain.room = same.room
    np.logical_or.at(whole.moved, whole.bundles.of_row, single.moved[single.bundles.of_row])
    whole.left, whole.left_bytes, whole.demote = single.left, single.left_bytes, single.demote
    whole.left_copying = single.left_copying
    return whole


def choose_whole(groups: Groups, single: Side, whole: Side, tiers: Sequence[Tier]) -> Bools:
    """Which of the open groups go as a whole. Shape ``(g,)``."""
    ways, group = _both(groups, single, whole, tiers, plain=False)
    taken = np.zeros(len(groups.open), dtype=np.bool_)
    taken[group[decide(ways).whole]] = True
    return taken


def both_ways(groups: Groups, single: Side, whole: Side, tiers: Sequence[Tier]) -> Ways:
    """What placements of either kind save in waits alone; see ``hsm.value_bound``."""
    return _both(groups, single, whole, tiers, plain=True)[0]


def _build_question(side: Side, tiers: Sequence[Tier], *, plain: bool) -> PlacementProblem:
    asked = question(side.draft, tiers, side.open_to, all_rows=True)
    return replace(asked, offers=replace(asked.offers, gain=asked.plain)) if plain else asked


def _both(groups: Groups, single: Side, whole: Side, tiers: Sequence[Tier], *, plain: bool) -> tuple[Ways, I64]:
    """The question of both ways, and which group each item as a whole is."""
    narrow, wide = (_build_question(side, tiers, plain=plain) for side in (single, whole))
    group = groups.of_row[whole.draft.bundles.lead[wide.bundle]]
    chosen = np.flatnonzero(np.append(groups.open, False)[group])
    item = np.full(len(groups.open) + 1, ALONE, dtype=np.int64)
    item[group[chosen]] = np.arange(len(chosen))
    room = np.maximum(narrow.offers.room, wide.offers.room)  # the same but for rounding
    ways = Ways(
        narrow=replace(narrow.offers, room=room),
        wide=replace(wide.offers.only(chosen), room=room),
        group=item[groups.of_row[single.draft.bundles.lead[narrow.bundle]]],
    )
    return ways, group[chosen]
