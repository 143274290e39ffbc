"""Intervals of how long copies take: wide at first, narrower with what was seen, and right as often as they say."""

from __future__ import annotations

import csv
from pathlib import Path

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


RECORDED = Path(__file__).with_name("recorded_copies.csv")  # python -m tests.bench.lab copy_intervals --quick
IN_A_PLAN = 6  # moves, none of which teaches another


@pytest.mark.parametrize("server", ["15", "18"])
def test_recorded_moves_lie_within_and_intervals_grow_narrow(server: str) -> None:
    """Of 48 moves on two loaded cores, idle disks first and then busy ones, as many and as narrow as is the goal."""
    with RECORDED.open() as file:
        rows = [row for row in csv.DictReader(file) if row["server"] == server]
    moves = [
        TaughtCopy(
            (row["route"], row["from_tier"], row["to_tier"]), float(row["model_seconds"]), float(row["took_seconds"])
        )
        for row in rows
    ]
    found = [
        copy_interval(moves[: at - at % IN_A_PLAN], each.kind, each.predicted_seconds) for at, each in enumerate(moves)
    ]
    held = [one.low <= each.seconds <= one.high for one, each in zip(found, moves, strict=True)]
    assert len(held) == 48
    assert np.mean(held) >= 0.9
    assert np.median([one.high / one.low for one in found[20:]]) <= 4.0


def test_a_route_that_scatters_does_not_widen_another() -> None:
    """Rebuilds that wait for others' transactions say nothing of how long a locked copy takes."""
    random = np.random.default_rng(4)
    seen = [
        copy
        for _ in range(10)
        for copy in (
            TaughtCopy(KIND, 5.0, 10.0 * float(np.exp(0.8 * random.standard_normal()))),
            TaughtCopy(OTHER, 5.0, 10.0 * float(np.exp(0.1 * random.standard_normal()))),
        )
    ]
    scatters, steady = copy_interval(seen, KIND, 5.0), copy_interval(seen, OTHER, 5.0)
    assert steady.high / steady.low < 2.5 < 6.0 < scatters.high / scatters.low


def test_other_tiers_by_the_same_route_teach_most() -> None:
    """The first move back is expected to be as slow as those there were."""
    seen = copies(8.0, 0.2, 20)
    back = copy_interval(seen, (KIND[0], "ssd", "hdd"), 5.0)
    assert back.middle > 5.0 * 6.0
    assert back.high / back.low < 4.0


def test_what_it_waits_for_may_be_over() -> None:
    """The lower end leaves out transactions that a rebuild is predicted to wait for; the upper end has them."""
    seen = copies(1.0, 0.2, 20)
    alone, waits = copy_interval(seen, KIND, 5.0), copy_interval(seen, KIND, 5.0, 4.0)
    assert waits.low == pytest.approx(alone.low / 5.0)
    assert (waits.middle, waits.high) == (alone.middle, alone.high)
