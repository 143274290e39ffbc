"""After its first outcome the forecast of a closed load says something: by exact networks, in two halves."""

from __future__ import annotations

import itertools
import statistics
from dataclasses import replace

import numpy as np
import pytest

from connectors.model.observation import DatabaseDemand
from policies.model.confidence import Foretold, PastForecast
from policies.model.plan import Situation
from policies.model.settings import PolicySettings, TierSpeed
from policies.placement.forecast import forecast
from policies.placement.forecast_figures import Forecast
from tests.unit.policies.situations import HDD, Site, Unit
from tests.workloads.exact_network import ExactStation, Solved, solve

SERVICE, FAST = 0.0054, 0.0002
THINKS, COMPUTES, SESSIONS = (0.001, 0.004, 0.020, 0.060, 0.200), (0.0001, 0.0005, 0.002), (2, 8, 32)
CASES = tuple(itertools.product(THINKS, COMPUTES, SESSIONS))


def happens(case: tuple[float, float, int], left: float) -> Solved:
    """With so much of the reads left on the disk: the disk, two processors, and a fast tier of eight at a time."""
    think, compute, sessions = case
    disk = [ExactStation(seconds=SERVICE * left, servers=1)] if left else []
    fast = [ExactStation(seconds=FAST * (1 - left), servers=8)] if left < 1 else []
    return solve([*disk, *fast, ExactStation(seconds=compute, servers=2)], think, sessions)


def situation(case: tuple[float, float, int], left: float) -> Situation:
    """As it is seen: no ``iops`` configured, processors counted."""
    now = happens(case, left)
    reads = now.waiting[: 1 + (left < 1)]
    database = DatabaseDemand(
        reads=now.rate, read_wait=float(reads.sum()), transactions=now.rate, active=float(now.waiting.sum()),
        population=float(case[2]), processor=case[1] * now.rate, processors=2.0,
    )  # fmt: skip
    wait = replace(HDD, random_read_seconds=float(now.waiting[0]) / now.rate / left, idle_read_seconds=SERVICE)
    fast = TierSpeed(random_read_seconds=FAST, sequential_read_seconds=1e-6, write_seconds=1e-4)
    halves = [Unit(key="first", sync=now.rate / 2, space="slow" if left == 1 else "fast"),
              Unit(key="second", sync=now.rate / 2)]  # fmt: skip
    found = Site(database=database, tiers=(("ssd", fast, ("fast",)), ("hdd", wait, ("slow",)))).situation(halves)
    return replace(found, load="closed")


def second(case: tuple[float, float, int]) -> tuple[Forecast, Solved]:
    """The forecast of the second half, knowing what came of the first, and what then comes."""
    first, came = forecast(situation(case, 1.0), PolicySettings(), np.array([0, 1])), happens(case, 0.5)
    latency = case[2] / came.rate - case[0]
    past = PastForecast(
        rate=Foretold(before=first.present_transactions, said=first.transactions, came=came.rate),
        latency=Foretold(before=first.present_latency, said=first.latency, came=latency),
    )
    known = replace(situation(case, 0.5), past_forecasts=(past,))
    return forecast(known, PolicySettings(), np.array([0, 0])), happens(case, 0.0)


@pytest.fixture(scope="module")
def seconds() -> list[tuple[Forecast, Solved]]:
    """Of all cases."""
    return [second(case) for case in CASES]


def test_the_second_forecast_says_something(seconds: list[tuple[Forecast, Solved]]) -> None:
    """The median of upper over lower end is at most 2."""
    assert statistics.median(said.interval.high / said.interval.low for said, _ in seconds) <= 2.0


def test_the_second_forecast_holds(seconds: list[tuple[Forecast, Solved]]) -> None:
    """At least nine in ten of what comes lies inside."""
    inside = [said.interval.low <= came.rate <= said.interval.high for said, came in seconds]
    assert sum(inside) >= 0.9 * len(inside), [case for case, ok in zip(CASES, inside, strict=True) if not ok]
