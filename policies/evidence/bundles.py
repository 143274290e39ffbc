"""Bundles (units that move as one): the columns of a situation by bundle, in numbers that add up exactly.

Waits are whole microseconds per hour and sizes whole bytes, both exact in float64, so adding them up in any order
gives the same figure: the order in which an engine lists its units can change no decision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from connectors.model.observation import F32, F64, I64, NO_PARENT, NO_WIDE, Bools, UnitTable
from policies.evidence.prices import Prices, copy_seconds, move_cost_seconds
from policies.model.confidence import certain_share
from policies.model.moves import RouteCost
from policies.model.plan import Situation
from policies.model.settings import Pin, PolicySettings

_Column = TypeVar("_Column", I64, F64)

MICRO = 1e6  # microseconds in a second

# NEVER beats MUST beats PREFER: what is kept off scarce storage by mistake can be brought there later. The table of
# ranks is its own inverse.
_PIN_RANK = np.array([Pin.NONE, Pin.PREFER, Pin.MUST, Pin.NEVER], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundles:
    """One row per bundle. All rows of a bundle live in one space: the leading unit's counts."""

    rows: I64  # rows of the unit table, bundle by bundle, the leading unit first
    start: I64  # (m + 1,) where each bundle starts in ``rows``
    of_row: I64  # (n,) bundle of each row of the unit table
    size: I64  # bytes, with the growth expected until the next plan can act
    growth: I64  # bytes of that growth
    space: I64  # row of its space
    tier: I64  # row of its tier, -1: not managed
    pin: I64  # Pin, the strongest of its units
    cooling: F64  # seconds left, the longest of its units
    yields: Bools  # it may leave the fastest tier during that time, to make room for who pays for both copies
    observed: F64  # seconds of history, the shortest of its units
    routable: Bools  # False: the situation names a reason why it cannot move
    rates: F64  # (SIGNALS, m) per second
    wait: F64  # (tiers, m) microseconds per hour on each tier
    copying: F64  # whole microseconds that moving it takes
    cost: F64  # session microseconds that moving it costs
    prices: Prices
    unit_wait: F64  # (tiers, n) seconds per hour of each row of the unit table on each tier
    hotter: F64  # demand by the hotter horizon over that by ``rates``, 1 or more
    colder: F64  # the same by the colder one, 0 to 1
    error: F64  # standard error of the demand, as a share of it
    certain: F64  # (tiers, m) the sure share of what going from home to each tier saves, 1: all of it
    transient: I64  # bytes that its move takes in the target beyond ``size`` while it runs, as far as routes were asked
    freed: I64  # bytes of ``size`` that are free in its space once it has left: none where its original is kept

    def __len__(self) -> int:
        return len(self.size)

    @property
    def lead(self) -> I64:
        """Row of each bundle's leading unit."""
        return self.rows[self.start[:-1]]

    def short_horizon_ratio(self, bundle: int) -> float:
        """Demand by the short horizon over that by ``rates``: it is the hotter or the colder one, the other is 1."""
        return float(self.hotter[bundle] + self.colder[bundle]) - 1.0

    def some(self, which: slice) -> Bundles:
        """Some bundles with their own columns; those of units stay the ones of all."""
        columns: dict[str, Any] = {name: getattr(self, name)[..., which] for name in _BY_BUNDLE}
        return replace(self, **columns)

    def members(self, bundle: int) -> tuple[int, ...]:
        """Rows of one bundle, the leading unit first."""
        return tuple(self.rows[self.start[bundle] : self.start[bundle + 1]].tolist())

    def saving_on(self, target: int) -> F64:
        """Microseconds per hour that each bundle saves on that tier, 0 where it is not managed. Shape ``(m,)``."""
        home = np.where(self.tier >= 0, self.tier, target)
        here = np.take_along_axis(self.wait, home[np.newaxis, :], axis=0)[0]
        return np.asarray(here - self.wait[target], dtype=np.float64)

    def lower_bound_of_saving(self, saved: F64, target: int) -> F64:
        """The lower end of what is saved on that tier, by the colder horizon: what must be worth a move. ``(m,)``."""
        return np.asarray(np.rint(saved * self.certain[target] * self.colder), dtype=np.float64)


_BY_BUNDLE = (
    "size", "growth", "space", "tier", "pin", "cooling", "yields", "observed", "routable", "rates", "wait", "copying",
    "cost", "hotter", "colder", "error", "certain", "transient", "freed",
)  # fmt: skip


