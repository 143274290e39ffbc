"""What a row of the audit chain may say: the facts of each event, and the one reader that checks them.

``EVENTS`` is the only description. ``read_event`` parses a row by it, and ``events_json`` gives it to the server's
grants, which refuse a row that does not fit. A row that does not fit spoils what it is about, and nothing else: the
chain only grows, so a reader that failed on it would fail for good, for everybody.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from agent.ledger.chain.links import APPROVED, CREATED, FORGOTTEN, LIFTED, MIGRATED, MOVED, STOPPED, STORED
from agent.ledger.store.database import Row
from agent.model.approvals import LockClass
from agent.model.states import STATE_WHEN_DROPPED, MoveState

LARGEST_NUMBER = 2**53  # of a whole number that JSON carries without loss
_SUBJECT = re.compile(r"(proposal|move|step|ask|rule) ([1-9][0-9]{0,8})")
Type: TypeAlias = "str | tuple[str, ...]"  # a name of ``_CHECKS``, or the texts that are allowed
Facts: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EventKind:
    """The form of one event.

    Attributes:
        subject: what it is about: ``proposal``, ``move``, ``step``, ``ask``, ``rule``; "": a database, list or ledger.
        facts: name and type of each fact; a name that ends in ``?`` may be missing.
        by_people: whether who may only decide may write it.
        agents_only: facts that who may only decide may not write.
        one_of: at least one of these facts is there.
        others: whether it may hold facts of other names.
    """

    subject: str
    facts: Mapping[str, Type]
    by_people: bool = False
    agents_only: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    others: bool = False

    def fault(self, facts: Facts) -> str:
        """Why facts do not have this form; "" where they do."""
        known = {name.rstrip("?"): kind for name, kind in self.facts.items()}
        missing = next((name for name in self.facts if not name.endswith("?") and name not in facts), None)
        if missing is not None:
            return f"it does not say {missing}"
        strange = next((name for name in facts if name not in known), None)
        if strange is not None and not self.others:
            return f"{strange!r} is no fact of it"
        wrong = next((name for name, kind in known.items() if name in facts and not _fits(facts[name], kind)), None)
        if wrong is not None:
            return f"{wrong} is {json.dumps(facts[wrong])[:60]}"
        if self.others and _holds_nul(facts):  # no server takes it, wherever it stands
            return "a character of it is none"
        if self.one_of and not any(name in facts for name in self.one_of):
            return f"it says neither {' nor '.join(self.one_of)}"
        return ""


@dataclass(frozen=True, slots=True)
class Event:
    """A row of the chain that has its form."""

    row: int
    at: datetime
    name: str
    subject: str
    number: int  # of the proposal, move ... that it is about; 0: it is about a database, list or ledger
    facts: Facts


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row of the chain that does not have the form of its event."""

    row: int
    subject: str
    why: str

    @property
    def sentence(self) -> str:
        """The row and what is wrong with it."""
        return f"audit row {self.row} about {self.subject[:60]!r} is not valid: {self.why}"


def numbered_subject(subject: str) -> tuple[str, int]:
    """Kind and number of what a row is about, as ``subject_of`` writes them; no kind and 0 where it is nothing such."""
    found = _SUBJECT.fullmatch(subject)
    return (found[1], int(found[2])) if found else ("", 0)


def read_event(row: Row) -> Event | Unreadable:
    """Parse a row of the chain; never raises, whatever the row holds."""
    kind = EVENTS.get(row.event)
    if kind is None:
        return Unreadable(row.id, row.subject, f"{row.event[:60]!r} is no event")
    subject, number = numbered_subject(row.subject) if kind.subject else ("", 0)
    if subject != kind.subject:
        return Unreadable(row.id, row.subject, f"{row.event} is about a {kind.subject}")
    try:
        facts = json.loads(row.facts)
    except (ValueError, RecursionError) as error:
        return Unreadable(row.id, row.subject, f"its facts are no JSON: {error}")
    fault = kind.fault(facts) if isinstance(facts, dict) else "its facts are no object"
    if fault:
        return Unreadable(row.id, row.subject, f"{row.event}: {fault}")
    return Event(row.id, row.at, row.event, row.subject, number, facts)


def events_json() -> str:
    """``EVENTS`` for the server, as the functions of ``grants.sql`` read it."""
    parts = {"conditions of an approval": _CONDITIONS, "limits of a rule": _LIMITS, "member of a list": _MEMBER}
    return json.dumps({name: _plain(kind) for name, kind in (EVENTS | parts).items()}, sort_keys=True)


