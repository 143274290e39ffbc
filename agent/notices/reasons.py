"""What is worth a notice, from what the agent knows of a database: a pure function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from agent.config.notices import NoticeEvent
from agent.model.units_of_measure import format_when
from agent.notices.notice import Notice
from connectors.formatting import format_bytes, format_ratio, format_wait

LAST_PART = 0.25  # of a proposal's time: then it is about to expire
NEARLY_FULL = 0.95  # of a space, as the alert HotplaceSpaceNearlyFull has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A proposal that waits for a decision."""

    number: int
    digest: str  # as much of it as `approve --digest` takes
    moves: int
    size_bytes: int
    saves_per_hour: float  # seconds
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A move that did not reach its target."""

    number: int
    unit: str
    state: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Hurt:
    """A proposal whose moves made it worse."""

    proposal: int
    sentence: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedRule:
    """A standing rule under which nothing more is approved, until it is signed once more."""

    number: int
    reason: str  # "proposal 3 hurt", "closed by ann: month end"
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A space of a tier."""

    space: str
    tier: str
    used_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of one database now."""

    database: str
    now: datetime
    waiting: tuple[Waiting, ...] = ()
    ended: tuple[Ended, ...] = ()
    hurt: tuple[Hurt, ...] = ()
    closed_rules: tuple[ClosedRule, ...] = ()
    rooms: tuple[Room, ...] = ()
    stalled: str = ""  # why it is not watched as it should be; "": it is


def find_notices(facts: Facts) -> Iterator[Notice]:
    """Every notice that these facts are worth, whether or not it was sent before."""
    for waiting in facts.waiting:
        yield from _of_proposal(facts, waiting)
    for ended in facts.ended:
        sentence = f"{facts.database}: move {ended.number} of {ended.unit} is {ended.state}: {ended.reason}"
        yield _notice(facts, NoticeEvent.FAILED, f"{ended.number}", sentence, "hotplace history", ended.at)
    for hurt in facts.hurt:
        sentence = f"{facts.database}: proposal {hurt.proposal}: {hurt.sentence}"
        key = f"{hurt.proposal} {hurt.at.isoformat()}"
        yield _notice(facts, NoticeEvent.HURT, key, sentence, f"hotplace undo --proposal {hurt.proposal}", hurt.at)
    for rule in facts.closed_rules:
        sentence = f"{facts.database}: standing rule {rule.number} is closed: {rule.reason}"
        key = f"{rule.number} {rule.at.isoformat()}"
        yield _notice(facts, NoticeEvent.RULE, key, sentence, f"hotplace rules show {rule.number}", rule.at)
    if facts.stalled:
        sentence = f"{facts.database}: {facts.stalled}"
        yield _notice(facts, NoticeEvent.STALLED, "", sentence, "hotplace doctor", facts.now, lasts=True)
    for room in facts.rooms:
        if room.free_bytes < (1.0 - NEARLY_FULL) * (room.used_bytes + room.free_bytes):
            yield _notice(
                facts, NoticeEvent.FILLING, room.space, _filling(facts, room), "hotplace status", facts.now, lasts=True
            )


def _of_proposal(facts: Facts, waiting: Waiting) -> Iterator[Notice]:
    what = (
        f"{waiting.moves} move{'' if waiting.moves == 1 else 's'}, {format_bytes(waiting.size_bytes)}, to save "
        f"{format_wait(waiting.saves_per_hour)}"
    )
    command = f"hotplace show {waiting.number} && hotplace approve {waiting.number} --digest {waiting.digest}"
    number = str(waiting.number)
    sentence = f"{facts.database}: proposal {number} waits for a decision: {what}; {_until(waiting)}"
    yield _notice(facts, NoticeEvent.PROPOSAL, number, sentence, command, waiting.created_at)
    left, whole = waiting.expires_at - facts.now, waiting.expires_at - waiting.created_at
    if left <= LAST_PART * whole:
        sentence = f"{facts.database}: proposal {number} is about to expire undecided: {what}; {_until(waiting)}"
        yield _notice(facts, NoticeEvent.EXPIRING, number, sentence, command, facts.now)


def _until(waiting: Waiting) -> str:
    return f"it expires {format_when(waiting.expires_at)}"


def _filling(facts: Facts, room: Room) -> str:
    share = format_ratio(room.used_bytes / (room.used_bytes + room.free_bytes))
    return (
        f"{facts.database}: {room.space} (tier {room.tier}) is {share} full, {format_bytes(room.free_bytes)} are free"
    )


def _notice(
    facts: Facts, event: NoticeEvent, subject: str, sentence: str, command: str, at: datetime, *, lasts: bool = False
) -> Notice:
    key = f"{facts.database} {event} {subject}".strip()
    database = f" --database {facts.database}"
    command = " && ".join(f"{part}{database}" for part in command.split(" && "))
    return Notice(key=key, event=event, database=facts.database, sentence=sentence, command=command, at=at, lasts=lasts)