def bundles_of(situation: Situation, settings: PolicySettings) -> Bundles:
    """Group the units of a situation by their bundle number and add up their columns."""
    units = situation.units
    rows, start = _group_by_bundle(units)
    lead = rows[start[:-1]]
    size = _sum_by_bundle(units.size_bytes.astype(np.int64), rows, start)
    growth = np.zeros_like(size) if situation.growth is None else _sum_by_bundle(situation.growth, rows, start)
    size = size + growth
    prices = Prices.of(situation, settings)
    unit_wait = prices.per_hour(situation.heat.rates)
    of_row = np.empty(len(units), dtype=np.int64)
    of_row[rows] = np.repeat(np.arange(len(lead)), np.diff(start))
    space = units.space[lead].astype(np.int64)
    tier = situation.tier_of_space[space].astype(np.int64) if len(space) else np.zeros(0, np.int64)
    # Rounded per unit and then added: rounding the sums would keep the differences that the order of adding makes in
    # the last digits.
    wait = _summed_rows(np.rint(unit_wait * MICRO), rows, start)
    speeds = [tier.speed for tier in situation.tiers]
    error = _by_wait(situation.heat.error, 0.0, unit_wait, rows, start, wait)
    copying = _copying(situation, settings, lead, size, rows, start)
    # Sessions lose what a copy takes from the disk. While a rebuild waits for old transactions it reads nothing: priced
    # like a copy, that wait made small busy indexes dearer to move than tables of ten times their size.
    reading = copying * _of_routes(situation, lead, 1.0, lambda found: found.copied_ratio)
    cost = move_cost_seconds(reading, situation.database, settings)
    # Who comes up where partitions are born makes others leave for the next one, and pays for that copy too.
    if situation.copies_caused is not None:
        cost = cost * (1.0 + np.where(tier > 0, _highest(situation.copies_caused, rows, start), 0.0))
    cost = cost + _of_routes(situation, lead, 0.0, lambda found: found.seconds) * MICRO
    cooling = _highest(situation.cooling_seconds, rows, start)
    owed = np.full(len(units), np.inf) if situation.owed_seconds is None else situation.owed_seconds
    owed = np.where(cooling > 0, _highest(owed, rows, start), 0.0)
    # Who makes it leave pays for the copy that brought it too, as far as it has not spared that yet.
    cost = cost + np.where(np.isfinite(owed), owed, 0.0) * MICRO
    return Bundles(
        rows=rows,
        start=start,
        of_row=of_row,
        size=size,
        growth=growth,
        space=space,
        tier=tier,
        pin=_PIN_RANK[_highest(_PIN_RANK[situation.pin], rows, start)],
        cooling=cooling,
        yields=(tier == 0) & (cooling > 0) & np.isfinite(owed),
        # The shortest history counts: a bundle with a new index may not be judged by the years that its table was
        # watched.
        observed=-_highest(-situation.heat.observed_seconds, rows, start),
        routable=_routable(situation, lead),
        rates=_summed_rows(situation.heat.rates, rows, start),
        wait=wait,
        copying=copying,
        cost=np.rint(cost),
        prices=prices,
        unit_wait=unit_wait,
        hotter=_by_wait(situation.heat.hotter, 1.0, unit_wait, rows, start, wait),
        colder=_by_wait(situation.heat.colder, 1.0, unit_wait, rows, start, wait),
        error=error,
        certain=(
            np.ones_like(wait)
            if situation.by_mean
            else _certain(wait, tier, error, [speed.error_ratio for speed in speeds], settings)
        ),
        transient=_by_name(situation, situation.transient, lead),
        freed=np.maximum(size - _by_name(situation, situation.staying, lead), 0),
    )


def bundle_of(situation: Situation, rows: I64, settings: PolicySettings) -> Bundles:
    """Some units as the one bundle that a plan would judge: its figures are those that the guards have seen.

    Args:
        situation: what was judged.
        rows: of its units, which move together or not at all.
        settings: with which it was judged.
    """
    own = situation.only(rows)
    together = replace(own.units, bundle=np.zeros(len(rows), dtype=np.int64))
    return bundles_of(replace(own, units=together), settings)


def _by_wait(own: F32 | F64 | None, otherwise: float, unit_wait: F64, rows: I64, start: I64, wait: F64) -> F64:
    """Mean of a column of units by bundle, each weighing by its wait; where there is no column or wait, ``otherwise``.

    Errors are so taken to be those of units that err together.
    """
    count = wait.shape[1]
    if own is None or not len(unit_wait):
        return np.full(count, otherwise)
    slowest = len(unit_wait) - 1
    summed = _summed_rows(np.rint(unit_wait[slowest:] * own * MICRO), rows, start)[0]
    return np.asarray(np.divide(summed, wait[slowest], out=np.full(count, otherwise), where=wait[slowest] > 0))


