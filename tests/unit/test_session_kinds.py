"""Which sessions wait for reads, and what part of the work is theirs, from looks at two kinds that work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.kit.population import LEAST_SEEN, KindLook, OpenAges, SessionKinds

READERS = KindLook(
    kind="10/app", working=4, reading=3, inside=4, inside_seconds=0.08, between=(0, 0, 0), between_seconds=(0, 0, 0)
)
MONITOR = KindLook(
    kind="11/monitor", working=0, reading=0, inside=0, inside_seconds=0, between=(8, 8, 8), between_seconds=(0.2,) * 3
)


def counted(looks: float) -> dict[str, float]:
    """Counters of the whole database after so many seconds: 12 sessions in use, 4 of them at work, 200 a second."""
    return {"population_seconds": 12 * looks, "active_seconds": 4 * looks, "transactions": 200 * looks, "reads": 1.0}


def after(looks: int, *kinds: KindLook) -> dict[str, float]:
    """The figures after so many looks, a second apart, at those kinds."""
    found = SessionKinds()
    for at in range(looks):
        figures = found.total(kinds, 0, counted(float(at)))
    return figures


def test_sessions_and_work_are_shared_out_by_kind() -> None:
    """A third of the sessions, all the time at work, and half of the transactions: 4 / 20 ms and 8 / 25 ms."""
    one, other = after(101, READERS, MONITOR), after(201, READERS, MONITOR)
    passed = {name: (other[name] - one[name]) / 100 for name in one}
    assert passed["readers_seconds"] == pytest.approx(4.0)
    assert passed["readers_active_seconds"] == pytest.approx(4.0)
    assert passed["readers_transactions"] == pytest.approx(200 * 200 / (200 + 320))


def test_who_reads_is_not_known_at_once() -> None:
    """Before a few sessions were seen waiting for a read nothing is said; nor where sessions are not counted."""
    assert after(int(LEAST_SEEN / READERS.reading), READERS, MONITOR) == {}
    assert set(after(9, READERS)) == {"readers_seconds", "readers_active_seconds", "readers_transactions"}
    assert after(100, MONITOR) == {}
    assert SessionKinds().total([READERS], 0, {"transactions": 5.0}) == {}
    assert after(100) == {}


def test_one_kind_is_everybody() -> None:
    """All sessions, all time, all transactions."""
    one, other = after(101, READERS), after(102, READERS)
    assert other["readers_seconds"] - one["readers_seconds"] == pytest.approx(12.0)
    assert other["readers_transactions"] - one["readers_transactions"] == pytest.approx(200.0)


def test_a_read_now_and_then_makes_no_reader() -> None:
    """The monitor was seen waiting for one read in 25; one that waits for a fifth of them all is a reader."""
    seldom = replace(MONITOR, reading=0.12)
    assert after(200, READERS, seldom) == after(200, READERS, MONITOR)
    often = replace(MONITOR, reading=1.0)
    assert after(200, READERS, often)["readers_seconds"] > 2 * after(200, READERS, MONITOR)["readers_seconds"]


@given(st.floats(0.001, 0.1), st.floats(0.001, 0.1), st.integers(1, 20), st.integers(1, 20), st.booleans())
def test_looks_find_the_share_of_two_kinds_that_were_drawn(
    readers_cycle: float, others_cycle: float, readers: int, others: int, regular: bool
) -> None:
    """Ages of pauses drawn by another program: within the odds that forecasts allow for."""
    draw = np.random.default_rng(1)

    def ages(count: int, mean: float) -> float:
        # Of pauses that are all alike half is over on average; of such of exponential length as much as they take.
        return float((draw.uniform(0, mean, count) if regular else draw.exponential(mean, count)).sum())

    found = SessionKinds()
    figures = []
    for at in range(400):
        pauses = ages(others, others_cycle)
        looks = [
            replace(READERS, inside=readers, inside_seconds=ages(readers, readers_cycle)),
            replace(MONITOR, between=(others,) * 3, between_seconds=(pauses,) * 3),
        ]
        figures.append(found.total(looks, 0, counted(float(at))))
    share = (figures[-1]["readers_transactions"] - figures[199]["readers_transactions"]) / (200 * 200)
    true = readers / readers_cycle / (readers / readers_cycle + others / others_cycle)
    assert 0.5 <= share / (1 - share) / (true / (1 - true)) <= 2.0  # forecasts allow for more: ``ODDS_ERROR``


def test_ages_of_open_transactions_are_their_mean_over_time() -> None:
    """None, then one of four seconds and a batch of sixteen, ten seconds apart; nobody connected says nothing."""
    ages = OpenAges()
    assert ages.total([], 0.0) == {}
    seen = [
        KindLook.of_row((kind, 1.0, 0.0, 1.0, age, *[0.0] * 6, age)) for kind, age in (("shop", 4.0), ("batch", 16.0))
    ]
    idle = [replace(each, inside=0.0, inside_seconds=0.0, oldest_seconds=0.0) for each in seen]
    totals = [ages.total(looks, at) for looks, at in ((idle, 0.0), (seen, 10.0), (seen, 20.0))]
    assert [each["open_ages_seconds"] for each in totals] == [0.0, 100.0, 300.0]
    assert [each["oldest_open_seconds"] for each in totals] == [0.0, 80.0, 240.0]
    recorded = KindLook.of_row(("shop", 1.0, 0.0, 1.0, 4.0, *[0.0] * 6))  # by an earlier version
    assert set(OpenAges().total([recorded], 0.0)) == {"open_ages_seconds"}
