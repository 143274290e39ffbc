"""The outcome: wait per transaction before and after, and silence where it was not measured."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from agent.model.outcomes import (
    ComparedStatements,
    Outcome,
    OutcomeVerdict,
    StatementChange,
    outcome_from_json,
    outcome_json,
)
from agent.model.proposals import UNDO, WorkForecast
from agent.moving.verifier import measure, with_statements
from connectors.model.observation import DatabaseDemand
from tests.unit.samples import a_move, a_proposal, an_effect

PROPOSAL = a_proposal(a_move())  # predicts 900 of 1200 seconds per hour
_WORSE = StatementChange(
    id="7", executions_before=100.0, executions_after=100.0, seconds_before=0.01, seconds_after=0.02,
    read_wait_before=0.005, read_wait_after=0.015, reads_before=5.0, reads_after=5.0,
    change=1.0, change_low=0.8, change_high=1.2,
)  # fmt: skip
SLOWER = ComparedStatements(compared=5, slower_count=1, faster_count=0, slower=(_WORSE,))


def demand(wait_ms: float, transactions: float = 100.0) -> DatabaseDemand:
    """So many transactions a second, each waiting so long for reads; ten reads each."""
    return DatabaseDemand(
        reads=10 * transactions, read_wait=transactions * wait_ms / 1000, transactions=transactions, active=1.0
    )


@pytest.mark.parametrize(
    ("change", "error", "verdict"),
    [
        (-0.6, 0.05, OutcomeVerdict.HELPED),
        (-0.03, 0.01, OutcomeVerdict.NEUTRAL),
        (0.03, 0.01, OutcomeVerdict.NEUTRAL),
        (0.12, 0.03, OutcomeVerdict.HURT),
        (0.12, 0.06, OutcomeVerdict.CANNOT_TELL),
        (-0.12, 0.06, OutcomeVerdict.CANNOT_TELL),
        (0.0, 0.06, OutcomeVerdict.CANNOT_TELL),
    ],
)
def test_the_verdict_follows_the_interval(change: float, error: float, verdict: OutcomeVerdict) -> None:
    """5 % on one side for sure is help or harm, an interval within 10 % is neutral, all else cannot be told."""
    outcome = measure(PROPOSAL, demand(40.0), demand(80.0), 60.0, effect=an_effect(change, error))
    assert outcome.verdict is verdict
    assert outcome.change == pytest.approx(change)
    assert outcome.saved_ratio == pytest.approx(-change)
    assert outcome.change_low < outcome.change < outcome.change_high
    assert outcome.plain_saved_ratio == pytest.approx(-1.0), "the plain figure stays, whatever the verdict"


def test_too_few_intervals_are_no_verdict() -> None:
    """The plain figure is given, and nothing is concluded from it."""
    outcome = measure(PROPOSAL, demand(40.0), demand(60.0), 60.0, seen=(4, 7))
    assert outcome.verdict is OutcomeVerdict.CANNOT_TELL
    known = "4 intervals with reads are known from before the moves and 7 from after, and it takes 6 and 3"
    assert known in outcome.sentence
    assert outcome.rests_on == ""
    assert "went from 40 ms to 60 ms (+50%)" in outcome.sentence


def test_a_joint_effect_is_shared() -> None:
    """Two proposals at the same time halved the wait; three quarters of it on the scale of factors are this one's."""
    outcome = measure(PROPOSAL, demand(40.0), demand(20.0), 60.0, effect=an_effect(-0.5), joint_share=0.75)
    assert outcome.change == pytest.approx(0.5**0.75 - 1)
    assert "75% of the joint effect counts here" in outcome.rests_on


def test_a_verdict_says_what_it_rests_on() -> None:
    """Intervals on both sides, what was corrected for, and work at loads that were never seen."""
    said = measure(PROPOSAL, demand(40.0), demand(20.0), 60.0, effect=an_effect(-0.5, outside=0.3)).rests_on
    assert said == (
        "15 intervals after settling and 1440 before the moves, corrected for load, mix of reads and hour of the day; "
        "30% of the work was done at a load not seen before the moves"
    )
    least = measure(PROPOSAL, demand(40.0), demand(20.0), 60.0, effect=an_effect(-0.5, outside=0.05)).rests_on
    assert "5.0% of the work" in least or "5% of the work" in least
    less = measure(PROPOSAL, demand(40.0), demand(20.0), 60.0, effect=an_effect(-0.5, outside=0.04)).rests_on
    assert "of the work was done" not in less


def test_the_last_look_needs_less_to_be_sure() -> None:
    """Three standard errors of harm: measured on while more can come, and called when nothing more will."""
    effect = an_effect(0.12, error=0.039)
    verdicts = [
        measure(PROPOSAL, demand(40.0), demand(45.0), 60.0, effect=effect, last=last).verdict for last in (False, True)
    ]
    assert verdicts == [OutcomeVerdict.CANNOT_TELL, OutcomeVerdict.HURT]


