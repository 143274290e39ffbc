"""What part of the background work comes with the transactions, by hours of which it is known."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from connectors.model.observation import F64, SIGNALS, DatabaseDemand, Demand, Role, RoleFigures, Signal
from policies.evidence.workload import LEAST_HOURS, DatedWork, paced_by_hours, with_background
from policies.model.plan import NOT_KNOWN

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOURS = 168


def a_week(seed: int = 1) -> F64:
    """Transactions a second: busy by day, quiet by night, never twice the same."""
    draw = np.random.default_rng(seed)
    return np.asarray(
        100 * (1 + 0.6 * np.sin(np.arange(HOURS) / 24 * 2 * math.pi)) * np.exp(draw.normal(0, 0.1, HOURS))
    )


def hours(rates: F64, read_ahead: F64) -> list[DatedWork]:
    """An interval of each hour; twice as many writes as reads ahead, and no log that is counted."""
    return [
        DatedWork(
            seconds=3600.0,
            demand=DatabaseDemand(transactions=rate, read_ahead=ahead, written=2 * ahead),
            ended_at=NOON + timedelta(hours=at),
        )
        for at, (rate, ahead) in enumerate(zip(rates.tolist(), read_ahead.tolist(), strict=True))
    ]


@pytest.mark.parametrize("part", [0.0, 0.25, 0.6, 1.0])
def test_the_part_that_comes_with_the_work_is_found(part: float) -> None:
    """So much of the reads ahead goes with the transactions and the rest at a pace of its own: found within its ends.

    Twenty weeks, of which at least 17 lie inside ends that are to hold nine in ten; the mean is right to 0.05.
    """
    found, inside = [], 0
    for seed in range(20):
        rates, noise = a_week(seed), np.exp(np.random.default_rng(100 + seed).normal(0, 0.2, HOURS))
        ahead = 500 * (part * rates / 100 + (1 - part)) * noise
        paced = paced_by_hours(hours(rates, ahead), 0.9)
        true = part * rates.mean() / 100 / (part * rates.mean() / 100 + 1 - part)
        found.append(paced.read_ahead.share - true)
        inside += paced.read_ahead.least - 1e-9 <= true <= paced.read_ahead.most + 1e-9
        assert paced.writes == paced.read_ahead
        assert paced.log == NOT_KNOWN.log
    assert abs(np.mean(found)) < 0.05
    assert inside >= 17


def test_hours_that_err_alike_say_less() -> None:
    """A batch job that comes and goes for days: the ends are wider than where each hour errs by itself."""
    rates, draw = a_week(), np.random.default_rng(3)
    alone = draw.normal(0, 100, HOURS)
    drifting = np.zeros(HOURS)
    for at in range(1, HOURS):
        drifting[at] = 0.9 * drifting[at - 1] + alone[at] * math.sqrt(1 - 0.81)
    first, second = (paced_by_hours(hours(rates, 400 + rates + noise), 0.9).read_ahead for noise in (alone, drifting))
    assert second.most - second.least > 1.5 * (first.most - first.least)


def test_a_nightly_report_has_its_own_pace() -> None:
    """What rises as transactions fall does not come with them."""
    rates = a_week()
    assert paced_by_hours(hours(rates, 1000 - 5 * rates), 0.9).read_ahead.most == pytest.approx(0.0)


@pytest.mark.parametrize(
    "thin", [[], hours(a_week(), a_week())[: LEAST_HOURS - 1], hours(np.full(HOURS, 50.0), a_week()),
             hours(a_week(), np.zeros(HOURS)), hours(a_week(), np.full(HOURS, math.nan))],
)  # fmt: skip
def test_thin_evidence_says_nothing(thin: list[DatedWork]) -> None:
    """Too few hours, a rate that stays, nothing done, or nothing counted: half of it, with ends at none and all."""
    assert paced_by_hours(thin, 0.9) == NOT_KNOWN


@pytest.mark.parametrize(("gain", "known"), [(8.0, True), (1.2, False)])
def test_two_hours_around_moves_are_enough_if_the_rate_has_changed(gain: float, known: bool) -> None:
    """Minutes before and after moves that bring eight times the work lie on one line; a small change may be a cache."""
    draw = np.random.default_rng(1)
    rates = np.where(np.arange(130) < 65, 30.0, 30.0 * gain) * np.exp(draw.normal(0, 0.02, 130))
    minutes = [
        DatedWork(seconds=60.0, demand=DatabaseDemand(transactions=rate, read_ahead=4 * rate + draw.normal(0, 3)),
                  ended_at=NOON + timedelta(minutes=at))
        for at, rate in enumerate(rates.tolist())
    ]  # fmt: skip
    found = paced_by_hours(minutes, 0.9).read_ahead
    assert (found != NOT_KNOWN.read_ahead) == known
    if known:
        assert found.share > 0.95
        assert found.least > 0.9


def test_what_is_added_up_of_an_interval() -> None:
    """Reads ahead and past the pool, writes in the background, and bytes of the log, or its writes without these."""
    rates = np.zeros((SIGNALS, 2))
    rates[Signal.PREFETCHED_READ], rates[Signal.DIRECT_READ], rates[Signal.ASYNC_WRITE] = (1, 2), (3, 4), (5, 6)
    demand = Demand(
        ended_at=NOON, seconds=60.0, physical_id=np.arange(2, dtype=np.int64), rates=rates,
        observed=np.ones(2, dtype=np.bool_), estimated=frozenset(), database=DatabaseDemand(transactions=9.0),
        roles=(RoleFigures(role=Role.LOG, name="log", writes=7.0, written_bytes=4096.0),
               RoleFigures(role=Role.TEMP, name="temp", writes=70.0)),
    )  # fmt: skip
    found = with_background(demand).database
    assert (found.transactions, found.read_ahead, found.written, found.logged) == (9.0, 10.0, 11.0, 4096.0)
    only_writes = replace(demand, roles=(RoleFigures(role=Role.LOG, name="log", writes=7.0),))
    assert with_background(only_writes).database.logged == 7.0
    assert math.isnan(with_background(replace(demand, roles=())).database.logged)
