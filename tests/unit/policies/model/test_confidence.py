"""Intervals: what is sure of a saving, and how the errors of a plan add up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from connectors.model.formatting import format_seconds
from policies.evidence.bundles import bundle_of
from policies.model.confidence import MODEL_ERROR, Placed, Shift, certain_share, plan_interval, ratio_interval, spread
from policies.model.plan import Situation, Verdict
from policies.model.settings import Pin, PolicySettings
from policies.placement.balancer import make_plan
from policies.placement.verdicts import explain_verdict, least_that_pays, lower_bound_of_saving, payback
from tests.unit.policies.situations import HDD, MIB, SSD, Site, Unit

Z = 1.6448536269514722  # nine in ten


def test_nine_in_ten_are_within_1_64_standard_errors() -> None:
    """The normal quantile, and no other share than a possible one."""
    assert spread(0.9) == pytest.approx(Z)
    for impossible in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="does not exist"):
            spread(impossible)


def test_the_lower_end_counts_demand_and_both_speeds() -> None:
    """Wait 110 against 10 with errors 0.3, 0.2 and 0.5: squares 0.09 + 0.22 ** 2 + 0.05 ** 2."""
    wait = np.array([110.0]), np.array([10.0])
    errors = np.array([0.2]), np.array([0.5])
    share = certain_share(wait[0] - wait[1], *wait, np.array([0.3]), errors, 0.9)
    assert share == pytest.approx(np.exp(-Z * np.sqrt(0.09 + 0.22**2 + 0.05**2)))


def test_what_is_sure_is_its_mean_and_a_loss_is_left_alone() -> None:
    """Without errors the share is exactly 1, and what saves nothing is not made smaller."""
    saved, wait = np.array([5.0, -5.0]), np.array([9.0, 9.0])
    nothing, much = np.zeros(1), np.ones(1)
    assert certain_share(saved, wait, wait, np.zeros(2), (nothing, nothing), 0.9).tolist() == [1.0, 1.0]
    assert certain_share(saved, wait, wait, np.ones(2), (much, much), 0.9)[1] == 1.0


def test_a_plan_errs_by_its_model_at_least() -> None:
    """Known demand and speeds leave the error of the model: 8 % of the mean as standard error."""
    shifts = [Shift(from_tier=1, to_tier=0, wait_before=100.0, wait_after=0.0, error=0.0)]
    found = plan_interval(shifts, (0.0, 0.0), 0.9)
    assert (found.low, found.high) == pytest.approx((100 - Z * MODEL_ERROR * 100, 100 + Z * MODEL_ERROR * 100))


def test_errors_of_many_units_even_out_and_those_of_a_speed_do_not() -> None:
    """A hundred units that vary by half each are surer together than one; a doubtful disk stays doubtful."""
    one = Shift(from_tier=1, to_tier=0, wait_before=100.0, wait_after=0.0, error=0.5)
    many = [replace(one, wait_before=1.0)] * 100
    alone, together = (plan_interval(shifts, (0.0, 0.0), 0.9) for shifts in ([one], many))
    assert together.low > 80 > 50 > alone.low
    doubtful = [replace(shift, error=0.0) for shift in many]
    assert plan_interval(doubtful, (0.0, 0.5), 0.9).low == pytest.approx(
        100 - Z * 100 * np.sqrt(0.5**2 + MODEL_ERROR**2)
    )


def test_nothing_moved_is_nothing_saved() -> None:
    """No moves have the interval from 0 to 0."""
    found = plan_interval([], (0.5, 0.5), 0.9)
    assert (found.low, found.high) == (0.0, 0.0)


def watched(errors: list[float], floor: float = 1.0) -> tuple[Situation, PolicySettings]:
    """Units of 10 reads/s each (191 s of wait an hour), with those errors of their demand."""
    units = [Unit(key=f"u{at}", sync=10.0, size=MIB) for at in range(len(errors))]
    situation = Site(room={"fast": 10 * MIB, "slow": 10**15}).situation(units)
    heat = replace(situation.heat, error=np.array(errors))
    return replace(situation, heat=heat), PolicySettings(minimum_wait_saved_per_hour=floor)


def test_moves_are_decided_on_the_lower_end_and_told_by_the_mean() -> None:
    """With a floor of 100 s, 191 s that may as well be 37 s are no reason to move, and the sentence says both."""
    situation, settings = watched([0.05, 1.0], floor=100.0)
    plan = make_plan(situation, settings)
    assert [Verdict(int(v)) for v in plan.verdict] == [Verdict.PROMOTE, Verdict.UNCERTAIN]
    assert plan.wait_saved_per_hour == pytest.approx(10 * (HDD.random_read_seconds - SSD.random_read_seconds) * 3600)
    assert plan.wait_saved_low_per_hour < plan.wait_saved_per_hour < plan.wait_saved_high_per_hour


def test_of_two_equal_units_the_surer_one_gets_the_room() -> None:
    """Room for one: the unit whose demand is known better comes."""
    situation, settings = watched([0.5, 0.1])
    spaces = tuple(replace(s, free_bytes=MIB, capacity_bytes=MIB) if s.name == "fast" else s for s in situation.spaces)
    plan = make_plan(replace(situation, spaces=spaces), replace(settings, head_room_ratio=0.0))
    assert [move.key for move in plan.moves] == ["u1"]


def test_an_interval_never_promises_more_than_all_wait() -> None:
    """However unsure, nobody can save more than sessions wait now."""
    plan = make_plan(*watched([2.0]))
    assert plan.wait_saved_high_per_hour <= plan.wait_per_hour


def placed(after: list[float], error: float = 0.0) -> Placed:
    """Two units that wait 80 and 20 on the slow tier; the first goes up."""
    return Placed(
        wait_before=np.array([80.0, 20.0]), wait_after=np.array(after), error=np.array([error, error]),
        tier_before=np.array([1, 1], dtype=np.int64), tier_after=np.array([0, 1], dtype=np.int64),
    )  # fmt: skip


def test_the_share_saved_is_surer_than_the_seconds() -> None:
    """A doubtful disk makes the seconds doubtful and leaves the share: only the model's own error remains."""
    found = ratio_interval(placed([0.0, 20.0]), (0.0, 0.5), 0.9)
    reach = np.exp(Z * MODEL_ERROR)
    assert (found.low, found.high) == pytest.approx((1 - 0.2 * reach, 1 - 0.2 / reach))


