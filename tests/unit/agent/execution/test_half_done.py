"""Moves that wait with something begun: remembered until the catalog shows nothing of it, ended if no try follows."""

from __future__ import annotations

from agent.ledger.ledger import Ledger
from agent.model.states import MoveState
from agent.moving.reconciler import LONGEST_PAUSE_SECONDS, HalfDone, half_done_of
from connectors.model.moves import Step
from connectors.model.observation import Home, Inspection
from tests.ledger.clock import StillClock

NOTHING = Inspection(home=Home.SOURCE, sentence="at home", size_bytes=1, on_disk=None)
BEGUN = Inspection(
    home=Home.SOURCE, sentence="begun", size_bytes=1, on_disk=None, unfinished=(Step(sql="END IT", purpose="end it"),)
)


def test_what_was_begun_is_remembered_until_it_is_gone(ledger: Ledger, clock: StillClock) -> None:
    """By this process and by the next one; what another move has begun stays."""
    half_done = HalfDone("shop", ledger, clock)
    assert half_done.rows() == ()
    half_done.note(2, BEGUN)
    half_done.note(1, BEGUN)
    assert half_done.rows() == half_done_of(ledger, "shop") == HalfDone("shop", ledger, clock).rows() == (1, 2)
    half_done.note(1, NOTHING)
    assert half_done.rows() == half_done_of(ledger, "shop") == (2,)
    assert half_done_of(ledger, "another") == ()


def test_it_is_ended_once_no_try_follows(ledger: Ledger, clock: StillClock) -> None:
    """Not while the move may be tried again; where it could not be ended, again after a while, never for good."""
    half_done = HalfDone("shop", ledger, clock)
    half_done.note(1, BEGUN)
    half_done.note(2, BEGUN)
    assert half_done.due() == ()
    ledger.moves.transition(1, MoveState.SKIPPED, "as a test")
    assert half_done.due() == (1,)
    half_done.note(1, BEGUN, "somebody is in the way")
    assert half_done.due() == ()
    clock.sleep(LONGEST_PAUSE_SECONDS + 1)
    assert half_done.due() == (1,)
    half_done.note(1, NOTHING)
    assert half_done.due() == ()