def _plain(kind: EventKind) -> dict[str, Any]:
    return {
        "subject": kind.subject,
        "required": [name for name in kind.facts if not name.endswith("?")],
        "types": {name.rstrip("?"): each if isinstance(each, str) else list(each) for name, each in kind.facts.items()},
        "by_people": kind.by_people,
        "agents_only": list(kind.agents_only),
        "one_of": list(kind.one_of),
        "others": kind.others,
    }


# -- types of facts --------------------------------------------------------------------------------------------------


def _fits(value: object, kind: Type) -> bool:
    return value in kind if isinstance(kind, tuple) else _CHECKS[kind](value)


def _holds_nul(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_nul, (*value, *value.values())))
    return any(map(_holds_nul, value)) if isinstance(value, list) else isinstance(value, str) and "\x00" in value


def _is_text(value: object) -> bool:
    if not isinstance(value, str) or "\x00" in value:
        return False
    try:
        value.encode()  # a lone surrogate is JSON, but no text that a terminal, a file or a server takes
    except UnicodeEncodeError:
        return False
    return True


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_NUMBER


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_instant(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        at = datetime.fromisoformat(value)
        at.astimezone(UTC)
    except (ValueError, OverflowError):  # the first and the last day of the calendar are none in some zones
        return False
    return at.tzinfo is not None


def _list_of(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(check(each) for each in value)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_conditions(value: object) -> bool:
    return isinstance(value, dict) and not _CONDITIONS.fault(value)


def _is_limits(value: object) -> bool:
    return isinstance(value, dict) and not _LIMITS.fault(value)


def _is_member(value: object) -> bool:
    return isinstance(value, dict) and not _MEMBER.fault(value)


_CHECKS: dict[str, Callable[[object], bool]] = {
    "text": _is_text,
    "text or null": lambda value: value is None or _is_text(value),
    "whole": _is_whole,
    "wholes": _list_of(_is_whole),
    "texts": _list_of(_is_text),
    "number": _is_number,
    "flag": lambda value: isinstance(value, bool),
    "instant": _is_instant,
    "object": _is_object,
    "conditions": _is_conditions,
    "limits": _is_limits,
    "members": _list_of(_is_member),
}
_CONDITIONS = EventKind("", {
    "most_bytes?": "whole", "not_after?": "instant", "least_gain_per_hour?": "number",
    "most_stall_seconds?": "number", "windows?": "texts",
    "time_zone?": "text",
})  # fmt: skip
_LIMITS = EventKind("", {
    "database": "text", "fingerprint": "text", "mode": "text", "units": "texts", "most_bytes": "whole",
    "locks": tuple(each.value for each in LockClass), "most_stall_seconds": "number", "least_gain_per_hour": "number",
    "most_a_day": "whole", "expires_at": "instant", "windows": "texts", "time_zone": "text", "template?": "object",
})  # fmt: skip
_MEMBER = EventKind("", {
    "wave": "whole", "database": "text", "fingerprint": "text", "proposal": "whole", "digest": "text",
    "moves": "wholes", "conditions": "text", "expires": "instant", "sequence": "whole",
})  # fmt: skip

# -- the events ------------------------------------------------------------------------------------------------------

_WHY: Facts = {"reason": "text"}
_DECISION: Facts = {"who": "text", "origin": "text", "reason": "text"}
_SIGNATURE: Facts = {"who": "text", "origin": "text", "key": "text"}
_DROPPED_INTO = tuple(state.value for state in STATE_WHEN_DROPPED.values())
_DROP: Facts = {**_DECISION, "was": "text", "digest": "text", "to": _DROPPED_INTO}


def _kinds() -> Iterator[tuple[str, EventKind]]:
    for event in (CREATED, MIGRATED):
        yield event, EventKind("", {"was?": "text or null", "now?": "text"})
    yield MOVED, EventKind("", {"was": "text"})
    yield from _of_proposals()
    yield from _of_moves()
    yield from _of_rules()
    yield from _of_lists()
    yield from _of_databases()


def _of_proposals() -> Iterator[tuple[str, EventKind]]:
    yield STORED, EventKind("proposal", {"database": "text", "digest": "text", "moves": "whole", "ids?": "wholes"})
    yield APPROVED, EventKind(
        "proposal",
        {**_DECISION, "digest": "text", "moves": "wholes", "conditions?": "conditions", "list_row?": "whole",
         "rule?": "whole", "covered_by?": "text"},
        by_people=True, agents_only=("rule", "covered_by"),
    )  # fmt: skip
    yield "proposal.signed", EventKind(
        "proposal",
        {**_SIGNATURE, "digest": "text", "moves": "wholes", "sequence": "whole", "signature?": "text",
         "list_row?": "whole"},
        by_people=True, one_of=("signature", "list_row"),
    )  # fmt: skip
    # Without moves: all of them were struck one by one.
    yield (
        "proposal.rejected",
        EventKind(
            "proposal",
            {**_WHY, "who?": "text", "origin?": "text", "digest?": "text", "moves?": "wholes"},
            by_people=True,
        ),
    )
    yield "proposal.superseded", EventKind("proposal", _WHY)
    for event in ("proposal.expired", "proposal.finished"):
        yield event, EventKind("proposal", _WHY, by_people=True)
    yield "moves.expired", EventKind("proposal", {"moves": "wholes"}, by_people=True)
    yield "group.left_worse", EventKind("proposal", {"sentence": "text", "moves": "wholes"})
    yield "undo.impossible", EventKind("proposal", {"why": "text"})


def _of_moves() -> Iterator[tuple[str, EventKind]]:
    for state in MoveState:
        yield f"move.{state}", EventKind("move", {**_WHY, "was": "text", "digest": "text"})
    for event in ("move.struck", "move.stopped"):
        yield event, EventKind("move", _DROP, by_people=True)
    # By the agent, or by a person, who says who; one row for both, so these facts may be missing.
    yield (
        f"move.{MoveState.CANCELLED}",
        EventKind(
            "move",
            {**_WHY, "was": "text", "digest": "text", "who?": "text", "origin?": "text", "to?": _DROPPED_INTO},
            by_people=True,
        ),
    )
    for kind in ("pause", "resume", "cancel"):
        yield f"move.asked.{kind}", EventKind("move", {**_DECISION, "digest": "text", "state": "text"}, by_people=True)
    yield "outcome.recorded", EventKind("move", {"proposal": "whole", "verdict": "text"}, others=True)
    yield "ask.answered", EventKind("ask", {"answer": "text"})
    yield (
        "step.intended",
        EventKind("step", {"move": "whole", "ordinal": "whole", "sql": "text", "digest": "text", "restored?": "flag"}),
    )
    for result in ("done", "paused", "failed", "unknown"):
        yield f"step.{result}", EventKind("step", {"detail": "text"})


def _of_rules() -> Iterator[tuple[str, EventKind]]:
    yield "rule.proposed", EventKind("rule", {"who": "text", "origin": "text", "limits": "limits"})
    yield "rule.signed", EventKind("rule", {**_SIGNATURE, "sequence": "whole", "signature": "text"}, by_people=True)
    yield "rule.opened", EventKind("rule", {"who": "text", "origin": "text"}, by_people=True)
    yield "rule.closed", EventKind("rule", _DECISION, by_people=True)


def _of_lists() -> Iterator[tuple[str, EventKind]]:
    yield "list.signed", EventKind("", {**_SIGNATURE, "members": "members", "signature": "text"}, by_people=True)
    yield "list.approved", EventKind("", {**_DECISION, "members": "members"}, by_people=True)
    yield "list.stopped", EventKind("", {**_DECISION, "moves": "wholes"}, by_people=True)


def _of_databases() -> Iterator[tuple[str, EventKind]]:
    pin: Facts = {"who": "text", "reason": "text"}
    yield "pin.set", EventKind("", {**pin, "pin": "text", "until": "text or null"}, by_people=True)
    yield "pin.removed", EventKind("", pin, by_people=True)
    for event in ("space.closed", "space.opened"):
        yield event, EventKind("", pin, by_people=True)
    for event in ("trace.on", "trace.off"):
        yield event, EventKind("", {"who": "text", "generation": "whole"})
    for event in (STOPPED, LIFTED, FORGOTTEN):
        yield event, EventKind("", _DECISION, by_people=True)
    yield "lease.taken_over", EventKind("", {"token": "whole", "was": "text"})
    yield "proof.approved", EventKind("", {"who": "text", "origin": "text", "digest": "text"})
    yield (
        "failover.restored",
        EventKind("", {"lost_row": "whole", "lost_hash": "text", "restored": "texts", "without_place": "texts"}),
    )


EVENTS: dict[str, EventKind] = dict(_kinds())
