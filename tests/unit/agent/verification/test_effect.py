"""The effect of moves on the wait for the same work: by hand, and in worlds where it is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from agent.model.outcomes import OutcomeVerdict
from agent.moving.effect import (
    LEAST_AFTER,
    LEAST_BEFORE,
    LOOKS,
    Effect,
    _with_feedback,
    estimate,
    look_seconds,
)
from agent.moving.usual_wait import Evidence, queue_curve
from connectors.model.observation import F64
from tests.bench.verify import judged_moves

MINUTE = 60.0


def evidence(
    count: int,
    *,
    wait: float = 1.0,
    load: float | F64 = 1.0,
    mix: float = 0.5,
    noise: float = 0.02,
    start: int = 0,
    used: float = 0.0,
    seed: int = 1,
) -> Evidence:
    """Minutes in which reads took ``wait`` times what is believed, on a device with that utilisation and one server."""
    generator = np.random.default_rng(seed + start)
    loads = np.broadcast_to(np.asarray(load, dtype=np.float64), count) * np.exp(generator.normal(0, 0.05, count))
    factor = wait * np.exp(queue_curve(loads, used, 1) + generator.normal(0, noise, count))
    return Evidence(
        at=np.arange(start, start + count, dtype=np.float64) * MINUTE, seconds=np.full(count, MINUTE),
        waited=loads * MINUTE * factor, expected=loads * MINUTE, moved=np.full(count, mix), elsewhere=np.zeros(count),
    )  # fmt: skip


def estimated(before: Evidence, after: Evidence) -> Effect:
    """The effect, which there is."""
    found = estimate(before, after)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("change", "near", "counted", "further"),
    [
        (-0.5, -0.2, -0.2, -0.3),  # helps, and more than where loads are known
        (0.5, 0.2, 0.2, 0.3),  # hurts, and more
        (-0.2, -0.5, -0.2, 0.0),  # helps less than where loads are known
        (0.2, 0.5, 0.2, 0.0),
        (-0.5, 0.2, -0.5, 0.0),  # the known loads say the opposite
        (-0.5, 0.0, -0.5, 0.0),
    ],
)
def test_beyond_known_loads_less_is_certain(change: float, near: float, counted: float, further: float) -> None:
    """What goes further the same way than at the nearest known loads is possible; anything else counts as it is."""
    found, beyond = _with_feedback(change, near)
    assert found == counted
    assert beyond == pytest.approx(further)


@pytest.mark.parametrize("change", [-0.7, 0.0, 0.25])
def test_a_plain_change_is_found(change: float) -> None:
    """The same load and mix, and each read waits so much more or less."""
    found = estimated(evidence(240), evidence(30, wait=1 + change, start=300))
    low, high = found.ends()
    assert low <= change <= high
    assert high - low < 0.1
    assert found.change == pytest.approx(change, abs=0.02)


def test_more_reads_are_no_harm() -> None:
    """Twice the reads without a queue wait twice as long together: for the same work nothing has changed."""
    low, high = estimated(
        evidence(240, load=np.tile([0.7, 1.0, 1.6, 2.4], 60)), evidence(30, load=2.0, start=300)
    ).ends()
    assert low < 0 < high
    assert high < 0.1


def test_a_longer_queue_is_no_harm() -> None:
    """A load of 1.8 instead of 1 lengthens the queue, as such a load did before the moves."""
    before = evidence(480, load=np.tile(np.linspace(0.5, 1.9, 60), 8), used=0.4)
    after = evidence(30, load=1.8, used=0.4, start=500)
    plain = math.log((after.waited.sum() / after.expected.sum()) / (before.waited.sum() / before.expected.sum()))
    low, high = estimated(before, after).ends()
    assert plain > 0.3, "a plain comparison sees harm"
    assert low < 0 < high < 0.12


def test_a_load_never_seen_makes_it_unsure() -> None:
    """Nothing is known of a queue at three times the load, and the interval says so."""
    steady, tripled = evidence(240, used=0.2), evidence(30, load=3.0, used=0.2, start=300)
    found = estimated(steady, tripled)
    low, high = found.ends()
    assert found.outside > 0.9
    assert low < 0 < high
    assert high - low > 0.3


def test_a_noisy_load_does_not_hide_harm() -> None:
    """Loads that are counted over short intervals scatter, which flattens the fit: harm at a low load is found."""
    offered = np.tile(np.repeat([3.0, 3.0, 3.0, 1.0], 4), 12)
    before = evidence(len(offered), load=offered, used=0.25, noise=0.1)
    after = evidence(60, load=1.0, wait=1.5, used=0.25, noise=0.1, start=300)
    scatter = np.exp(np.random.default_rng(5).normal(0, 0.3, len(offered)))
    before = replace(before, waited=before.waited * scatter, expected=before.expected * scatter)
    found = estimated(before, after)
    low, high = found.ends()
    assert low < 0.5 < high
    assert found.change == pytest.approx(0.5, abs=0.1)


def test_what_known_loads_show_is_not_hidden_by_unknown_ones() -> None:
    """Every other minute has three times the load and a queue never seen: the rest shows harm of 12 % for sure."""
    before = evidence(480, load=np.tile(np.linspace(0.5, 1.5, 60), 8), used=0.3)
    after = evidence(120, wait=1.12, load=np.tile([1.0, 3.2], 60), used=0.3, start=500)
    found = estimated(before, after)
    low, _ = found.ends(0.99)
    assert found.outside > 0.5
    assert found.change == pytest.approx(0.12, abs=0.03)
    assert low > 0


def test_sessions_that_ask_for_more_are_no_credit() -> None:
    """Wait fell to a tenth and the load rose by ten with it: at least nine tenths were saved, and perhaps more."""
    found = estimated(evidence(60), evidence(10, wait=0.1, load=10.0, start=70))
    low, high = found.ends()
    assert found.change == pytest.approx(-0.9, abs=0.02)
    assert low < -0.93
    assert high < -0.87


def test_noise_that_lasts_counts_as_long_as_it_lasts() -> None:
    """The same scatter in runs of ten minutes leaves far fewer independent figures."""
    quick = evidence(480, noise=0.1)
    runs = np.repeat(np.random.default_rng(3).normal(0, 0.1, 48), 10)
    slow = replace(quick, waited=quick.expected * np.exp(runs))
    after = evidence(20, start=500)
    assert estimated(slow, after).error > 1.7 * estimated(quick, after).error


def test_shares_of_an_effect_make_the_whole() -> None:
    """Parts of a joint effect multiply up to it."""
    found = estimated(evidence(240), evidence(30, wait=0.4, start=300))
    parts = [found.part(share).change for share in (0.3, 0.7)]
    assert math.prod(1 + part for part in parts) == pytest.approx(1 + found.change)


def test_too_little_is_no_effect() -> None:
    """Fewer intervals than are needed, or none in which anything was read."""
    assert estimate(evidence(LEAST_BEFORE - 1), evidence(30, start=300)) is None
    assert estimate(evidence(60), evidence(LEAST_AFTER - 1, start=300)) is None
    idle = replace(evidence(30, start=300), waited=np.zeros(30), expected=np.zeros(30))
    assert estimate(evidence(60), idle) is None


def test_merged_intervals_hold_the_same() -> None:
    """Seconds, waits and expected waits add up."""
    minutes = evidence(10)
    merged = minutes.joined(np.array([0, 4, 7]))
    assert merged.seconds.tolist() == [4 * MINUTE, 3 * MINUTE, 3 * MINUTE]
    assert merged.waited.sum() == pytest.approx(minutes.waited.sum())
    assert merged.moved == pytest.approx([0.5] * 3)
    assert merged.at[-1] == minutes.at[-1]


def test_each_look_is_twice_as_long() -> None:
    """15, 30, 60 ... minutes, and the seventh is the last."""
    assert look_seconds(900.0, 900.0) == (900.0, False)
    assert look_seconds(900.0, 3500.0) == (1800.0, False)
    assert look_seconds(900.0, 1e6) == (900.0 * 2 ** (LOOKS - 1), True)


def test_known_effects_are_told() -> None:
    """Some of the benchmark's worlds: load doubled, halved, another mix, season, cold caches."""
    none, helped, hurt = (
        list(judged_moves(effect, count, seed=20)) for effect, count in (("none", 12), ("spill", 3), ("hurt", 6))
    )
    every = [*none, *helped, *hurt]
    assert not [each for each in none if each.verdict is OutcomeVerdict.HURT]
    assert sum(each.plain_hurt for each in none) >= 2, "a plain comparison is wrong in some of them"
    assert {each.verdict for each in helped} == {OutcomeVerdict.HELPED}
    assert sum(each.verdict is OutcomeVerdict.HURT for each in hurt) >= 4
    assert not [each for each in hurt if each.verdict is OutcomeVerdict.HELPED]
    assert np.mean([each.holds for each in every]) > 0.8


