"""The audit chain: appending to it, and checking all of it or its end.

Every row carries the hash of the row before, so a changed, removed or inserted row shows:
``hash = SHA-256(canonical JSON of [id, at, actor, event, subject, facts, previous])``. The head of the chain is in a
table of its own, so that cutting off the tail shows as well. A user who may write the file can replace the whole chain:
where that matters, keep the head's hash (``AuditReport.head``) elsewhere.

The chain records decisions and acts: proposals, approvals, moves, steps, outcomes, pins. Samples and caches are not in
it. It is never pruned; a row takes about 0.5 kB.

``Verification`` checks the whole chain or its end, and the proposals, moves, statements, requests, pins and closed
spaces that it speaks of. ``Standing`` replays what the chain says is in force and was sent. The links protect the
chain's own rows alone: a pin that is removed from its table would undo a person's decision unnoticed.
``TablesBesideChain`` names each difference.

``AuditChain`` appends rows within the caller's transaction, reads them and verifies them.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from sqlalchemy import Select, bindparam, func, or_, select

from agent.ledger.chain.events import EVENTS, Event, Facts, Unreadable, read_event
from agent.ledger.chain.judge import Replay, Story
from agent.ledger.chain.links import (
    AUDIT,
    AUDIT_HEAD,
    BELIEVED_AHEAD,
    CREATED,
    GENESIS,
    MIGRATED,
    MOVED,
    Anchor,
    AnchorFile,
    LinkWalk,
    anchor_fault,
    hash_of_row,
    link_hash,
    send_to_system_log,
    subject_of,
)
from agent.ledger.chain.signed import StoredPlaces
from agent.ledger.errors import LedgerReadOnly, Untrusted, readable
from agent.ledger.rows import AuditReport, AuditRow, RequestKind, StepState
from agent.ledger.store.database import Database, Reading, Row, Sight, Transaction
from agent.ledger.store.schema import (
    QUERIES_HELD,
    Whole,
    asks,
    audit,
    audit_head,
    begins_with,
    closed_spaces,
    given,
    like_file_name,
    moves,
    one_of,
    pins,
    proposals,
    steps,
    unindexed,
    value_for,
)
from connectors.kit.contract import Clock
from policies.model.settings import Pin

CHUNK = 50  # proposals: their texts are long
MOST_NAMED = 20  # differences between the chain and other tables
# The first of those by time, whose order a clock set back may break: by the index of time.
_FIRST_SINCE = select(func.min(unindexed(audit.c.id))).where(audit.c.at >= value_for(audit.c.at, "since"))
_LAST = select(func.max(audit.c.id))
_NUMBERS = select(proposals.c.id)
_NUMBERS_SINCE = _NUMBERS.where(proposals.c.created_at >= value_for(proposals.c.created_at, "since"))
_SEEN = _NUMBERS.where(one_of(proposals.c.id)).order_by(proposals.c.id)
_PROPOSALS = select(proposals).where(one_of(proposals.c.id))
_MOVES = select(moves.c.id, moves.c.proposal_id, moves.c.ordinal, moves.c.state)
_ALL_MOVES = _MOVES.order_by(moves.c.id)
_MOVES_OF = _MOVES.where(one_of(moves.c.proposal_id))


def first_since(reading: Reading, at: datetime) -> int:
    """Number of the first row that was written at that instant or later; that of the next one where there is none."""
    first = reading.scalar(_FIRST_SINCE, since=at)
    if first is None:
        first = (reading.scalar(_LAST) or 0) + 1
    return int(first)


ASKED = "move.asked."
_ABOUT = ("pin.", "space.", ASKED, "ask.", "step.")
_PINS, _CLOSED, _ASKS, _STEPS = (select(table) for table in (pins, closed_spaces, asks, steps))
_ALL_ASKS = _ASKS.order_by(asks.c.id)
_ASKS_OF = _ASKS.where(one_of(asks.c.move_id)).order_by(asks.c.id)
_SOME_ASKS = _ASKS.where(one_of(asks.c.id))
_SOME_STEPS = _STEPS.where(one_of(steps.c.id))
_MOVE_NUMBERS = select(moves.c.id)
_PIN_NAMES = {int(pin): pin.name.lower() for pin in Pin}
Said: TypeAlias = tuple[Hashable, ...]  # the values of a row of a table, as far as the chain holds them


@dataclass(slots=True)
class _Step:
    """A statement as the chain has it."""

    intent: Said = ()  # move, ordinal, digest of the text; (): the rows that were read do not say it
    state: str = StepState.INTENDED
    detail: str = ""


@dataclass(slots=True)
class Standing:
    """What rows of the chain, replayed in their order, have set.

    A pin or space that the rows end with is None. What they do not speak of is not here.
    """

    pins: dict[str, Said | None] = field(default_factory=dict)  # by subject, as the chain names it
    closed: dict[str, Said | None] = field(default_factory=dict)  # the same
    asks: dict[int, list[Said]] = field(default_factory=dict)  # by move, in order
    answers: dict[int, str] = field(default_factory=dict)  # by request
    steps: dict[int, _Step] = field(default_factory=dict)  # by number

    def apply(self, row: Row) -> None:
        """Take in the next row; what cannot be read says nothing."""
        if not row.event.startswith(_ABOUT):
            return
        event = read_event(row)
        if not isinstance(event, Unreadable):
            self._take(event)

    def _take(self, event: Event) -> None:
        facts = event.facts
        match event.name.partition("."):
            case "pin", _, what:
                self.pins[event.subject] = _pin(facts) if what == "set" else None
            case "space", _, what:
                self.closed[event.subject] = (facts["who"], facts["reason"]) if what == "closed" else None
            case "move", _, what:
                kind = what.rpartition(".")[2]
                said = (kind, facts["who"], facts["origin"], facts["reason"])
                self.asks.setdefault(event.number, []).append(said)
            case "ask", _, _:
                self.answers[event.number] = facts["answer"]
            case "step", _, "intended":
                self.steps[event.number] = _Step((facts["move"], facts["ordinal"], _digest(facts["sql"])))
            case "step", _, what:
                step = self.steps.setdefault(event.number, _Step())
                step.state, step.detail = what, facts["detail"]


def _pin(facts: Facts) -> Said:
    until = facts["until"]
    return facts["pin"], facts["who"], facts["reason"], None if until is None else datetime.fromisoformat(until)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()  # of many statements: their texts are long


@dataclass(frozen=True, slots=True)
class TablesBesideChain:
    """The tables of one snapshot, compared with what rows of the chain have set.

    Attributes:
        reading: the snapshot.
        told: what the rows say.
        since: from when on rows were read; None: all of them.
    """

    reading: Reading
    told: Standing
    since: datetime | None

    def faults(self) -> Iterator[str]:
        """Each difference, of what this login sees of the tables."""
        rows = self.reading.rows(_PINS)
        found = {f"{row.database} {row.pattern}": (row.created_at, _pin_of(row)) for row in rows}
        yield from self._set_faults("pin", self.told.pins, found)
        rows = self.reading.rows(_CLOSED)
        found = {f"{row.database} {row.space}": (row.at, (row.who, row.reason)) for row in rows}
        yield from self._set_faults("closed space", self.told.closed, found)
        visible = {row.id for row in self.reading.rows(_MOVE_NUMBERS)}
        yield from self._ask_faults(visible)
        yield from self._step_faults(visible)

    def _set_faults(
        self, what: str, told: Mapping[str, Said | None], found: Mapping[str, tuple[datetime, Said]]
    ) -> Iterator[str]:
        """Of what is set and unset by name."""
        for subject, said in told.items():
            if said is not None and subject not in found and self._sees(subject):
                yield f"{what} {subject!r} was removed, but by the audit chain it is in force"
            elif said is not None and subject in found and found[subject][1] != said:
                yield f"{what} {subject!r} was changed after it was set"
        for subject, (at, _) in found.items():
            if told.get(subject) is None and (subject in told or self._is_told(at)):
                yield f"{what} {subject!r} is not in the audit chain"

    def _sees(self, subject: str) -> bool:
        """Whether the tables show this login what is about that database."""
        owned = self.reading.database.find_owned(self.reading)
        return owned is None or any(subject.startswith(f"{name} ") for name in owned)

    def _is_told(self, at: datetime) -> bool:
        """Whether the rows that were read speak of what was written then."""
        return self.since is None or at > self.since

    def _ask_faults(self, visible: set[int]) -> Iterator[str]:
        told = self.told
        rows = self.reading.rows(_ALL_ASKS) if self.since is None else list(self.reading.some(_ASKS_OF, told.asks))
        of_move: dict[int, list[Said]] = {}
        for row in rows:
            of_move.setdefault(row.move_id, []).append((row.kind, row.who, row.origin, row.reason))
        for move in sorted(visible & (told.asks.keys() | of_move.keys())):
            said = told.asks.get(move, [])
            held = of_move.get(move, [])
            if self.since is not None:  # the rows that were read tell of the last ones
                held = held[len(held) - len(said) :] if len(held) > len(said) else held
            yield from _order_faults(move, Counter(said), Counter(held), same=said == held)
        if self.since is not None:
            rows = [*rows, *self.reading.some(_SOME_ASKS, told.answers)]
        answers = {row.id: row for row in rows}
        for number in sorted(answers.keys() | told.answers.keys()):
            yield from self._answer_faults(number, answers.get(number))

    def _answer_faults(self, number: int, row: Row | None) -> Iterator[str]:
        answer = self.told.answers.get(number)
        if row is None:
            if self.reading.database.find_owned(self.reading) is None:  # else it may be another team's
                yield f"request {number} was removed, but by the audit chain it was answered"
        elif answer is not None and row.answer != answer:
            yield f"request {number} was changed after it was answered"
        # A move that has not begun is cancelled in the transaction of its request, whose row is the only one.
        elif answer is None and row.answer and row.kind != RequestKind.CANCEL and self.since is None:
            yield f"request {number} is marked answered in a way that the audit chain does not hold"

    def _step_faults(self, visible: set[int]) -> Iterator[str]:
        told, seen = self.told.steps, set()
        for row in self.reading.each(_STEPS) if self.since is None else self.reading.some(_SOME_STEPS, sorted(told)):
            seen.add(row.id)
            step = told.get(row.id)
            if step is None or (not step.intent and self.since is None):
                yield f"step {row.id} is not in the audit chain"
            elif step.intent not in ((), (row.move_id, row.ordinal, _digest(row.sql))) or (row.state, row.detail) != (
                step.state,
                step.detail,
            ):
                yield f"step {row.id} was changed after it was written"
        for number, step in told.items():
            if number not in seen and step.intent and step.intent[0] in visible:
                yield f"step {number} was removed, but by the audit chain it was sent"


def _pin_of(row: Row) -> Said:
    return _PIN_NAMES.get(row.pin, str(row.pin)), row.who, row.reason, row.until


def _order_faults(move: int, said: Counter[Said], held: Counter[Said], *, same: bool) -> Iterator[str]:
    """Of the requests for one move."""
    for kind, who, *_ in (said - held).elements():
        yield f"move {move}: a request to {kind} it, by {who}, was removed, but the audit chain holds it"
    for kind, who, *_ in (held - said).elements():
        yield f"move {move}: a request to {kind} it, by {who}, is not in the audit chain"
    if said == held and not same:
        yield f"move {move}: its requests are in another order than in the audit chain"


class Verification:
    """One walk over the chain, or over the end of it, in one snapshot."""

    def __init__(self, reading: Reading, since: datetime | None) -> None:
        self._reading = reading
        self._since = since
        self._before = 0 if since is None else first_since(reading, since) - 1  # rows that are taken as they are
        self._walk = LinkWalk(reading, self._before)
        self._replay = Replay(StoredPlaces(reading), from_the_middle=bool(self._before))
        self._standing = Standing()
        self._sees_all = reading.database.sight(reading) is Sight.ALL

    def report(self) -> AuditReport:
        """What was found: the first fault, every difference of other tables, or that all fits."""
        for row in self._walk.rows():
            self._replay.apply(row)
            self._standing.apply(row)
        if self._walk.fault:
            return self._fail_at(self._walk.broken_id, self._walk.fault)
        for fault in (*self._story_faults(), *self._proposal_faults(), *self._move_faults()):
            return self._fail_at(None, fault)
        # All of them: each is a decision of a person, or a statement, and the first would hide the others.
        since = self._since if self._before else None
        differences = list(TablesBesideChain(self._reading, self._standing, since).faults())
        if differences:
            more = [f"and {len(differences) - MOST_NAMED} more"] if len(differences) > MOST_NAMED else []
            return self._fail_at(None, "; ".join([*differences[:MOST_NAMED], *more]))
        return AuditReport(ok=True, rows=self._rows, head=self._walk.hash, broken_id=None, sentence=self._sentence())

    @property
    def _rows(self) -> int:
        return self._walk.last - self._before

    def _sentence(self) -> str:
        if not self._before:
            of_all = "" if self._sees_all else ", and the proposals of this login's teams"
            return f"all {self._rows} audit rows fit{of_all}"
        return (
            f"the last {self._rows} of {self._walk.last} audit rows fit, which is all since {self._since:%F %T %Z}; "
            "hotplace audit verify checks the whole chain"
        )

    def _fail_at(self, number: int | None, fault: str) -> AuditReport:
        return AuditReport(ok=False, rows=self._rows, head=self._walk.hash, broken_id=number, sentence=fault)

    def _story_faults(self) -> Iterator[str]:
        """Each row that no honest writer wrote. Of other teams' proposals nothing is said: their agents see to them."""
        yield from (self._replay.stories[number].fault for number in self._seen() if self._replay.stories[number].fault)
        if self._sees_all:
            yield from (row.sentence for row in self._replay.unreadable)

    def _seen(self) -> list[int]:
        """The proposals that the chain tells of, as far as this login sees them."""
        return [row.id for row in self._reading.some(_SEEN, sorted(self._replay.stories))]

    def _proposal_faults(self) -> Iterator[str]:
        """Each proposal that is not what the chain says was stored or approved."""
        # The links of the chain protect its own rows. A proposal's text lies in another table, where only the digest in
        # the chain shows a change: the digest next to the text could have been changed with it.
        seen = set()
        for row in self._to_check():
            seen.add(row.id)
            name, story = subject_of("proposal", row.id), self._replay.stories.get(row.id, Story())
            approved = None if story.approval is None else story.approval.facts["digest"]
            digest = hashlib.sha256(str(row.body).encode()).hexdigest()  # of what is no text too
            if digest != row.digest or (story.digest != digest and (story.digest or not self._older(row))):
                yield f"{name} was changed after it was stored"
            if row.approved_digest != approved and (approved or not self._older(row)):
                yield f"{name} is marked approved in a way that the audit chain does not hold"
            if story.state is not None and story.state != row.state:
                yield f"{name} is marked {row.state}, but by the audit chain it is {story.state}"
        for number, story in self._replay.stories.items():
            # Where other teams' proposals are hidden, the chain speaks of some that are not seen.
            if story.stored_row and number not in seen and self._sees_all:
                yield f"{subject_of('proposal', number)} was removed"

    def _move_faults(self) -> Iterator[str]:
        """Each move whose state is not the one that the chain brought it into."""
        for row in self._moves_to_check():
            state = self._replay.state(row.id)
            if state is not None and state != row.state:
                yield f"move {row.id} is marked {row.state}, but by the audit chain it is {state}"

    def _moves_to_check(self) -> Iterable[Row]:
        """All moves; of the end of the chain those that its rows speak of: what older ones cost grows with age."""
        if not self._before:
            return self._reading.rows(_ALL_MOVES)
        return self._reading.some(_MOVES_OF, sorted(self._replay.stories))

    def _to_check(self) -> Iterator[Row]:
        """The proposals that the rows store or decide about, and those that say themselves that they are as new."""
        late = self._reading.rows(_NUMBERS_SINCE, since=self._since) if self._before else self._reading.rows(_NUMBERS)
        made = {row.id for row in late}
        numbers = {
            number for number, story in self._replay.stories.items() if story.stored_row or story.approval
        } | made
        return self._reading.some(_PROPOSALS, sorted(numbers), CHUNK)

    def _older(self, row: Row) -> bool:
        """Whether the chain may speak of a proposal before the rows that are looked at."""
        return bool(self._before) and self._since is not None and row.created_at < self._since


