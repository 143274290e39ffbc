"""Drift: the ranking leans to the short horizon where that one foretold what came, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from connectors.model import F64, SIGNALS, DatabaseDemand, Demand, Signal
from policies.demand.drift import DriftState, drift_arrays, drift_from_arrays, leaning, no_drift, watch_interval
from policies.demand.heat import HeatState, empty_heat, update, view
from policies.demand.seasons import FLOOR, MOST_UNITS
from policies.demand.variance import index_of
from policies.model.plan import PolicySettings
from tests.unit.policies.situations import NOON

UNITS, DAYS = 60, 21
HERE = np.arange(UNITS, dtype=np.int64)
EVERYBODY = np.ones(UNITS, dtype=np.bool_)
Load = Callable[[int, np.random.Generator], F64]  # hour -> reads per second of each unit


def lived(load: Load, days: int = DAYS) -> DriftState:
    """So many days of some units, sampled hourly."""
    draw, drift, heat = np.random.default_rng(1), no_drift(), empty_heat()
    for hour in range(days * 24):
        rates = np.zeros((SIGNALS, UNITS))
        rates[Signal.SYNC_READ] = load(hour, draw)
        demand = Demand(
            ended_at=NOON, seconds=3600.0, physical_id=HERE, rates=rates, observed=EVERYBODY,
            estimated=frozenset(), database=DatabaseDemand(),
        )  # fmt: skip
        heat = update(heat, demand, HERE, HERE, PolicySettings())
        drift = watch_interval(drift, heat, 3600.0, HERE, index_of(rates), EVERYBODY)
    return drift


def noisy(hour: int, draw: np.random.Generator) -> F64:
    """Nothing changes but chance."""
    return draw.lognormal(1.0, 0.5, UNITS)


def by_day(hour: int, draw: np.random.Generator) -> F64:
    """Half of the units work by day, the others by night."""
    return np.where((HERE % 2 == 0) == (8 <= hour % 24 < 20), 5.0, 0.2) * noisy(hour, draw)


def crowded(hour: int, draw: np.random.Generator) -> F64:
    """Every other day some unit is a hundred times as busy for six hours."""
    return np.where((hour % 48 < 6) & (hour // 48 % UNITS == HERE), 100.0, 1.0) * noisy(hour, draw)


class Wandering:
    """The logarithm of every unit's heat goes its own way."""

    def __init__(self) -> None:
        self.level = np.zeros(UNITS)

    def __call__(self, hour: int, draw: np.random.Generator) -> F64:
        """The next hour."""
        self.level += draw.normal(0.0, 0.08, UNITS)
        return np.exp(self.level) * noisy(hour, draw)


@pytest.mark.parametrize(("load", "least", "most"), [(Wandering(), 0.6, 1.0), (noisy, 0.0, 0.1), (by_day, 0.0, 0.1)])
def test_the_short_horizon_counts_where_heat_wanders(load: Load, least: float, most: float) -> None:
    """Not where chance or the hour of the day is all that parts the two."""
    assert least <= lived(load).share <= most


def test_a_crowd_that_goes_again_is_no_drift() -> None:
    """It shows in the short mean first and not in the days that follow."""
    assert lived(crowded).share < 0.3


def test_nothing_is_said_before_three_days_have_passed() -> None:
    """The long horizon ranks until a look could be judged, and little is said of one or two."""
    assert lived(Wandering(), 3).share == 0.0
    assert 0.0 < lived(Wandering(), 4).share < 0.7


def test_lost_time_and_idle_units_show_nothing() -> None:
    """Intervals that tell of no unit, and units that nobody waits for, leave the share alone."""
    known = lived(Wandering())
    heat = HeatState(**{name: getattr(empty_heat(UNITS), name) for name in HeatState.__slots__})
    blind = known
    for _ in range(200):
        blind = watch_interval(blind, heat, 3600.0, HERE[:0], np.zeros(0), np.zeros(UNITS, dtype=np.bool_))
    assert blind.judged <= known.judged + 8  # the looks that were noted before, at most
    idle = watch_interval(no_drift(), heat, 3600.0, HERE, np.full(UNITS, FLOOR / 2), EVERYBODY)
    assert len(idle) == 0


def test_as_many_units_as_have_seasons() -> None:
    """Beyond that number nobody is added."""
    many = np.arange(MOST_UNITS + 10, dtype=np.int64)
    state = watch_interval(
        no_drift(), empty_heat(len(many)), 60.0, many, np.ones(len(many)), np.ones(len(many), np.bool_)
    )
    state = watch_interval(state, empty_heat(len(many)), 60.0, many, np.ones(len(many)), np.ones(len(many), np.bool_))
    assert len(state) == MOST_UNITS
    np.testing.assert_array_equal(state.seconds, 120.0)


def test_leaning_moves_the_mean_that_ranks() -> None:
    """A quarter of the way from the long mean to the short one, and no farther."""
    heat = replace(view(empty_heat(1), np.zeros(1, np.int64)), rates=np.full((SIGNALS, 1), 8.0))
    heat = replace(heat, steady=np.full((SIGNALS, 1), 4.0))
    assert leaning(heat, 0.0) is heat
    leant = leaning(heat, 0.25)
    assert leant.steady is not None
    np.testing.assert_array_equal(leant.steady, 5.0)
    np.testing.assert_array_equal(leant.rates, 8.0)


def test_stored_and_read_again() -> None:
    """What was taken apart comes together; what is broken is refused by name."""
    state = lived(noisy, 5)
    again = drift_from_arrays(drift_arrays(state))
    assert again.share == state.share
    np.testing.assert_array_equal(again.looks, state.looks)
    with pytest.raises(ValueError, match="looks"):
        drift_from_arrays({**drift_arrays(state), "looks": np.zeros((2, 2, 2))})
    with pytest.raises(ValueError, match="lacks sums"):
        drift_from_arrays({name: column for name, column in drift_arrays(state).items() if name != "sums"})
