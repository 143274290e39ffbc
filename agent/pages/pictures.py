"""The pictures of a report, and the figures at the top of its page.

The pictures of a report: its figures as static SVG, each with what it says in words.

The figures at the top of the page: for who reads nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite, isnan
from typing import TypeVar

from leather import Chart
from leather.shapes import Line

from agent.ledger.ledger import Ledger
from agent.model.answers.report import DatabaseReported, WaitsAt
from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.pages.content import Report, counted, moved_text, moves_by_state, outcomes_text, report_of, result_of
from agent.pages.figures import ReportFigures, figures_over_time
from agent.pages.plots import (
    HEAT,
    HEIGHT,
    MUTED,
    SERIES,
    WIDTH,
    Bars,
    Cells,
    Changes,
    Exact,
    Figure,
    Intervals,
    Logarithmic,
    Moments,
    Steps,
    across_from_zero,
    add,
    curve_figure,
    over_time,
    rows_with_names,
    upward_from_zero,
)
from agent.studies.sizing import curve_of
from agent.terminal.deciding import join_numbers
from agent.terminal.tables import shorten_name
from agent.terminal.wording import state_text
from connectors.model.formatting import format_bytes, format_rate, format_ratio, format_seconds

DAY = timedelta(days=1)
NAME_WIDTH = 20  # characters of a unit on an axis
ROW_HEIGHT = 22
FRAME_HEIGHT = 64  # of a plot of rows: axis, legend, margins
MOST_ROWS = 20  # of moves
MOST_RESULTS = 5  # proposals
APART = 0.16  # of the height of a row: predicted above its middle, measured below
SHARES = (-1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0)  # ticks
DASHES = ("", "5 3", "2 3", "8 3 2 3")
Draw = Callable[[Report, ReportFigures], Figure | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPicture:
    """One picture, or why there is none."""

    title: str
    figure: Figure | None
    missing: str  # why, where it is


def pictures_of(report: Report, figures: ReportFigures) -> list[ReportPicture]:
    """All of them, in the order in which they are shown."""
    return [
        ReportPicture(title=title, figure=draw(report, figures), missing=missing) for title, draw, missing in PICTURES
    ]


def last_day(ledger: Ledger, database: str, now: datetime) -> tuple[Figure, ...]:
    """Waits and fill over the day before now, with the moves that ended in it; those of which there is enough.

    Raises:
        LedgerCorrupt: the file is damaged.
    """
    report = report_of(ledger, database, now - DAY, now)
    figures = figures_over_time(ledger, report)
    return tuple(figure for draw in (_waits, _fills) if (figure := draw(report, figures)) is not None)


# -- over time -------------------------------------------------------------------------------------------------------


def _waits(report: Report, figures: ReportFigures) -> Figure | None:
    """Average sessions waiting, with the times at which moves ended."""
    points = figures.waits
    if not points:
        return None
    chart = Chart()
    since, until = points[0].at, points[-1].at
    over_time(chart, since, until)
    most = max(point.waiting_sessions for point in points)
    upward_from_zero(chart, most)
    add(
        chart,
        Line(stroke_color=SERIES[0]),
        [(p.at.timestamp(), p.waiting_sessions) for p in points],
        "sessions waiting",
    )
    add(chart, Moments(MUTED), _moments(report, since, until), "moves")
    says = (
        f"Average sessions waiting for reads: {format_rate(points[0].waiting_sessions)} at first, "
        f"{format_rate(points[-1].waiting_sessions)} at last, {format_rate(most)} at most"
        f"{_work_meanwhile(points[0], points[-1])}. Dashed: a move has ended."
    )
    return Figure(name="waits", title="Sessions waiting for reads", says=says, chart=chart)


def _work_meanwhile(first: WaitsAt, last: WaitsAt) -> str:
    """How much was done: as many sessions may wait while far more is done."""
    rates = first.transactions_per_second, last.transactions_per_second
    return f", while {format_rate(rates[0])} transactions/s became {format_rate(rates[1])}" if min(rates) > 0 else ""


def _fills(report: Report, figures: ReportFigures) -> Figure | None:
    """Bytes on each tier, as a share of what it holds."""
    fills = figures.fills
    known = [tier for tier in figures.tiers if fills and all(fill.capacity_bytes.get(tier) for fill in fills)]
    if not known:
        return None
    chart = Chart()
    over_time(chart, fills[0].at, fills[-1].at)
    chart.set_y_scale(Exact(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0)))
    chart.add_y_axis(tick_formatter=lambda value, _, __: f"{value:.0%}")
    for tier, color, dashes in zip(known, SERIES, DASHES, strict=False):
        rows = [(f.at.timestamp(), min(1.0, f.used_bytes[tier] / (f.capacity_bytes[tier] or 1))) for f in fills]
        add(chart, Steps(color, dashes), rows, tier)
    add(chart, Moments(MUTED), _moments(report, fills[0].at, fills[-1].at), "moves")
    last = fills[-1]
    now = ", ".join(
        f"{tier} holds {format_bytes(last.used_bytes[tier])} of {format_bytes(last.capacity_bytes[tier] or 0)}"
        for tier in known
    )
    return Figure(name="fill", title="How full each tier is", says=f"At the last plan, {now}.", chart=chart)


def _moments(report: Report, since: datetime, until: datetime) -> list[tuple[float, float, str]]:
    """Rows of ``Moments``: when moves have ended, within a period."""
    return [
        (move.ended_at.timestamp(), 0.0, f"move {move.row.id}, {move.row.move.what}: {state_text(move.row.state)}")
        for move in report.moves
        if move.ended_at is not None and since <= move.ended_at <= until
    ]


def _hot_units(_: Report, figures: ReportFigures) -> Figure | None:
    """The units with most random reads, cell by cell; darker by the square root, or most cells would look empty."""
    hot = figures.hot_units
    if not hot.units:
        return None
    chart, step = Chart(), timedelta(seconds=hot.cell_seconds)
    over_time(chart, hot.starts[0], hot.starts[-1] + step)
    rows_with_names(chart, [each.unit for each in hot.units], lambda name: shorten_name(name, NAME_WIDTH))
    most = max(rate for each in hot.units for rate in each.sync_reads_per_second if isfinite(rate))
    rows = [
        (start.timestamp(), unit, (start + step).timestamp(), (rate / most) ** 0.5, f"{unit}: {_per_second(rate)}")
        for unit, rates in ((each.unit, each.sync_reads_per_second) for each in hot.units)
        for start, rate in zip(hot.starts, rates, strict=True)
        if rate > 0
    ]
    add(chart, Cells(HEAT), rows)
    each = "day" if hot.cell_seconds > 3600 else "hour"
    says = (
        f"Reads that sessions waited for, of the {len(hot.units)} units with most, by the {each}. "
        f"The darkest cell is {_per_second(most)}."
    )
    return Figure(
        name="heat", title="Hottest units", says=says, chart=chart, height=FRAME_HEIGHT + ROW_HEIGHT * len(hot.units)
    )


def _inside(_: Report, figures: ReportFigures) -> Figure | None:
    """Blocks of one table down, time across, darker by the square root as with the units."""
    inside = figures.inside
    if inside is None:
        return None
    most = max((rate for place in inside.places for rate in place.reads_per_second), default=0.0)
    if most <= 0:
        return None
    chart, step = Chart(), timedelta(seconds=inside.cell_seconds)
    over_time(chart, inside.starts[0], inside.starts[-1] + step)
    names = [format_bytes(place.from_bytes) for place in inside.places]
    rows_with_names(chart, names)
    rows = [
        (start.timestamp(), name, (start + step).timestamp(), (rate / most) ** 0.5, f"from {name}: {_per_second(rate)}")
        for name, place in zip(names, inside.places, strict=True)
        for start, rate in zip(inside.starts, place.reads_per_second, strict=True)
        if rate > 0
    ]
    add(chart, Cells(HEAT), rows)
    says = (
        f"Reads from storage of {inside.unit} by where in its file they go, from its first block at the top to its "
        f"newest, as looks at the buffer pool show. The darkest cell is {_per_second(most)}."
    )
    return Figure(
        name="inside",
        title="Heat inside a table",
        says=says,
        chart=chart,
        height=FRAME_HEIGHT + ROW_HEIGHT * len(names),
    )


def _per_second(rate: float) -> str:
    return f"{format_rate(rate)} reads/s"


# -- moves -----------------------------------------------------------------------------------------------------------


def _results(report: Report, _: ReportFigures) -> Figure | None:
    """What sessions wait for one transaction, before and after what was measured, in bars from nothing on."""
    found = [each for each in report.proposals if each.outcome is not None and _waits_known(each.outcome)]
    found = found[-MOST_RESULTS:]
    if not found:
        return None
    chart = Chart()
    bars = [
        (seconds, f"proposal {each.row.id}, {when}", format_seconds(seconds), color)
        for each in found
        if each.outcome is not None
        for seconds, when, color in (
            (each.outcome.wait_per_transaction_before, "before", MUTED),
            (each.outcome.wait_per_transaction_after, "after", SERIES[0]),
        )
    ]
    across_from_zero(chart, max(bar[0] for bar in bars), format_seconds)
    rows_with_names(chart, [bar[1] for bar in bars])
    add(chart, Bars(SERIES[0]), bars)
    says = "Read wait of one transaction, as measured. " + " ".join(
        f"Proposal {each.row.id}: {result_of(each)}." for each in found
    )
    height = FRAME_HEIGHT + 30 * len(bars)
    return Figure(name="results", title="Waits before and after", says=says, chart=chart, height=height)


def _waits_known(found: Outcome) -> bool:
    ends = found.wait_per_transaction_before, found.wait_per_transaction_after
    return found.measured and all(map(isfinite, ends)) and max(ends) > 0


def _changes(_: Report, figures: ReportFigures) -> Figure | None:
    """The wait for one read of what was moved, before and after, on a logarithmic scale."""
    changes = figures.changes[-MOST_ROWS:]
    if not changes:
        return None
    chart = Chart()
    ends = [end for change in changes for end in (change.before_seconds, change.after_seconds)]
    chart.set_x_scale(Logarithmic(min(ends), max(ends)))
    chart.add_x_axis(tick_formatter=lambda value, _, __: format_seconds(value))
    names = [f"{change.move} {change.unit}" for change in changes]
    rows_with_names(chart, names, lambda name: shorten_name(name, NAME_WIDTH))
    rows = [
        (change.after_seconds, name, change.before_seconds,
         f"{name}: {format_seconds(change.before_seconds)} became {format_seconds(change.after_seconds)}")
        for change, name in zip(changes, names, strict=True)
    ]  # fmt: skip
    add(chart, Changes(SERIES[0]), rows)
    says = f"Wait for one read of what each move moved: the ring before, the dot after.{_left_out(figures.changes)}"
    height = FRAME_HEIGHT + ROW_HEIGHT * len(names)
    return Figure(name="changes", title="Before and after each move", says=says, chart=chart, height=height)


def _comparisons(_: Report, figures: ReportFigures) -> Figure | None:
    """Predicted and measured share of the wait that is gone, each with its interval."""
    judged = [each for each in figures.comparisons if not each.outcome.undo]
    found = judged[-MOST_ROWS:]
    if not found:
        return None
    chart = Chart()
    least = min(_floor(value) for each in found for value in (*each.predicted, *each.measured) if isfinite(value))
    low = min(0.0, least)
    chart.set_x_scale(Exact(low, 1.0, [tick for tick in SHARES if tick >= low]))
    chart.add_x_axis(tick_formatter=lambda value, _, __: f"{value:.0%}")
    names = [f"{join_numbers('move', each.moves)}, {each.outcome.verdict}" for each in found]
    rows_with_names(chart, names, lambda name: shorten_name(name, NAME_WIDTH + 6))
    predicted = [_interval("predicted", name, APART, *each.predicted) for each, name in zip(found, names, strict=True)]
    measured = [_interval("measured", name, -APART, *each.measured) for each, name in zip(found, names, strict=True)]
    add(chart, Intervals(MUTED), [row for row in predicted if row is not None], "predicted")
    add(chart, Intervals(SERIES[0]), [row for row in measured if row is not None], "measured")
    says = f"Share of the read wait for the same work: to go, and gone, with 90 % intervals.{_left_out(judged)}"
    height = FRAME_HEIGHT + 20 + 36 * len(found)
    return Figure(name="predicted", title="Predicted and measured", says=says, chart=chart, height=height)


def _left_out(rows: Sequence[object]) -> str:
    """That a picture shows the last rows only, where it does."""
    return f" The last {MOST_ROWS} of {len(rows)}." if len(rows) > MOST_ROWS else ""


def _floor(value: float) -> float:
    """What is off the axis is drawn at its end."""
    return max(-1.0, min(1.0, value))


def _interval(
    word: str, name: str, above: float, mean: float, low: float, high: float
) -> tuple[float, str, float | None, float | None, float, str] | None:
    """A row of ``Intervals``; None where the mean is not known."""
    if isnan(mean):
        return None
    known = isfinite(low) and isfinite(high)
    between = f", between {format_ratio(low)} and {format_ratio(high)}" if known else ""
    ends = (_floor(low), _floor(high)) if known else (None, None)
    return (_floor(mean), name, *ends, above, f"{name}: {word} {format_ratio(mean)}{between}")


# -- as the last plan saw it -----------------------------------------------------------------------------------------


def _time_spent(_: Report, figures: ReportFigures) -> Figure | None:
    """How many sessions are at what."""
    spent = figures.spent
    if not spent:
        return None
    chart = Chart()
    across_from_zero(chart, max(each.sessions for each in spent))
    rows_with_names(chart, [each.what for each in spent], lambda name: shorten_name(name, NAME_WIDTH + 12))
    colors = {"tier": SERIES[0], "other": SERIES[4]}
    rows = [(e.sessions, e.what, format_rate(e.sessions), colors.get(e.kind, SERIES[1])) for e in spent]
    add(chart, Bars(SERIES[0]), rows)
    says = (
        "Average sessions at each, as the last plan knew it: reads of tiers by the model, log, temporary and undo "
        "space as measured."
    )
    height = FRAME_HEIGHT + 30 * len(spent)
    return Figure(name="spent", title="Where the time goes", says=says, chart=chart, height=height)


def _sizing(_: Report, figures: ReportFigures) -> Figure | None:
    """The curve with where the database stands."""
    return None if figures.sizing is None else curve_figure(curve_of(figures.sizing), width=WIDTH, height=HEIGHT + 20)


PICTURES: tuple[tuple[str, Draw, str], ...] = (
    ("Waits before and after", _results, "no move of this time was measured yet"),
    ("Sessions waiting for reads", _waits, "it takes some minutes of watching by the daemon"),
    ("How full each tier is", _fills, "it takes plans of three hours, and the capacity of the tier's spaces"),
    ("Hottest units", _hot_units, "it takes a plan and two hours of watching"),
    ("Heat inside a table", _inside, "no large hot table was looked into for two hours (hotplace doctor: block_looks)"),
    ("What more fast storage would save", _sizing, "it takes a plan, and demand that a faster tier serves sooner"),
    ("Predicted and measured", _comparisons, "no outcome of this time was measured yet"),
    ("Before and after each move", _changes, "no move of this time was measured alone yet"),
    ("Where the time goes", _time_spent, "it takes a plan of a database that waits for something"),
)


_State = TypeVar("_State", bound=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One figure with its name."""

    title: str
    text: str
    alarming: bool = False


