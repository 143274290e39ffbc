"""Charts of the library with the axes that hotplace uses: times, bytes, sessions, names of units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from math import floor, log10
from typing import Final

from leather import Chart, Linear, Ordinal, Series
from leather.scales import Scale
from leather.shapes import Shape

from agent.plots.shapes import Row
from connectors.formatting import format_bytes

MOST_LONG_LABELS, LONG_LABEL_EDGE = 2, 0.03  # labels of a day and a time; share of the axis at either end without
MOST_TIME_TICKS: Final = 7
_HOUR: Final = 3600
_TIME_STEPS: Final = (
    *(60 * minutes for minutes in (1, 2, 5, 10, 20, 30)),
    *(_HOUR * hours for hours in (1, 2, 3, 6, 12, 24, 48, 96, 168, 336, 672, 2016, 4032)),
)
_DAY_STEP: Final = 24 * _HOUR
_LEAST: Final = 1e-6  # the top of an axis on which nothing is more than 0


class Exact(Scale):
    """A linear scale that ends where it is said to: the library's own goes on to the next tick."""

    def __init__(self, least: float, most: float, ticks: Sequence[float]) -> None:
        self._least, self._most, self._ticks = least, most, ticks

    def contains(self, value: float) -> bool:
        """Whether it lies within."""
        return self._least <= value <= self._most

    def project(self, value: float, range_min: float, range_max: float) -> float:
        """Where a value is in the range."""
        share = (float(value) - self._least) / (self._most - self._least)
        return float(range_min) + share * (float(range_max) - float(range_min))

    def ticks(self) -> Sequence[float]:
        """Where lines and labels are."""
        return self._ticks


class Logarithmic(Exact):
    """Powers of ten, from the one below the least to the one above the most."""

    def __init__(self, least: float, most: float) -> None:
        low, high = floor(log10(least)), floor(log10(most)) + 1
        super().__init__(low, high, [10.0**power for power in range(low, high + 1)])

    def contains(self, value: float) -> bool:
        """Whether it lies within."""
        return value > 0 and super().contains(log10(value))

    def project(self, value: float, range_min: float, range_max: float) -> float:
        """Where a value is in the range."""
        return super().project(log10(value), range_min, range_max)


def add(chart: Chart, shape: Shape, rows: Sequence[Row], name: str = "") -> None:
    """A series of rows whose first two columns are x and y; nothing where there are none."""
    if rows:
        chart.add_series(Series(list(rows), name=name), shape)


def upward_from_zero(chart: Chart, most: float, label: Callable[[float], str] = "{:g}".format) -> None:
    """A vertical axis from 0, with ticks at round figures."""
    chart.set_y_scale(Linear(0.0, max(most, _LEAST)))
    chart.add_y_axis(tick_formatter=lambda value, _, __: label(float(value)))


def across_from_zero(chart: Chart, most: float, label: Callable[[float], str] = "{:g}".format) -> None:
    """The same from left to right."""
    chart.set_x_scale(Linear(0.0, max(most, _LEAST)))
    chart.add_x_axis(tick_formatter=lambda value, _, __: label(float(value)))


def byte_unit(most: float) -> float:
    """The largest binary unit of which that is at least one: values are divided by it, so that ticks are round."""
    return float(1024.0 ** floor(log10(max(1.0, most)) / log10(1024)))


def byte_label(unit: float) -> Callable[[float], str]:
    """Labels of an axis in that unit."""
    return lambda value: format_bytes(value * unit).replace(".0 ", " ")


def over_time(chart: Chart, since: datetime, until: datetime) -> None:
    """A horizontal axis of instants as seconds since 1970, labelled in the zone of this machine."""
    ticks = time_ticks(since, until)
    by_day = len(ticks) < 2 or ticks[1] - ticks[0] >= _DAY_STEP - _HOUR  # a day in spring has 23 hours
    pattern = "%d %b" if by_day else "%d %b %H:%M" if until - since > timedelta(days=1) else "%H:%M"
    if pattern == "%d %b %H:%M":
        ticks = _with_long_labels(ticks, since.timestamp(), until.timestamp())
    chart.set_x_scale(Exact(since.timestamp(), until.timestamp(), ticks))
    chart.add_x_axis(tick_formatter=lambda value, _, __: datetime.fromtimestamp(value).astimezone().strftime(pattern))


def _with_long_labels(ticks: list[float], since: float, until: float) -> list[float]:
    """Those whose labels, of a day and a time, neither touch one another nor leave the picture at its ends."""
    edge = (until - since) * LONG_LABEL_EDGE
    within = [tick for tick in ticks if since + edge <= tick <= until - edge]
    return within[:: -(-len(within) // MOST_LONG_LABELS)] if within else ticks[:1]


def time_ticks(since: datetime, until: datetime) -> list[float]:
    """Round instants within a period, in the zone of this machine, as seconds since 1970; eight at most."""
    span = (until - since).total_seconds()
    step = next((step for step in _TIME_STEPS if span / step <= MOST_TIME_TICKS), _TIME_STEPS[-1])
    midnight = since.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    ticks = []
    at = midnight.replace(tzinfo=None)
    while (instant := at.astimezone().timestamp()) <= until.timestamp():
        if instant >= since.timestamp():
            ticks.append(instant)
        at += timedelta(seconds=step)
    return ticks


def rows_with_names(chart: Chart, names: Sequence[str], label: Callable[[str], str] = str) -> None:
    """A vertical axis of names, the first one on top."""
    chart.set_y_scale(Ordinal(list(reversed(names))))
    chart.add_y_axis(tick_formatter=lambda value, _, __: label(value))
