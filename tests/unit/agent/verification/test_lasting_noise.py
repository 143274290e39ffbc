"""Noise of read waits that lasts for hours: how long, what a mean misses by, and what is not called hurt."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from agent.model.outcomes import OutcomeVerdict
from agent.moving.effect import ALONE_SECONDS, SURE, Effect, effect_of, estimate, verdict_of
from agent.moving.lasting_noise import LEAST_STEPS, LEAST_TIMES, lasting_noise
from agent.moving.usual_wait import Evidence
from tests.bench.verify import fit_before_once, highest, judge
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


@pytest.mark.parametrize("lasts", [5.0, 60.0, 180.0])
def test_how_long_noise_lasts_is_seen(lasts: float) -> None:
    """Twice the time constant, rather too long than too short; and what a mean over eight hours misses by."""
    found = [lasting_noise(noisy(lasts, seed=seed)) for seed in range(12)]
    known = [each for each in found if each is not None]
    assert len(known) == len(found)
    middle = float(np.median([each.lasts_seconds for each in known]))
    assert max(15.0, lasts) * 60 <= middle <= 5 * max(15.0, lasts) * 60
    truly = np.std([np.log(noisy(lasts, seed=seed, count=480).waited).mean() for seed in range(60)])
    assert np.median([each.error_over(480 * 60.0) for each in known]) == pytest.approx(truly, rel=0.5)


def test_little_history_says_nothing() -> None:
    """Fewer steps than show how one follows from another."""
    assert lasting_noise(evidence(LEAST_STEPS - 1)) is None
    assert lasting_noise(evidence(LEAST_STEPS)) is not None


@pytest.mark.parametrize(
    ("known", "verdict"),
    [
        ({}, OutcomeVerdict.HURT),
        ({"times": LEAST_TIMES - 0.1}, OutcomeVerdict.CANNOT_TELL),  # noise was seen too rarely before
        ({"times_after": 1.5}, OutcomeVerdict.CANNOT_TELL),  # and after
        ({"greatest_rise": 0.151}, OutcomeVerdict.CANNOT_TELL),  # it rose half as much without a move
        ({"greatest_rise": 0.149}, OutcomeVerdict.HURT),
        ({"half": replace(SURELY_WORSE, log_change=0.02)}, OutcomeVerdict.CANNOT_TELL),  # it came later than the moves
        ({"half": SURELY_WORSE}, OutcomeVerdict.HURT),
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


def test_noise_of_hours_is_not_taken_for_the_hours_of_the_only_day() -> None:
    """What one day shows at an hour may be noise, and is seen too rarely to say so; two days show which it is."""
    found = [lasting_noise(noisy(180.0, seed=seed, count=1440)) for seed in range(12)]
    few = [each is not None and each.times < LEAST_TIMES for each in found]
    assert few.count(True) >= 9
    made = evidence(DAYS)
    daily = replace(made, waited=made.waited * np.exp(0.2 * np.sin(2 * np.pi * made.at / 86_400.0)))
    known = lasting_noise(daily)
    assert known is not None
    assert known.times > 100, "three days show that it comes every day"


def test_harm_is_not_called_where_too_little_was_seen_before() -> None:
    """Fewer intervals than show how long noise lasts: twice the wait is no harm that is told, help is."""
    before = evidence(LEAST_STEPS - 1)
    after = before.rows(slice(0, 8))
    worse, better = (replace(after, waited=after.waited * factor) for factor in (3.0, 0.2))
    assert lasting_noise(before) is None
    rise, fall = (estimate(before, each, 1, may_hurt=False) for each in (worse, better))
    assert rise is not None
    assert fall is not None
    assert verdict_of(replace(rise, times=math.inf)) is OutcomeVerdict.HURT
    assert (verdict_of(rise), verdict_of(fall)) == (OutcomeVerdict.CANNOT_TELL, OutcomeVerdict.HELPED)


def test_harm_is_looked_for_in_the_first_half_too() -> None:
    """Where the whole time would be harm by itself; what was slower from the start is harm."""
    before = noisy(5.0, error=0.05)
    after = before.rows(slice(0, 480))
    harm, nothing = (
        effect_of(before, replace(after, waited=after.waited * slower), before, 1) for slower in (1.4, 1.0)
    )
    assert harm is not None
    assert harm.half is not None
    assert harm.half.after == 240
    assert verdict_of(harm) is OutcomeVerdict.HURT
    assert nothing is not None
    assert nothing.half is None


def test_help_is_told_all_the_same() -> None:
    """What helps takes nothing back."""
    better = replace(SURELY_WORSE, log_change=-0.5, times=3.0)
    assert verdict_of(better) is OutcomeVerdict.HELPED


@pytest.mark.parametrize("change", ["fades 180 min", "square 180 min", "steps 360 min", "neighbours 3 h"])
def test_moves_without_effect_amid_noise_of_hours(change: str) -> None:
    """None of some is called hurt; where noise lasts for minutes, a fifth more wait is found."""
    generator = np.random.default_rng(5)
    found = [judge(make_case(generator, "none", change, days=2), seed) for seed in range(3)]
    assert [each.verdict for each in found].count(OutcomeVerdict.HURT) == 0
    clear = [judge(make_case(generator, "hurt much", "fades 1 min", days=2), seed) for seed in range(4)]
    assert {each.verdict for each in clear} == {OutcomeVerdict.HURT}


def test_a_bench_that_fits_the_time_before_once_finds_the_same() -> None:
    """To the last bit, with a control and without."""
    case = make_case(np.random.default_rng(3), "hurt much", "neighbours 6 h", days=0)
    for control in (None, case.control):
        looks = [case.after.rows(slice(minutes)) for minutes in (15, 30, 60, 120)]
        each = [effect_of(case.before, look, case.history, 1, control) for look in looks]
        with fit_before_once():
            assert [effect_of(case.before, look, case.history, 1, control) for look in looks] == each


def test_a_share_of_none_has_an_upper_end() -> None:
    """The rule of three: none of 299 is at most 1 % at 95 %; all of them is all."""
    assert highest(0, 299) == pytest.approx(0.01, rel=0.01)
    assert highest(1, 473) == pytest.approx(0.01, rel=0.01)
    assert highest(5, 5) == 1.0
