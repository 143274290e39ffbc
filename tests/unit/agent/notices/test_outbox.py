"""Told once, again when it comes again, together, with pauses, and over a restart."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.config.models import NoticeConfig, NoticeEvent
from agent.service.channels import Notice
from agent.service.notifier import (
    FIRST_PAUSE,
    FRESH,
    LONGEST_PAUSE,
    MOST_WAITING,
    Outbox,
    due,
    note_failure,
    note_sent,
    outbox_document,
    read_outbox,
    take_in,
)
from tests.examples import examples

START = datetime(2026, 3, 1, tzinfo=UTC)
CHAT = NoticeConfig.model_validate({"name": "chat", "command": ["/bin/true"], "every": "60s"})
ONLY_HURT = NoticeConfig(name="pager", command=("/bin/true",), events=(NoticeEvent.HURT,))


def notice(key: str, *, at: datetime = START, lasts: bool = False, event: NoticeEvent = NoticeEvent.FAILED) -> Notice:
    """A notice about the database shop."""
    return Notice(key=key, event=event, database="shop", sentence=key, command="x", at=at, lasts=lasts)


def taken(outbox: Outbox, *notices: Notice, at: datetime = START) -> Outbox:
    """After a look at shop that found these."""
    return take_in(outbox, notices, (CHAT, ONLY_HURT), ("shop",), at)


def test_told_once() -> None:
    """The same matter seen at every look is one notice."""
    outbox = taken(taken(Outbox(), notice("a")), notice("a"))
    assert [each.key for each in due(outbox, CHAT, START)] == ["a"]
    outbox = taken(note_sent(outbox, CHAT, due(outbox, CHAT, START), START), notice("a"))
    assert due(outbox, CHAT, START + timedelta(hours=2)) == ()


def test_what_lasts_is_told_again_when_it_comes_again() -> None:
    """A space that fills, is relieved and fills again: told twice; an event that is no longer in sight: once."""
    outbox = taken(Outbox(), notice("full", lasts=True), notice("event"))
    outbox = note_sent(outbox, CHAT, due(outbox, CHAT, START), START)
    later = START + timedelta(hours=1)
    outbox = taken(taken(outbox, at=later), notice("full", lasts=True), notice("event"), at=later)
    assert [each.key for each in due(outbox, CHAT, later)] == ["full"]


def test_another_database_ends_nothing() -> None:
    """What lasts in one database is not over because another one was looked at."""
    outbox = taken(Outbox(), notice("full", lasts=True))
    outbox = take_in(outbox, (), (CHAT,), ("other",), START)
    assert "full" in outbox.known


def test_together_and_at_a_distance() -> None:
    """What comes within the distance of two messages is one message."""
    outbox = taken(Outbox(), notice("a"), notice("b"))
    assert len(due(outbox, CHAT, START)) == 2
    outbox = taken(note_sent(outbox, CHAT, due(outbox, CHAT, START), START), notice("c"), notice("d"))
    assert due(outbox, CHAT, START + timedelta(seconds=59)) == ()
    assert len(due(outbox, CHAT, START + timedelta(seconds=60))) == 2


def test_each_channel_has_its_events() -> None:
    """A channel is told what it asked for."""
    outbox = taken(Outbox(), notice("a"), notice("b", event=NoticeEvent.HURT))
    assert [each.key for each in due(outbox, ONLY_HURT, START)] == ["b"]


def test_a_clock_that_was_ahead_silences_no_channel() -> None:
    """What was sent, or refused, while it ran a year ahead puts off no message by a year; a usual pause is kept."""
    ahead = START + timedelta(days=365)
    for noted in (note_sent(taken(Outbox(), at=ahead), CHAT, (), ahead), note_failure(taken(Outbox()), "chat", ahead)):
        outbox = taken(noted, notice("a"))
        assert len(due(outbox, CHAT, START)) == 1
        assert due(outbox, CHAT, ahead) == ()


def test_pauses_grow() -> None:
    """A channel that fails is tried again, each time later, and nothing of it is lost."""
    outbox, now, pauses = taken(Outbox(), notice("a")), START, []
    for _ in range(9):
        outbox = note_failure(outbox, "chat", now)
        not_before = outbox.lanes["chat"].not_before
        assert not_before is not None
        pauses.append(not_before - now)
        assert due(outbox, CHAT, not_before - timedelta(seconds=1)) == ()
        assert len(due(outbox, CHAT, not_before)) == 1
    assert pauses[:2] == [FIRST_PAUSE, 2 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE


def test_a_flood_is_bounded_and_counted() -> None:
    """Of more than a channel may hold the newest stay, and the message says how many are gone; old ones are no news."""
    outbox = taken(Outbox(), *(notice(str(number)) for number in range(MOST_WAITING + 5)))
    assert len(due(outbox, CHAT, START)) == MOST_WAITING
    assert outbox.lanes["chat"].dropped == 5
    outbox = taken(outbox, at=START + FRESH + timedelta(seconds=1))
    assert due(outbox, CHAT, START + 2 * FRESH) == ()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.sampled_from(["ok", "fails"])), max_size=12))
@settings(max_examples=examples(60))
def test_a_restart_changes_nothing(steps: list[tuple[str, bool, str]]) -> None:
    """Stored and read back after every step, it does what it would have done: all is sent or waits, nothing twice."""
    outbox, sent, now = Outbox(), [], START
    for key, again, end in steps:
        now += timedelta(minutes=5)
        outbox = taken(outbox, notice(key, at=now), at=now)
        if again:
            outbox = read_outbox(json.loads(json.dumps(outbox_document(outbox))))
        if ready := due(outbox, CHAT, now):
            sent += [each.key for each in ready] if end == "ok" else []
            outbox = note_sent(outbox, CHAT, ready, now) if end == "ok" else note_failure(outbox, "chat", now)
    assert len(sent) == len(set(sent))
    assert (
        {each.key for each in outbox.lanes["chat"].waiting} | set(sent) == {key for key, *_ in steps} if steps else True
    )
