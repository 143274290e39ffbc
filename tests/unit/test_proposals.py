"""A proposal and its digest: what an approval names is exactly what runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from agent.proposals import Proposal, proposal_from_text, proposal_text
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
    assert replace(proposal, **changed).digest != proposal.digest  # type: ignore[arg-type]


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