def test_figures_by_hand() -> None:
    """40 ms to 10 ms per transaction, 4 ms to 1 ms per read, 75 % predicted."""
    outcome = measure(PROPOSAL, demand(40.0), demand(10.0), 60.0)
    assert outcome.wait_per_transaction_before == pytest.approx(0.040)
    assert outcome.wait_per_transaction_after == pytest.approx(0.010)
    assert outcome.read_latency_before == pytest.approx(0.004)
    assert outcome.predicted_saved_ratio == 0.75
    assert "-75%" in outcome.sentence


@pytest.mark.parametrize(
    ("before", "after", "window"),
    [
        (DatabaseDemand(), demand(10.0), 60.0),
        (demand(40.0), DatabaseDemand(), 60.0),
        (demand(40.0), demand(10.0), 1.0),
        (demand(40.0, 0.0), demand(10.0), 60.0),
        (demand(0.0), demand(0.0), 60.0),
        (demand(0.0), demand(10.0), 60.0),
    ],
)
def test_too_little_gives_no_verdict(before: DatabaseDemand, after: DatabaseDemand, window: float) -> None:
    """Unknown figures, no work, no wait before, or a window of a second: nothing is claimed."""
    outcome = measure(PROPOSAL, before, after, window)
    assert outcome.verdict is OutcomeVerdict.UNMEASURED
    assert not outcome.measured


def test_a_proposal_that_predicts_nothing_is_no_division_by_zero() -> None:
    """What no policy weighed, as a split, is measured, and is no error of a prediction."""
    unweighed = a_proposal(wait_per_hour=0.0, wait_saved_per_hour=0.0)
    outcome = measure(unweighed, demand(40.0), demand(40.0), 60.0, effect=an_effect(-0.15))
    assert math.isnan(outcome.predicted_saved_ratio)
    assert outcome.sentence.endswith("; nothing was predicted")
    assert math.isfinite(outcome.wait_per_transaction_after)


def test_an_undo_is_judged_as_an_undo() -> None:
    """What an undo gives back is no gain of a move, and the plan's prediction turned round is no prediction."""
    back = a_proposal(a_move(reason=UNDO, undoes=3, wait_saved_per_hour=-900.0), wait_saved_per_hour=-900.0)
    outcome = measure(back, demand(47.0), demand(40.0), 60.0, effect=an_effect(-0.15))
    assert (outcome.undo, outcome.verdict) == (True, OutcomeVerdict.HELPED)
    assert outcome.sentence == (
        "undo helped: read wait for the same work -15% (-16% to -14%); "
        "plainly, read wait per transaction went from 47 ms to 40 ms (-15%)"
    )
    assert math.isnan(outcome.predicted_saved_ratio)
    assert outcome_from_json(outcome_json(outcome)).undo is True
    older = {name: value for name, value in outcome_json(outcome).items() if name != "undo"}
    assert outcome_from_json(older).undo is False
    assert not measure(PROPOSAL, demand(40.0), demand(10.0), 60.0).undo


def test_too_short_a_look_is_told_as_such() -> None:
    """The engine is not said to be silent where nobody looked for long enough."""
    assert "1 s seen after settling, 5 s needed" in measure(PROPOSAL, demand(40.0), demand(10.0), 1.0).sentence


@pytest.mark.parametrize("after", [0.0, 10.0])
def test_where_nothing_waited_before_no_move_has_helped(after: float) -> None:
    """No share of 0 s can be saved: the sentence says so, with what is waited now."""
    outcome = measure(PROPOSAL, demand(0.0), demand(after), 60.0)
    assert outcome.verdict is OutcomeVerdict.UNMEASURED
    assert "no read was waited for before the moves" in outcome.sentence
    assert ("10 ms" in outcome.sentence) is (after > 0)
    assert "helped" not in outcome.sentence


@pytest.mark.parametrize(
    ("before", "after", "missing"),
    [
        (DatabaseDemand(), demand(10.0), "no interval was recorded before the first move"),
        (DatabaseDemand(), DatabaseDemand(), "the engine counts neither read times nor transactions"),
        (demand(40.0), DatabaseDemand(), "no interval was recorded after settling"),
        (DatabaseDemand(reads=3.0, transactions=5.0), demand(10.0), "the engine gave no read times before"),
        (DatabaseDemand(reads=3.0), demand(1.0), "the engine gave no read times and no transactions before"),
        (demand(40.0), demand(10.0, 0.0), "nothing was committed after settling"),
    ],
)
def test_what_is_missing_is_named(before: DatabaseDemand, after: DatabaseDemand, missing: str) -> None:
    """Nothing recorded, nothing measured and nothing done are three different things, each on its own side."""
    outcome = measure(PROPOSAL, before, after, 60.0)
    assert outcome.sentence.startswith(f"not measured: {missing}")


