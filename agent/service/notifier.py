"""The daemon's turn of notices: what is worth one, what waits for which channel, what is sent.

``Outbox`` says what waits for which channel and when it is sent. It is pure, and kept in the ledger between turns. A
notice is sent once per channel, and again only if its matter was over and has come back. Notices that arrive together
become one message, messages keep a distance, and a channel that fails is tried again after growing pauses. If a crash
falls between sending a notice and noting that, the notice is sent again: better twice than never.

``find_notices`` says what is worth a notice, from what the agent knows of a database. It is pure too.

``Notifier`` is the turn: look, take in what is new, send what is due, remember it. Each message under way has a thread,
so a channel that does not answer delays neither the others nor the turn.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from agent.config.models import NoticeConfig, NoticeEvent
from agent.ledger.errors import LedgerCorrupt, LedgerUnreachable
from agent.ledger.ledger import Ledger
from agent.ledger.rows import RuleState
from agent.ledger.state_names import ALL_DATABASES, NOTICES, notices_of
from agent.model.logs import EventLog
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import NOT_REACHED, MoveState
from agent.model.units_of_measure import format_when
from agent.service.channels import Notice, read_notice, send
from agent.service.server_facts import ServerChange
from connectors.kit.contract import Clock, HotplaceError
from connectors.model.formatting import format_bytes, format_ratio, format_wait

REMEMBERED = timedelta(days=40)  # longer than any matter stays open
FRESH = timedelta(days=1)  # what could not be sent for so long is no news
MOST_WAITING = 200  # per channel
FIRST_PAUSE = timedelta(seconds=30)  # after a failure; doubled with each
LONGEST_PAUSE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class SeenReasons:
    """A matter that was reported, or need not be."""

    at: datetime  # when it was last the case
    lasting_in: str = ""  # the database, for what is reported again when it comes again; "": reported once for all


@dataclass(frozen=True, slots=True)
class Lane:
    """One channel's part of the outbox."""

    waiting: tuple[Notice, ...] = ()
    dropped: int = 0  # that waited and had to give way
    failures: int = 0  # in a row
    not_before: datetime | None = None  # of the next message


@dataclass(frozen=True, slots=True)
class Outbox:
    """What was reported, and what waits."""

    known: Mapping[str, SeenReasons] = field(default_factory=dict)  # by the notice's key
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
    seen_now = {key: SeenReasons(now, notice.database if notice.lasts else "") for key, notice in found.items()}
    lanes = {each.name: _queue(outbox.lanes.get(each.name, Lane()), each, new, now) for each in channels}
    return Outbox({**kept, **seen_now}, lanes)


def due(outbox: Outbox, channel: NoticeConfig, now: datetime) -> tuple[Notice, ...]:
    """What is to be sent over a channel now, as one message."""
    lane = outbox.lanes.get(channel.name, Lane())
    # No pause is longer: what is put off further was put off by a clock that was ahead then.
    longest = max(LONGEST_PAUSE, timedelta(seconds=channel.every_seconds))
    waits = lane.not_before is not None and now < lane.not_before <= now + longest
    return () if waits else lane.waiting


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
    known = {key: SeenReasons(datetime.fromisoformat(at), lasting) for key, (at, lasting) in document["known"].items()}
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


JOBS = {  # what a job does, in a sentence
    "act": "carrying out approved moves",
    "plan": "planning",
    "judge": "judging moves",
    "look": "looking into large units",
    "keep_lease": "keeping the lease",
    "fold": "folding history",
    "anchor": "noting where the audit chain ends",
    "notify": "noting which notices were sent",
}
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
class ExpiredApproval:
    """Approved moves that were not begun in time."""

    proposal: int
    moves: int  # how many
    why: str  # what had kept them; "": not known
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingJob:
    """A job of the agent that has failed at every try for a while."""

    job: str
    since: datetime
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceRoom:
    """A space of a tier."""

    space: str
    tier: str
    free_bytes: int
    fill_ratio: float  # of its volume


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeFacts:
    """What is known of one database now."""

    database: str
    now: datetime
    waiting: tuple[Waiting, ...] = ()
    ended: tuple[Ended, ...] = ()
    hurt: tuple[Hurt, ...] = ()
    closed_rules: tuple[ClosedRule, ...] = ()
    idle_rules: Mapping[int, str] = field(default_factory=dict)  # open rule -> what holds it up
    expired: tuple[ExpiredApproval, ...] = ()
    rooms: tuple[SpaceRoom, ...] = ()
    lost: Mapping[str, str] = field(default_factory=dict)  # space of a tier -> why it cannot take data
    failing: tuple[FailingJob, ...] = ()
    server_changes: tuple[ServerChange, ...] = ()
    stalled: str = ""  # why it is not watched as it should be; "": it is


