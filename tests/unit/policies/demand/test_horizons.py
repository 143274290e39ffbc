"""Horizons: the memory that would have placed best is the one that counts, and what a move has brought is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from connectors.model.observation import F64, SIGNALS, Signal
from policies.evidence import seasons
from policies.evidence.heat import index_of
from policies.evidence.horizons import (
    BY_UNIT,
    FORECASTS,
    HALF_LIVES,
    LASTING,
    HorizonState,
    Site,
    dearest_copy,
    earned_seconds,
    expected_demand,
    horizon_arrays,
    horizons_from_arrays,
    judge_forecasts,
    watch_interval,
    with_expected_demand,
)
from policies.evidence.seasons import SeasonState
from policies.model.plan import HeatView

UNITS, DAYS, HOUR = 40, 12, 3600.0
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
HERE = np.arange(UNITS, dtype=np.int64)
ALL = np.ones(UNITS, dtype=np.bool_)
DAY_FORECAST = len(HALF_LIVES)
Load = Callable[[int, np.random.Generator], F64]  # hour -> wait seconds per second of each unit


def site(cost: float = 300.0, room: float = UNITS / 5) -> Site:
    """Units of a byte each, so many of which fit."""
    none = np.zeros(UNITS, dtype=np.bool_)
    return Site(slot=HERE, size=np.ones(UNITS, np.int64), cost=np.full(UNITS, cost), fast=none, room=room)


def lived(load: Load, days: int = DAYS, place: Site | None = None) -> tuple[HorizonState, SeasonState]:
    """So many days of some units, sampled and judged hourly."""
    draw, state, cells = np.random.default_rng(1), HorizonState(), seasons.empty_seasons(UNITS)
    for hour in range(days * 24):
        index, at = load(hour, draw), MONDAY + timedelta(hours=hour)
        cells = seasons.learnt(cells, at + timedelta(minutes=30), HOUR, HERE, index, ALL)
        state = watch_interval(state, cells, at + timedelta(minutes=30), HOUR, HERE, index, ALL)
        state = judge_forecasts(state, cells, at + timedelta(hours=1), place or site())
    return state, cells


def noisy(hour: int, draw: np.random.Generator) -> F64:
    """Some are busier than others, and chance."""
    return 0.05 / (1.0 + HERE) ** 0.3 * draw.lognormal(0.0, 0.5, UNITS)


def hot_for_a_day(hour: int, draw: np.random.Generator) -> F64:
    """Every day other units are thirty times as busy, from another hour on."""
    return np.where((hour + hour // 24 * 3) // 24 % 6 == HERE % 6, 30.0, 1.0) * 0.01 * draw.lognormal(0.0, 0.3, UNITS)


def by_day(hour: int, draw: np.random.Generator) -> F64:
    """Half of the units work from 8 to 20, the others from 20 to 8; less wait than there is room for in neither."""
    return np.where((HERE % 2 == 0) == (8 <= hour % 24 < 20), 1.0, 0.02) * noisy(hour, draw)


@pytest.mark.parametrize(("load", "best"), [(noisy, (2, 3)), (hot_for_a_day, (0, 1)), (by_day, (DAY_FORECAST,))])
def test_who_would_have_placed_best_leads(load: Load, best: tuple[int, ...]) -> None:
    """Days of memory where only chance moves heat, hours where it wanders, and the day where it returns."""
    state, _ = lived(load)
    assert int(state.shares.argmax()) in best
    assert state.shares[list(best)].sum() > 0.5
    low, high = LASTING[list(best)].min(), LASTING.max()
    assert min(low, LASTING[state.shares.argmax()]) * 0.5 * HOUR < state.lasting_seconds <= high * HOUR


def test_dear_copies_make_memory_long() -> None:
    """Where a copy costs as much as days of wait, whoever moves with every change has placed badly."""
    cheap, dear = (lived(noisy, place=site(cost))[0].shares for cost in (0.0, 600.0))
    assert dear[:2].sum() < cheap[:2].sum()


def test_nothing_seen_is_judged_equal() -> None:
    """All forecasts of units weigh the same before any has placed one, and where nothing was saved."""
    equal = np.where(np.arange(FORECASTS) < BY_UNIT, 1 / BY_UNIT, 0.0)
    assert HorizonState().shares == pytest.approx(equal)
    assert lived(noisy, days=1, place=site(1e9))[0].shares == pytest.approx(equal)


def test_the_mix_is_what_units_are_ranked_by() -> None:
    """After the working day of half of the units the others are expected, and heat by both horizons is that."""
    state, cells = lived(by_day)
    slots, expected = expected_demand(state, cells, MONDAY + timedelta(days=DAYS, hours=20))
    even, odd = expected[::2].sum(), expected[1::2].sum()
    assert odd > 5 * even
    rates = np.zeros((SIGNALS, UNITS + 1))
    rates[Signal.SYNC_READ], rates[Signal.LOGICAL_READ] = 10.0, 40.0
    zeros = np.zeros(UNITS + 1)
    heat = HeatView(rates=rates * 2, observed_seconds=zeros, confidence=zeros, steady=rates)
    rows = np.append(HERE, -1)  # the last has no slot
    found = with_expected_demand(heat, rows, slots, expected)
    assert found.steady is not None
    assert index_of(found.steady)[:-1] == pytest.approx(expected)
    np.testing.assert_array_equal(found.rates[:, :-1], found.steady[:, :-1])
    assert found.steady[Signal.LOGICAL_READ, 0] == pytest.approx(4 * found.steady[Signal.SYNC_READ, 0])
    np.testing.assert_array_equal(found.rates[:, -1], 2 * rates[:, -1])
    np.testing.assert_array_equal(rates[Signal.SYNC_READ], 10.0, "the given view is not changed")


def test_what_a_unit_earned_counts_from_its_move() -> None:
    """Seconds of wait since it came where it is, less the 300 s of that copy; those before count for nothing."""
    state, cells = HorizonState(), seasons.empty_seasons(UNITS)
    index = np.full(UNITS, 0.5)
    for hour in range(6):
        at = MONDAY + timedelta(hours=hour)
        cells = seasons.learnt(cells, at, HOUR, HERE, index, ALL)
        state = watch_interval(state, cells, at, HOUR, HERE, index, ALL)
        state = judge_forecasts(state, cells, at, replace(site(), fast=(HERE == 0) & (hour >= 3)))
    slots = np.array([0, 1, -1, UNITS])
    earned = earned_seconds(state, slots, slots == 0)
    assert earned == pytest.approx([2 * 0.5 * HOUR - 300.0, 6 * 0.5 * HOUR, 0.0, 0.0])


def nightly(hour: int, draw: np.random.Generator) -> F64:
    """Each waits a tenth of a session, and from 1 to 5 at night, for batch work, a whole one."""
    return np.full(UNITS, 1.0 if 1 <= hour % 24 < 5 else 0.1)


@pytest.mark.parametrize(("hour", "times"), [(1, 10.0), (12, 1.0)])
def test_a_copy_is_dear_when_batch_work_begins(hour: int, times: float) -> None:
    """At 1 at night ten times as many will wait, by the hours of the day; recent work knows it not. At noon no more."""
    state, cells = lived(nightly)
    for step in range(hour):
        at = MONDAY + timedelta(days=DAYS, hours=step, minutes=30)
        state = watch_interval(state, cells, at, HOUR, HERE, nightly(step, np.random.default_rng(1)), ALL)
    assert dearest_copy(state, cells, MONDAY + timedelta(days=DAYS, hours=hour)) == pytest.approx(times, rel=0.3)
    assert dearest_copy(HorizonState(), seasons.empty_seasons(UNITS), MONDAY) == 1.0


def test_who_comes_up_amid_batch_work_pays_for_a_dear_copy() -> None:
    """At 1 at night as many more sessions are held up as then wait: 300 s by recent work are thousands."""
    state, cells = lived(nightly)
    night = MONDAY + timedelta(days=DAYS, hours=1)
    times = dearest_copy(state, cells, night)
    moved = judge_forecasts(replace(state, waited=HOUR), cells, night, replace(site(), fast=HERE == 0))
    assert times > 5
    assert earned_seconds(moved, HERE, HERE == 0)[0] == pytest.approx(-300.0 * times, rel=0.01)


def test_an_idle_night_makes_no_morning_dear() -> None:
    """Less than one session is no price to compare with: a copy is priced at one."""
    state, cells = lived(lambda hour, _draw: np.full(UNITS, 2.0 / UNITS if hour % 24 < 8 else 0.0))
    assert dearest_copy(state, cells, MONDAY + timedelta(days=DAYS)) == pytest.approx(2.0, rel=0.01)


def test_what_a_unit_waited_before_its_move_does_not_pay_for_it() -> None:
    """Between a move and the next judgement the unit has earned nothing yet, however long it waited before."""
    state, _ = lived(noisy, days=2)
    up = HERE == 0
    assert earned_seconds(state, HERE, ~ALL)[0] > HOUR
    moved = earned_seconds(state, HERE, up)
    assert moved[0] == 0.0
    np.testing.assert_array_equal(moved[1:], state.earned[1:])


def test_an_interval_without_evidence_teaches_nothing() -> None:
    """A unit whose counters restarted is as hot as before; one without demand that was watched has cooled."""
    state, cells = lived(noisy, days=2)
    before = expected_demand(state, cells, MONDAY)[1]
    lost = HERE == 0
    state = watch_interval(state, cells, MONDAY, HOUR, HERE[:0], np.zeros(0), ~lost)
    after = expected_demand(state, cells, MONDAY)[1]
    assert after[0] == before[0]
    assert (after[1:] < before[1:]).all()


def test_columns_follow_the_units_that_matter() -> None:
    """Who loses its cells loses its columns, whoever comes knows nothing, the others keep what they know."""
    state, cells = lived(noisy, days=2)
    fewer = replace(cells, slot=np.append(HERE[5:], UNITS + 7))
    moved = watch_interval(state, fewer, MONDAY, 1e-9, HERE[:0], np.zeros(0), np.ones(UNITS + 8, dtype=np.bool_))
    np.testing.assert_array_equal(moved.slot, fewer.slot)
    np.testing.assert_allclose(moved.means[:, :-1], state.means[:, 5:], rtol=1e-6)
    np.testing.assert_array_equal(moved.resident[:, :-1], state.resident[:, 5:])
    assert (moved.weight[:, -1] < 1e-9).all()


def test_stored_horizons_come_back() -> None:
    """Bit by bit; what is stored in part or in the wrong shape is refused."""
    state, _ = lived(by_day, days=3)
    stored = horizon_arrays(state)
    again = horizon_arrays(horizons_from_arrays(stored))
    assert stored.keys() == again.keys()
    for name, column in stored.items():
        np.testing.assert_array_equal(again[name], column)
    with pytest.raises(ValueError, match="lack earned"):
        horizons_from_arrays({name: column for name, column in stored.items() if name != "earned"})
    with pytest.raises(ValueError, match="means"):
        horizons_from_arrays({**stored, "means": stored["means"][:, 1:]})