def test_the_share_errs_by_how_units_vary_against_each_other() -> None:
    """Demand that varies by half for each unit moves the share, and it never passes 1."""
    found = ratio_interval(placed([0.0, 20.0], error=0.5), (0.0, 0.0), 0.9)
    assert found.low < ratio_interval(placed([0.0, 20.0]), (0.0, 0.0), 0.9).low
    assert found.high < 1.0
    everything = replace(placed([0.0, 0.0]), tier_after=np.zeros(2, dtype=np.int64))
    assert ratio_interval(everything, (0.0, 0.0), 0.9).low == 1.0


def test_nothing_moved_saves_no_share() -> None:
    """No wait, or no move: the interval is from 0 to 0."""
    still = replace(placed([80.0, 20.0]), tier_after=np.ones(2, dtype=np.int64))
    idle = replace(still, wait_before=np.zeros(2), wait_after=np.zeros(2))
    for each in (still, idle):
        found = ratio_interval(each, (0.5, 0.5), 0.9)
        assert (found.low, found.high) == (0.0, 0.0)


@pytest.mark.parametrize("pin", [Pin.NONE, Pin.PREFER])
@pytest.mark.parametrize("floor", [1.0, 100.0, 180.0])
def test_what_does_not_pay_is_told_with_the_figures_that_the_guard_compared(pin: Pin, floor: float) -> None:
    """The sentence of an uncertain gain: what is sure, by the preference of a person too, and what it takes to pay."""
    situation, settings = watched([1.0, 2.0, 1.5], floor=floor)
    situation = replace(situation, pin=np.full(3, pin, dtype=np.int8))
    settings = replace(settings, payback_limit_seconds=60.0)
    plan = make_plan(situation, settings)
    for row, verdict in enumerate(plan.verdict.tolist()):
        bundle = bundle_of(situation, np.array([row]), settings)
        sure, least = lower_bound_of_saving(bundle), least_that_pays(bundle, settings)
        late = payback(bundle) > settings.payback_limit_seconds
        if verdict == Verdict.UNCERTAIN:
            assert sure < least
            assert f"less than the {format_seconds(least)} that pay" in explain_verdict(situation, plan, row, settings)
        elif verdict == Verdict.PROMOTE:
            assert sure >= least
        assert (verdict == Verdict.PAYBACK_TOO_LONG) == late