def test_intervals_without_reads_are_left_out() -> None:
    """Of what was read for nothing, or waited for without a read, there is no wait per operation."""
    made = evidence(10)
    for name in ("waited", "expected"):
        column = getattr(made, name).copy()
        column[[2, 5]] = 0.0, np.nan
        kept = replace(made, **{name: column}).with_reads()
        assert kept.at.tolist() == [60.0 * at for at in (0, 1, 3, 4, 6, 7, 8, 9)]


def test_much_noise_alone_is_no_change() -> None:
    """The mean of waits is above their usual one where they scatter: before as much as after."""
    found = [
        estimated(evidence(360, noise=0.6, seed=seed), evidence(240, noise=0.6, start=400, seed=seed)).log_change
        for seed in range(1, 9)
    ]
    assert abs(np.mean(found)) < 0.05


def test_hours_are_known_once_most_of_two_days_was_seen() -> None:
    """What one day shows at an hour may be noise that lasts for hours."""
    after = evidence(60, start=3000)
    for minutes, known in ((2590, False), (2594, True)):
        assert estimated(evidence(minutes, start=3000 - minutes), after).hours_known is known


@pytest.mark.parametrize(("load", "outside"), [(1.0, 0.0), (1.2, 0.0), (2.0, 1.0), (0.5, 1.0), (0.85, 0.0)])
def test_work_at_loads_beyond_all_that_was_seen_is_told(load: float, outside: float) -> None:
    """A tenth more than the most, or less than the least, is nothing new."""
    before = replace(evidence(60), expected=np.linspace(0.9, 1.1, 60) * MINUTE)
    after = replace(evidence(20, start=70), expected=np.full(20, load * MINUTE))
    assert estimated(before, replace(after, waited=after.expected)).outside == outside


def test_the_queue_that_explains_best_counts_most() -> None:
    """Where loads differed much before, what twice the mean would cost is known, and the interval is narrow."""
    loads = np.exp(np.random.default_rng(5).uniform(-0.9, 0.4, 480))
    before = evidence(480, load=loads, used=0.55, noise=0.02)
    after = evidence(60, load=1.5, used=0.55, noise=0.02, start=500)
    found = estimated(before, after)
    assert found.log_change == pytest.approx(0.0, abs=0.05)
    assert found.error < 0.05
