"""Ranges of a table as options of a plan: its hot part on other storage than the rest of it.

``with_splits`` is the database with units split into a hot part and the rest, each a row of its own: the hot parts
behind all units. Whatever places units so places ranges too, by the same prices, guards and limits.

A part is worth its split only where it goes alone. Where the rest goes with it the whole unit moves, for less; so the
plan is made again without that option (``split_apart``). ``of_whole_units`` is the plan in rows of the whole units, for
all that knows no parts.

A share of reads that is not sure makes the saving of both sides as unsure: its error is added to that of the heat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from connectors.model.formatting import format_bytes, format_ratio, format_seconds, format_wait
from connectors.model.moves import Border
from connectors.model.observation import F32, F64, I64, NO_PARENT, NO_WIDE, UnitTable
from policies.evidence.heat import index_of
from policies.evidence.seasons import LEAST_DAYS
from policies.evidence.splitting import Inside, splits_of
from policies.model.moves import MoveReason
from policies.model.plan import HeatView, Plan, PlanMove, Situation, Verdict
from policies.model.settings import Pin, PolicySettings

MOST_RANGES = 10  # that one plan weighs, those first that save most
_HOT_PART = " (hot part)"  # behind the key of a unit
DAY = 86400.0
_DEVIATIONS = 1.645  # between the mean of a normal distribution and the ends of its 90 % interval
_SPLIT_READS = 2  # times that a split reads the whole table, besides writing the rows that it moves

Column = TypeVar("Column", bound=NDArray[Any] | None)


class HotPart(Protocol):
    """What is known of a hot part."""

    @property
    def key(self) -> str:
        """Of the unit."""
        ...

    @property
    def hot_bytes(self) -> int:
        """That it has."""
        ...

    @property
    def of_reads(self) -> float:
        """Share of the unit's reads from storage that go to it."""
        ...

    @property
    def low_of_reads(self) -> float:
        """Lower end of a 90 % interval of that share."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeOption:
    """The newest rows of a table, as a part that may be split off."""

    key: str  # of the table
    border: Border
    hot_bytes: int
    of_reads: float
    low_of_reads: float
    borne: float = 1.0  # share of what the split itself costs, which is paid once, that the horizon of a plan bears

    @property
    def part(self) -> str:
        """Key of the part in a situation with splits."""
        return self.key + _HOT_PART


def range_options(
    situation: Situation, plan: Plan, settings: PolicySettings, insides: Mapping[str, Inside], lasting: F64
) -> tuple[RangeOption, ...]:
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
    if plan.moves:
        return ()
    index = index_of(situation.heat.rates)
    share = np.divide(lasting, index, out=np.zeros(len(index)), where=index > 0)
    saved = plan.wait_saved_if_moved * np.minimum(share, 1.0)
    borne = min(1.0, settings.horizon_seconds / (LEAST_DAYS * DAY))  # the heat of the part has stood for so long
    found = splits_of(situation, replace(plan, wait_saved_if_moved=saved), settings, insides).splits
    pin = {situation.units.key[row]: situation.pin[row] for row in np.flatnonzero(situation.pin != Pin.NONE)}
    return tuple(
        RangeOption(
            key=each.key, border=Border(column=each.border.column, value=each.border.least), hot_bytes=each.hot_bytes,
            of_reads=each.of_reads, low_of_reads=each.low_of_reads, borne=borne,
        )
        for each in found
        if each.saves_per_hour > 0 and each.border is not None and each.border.rolls and each.border.least is not None
        and 0 < each.hot_bytes < each.whole_bytes and each.key not in pin
    )[:MOST_RANGES]  # fmt: skip


def with_splits(situation: Situation, splits: Sequence[HotPart], borne: F64 | float = 1.0) -> Situation:
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
    of_bytes = np.array([each.hot_bytes for each in splits]) / np.maximum(1, situation.units.size_bytes[rows])
    return replace(
        situation,
        units=_units_with(situation.units, splits, rows),
        heat=HeatView(**grown),
        pin=_append_rows(situation.pin, rows),
        cooling_seconds=_append_rows(situation.cooling_seconds, rows),
        owed_seconds=_append_rows(situation.owed_seconds, rows),
        whole=None if situation.whole is None else np.append(situation.whole, np.full(len(rows), NO_WIDE, np.int32)),
        growth=_append_rows(situation.growth, rows),
        growth_rate=_append_rows(situation.growth_rate, rows),
        growth_seen=_append_rows(situation.growth_seen, rows),
        copy_seconds=_copies_with(situation.copy_seconds, rows, of_bytes, borne),
    )


def with_ranges(situation: Situation, options: Sequence[RangeOption]) -> Situation:
    """The situation in which a plan may choose parts.

    A part has no way of its own where its unit is known to have none: who may not move the table may not split it.
    """
    if not options:
        return situation
    apart = with_splits(situation, options, np.array([each.borne for each in options]))
    heat, whole = apart.heat, len(situation.units)
    if heat.error is not None:
        row_of = {key: row for row, key in enumerate(situation.units.key)}
        rows = [row_of[each.key] for each in options]
        unsure = np.array([(each.of_reads - each.low_of_reads) / _DEVIATIONS for each in options])
        share = np.array([each.of_reads for each in options])
        error = heat.error.astype(np.float64)
        # The same reads are missing on one side that are too many on the other.
        error[whole:] = np.hypot(error[whole:], unsure / np.maximum(share, 1e-9))
        error[rows] = np.hypot(error[rows], unsure / np.maximum(1 - share, 1e-9))
        apart = replace(apart, heat=replace(heat, error=error))
    barred = {each.part: situation.no_route[each.key] for each in options if each.key in situation.no_route}
    # A split takes the indexes of its table as they are: they wait for a later plan.
    units = situation.units
    tables = _rows_of(units.key, {each.key for each in options})
    table_of = {int(units.physical_id[row]): units.key[row] for row in tables}
    for key, parent in zip(units.key, units.parent.tolist(), strict=True):
        if parent in table_of:
            barred[key] = f"{table_of[parent]} may be split first"
    return replace(apart, no_route={**barred, **apart.no_route})


def split_apart(plan: Plan, situation: Situation, options: Sequence[RangeOption]) -> tuple[RangeOption, ...]:
    """The options whose part a plan moves without the rest of its table.

    Args:
        plan: of a situation with parts.
        situation: with them.
        options: that it was made with.
    """
    units = situation.units
    rows = [row for move in plan.moves for row in move.rows]
    moved, of_table = {units.key[row] for row in rows}, set(units.parent[rows].tolist())
    id_of = {units.key[row]: int(units.physical_id[row]) for row in _rows_of(units.key, {each.key for each in options})}
    return tuple(
        each
        for each in options
        # What belongs to the table is not moved by the same plan: a split takes its indexes as they are.
        if each.part in moved and each.key not in moved and id_of[each.key] not in of_table
    )


def of_whole_units(plan: Plan, options: Sequence[RangeOption], situation: Situation) -> Plan:
    """The plan in rows of whole units: columns without those of parts, whose moves have no rows.

    Args:
        plan: of a situation with parts.
        options: that it was made with.
        situation: of whole units.
    """
    if not options:
        return plan
    count = len(situation.units)
    of_part = {each.part: each for each in options}
    row_of = {key: row for row, key in enumerate(situation.units.key)}
    rows = np.array([row_of[each.key] for each in options], dtype=np.int64)
    verdict = plan.verdict[:count].copy()
    moves = []
    for move in plan.moves:
        option = of_part.get(move.key)
        if option is None:
            moves.append(move)
            continue
        verdict[row_of[option.key]] = Verdict.SPLIT
        moves.append(_of_part(move, option))
    return replace(
        plan,
        moves=tuple(moves),
        verdict=verdict,
        benefit_per_hour=_joined(plan.benefit_per_hour, rows, count),
        wait_saved_if_moved=_joined(plan.wait_saved_if_moved, rows, count),
        chosen=plan.chosen[:count],
        whole=None if plan.whole is None else plan.whole[:count],
    )


def _of_part(move: PlanMove, option: RangeOption) -> PlanMove:
    sentence = (
        f"The newest {format_bytes(move.size_bytes)} of {option.key}, to which {format_ratio(option.of_reads)} of its "
        f"reads go, split off to {move.to_tier} save {format_wait(move.wait_saved_per_hour)} and pay back in "
        f"{format_seconds(move.payback_seconds)}."
    )
    return replace(move, key=option.key, rows=(), part=option.border, reason=MoveReason.SPLIT, sentence=sentence)


def _joined(column: F64, rows: I64, count: int) -> F64:
    """What the rest and the part have together, in the row of the unit. ``(count,)``."""
    together = column[:count].copy()
    together[rows] += column[count:]
    return together


def _rows_of(keys: Sequence[str], wanted: Set[str]) -> list[int]:
    return [row for row, key in enumerate(keys) if key in wanted]


def _units_with(units: UnitTable, splits: Sequence[HotPart], rows: I64) -> UnitTable:
    size = np.append(units.size_bytes, [each.hot_bytes for each in splits]).astype(np.int64)
    size[rows] -= size[len(units) :]
    more = np.arange(1, len(rows) + 1, dtype=np.int64)
    return UnitTable(
        physical_id=np.append(units.physical_id, units.physical_id[-1] + more),
        key=[*units.key, *(f"{each.key}{_HOT_PART}" for each in splits)],
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


def _copies_with(seconds: F32 | None, rows: I64, of_bytes: F64, borne: F64 | float) -> F32 | None:
    """Copies of the parts behind, each with the reads of its whole table; and those of the rest."""
    if seconds is None:
        return None
    whole = seconds[rows]
    apart = np.append(seconds, whole * (of_bytes + _SPLIT_READS * borne)).astype(np.float32)
    apart[rows] = whole * (1 - of_bytes)
    return apart


def _shared_out(rates: F64, rows: I64, share: F64) -> F64:
    """Rates ``(signals, n)`` with the hot parts behind, and the rest where the whole was."""
    hot = rates[:, rows] * share
    rest = rates.copy()
    rest[:, rows] -= hot
    return np.concatenate((rest, hot), axis=1)
