"""What waits for which channel, and when it is sent: pure, kept in the ledger between turns.

A notice is told once per channel; one that lasts is told again when it comes again after it was over. Notices that come
together become one message, messages keep a distance, and a channel that fails is tried again with growing pauses. A
notice that a crash interrupts between sending and noting so is sent again: better twice than never.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from agent.config.notices import NoticeConfig
from agent.notices.notice import Notice, read_notice

REMEMBERED = timedelta(days=40)  # longer than any matter stays open
FRESH = timedelta(days=1)  # what could not be sent for so long is no news
MOST_WAITING = 200  # per channel
FIRST_PAUSE = timedelta(seconds=30)  # after a failure; doubled with each
LONGEST_PAUSE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Seen:
    """A matter that was told of, or need not be."""

    at: datetime  # when it was last the case
    lasting_in: str = ""  # the database, for what is told again when it comes again; "": told once for all


@dataclass(frozen=True, slots=True)
class Lane:
    """One channel's part of the outbox."""

    waiting: tuple[Notice, ...] = ()
    dropped: int = 0  # that waited and had to give way
    failures: int = 0  # in a row
    not_before: datetime | None = None  # of the next message


@dataclass(frozen=True, slots=True)
class Outbox:
    """What was told, and what waits."""

    known: Mapping[str, Seen] = field(default_factory=dict)  # by the notice's key
    lanes: Mapping[str, Lane] = field(default_factory=dict)  # by channel


def take_in(
    outbox: Outbox,
    notices: Iterable[Notice],
    channels: Collection[NoticeConfig],
    databases: Collection[str],
    now: datetime,
) -> Outbox:
    """The outbox with what is new.

    Args:
        outbox: before.
        notices: all that is the case, new or not.
        channels: as configured; one that is no longer is forgotten with what waits for it.
        databases: that were looked at: what lasts and was not seen there again is over.
        now: the time.
    """
    found = {notice.key: notice for notice in notices}
    new = [notice for key, notice in found.items() if key not in outbox.known]
    kept = {
        key: seen
        for key, seen in outbox.known.items()
        if now - seen.at <= REMEMBERED and seen.lasting_in not in databases
    }
    seen_now = {key: Seen(now, notice.database if notice.lasts else "") for key, notice in found.items()}
    lanes = {each.name: _queue(outbox.lanes.get(each.name, Lane()), each, new, now) for each in channels}
    return Outbox({**kept, **seen_now}, lanes)


def due(outbox: Outbox, channel: str, now: datetime) -> tuple[Notice, ...]:
    """What is to be sent over a channel now, as one message."""
    lane = outbox.lanes.get(channel, Lane())
    return () if lane.not_before is not None and now < lane.not_before else lane.waiting


def note_sent(outbox: Outbox, channel: NoticeConfig, sent: Collection[Notice], now: datetime) -> Outbox:
    """The outbox after a message has reached its channel."""
    waiting = tuple(notice for notice in outbox.lanes[channel.name].waiting if notice not in sent)
    return _with_lane(outbox, channel.name, Lane(waiting, not_before=now + timedelta(seconds=channel.every_seconds)))


def note_failure(outbox: Outbox, channel: str, now: datetime) -> Outbox:
    """The outbox after a message did not reach its channel: it waits, each time twice as long."""
    lane = outbox.lanes[channel]
    # The power has a limit of its own: after 42 failures, a day and a half, the product is more than a timedelta holds.
    pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(lane.failures, 10))
    return _with_lane(outbox, channel, replace(lane, failures=lane.failures + 1, not_before=now + pause))


def outbox_document(outbox: Outbox) -> dict[str, Any]:
    """As JSON values, for the ledger."""
    return {
        "known": {key: [seen.at.isoformat(), seen.lasting_in] for key, seen in outbox.known.items()},
        "lanes": {
            name: {
                "waiting": [notice.document() for notice in lane.waiting],
                "dropped": lane.dropped,
                "failures": lane.failures,
                "not_before": None if lane.not_before is None else lane.not_before.isoformat(),
            }
            for name, lane in outbox.lanes.items()
        },
    }


def read_outbox(document: dict[str, Any]) -> Outbox:
    """The outbox of a document."""
    known = {key: Seen(datetime.fromisoformat(at), lasting) for key, (at, lasting) in document["known"].items()}
    return Outbox(known, {name: _read_lane(lane) for name, lane in document["lanes"].items()})


def _read_lane(document: dict[str, Any]) -> Lane:
    at = document["not_before"]
    return Lane(
        tuple(read_notice(notice) for notice in document["waiting"]),
        document["dropped"],
        document["failures"],
        None if at is None else datetime.fromisoformat(at),
    )


def _queue(lane: Lane, channel: NoticeConfig, new: Collection[Notice], now: datetime) -> Lane:
    """The lane with what it is to carry, without what is stale or too much; the newest stay."""
    waiting = [notice for notice in lane.waiting if now - notice.at <= FRESH]
    waiting += [notice for notice in new if notice.event in channel.events]
    dropped = lane.dropped + len(lane.waiting) + sum(notice.event in channel.events for notice in new)
    kept = tuple(waiting[-MOST_WAITING:])
    return replace(lane, waiting=kept, dropped=dropped - len(kept))


def _with_lane(outbox: Outbox, channel: str, lane: Lane) -> Outbox:
    return replace(outbox, lanes={**outbox.lanes, channel: lane})
