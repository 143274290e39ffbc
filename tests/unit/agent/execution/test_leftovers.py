"""What moves leave behind: since when, how soon it is looked at again, and when it is news."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.ledger.ledger import Ledger
from agent.moving.leftovers import Leftovers, leftovers_of
from agent.moving.reconciler import in_words
from connectors.model.moves import Step
from connectors.model.observation import Blocker, Home, Inspection, Remnant
from tests.ledger.clock import StillClock

DROP, OTHER = Step(sql="DROP IT", purpose="drop what is left"), Step(sql="DROP THAT", purpose="drop that too")
CLEAN = Inspection(home=Home.SOURCE, sentence="at home", size_bytes=1, on_disk=None)
LEFT = replace(CLEAN, leftovers=(DROP,), remnants=(Remnant(space="fast", size_bytes=1024),))


def test_what_is_left_keeps_its_age(ledger: Ledger, clock: StillClock) -> None:
    """Only something more is news; the next process reads the same, with the bytes that it takes."""
    leftovers, row, made_at = Leftovers("shop", ledger, clock), ledger.moves.row(1), clock.now()
    assert leftovers.note(row, LEFT, {DROP.sql}, "session 7")
    clock.sleep(60.0)
    assert not leftovers.note(row, LEFT, {DROP.sql}, "session 7")
    assert leftovers.note(row, replace(LEFT, leftovers=(DROP, OTHER)), {DROP.sql}, "session 7")
    first, second = leftovers.rows()
    assert leftovers_of(ledger, "shop") == (first, second) == leftovers.of(1)
    assert (first.since, second.since) == (made_at, made_at + timedelta(seconds=60))
    assert (first.by_hand, second.by_hand, first.bytes, second.bytes) == (False, True, 1024, None)
    assert "1.0 KiB in fast" in first.sentence


def test_it_is_looked_at_ever_less_often_until_it_is_gone(ledger: Ledger, clock: StillClock) -> None:
    """The pause doubles; what is left another time begins with a short one again."""
    leftovers, row = Leftovers("shop", ledger, clock), ledger.moves.row(1)
    for pause in (1.0, 2.0, 4.0):
        leftovers.note(row, LEFT, {DROP.sql}, "session 7")
        clock.sleep(pause - 0.5)
        assert leftovers.due() == ()
        clock.sleep(0.5)
        assert leftovers.due() == (1,)
    assert leftovers.note(row, CLEAN, {DROP.sql}, "")
    assert (leftovers.rows(), leftovers.due()) == ((), ())
    leftovers.note(row, LEFT, {DROP.sql}, "session 8")
    clock.sleep(1.0)
    assert leftovers.due() == (1,)


def test_what_was_being_done_is_said_once(ledger: Ledger, clock: StillClock) -> None:
    """An error begins with it already."""
    leftovers, row = Leftovers("shop", ledger, clock), ledger.moves.row(1)
    leftovers.note(row, LEFT, {DROP.sql}, f"{DROP.purpose}: lock timeout")
    assert leftovers.sentence(row.id).endswith(f"; {DROP.purpose}: lock timeout")
    assert leftovers.sentence(row.id).count(DROP.purpose) == 1


WAITS = "waits for process 7 (ann, idle in transaction since 12:00); process 8 (bob, reading)"


@pytest.mark.parametrize("why", [WAITS, f"{DROP.purpose}: lock timeout"])
def test_why_several_are_there_is_said_once(ledger: Ledger, clock: StillClock, why: str) -> None:
    """One reason keeps all that a move has left: each is named, with its statement, and the reason follows them."""
    leftovers, row = Leftovers("shop", ledger, clock), ledger.moves.row(1)
    leftovers.note(row, replace(LEFT, leftovers=(DROP, OTHER)), {DROP.sql}, why)
    sentence = leftovers.sentence(row.id)
    assert sentence.count(why.removeprefix(f"{DROP.purpose}: ")) == 1
    assert sentence.endswith(why)
    assert ("1.0 KiB in fast" in sentence, OTHER.sql in sentence) == (True, True)


def test_sessions_that_keep_a_leftover_are_not_named_again(ledger: Ledger, clock: StillClock) -> None:
    """They are in the way of the next try, too, and a moment later their age reads differently."""
    leftovers, row = Leftovers("shop", ledger, clock), ledger.moves.row(1)
    before, later = (in_words([Blocker(sentence=f"process 7 (ann), idle for {age} s")]) for age in (59, 60))
    assert leftovers.obstacles(row.id, later) == later
    leftovers.note(row, LEFT, {DROP.sql}, before)
    assert leftovers.obstacles(row.id, later) == leftovers.sentence(row.id)
    leftovers.note(row, LEFT, {DROP.sql}, "")
    assert leftovers.obstacles(row.id, later) == f"{leftovers.sentence(row.id)}; {later}"


def test_a_session_that_blocks_twice_is_named_once() -> None:
    """An engine may find it once for each object that it holds."""
    blocker = Blocker(sentence="process 7 (ann, reading)")
    assert in_words([blocker, blocker]) == "waits for process 7 (ann, reading)"
