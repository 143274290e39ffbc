"""A proposal and its digest: what an approval names is exactly what runs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from agent.model.proposals import Proposal, WorkForecast, proposal_from_text, proposal_text
from policies.model.confidence import ConfidenceInterval
from policies.placement.forecast_figures import Forecast
from tests.unit.samples import MADE_AT, a_move, a_proposal


def test_text_and_back_is_the_same_proposal() -> None:
    """Nothing is lost or changed by storing it."""
    proposal = a_proposal(a_move(1), a_move(2, key='we"ird."t.1"', payback_seconds=None))
    again = proposal_from_text(proposal_text(proposal))
    assert again == proposal
    assert again.digest == proposal.digest


def test_equal_proposals_have_equal_digests() -> None:
    """The digest depends on content alone."""
    assert a_proposal(a_move(1)).digest == a_proposal(a_move(1)).digest


@pytest.mark.parametrize(
    "changed",
    [
        {"database": "other"},
        {"fingerprint": "other"},
        {"expires_at": MADE_AT + timedelta(hours=25)},
        {"wait_saved_per_hour": 901.0},
        {"moves": (a_move(1, size_bytes=1),)},
        {"moves": ()},
    ],
)
def test_any_change_changes_the_digest(changed: dict[str, object]) -> None:
    """Whatever the person saw is covered."""
    proposal = a_proposal(a_move(1))
    assert replace(proposal, **changed).digest != proposal.digest  # type: ignore[arg-type]  # fields by name


def test_a_changed_statement_changes_the_digest() -> None:
    """One character of SQL is enough."""
    move = a_move(1)
    step = replace(move.route.steps[0], sql=move.route.steps[0].sql + " ")
    changed = replace(move, route=replace(move.route, steps=(step,)))
    assert a_proposal(changed).digest != a_proposal(move).digest


def test_text_that_is_no_proposal_is_refused() -> None:
    """A damaged text raises and is not half read."""
    with pytest.raises(ValueError):
        proposal_from_text('{"database": "shop"}')


def test_bytes_moved_is_the_sum() -> None:
    """Bytes of all moves together."""
    proposal: Proposal = a_proposal(a_move(1, size_bytes=3), a_move(2, size_bytes=4))
    assert proposal.bytes_moved == 7


def test_times_keep_their_zone() -> None:
    """A stored time is still aware and in UTC."""
    again = proposal_from_text(proposal_text(a_proposal()))
    assert again.created_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert again.created_at.utcoffset() == timedelta(0)


def a_forecast(**changes: object) -> Forecast:
    """From 100 to 400 transactions a second with two sessions."""
    values: dict[str, object] = {
        "transactions": 400.0, "interval": ConfidenceInterval(low=320.0, high=500.0), "wait_per_transaction": 0.001,
        "present_transactions": 100.0, "sessions": 2.0, "latency": 0.005,
        "latency_interval": ConfidenceInterval(low=0.004, high=0.00625), "assumed": ("processors are not counted",),
    }  # fmt: skip
    return Forecast(**{**values, **changes})  # type: ignore[arg-type]  # as above


def test_the_forecast_is_under_the_digest_and_reads_back() -> None:
    """Two sessions: 400 a second are 5 ms each, 320 to 500 are 6.25 to 4 ms; another figure is another digest."""
    found = WorkForecast.of(a_forecast(), "transactions", 0.9)
    assert (found.latency_now, found.latency, found.latency_low, found.latency_high) == (0.02, 0.005, 0.004, 0.00625)
    proposal = a_proposal(a_move(1), forecast=found)
    assert proposal_from_text(proposal_text(proposal)) == proposal
    other = replace(proposal, forecast=replace(found, per_second=401.0))
    assert other.digest != proposal.digest != a_proposal(a_move(1)).digest


def test_what_is_not_forecast_reads_back_with_its_reason() -> None:
    """JSON knows no NaN: what is unknown is None."""
    nan = float("nan")
    unknown = a_forecast(
        transactions=nan,
        interval=ConfidenceInterval(low=nan, high=nan),
        latency=nan,
        wait_per_transaction=nan,
        why_not="no session",
    )
    found = WorkForecast.of(unknown, "activities", 0.9)
    assert (found.per_second, found.latency, found.read_wait, found.why_not) == (None, None, None, "no session")
    assert (found.per_second_now, found.latency_now) == (100.0, 0.02)
    proposal = a_proposal(a_move(1), forecast=found)
    assert proposal_from_text(proposal_text(proposal)) == proposal


def test_a_proposal_from_before_there_were_forecasts_is_read() -> None:
    """It has none, and everything else is as it was."""
    proposal = a_proposal(a_move(1))
    older = json.loads(proposal_text(proposal))
    del older["forecast"]
    assert proposal_from_text(json.dumps(older)) == proposal
