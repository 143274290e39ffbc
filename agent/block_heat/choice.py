"""Which units are worth looks: large and hot ones that are not on the fastest tier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policies.model.plan import Plan, Situation
from policies.storage.capacity import capacity_bytes

MOST_UNITS = 8
_LARGE = 0.05  # of the fastest tier's capacity: what is smaller moves as a whole
_HOT = 0.02  # of all foreground wait


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """A unit to look into."""

    key: str
    physical_id: int


def units_worth_looks(situation: Situation, plan: Plan) -> tuple[LookedAt, ...]:
    """The units whose parts may be worth more than the whole, those that would save most wait first.

    A fastest tier whose capacity is not known counts as unlimited: everything fits.
    """
    fastest = np.flatnonzero(situation.tier_of_space == 0).tolist()
    capacity = sum(capacity_bytes(situation.spaces[row]) for row in fastest)
    if plan.wait_per_hour <= 0:
        return ()
    units, benefit = situation.units, plan.benefit_per_hour
    moving = {row for move in plan.moves for row in move.rows}
    worth = (
        (units.size_bytes >= _LARGE * capacity)
        & (benefit >= _HOT * plan.wait_per_hour)
        & (situation.tier_of_space[units.space] > 0)
    )
    worth[sorted(moving)] = False  # it goes to the fastest tier as a whole, or gives way to what does
    rows = np.flatnonzero(worth)
    rows = rows[np.argsort(-benefit[rows], kind="stable")][:MOST_UNITS]
    return tuple(LookedAt(key=units.key[row], physical_id=int(units.physical_id[row])) for row in rows.tolist())
