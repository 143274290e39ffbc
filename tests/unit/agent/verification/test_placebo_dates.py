"""How much a comparison errs is looked at where nothing changed: at dates before the moves."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from agent.moving.effect import AS_SAID, PLACEBO_DATES, Effect, _erred, check, effect_of
from agent.moving.usual_wait import Evidence
from agent.moving.verifier import what_it_rests_on
from tests.bench.verify_worlds import make_case
from tests.unit.agent.verification.test_effect import evidence
from tests.unit.samples import an_effect

THREE_DAYS = 72 * 60


def at_known_dates(errors: float) -> list[Effect | None]:
    """What each date shows: a change of so many of its errors."""
    return [replace(an_effect(0.0), log_change=errors * 0.02, error=0.02)] * PLACEBO_DATES


def checked(before: Evidence, after: Evidence) -> Effect:
    """The effect, which there is, with what dates before have shown."""
    effect = effect_of(before, after)
    assert effect is not None
    return check(effect, before)


def test_an_error_is_too_small_by_what_was_missed() -> None:
    """Eight dates at three errors each, and eight more as was said: the root of (8 + 8 * 9) / 16."""
    assert AS_SAID == PLACEBO_DATES == 8
    for found in (at_known_dates(3.0), [*at_known_dates(3.0), None]):  # the second: a date with too few intervals
        assert _erred(found) == {"dates": 8, "too_sure": pytest.approx(math.sqrt(5.0))}


@pytest.mark.parametrize("errors", [0.0, -0.5, 1.0])
def test_no_error_is_called_too_large(errors: float) -> None:
    """Few dates that are off by little say so little; a time before without any date says nothing."""
    assert _erred(at_known_dates(errors)) == {"dates": 8, "too_sure": 1.0}
    assert _erred([]) == {"dates": 0, "too_sure": 1.0}


@pytest.mark.parametrize(("hours", "dates"), [(17, PLACEBO_DATES), (47, PLACEBO_DATES), (49, 0)])
def test_a_date_has_as_much_behind_it_as_the_moves(hours: int, dates: int) -> None:
    """Of three days the first is for comparison: what lasted longer than the other two has no such date."""
    after = evidence(hours * 60, start=THREE_DAYS + 15)
    effect = checked(evidence(THREE_DAYS), replace(after, waited=1.3 * after.waited))
    assert (effect.dates, effect.too_sure) == (dates, 1.0)
    assert effect.log_change == pytest.approx(math.log(1.3), abs=0.01), "the effect itself is as it was"


def test_noise_in_steps_makes_a_comparison_too_sure() -> None:
    """A move that did nothing, amid noise in steps of three hours: a rise of a third that the days before show, too."""
    case = make_case(np.random.default_rng(280), "none", "steps 180 min", days=2)
    effect = checked(case.history, case.after)
    assert effect.change > 0.3
    assert effect.too_sure > 1.1


def test_beside_a_control_both_errors_are_checked() -> None:
    """Each by its own comparison at those dates; what the control shows as well makes the rest no less sure."""
    case = make_case(np.random.default_rng(2), "hurt much", "steps 180 min", days=2)
    effect = effect_of(case.history, case.after.rows(slice(240)), case.control)
    assert effect is not None
    effect = check(effect, case.history, case.control)
    assert effect.beside is not None
    assert effect.dates == effect.beside.dates == PLACEBO_DATES
    assert effect.beside.too_sure != effect.too_sure or effect.too_sure == 1.0


@pytest.mark.parametrize(
    ("dates", "too_sure", "said"),
    [
        (1, 1.0, "at 1 date before the moves, when nothing changed, the same comparison errs by no more than it says"),
        (8, 1.34, "at 8 dates before the moves, when nothing changed, the same comparison errs 1.3 times as much as"),
    ],
)
def test_the_check_is_part_of_the_evidence(dates: int, too_sure: float, said: str) -> None:
    """Next to what else a verdict rests on; nothing where there was no such date."""
    effect = an_effect(0.2)
    assert said in what_it_rests_on(replace(effect, dates=dates, too_sure=too_sure), 1.0)
    assert "when nothing changed" not in what_it_rests_on(effect, 1.0)
