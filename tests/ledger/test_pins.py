"""Pins by hand: in force until they end, the later wish above the earlier."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agent.ledger.errors import Refused
from agent.ledger.ledger import Ledger
from policies.model.settings import Pin
from tests.ledger.clock import StillClock


def test_a_pin_says_who_wants_what_until_when(ledger: Ledger, clock: StillClock) -> None:
    """It comes back as it was set, is in the audit, and is that database's alone."""
    until = clock.now() + timedelta(days=2)
    row = ledger.pins.pin("shop", "public.*", Pin.MUST, who="anna", reason="month end", until=until)
    assert ledger.pins.rows("shop", clock.now()) == [row]
    assert (row.pin, row.who, row.reason, row.created_at, row.until) == (
        Pin.MUST,
        "anna",
        "month end",
        clock.now(),
        until,
    )
    assert ledger.pins.rows("hr", clock.now()) == []
    audit = ledger.audit.rows(1)[0]
    assert (audit.event, audit.subject, audit.facts["pin"]) == ("pin.set", "shop public.*", "must")


def test_a_pin_ends(ledger: Ledger, clock: StillClock) -> None:
    """At its end, not after it; one without end stays."""
    ledger.pins.pin("shop", "a", Pin.MUST, who="anna", reason="", until=clock.now() + timedelta(hours=1))
    ledger.pins.pin("shop", "b", Pin.NEVER, who="anna", reason="", until=None)
    later = clock.now() + timedelta(hours=1)
    assert [row.pattern for row in ledger.pins.rows("shop", later - timedelta(microseconds=1))] == ["a", "b"]
    assert [row.pattern for row in ledger.pins.rows("shop", later)] == ["b"]


def test_the_later_wish_comes_last(ledger: Ledger, clock: StillClock) -> None:
    """Setting a pattern again replaces it and puts it behind the others."""
    for pattern, pin in (("a", Pin.MUST), ("*", Pin.NEVER), ("a", Pin.PREFER)):
        ledger.pins.pin("shop", pattern, pin, who="anna", reason="")
    assert [(row.pattern, row.pin) for row in ledger.pins.rows("shop", clock.now())] == [
        ("*", Pin.NEVER),
        ("a", Pin.PREFER),
    ]


def test_removing_a_pin_says_whether_there_was_one(ledger: Ledger, clock: StillClock) -> None:
    """Exactly that pattern, no glob; only a real removal is in the audit."""
    ledger.pins.pin("shop", "public.t", Pin.MUST, who="anna", reason="")
    rows = len(ledger.audit.rows(100))
    assert ledger.pins.unpin("shop", "public.*", who="bert") == 0
    assert len(ledger.audit.rows(100)) == rows
    assert ledger.pins.unpin("shop", "public.t", who="bert", reason="over") == 1
    assert ledger.audit.rows(1)[0].facts == {"who": "bert", "reason": "over"}
    assert ledger.pins.rows("shop", clock.now()) == []


def test_a_pin_that_makes_no_sense_is_refused(ledger: Ledger, clock: StillClock) -> None:
    """Over before it began, for nothing, by nobody."""
    with pytest.raises(Refused, match="past"):
        ledger.pins.pin("shop", "a", Pin.MUST, who="anna", reason="", until=clock.now())
    for pattern, who in ((" ", "anna"), ("a", "")):
        with pytest.raises(ValueError, match="names a pattern"):
            ledger.pins.pin("shop", pattern, Pin.MUST, who=who, reason="")
