"""Ranges of a table as options of a plan: its hot newest rows on other storage than the rest of it.

``with_splits`` is the database with units split into a hot part and the rest, each a row of its own: the hot parts
behind all units. Whatever places units so places ranges too, by the same prices, guards and limits.

A part is worth its split only where it goes alone. Where the rest goes with it the whole unit moves, for less; so the
plan is made again without that option (``split_apart``). ``of_whole_units`` is the plan in rows of the whole units, for
all that knows no parts.

A share of reads that is not sure makes the saving of both sides as unsure: its error is added to that of the heat. What
a split costs is paid once, for heat that has stood for ``LEAST_DAYS``: a shorter horizon bears its share of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from connectors.model.formatting import format_bytes, format_ratio, format_seconds, format_wait
from connectors.model.moves import Border
from connectors.model.observation import F32, F64, I64, NO_PARENT, NO_WIDE, UnitTable
from policies.evidence.borders import Split
from policies.evidence.heat import index_of
from policies.evidence.seasons import LEAST_DAYS
from policies.evidence.splitting import Inside, splits_of
from policies.model.moves import MoveReason, RouteCost
from policies.model.plan import HeatView, Plan, PlanMove, Situation, Verdict
from policies.model.settings import Pin, PolicySettings

MOST_RANGES = 10  # that one plan weighs, those first that save most
_DAY = 86400.0
_DEVIATIONS = 1.645  # between the mean of a normal distribution and the ends of its 90 % interval
_SPLIT_READS = 2  # times that a split reads the whole table, besides writing the rows that it moves

Column = TypeVar("Column", bound=NDArray[Any] | None)


def key_of_part(key: str) -> str:
    """Key of the hot part of a table in a situation with splits."""
    return f"{key} (hot part)"


def border_of(split: Split) -> Border:
    """Where a table is split, of a range that a plan may weigh."""
    assert split.border is not None, "only what rolls is weighed"
    return Border(column=split.border.column, value=split.border.least or "")


def range_options(
    situation: Situation, plan: Plan, settings: PolicySettings, insides: Mapping[str, Inside], lasting: F64
) -> tuple[Split, ...]:
    """The parts that a plan may weigh, at most ``MOST_RANGES`` of them: those first that save most.

    Only what rolls: a border with the newest rows behind it, so that those to come are born in the part. A split is for
    good, so it has to pay by what the table is read on its quiet days, and where whole units leave something to do they
    go first.

    Args:
        situation: of whole units.
        plan: of them.
        settings: the shares that sessions wait for.
        insides: what is known of the inside of units, by key.
        lasting: wait index of each unit on its quiet days (``seasons.lasting_demand``).
    """
    if plan.moves or not insides:
        return ()
    index = index_of(situation.heat.rates)
    share = np.divide(lasting, index, out=np.zeros(len(index)), where=index > 0)
    on_quiet_days = replace(plan, wait_saved_if_moved=plan.wait_saved_if_moved * np.minimum(share, 1.0))
    pinned = {situation.units.key[row] for row in np.flatnonzero(situation.pin != Pin.NONE).tolist()}
    return tuple(
        each
        for each in splits_of(situation, on_quiet_days, settings, insides).splits
        if each.saves_per_hour > 0 and each.border is not None and each.border.rolls
        and 0 < each.hot_bytes < each.whole_bytes and each.key not in pinned
    )[:MOST_RANGES]  # fmt: skip


def borne_share(settings: PolicySettings) -> float:
    """Share of what a split costs that the horizon of a plan bears."""
    return min(1.0, settings.horizon_seconds / (LEAST_DAYS * _DAY))


def borne_costs(
    plan: Plan, costs: Sequence[RouteCost], ranges: Sequence[Split], settings: PolicySettings
) -> list[RouteCost]:
    """The costs of a plan's routes, each split at the share that is borne."""
    parts, borne = {key_of_part(each.key) for each in ranges}, borne_share(settings)
    return [
        replace(
            cost, log_seconds=cost.log_seconds * borne, blocked_seconds=cost.blocked_seconds * borne,
            follow_up_seconds=cost.follow_up_seconds * borne,
            copy_seconds=None if cost.copy_seconds is None else cost.copy_seconds * borne,
        )
        if move.key in parts
        else cost
        for move, cost in zip(plan.moves, costs, strict=True)
    ]  # fmt: skip