def forecast(**changes: object) -> WorkForecast:
    """From 100 transactions a second at 10 ms to 400 at 2.5 ms."""
    values: dict[str, object] = {
        "work": "transactions", "per_second_now": 100.0, "per_second": 400.0, "per_second_low": 350.0,
        "per_second_high": 460.0, "latency_now": 0.010, "latency": 0.0025, "latency_low": 0.00217,
        "latency_high": 0.00286, "read_wait": 0.001, "certainty": 0.9,
    }  # fmt: skip
    return WorkForecast(**{**values, **changes})  # type: ignore[arg-type]  # as above


def outcome_of(after: float, found: WorkForecast | None) -> Outcome:
    """100 transactions a second before, so many after."""
    return measure(a_proposal(a_move(), forecast=found), demand(8.0), demand(1.0, after), 60.0)


def test_throughput_and_latency_stand_next_to_their_forecast() -> None:
    """One active session: 100 transactions a second are 10 ms each, 420 are 2.38 ms; 400 and 2.5 ms were forecast."""
    outcome = outcome_of(420.0, forecast())
    assert outcome.latency_before == pytest.approx(0.010)
    assert outcome.latency_after == pytest.approx(1 / 420)
    assert outcome.predicted_latency == 0.0025
    assert outcome.throughput_as_predicted is True
    assert outcome.throughput_sentence == (
        "100 transactions/s became 420, forecast 400 (between 350 and 460); "
        "latency 10 ms became 2.38 ms, forecast 2.5 ms"
    )
    assert outcome_of(500.0, forecast()).throughput_as_predicted is False
    named = outcome_of(420.0, forecast(busiest="hdd: 85% busy"))
    assert named.throughput_sentence == f"{outcome.throughput_sentence}; then busiest by forecast hdd: 85% busy"


def test_what_was_not_forecast_is_told_as_such() -> None:
    """With the reason that the proposal gave; of one from before there were forecasts, without."""
    unknown = dict.fromkeys(("per_second", "per_second_low", "per_second_high", "latency", "latency_low"), None)
    outcome = outcome_of(420.0, forecast(**unknown, latency_high=None, why_not="hdd is an array of several devices"))
    assert "not forecast: hdd is an array" in outcome.throughput_sentence
    assert outcome.throughput_as_predicted is None
    older = outcome_of(420.0, None)
    assert older.throughput_sentence.startswith("100 transactions/s became 420, not forecast;")
    assert older.throughput_as_predicted is None


def test_an_outcome_of_an_older_ledger_is_read() -> None:
    """It lacks throughput's forecast and says so; a newer one reads back as it was."""
    outcome = outcome_of(420.0, forecast())
    plain = outcome_json(outcome)
    assert outcome_json(outcome_from_json(plain)) == plain
    new = ("predicted_t", "predicted_l", "change", "own_", "joint_", "rests_")
    kept = {name: value for name, value in plain.items() if not name.startswith(new)}
    older = outcome_from_json({name: kept[name] for name in kept if name not in {"work", "not_forecast"}})
    assert math.isnan(older.predicted_transactions_per_second)
    assert older.transactions_per_second_after == 420.0
    assert math.isnan(older.change)
    assert older.saved_ratio == older.plain_saved_ratio == pytest.approx(1 - 1 / 8)
    with pytest.raises(ValueError):
        outcome_from_json({name: value for name, value in plain.items() if name != "verdict"})


@pytest.mark.parametrize(
    ("change", "verdict"),
    [(-0.6, OutcomeVerdict.HURT_FOR_SOME), (0.0, OutcomeVerdict.HURT_FOR_SOME), (0.3, OutcomeVerdict.HURT)],
)
def test_slower_statements_change_every_verdict_but_harm(change: float, verdict: OutcomeVerdict) -> None:
    """Harm for all says more than harm for some; without slower ones the verdict stays as it is."""
    outcome = measure(PROPOSAL, demand(40.0), demand(40.0), 60.0, effect=an_effect(change))
    found = with_statements(outcome, SLOWER)
    assert (found.verdict, found.statements) == (verdict, SLOWER)
    assert with_statements(outcome, replace(SLOWER, slower=())).verdict is outcome.verdict


def test_what_was_not_measured_stays_so() -> None:
    """A slower statement is no verdict on moves that no figure judges."""
    outcome = measure(PROPOSAL, DatabaseDemand(), DatabaseDemand(), 60.0)
    assert outcome.verdict is OutcomeVerdict.UNMEASURED
    assert with_statements(outcome, SLOWER).verdict is OutcomeVerdict.UNMEASURED
