"""Resets, lost samples and clocks never make anything hot or cold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.model.observation import F64, I64, SIGNALS, DatabaseDemand, Demand, Interval, Sample, Signal
from policies.evidence.counter_deltas import Gap, difference
from policies.evidence.heat import HeatState, empty_heat, update, view
from policies.model.confidence import spread
from policies.model.settings import PolicySettings
from tests.examples import examples
from tests.unit.policies.situations import sample

SETTINGS = PolicySettings()
UNITS = 4
KNOWN: I64 = np.arange(UNITS, dtype=np.int64)

# What happens between two samples, and whom it befalls.
events = st.lists(
    st.tuples(
        st.sampled_from(["work", "work", "reset one", "new epoch", "lost", "late", "wall back", "clock stuck"]),
        st.integers(0, UNITS - 1),
    ),
    max_size=12,
)


def classified(interval: Interval) -> Demand:
    """Every read is synchronous."""
    rates = np.zeros((SIGNALS, len(interval.physical_id)))
    rates[Signal.SYNC_READ] = interval.deltas["reads"] / interval.seconds
    return Demand(
        ended_at=interval.ended_at,
        seconds=interval.seconds,
        physical_id=interval.physical_id,
        rates=rates,
        observed=~interval.restarted,
        estimated=frozenset(),
        database=DatabaseDemand(),
    )


def heated(state: HeatState, before: Sample, after: Sample) -> HeatState:
    """Heat after that pair of samples, the way an agent does it."""
    interval = difference(before, after, longest_seconds=300)
    if isinstance(interval, Gap):
        return state
    demand = classified(interval)
    return update(state, demand, demand.physical_id - 1, KNOWN, SETTINGS)


def sync(state: HeatState) -> F64:
    """Synchronous reads per second of every unit."""
    return np.asarray(view(state, KNOWN).rates[Signal.SYNC_READ])


@settings(deadline=None, max_examples=examples(150))
@given(events)
def test_a_steady_rate_stays_that_rate_whatever_happens_to_counters_and_clocks(happened: list[tuple[str, int]]) -> None:
    """Four units work at steady rates. However counters restart and samples get lost, heat is those rates.

    A reset shows by a counter lower than before. One that no counter shows can only be told by the engine's epoch.
    """
    rates = np.array([0, 1, 20, 3000], dtype=np.int64)
    counters = rates * 1000
    clock, wall, epoch = 0.0, 0.0, 1

    def taken() -> Sample:
        counts = {at + 1: int(count) for at, count in enumerate(counters) if count}
        return sample(clock, counts, epoch=str(epoch), wall=wall)

    state, last = empty_heat(), taken()
    for what, whom in [("work", 0), *happened]:
        seconds = 600.0 if what == "late" else 60.0
        counters = counters + rates * int(seconds)
        clock += 0.0 if what == "clock stuck" else seconds
        wall += -7200.0 if what == "wall back" else seconds
        if what == "reset one" and last.counters["reads"][last.physical_id == whom + 1].sum() > 0:
            counters[whom] = 0
        if what == "new epoch":
            counters, epoch = np.zeros_like(counters), epoch + 1
        if what == "lost":
            continue
        now = taken()
        state, last = heated(state, last, now), now
        np.testing.assert_allclose(sync(state), rates, rtol=1e-4, err_msg=what)


@settings(deadline=None, max_examples=examples(100))
@given(st.lists(st.tuples(st.floats(0.1, 3e5), st.floats(0, 1e6)), min_size=1, max_size=20))
def test_heat_lies_between_the_least_and_the_most_seen(steps: list[tuple[float, float]]) -> None:
    """A decayed mean never leaves the range of what it is the mean of; confidence never leaves 0 to 1."""
    state = empty_heat()
    for seconds, rate in steps:
        rates = np.zeros((SIGNALS, 1))
        rates[Signal.SYNC_READ] = rate
        demand = Demand(
            ended_at=sample(0, {}).taken_at,
            seconds=seconds,
            physical_id=np.array([1], dtype=np.int64),
            rates=rates,
            observed=np.array([True]),
            estimated=frozenset(),
            database=DatabaseDemand(),
        )
        state = update(state, demand, np.zeros(1, np.int64), KNOWN, SETTINGS)
    seen = [rate for _, rate in steps]
    assert min(seen) * (1 - 1e-4) - 1e-20 <= sync(state)[0] <= max(seen) * (1 + 1e-4) + 1e-20
    confidence = view(state, KNOWN).confidence
    assert ((confidence > 0) & (confidence <= 1)).all()


@pytest.mark.parametrize("persistence", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("rate", [0.3, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_nine_of_ten_futures_lie_within_the_interval(seed: int, rate: float, persistence: float) -> None:
    """Of 2,000 units whose demand varies by chance, nine in ten keep their word for as long again, give or take chance.

    Where demand persists and counting noise hides that, four in five do.
    """
    random = np.random.default_rng(seed)
    units, intervals = 2_000, 120
    level = np.zeros(units)
    counts = np.empty((2 * intervals, units))
    for row in counts:
        level = persistence * level + np.sqrt(1 - persistence**2) * random.normal(0, 0.5, units)
        row[:] = random.poisson(rate * 60 * np.exp(level - 0.125))
    state = empty_heat()
    ids = np.arange(units, dtype=np.int64)
    calm = PolicySettings(long_half_life_seconds=intervals * 60.0)
    for row in counts[:intervals]:
        rates = np.zeros((SIGNALS, units))
        rates[Signal.SYNC_READ] = row / 60
        seen = Demand(
            ended_at=sample(0, {}).taken_at, seconds=60.0, physical_id=ids, rates=rates,
            observed=np.ones(units, dtype=np.bool_), estimated=frozenset(), database=DatabaseDemand(),
        )  # fmt: skip
        state = update(state, seen, ids, ids, calm)
    heat = view(state, ids)
    assert heat.error is not None
    assert heat.steady is not None
    mean, to_come = heat.steady[Signal.SYNC_READ], counts[intervals:].mean(axis=0) / 60
    reach = spread(0.9) * heat.error
    held = (mean * np.exp(-reach) <= to_come) & (to_come <= mean * np.exp(reach))
    assert held.mean() >= (0.82 if persistence > 0.5 else 0.9), f"{held.mean():.3f}"
