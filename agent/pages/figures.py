"""The figures behind the pictures of a report.

The figures of the heat inside one table: its blocks down, time across.

The figures behind the pictures of a report: read from the ledger, computed by the policies, no database asked.

Each is empty where the ledger has too little for a picture; ``missing`` says what would bring it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any

import numpy as np

from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistoryRow
from agent.model.answers.kind import extend
from agent.model.answers.report import (
    FiguresReported,
    HottestUnits,
    InsideOverTime,
    PlaceOverTime,
    PredictionReported,
    ReadWaitChange,
    SavedInterval,
    SessionsSpent,
    TierFillAt,
    UnitOverTime,
    WaitsAt,
)
from agent.model.outcomes import Outcome
from agent.pages.content import MoveRecord, Report
from agent.planning.decisions import last_situation
from agent.sampling.block_heat import load_block_heat
from agent.sampling.learned_state import Fill, recorded_fills
from agent.studies.sizing import SizingAnswer, curve_shown, price_of
from agent.terminal.charts import mean_of_rows
from connectors.model.observation import F32, F64, I64, Role
from policies.evidence.prices import is_measured, own_waits, present_waits
from policies.evidence.range_heat import RangeHeat
from policies.model.plan import Situation
from policies.model.settings import PolicySettings
from policies.placement.sizing import sizing

MOST_PLACES, INSIDE_CELLS = 16, 42  # rows and columns of the picture


def inside_of(ledger: Ledger, report: Report) -> InsideOverTime | None:
    """Of the unit that was read most of those that were looked into within the time of the report; None: none was."""
    known = {
        key: heat
        for key, heat in load_block_heat(ledger, report.database).items()
        if _among(heat, report).sum() > 1 and heat.blocks
    }
    if not known:
        return None
    unit = max(known, key=lambda key: (_rate(known[key]), key))
    return _picture(unit, known[unit], report)


def _among(heat: RangeHeat, report: Report) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which hours of the picture belong to the time of the report."""
    since, until = report.since.timestamp() / HOUR, report.until.timestamp() / HOUR
    return np.asarray((heat.hour + 1 > since) & (heat.hour <= until), dtype=np.bool_)


def _rate(heat: RangeHeat) -> float:
    return heat.estimated / heat.seconds if heat.seconds > 0 else 0.0


