"""Seasons: a habit counts once it was seen often enough, and by the calendar that tells most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.evidence.seasons import (
    CELLS,
    DAYS,
    END,
    FLOOR,
    HOURS,
    MOST_UNITS,
    STEP,
    SeasonState,
    cells_of,
    empty_seasons,
    hours_in_cells,
    lasting_demand,
    learnt,
    outlook,
    season_arrays,
    seasons_from_arrays,
)

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
HERE = np.zeros(1, dtype=np.int64)


def lived(days: int, demand: Callable[[datetime], float], since: datetime = MONDAY) -> SeasonState:
    """So many days of one unit, sampled hourly."""
    state = empty_seasons()
    for hour in range(days * 24):
        at = since + timedelta(hours=hour)
        index = demand(at)
        busy = HERE[: int(index > 0)]
        state = learnt(state, at, 3600.0, busy, np.full(len(busy), index), np.array([True]))
    return state


def expected(state: SeasonState, at: datetime, hours: float = 24.0) -> float:
    """Demand that the seasons expect."""
    return float(outlook(state, HERE, at, hours).demand[0])


def at_month_end(at: datetime) -> float:
    """Busy on the last day of every month, and a little always."""
    return 10.0 if (at + timedelta(days=1)).day == 1 else 0.1


def test_cells_are_those_of_the_wall_clock() -> None:
    """Midnight of a Saturday in Berlin is an hour of the Friday in UTC; the last day of a short month is its last."""
    berlin = datetime(2026, 2, 27, 23, 30, tzinfo=UTC).astimezone(ZoneInfo("Europe/Berlin"))
    assert cells_of(berlin) == (5 * 24, HOURS + 27, HOURS + DAYS)
    assert cells_of(datetime(2026, 1, 29, tzinfo=UTC))[2] == HOURS + DAYS + 2
    assert cells_of(datetime(2026, 1, 2, tzinfo=UTC))[2] == CELLS - 1


@given(
    minutes=st.integers(0, 70 * 366 * 24 * 60),
    zone=st.sampled_from(["UTC", "Europe/Berlin"]),
    hours=st.integers(1, 800),
)
def test_hours_ahead_are_counted_in_their_cells(minutes: int, zone: str, hours: int) -> None:
    """As often as each hour's cells are counted one by one, leap days and ends of years among them."""
    since = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)).astimezone(ZoneInfo(zone))
    counted = np.zeros((3, CELLS))
    for step in range(hours):
        counted[range(3), cells_of(since + step * STEP)] += 1
    assert (hours_in_cells(since, hours) == counted).all()


def test_a_month_end_table_is_expected_before_the_month_ends() -> None:
    """After four month ends the eve promises most of a busy day, and the middle of the month next to nothing."""
    state = lived(31 + 28 + 31 + 30, at_month_end, datetime(2026, 1, 1, tzinfo=UTC))
    assert expected(state, datetime(2026, 5, 31, tzinfo=UTC)) > 9.0
    assert expected(state, datetime(2026, 5, 12, tzinfo=UTC)) < 0.5


def test_a_month_end_is_not_taken_for_a_weekday() -> None:
    """The Tuesday after a month end on a Tuesday promises nothing."""
    state = lived(31 + 28 + 31, at_month_end, datetime(2026, 1, 1, tzinfo=UTC))
    assert datetime(2026, 3, 31, tzinfo=UTC).weekday() == 1
    assert expected(state, datetime(2026, 4, 7, tzinfo=UTC)) < 0.5


def test_a_habit_counts_by_how_often_it_was_seen() -> None:
    """Busy on Mondays: one Monday counts a third of its excess, three count in full."""
    heights = [expected(lived(7 * weeks, lambda at: float(at.weekday() == 0) + 1e-3), MONDAY) for weeks in (1, 2, 3)]
    mean = 1 / 7 + 1e-3
    assert heights == pytest.approx([mean + (1.001 - mean) * part for part in (1 / 3, 2 / 3, 1)], rel=0.01)


def test_hours_count_where_the_look_ahead_is_short() -> None:
    """Busy at night: the next hours say so; a whole day ahead is the mean."""
    state = lived(28, lambda at: 4.0 if at.hour < 6 else 0.001)
    assert expected(state, MONDAY, hours=4) == pytest.approx(4.0, rel=0.01)
    assert expected(state, MONDAY + timedelta(hours=8), hours=4) < 0.1
    assert expected(state, MONDAY) == pytest.approx(1.0, rel=0.01)


def test_a_steady_unit_has_no_season() -> None:
    """What is always the same is expected to stay the same."""
    assert expected(lived(40, lambda _: 2.0), MONDAY) == pytest.approx(2.0, rel=1e-3)


def test_what_never_mattered_has_no_cells() -> None:
    """A unit below a second of wait per hour, and one never met, have no outlook."""
    state = lived(2, lambda _: 1e-6)
    assert not len(state)
    assert np.isnan(outlook(lived(2, lambda _: 1.0), np.array([-1, 7]), MONDAY, 24).demand).all()