def with_splits(situation: Situation, splits: Sequence[Split], borne: float = 1.0) -> Situation:
    """The situation with the hot parts as units of their own, at its end, where the whole units are."""
    rows = _rows_of(situation.units.key, splits)
    share = np.array([each.of_reads for each in splits], dtype=np.float64)
    heat = situation.heat
    columns = {each.name: getattr(heat, each.name) for each in fields(HeatView)}
    grown = {name: _append_rows(column, rows) for name, column in columns.items()}
    for name in ("rates", "steady"):
        if columns[name] is not None:
            grown[name] = _shared_out(columns[name], rows, share)
    of_bytes = np.array([each.hot_bytes for each in splits]) / np.maximum(1, situation.units.size_bytes[rows])
    return replace(
        situation,
        units=_units_with(situation.units, splits, rows),
        heat=HeatView(**grown),
        pin=_append_rows(situation.pin, rows),
        cooling_seconds=_append_rows(situation.cooling_seconds, rows),
        owed_seconds=_append_rows(situation.owed_seconds, rows),
        copies_caused=_append_rows(situation.copies_caused, rows),
        whole=None if situation.whole is None else np.append(situation.whole, np.full(len(rows), NO_WIDE, np.int32)),
        growth=_append_rows(situation.growth, rows),
        growth_rate=_append_rows(situation.growth_rate, rows),
        growth_seen=_append_rows(situation.growth_seen, rows),
        copy_seconds=_copies_with(situation.copy_seconds, rows, of_bytes, borne),
    )


def with_ranges(situation: Situation, ranges: Sequence[Split], settings: PolicySettings) -> Situation:
    """The situation in which a plan may choose parts.

    A part has no way of its own where its unit is known to have none: who may not move the table may not split it.
    """
    if not ranges:
        return situation
    apart = with_splits(situation, ranges, borne_share(settings))
    heat, units = apart.heat, situation.units
    rows = _rows_of(units.key, ranges)
    if heat.error is not None:
        share = np.array([each.of_reads for each in ranges])
        unsure = (share - np.array([each.low_of_reads for each in ranges])) / _DEVIATIONS
        error = heat.error.astype(np.float64)
        # The same reads are missing on one side that are too many on the other.
        error[len(units) :] = np.hypot(error[len(units) :], unsure / np.maximum(share, 1e-9))
        error[rows] = np.hypot(error[rows], unsure / np.maximum(1 - share, 1e-9))
        apart = replace(apart, heat=replace(heat, error=error))
    barred = {key_of_part(each.key): situation.no_route[each.key] for each in ranges if each.key in situation.no_route}
    # A split takes the indexes of its table as they are: they wait for a later plan.
    table_of = dict(zip(units.physical_id[rows].tolist(), ranges, strict=True))
    for row in np.flatnonzero(np.isin(units.parent, units.physical_id[rows])).tolist():
        barred[units.key[row]] = f"{table_of[int(units.parent[row])].key} may be split first"
    return replace(apart, no_route={**barred, **apart.no_route})


def split_apart(plan: Plan, situation: Situation, ranges: Sequence[Split]) -> tuple[Split, ...]:
    """The ranges that a plan moves without the rest of their table, nor anything else of it."""
    units = situation.units
    rows = [row for move in plan.moves for row in move.rows]
    moved, of_table = {units.key[row] for row in rows}, set(units.parent[rows].tolist())
    return tuple(
        each
        for each in ranges
        if key_of_part(each.key) in moved and each.key not in moved and each.physical_id not in of_table
    )


