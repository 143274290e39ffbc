"""An independent referee: carries a plan out move by move, and tries every placement of a small situation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, inf

import numpy as np

from connectors.model.observation import NO_WIDE
from policies.evidence.prices import wait_per_hour
from policies.model.plan import Plan, PlanMove, Situation
from policies.model.settings import PolicySettings


def limits(situation: Situation, settings: PolicySettings) -> dict[str, float]:
    """Bytes each space may hold, head-room kept; what is over that already may stay but not grow."""
    bounds = {}
    for row, space in enumerate(situation.spaces):
        held = float(situation.units.size_bytes[situation.units.space == row].sum())
        if space.capacity_bytes is None:
            bounds[space.name] = held
        else:
            bounds[space.name] = max(held, space.capacity_bytes - ceil(space.capacity_bytes * settings.head_room_ratio))
    return bounds


def carried_out(situation: Situation, plan: Plan, settings: PolicySettings) -> Iterator[tuple[PlanMove, float]]:
    """Every move with the wait per hour after it. Checks, at each, that it starts where the bundle is and fits.

    The source stays occupied until the copy is done, so the check is made with the bundle in both places.
    """
    names = [space.name for space in situation.spaces]
    home = [names[at] for at in situation.units.space]
    bounds = limits(situation, settings)
    moved: set[int] = set()
    for move in plan.moves:
        assert not moved & set(move.rows), f"{move.key} moves twice"
        moved |= set(move.rows)
        assert {home[row] for row in move.rows} == {move.from_space}
        sizes = situation.units.size_bytes
        held = sum(int(sizes[row]) for row, at in enumerate(home) if at == move.to_space)
        assert held + move.size_bytes <= bounds[move.to_space], f"{move.to_space} is over its room at {move.key}"
        for row in move.rows:
            home[row] = move.to_space
        yield move, wait_of(situation, home, settings)


def wait_of(situation: Situation, home: list[str], settings: PolicySettings) -> float:
    """Foreground wait per hour of managed units with every unit in the given space."""
    names = [space.name for space in situation.spaces]
    tiers = [int(situation.tier_of_space[names.index(space)]) for space in home]
    wait = wait_per_hour(situation.heat.rates, [tier.speed for tier in situation.tiers], settings)
    return float(sum(wait[tier, row] for row, tier in enumerate(tiers) if tier >= 0))


def present(situation: Situation) -> list[str]:
    """The space of every unit."""
    return [situation.spaces[at].name for at in situation.units.space]


def after(situation: Situation, plan: Plan) -> list[str]:
    """The space of every unit once the plan has run."""
    home = present(situation)
    for move in plan.moves:
        for row in move.rows:
            home[row] = move.to_space
    return home


def best_wait(situation: Situation, settings: PolicySettings) -> float:
    """The least wait of all placements within the limits. One unit per bundle; for a dozen units at most."""
    names = [space.name for space in situation.spaces]
    bounds = limits(situation, settings)
    size = situation.units.size_bytes.astype(np.float64)
    tier = situation.tier_of_space.astype(np.int64)
    wait = wait_per_hour(situation.heat.rates, [tier.speed for tier in situation.tiers], settings)
    places = np.array(list(product(range(len(names)), repeat=len(size))), dtype=np.int64)
    possible = np.ones(len(places), dtype=np.bool_)
    for row, name in enumerate(names):
        possible &= ((places == row) * size).sum(axis=1) <= bounds[name]
    total = np.take_along_axis(wait[tier[places].T, np.arange(len(size))[:, None]].T, np.arange(len(size))[None, :], 1)
    return float(np.where(possible, total.sum(axis=1), inf).min())


def best_wait_on_the_way(situation: Situation, settings: PolicySettings) -> float:
    """The least wait of all placements that can be reached: one unit after the other, none twice, each into free room.

    The source counts as occupied until the copy is done. One unit per bundle; for half a dozen units.
    """
    bounds = limits(situation, settings)
    names = [space.name for space in situation.spaces]
    size = [int(each) for each in situation.units.size_bytes]
    start = tuple(int(each) for each in situation.units.space)
    seen, waiting = {start}, [start]
    while waiting:
        home = waiting.pop()
        held = [sum(size[row] for row, at in enumerate(home) if at == space) for space in range(len(names))]
        for row, at in enumerate(home):
            for space in range(len(names)) if at == start[row] else ():
                then = (*home[:row], space, *home[row + 1 :])
                if then not in seen and held[space] + size[row] <= bounds[names[space]]:
                    seen.add(then)
                    waiting.append(then)
    return min(wait_of(situation, [names[at] for at in home], settings) for home in seen)


def best_wait_either_way(situation: Situation, settings: PolicySettings) -> float:
    """The least wait of all placements, each unit moved alone if it has a route, or with all that it can move with.

    One unit per bundle, with room on the slowest tier for everything, so that each placement can be reached.
    """
    units, bounds = situation.units, limits(situation, settings)
    names = [space.name for space in situation.spaces]
    tier = situation.tier_of_space.astype(np.int64)
    wait = wait_per_hour(situation.heat.rates, [tier.speed for tier in situation.tiers], settings)
    of = np.full(len(units), NO_WIDE, dtype=np.int64) if units.wide is None else units.wide.astype(np.int64)
    best = inf
    for whole in product((False, True), repeat=len(units.wide_names)):
        parts = [np.flatnonzero(of == at) for at, taken in enumerate(whole) if taken]
        alone = [row for row in range(len(units)) if of[row] == NO_WIDE or not whole[of[row]]]
        parts += [np.array([row]) for row in alone if units.key[row] not in situation.no_route]
        for spaces in product(range(len(names)), repeat=len(parts)):
            home = units.space.astype(np.int64)
            for part, space in zip(parts, spaces, strict=True):
                home[part] = space
            held = np.bincount(home, weights=units.size_bytes, minlength=len(names))
            if all(held[row] <= bounds[name] for row, name in enumerate(names)):
                best = min(best, float(wait[tier[home], np.arange(len(units))].sum()))
    return best