def test_the_busiest_keep_their_cells_when_there_are_too_many() -> None:
    """Never more than so many units; a late comer gets a row, the one with least demand loses its own."""
    count = MOST_UNITS
    slots, index = np.arange(count, dtype=np.int64), np.linspace(1, 2, count)
    state = learnt(empty_seasons(), MONDAY, 60.0, slots, index, np.ones(count + 1, dtype=np.bool_))
    late = np.array([count], dtype=np.int64)
    state = learnt(state, MONDAY, 60.0, late, np.array([5.0]), np.ones(count + 1, dtype=np.bool_))
    assert len(state) == count
    assert state.slot[0] == 1
    assert state.slot[-1] == count


def test_unwatched_time_is_no_season() -> None:
    """A unit whose counters restarted keeps its cells."""
    state = lived(7, lambda _: 1.0)
    before = state.seconds.copy()
    after = learnt(state, MONDAY, 3600.0, HERE[:0], np.zeros(0), np.array([False]))
    np.testing.assert_array_equal(after.seconds, before)


def test_stored_seasons_come_back() -> None:
    """Arrays make the same cells; wrong ones are refused."""
    state = lived(3, lambda _: 1.0)
    again = seasons_from_arrays(season_arrays(state))
    assert all(np.array_equal(season_arrays(again)[name], array) for name, array in season_arrays(state).items())
    with pytest.raises(ValueError, match="lack cell_demand, cell_seconds"):
        seasons_from_arrays({"slot": state.slot, "demand": state.demand})
    with pytest.raises(ValueError, match="shapes"):
        seasons_from_arrays({**season_arrays(state), "cell_demand": np.zeros((1, END), np.float32)})


def test_seasons_of_older_versions_come_back() -> None:
    """They stored a row for each unit, not for each cell."""
    stored = season_arrays(lived(3, lambda _: 1.0))
    older = {"slot": stored["slot"], "demand": stored["cell_demand"].T, "seconds": stored["cell_seconds"].T}
    again = season_arrays(seasons_from_arrays(older))
    assert all(np.array_equal(again[name], array) for name, array in stored.items())


def test_cells_go_with_their_units() -> None:
    """Whoever comes in between or is met once more, each unit's demand stays its own."""
    state, everyone = empty_seasons(), np.ones(10, dtype=np.bool_)
    for hour, slots in enumerate(([7], [3, 7], [1, 3, 9], [7])):
        index = np.array(slots, dtype=np.float64)
        state = learnt(state, MONDAY + timedelta(hours=hour), 60.0, np.array(slots, dtype=np.int64), index, everyone)
    assert state.slot.tolist() == [1, 3, 7, 9]
    hours = (state.demand[:4, :4] / 60.0).T
    assert hours.tolist() == [[0, 0, 1, 0], [0, 3, 3, 0], [7, 7, 0, 7], [0, 0, 9, 0]]


def test_cells_belong_to_the_hottest_units() -> None:
    """Where more units matter than there are cells for, those with most demand have them, wherever their slots are."""
    many = MOST_UNITS + 3000
    index = np.full(many, 2 * FLOOR)
    index[-1000:] = 1000 * FLOOR
    state = empty_seasons()
    for hour in range(3):
        at = MONDAY + timedelta(hours=hour)
        state = learnt(state, at, 3600.0, np.arange(many), index, np.ones(many, dtype=np.bool_))
    assert len(state) == MOST_UNITS
    assert np.isin(np.arange(many - 1000, many), state.slot).all()


def test_a_unit_loses_its_cells_to_twice_its_demand_only() -> None:
    """Full cells stay with whom they are, what they know included, until somebody clearly hotter comes."""
    slots, seen = np.arange(MOST_UNITS), np.ones(MOST_UNITS + 2, dtype=np.bool_)
    state = learnt(empty_seasons(), MONDAY, 3600.0, slots, np.full(MOST_UNITS, 10 * FLOOR), seen)
    newcomers = np.array([MOST_UNITS, MOST_UNITS + 1])
    state = learnt(state, MONDAY, 3600.0, newcomers, np.array([19 * FLOOR, 21 * FLOOR]), seen)
    assert np.isin(newcomers, state.slot).tolist() == [False, True]
    assert np.isin(slots, state.slot).sum() == MOST_UNITS - 1


def test_what_lasts_is_what_quiet_days_have() -> None:
    """The third lowest of seven days, the lowest of three; nothing before three days were seen, nor of a stranger."""
    state = empty_seasons(2)
    state = replace(state, slot=np.array([3, 8]))
    for day, demand in enumerate((5.0, 1.0, 7.0, 2.0, 9.0, 4.0, 6.0)):
        hours = slice(24 * day, 24 * day + 20)  # four hours of each were missed
        state.seconds[hours] = 3600.0
        state.demand[hours] = 3600.0 * demand * np.array([1.0, 10.0])
        found = lasting_demand(state, np.array([8, 3, 5])).tolist()
        expected = {0: 0.0, 1: 0.0, 2: 1.0, 6: 4.0}.get(day)
        assert expected is None or found == pytest.approx([10 * expected, expected, 0.0])
    assert lasting_demand(empty_seasons(), np.array([8, 3])).tolist() == [0.0, 0.0]
