"""How many sessions take part in a load, from looks at what they do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.kit.population import IDLE_SECONDS, Population, sessions_in_use


def idle_for(ages: list[float]) -> list[float]:
    """Sessions idle for less than each of the times."""
    return [float(sum(age < longest for age in ages)) for longest in IDLE_SECONDS]


def test_who_asks_once_a_minute_is_not_of_the_load() -> None:
    """Eight clients that come round every 40 ms, a monitor, a forgotten transaction and a pool that is not in use."""
    ages = [0.002, 0.004, 9.0, 55.0, 7200.0, *[600.0] * 40]
    assert sessions_in_use(6.0, idle_for(ages), per_second=200.0) == 8.0


def test_people_who_think_for_seconds_are() -> None:
    """A hundred people with four seconds between two clicks; all of them have been idle for less than ten rounds."""
    ages = np.random.default_rng(1).uniform(0, 8, 98).tolist()
    assert sessions_in_use(2.0, idle_for([*ages, 3000.0]), per_second=25.0) == 100.0


@given(st.integers(0, 50), st.lists(st.floats(0, 10_000), max_size=50), st.floats(0, 10_000))
def test_it_is_never_less_than_work_nor_more_than_are_connected(
    working: int, ages: list[float], per_second: float
) -> None:
    """Whatever is idle for however long."""
    assert working <= sessions_in_use(float(working), idle_for(ages), per_second) <= working + len(ages)


def test_it_adds_up_like_a_counter() -> None:
    """Eight sessions for four seconds are 32 session seconds; the first look only begins."""
    found = Population()
    look = [6.0, 2.0, 2.0, 2.0, 0.0]
    assert found.total(look, transactions=0.0, at=10.0) == {"population_seconds": 0.0}
    assert found.total(look, transactions=400.0, at=12.0) == {"population_seconds": 16.0}
    assert found.total(look, transactions=800.0, at=14.0) == {"population_seconds": 32.0}


@pytest.mark.parametrize("look", [[], [6.0, 2.0, 2.0, 2.0, 1.0], [None, None, None, None, None]])
def test_what_cannot_be_told_is_no_figure(look: list[float | None]) -> None:
    """Not asked for, sessions whose state the login may not see, and a recording of an earlier version."""
    assert Population().total(look, transactions=0.0, at=1.0) == {}