def find_notices(facts: NoticeFacts) -> Iterator[Notice]:
    """Every notice that these facts are worth, whether or not it was sent before."""
    for waiting in facts.waiting:
        yield from _of_proposal(facts, waiting)
    for ended in facts.ended:
        sentence = f"{facts.database}: move {ended.number} of {ended.unit} is {ended.state}: {ended.reason}"
        yield _notice(facts, NoticeEvent.FAILED, f"{ended.number}", sentence, "hotplace history", ended.at)
    for late in facts.expired:
        what = f"{late.moves} approved move{'' if late.moves == 1 else 's'}"
        they = "it" if late.moves == 1 else "they"
        sentence = f"{facts.database}: {what} of proposal {late.proposal} expired before {they} began"
        sentence += f": {late.why}" if late.why else ""
        key = f"{late.proposal} {late.at.isoformat()}"
        yield _notice(facts, NoticeEvent.EXPIRED, key, sentence, f"hotplace show {late.proposal}", late.at)
    for hurt in facts.hurt:
        sentence = f"{facts.database}: proposal {hurt.proposal}: {hurt.sentence}"
        key = f"{hurt.proposal} {hurt.at.isoformat()}"
        yield _notice(facts, NoticeEvent.HURT, key, sentence, f"hotplace undo --proposal {hurt.proposal}", hurt.at)
    for rule in facts.closed_rules:
        sentence = f"{facts.database}: standing rule {rule.number} is closed: {rule.reason}"
        key = f"{rule.number} {rule.at.isoformat()}"
        yield _notice(facts, NoticeEvent.RULE, key, sentence, f"hotplace rules show {rule.number}", rule.at)
    for number, why in facts.idle_rules.items():
        sentence = f"{facts.database}: standing rule {number} is held up: {why}"
        command = f"hotplace rules show {number}"
        yield _notice(facts, NoticeEvent.RULE, f"{number} idle", sentence, command, facts.now, lasts=True)
    for space, why in facts.lost.items():
        sentence = f"{facts.database}: {space} cannot take data: {why}"
        yield _notice(facts, NoticeEvent.FILLING, f"{space} lost", sentence, "hotplace doctor", facts.now, lasts=True)
    if facts.stalled:
        sentence = f"{facts.database}: {facts.stalled}"
        yield _notice(facts, NoticeEvent.STALLED, "", sentence, "hotplace doctor", facts.now, lasts=True)
    for job in facts.failing:
        sentence = (
            f"{facts.database}: {JOBS.get(job.job, job.job)} has failed since {format_when(job.since)}: {job.error}"
        )
        yield _notice(facts, NoticeEvent.STALLED, job.job, sentence, "hotplace doctor", facts.now, lasts=True)
    for change in facts.server_changes:
        sentence = f"{facts.database}: the server has changed: {change.sentence}"
        yield _notice(facts, NoticeEvent.SERVER, change.at.isoformat(), sentence, "hotplace doctor", change.at)
    for room in facts.rooms:
        if room.fill_ratio > NEARLY_FULL:
            yield _notice(
                facts, NoticeEvent.FILLING, room.space, _filling(facts, room), "hotplace status", facts.now, lasts=True
            )


def _of_proposal(facts: NoticeFacts, waiting: Waiting) -> Iterator[Notice]:
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


