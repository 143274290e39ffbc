"""Partitions of a series are known by their place in it: the newest as the newest before it was."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from connectors.model.observation import F64, I64
from policies.evidence import seasons
from policies.evidence.horizons import (
    BY_UNIT,
    FORECASTS,
    HorizonState,
    Site,
    expected_demand,
    horizon_arrays,
    horizons_from_arrays,
    judge_forecasts,
    watch_interval,
    with_births,
)
from policies.evidence.seasons import SeasonState

MONDAY, HOUR = datetime(2026, 1, 5, tzinfo=UTC), 3600.0
DAYS, KEPT, UNITS = 8, 9, 40  # partitions that are kept; slots from DAYS + KEPT on belong to no series
Load = Callable[[int, I64], F64]  # hour and slots, the oldest partition first -> wait index of each


def newest_is_hot(_hour: int, series: I64) -> F64:
    """A day's partition is read on its day alone."""
    return np.where(np.arange(len(series)) == len(series) - 1, 1.0, 0.001)


def looked_back_at(hour: int, series: I64) -> F64:
    """Besides the newest, the one of a week ago from 9 to 15."""
    back = (np.arange(len(series)) == len(series) - 8) & (9 <= hour % 24 < 15)
    return newest_is_hot(hour, series) + np.where(back, 1.0, 0.0)


def lived(load: Load, days: int = DAYS, noise: float = 0.2) -> tuple[HorizonState, SeasonState, I64]:
    """So many days with a birth at each midnight, the last of them just now; what is known, and the series."""
    state, cells, draw = HorizonState(), seasons.empty_seasons(UNITS), np.random.default_rng(1)
    series, here = np.arange(KEPT, dtype=np.int64), np.arange(UNITS, dtype=np.int64)
    none = np.zeros(UNITS, dtype=np.bool_)
    site = Site(slot=here, size=np.ones(UNITS, np.int64), cost=np.full(UNITS, 30.0), fast=none, room=4.0)
    for hour in range(days * 24 + 1):
        at = MONDAY + timedelta(hours=hour)
        if hour and hour % 24 == 0:
            born = np.array([series[-1] + 1])
            cells = seasons.with_new_units(cells, born, np.ones(1))
            series = np.append(series[1:], born)
            state = with_births(state, cells, [(series, 1)])
        if hour == days * 24:
            break
        index = np.full(UNITS, 0.0)
        index[series] = load(hour, series)
        index[-5:] = 0.3 * draw.lognormal(-(noise**2) / 2, noise, 5)  # no partitions
        cells = seasons.learnt(cells, at + timedelta(minutes=30), HOUR, here, index, ~none)
        state = watch_interval(state, cells, at + timedelta(minutes=30), HOUR, here, index, ~none)
        state = judge_forecasts(state, cells, at + timedelta(hours=1), site)
    return state, cells, series


def expected(state: HorizonState, cells: SeasonState, series: I64, hour: int) -> F64:
    """What the mix expects of the series at an hour of the day that has just begun."""
    slots, demand = expected_demand(state, cells, MONDAY + timedelta(days=DAYS, hours=hour))
    return demand[np.searchsorted(slots, series)]


def test_a_partition_is_expected_to_be_read_like_the_newest_before_it_was() -> None:
    """Within the minute of its birth, and the one that was the newest until then like the one behind it."""
    state, cells, series = lived(newest_is_hot)
    assert state.shares[BY_UNIT:].sum() > 0.8
    demand = expected(state, cells, series, 1)
    assert demand[-1] == pytest.approx(1.0, rel=0.1)
    assert demand[-2] < 0.1


def test_a_look_back_is_expected_at_its_place_and_hour() -> None:
    """The seventh before the newest is to be read from 9 on; at night it is not, and its neighbours never are."""
    state, cells, series = lived(looked_back_at)
    by_day, by_night = (expected(state, cells, series, hour) for hour in (9, 20))
    assert by_day[-8] > 3 * by_night[-8]
    assert by_day[-8] > 5 * max(by_day[-7], by_day[-6])


