"""The figures of the heat inside one table: its blocks down, time across."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from agent.answers.report import InsideOverTime, PlaceOverTime
from agent.block_heat.stored import load_block_heat
from agent.ledger import Ledger
from agent.report.content import Report
from agent.terminal.heat_map import mean_of_rows
from connectors.model import F64, I64
from policies.block_heat.range_heat import RangeHeat

MOST_PLACES, MOST_CELLS = 16, 42  # rows and columns of the picture
HOUR = 3600.0


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
    width = -(-int(hours[-1] - hours[0] + 1) // MOST_CELLS)
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