def of_whole_units(plan: Plan, ranges: Sequence[Split], situation: Situation, settings: PolicySettings) -> Plan:
    """The plan in rows of whole units: columns without those of parts, whose moves have no rows.

    Args:
        plan: of a situation with parts.
        ranges: that it splits off.
        situation: of whole units.
        settings: that it was made with.
    """
    if not ranges:
        return plan
    count, rows = len(situation.units), _rows_of(situation.units.key, ranges)
    of_part, borne = {key_of_part(each.key): each for each in ranges}, borne_share(settings)
    verdict = plan.verdict[:count].copy()
    verdict[rows] = Verdict.SPLIT
    return replace(
        plan,
        moves=tuple(_of_part(move, of_part[move.key], borne) if move.key in of_part else move for move in plan.moves),
        verdict=verdict,
        benefit_per_hour=_joined(plan.benefit_per_hour, rows, count),
        wait_saved_if_moved=_joined(plan.wait_saved_if_moved, rows, count),
        chosen=plan.chosen[:count],
        whole=None if plan.whole is None else plan.whole[:count],
    )


def _of_part(move: PlanMove, split: Split, borne: float) -> PlanMove:
    payback = move.payback_seconds / borne
    sentence = (
        f"The newest {format_bytes(move.size_bytes)} of {split.key}, to which {format_ratio(split.of_reads)} of its "
        f"reads go, split off to {move.to_tier} save {format_wait(move.wait_saved_per_hour)} and pay back in "
        f"{format_seconds(payback)}."
    )
    return replace(
        move,
        key=split.key,
        rows=(),
        part=border_of(split),
        reason=MoveReason.SPLIT,
        sentence=sentence,
        payback_seconds=payback,
    )


def _joined(column: F64, rows: I64, count: int) -> F64:
    """What the rest and the part have together, in the row of the unit. ``(count,)``."""
    together = column[:count].copy()
    together[rows] += column[count:]
    return together


def _rows_of(keys: Sequence[str], splits: Sequence[Split]) -> I64:
    """Rows of the units, in the order of their splits."""
    wanted = {each.key for each in splits}
    row_of = {key: row for row, key in enumerate(keys) if key in wanted}
    return np.array([row_of[each.key] for each in splits], dtype=np.int64)


def _units_with(units: UnitTable, splits: Sequence[Split], rows: I64) -> UnitTable:
    size = np.append(units.size_bytes, [each.hot_bytes for each in splits]).astype(np.int64)
    size[rows] -= size[len(units) :]
    more = np.arange(1, len(rows) + 1, dtype=np.int64)
    return UnitTable(
        physical_id=np.append(units.physical_id, units.physical_id[-1] + more),
        key=[*units.key, *(key_of_part(each.key) for each in splits)],
        kind=_append_rows(units.kind, rows),
        size_bytes=size,
        space=_append_rows(units.space, rows),
        bundle=np.append(units.bundle, units.bundle.max() + more),
        parent=np.append(units.parent, np.full(len(rows), NO_PARENT, dtype=np.int64)),
        wide=None if units.wide is None else np.append(units.wide, np.full(len(rows), NO_WIDE, np.int32)),
        wide_names=units.wide_names,
        uncounted=_append_rows(units.uncounted, rows),
    )


def _append_rows(column: Column, rows: I64) -> Column:
    """A column, ``(n,)`` or ``(signals, n)``, with copies of some rows behind it; None stays None."""
    return column if column is None else cast(Column, np.concatenate((column, column[..., rows]), axis=-1))


def _copies_with(seconds: F32 | None, rows: I64, of_bytes: F64, borne: float) -> F32 | None:
    """Copies of the parts behind, each with the reads of its whole table, as they are borne; and those of the rest."""
    if seconds is None:
        return None
    whole = seconds[rows]
    apart = np.append(seconds, whole * (of_bytes + _SPLIT_READS) * borne).astype(np.float32)
    apart[rows] = whole * (1 - of_bytes)
    return apart


def _shared_out(rates: F64, rows: I64, share: F64) -> F64:
    """Rates ``(signals, n)`` with the hot parts behind, and the rest where the whole was."""
    hot = rates[:, rows] * share
    rest = rates.copy()
    rest[:, rows] -= hot
    return np.concatenate((rest, hot), axis=1)
