"""Bytes, fill and read load of each space, before and after the moves of a plan.

Fill is the share that mode ``capacity`` evens out, read time the load that mode ``usage`` evens out. Bytes and reads
only change their place; read time changes in sum where a unit changes tier. It is counted at each tier's present speed:
that queues grow or shrink with the load is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from connectors.model import F64, I64, Signal
from policies.model.plan import Plan, Situation
from policies.modes.level import capacity_and_used, read_seconds

_READS = [Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.DIRECT_READ]  # those that reach storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """Load of each space, one row per space."""

    used_bytes: I64
    fill_ratio: F64  # used share of the capacity, NaN: not known
    reads_per_second: F64  # synchronous, prefetched and direct ones
    read_seconds_per_second: F64  # time that these take at the speed of the space's tier


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacesAfter:
    """Every managed space, those of the fastest tier first, by name within a tier."""

    space: tuple[str, ...]
    tier: tuple[str, ...]
    before: Carried
    after: Carried

    def __len__(self) -> int:
        return len(self.space)


def spaces_after(situation: Situation, plan: Plan) -> SpacesAfter:
    """Each managed space before the plan and once all its moves are done.

    Args:
        situation: what the plan was made from.
        plan: of that situation.
    """
    tier, names = situation.tier_of_space, [space.name for space in situation.spaces]
    rows = np.array(
        sorted(np.flatnonzero(tier >= 0).tolist(), key=lambda row: (int(tier[row]), names[row])), dtype=np.int64
    )
    home = _home(situation)
    return SpacesAfter(
        space=tuple(names[row] for row in rows),
        tier=tuple(situation.tiers[at].name for at in tier[rows]),
        before=_carry(situation, rows, home),
        after=_carry(situation, rows, _home_after(home, plan, names)),
    )


def _home(situation: Situation) -> I64:
    """Row of each unit's space."""
    return situation.units.space.astype(np.int64)


def _home_after(home: I64, plan: Plan, names: list[str]) -> I64:
    """Row of each unit's space once the plan has run."""
    row_of = {name: row for row, name in enumerate(names)}
    home = home.copy()
    for move in plan.moves:
        home[list(move.rows)] = row_of[move.to_space]
    return home


def _carry(situation: Situation, rows: I64, home: I64) -> Carried:
    """Load of the given spaces with every unit at the given home."""
    spaces, rates = [situation.spaces[row] for row in rows], situation.heat.rates
    size, count = situation.units.size_bytes.astype(np.float64), len(situation.spaces)
    # As a change of what the engine counts as used: the sum of a space's units lacks what in it is no unit.
    come = (_sum_by_space(size, home, count) - _sum_by_space(size, _home(situation), count))[rows]
    capacity, used = np.array([capacity_and_used(space) for space in spaces], dtype=np.float64).reshape(-1, 2).T
    known = np.isfinite(capacity) & (capacity > 0)
    read_time = np.zeros(count)
    for row, tier in enumerate(situation.tiers):
        here = situation.tier_of_space == row
        read_time[here] = _sum_by_space(read_seconds(rates, tier.speed), home, count)[here]
    return Carried(
        used_bytes=np.array([space.used_bytes for space in spaces], dtype=np.int64) + come.astype(np.int64),
        fill_ratio=np.divide(used + come, capacity, out=np.full(len(rows), np.nan), where=known),
        reads_per_second=_sum_by_space(rates[_READS].sum(axis=0), home, count)[rows],
        read_seconds_per_second=read_time[rows],
    )


def _sum_by_space(of_unit: F64, home: I64, spaces: int) -> F64:
    """A column of units by space; whole bytes stay exact. Shape ``(spaces,)``."""
    return np.asarray(np.bincount(home, weights=of_unit, minlength=spaces), dtype=np.float64)
