"""Noise of read waits that lasts for hours: how long, what a mean misses by, and what is not called hurt."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from agent.model.outcomes import OutcomeVerdict
from agent.moving.effect import (
    ALONE_SECONDS,
    SURE,
    Effect,
    effect_of,
    estimate,
    verdict_of,
)
from agent.moving.lasting_noise import LEAST_INTERVALS, LEAST_TIMES
from agent.moving.usual_wait import Evidence
from tests.bench.verify import highest
from tests.bench.verify_worlds import make_case
from tests.unit.agent.verification.test_effect import evidence

DAYS = 3 * 1440  # minutes
SURELY_WORSE = Effect(
    log_change=0.3, further=0.0, error=0.01, freedom=30.0, before=100, after=100, outside=0.0, hours_known=True
)


def noisy(lasts: float, error: float = 0.15, seed: int = 1, count: int = DAYS) -> Evidence:
    """Days in which waits fluctuate with that time constant, in minutes."""
    generator, keep = np.random.default_rng(seed), np.exp(-1 / lasts)
    level = np.empty(count)
    level[0] = generator.normal(0, error)
    for at in range(1, count):
        level[at] = keep * level[at - 1] + generator.normal(0, error * np.sqrt(1 - keep**2))
    made = evidence(count)
    return replace(made, waited=made.waited * np.exp(level))


def found(before: Evidence, after: Evidence) -> Effect:
    """The effect, which there is."""
    effect = estimate(before, after)
    assert effect is not None
    return effect


def parts(lasts: float, seed: int, after: int = 480) -> tuple[Evidence, Evidence]:
    """Two days and a time after, of one noise, a quarter of an hour apart."""
    made = noisy(lasts, seed=seed, count=DAYS)
    begun = DAYS - 15 - after
    return made.rows(slice(begun)), made.rows(slice(begun + 15, DAYS))


def test_intervals_that_overlap_have_an_effect_as_well() -> None:
    """Two agents watched the same time, or a clock was set back: no error, and the change as it was."""
    before, after = parts(60.0, seed=3)
    both = after.rows(np.repeat(np.arange(len(after)), 2))
    twice = found(before, replace(both, at=both.at + np.tile([0.0, 17.0], len(after))))
    back = found(replace(before, at=before.at - np.where(np.arange(len(before)) > 2000, 3600.0, 0.0)), after)
    once = found(before, after)
    for effect in (twice, back):
        assert abs(effect.log_change - once.log_change) < once.error


@pytest.mark.parametrize("days", [1, 6])
def test_a_long_gap_is_one_interval(days: int) -> None:
    """An agent was away for days: that interval is judged like others, and shows one spell of noise at most."""
    before, after = (side.rows(slice(-20, None)) for side in parts(60.0, seed=3))
    away = np.arange(len(before)) == 10
    minutes = np.where(away, days * 1440.0, 1.0)
    gap = replace(
        before,
        at=before.at - np.where(np.arange(len(before)) < 10, days * 86_400.0, 0.0),
        seconds=before.seconds * minutes,
        waited=before.waited * minutes,
        expected=before.expected * minutes,
    )
    effect = found(gap, after)
    assert effect.error > 0
    assert effect.times <= len(before)


@pytest.mark.parametrize("lasts", [5.0, 60.0, 360.0])
def test_the_error_is_what_the_change_misses_by(lasts: float) -> None:
    """Of moves without effect, amid noise of minutes and of hours."""
    effects = [found(*parts(lasts, seed)) for seed in range(24)]
    missed = np.array([each.log_change / each.error for each in effects])
    assert 0.6 < float(np.sqrt(np.square(missed).mean())) < 1.5


def test_amid_slow_noise_a_step_shows_at_its_date() -> None:
    """Means of 8 hours miss by 0.1 where noise lasts for 6; what came shortly before and after tells a step of 0.3."""
    pairs = [parts(360.0, seed) for seed in range(12)]
    means = [
        float(np.log(now.waited.mean()) - np.log(was.rows(slice(-1440, None)).waited.mean())) for was, now in pairs
    ]
    steps = [found(was, replace(now, waited=now.waited * np.exp(0.3))).log_change - 0.3 for was, now in pairs]
    assert np.std(steps) < 0.6 * np.std(means)


def test_how_long_noise_lasts_is_seen() -> None:
    """By how many times as long as it tells the same there were: fewer of slow noise."""
    quick, slow = (np.median([found(*parts(lasts, seed)).times for seed in range(6)]) for lasts in (5.0, 360.0))
    assert quick > 2 * slow


@pytest.mark.parametrize(
    ("known", "verdict"),
    [
        ({}, OutcomeVerdict.HURT),
        ({"times": LEAST_TIMES - 0.1}, OutcomeVerdict.CANNOT_TELL),  # noise was seen too rarely before
        ({"later": 0.04}, OutcomeVerdict.CANNOT_TELL),  # the second half of the time shows less than 5 %
        ({"later": 0.06}, OutcomeVerdict.HURT),
        ({"seconds_after": ALONE_SECONDS - 1}, OutcomeVerdict.CANNOT_TELL),  # a backup may take as long
        ({"seconds_after": ALONE_SECONDS}, OutcomeVerdict.HURT),
        ({"seconds_after": 900.0, "log_change": 0.5}, OutcomeVerdict.HURT),  # worse by more than a neighbour brings
    ],
)
def test_what_noise_may_have_done_is_not_called_hurt(known: dict[str, float], verdict: OutcomeVerdict) -> None:
    """However sure the interval is."""
    assert SURELY_WORSE.ends(SURE)[0] > 0
    assert verdict_of(replace(SURELY_WORSE, **known)) is verdict  # type: ignore[arg-type]


def test_the_last_look_waits_no_longer() -> None:
    """However short the time after is: with a short settle time there would be no verdict at all."""
    soon = replace(SURELY_WORSE, seconds_after=ALONE_SECONDS - 1)
    assert verdict_of(soon, last=True) is OutcomeVerdict.HURT


def test_a_rhythm_of_the_day_is_known_after_two_days() -> None:
    """What one day shows at an hour may be noise of hours; where it comes each day a smaller change is found."""
    made = evidence(DAYS)
    daily = replace(made, waited=made.waited * np.exp(0.2 * np.sin(2 * np.pi * made.at / 86_400.0)))
    one, two = (found(daily.rows(slice(first, 3840)), daily.rows(slice(3855, DAYS))) for first in (2400, 0))
    assert (one.hours_known, two.hours_known) == (False, True)
    assert abs(two.log_change) < 0.02
    assert two.error < 0.5 * one.error


def test_harm_is_not_called_where_too_little_was_seen_before() -> None:
    """Fewer intervals than show how long noise lasts: three times the wait is no harm that is told, help is."""
    before = evidence(LEAST_INTERVALS - 1)
    after = before.rows(slice(0, 8))
    rise, fall = (found(before, replace(after, waited=after.waited * factor)) for factor in (3.0, 0.2))
    assert verdict_of(replace(rise, times=math.inf)) is OutcomeVerdict.HURT
    assert (verdict_of(rise), verdict_of(fall)) == (OutcomeVerdict.CANNOT_TELL, OutcomeVerdict.HELPED)


def test_harm_must_still_be_there_in_the_second_half() -> None:
    """A neighbour that begins with the moves and ends after five hours is no harm of theirs; what stays is."""
    before, after = noisy(5.0, error=0.05), evidence(960, start=DAYS)
    over = replace(after, waited=after.waited * np.where(np.arange(960) < 300, 1.4, 1.0))
    stays = replace(after, waited=after.waited * 1.4)
    told = [effect_of(before, each) for each in (over, stays)]
    assert [each is not None and verdict_of(each, last=True) for each in told] == [
        OutcomeVerdict.CANNOT_TELL,
        OutcomeVerdict.HURT,
    ]


def test_days_that_are_known_by_ten_minutes_count_as_such() -> None:
    """History is folded after a day: the mean of ten minutes lies above that of their logarithms."""
    made = noisy(1.0, error=0.5)
    old, last = made.rows(slice(0, 2000)), made.rows(slice(2000, 3300))
    folded = old.joined(np.arange(0, len(old), 10))
    mixed = Evidence(**{
        name: np.concatenate((getattr(folded, name), getattr(last, name)))
        for name in ("at", "seconds", "waited", "expected", "moved", "elsewhere")
    })  # fmt: skip
    for after in (made.rows(slice(3315, 3345)), made.rows(slice(3315, 4275))):
        plain, coarse = found(made.rows(slice(0, 3300)), after), found(mixed, after)
        assert coarse.log_change == pytest.approx(plain.log_change, abs=0.06)


def test_help_is_told_all_the_same() -> None:
    """What helps takes nothing back."""
    better = replace(SURELY_WORSE, log_change=-0.5, times=3.0)
    assert verdict_of(better) is OutcomeVerdict.HELPED


def test_a_fifth_more_wait_is_found_amid_noise_of_hours() -> None:
    """Of the noise that hides most, by the wait alone; of moves without effect none is called hurt."""
    generator, kinds = np.random.default_rng(5), ("fades 15 min", "fades 180 min", "steps 60 min", "neighbours 3 h")
    told: dict[str, list[OutcomeVerdict]] = {"none": [], "hurt much": []}
    for effect, change in itertools.product(told, kinds * 4):
        case = make_case(generator, effect, change, days=2)
        judged = effect_of(case.history, case.after)
        assert judged is not None
        told[effect].append(verdict_of(judged, last=True))
    assert told["none"].count(OutcomeVerdict.HURT) == 0
    assert told["hurt much"].count(OutcomeVerdict.HURT) >= 9, "means over days found 4 of these 16"


def test_a_share_of_none_has_an_upper_end() -> None:
    """The rule of three: none of 299 is at most 1 % at 95 %; all of them is all."""
    assert highest(0, 299) == pytest.approx(0.01, rel=0.01)
    assert highest(1, 473) == pytest.approx(0.01, rel=0.01)
    assert highest(5, 5) == 1.0
