"""Closed, open or unknown, by the hours of loads that are known to be one of them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from connectors.model.observation import DatabaseDemand
from policies.evidence.workload import CLOSED, LEAST_HOURS, OPEN, UNKNOWN, DatedWork, load_by_hours

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOURS = 72


def hours(rates: list[float], latencies: list[float], sessions: list[float]) -> list[DatedWork]:
    """An interval of each hour."""
    return [
        DatedWork(
            seconds=3600.0,
            demand=DatabaseDemand(transactions=rate, active=rate * latency, population=population),
            ended_at=NOON + timedelta(hours=at),
        )
        for at, (rate, latency, population) in enumerate(zip(rates, latencies, sessions, strict=True))
    ]


def closed_load(noise: float = 0.02, count: int = HOURS, spread: float = 0.6) -> list[DatedWork]:
    """Eight sessions that think 20 ms, while storage is now fast and now slow."""
    draw = np.random.default_rng(1)
    latency = 0.03 * np.exp(draw.normal(0, spread, count))
    rate = 8 / (0.02 + latency) * np.exp(draw.normal(0, noise, count))
    return hours(rate.tolist(), latency.tolist(), (8 + draw.normal(0, 0.1, count)).tolist())


def open_load() -> list[DatedWork]:
    """A day's round of arrivals at a pool of 40, with a queue that is longer in busy hours."""
    draw = np.random.default_rng(2)
    rate = 100 * (1 + 0.6 * np.sin(np.arange(HOURS) / 24 * 2 * math.pi)) * np.exp(draw.normal(0, 0.05, HOURS))
    latency = 0.005 / (1 - 0.003 * rate)
    return hours(rate.tolist(), latency.tolist(), [40.0] * HOURS)


def test_sessions_that_wait_for_answers_are_a_closed_load() -> None:
    """The hours lie on the line of the response time law, with the slope of the sessions counted."""
    assert load_by_hours(closed_load()) == CLOSED


def test_work_that_comes_by_itself_is_an_open_load() -> None:
    """As many sessions as ever, and the rate goes its own way."""
    assert load_by_hours(open_load()) == OPEN


def test_long_reports_by_night_are_no_closed_load() -> None:
    """Few and slow by night, many and fast by day: a line, but of other sessions than there are."""
    rates = [10.0 if at % 24 < 8 else 400.0 for at in range(HOURS)]
    latencies = [0.9 if at % 24 < 8 else 0.01 for at in range(HOURS)]
    assert load_by_hours(hours(rates, latencies, [40.0] * HOURS)) == UNKNOWN


@pytest.mark.parametrize(
    "thin",
    [
        [],
        closed_load(count=LEAST_HOURS - 1),
        closed_load(spread=0.0),
        closed_load(noise=1.0),
        hours([100.0] * HOURS, [0.01] * HOURS, [8.0] * HOURS),
        hours([100.0] * HOURS, [0.01] * HOURS, [math.nan] * HOURS),
        hours([0.0] * HOURS, [math.nan] * HOURS, [8.0] * HOURS),
    ],
)
def test_thin_evidence_is_unknown(thin: list[DatedWork]) -> None:
    """Too few hours, nothing that differs, too much that does, or sessions that are not counted."""
    assert load_by_hours(thin) == UNKNOWN


def test_people_who_come_and_go_leave_it_unknown() -> None:
    """More sessions by day ask more: closed by the hour, open by the day, and nothing here tells them apart."""
    people = [8 + 40 * (at % 24 > 8) for at in range(HOURS)]
    rates = [each / 0.1 for each in people]
    assert load_by_hours(hours(rates, [0.02] * HOURS, [float(each) for each in people])) == UNKNOWN
