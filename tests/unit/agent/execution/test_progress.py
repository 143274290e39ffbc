"""How far a move is, where the engine tells phases."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.ledger.rows import MoveRow
from agent.model.states import MoveState
from agent.moving.progress import FORGET_AFTER_SECONDS, progress_document, progress_from_document, update_running_move
from connectors.model.observation import Progress
from connectors.postgresql.routes import done_ratios
from policies.model.moves import RouteCost
from tests.unit.samples import MADE_AT, a_move

COST = RouteCost(log_seconds=0.0, blocked_seconds=0.0, follow_up_seconds=0.0, copying=(8.0, 2.0, 2.0, 8.0))
ROW = MoveRow(
    id=1, proposal_id=1, database="shop", fingerprint="", digest="", move=replace(a_move(), cost=COST),
    state=MoveState.RUNNING, reason="", attempts=1, updated_at=MADE_AT, approved=True, planned_at=MADE_AT,
    expires_at=MADE_AT,
)  # fmt: skip


def told(ratios: tuple[float, ...]) -> Progress:
    """Half a byte count that says nothing: the target has not grown."""
    return Progress(done_bytes=0, total_bytes=100, sentence="", done_ratios=ratios)


def test_a_phase_counts_by_its_predicted_time() -> None:
    """Half of a first scan of 8 s in 20 is a fifth, though no byte has come; after 4 s another 16 are left."""
    first = update_running_move(ROW, told((0.0, 0.0, 0.0, 0.0)), MADE_AT, None)
    later = update_running_move(ROW, told((0.5, 0.0, 0.0, 0.0)), MADE_AT + timedelta(seconds=4), first)
    assert (first.ratio, first.left_seconds) == (0.0, None)
    assert later.ratio == pytest.approx(0.2)
    assert later.left_seconds == pytest.approx(16.0)


def test_phases_of_a_rebuild_never_go_back() -> None:
    """From the first scan to the wait for old snapshots; words that nobody knows are the begin."""
    phases = (
        ("initializing", 0.0), ("waiting for writers before build", 0.0), ("building index: scanning table", 0.4),
        ("building index: sorting live tuples", 0.0), ("building index: loading tuples in tree", 0.5),
        ("waiting for writers before validation", 0.0), ("index validation: scanning index", 0.5),
        ("index validation: sorting tuples", 0.0), ("index validation: scanning table", 0.9),
        ("waiting for old snapshots", 0.0), ("waiting for readers before marking dead", 0.0),
    )  # fmt: skip
    done = [sum(done_ratios(*phase)) for phase in phases]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0.0, 4.0)


def test_bytes_count_where_no_phase_is_told() -> None:
    """A quarter of the bytes is a quarter; there is no share of nothing, or where the engine tells none."""
    bytes_only = replace(ROW, move=a_move())
    first = update_running_move(bytes_only, Progress(done_bytes=0, total_bytes=100, sentence=""), MADE_AT, None)
    later = Progress(done_bytes=25, total_bytes=100, sentence="")
    running = update_running_move(bytes_only, later, MADE_AT + timedelta(seconds=5), first)
    assert (running.ratio, running.left_seconds) == (0.25, 15.0)
    assert replace(running, done_bytes=None).ratio is None
    assert replace(running, total_bytes=0).ratio is None


def test_a_figure_is_forgotten_when_it_is_old() -> None:
    """What another process has left behind is shown for a while, to the second, and not for ever."""
    running = update_running_move(ROW, told((0.5, 0.0, 0.0, 0.0)), MADE_AT, None)
    document = progress_document(running)
    assert progress_from_document(document, MADE_AT + timedelta(seconds=FORGET_AFTER_SECONDS)) == running
    assert progress_from_document(document, MADE_AT + timedelta(seconds=FORGET_AFTER_SECONDS + 1)) is None
    assert progress_from_document(progress_document(None), MADE_AT) is None
