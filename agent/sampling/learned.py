"""What samples of a database have taught, and how one more interval or catalog changes it. No I/O and no clock.

``learn`` takes an interval of demand; the functions over slots take a catalog. Both use up the state that they are
given: heat and seasons change in place, because a second copy of them would be the peak of a sample. The caller keeps
the returned state only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta, tzinfo

import numpy as np

from connectors.model.observation import I32, I64, DatabaseDemand, Demand, Space, UnitTable
from policies.evidence import capacity, device, heat, horizons, seasons
from policies.evidence.capacity import Growth, GrowthState, room_bytes
from policies.evidence.device import DeviceState, interval_pace
from policies.evidence.heat import HeatState, KnownUnits, index_of
from policies.evidence.horizons import HorizonState, Site
from policies.evidence.prices import copy_seconds, move_cost_seconds
from policies.evidence.seasons import SeasonState
from policies.evidence.workload import RecentWork, WorkInterval
from policies.model.settings import PolicySettings, TierSpeed


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """Everything that samples and catalogs of one database have taught.

    Per-unit state is in columns by slot, so that it survives rebuilds and failovers, which change physical ids.
    """

    heat: HeatState = field(default_factory=heat.empty_heat)
    seasons: SeasonState = field(default_factory=seasons.empty_seasons)
    horizons: HorizonState = field(default_factory=HorizonState)
    devices: DeviceState = field(default_factory=lambda: device.empty_devices(0))
    work: RecentWork = field(default_factory=RecentWork)
    units: KnownUnits | None = None  # of the last catalog; None: no catalog was read yet
    growth: GrowthState = field(default_factory=capacity.empty_growth)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedDemand:
    """The demand of an interval, each of its columns with the unit that it belongs to."""

    demand: Demand
    row: I64  # (columns,) in the unit table of the catalog, -1: the catalog has no such unit
    slot: I64  # (columns,) of the unit, -1 likewise


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The units and the storage of the last catalog, against which an interval is read."""

    units: UnitTable
    slots: I64  # (units,) slot of each unit
    spaces: tuple[Space, ...]
    tier_of_space: I32  # (spaces,) row in ``speeds``, -1: not managed
    speeds: tuple[TierSpeed, ...]  # as configured, fastest tier first

    def locate(self, demand: Demand) -> LocatedDemand:
        """Find the unit of each column of the demand."""
        row = self.units.rows_of(demand.physical_id)
        # A login may see counters of tables and not one definition: then there is no unit to look up.
        slot = np.where(row >= 0, self.slots[row], -1) if len(self.units) else row
        return LocatedDemand(demand=demand, row=row, slot=slot)


def learn(
    learned: Learned,
    located: LocatedDemand,
    inventory: Inventory,
    settings: PolicySettings,
    *,
    zone: tzinfo,
    measured: bool = True,
) -> Learned:
    """Let one interval pass.

    Args:
        learned: before it; used up.
        located: demand of the interval.
        inventory: the catalog of that time.
        settings: half-lives and wait shares.
        zone: whose wall clock seasons follow.
        measured: whether the interval lies in the hours whose demand counts. If not, heat, seasons and horizons stay as
            they are; the work of the database and the speed of the tiers are learned at any hour.
    """
    demand = located.demand
    if measured:
        pace = interval_pace(demand.database, demand.rates, _with_servers(learned.devices, inventory.speeds), settings)
        learned = _learn_demand(learned, located, inventory, settings, zone, pace)
        reads = float(demand.rates[list(device.READS)].sum())
        learned = replace(learned, work=learned.work.at_pace(reads, pace, demand.seconds, settings.half_life_seconds))
    work = WorkInterval(seconds=demand.seconds, demand=demand.database, roles=demand.roles)
    horizons = settings.half_life_seconds, settings.long_half_life_seconds
    return replace(
        learned,
        work=learned.work.then(work, *horizons, counts=measured),
        devices=_learn_speeds(learned.devices, located, inventory, settings),
    )


def _with_servers(devices: DeviceState, speeds: Sequence[TierSpeed]) -> Sequence[TierSpeed]:
    """The configured speeds, of the slowest tier with the servers that are known of it."""
    return [*speeds[:-1], device.with_servers(speeds[-1], devices.points[-1])] if speeds else speeds


def _learn_demand(
    learned: Learned, located: LocatedDemand, inventory: Inventory, settings: PolicySettings, zone: tzinfo, pace: float
) -> Learned:
    """Heat of all units; of those that matter also when they are busy, and which memory would have placed them best.

    Args:
        learned: before the interval.
        located: demand of the interval.
        inventory: all units that exist now, and the room of the fastest tier.
        settings: half-lives, and what copies take.
        zone: whose wall clock seasons follow.
        pace: by which the interval's rates come to those of the slowest tier.
    """
    demand, slots, known = located.demand, located.slot, inventory.slots
    warmed = heat.update(learned.heat, demand, slots, known, settings, pace)
    # Added up by slot: a unit rebuilt within the interval has two columns, and each slot may come only once below.
    used, first = np.unique(np.where(demand.observed, slots, -1), return_inverse=True)
    index = np.bincount(first, weights=index_of(demand.rates) * pace, minlength=len(used)).astype(np.float64)
    seen = np.zeros(len(warmed), dtype=np.bool_)
    seen[known] = True
    seen[slots[(slots >= 0) & ~demand.observed]] = False
    # Its middle, because an interval that ends at 9:00:01 belongs to the hour before.
    middle = (demand.ended_at - timedelta(seconds=demand.seconds / 2)).astimezone(zone)
    seasonal = seasons.learnt(learned.seasons, middle, demand.seconds, used, index, seen)
    watched = horizons.watch_interval(learned.horizons, seasonal, middle, demand.seconds, used, index, seen)
    # Only where it is used: costs of a million copies are worked out for it, and judgements come every half hour.
    site = site_of(inventory, learned.work.mean(), settings) if watched.due else None
    if site is not None:
        watched = horizons.judge_forecasts(watched, seasonal, demand.ended_at.astimezone(zone), site)
    return replace(learned, heat=warmed, seasons=seasonal, horizons=watched)