_LATEST = select(func.max(audit.c.at)).where(audit.c.at <= value_for(audit.c.at, "until"))
_NEWEST = AUDIT.order_by(audit.c.id.desc()).limit(bindparam("limit", type_=Whole))
_NEWEST_LIKE = _NEWEST.where(like_file_name(audit.c.event))
_EVENTS = select(audit.c.event).distinct()
_FROM = AUDIT.where(audit.c.id >= value_for(audit.c.id, "first")).order_by(audit.c.id)
_BY_HASH = select(audit.c.id).where(given(audit.c.hash))
log = logging.getLogger(__name__)
DECIDED_BY = "who"  # the fact that names a person
NOT_VALID, LONGEST_SHOWN = "not valid", 200  # the fact of a row that has none, and how much of its text it holds
# What was sent to a database can then not be forgotten: an older copy of the ledger would send it again.
ALSO_ANCHORED = frozenset({CREATED, MIGRATED, MOVED, "step.intended"})


class AuditChain:
    """Appends to the chain within the caller's transaction, reads it, verifies it."""

    def __init__(self, database: Database, clock: Clock, actor: str, anchors: AnchorFile) -> None:
        self._database = database
        self._clock = clock
        self._actor = actor
        self._anchors = anchors

    def append(self, transaction: Transaction, event: str, subject: str, /, **facts: Any) -> int:  # noqa: ANN401  # JSON values
        """Add one row in the transaction that makes the change it describes; returns its number.

        Facts are JSON values, never secrets.
        """
        # The caller's transaction holds the write lock from its start (BEGIN IMMEDIATE), so no other process can append
        # to the same head in between: two rows with one predecessor would look like tampering.
        head = transaction.first(AUDIT_HEAD)
        number, previous = (1, GENESIS) if head is None else (head.last_id + 1, head.hash)
        at = self._time(transaction, None if head is None else head.at)
        text = json.dumps(facts, sort_keys=True, ensure_ascii=False, allow_nan=False)
        fault = EVENTS[event].fault(json.loads(text)) if event in EVENTS else ""
        if fault:
            raise ValueError(f"{event} about {subject}: {fault}")
        row = {
            "id": number,
            "at": at,
            "actor": self._actor,
            "event": event,
            "subject": subject,
            "facts": text,
            "previous": previous,
        }
        row["hash"] = link_hash(row)
        transaction.insert_all(audit, [row])
        transaction.put(audit_head, [{"id": 1, "last_id": number, "hash": row["hash"], "at": at}])
        if DECIDED_BY in facts or event in ALSO_ANCHORED:
            transaction.after_commit = self.anchor
        return number

    def _time(self, transaction: Transaction, before: datetime | None) -> datetime:
        """The time of the next row: not before that of the rows that are there, so that limits can count by it.

        Args:
            transaction: which writes it.
            before: as the head holds it; None: written before there was one.
        """
        now = self._clock.now()
        latest = self._database.latest_possible(transaction, now)
        # A row that a clock set far ahead has dated does not date those after it.
        if before is None or before > latest + BELIEVED_AHEAD:
            before = transaction.scalar(_LATEST, until=latest + BELIEVED_AHEAD)
        return now if before is None else min(max(now, before), max(latest, before))

    def record(self, event: str, subject: str, /, **facts: Any) -> None:  # noqa: ANN401  # JSON values
        """Append to the audit chain what changes nothing else in the ledger. Facts are JSON values, never secrets."""
        with self._database.write() as transaction:
            self.append(transaction, event, subject, **facts)

    def anchor(self, *, after_loss: bool = False) -> None:
        """Note outside the ledger where the chain ends now. What cannot be noted is logged, and the work goes on.

        Args:
            after_loss: also where the chain lacks what was noted before: that was restored, or is known to be lost.
        """
        try:
            last = None if after_loss else self._anchors.last()  # before the snapshot, which then holds its row
            with self._database.read() as reading:
                head = reading.first(AUDIT_HEAD)
                if head is None:
                    return
                anchor = Anchor(ledger=hash_of_row(reading, 1) or GENESIS, row=head.last_id, hash=head.hash)
                fault = last and anchor_fault(reading, last, str(self._anchors.path))
            if fault:  # the next anchor would hide it
                _warn(self._anchors.path, fault)
                return
            # The system's log first: where the file cannot be written, the anchor is kept in a place that the agent's
            # user cannot change anyway.
            send_to_system_log(anchor)
            self._anchors.append(anchor, self._clock.now())
        # A warning and no error: what it speaks of is committed already, and to raise would look as if the decision
        # had not been stored.
        except OSError as error:
            _warn(self._anchors.path, str(error.strerror))
        except Untrusted as error:
            _warn(self._anchors.path, str(error))

    def anchor_faults(self, anchors: Iterable[Anchor], source: str) -> tuple[int, list[str]]:
        """Hold anchors from a log against the chain.

        Args:
            anchors: as ``find_anchors`` finds them.
            source: where they come from, for people.

        Returns:
            How many speak of this ledger, and why some of these do not fit.
        """
        faults: dict[str, None] = {}
        count = 0
        with self._database.read() as reading:
            ours = hash_of_row(reading, 1)
            for anchor in anchors:
                if anchor.ledger == ours:
                    count += 1
                    faults |= dict.fromkeys(filter(None, [anchor_fault(reading, anchor, source)]))
        return count, list(faults)

    def rows(self, limit: int = 100, *, event: str = "*") -> list[AuditRow]:
        """Audit rows, the newest first.

        Args:
            limit: no more than so many.
            event: only events that match; ``*``, ``?`` and ``[...]`` as in file names.
        """
        with self._database.read() as reading:
            if event == "*":
                found = reading.rows(_NEWEST, limit=limit)
            else:
                found = reading.rows(_NEWEST_LIKE, limit=limit, pattern=event)
            return [_audit_row(reading, row) for row in found]

    def events(self) -> list[str]:
        """Every event that the chain holds, by name."""
        with self._database.read() as reading:
            # Sorted here: how texts are ordered is a matter of the database in PostgreSQL.
            return sorted(row.event for row in reading.rows(_EVENTS))

    def since(self, at: datetime, events: Collection[str]) -> list[AuditRow]:
        """All rows from an instant on whose event begins with one of those words, the oldest first."""
        query = _since(tuple(sorted(events)))
        with self._database.read() as reading:
            return [_audit_row(reading, row) for row in reading.rows(query, first=first_since(reading, at))]

    def holds(self, head: str) -> bool:
        """Whether one of the rows has that hash."""
        with self._database.read() as reading:
            return reading.first(_BY_HASH, hash=head) is not None

    def verify(self, since: datetime | None = None) -> AuditReport:
        """Check the chain, and the proposals and approvals that it speaks of.

        Args:
            since: check what was written from this instant on, and that it follows the row before, which takes as long
                as that part is; None: check the file, the whole chain and every stored proposal and approval.

        Raises:
            LedgerCorrupt: the file itself is damaged.
            LedgerReadOnly: the login sees only what its teams own, and so no whole chain.
        """
        # The file before the chain: rows read from a damaged page would be reported as tampering, and an operator would
        # look for a culprit instead of a disk.
        if since is None and (damage := self._database.find_damage()):
            raise self._database.corrupt(damage)
        with self._database.read() as reading:
            if self._database.sight(reading) is Sight.OWN:
                raise LedgerReadOnly(
                    "this login sees only what its teams own of the audit chain, so it cannot check the whole of it",
                    advice="Run it where the agent runs: agents see the whole chain.",
                )
            return Verification(reading, since).report()


@lru_cache(maxsize=QUERIES_HELD)
def _since(words: tuple[str, ...]) -> Select[Any]:
    """The rows from one on whose event begins with one of the words."""
    return _FROM.where(or_(*(begins_with(audit.c.event, word) for word in words)))


def _warn(path: Path, error: str) -> None:
    log.warning("anchor not written", extra={"fields": {"path": str(path), "error": error}})


def _audit_row(reading: Reading, row: Row) -> AuditRow:
    with readable(reading.database, "audit", id=row.id):
        try:
            facts = json.loads(row.facts)
            if not isinstance(facts, dict):
                raise TypeError("the facts are no object")  # noqa: TRY301  # caught like what is no JSON
        except (ValueError, TypeError, RecursionError):
            if row.hash != link_hash(row._asdict()):
                raise
            # It fits the chain: someone wrote it so, and a list of rows shows it among the others.
            facts = {NOT_VALID: row.facts[:LONGEST_SHOWN]}
        return AuditRow(**{**row._asdict(), "facts": facts})
