"""What is worth a notice, and what it says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from agent.config.models import NoticeEvent
from agent.service.notifier import ClosedRule, Ended, Hurt, NoticeFacts, SpaceRoom, Waiting, find_notices

NOW = datetime(2026, 3, 1, 3, tzinfo=UTC)
WAITING = Waiting(
    number=3, digest="1a2b3c4d5e6f", moves=2, size_bytes=10 * 2**30, saves_per_hour=7200.0,
    created_at=NOW - timedelta(hours=1), expires_at=NOW + timedelta(hours=23),
)  # fmt: skip
QUIET = NoticeFacts(database="shop", now=NOW)


def events(facts: NoticeFacts) -> list[NoticeEvent]:
    """What these facts are worth."""
    return [notice.event for notice in find_notices(facts)]


def test_a_quiet_database() -> None:
    """Nothing to say about a database where nothing happens."""
    assert events(QUIET) == []


def test_an_open_proposal() -> None:
    """It says what it brings, until when, and the exact command that approves just this one."""
    (notice,) = find_notices(replace(QUIET, waiting=(WAITING,)))
    assert (
        notice.command == "hotplace show 3 --database shop && hotplace approve 3 --digest 1a2b3c4d5e6f --database shop"
    )
    assert "2 moves, 10.0 GiB, to save 2 waiting sessions (2 h/h)" in notice.sentence
    assert "expires 2026-03-02 02:00:00 UTC" in notice.sentence


def test_a_proposal_about_to_expire() -> None:
    """With a quarter of its time left it is said again, and not before."""
    late = NOW + timedelta(hours=17, minutes=1)
    assert events(replace(QUIET, waiting=(WAITING,), now=NOW + timedelta(hours=16))) == [NoticeEvent.PROPOSAL]
    assert events(replace(QUIET, waiting=(WAITING,), now=late)) == [NoticeEvent.PROPOSAL, NoticeEvent.EXPIRING]


def test_what_went_wrong() -> None:
    """A failed move, an outcome that hurt, a database without samples: each with the command to give next."""
    facts = replace(
        QUIET,
        ended=(Ended(number=7, unit="public.orders", state="failed", reason="disk full", at=NOW),),
        hurt=(Hurt(proposal=3, sentence="hurt: read wait rose by 12%", at=NOW),),
        closed_rules=(ClosedRule(number=2, reason="proposal 3 hurt", at=NOW),),
        stalled="it was never sampled: no route to host",
    )
    commands = {notice.event: notice.command for notice in find_notices(facts)}
    assert commands == {
        NoticeEvent.FAILED: "hotplace history --database shop",
        NoticeEvent.HURT: "hotplace undo --proposal 3 --database shop",
        NoticeEvent.RULE: "hotplace rules show 2 --database shop",
        NoticeEvent.STALLED: "hotplace doctor --database shop",
    }


def test_a_space_that_fills() -> None:
    """From 95 % on, with what is free."""
    room = SpaceRoom(space="ssd", tier="fast", free_bytes=6, fill_ratio=0.94)
    assert events(replace(QUIET, rooms=(room,))) == []
    (notice,) = find_notices(replace(QUIET, rooms=(replace(room, free_bytes=4, fill_ratio=0.96),)))
    assert notice.event is NoticeEvent.FILLING
    assert "96% full, 4 B are free" in notice.sentence
