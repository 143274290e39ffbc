"""Averages of database demand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.model.observation import DatabaseDemand
from policies.evidence.workload import RecentWork, WorkInterval, average, read_latency, wait_per_transaction

RATE = st.floats(0, 1e6)


def work(seconds: float, **rates: float) -> WorkInterval:
    """An interval with these rates, the others unknown."""
    return WorkInterval(seconds=seconds, demand=DatabaseDemand(**rates))


def test_longer_intervals_weigh_more() -> None:
    """10 s at 100 a second and 30 s at 20 are 40 a second."""
    assert average([work(10, transactions=100.0), work(30, transactions=20.0)]).transactions == 40.0


def test_what_is_unknown_does_not_count() -> None:
    """An interval without read times leaves the mean of the others as it is; nothing known stays unknown."""
    mean = average([work(10, read_wait=0.5), work(1000)])
    assert mean.read_wait == 0.5
    assert math.isnan(mean.active)
    assert math.isnan(average([]).reads)


def test_wait_per_transaction_by_hand() -> None:
    """Half a second of wait per second at 10 transactions per second is 50 ms each; 100 reads then took 5 ms each."""
    demand = DatabaseDemand(read_wait=0.5, transactions=10.0, reads=100.0)
    assert wait_per_transaction(demand) == 0.05
    assert read_latency(demand) == 0.005


def test_no_work_gives_no_figure() -> None:
    """Nothing committed or read: unknown, not zero and no crash."""
    demand = DatabaseDemand(read_wait=0.5, transactions=0.0, reads=0.0)
    assert math.isnan(wait_per_transaction(demand))
    assert math.isnan(read_latency(demand))


@given(st.lists(st.tuples(st.floats(0.1, 1e4), RATE), min_size=1))
def test_a_mean_lies_between_the_extremes(pairs: list[tuple[float, float]]) -> None:
    """No average leaves the range of what was averaged."""
    mean = average([work(s, reads=r) for s, r in pairs]).reads
    rates = [r for _, r in pairs]
    assert min(rates) - 1e-6 <= mean <= max(rates) * (1 + 1e-12) + 1e-6


def test_a_part_that_was_known_late_is_no_more_than_its_share() -> None:
    """A load that begins slowly, and readers that are told apart once it is under way: all of its sessions are theirs.

    Without their share the readers alone would be believed to do more than everybody.
    """
    beginning = {"transactions": 20.0, "active": 2.0, "population": 8.0}
    later = {"transactions": 150.0, "active": 7.5, "population": 8.0}
    theirs = {"readers": 8.0, "readers_active": 7.5, "readers_transactions": 75.0}
    recent = RecentWork()
    for each in (beginning, beginning, {**later, **theirs}, {**later, **theirs}):
        recent = recent.then(work(2.0, **each), half_life=60.0)
    mean = recent.mean()
    assert mean.readers_active == pytest.approx(mean.active)
    assert mean.active < 7.5
    assert mean.readers == pytest.approx(mean.population)
    assert mean.readers_transactions == pytest.approx(0.5 * mean.transactions)
