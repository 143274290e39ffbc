"""Prediction errors: learnt from outcomes by kind of move, and fed into the next interval."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from policies.model.confidence import MODEL_ERROR, Placed, ratio_interval
from policies.model.moves import ALL, PRIOR_OUTCOMES, Kind, Residual, learn_errors, taught_variance
from policies.placement.dispatch import plan_mode
from tests.unit.policies.model.test_confidence import watched
from tests.unit.policies.situations import MIB

TABLE: Kind = ("table", "hdd", "ssd")
INDEX: Kind = ("index", "hdd", "ssd")


def residual(predicted: float, measured: float, *, error: float = 0.0, kind: Kind = TABLE) -> Residual:
    """One outcome of moves of one kind."""
    return Residual(predicted=predicted, measured=measured, measured_error=error, kinds={kind: 1.0})


def test_a_residual_is_about_what_remains() -> None:
    """A quarter was to remain and a half does: off by a factor of 2, whatever the wait was."""
    assert residual(0.75, 0.5).log_ratio == pytest.approx(math.log(2))
    assert residual(0.5, 0.75).log_ratio == pytest.approx(-math.log(2))
    assert residual(0.75, 0.5).square == pytest.approx(math.log(2) ** 2)


def test_what_the_measurement_did_not_know_is_no_error() -> None:
    """A residual within the noise of the measurement teaches that the prediction was right."""
    assert residual(0.5, 0.45, error=0.2).square == 0.0
    assert residual(0.5, 0.2, error=0.2).square == pytest.approx(math.log(0.8 / 0.5) ** 2 - 0.2**2)


def test_one_outlier_teaches_no_more_than_a_factor_of_four() -> None:
    """Something else had slowed it down."""
    assert residual(0.9, -8.0).square == pytest.approx(math.log(4.0) ** 2)


def test_no_outcomes_leave_the_model_as_it_is() -> None:
    """Nothing learnt, nothing changed."""
    assert learn_errors([]) == ()
    assert taught_variance(0.01, (), {TABLE: 1.0}) == 0.01


def test_many_outcomes_outweigh_the_model() -> None:
    """Fifty that were off by a factor of 1.5 leave little of a model that believes in 8 %."""
    errors = learn_errors([residual(0.5, 0.25)] * 50)
    found = taught_variance(MODEL_ERROR**2, errors, {TABLE: 1.0})
    assert math.log(1.5) ** 2 * 0.8 < found < math.log(1.5) ** 2


def test_good_predictions_narrow_the_interval() -> None:
    """Ten outcomes just as predicted."""
    errors = learn_errors([residual(0.5, 0.5)] * 10)
    found = taught_variance(MODEL_ERROR**2, errors, {TABLE: 1.0})
    assert found == pytest.approx(MODEL_ERROR**2 * (PRIOR_OUTCOMES / (PRIOR_OUTCOMES + 10)) ** 2)


def test_kinds_differ_and_borrow_from_each_other() -> None:
    """Indexes were predicted badly, tables well; what was never moved lies between."""
    errors = learn_errors([residual(0.5, 0.5)] * 8 + [residual(0.5, 0.0, kind=INDEX)] * 8)
    table, index, lob = (
        taught_variance(MODEL_ERROR**2, errors, {kind: 1.0}) for kind in (TABLE, INDEX, ("lob", "hdd", "ssd"))
    )
    assert table < lob < index
    both = taught_variance(MODEL_ERROR**2, errors, {TABLE: 0.5, INDEX: 0.5})
    assert table < both < index
    assert {error.kind for error in errors} == {ALL, TABLE, INDEX}


def test_the_interval_of_the_share_follows() -> None:
    """Twenty outcomes off by a factor of 2 widen it; what is not moved stays at nothing."""
    both = Placed(
        wait_before=np.array([80.0, 20.0]), wait_after=np.array([0.0, 20.0]), error=np.zeros(2),
        tier_before=np.array([1, 1], dtype=np.int64), tier_after=np.array([0, 1], dtype=np.int64),
    )  # fmt: skip
    errors = learn_errors([residual(0.5, 0.0)] * 20)
    plain, taught = (ratio_interval(both, (0.0, 0.0), 0.9, learned, {TABLE: 1.0}) for learned in ((), errors))
    assert taught.low < plain.low < 0.8 < plain.high < taught.high
    still = replace(both, tier_after=both.tier_before, wait_after=both.wait_before)
    assert ratio_interval(still, (0.0, 0.0), 0.9, errors, {}).low == 0.0


def test_a_plan_knows_what_earlier_ones_have_missed() -> None:
    """The same plan, with a wider interval of the share that it saves."""
    situation, settings = watched([0.1, 0.1])
    names = situation.tiers[-1].name, situation.tiers[0].name
    errors = learn_errors([residual(0.5, 0.0, kind=("table", *names))] * 20)
    spaces = tuple(replace(s, free_bytes=MIB, capacity_bytes=MIB) if s.name == "fast" else s for s in situation.spaces)
    rest, settings = replace(situation, spaces=spaces), replace(settings, head_room_ratio=0.0)
    plain, taught = (plan_mode(each, settings) for each in (rest, replace(rest, prediction_errors=errors)))
    assert [move.key for move in plain.moves] == [move.key for move in taught.moves]
    assert plain.wait_saved_per_hour == taught.wait_saved_per_hour
    assert taught.saved_ratio_low < plain.saved_ratio_low < plain.saved_ratio_high < taught.saved_ratio_high
