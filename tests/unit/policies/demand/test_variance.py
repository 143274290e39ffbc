"""How much demand varies, and how sure its mean therefore is."""

from __future__ import annotations

import numpy as np
import pytest

from connectors.model.observation import F64, SIGNALS, Signal
from policies.evidence.heat import UNKNOWN_ERROR, empty_spread, error_ratio, index_of, seen_once_more

SEEN = np.array([True, True])
BOTH = np.array([0, 1], dtype=np.int64)


def after(values: F64, arriving: float = 0.01) -> float:
    """Error of a unit that showed those values, one an interval."""
    spread = empty_spread(2)
    for value in values:
        spread = seen_once_more(spread, BOTH, np.array([value, 1.0]), SEEN, arriving)
    return float(error_ratio(spread)[0])


def test_a_steady_unit_is_soon_sure() -> None:
    """Ten equal intervals err by the tenth of an interval's doubt, a hundred by less."""
    assert after(np.full(1, 3.0)) == pytest.approx(1.0)
    assert after(np.full(100, 3.0)) < after(np.full(10, 3.0)) < 0.2


def test_noise_shrinks_with_the_number_of_intervals() -> None:
    """Independent noise of 50 %: the error of the mean to come is about sqrt(2 / n) of that."""
    values = np.random.default_rng(1).gamma(4.0, 0.25, 5000)
    assert after(values, arriving=0.01) == pytest.approx(0.5 * np.sqrt(2 / 199), rel=0.3)


def test_what_persists_tells_less() -> None:
    """The same values in long runs say less about the mean to come than in random order."""
    random = np.random.default_rng(2)
    runs = np.repeat(random.gamma(4.0, 0.25, 250), 20)
    assert after(runs) > 2 * after(random.permutation(runs))


def test_a_burst_is_never_sure() -> None:
    """A checkpoint every hundredth interval leaves the mean in doubt long after steady demand is known."""
    burst = np.where(np.arange(300) % 100 == 0, 100.0, 0.0)
    assert after(burst) > 5 * after(np.full(300, 1.0))


def test_nothing_seen_is_unknown_and_an_unseen_interval_changes_nothing() -> None:
    """Slots that were not watched keep every figure."""
    spread = seen_once_more(empty_spread(2), BOTH, np.array([3.0, 4.0]), SEEN, 0.1)
    later = seen_once_more(spread.copy(), BOTH[:1], np.array([9.0]), np.array([True, False]), 0.1)
    assert error_ratio(empty_spread(1)).tolist() == [UNKNOWN_ERROR]
    np.testing.assert_array_equal(later[:, 1], spread[:, 1])
    assert not np.array_equal(later[:, 0], spread[:, 0])


def test_two_bodies_of_one_slot_are_one_demand() -> None:
    """A unit rebuilt within the interval shows the sum of both, once."""
    twice = seen_once_more(empty_spread(1), np.zeros(2, np.int64), np.array([3.0, 4.0]), SEEN[:1], 0.1)
    once = seen_once_more(empty_spread(1), np.zeros(1, np.int64), np.array([7.0]), SEEN[:1], 0.1)
    np.testing.assert_allclose(twice, once)


def test_the_index_is_wait_on_a_usual_disk() -> None:
    """A synchronous read weighs 5.5 ms, a hit and a write in the background nothing."""
    rates = np.zeros((SIGNALS, 3))
    rates[Signal.SYNC_READ, 0] = 2.0
    rates[Signal.LOGICAL_READ, 1] = rates[Signal.ASYNC_WRITE, 2] = 1e6
    assert index_of(rates).tolist() == pytest.approx([0.011, 0.0, 0.0])
