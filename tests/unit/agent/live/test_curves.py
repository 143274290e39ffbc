"""Heat and waits over time, from a real ledger."""

from __future__ import annotations

import math
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from agent.cli.live_picture import CELLS, READ_PER_CELL, Curves, cell_of, spread
from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistoryRow, IntervalId
from connectors.model.observation import DatabaseDemand
from tests.ledger.clock import StillClock
from tests.unit.samples import MADE_AT

HOUR = timedelta(hours=1)


def test_heat_and_waits_of_the_last_hours(tmp_path: Path) -> None:
    """Each cell is the rate of its intervals; a unit that was not read is 0 there, one never met is not known."""
    with Ledger.open(tmp_path / "ledger.db", StillClock()) as ledger:
        slots = ledger.slots.of("shop", ["hot", "cold"])
        for hour in range(CELLS):
            end = MADE_AT - (CELLS - 1 - hour) * HOUR
            counts = np.array([[3600.0 * hour], [0.0], [0.0]])
            ledger.history.append("shop", end, 3600.0, slots[:1], counts)
            wait = math.nan if hour == 1 else float(hour)
            ledger.work.append("shop", end, 3600.0, DatabaseDemand(read_wait=wait))
        curves = Curves(ledger, "shop")
        span = curves.look(MADE_AT)
        assert span == (CELLS - 1) * HOUR
        heat = curves.heat(["hot", "cold", "never met"])
        assert heat["hot"][-1] == CELLS - 1
        assert list(heat["hot"]) == sorted(heat["hot"])
        assert set(heat["cold"]) == {0.0}
        assert all(map(math.isnan, heat["never met"]))
        assert (curves.waiting_now, curves.waits(MADE_AT, span)[-1]) == (CELLS - 1, CELLS - 1)
        assert len(ledger.slots.known("shop", ["never met"])) == 0, "to look gives no numbers"


def test_a_day_is_not_unpacked_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many intervals a cell has, a few of them are read, and again only those that were not."""
    with Ledger.open(tmp_path / "ledger.db", StillClock()) as ledger:
        slots = ledger.slots.of("shop", ["hot"])
        for minute in range(120):
            end = MADE_AT - timedelta(minutes=120 - minute)
            ledger.history.append("shop", end, 60.0, slots, np.array([[60.0], [0.0], [0.0]]))
        read: list[IntervalId] = []
        interval = ledger.history.interval

        def counted(number: IntervalId) -> HistoryRow | None:
            read.append(number)
            return interval(number)

        monkeypatch.setattr(ledger.history, "interval", counted)
        curves = Curves(ledger, "shop")
        curves.look(MADE_AT)
        assert len(read) <= CELLS * READ_PER_CELL
        assert curves.heat(["hot"])["hot"] == (1.0,) * CELLS
        before = len(read)
        curves.look(MADE_AT)
        assert len(read) == before


def test_cells_and_picks() -> None:
    """The last cell ends now, the first begins with the span; picks include both ends."""
    assert [cell_of(MADE_AT - hours * HOUR, MADE_AT, CELLS * HOUR) for hours in (0, 1, CELLS)] == [
        CELLS - 1,
        CELLS - 2,
        0,
    ]
    assert cell_of(MADE_AT, MADE_AT, timedelta(0)) == CELLS - 1
    assert spread(list(range(100)), 3) == [0, 50, 99]
    assert spread([1, 2], 3) == [1, 2]