def _certain(wait: F64, tier: I64, error: F64, speed_errors: Sequence[float], settings: PolicySettings) -> F64:
    """Lower end of the saving over its mean, for each tier."""
    if not error.any() and not any(speed_errors):
        return np.ones_like(wait)
    home = np.maximum(tier, 0)
    before = np.take_along_axis(wait, home[np.newaxis, :], axis=0)[0]
    at_home = np.asarray(speed_errors)[home]
    rows = [
        certain_share(before - after, before, after, error, (at_home, np.full(1, there)), settings.certainty)
        for after, there in zip(wait, speed_errors, strict=True)
    ]
    return np.asarray(rows, dtype=np.float64).reshape(wait.shape)


def _group_by_bundle(units: UnitTable) -> tuple[I64, I64]:
    """Rows by bundle with the leading unit first, and where each bundle starts."""
    rows = np.argsort(units.bundle, kind="stable").astype(np.int64)
    number = units.bundle[rows]
    edges = np.flatnonzero(number[1:] != number[:-1]) + 1
    start = np.concatenate(([0], edges, [len(rows)])).astype(np.int64) if len(rows) else np.zeros(1, np.int64)
    for bundle in np.flatnonzero(np.diff(start) > 1):
        within = slice(start[bundle], start[bundle + 1])
        rows[within] = _lead_first(units, rows[within])
    return rows, start


def _lead_first(units: UnitTable, rows: I64) -> I64:
    """Rows of one bundle: what has no parent among them first, then by kind, then by key."""
    ids = {int(units.physical_id[row]) for row in rows}

    def rank(row: np.int64) -> tuple[bool, int, str]:
        parent = int(units.parent[row])
        return parent != NO_PARENT and parent in ids, int(units.kind[row]), units.key[int(row)]

    return np.array(sorted(rows, key=rank), dtype=np.int64)


def _copying(situation: Situation, settings: PolicySettings, lead: I64, size: I64, rows: I64, start: I64) -> F64:
    """Whole microseconds that moving each bundle takes: as its route says, as of its units, or by its size alone."""
    if situation.copy_seconds is None:
        seconds = copy_seconds(size, settings)
    else:
        seconds = _sum_by_bundle(situation.copy_seconds.astype(np.float64), rows, start)
    if situation.route_costs:
        for at, row in enumerate(lead.tolist()):
            found = situation.route_costs.get(situation.units.key[row])
            if found is not None and found.copy_seconds is not None:
                seconds[at] = found.copy_seconds
    return np.rint(seconds * MICRO)


def _of_routes(situation: Situation, lead: I64, otherwise: float, figure: Callable[[RouteCost], float]) -> F64:
    """A figure of the route of each bundle, where one was requested. Shape ``(m,)``."""
    figures = np.full(len(lead), otherwise)
    if situation.route_costs:
        for at, row in enumerate(lead.tolist()):
            found = situation.route_costs.get(situation.units.key[row])
            figures[at] = otherwise if found is None else figure(found)
    return figures


def _by_name(situation: Situation, known: Mapping[str, int], lead: I64) -> I64:
    """Bytes that are known of each bundle's move, 0 where no route was asked for. ``(m,)``."""
    bytes_ = np.zeros(len(lead), dtype=np.int64)
    if known:
        for at, row in enumerate(lead.tolist()):
            bytes_[at] = known.get(name_of_whole(situation, row) or situation.units.key[row], 0)
    return bytes_


def name_of_whole(situation: Situation, row: int) -> str:
    """The whole space that a unit is judged with, "" where it is judged alone."""
    at = NO_WIDE if situation.whole is None else int(situation.whole[row])
    return "" if at == NO_WIDE else situation.units.wide_names[at]


def _routable(situation: Situation, lead: I64) -> Bools:
    if not situation.no_route:
        return np.ones(len(lead), dtype=np.bool_)
    key = situation.units.key
    return np.fromiter((key[int(row)] not in situation.no_route for row in lead), np.bool_, len(lead))


def _sum_by_bundle(column: _Column, rows: I64, start: I64) -> _Column:
    # Where each unit moves alone, which is the usual case, there is nothing to add, and reduceat over a million edges
    # takes its time all the same.
    summed: _Column = column[rows] if _single(rows, start) else np.add.reduceat(column[rows], start[:-1])
    return summed


def _summed_rows(matrix: F64, rows: I64, start: I64) -> F64:
    """Sums by bundle of each line of a matrix, shape ``(len(matrix), m)``."""
    ordered = matrix if _in_order(rows) else matrix[:, rows]
    return ordered if _single(rows, start) else np.add.reduceat(ordered, start[:-1], axis=1)


def _highest(column: _Column, rows: I64, start: I64) -> _Column:
    highest: _Column = column[rows] if _single(rows, start) else np.maximum.reduceat(column[rows], start[:-1])
    return highest


def _single(rows: I64, start: I64) -> bool:
    return len(start) - 1 == len(rows)


def _in_order(rows: I64) -> bool:
    return bool(np.all(rows[1:] > rows[:-1]))
