"""Heat: decay by real time, bias correction, and no change without evidence."""

from __future__ import annotations

import numpy as np
import pytest

from connectors.model.observation import I64, Signal
from policies.evidence.heat import (
    HeatState,
    decision_heat,
    empty_heat,
    state_arrays,
    state_from_arrays,
    update,
    view,
    with_slots,
)
from policies.model.settings import PolicySettings
from tests.unit.policies.situations import demand

HOUR = PolicySettings(half_life_seconds=3600.0)


def slots(*numbers: int) -> I64:
    """Slots as a column."""
    return np.array(numbers, dtype=np.int64)


def sync(state: HeatState, *numbers: int) -> list[float]:
    """Synchronous reads per second of those slots."""
    return [float(rate) for rate in view(state, slots(*numbers)).rates[Signal.SYNC_READ]]


def test_the_first_interval_counts_in_full() -> None:
    """After one interval heat is the rate just seen, not a fraction of it."""
    state = update(empty_heat(), demand(60, {7: 12.0}), slots(2), slots(0, 1, 2), HOUR)
    assert sync(state, 0, 1, 2) == pytest.approx([0, 0, 12.0])
    assert view(state, slots(2)).observed_seconds.tolist() == [60.0]


def test_half_after_a_half_life() -> None:
    """An hour at 30 and an hour at 0 weigh 1/4 and 1/2: 30 * 0.25 / 0.75 = 10."""
    state = update(empty_heat(), demand(3600, {7: 30.0}), slots(0), slots(0), HOUR)
    state = update(state, demand(3600, {}), slots(), slots(0), HOUR)
    assert sync(state, 0) == pytest.approx([10.0])
    assert view(state, slots(0)).confidence.tolist() == pytest.approx([0.75])


def test_intervals_may_be_of_any_length() -> None:
    """Ten minutes in one piece or in unequal ones give the same heat."""
    whole = update(empty_heat(), demand(600, {7: 5.0}), slots(0), slots(0, 1), HOUR)
    parts = empty_heat()
    for seconds in (7, 93, 500):
        parts = update(parts, demand(seconds, {7: 5.0}), slots(0), slots(0, 1), HOUR)
    np.testing.assert_allclose(parts.sums, whole.sums, rtol=1e-6)
    np.testing.assert_allclose(parts.weight, whole.weight, rtol=1e-12)


def test_a_restarted_unit_is_left_alone() -> None:
    """A unit whose counters restarted was not watched: it is neither hotter nor colder, nor better known."""
    state = update(empty_heat(), demand(60, {7: 12.0, 8: 3.0}), slots(0, 1), slots(0, 1), HOUR)
    later = update(state, demand(600, {8: 3.0}, unobserved=[7]), slots(0, 1), slots(0, 1), HOUR)
    assert sync(later, 0, 1) == pytest.approx([12.0, 3.0])
    assert view(later, slots(0, 1)).observed_seconds.tolist() == [60.0, 660.0]


def test_a_unit_that_vanished_keeps_its_heat() -> None:
    """A slot that the catalog does not know now was not watched either; it may come back after a rebuild."""
    state = update(empty_heat(), demand(60, {7: 12.0}), slots(0), slots(0, 1), HOUR)
    assert sync(update(state, demand(60, {}), slots(), slots(1), HOUR), 0) == pytest.approx([12.0])


def test_demand_without_a_slot_is_passed_over() -> None:
    """Slot -1 never lands on the last slot, whether in the demand or among the known."""
    state = update(empty_heat(), demand(60, {7: 12.0, 8: 4.0}), slots(-1, 0), slots(-1, 0, 1), HOUR)
    assert sync(state, 0, 1, -1) == pytest.approx([4.0, 0.0, 0.0])
    assert view(state, slots(-1)).observed_seconds.tolist() == [0.0]


def test_two_physical_units_of_one_slot_add_up() -> None:
    """A unit rebuilt within the interval has the demand of both its bodies."""
    state = update(empty_heat(), demand(60, {7: 12.0, 8: 4.0}), slots(0, 0), slots(0), HOUR)
    assert sync(state, 0) == pytest.approx([16.0])


