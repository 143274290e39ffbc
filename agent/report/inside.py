"""The figures of the heat inside one table: its blocks down, time across."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from agent.block_heat.stored import load_block_heat
from agent.ledger import Ledger
from agent.report.content import Report
from agent.terminal.heat_map import mean_of_rows
from connectors.model import F64, I64
from policies.block_heat.range_heat import RangeHeat

MOST_PLACES, MOST_CELLS = 16, 42  # rows and columns of the picture
HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InsideUnit:
    """Reads from storage of one unit by place and time; a place holds as many bytes as any other."""

    unit: str = ""  # "": none was looked into
    starts: tuple[datetime, ...] = ()  # of cells; there are gaps where no look was taken
    cell_seconds: float = 0.0
    place_bytes: tuple[int, ...] = ()  # where each place begins
    reads_per_second: tuple[tuple[float, ...], ...] = ()  # (places, starts)


def inside_of(ledger: Ledger, report: Report) -> InsideUnit:
    """Of the unit that was read most of those that were looked into within the time of the report."""
    known = {
        key: heat
        for key, heat in load_block_heat(ledger, report.database).items()
        if _among(heat, report).sum() > 1 and heat.blocks
    }
    if not known:
        return InsideUnit()
    unit = max(known, key=lambda key: (_rate(known[key]), key))
    return _picture(unit, known[unit], report)


def inside_document(inside: InsideUnit) -> Mapping[str, Any] | None:
    """As JSON values; None where no unit was looked into."""
    if not inside.unit:
        return None
    return {
        "unit": inside.unit,
        "starts": list(inside.starts),
        "cell_seconds": inside.cell_seconds,
        "places": [
            {"from_bytes": begins, "reads_per_second": list(rates)}
            for begins, rates in zip(inside.place_bytes, inside.reads_per_second, strict=True)
        ],
    }


def _among(heat: RangeHeat, report: Report) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which hours of the picture belong to the time of the report."""
    since, until = report.since.timestamp() / HOUR, report.until.timestamp() / HOUR
    return np.asarray((heat.hour + 1 > since) & (heat.hour <= until), dtype=np.bool_)


def _rate(heat: RangeHeat) -> float:
    return heat.estimated / heat.seconds if heat.seconds > 0 else 0.0


def _picture(unit: str, heat: RangeHeat, report: Report) -> InsideUnit:
    among = _among(heat, report)
    hours, rates = heat.hour[among], heat.by_hour[among]
    width = -(-int(hours[-1] - hours[0] + 1) // MOST_CELLS)
    places = mean_of_rows(rates.T, min(MOST_PLACES, heat.ranges)) * heat.ranges / min(MOST_PLACES, heat.ranges)
    cells, starts = _by_cell(hours, places, width)
    size = heat.blocks * heat.block_bytes
    return InsideUnit(
        unit=unit,
        starts=tuple(datetime.fromtimestamp(start * HOUR, UTC) for start in starts),
        cell_seconds=width * HOUR,
        place_bytes=tuple(size * place // len(cells) for place in range(len(cells))),
        reads_per_second=tuple(tuple(round(rate, 3) for rate in row) for row in cells.tolist()),
    )


def _by_cell(hours: I64, places: F64, width: int) -> tuple[F64, list[int]]:
    """Means of so many hours each, ``(places, cells)``, and the first hour of each cell."""
    cell = (hours - hours[0]) // width
    numbers = np.unique(cell)
    means = np.stack([places[:, cell == number].mean(axis=1) for number in numbers], axis=1)
    return means, (hours[0] + numbers * width).tolist()
