"""An assessment as a page that can be taken to a meeting: pictures, tables, and what the files cannot tell."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from leather import Chart

from agent.model.answers.setup import Assessment, UnitAssessed
from agent.pages.plots import (
    HEIGHT,
    SERIES,
    VARIABLES,
    WIDTH,
    Bars,
    Figure,
    Intervals,
    across_from_zero,
    add,
    curve_figure,
    rows_with_names,
)
from agent.pages.report import page_environment
from agent.planning.read_times import read_times_of
from agent.terminal.charts import ChartMark, Curve
from agent.terminal.tables import shorten_name
from connectors.model.formatting import (
    format_bytes,
    format_rate,
    format_ratio,
    format_seconds,
    format_sessions,
    format_wait,
)
from policies.evidence.prices import HOUR

MOST_ROWS = 12  # of a picture
MOST_LINES = 60  # of a table
NAME_WIDTH = 24  # characters on an axis
ROW_HEIGHT = 24
FRAME_HEIGHT = 64  # axis, legend, margins


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessedPicture:
    """One picture, or why there is none."""

    title: str
    figure: Figure | None
    missing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessedPart:
    """What the page shows of one assessment."""

    number: int
    shown: Assessment
    facts: tuple[tuple[str, str], ...]
    pictures: tuple[AssessedPicture, ...]
    spaces: tuple[Sequence[str], ...]
    units: tuple[Sequence[str], ...]
    left_out: int  # units that the table does not show


def assessed_page(assessments: Sequence[Assessment]) -> str:
    """One self-contained page without scripts; every text from a file is escaped."""
    parts = [_part(number, each) for number, each in enumerate(assessments, start=1)]
    return (
        page_environment().get_template("assessed.html").render(parts=parts, colors=VARIABLES, read_times=_read_times)
    )


def _part(number: int, shown: Assessment) -> AssessedPart:
    return AssessedPart(
        number=number,
        shown=shown,
        facts=tuple(_facts(shown)),
        pictures=tuple(_pictures(number, shown)),
        spaces=tuple(_space_row(shown)),
        units=tuple(_unit_row(unit) for unit in shown.units[:MOST_LINES]),
        left_out=max(0, len(shown.units) - MOST_LINES),
    )


def _facts(shown: Assessment) -> Iterator[tuple[str, str]]:
    """The figures for who reads nothing else."""
    yield "period", format_seconds(shown.seconds)
    if not isnan(shown.read_wait_per_hour_seconds):
        timed = not isnan(shown.measured_read_wait_per_hour_seconds)
        yield "read wait" if timed else "read wait, not timed", format_wait(shown.read_wait_per_hour_seconds)
    if not isnan(shown.read_wait_of_session_time_ratio):
        yield "of the sessions' time", format_ratio(shown.read_wait_of_session_time_ratio)
    if shown.spaces:
        saved = sum(each.wait_saved_per_hour_seconds for each in shown.spaces)
        yield "all on fast storage saves", format_wait(saved)
    if shown.knee is not None:
        saves = format_wait(shown.knee.wait_saved_per_hour_seconds)
        yield "knee of the curve", f"{format_bytes(shown.knee.bytes)} saves {saves}"


# -- pictures --------------------------------------------------------------------------------------------------------


def _pictures(number: int, shown: Assessment) -> Iterator[AssessedPicture]:
    yield AssessedPicture(
        title="Waits by kind of read", figure=_by_kind(number, shown), missing="the files do not time waits by kind"
    )
    yield AssessedPicture(title="Waits by space", figure=_by_space(number, shown), missing="no space has a wait")
    yield AssessedPicture(title="Waits by object", figure=_by_unit(number, shown), missing="no object has a wait")
    yield AssessedPicture(
        title="What fast storage saves, by its size", figure=_sizing(number, shown),
        missing="the files have no sizes: see --sizes" if shown.curve is None else "fast storage would save nothing",
    )  # fmt: skip


def _by_kind(number: int, shown: Assessment) -> Figure | None:
    """How many sessions wait for each kind of read."""
    kinds = sorted(shown.waits_by_kind, key=lambda kind: -kind.wait_per_hour_seconds)
    rows = [
        (_sessions(kind.wait_per_hour_seconds), kind.kind, _sessions_text(kind.wait_per_hour_seconds),
         SERIES[0] if kind.of_objects else SERIES[4])
        for kind in kinds
    ]  # fmt: skip
    events = ", ".join(f"{kind.kind} ({', '.join(kind.events)})" for kind in kinds if kind.events)
    return _bars(
        f"kinds-{number}", "Waits by kind of read", rows, f"Sessions that wait on average, by these events: {events}."
    )


def _by_space(number: int, shown: Assessment) -> Figure | None:
    """The same by space, with what fast storage would save of it."""
    spaces = [space for space in shown.spaces if space.wait_per_hour_seconds > 0]
    rows = [
        (_sessions(space.wait_per_hour_seconds), space.space, _sessions_text(space.wait_per_hour_seconds), SERIES[0])
        for space in spaces[:MOST_ROWS]
    ]
    says = f"Sessions that wait on average for reads of each space.{_first(spaces)}"
    return _bars(f"spaces-{number}", "Waits by space", rows, says)


def _bars(name: str, title: str, rows: list[tuple[float, str, str, str]], says: str) -> Figure | None:
    if not rows:
        return None
    chart = Chart()
    across_from_zero(chart, max(row[0] for row in rows))
    rows_with_names(chart, [row[1] for row in rows], lambda text: shorten_name(text, NAME_WIDTH + 6))
    add(chart, Bars(SERIES[0]), rows)
    return Figure(name=name, title=title, says=says, chart=chart, height=FRAME_HEIGHT + ROW_HEIGHT * len(rows))


def _by_unit(number: int, shown: Assessment) -> Figure | None:
    """Objects with the least and the most that the files leave possible."""
    units = shown.units[:MOST_ROWS]
    if not units:
        return None
    chart, names = Chart(), _unlike([unit.unit for unit in units])
    across_from_zero(chart, max(_sessions(unit.wait_high_per_hour_seconds) for unit in units))
    rows_with_names(chart, names)
    rows: list[tuple[Any, ...]] = [
        (_sessions(unit.wait_per_hour_seconds), name, _sessions(unit.wait_low_per_hour_seconds),
         _sessions(unit.wait_high_per_hour_seconds), 0.0, f"{unit.unit}: {_between(unit)}")
        for name, unit in zip(names, units, strict=True)
    ]  # fmt: skip
    add(chart, Intervals(SERIES[0]), rows)
    says = (
        "Sessions that wait on average for reads of each object; the line is what the files leave possible."
        f"{_first(shown.units)}"
    )
    height = FRAME_HEIGHT + ROW_HEIGHT * len(units)
    return Figure(name=f"objects-{number}", title="Waits by object", says=says, chart=chart, height=height)


def _unlike(names: Sequence[str]) -> list[str]:
    """Names for an axis, shortened, and none twice."""
    found: list[str] = []
    for name in names:
        short, at = shorten_name(name, NAME_WIDTH), 1
        while short in found:
            at += 1
            short = f"{shorten_name(name, NAME_WIDTH - 3)} {at}"
        found.append(short)
    return found


def _first(rows: Sequence[object]) -> str:
    return f" The first {MOST_ROWS} of {len(rows)}." if len(rows) > MOST_ROWS else ""


def _sizing(number: int, shown: Assessment) -> Figure | None:
    """Whole objects on fast storage of every size, with what the files leave possible of each."""
    curve = shown.curve
    if not curve or not curve[-1].wait_saved_per_hour_seconds > 0:
        return None
    most = curve[-1].wait_saved_per_hour_seconds
    sizes, low, high = _possible(shown.units)
    ends = [_at(sizes, low, high, point.bytes, point.wait_saved_per_hour_seconds) for point in curve]
    knee = shown.knee
    marks = () if knee is None else (
        ChartMark(sign="K", name="knee", size_bytes=knee.bytes, saved_per_hour=knee.wait_saved_per_hour_seconds),
    )  # fmt: skip
    drawn = curve_figure(
        Curve(
            title="What fast storage saves, by its size",
            size_bytes=[point.bytes for point in curve],
            saved_per_hour=[point.wait_saved_per_hour_seconds for point in curve],
            bound_per_hour=[end[1] for end in ends],
            most_bytes=max(1, curve[-1].bytes),
            most_per_hour=most,
            marks=marks,
            between_per_hour=ends,
        ),
        width=WIDTH,
        height=HEIGHT + 20,
    )  # fmt: skip
    says = f"{drawn.says.replace('Shaded: by how queues shorten.', '')} Shaded: what the files leave possible."
    return Figure(
        name=f"sizing-{number}", title=drawn.title, says=says, chart=drawn.chart, width=drawn.width, height=drawn.height
    )


def _possible(units: Sequence[UnitAssessed]) -> tuple[list[int], list[float], list[float]]:
    """Sizes, and what objects of known size save on so much at least and at most, the densest first."""
    sized = [unit for unit in units if unit.bytes and unit.wait_per_hour_seconds > 0]
    sized.sort(key=lambda unit: -unit.wait_saved_per_hour_seconds / max(1, unit.bytes or 0))
    sizes, low, high = [0], [0.0], [0.0]
    for unit in sized:
        ratio = unit.wait_saved_per_hour_seconds / unit.wait_per_hour_seconds
        sizes.append(sizes[-1] + (unit.bytes or 0))
        low.append(low[-1] + ratio * unit.wait_low_per_hour_seconds)
        high.append(high[-1] + ratio * unit.wait_high_per_hour_seconds)
    return sizes, low, high


def _at(
    sizes: Sequence[int], low: Sequence[float], high: Sequence[float], size: int, saved: float
) -> tuple[float, float]:
    """Ends at a size, around what is saved there."""
    row = bisect_right(sizes, size) - 1
    return min(saved, low[row]), max(saved, high[row])


# -- tables ----------------------------------------------------------------------------------------------------------


def _space_row(shown: Assessment) -> Iterator[Sequence[str]]:
    for each in shown.spaces[:MOST_LINES]:
        yield (
            each.space,
            "" if isnan(each.reads_per_second) else format_rate(each.reads_per_second),
            "" if isnan(each.read_seconds) else format_seconds(each.read_seconds),
            _sessions_text(each.wait_per_hour_seconds),
            _sessions_text(each.wait_saved_per_hour_seconds),
            "" if each.bytes is None else format_bytes(each.bytes),
        )


def _unit_row(unit: UnitAssessed) -> Sequence[str]:
    return (
        unit.unit, unit.space or "", _sessions_text(unit.wait_per_hour_seconds), _between(unit),
        _sessions_text(unit.wait_saved_per_hour_seconds), "" if unit.bytes is None else format_bytes(unit.bytes),
    )  # fmt: skip


def _between(unit: UnitAssessed) -> str:
    low, high = _sessions_text(unit.wait_low_per_hour_seconds), _sessions_text(unit.wait_high_per_hour_seconds)
    return low if low == high else f"{low} to {high}"


def _sessions(seconds_per_hour: float) -> float:
    return seconds_per_hour / HOUR


def _sessions_text(seconds_per_hour: float) -> str:
    return format_sessions(seconds_per_hour)


def _read_times(shown: Assessment) -> str:
    """How fast both kinds of storage are taken to be."""
    return read_times_of(shown.tiers)