def _filling(facts: NoticeFacts, room: SpaceRoom) -> str:
    full, free = format_ratio(room.fill_ratio), format_bytes(room.free_bytes)
    return f"{facts.database}: {room.space} (tier {room.tier}) is {full} full, {free} are free"


def _notice(
    facts: NoticeFacts,
    event: NoticeEvent,
    subject: str,
    sentence: str,
    command: str,
    at: datetime,
    *,
    lasts: bool = False,
) -> Notice:
    key = f"{facts.database} {event} {subject}".strip()
    database = f" --database {facts.database}"
    command = " && ".join(f"{part}{database}" for part in command.split(" && "))
    return Notice(key=key, event=event, database=facts.database, sentence=sentence, command=command, at=at, lasts=lasts)


log = EventLog(__name__)
LOOKS_BACK = timedelta(hours=1)  # longer than any agent is away for a restart, and the rest is no news
OUTCOMES = 20  # that are looked at
WORSE = frozenset({OutcomeVerdict.HURT, OutcomeVerdict.HURT_FOR_SOME})
Sender = Callable[[NoticeConfig, Sequence[Notice], int], None]
PATIENCE_SECONDS = 2.0  # of a turn with its channels; what takes longer is noted in a later one


class _Sending:
    """A message on its way."""

    def __init__(self, channel: NoticeConfig, notices: Sequence[Notice], send: Callable[[], None]) -> None:
        self.channel, self.notices = channel, notices
        self.error: Exception | None = None
        self._send = send
        # A daemon: the process ends without waiting for a name server that does not answer.
        self._thread = threading.Thread(target=self._run, name=f"notices {channel.name}", daemon=True)
        self._thread.start()

    def has_ended(self, within: float) -> bool:
        """Whether it is taken or has failed, waiting for so many seconds at most."""
        self._thread.join(within)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._send()
        except Exception as error:  # noqa: BLE001  # of another thread: raised again where it is noted
            self.error = error