def test_old_heat_becomes_exactly_nothing() -> None:
    """A unit idle for weeks has heat zero, not a denormal number that slows every later update."""
    state = update(empty_heat(), demand(60, {7: 12.0}), slots(0), slots(0), HOUR)
    for _ in range(20):
        state = update(state, demand(100_000, {}), slots(), slots(0), HOUR)
    assert not state.sums.any()


def test_single_precision_is_enough() -> None:
    """A month of minutes at a steady rate gives that rate to one part in ten thousand."""
    state = empty_heat()
    for _ in range(5000):
        state = update(state, demand(60, {7: 1234.5678}), slots(0), slots(0), PolicySettings())
    assert sync(state, 0) == pytest.approx([1234.5678], rel=1e-4)


def test_growing_adds_slots_that_saw_nothing() -> None:
    """More slots change nothing for the old ones; fewer are never made."""
    state = update(empty_heat(), demand(60, {7: 12.0}), slots(0), slots(0), HOUR)
    assert sync(with_slots(state, 3), 0, 2) == pytest.approx([12.0, 0.0])
    assert with_slots(state, 0) is state
    assert sync(empty_heat(), 0, 5) == [0.0, 0.0]


def test_stored_heat_comes_back() -> None:
    """Arrays of a state make the same state; arrays that do not belong together are refused."""
    state = update(empty_heat(), demand(60, {7: 12.0}), slots(1), slots(0, 1), HOUR)
    again = state_from_arrays(state_arrays(state))
    assert all(np.array_equal(state_arrays(again)[name], array) for name, array in state_arrays(state).items())
    with pytest.raises(ValueError, match="lacks weight"):
        state_from_arrays({"sums": state.sums, "observed_seconds": state.observed_seconds})
    with pytest.raises(ValueError, match="shapes"):
        state_from_arrays({**state_arrays(state), "weight": np.zeros(5)})


def test_heat_of_older_versions_is_taken_over() -> None:
    """One stored horizon stands for both, and how much demand varies is not known yet."""
    state = update(empty_heat(), demand(60, {7: 12.0}), slots(0), slots(0), HOUR)
    older = {name: state_arrays(state)[name] for name in ("sums", "weight", "observed_seconds")}
    again = state_from_arrays(older)
    assert sync(again, 0) == pytest.approx([12.0])
    seen = view(again, slots(0))
    assert seen.steady is not None
    assert seen.steady[Signal.SYNC_READ] == pytest.approx([12.0])
    assert seen.error == pytest.approx([1.0])
    assert view(update(again, demand(60, {7: 12.0}), slots(0), slots(0), HOUR), slots(0)).error is not None


def days(*rates: float) -> HeatState:
    """A unit with a day at each rate, sampled hourly; horizons of 6 hours and 3 days."""
    state, settings = empty_heat(), PolicySettings(half_life_seconds=6 * 3600.0, long_half_life_seconds=3 * 86400.0)
    for rate in rates:
        for _ in range(24):
            state = update(state, demand(3600, {7: rate}), slots(0), slots(0), settings)
    return state


def by_decision(state: HeatState) -> tuple[float, float, float]:
    """Reads per second that rank, and how many times as much the hotter and the colder horizon saw."""
    chosen = decision_heat(view(state, slots(0)), np.array([False]))
    assert chosen.hotter is not None
    assert chosen.colder is not None
    return float(chosen.rates[Signal.SYNC_READ, 0]), float(chosen.hotter[0]), float(chosen.colder[0])


def test_a_burst_ranks_by_the_long_horizon() -> None:
    """Six quiet days and a hot one: the short horizon sees 94, the long one 27, and 27 counts."""
    rate, hotter, colder = by_decision(days(0, 0, 0, 0, 0, 0, 100))
    assert 20 < rate < 35
    assert hotter == pytest.approx(93.75 / rate, rel=0.02)
    assert colder == 1.0


def test_a_quiet_day_demotes_nothing_and_brings_nothing_up() -> None:
    """Six hot days and a quiet one: it ranks by 73, but what must be worth a move is the 6 of the short horizon."""
    rate, hotter, colder = by_decision(days(100, 100, 100, 100, 100, 100, 0))
    assert rate > 65
    assert hotter == 1.0
    assert rate * colder < 10


def test_steady_demand_is_the_same_by_both_horizons() -> None:
    """A rate that never changes is that rate for everybody."""
    assert by_decision(days(*[50] * 7)) == pytest.approx((50.0, 1.0, 1.0), rel=1e-4)