def _picture(unit: str, heat: RangeHeat, report: Report) -> InsideOverTime:
    among = _among(heat, report)
    hours, rates = heat.hour[among], heat.by_hour[among]
    width = -(-int(hours[-1] - hours[0] + 1) // INSIDE_CELLS)
    places = mean_of_rows(rates.T, min(MOST_PLACES, heat.ranges)) * heat.ranges / min(MOST_PLACES, heat.ranges)
    cells, starts = _by_cell(hours, places, width)
    size = heat.blocks * heat.block_bytes
    return InsideOverTime(
        unit=unit,
        starts=tuple(datetime.fromtimestamp(start * HOUR, UTC) for start in starts),
        cell_seconds=width * HOUR,
        places=tuple(
            PlaceOverTime(
                from_bytes=size * place // len(cells), reads_per_second=tuple(round(rate, 3) for rate in rates)
            )
            for place, rates in enumerate(cells.tolist())
        ),
    )


def _by_cell(hours: I64, places: F64, width: int) -> tuple[F64, list[int]]:
    """Means of so many hours each, ``(places, cells)``, and the first hour of each cell."""
    cell = (hours - hours[0]) // width
    numbers = np.unique(cell)
    means = np.stack([places[:, cell == number].mean(axis=1) for number in numbers], axis=1)
    return means, (hours[0] + numbers * width).tolist()


HOTTEST = 15  # units
MOST_CELLS = 31  # of a unit in the heat map
MOST_POINTS = 170  # of the waits
DAY, HOUR = 86400.0, 3600.0
WIDTHS = (60.0, 600.0, HOUR, 6 * HOUR, DAY)  # of points in time, the first that leaves few enough
LEAST_POINTS = 3  # fewer are no line
NOTHING_HOT = HottestUnits(starts=(), cell_seconds=0.0, units=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What was predicted of moves that were measured together, and what was measured; NaN: not known."""

    moves: tuple[int, ...]
    outcome: Outcome

    @property
    def predicted(self) -> tuple[float, float, float]:
        """Share of the wait that was to go: mean and ends of the interval."""
        found = self.outcome
        return found.predicted_saved_ratio, found.predicted_saved_ratio_low, found.predicted_saved_ratio_high

    @property
    def measured(self) -> tuple[float, float, float]:
        """Share of the wait that is gone: mean and ends of the interval; a negative one was added."""
        return self.outcome.saved_ratio, -self.outcome.change_high, -self.outcome.change_low


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFigures:
    """All of them, of one database."""

    tiers: tuple[str, ...] = ()  # fastest first
    fills: tuple[Fill, ...] = ()
    waits: tuple[WaitsAt, ...] = ()
    hot_units: HottestUnits = NOTHING_HOT
    inside: InsideOverTime | None = None
    changes: tuple[ReadWaitChange, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    spent: tuple[SessionsSpent, ...] = ()
    sizing: SizingAnswer | None = None


def figures_over_time(ledger: Ledger, report: Report) -> ReportFigures:
    """Those alone that are read quickly: waits and fills.

    Raises:
        LedgerCorrupt: the file is damaged.
    """
    known = last_situation(ledger, report.database)
    fills = tuple(each for each in recorded_fills(ledger, report.database) if report.since <= each.at <= report.until)
    return ReportFigures(
        tiers=() if known is None else tuple(tier.name for tier in known[0].tiers),
        fills=fills if len(fills) >= LEAST_POINTS else (),
        waits=tuple(_waits(ledger, report)),
    )


def figures_of(ledger: Ledger, report: Report) -> ReportFigures:
    """Read them.

    Raises:
        LedgerCorrupt: the file is damaged.
    """
    known = last_situation(ledger, report.database)
    return replace(
        figures_over_time(ledger, report),
        hot_units=NOTHING_HOT if known is None else _hot_units(ledger, report, known[0]),
        inside=inside_of(ledger, report),
        changes=tuple(_changes(report.moves)),
        comparisons=tuple(_comparisons(report.moves)),
        spent=() if known is None else tuple(_time_spent(*known)),
        sizing=None if known is None else _sizing(report.database, *known),
    )


# -- over time -------------------------------------------------------------------------------------------------------


def _waits(ledger: Ledger, report: Report) -> Iterator[WaitsAt]:
    """The waits of all sessions, in points of one width; none where there are too few for a line."""
    rows = [
        row for row in ledger.work.between(report.database, report.since, report.until) if row.demand.read_wait >= 0
    ]
    if not rows:
        return
    span = (rows[-1].ended_at - rows[0].ended_at).total_seconds()
    width = next((width for width in WIDTHS if span / width <= MOST_POINTS), WIDTHS[-1])
    ends = np.array([row.ended_at.timestamp() for row in rows])
    seconds = np.array([row.seconds for row in rows])
    waited = np.array([row.demand.read_wait for row in rows])
    done = np.array([row.demand.transactions for row in rows])
    bucket = np.ceil(ends / width).astype(np.int64)
    numbers = np.unique(bucket)
    if seconds[bucket == numbers[-1]].sum() < width / 2:
        numbers = numbers[:-1]  # it has just begun: a few minutes are no mean of hours
    if len(numbers) < LEAST_POINTS:
        return
    for number in numbers:
        among = bucket == number
        at = datetime.fromtimestamp(float(number) * width, UTC)
        yield WaitsAt(
            at=min(at, report.until),
            waiting_sessions=float(np.average(waited[among], weights=seconds[among])),
            transactions_per_second=float(np.average(done[among], weights=seconds[among])),
        )


def _hot_units(ledger: Ledger, report: Report, situation: Situation) -> HottestUnits:
    """Random reads per second of the units that have most of them, by the day, or by the hour while there are few."""
    if not len(situation.units):
        return NOTHING_HOT
    slots = ledger.slots.of(report.database, situation.units.key)
    cells = _Cells(size=int(slots.max()) + 1, until=report.until)
    for row in ledger.history.read(report.database, report.since, report.until):  # one at a time: they are large
        cells.add(row)
    starts = sorted(cells.counts)[-MOST_CELLS:]
    return _hottest(situation, slots, cells, starts) if len(starts) > 1 else NOTHING_HOT


class _Cells:
    """Random reads of all units by the hour or the day."""

    def __init__(self, size: int, until: datetime) -> None:
        self.counts: dict[datetime, F32] = {}  # by the start of a cell: (size,) by slot
        self.observed: dict[datetime, float] = {}  # seconds
        self.seconds = DAY
        self._size = size
        self._until = until
        self._zone = until.astimezone().tzinfo  # of this machine, in which days begin

    def add(self, row: HistoryRow) -> None:
        """Count an interval to the cell of its last moment; the first one says how long cells are."""
        if not self.counts and self._until - row.started_at < timedelta(hours=MOST_CELLS):
            self.seconds = HOUR
        within = (row.ended_at - timedelta(microseconds=1)).astimezone(self._zone)
        hour = within.hour if self.seconds == HOUR else 0
        start = within.replace(hour=hour, minute=0, second=0, microsecond=0)
        known = row.slots < self._size  # units that came after the last plan are not in its situation
        counts = self.counts.setdefault(start, np.zeros(self._size, np.float32))
        counts[row.slots[known]] += row.values[0][known]
        self.observed[start] = self.observed.get(start, 0.0) + row.seconds


def _hottest(situation: Situation, slots: I64, cells: _Cells, starts: Sequence[datetime]) -> HottestUnits:
    """The rows of the units with most reads; units without any are left out."""
    total = np.sum([cells.counts[start] for start in starts], axis=0)[slots]
    rows = np.argsort(-total, kind="stable")[:HOTTEST]
    chosen = [int(row) for row in rows if total[row] > 0]
    if not chosen:
        return NOTHING_HOT
    return HottestUnits(
        starts=tuple(starts),
        cell_seconds=cells.seconds,
        units=tuple(
            UnitOverTime(
                unit=situation.units.key[row],
                sync_reads_per_second=tuple(
                    float(cells.counts[start][slots[row]]) / cells.observed[start] for start in starts
                ),
            )
            for row in chosen
        ),
    )


# -- moves -----------------------------------------------------------------------------------------------------------


def _changes(moves: Sequence[MoveRecord]) -> Iterator[ReadWaitChange]:
    """Of the moves whose own reads were measured on both sides."""
    for move in moves:
        if move.outcome is not None and move.outcome.outcome.measured:
            before, after = move.outcome.outcome.own_wait_per_read_before, move.outcome.outcome.own_wait_per_read_after
            if before > 0 and after > 0:
                unit = move.row.move.what
                yield ReadWaitChange(move=move.row.id, unit=unit, before_seconds=before, after_seconds=after)


def _comparisons(moves: Sequence[MoveRecord]) -> Iterator[Comparison]:
    """One for all moves of a proposal: they are measured together, and each carries the outcome of all."""
    together: dict[int, list[MoveRecord]] = {}
    for move in moves:
        if move.outcome is not None and isfinite(move.outcome.outcome.saved_ratio):
            together.setdefault(move.row.proposal_id, []).append(move)
    for group in together.values():
        assert group[0].outcome is not None, "only measured moves are in a group"
        yield Comparison(moves=tuple(move.row.id for move in group), outcome=group[0].outcome.outcome)


# -- as the last plan saw it -----------------------------------------------------------------------------------------


def _time_spent(situation: Situation, settings: PolicySettings) -> Iterator[SessionsSpent]:
    """What sessions do, longest first: reads of each tier by the model, log, temporary and undo space as measured."""
    reads = present_waits(situation, settings)
    found = [
        SessionsSpent(what=f"reads of {tier.name}", kind="tier", sessions=float(waited))
        for tier, waited in zip(situation.tiers, reads, strict=True)
    ]
    words = {Role.LOG: "log", Role.TEMP: "temporary space", Role.UNDO: "undo space"}
    for role, word in words.items():
        measured = [each for each in situation.roles if each.role is role and is_measured(each)]
        if measured:
            sessions = sum(own_waits(each, situation.database) for each in measured)
            found.append(SessionsSpent(what=word, kind=role.value, sessions=sessions))
    rest = situation.database.active - sum(each.sessions for each in found)
    if rest > 0:  # NaN, where the engine does not count sessions, is not
        found.append(SessionsSpent(what="anything else: CPU, locks, network", kind="other", sessions=rest))
    if any(each.sessions > 0 for each in found):
        yield from sorted(found, key=lambda each: -each.sessions)


def _sizing(database: str, situation: Situation, settings: PolicySettings) -> SizingAnswer | None:
    """The curve; None where there is nothing to draw."""
    if len(situation.tiers) < 2 or not len(situation.units):
        return None
    answer = SizingAnswer(
        database=database,
        tiers=situation.tiers,
        head_room_ratio=settings.head_room_ratio,
        sizing=sizing(situation, settings),
        block_bytes=settings.block_bytes,
        prices=(price_of(situation.tiers[0]), price_of(situation.tiers[-1])),
        watched_seconds=float(situation.heat.observed_seconds.max(initial=0.0)),
    )
    return answer if answer.sizing.all_fast_per_hour > 0 else None


# -- as an answer ----------------------------------------------------------------------------------------------------


def figures_reported(figures: ReportFigures) -> FiguresReported:
    """The figures of every picture; empty where a picture is left out."""
    return FiguresReported(
        waits=figures.waits,
        tier_fill=tuple(extend(TierFillAt, each) for each in figures.fills),
        hottest_units=figures.hot_units,
        inside=figures.inside,
        wait_per_read=figures.changes,
        predictions=tuple(_prediction_reported(each) for each in figures.comparisons),
        sessions_by_what=figures.spent,
        sizing=None if figures.sizing is None else curve_shown(figures.sizing),
    )


def _prediction_reported(comparison: Comparison) -> PredictionReported:
    return PredictionReported(
        moves=comparison.moves,
        verdict=comparison.outcome.verdict,
        undo=comparison.outcome.undo,
        predicted=_saved_interval(*comparison.predicted),
        measured=_saved_interval(*comparison.measured),
    )


def _saved_interval(mean: float, low: float, high: float) -> SavedInterval:
    return SavedInterval(saved_ratio=mean, saved_ratio_low=low, saved_ratio_high=high)
