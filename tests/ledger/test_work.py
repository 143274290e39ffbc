"""The work of databases: by interval, exact, apart by database, dropped when it is old."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from agent.ledger.ledger import Ledger
from connectors.model.observation import DatabaseDemand
from tests.unit.samples import MADE_AT

MINUTE = timedelta(minutes=1)


def test_intervals_come_back_as_they_were(ledger: Ledger) -> None:
    """Those that ended later than asked for, the oldest first, of one database; what is unknown stays unknown."""
    for minute in (3, 1, 2):
        ledger.work.append("shop", MADE_AT + minute * MINUTE, 60.0, DatabaseDemand(reads=minute / 3))
    ledger.work.append("hr", MADE_AT + 2 * MINUTE, 60.0, DatabaseDemand(reads=9.0))
    seen = ledger.work.since("shop", MADE_AT + MINUTE)
    assert [(each.seconds, each.demand.reads) for each in seen] == [(60.0, 2 / 3), (60.0, 1.0)]
    assert math.isnan(seen[0].demand.read_wait)
    with pytest.raises(ValueError, match="lasts 0"):
        ledger.work.append("shop", MADE_AT, 0.0, DatabaseDemand())
    with pytest.raises(ValueError, match="JSON"):
        ledger.work.append("shop", MADE_AT, 60.0, DatabaseDemand(reads=math.inf))


def test_old_work_is_dropped(ledger: Ledger) -> None:
    """What ended before the instant goes, in every database, and nothing else."""
    for name in ("shop", "hr"):
        for minute in range(4):
            ledger.work.append(name, MADE_AT + minute * MINUTE, 60.0, DatabaseDemand(reads=1.0))
    assert ledger.work.drop(MADE_AT + 2 * MINUTE) == 4
    assert len(ledger.work.since("shop", MADE_AT - MINUTE)) == 2
