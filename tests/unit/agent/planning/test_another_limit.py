"""What outcomes teach: of a limit that is no tier's, of who asks, and of how far forecasts are off."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.planning.situation import elsewhere_alone, load_by_outcomes, past_forecasts
from policies.evidence.workload import CLOSED, OPEN, UNKNOWN

# 100 a second at 80 ms, 60 of them reads, were to become 300; they are 150 at 50 ms, of which reads are 5 ms only.
SHORT = Outcome(
    verdict=OutcomeVerdict.HELPED,
    measured=True,
    predicted_wait_saved_per_hour=1.0,
    predicted_saved_ratio=0.9,
    wait_per_transaction_before=0.060,
    wait_per_transaction_after=0.005,
    transactions_per_second_before=100.0,
    transactions_per_second_after=150.0,
    read_latency_before=0.006,
    read_latency_after=0.001,
    window_seconds=60.0,
    sentence="",
    latency_before=0.080,
    latency_after=0.050,
    predicted_transactions_per_second=300.0,
    predicted_transactions_per_second_low=260.0,
    predicted_transactions_per_second_high=340.0,
)


def test_less_than_forecast_and_more_time_outside_reads_is_another_limit() -> None:
    """Before the moves a transaction spent 20 ms outside reads: what it spends beyond them is a queue."""
    assert elsewhere_alone([SHORT]) == pytest.approx(0.020)
    earlier = replace(SHORT, latency_before=0.075)
    assert elsewhere_alone([SHORT, earlier]) == pytest.approx(0.015)


@pytest.mark.parametrize(
    "other",
    [
        {"transactions_per_second_after": 280.0},  # as forecast
        {"latency_after": 0.026},  # 21 ms outside reads: nothing else holds sessions up
        {"predicted_transactions_per_second_low": math.nan},  # not forecast
        {"measured": False},
        {"undo": True},
    ],
)
def test_other_outcomes_say_nothing_of_it(other: dict[str, float]) -> None:
    """Where the forecast came true, or its miss has another reason, no limit is made up."""
    assert math.isnan(elsewhere_alone([replace(SHORT, **other)]))  # type: ignore[arg-type]  # of all kinds
    assert math.isnan(elsewhere_alone([]))


def test_what_moves_did_to_a_load_says_who_asks() -> None:
    """Half as much again is done: closed. As much as before, where more was forecast: open. The newest that tells."""
    closed, waited = SHORT, replace(SHORT, latency_after=0.079)
    arriving = replace(SHORT, transactions_per_second_after=101.0)
    assert load_by_outcomes([closed]) == CLOSED
    assert load_by_outcomes([arriving, closed]) == OPEN
    assert load_by_outcomes([waited, arriving]) == OPEN
    assert load_by_outcomes([]) == load_by_outcomes([waited, replace(closed, measured=False)]) == UNKNOWN
    assert load_by_outcomes([replace(arriving, predicted_transactions_per_second_low=105.0)]) == UNKNOWN


def test_what_came_is_kept_next_to_what_was_forecast() -> None:
    """Of one proposal's moves only: an undo was not forecast, and what several brought together is no one's."""
    (found,) = past_forecasts([replace(SHORT, predicted_latency=0.025)])
    assert (found.rate.before, found.rate.said, found.rate.came) == (100.0, 300.0, 150.0)
    assert (found.latency.before, found.latency.said, found.latency.came) == (0.080, 0.025, 0.050)
    others = [replace(SHORT, measured=False), replace(SHORT, undo=True), replace(SHORT, joint_share=0.5)]
    assert past_forecasts(others) == ()