def cards_of(report: DatabaseReported, figures: ReportFigures) -> list[Fact]:
    """What came of it, what was done, and how things are now, as far as that is known."""
    totals = report.totals
    return [
        Fact(title="result", text=report.result, alarming="hurt" in report.result),
        Fact(title="proposals", text=_count(totals.proposals, totals.proposals_by_state)),
        Fact(title="moves", text=_count(totals.moves, moves_by_state(totals))),
        Fact(title="moved", text=moved_text(totals)),
        Fact(title="outcomes", text=outcomes_text(totals), alarming=OutcomeVerdict.HURT in totals.outcomes_by_verdict),
        *_now(figures),
        Fact(title="audit chain", text=report.audit.sentence, alarming=not report.audit.ok),
    ]


def _count(number: int, by_state: Mapping[_State, int]) -> str:
    return f"{number}: {counted(by_state)}" if len(by_state) > 1 else counted(by_state)


def _now(figures: ReportFigures) -> Iterator[Fact]:
    """What sessions wait for most, and how full the fastest tier is."""
    waits = [each for each in figures.spent if each.kind != "other"]
    if waits and waits[0].sessions > 0:
        everything = sum(each.sessions for each in figures.spent)
        text = f"{waits[0].what}: {format_rate(waits[0].sessions)} of {format_rate(everything)} sessions"
        yield Fact(title="longest wait for storage", text=text)
    if figures.fills and figures.tiers:
        tier, last = figures.tiers[0], figures.fills[-1]
        used, capacity = last.used_bytes.get(tier, 0), last.capacity_bytes.get(tier)
        full = f"{format_ratio(used / capacity)} of {format_bytes(capacity)}" if capacity else format_bytes(used)
        yield Fact(title=f"fill of {tier}", text=full)
