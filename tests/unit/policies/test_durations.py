"""Intervals of how long copies take: wide at first, narrower with what was seen, and right as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from policies.evidence.durations import copy_interval
from policies.model.settings import TaughtCopy

KIND = ("reindex concurrently", "hdd", "ssd")
OTHER = ("set tablespace", "ssd", "hdd")


def copies(factor: float, spread: float, count: int, seed: int = 0) -> list[TaughtCopy]:
    """Copies of many lengths that took so many times as long as the model said, more or less."""
    random = np.random.default_rng(seed)
    lengths = np.exp(random.uniform(np.log(0.5), np.log(50.0), count))
    return [
        TaughtCopy(KIND, float(said), float(said * factor * np.exp(spread * random.standard_normal())))
        for said in lengths
    ]


def test_before_anything_was_seen_it_is_wide() -> None:
    """Six times too short, as small rebuilds were, lies in it; so does what the model says."""
    found = copy_interval((), KIND, 3.39)
    assert found.low < 3.39 < 11.4 < 21.5 < found.high
    assert found.high / found.low > 20


@pytest.mark.parametrize("factor", [0.7, 1.5, 6.0])
def test_it_holds_what_it_says_and_grows_narrow(factor: float) -> None:
    """Of 40 copies, each told by those before it, nine in ten lie within; after 20 the ends are at most 4 apart."""
    held, width = list[bool](), list[float]()
    for seed in range(20):
        seen = copies(factor, 0.3, 40, seed)
        for at, each in enumerate(seen):
            found = copy_interval(seen[:at], KIND, each.predicted_seconds)
            held.append(found.low <= each.seconds <= found.high)
            if at >= 20:
                width.append(found.high / found.low)
    assert np.mean(held) >= 0.9
    assert np.median(width) <= 4.0


def test_short_copies_do_not_widen_long_ones() -> None:
    """Costs that a copy has at any size make short ones take many times as long; long ones are told apart."""
    random = np.random.default_rng(3)
    overhead = 2.0 * np.exp(0.2 * random.standard_normal(30))
    seen = [TaughtCopy(KIND, said, said + float(more)) for said, more in zip((0.2, 60.0) * 15, overhead, strict=True)]
    assert copy_interval(seen, KIND, 0.2).low > 1.0
    assert copy_interval(seen, KIND, 60.0).high < 100.0


def test_other_kinds_teach_a_little() -> None:
    """A machine that is ten times as slow for one route is expected to be slow for another, with less certainty."""
    seen = copies(10.0, 0.2, 20)
    own, other = copy_interval(seen, KIND, 5.0), copy_interval(seen, OTHER, 5.0)
    assert 5.0 * 2.0 < other.middle < own.middle
    assert other.high / other.low > own.high / own.low