def site_of(inventory: Inventory, work: DatabaseDemand, settings: PolicySettings) -> Site | None:
    """What a placement is limited by; None where the room of the fastest tier is not known."""
    units = inventory.units
    fastest = [space for space, tier in zip(inventory.spaces, inventory.tier_of_space, strict=True) if tier == 0]
    rooms = [room_bytes(space, settings.head_room_ratio) for space in fastest]
    known = [room for room in rooms if room is not None]
    if not known:
        return None
    fast = inventory.tier_of_space[units.space] == 0
    return Site(
        slot=inventory.slots,
        size=units.size_bytes,
        cost=move_cost_seconds(copy_seconds(units.size_bytes, settings), work, settings),
        room=float(sum(known) + int(units.size_bytes[fast].sum())),
        fast=fast,
    )


def _learn_speeds(
    devices: DeviceState, located: LocatedDemand, inventory: Inventory, settings: PolicySettings
) -> DeviceState:
    """Evidence about the speed of each tier, from the read times of each space or else of the whole database."""
    demand = located.demand
    if demand.spaces is not None:
        managed = zip(inventory.spaces, inventory.tier_of_space.tolist(), strict=True)
        tier_of = {space.name: tier for space, tier in managed if tier >= 0}
        return device.observe_spaces(devices, inventory.speeds, demand, tier_of, settings)
    if not len(inventory.units):
        return devices
    space = inventory.units.space[located.row]
    tier = np.where(located.row >= 0, inventory.tier_of_space[space], -1).astype(np.int64)
    return device.observe(devices, inventory.speeds, demand, tier, settings)


# A catalog is learned in steps of its own, so that the caller can release the heat before each: every step may copy it.


def with_slots(learned: Learned, slots: I64) -> Learned:
    """The same with room for the heat of those slots."""
    return replace(learned, heat=heat.with_slots(learned.heat, int(slots.max(initial=-1)) + 1))


def with_renamed_units(learned: Learned, units: UnitTable, slots: I64) -> Learned:
    """Give the heat of renamed units to their new names.

    Args:
        learned: with the units of the catalog before.
        units: of the catalog now.
        slots: of those.
    """
    if learned.units is None:
        return learned
    # Only units without any history of their own inherit: a name that was used before keeps what is known of it.
    blank = learned.heat.observed_seconds[slots] == 0
    renames = heat.find_renames(learned.units, units, slots, blank)
    return replace(
        learned,
        heat=heat.handed_on(learned.heat, *renames),
        growth=capacity.with_renamed(learned.growth, *renames),
        seasons=seasons.with_renamed(learned.seasons, *renames),
        horizons=horizons.with_renamed(learned.horizons, *renames),
    )


def with_new_partitions(learned: Learned, units: UnitTable, slots: I64) -> Learned:
    """Give new partitions a part of what is known of the partition before them, its size to grow to, and its place.

    All others of their series are one place older from now on.
    """
    blank = learned.heat.observed_seconds[slots] == 0
    donors, heirs = heat.successors(units, slots, blank)
    if not len(heirs):
        return learned
    warmed = heat.handed_on(learned.heat, donors, heirs, share=heat.LENT)
    expected = index_of(heat.view(warmed, heirs).rates)
    seasonal = seasons.with_new_units(learned.seasons, heirs, expected)
    born = [(slots[rows], int(blank[rows][::-1].cumprod().sum())) for rows in heat.series_of(units)]
    return replace(
        learned,
        heat=warmed,
        growth=capacity.with_partitions_before(learned.growth, donors, heirs),
        seasons=seasonal,
        horizons=horizons.with_births(
            learned.horizons, seasonal, [(line, count) for line, count in born if 0 < count < len(line)]
        ),
    )


def with_catalog(learned: Learned, units: UnitTable, slots: I64, at: float) -> Learned:
    """Remember the units of a catalog, to recognize renamed and growing ones in the next.

    Args:
        learned: before.
        units: of the catalog.
        slots: of those.
        at: when it was read, in seconds of the monotonic clock.
    """
    sizes = capacity.learn_sizes(learned.growth, units, slots, at)
    return replace(learned, units=heat.known_units(units, slots), growth=sizes)


def growth_of(learned: Learned, slots: I64) -> Growth:
    """How much each unit of the last catalog is expected to grow."""
    return capacity.growth_of(learned.growth, slots)
