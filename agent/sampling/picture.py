"""What is known of a database at one moment: the input of planning and reports. No I/O and no clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from math import inf

import numpy as np

from agent.config.tiers import Storage
from agent.sampling.learned import Learned
from connectors.model.observation import F64, I64, Bools, Catalog, DatabaseDemand, RoleFigures
from policies.evidence import device, heat, horizons, seasons
from policies.evidence.capacity import Growth
from policies.model.plan import HeatView

VIEWED_AT_ONCE = 2048  # units, a hundred figures of work for each


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Everything that is known of a database now; what planning and reports start from."""

    catalog: Catalog
    storage: Storage  # tiers carry calibrated speeds
    heat: HeatView  # that decisions are made on
    work: DatabaseDemand  # averaged over the half-life
    sampled_at: datetime
    roles: tuple[RoleFigures, ...] = ()  # logs, temporary and undo spaces, averaged likewise
    sessions: float = float("nan")  # at work on average over the long half-life; NaN: not known
    growth: Growth | None = None  # of each unit; None: not known
    earned: F64 | None = None  # (n,) seconds of wait since each came where it is (``horizons``); None: not known
    in_series: Bools | None = None  # (n,) partitions that are planned by their place (``horizons``); None: not known
    between_births: float = inf  # seconds from one birth of partitions to the next; inf: not known
    dearest: float = 1.0  # times its present price that a copy may cost in the hours to come (``horizons``)
    lasting_demand: F64 | None = None  # (n,) wait index of each on its quiet days (``seasons``); None: not known
    lasting_seconds: float = inf  # over which a move is to pay, by the horizons that place best


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitHomes:
    """Where units are now, and how long sessions wait for one read on each tier."""

    slots: I64  # (units,)
    physical_id: I64  # (units,)
    table: I64  # (units,) physical id of the whole table that each is part of
    tier: I64  # (units,) row in ``tiers``, -1: not managed
    tiers: tuple[str, ...]  # names, fastest first; at least one
    read_seconds: F64  # (tiers, 2) waited for one random read and for one that is read ahead

    def parts_of(self, physical_id: int) -> I64:
        """Slots of all that belongs to the same whole table as a unit, itself included; of none where it is gone."""
        own = np.isin(self.table, self.table[self.physical_id == physical_id])
        return np.asarray(self.slots[own], dtype=np.int64)

    def tier_named(self, name: str) -> int:
        """Row of that tier; -1 where there is none."""
        return self.tiers.index(name) if name in self.tiers else -1


def calibrated(storage: Storage, learned: Learned) -> Storage:
    """The storage with the configured speeds corrected by measured read times."""
    speeds = device.calibrate([tier.speed for tier in storage.tiers], learned.devices)
    tiers = tuple(replace(tier, speed=speed) for tier, speed in zip(storage.tiers, speeds, strict=True))
    return replace(storage, tiers=tiers)


def view_heat(learned: Learned, slots: I64, resident: Bools, now: datetime, hours: float) -> HeatView:
    """The heat of each unit that decisions are made on, with the demand that seasons predict.

    Computed for some thousand units at a time: both horizons of all units at once would be the peak of a plan.

    Args:
        learned: heat, seasons and horizons.
        slots: of the units.
        resident: units on the fastest tier.
        now: in the zone whose wall clock seasons follow.
        hours: ahead, in which a move is to pay.
    """
    ahead, pace = seasons.promised_demand(learned.seasons, slots, now, hours), learned.work.pace()
    expected = horizons.expected_demand(learned.horizons, learned.seasons, now)

    def view_part(first: int) -> HeatView:
        some = slice(first, first + VIEWED_AT_ONCE)
        both = horizons.with_expected_demand(heat.view(learned.heat, slots[some]), slots[some], *expected)
        promised = replace(both, expected=None if ahead is None else ahead[some])
        return heat.decision_heat(heat.at_pace(promised, pace), resident[some])

    count = len(slots)
    return heat.join_views(map(view_part, range(0, max(count, 1), VIEWED_AT_ONCE)), count)