class Notifier:
    """All channels of one configuration."""

    def __init__(self, ledger: Ledger, clock: Clock, channels: Collection[NoticeConfig], sender: Sender = send) -> None:
        """Wire it up; what waited before a restart goes on.

        Args:
            ledger: keeps the outbox.
            clock: time.
            channels: as configured.
            sender: sends one message.
        """
        self._ledger = ledger
        self._clock = clock
        self._channels = tuple(channels)
        self._send = sender
        self._agent = ledger.agent_name
        self._outbox = self._load()
        self._under_way: dict[str, _Sending] = {}  # by channel
        self._lock = threading.Lock()  # the daemon's own thread waits for what is under way when it ends

    def _load(self) -> Outbox:
        """What the ledger keeps; from a ledger that was on a file it has come without an agent's name.

        What cannot be read starts over, so that some things are reported twice: on a shared ledger every agent may
        write it, and none may keep another one from starting.
        """
        state = self._ledger.state
        try:
            stored = state.load_document(ALL_DATABASES, notices_of(self._agent)) or state.load_document(
                ALL_DATABASES, NOTICES
            )
            return Outbox() if stored is None else read_outbox(stored[1])
        except (LedgerCorrupt, ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("notices start over", error=str(error))
            return Outbox()

    def take_turn(self, facts: Iterable[NoticeFacts]) -> None:
        """Tell people what is new in some databases, and try again what could not be sent.

        Raises:
            LedgerError: the outbox cannot be kept.
        """
        looked = tuple(facts)
        with self._lock:
            self._note_ended(0.0)
            now = self._clock.now()
            notices = [notice for each in looked for notice in find_notices(each)]
            names = {each.database for each in looked}
            before = self._outbox
            self._keep(take_in(self._outbox, notices, self._channels, names, now), before)
            for channel in self._channels:
                self._begin(channel)
            self._note_ended(PATIENCE_SECONDS)

    def finish(self, seconds: float) -> None:
        """Wait for messages that are on their way, and note what became of them.

        Args:
            seconds: at most; what has not ended then is sent again later.

        Raises:
            LedgerError: the outbox cannot be kept.
        """
        if not self._lock.acquire(timeout=seconds):
            return  # a turn waits for the ledger
        try:
            self._note_ended(seconds)
        finally:
            self._lock.release()

    def _begin(self, channel: NoticeConfig) -> None:
        """Send what is due, unless the message before is still on its way."""
        notices = due(self._outbox, channel, self._clock.now())
        if notices and channel.name not in self._under_way:
            dropped = self._outbox.lanes[channel.name].dropped
            self._under_way[channel.name] = _Sending(channel, notices, partial(self._send, channel, notices, dropped))

    def _note_ended(self, within: float) -> None:
        """Note what was taken and what was not, of all that ends within so many seconds."""
        until, faults = time.monotonic() + within, list[Exception]()
        for name, sending in list(self._under_way.items()):
            if not sending.has_ended(max(0.0, until - time.monotonic())):
                continue
            del self._under_way[name]
            self._note(sending)
            if not isinstance(sending.error, HotplaceError | None):
                faults.append(sending.error)
        if faults:
            raise faults[0]  # of ours, and not of a channel

    def _note(self, sending: _Sending) -> None:
        now, before, channel = self._clock.now(), self._outbox, sending.channel
        if sending.error is not None:
            log.warning("notice not sent", channel=channel.name, notices=len(sending.notices), error=str(sending.error))
            self._keep(note_failure(before, channel.name, now), before)
            return
        log.info("notices sent", channel=channel.name, notices=len(sending.notices))
        self._keep(note_sent(before, channel, sending.notices, now), before)

    def _keep(self, outbox: Outbox, before: Outbox) -> None:
        """Store it where more has changed than when each matter was last seen."""
        self._outbox = outbox
        # What lasts is seen again in every turn; kept for that alone, the ledger would be written to in each.
        if outbox.lanes != before.lanes or outbox.known.keys() != before.known.keys():
            try:
                self._ledger.state.save_document(ALL_DATABASES, notices_of(self._agent), outbox_document(outbox))
            except LedgerUnreachable as error:  # people are to know that it is away
                log.warning("notices are kept in memory alone", error=str(error))


def ended_moves(ledger: Ledger, database: str, now: datetime) -> tuple[Ended, ...]:
    """Moves that lately did not reach their target."""
    rows = ledger.moves.rows(database=database, states=NOT_REACHED, since=now - LOOKS_BACK)
    return tuple(
        Ended(number=row.id, unit=row.move.what, state=str(row.state), reason=row.reason, at=row.updated_at)
        for row in rows
    )


def closed_rules(ledger: Ledger, database: str, now: datetime) -> tuple[ClosedRule, ...]:
    """Standing rules that were lately closed, by a person or by what hurt under them, and are still closed."""
    return tuple(
        ClosedRule(number=row.number, reason=row.reason, at=row.closed_at)
        for row in ledger.rules.rows(database)
        if row.closed_at is not None and row.state is RuleState.CLOSED and now - row.closed_at <= LOOKS_BACK
    )


def expired_approvals(ledger: Ledger, database: str, now: datetime, *, kept_by: str) -> tuple[ExpiredApproval, ...]:
    """Approved moves that have lately expired before they began, by proposal.

    Args:
        ledger: the durable record.
        database: its name.
        now: the time.
        kept_by: why acting failed lately; "": it did not.
    """
    rows = ledger.moves.rows(database=database, states={MoveState.EXPIRED}, since=now - LOOKS_BACK)
    approved = [row for row in rows if row.approved]
    found = []
    for number in dict.fromkeys(row.proposal_id for row in approved):
        own = [row.updated_at for row in approved if row.proposal_id == number]
        found.append(ExpiredApproval(proposal=number, moves=len(own), why=kept_by, at=max(own)))
    return tuple(found)


def hurt_proposals(ledger: Ledger, database: str, now: datetime) -> tuple[Hurt, ...]:
    """Proposals that were lately measured to have made it worse, for all together or for some statements."""
    rows = ledger.moves.outcomes(database=database, limit=OUTCOMES)
    return tuple(
        Hurt(proposal=row.proposal_id, sentence=row.outcome.sentence, at=row.at)
        for row in rows
        if row.outcome.verdict in WORSE and now - row.at <= LOOKS_BACK
    )
