"""What the chain says is in force and was sent, next to the tables that say the same.

The links of the chain protect its own rows. Pins, closed spaces, requests for moves and the journal of statements are
in tables of their own, which the agent reads: a row that is removed there would undo a person's decision unnoticed.

``Standing`` replays the rows of the chain. ``faults`` names each difference between it and the tables.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from sqlalchemy import select

from agent.ledger.chain.events import Event, Facts, Unreadable, read_event
from agent.ledger.rows import RequestKind, StepState
from agent.ledger.store.database import Reading, Row
from agent.ledger.store.schema import asks, closed_spaces, moves, one_of, pins, steps
from policies.model.settings import Pin

ASKED = "move.asked."
INTENDED = "step.intended"
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