def test_tables_next_to_partitions_are_remembered_by_what_places_them() -> None:
    """Their noise is averaged out over days, though memory of hours would follow the births best."""
    state, cells, _ = lived(newest_is_hot, 12, noise=0.5)
    assert int(state.score[:BY_UNIT].argmax()) > 1
    others = np.arange(UNITS - 5, UNITS)
    _, demand = expected_demand(state, cells, MONDAY + timedelta(days=12, hours=1))
    assert demand[np.searchsorted(state.slot, others)] == pytest.approx(np.full(5, 0.3), rel=0.15)


def test_two_born_at_once_move_all_others_by_two_places() -> None:
    """As after a night in which the catalog could not be read."""
    state, cells, series = lived(newest_is_hot)
    born = series[-1] + np.array([1, 2])
    cells = seasons.with_new_units(cells, born, np.ones(2))
    before = state.place_means[:, np.searchsorted(state.slot, series[-1])].sum()
    state = with_births(state, cells, [(np.append(series[2:], born), 2)])
    newest = state.place_means[:, np.searchsorted(state.slot, series[-1] + 2)].sum()
    assert newest == pytest.approx(before)


def test_the_interval_in_which_one_was_born_says_nothing_of_places() -> None:
    """Who was the newest for which part of it is not known."""
    state, cells, _ = lived(newest_is_hot)
    here, at = np.arange(UNITS, dtype=np.int64), MONDAY + timedelta(days=DAYS, minutes=-30)
    before = state.place_means.copy()
    for changes in (False, True):
        state = watch_interval(state, cells, at, HOUR, here, np.ones(UNITS), np.ones(UNITS, dtype=np.bool_))
        assert np.array_equal(before, state.place_means) is not changes


def test_without_births_nothing_is_weighed_by_places() -> None:
    """Forecasts by place weigh nothing, and all that others expect is as before."""
    state, _, _ = lived(newest_is_hot, days=1)
    quiet = HorizonState()
    assert not quiet.shares[BY_UNIT:].any()
    assert state.in_series.any()


def test_how_often_partitions_are_born_is_known_after_the_second_birth() -> None:
    """A day; several of one interval count once; what older versions stored knows no birth."""
    found = [lived(newest_is_hot, days)[0].between_births for days in (1, 2, 3)]
    assert found == [np.inf, 24 * HOUR, 24 * HOUR]
    state, cells, series = lived(newest_is_hot)
    again = with_births(state, cells, [(np.append(series[1:], series[-1] + 1), 1)])
    assert (again.between_births, again.since_birth) == (24 * HOUR, 0.0)
    arrays = horizon_arrays(again)
    older = {**arrays, "waited": arrays["waited"][:1]}
    kept = [horizons_from_arrays(each) for each in (arrays, older)]
    assert [(each.since_birth, each.between_births) for each in kept] == [(0.0, 24 * HOUR), (np.inf, np.inf)]


def test_what_older_versions_stored_knows_no_places() -> None:
    """It is read all the same, with the scores that it has; what is stored now comes back whole."""
    state, _, _ = lived(newest_is_hot)
    arrays: dict[str, NDArray[Any]] = horizon_arrays(state)
    again = horizons_from_arrays(arrays)
    assert all(np.array_equal(arrays[name], column) for name, column in horizon_arrays(again).items())
    older = {
        name: column for name, column in arrays.items() if name not in {"in_series", "place_means", "place_weight"}
    }
    before = {"resident": arrays["resident"][:-1], "scores": arrays["scores"][:, :-1]}
    assert horizons_from_arrays({**arrays, **before}).score.tolist() == [*state.score[:-1], 0.0]
    older |= {"resident": arrays["resident"][:BY_UNIT], "scores": arrays["scores"][:, :BY_UNIT]}
    found = horizons_from_arrays(older)
    assert not found.in_series.any()
    assert found.score[:BY_UNIT].tolist() == state.score[:BY_UNIT].tolist()
    assert (len(found.score), len(found.resident)) == (FORECASTS, FORECASTS)
