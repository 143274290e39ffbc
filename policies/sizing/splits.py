"""The database as it would be with units split: for its sizing curve and for a forecast of what it gets done.

A split unit is two: its hot part with its share of the demand, and the rest. Which writes go to which is not known, so
all demand is shared out as the reads are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from connectors.model import F64, I64, NO_PARENT, NO_WIDE, UnitTable
from policies.block_heat.splits import Split
from policies.model.plan import HeatView, Plan, PolicySettings, Situation
from policies.sizing.curve import Point, Sizing, sizing
from policies.sizing.forecast import Forecast, forecast, tiers_after

Column = TypeVar("Column", bound=NDArray[Any] | None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSizing:
    """What the fastest tier as it is does with the splits, next to what it does without them."""

    units: int  # that are split
    size_bytes: int  # of the tier that is compared: as it is, or the knee with splits where it has no size yet
    saved_per_hour: float  # by whole bundles, as ``curve.Point`` has it
    split_saved_per_hour: float  # the same with the splits
    alike_bytes: int  # of whole units on it that save as much without splits; all managed bytes where none do


def size_with_splits(
    situation: Situation, settings: PolicySettings, splits: Sequence[Split], without: Sizing
) -> SplitSizing | None:
    """Compare the curve without splits with that of the database in which these units are split; None: no unit is."""
    if not splits:
        return None
    split = sizing(with_splits(situation, splits), settings)
    there = split.present if split.present.size_bytes else split.knee
    here = _nearest(without.points, there.size_bytes)
    return SplitSizing(
        units=len(splits),
        size_bytes=there.size_bytes,
        saved_per_hour=here.saved_per_hour,
        split_saved_per_hour=there.saved_per_hour,
        alike_bytes=_bytes_that_save(without, there.saved_per_hour),
    )


def forecast_with_splits(
    situation: Situation, settings: PolicySettings, plan: Plan, splits: Sequence[Split]
) -> Forecast:
    """Throughput after a plan and these splits, hot parts on the fastest tier."""
    hot = np.zeros(len(splits), dtype=np.int64)
    return forecast(with_splits(situation, splits), settings, np.concatenate((tiers_after(situation, plan), hot)))


def with_splits(situation: Situation, splits: Sequence[Split]) -> Situation:
    """The situation with the hot parts as units of their own, at its end, where the whole units are."""
    row_of = {key: row for row, key in enumerate(situation.units.key)}
    rows = np.array([row_of[each.key] for each in splits], dtype=np.int64)
    share = np.array([each.of_reads for each in splits], dtype=np.float64)
    heat = situation.heat
    columns = {each.name: getattr(heat, each.name) for each in fields(HeatView)}
    grown = {name: _append_rows(column, rows) for name, column in columns.items()}
    for name in ("rates", "steady"):
        if columns[name] is not None:
            grown[name] = _shared_out(columns[name], rows, share)
    return replace(
        situation,
        units=_units_with(situation.units, splits, rows),
        heat=HeatView(**grown),
        pin=_append_rows(situation.pin, rows),
        cooling_seconds=_append_rows(situation.cooling_seconds, rows),
        whole=None if situation.whole is None else np.append(situation.whole, np.full(len(rows), NO_WIDE, np.int32)),
        growth=_append_rows(situation.growth, rows),
        copy_seconds=_append_rows(situation.copy_seconds, rows),
    )


def _units_with(units: UnitTable, splits: Sequence[Split], rows: I64) -> UnitTable:
    size = np.append(units.size_bytes, [each.hot_bytes for each in splits]).astype(np.int64)
    size[rows] -= size[len(units) :]
    more = np.arange(1, len(rows) + 1, dtype=np.int64)
    return UnitTable(
        physical_id=np.append(units.physical_id, units.physical_id[-1] + more),
        key=[*units.key, *(f"{each.key} (hot part)" for each in splits)],
        kind=_append_rows(units.kind, rows),
        size_bytes=size,
        space=_append_rows(units.space, rows),
        bundle=np.append(units.bundle, units.bundle.max() + more),
        parent=np.append(units.parent, np.full(len(rows), NO_PARENT, dtype=np.int64)),
        wide=None if units.wide is None else np.append(units.wide, np.full(len(rows), NO_WIDE, np.int32)),
        wide_names=units.wide_names,
    )


def _append_rows(column: Column, rows: I64) -> Column:
    """A column, ``(n,)`` or ``(signals, n)``, with copies of some rows behind it; None stays None."""
    return column if column is None else cast(Column, np.concatenate((column, column[..., rows]), axis=-1))


def _shared_out(rates: F64, rows: I64, share: F64) -> F64:
    """Rates ``(signals, n)`` with the hot parts behind, and the rest where the whole was."""
    hot = rates[:, rows] * share
    rest = rates.copy()
    rest[:, rows] -= hot
    return np.concatenate((rest, hot), axis=1)


def _nearest(points: Sequence[Point], size_bytes: int) -> Point:
    """The largest point of at most that size."""
    return max((each for each in points if each.size_bytes <= size_bytes), key=lambda each: each.size_bytes)


def _bytes_that_save(z: Sizing, saved: float) -> int:
    """Least bytes of whole units that save so much, of the sizes of the curve; all managed bytes where none does."""
    return min((each.used_bytes for each in z.points if each.saved_per_hour >= saved), default=z.managed_bytes)
