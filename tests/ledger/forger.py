"""What a forger can write: every event of the chain about a proposal, with facts that have the right form.

A forger writes rows that fit the chain and sets the tables as he likes. ``forgeries`` draws sequences of them; whoever
uses it says what an honest sequence could have reached.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any

from sqlalchemy import select

from agent.ledger.chain.events import EventKind, Type
from agent.ledger.chain.links import AUDIT_HEAD, GENESIS, link_hash
from agent.ledger.rows import MoveRow
from agent.ledger.store import schema
from agent.ledger.store.database import Reading, Transaction
from agent.model.states import STATE_WHEN_DROPPED, MoveState

GOOD: dict[str, Any] = {
    "text": "x", "text or null": None, "whole": 1, "wholes": [1], "texts": ["x"], "number": 0.5, "flag": True,
    "instant": "2026-03-01T12:00:00+00:00", "object": {}, "conditions": {},
    "limits": {
        "database": "sim", "fingerprint": "f", "mode": "hsm", "units": ["*"], "most_bytes": 1, "locks": "any",
        "most_stall_seconds": 1.0, "least_gain_per_hour": 0.0, "most_a_day": 1, "windows": [], "time_zone": "UTC",
        "expires_at": "2026-03-31T12:00:00+00:00",
    },
    "members": [{
        "wave": 1, "database": "sim", "fingerprint": "f", "proposal": 1, "digest": "d", "moves": [1],
        "conditions": "{}", "expires": "2026-03-01T12:00:00+00:00", "sequence": 1,
    }],
}  # fmt: skip
BAD: tuple[Any, ...] = (
    None, [[]], [None], {}, {"a": {"b": []}}, -1, 2**70, 1.5, True, "", "\x00", "x" * 300_000, ["x"], [True],
    [{"proposal": 1}], "2026-13-45", [1] * 1000, "2026-03-01T12:00:00", "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59", 1e300,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Forged:
    """One row."""

    event: str
    subject: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """The proposal that is to be forged, with what the forger knows of it."""

    number: int
    digest: str
    moves: Sequence[MoveRow]
    signatures: Sequence[Mapping[str, Any]] = ()  # facts of rows that hold signatures of people, once given


def write_row(transaction: Transaction, row: Forged, at: datetime, text: str | None = None) -> int:
    """Append a row that fits the chain, as no ledger of ours would check it; returns its number.

    Args:
        transaction: which writes it.
        row: what it says.
        at: when, as it says.
        text: in the place of its facts; None: its facts.
    """
    head = transaction.first(AUDIT_HEAD)
    number, previous = (1, GENESIS) if head is None else (head.last_id + 1, head.hash)
    values = {
        "id": number, "at": at, "actor": "forger", "event": row.event, "subject": row.subject,
        "facts": json.dumps(row.facts, sort_keys=True) if text is None else text, "previous": previous,
    }  # fmt: skip
    values["hash"] = link_hash(values)
    transaction.insert_all(schema.audit, [values])
    transaction.put(schema.audit_head, [{"id": 1, "last_id": number, "hash": values["hash"], "at": at}])
    return number


def set_tables(transaction: Transaction, target: Target, state: MoveState) -> None:
    """Mark the proposal approved, and its moves as the forger wants them."""
    transaction.update(schema.proposals, [target.number], {"state": "approved", "approved_digest": target.digest})
    transaction.update(schema.moves, [row.id for row in target.moves], {"state": state})


def every_row(target: Target) -> list[Forged]:
    """One row of each event about the proposal and about each of its moves, in each form that could serve a forger."""
    return [*_about_proposal(target), *(row for move in target.moves for row in _about_move(target, move))]


def forgeries(target: Target, random: Random, longest: int = 5) -> list[Forged]:
    """A sequence of rows; the last of them are what brings a move to its statements."""
    rows = every_row(target)
    return random.sample(rows, random.randint(1, min(longest, len(rows))))


def _about_proposal(target: Target) -> Iterator[Forged]:
    subject, digest, ordinals = f"proposal {target.number}", target.digest, [row.move.ordinal for row in target.moves]
    decision = {"who": "anna", "origin": "tty", "reason": ""}
    yield Forged("proposal.stored", subject, {"database": "shop", "digest": digest, "moves": len(ordinals)})
    for moves in (ordinals, ordinals[:1], ordinals[1:], []):
        yield Forged("proposal.approved", subject, {**decision, "digest": digest, "moves": moves})
    yield Forged("proposal.approved", subject, {**decision, "digest": digest, "moves": ordinals, "rule": 1})
    yield Forged("proposal.approved", subject, {**decision, "digest": digest, "moves": ordinals, "covered_by": digest})
    yield Forged("proposal.rejected", subject, {"reason": "", "moves": ordinals})
    for event in ("proposal.superseded", "proposal.expired", "proposal.finished", "proposal.rejected"):
        yield Forged(event, subject, {"reason": ""})
    for ids in ([row.id for row in target.moves], [target.moves[0].id]):
        yield Forged("moves.expired", subject, {"moves": ids})
    for facts in target.signatures:
        yield Forged("proposal.signed", subject, facts)
        yield Forged("proposal.signed", subject, {**facts, "moves": ordinals})
        yield Forged("proposal.signed", subject, {**facts, "sequence": 10**6})


def _about_move(target: Target, row: MoveRow) -> Iterator[Forged]:
    subject, digest = f"move {row.id}", target.digest
    for to in (MoveState.APPROVED, MoveState.PRECHECK, MoveState.RUNNING, MoveState.UNKNOWN, MoveState.PLACED,
               MoveState.KEPT, MoveState.UNDO_PROPOSED, MoveState.HANDED_OVER):  # fmt: skip
        for was in (row.state, MoveState.APPROVED, MoveState.UNKNOWN, MoveState.PROPOSED, MoveState.HANDED_OVER):
            yield Forged(f"move.{to}", subject, {"was": was, "reason": "", "digest": digest})
    for was, dropped in STATE_WHEN_DROPPED.items():
        facts = {"who": "x", "origin": "y", "reason": "", "digest": digest, "was": was, "to": dropped}
        yield Forged("move.struck", subject, facts)


def rows_about(transaction: Reading, number: int) -> list[Mapping[str, Any]]:
    """Facts of the signatures that the chain holds for a proposal."""
    audit = schema.audit.c
    about = audit.subject == f"proposal {number}", audit.event == "proposal.signed"
    return [json.loads(row.facts) for row in transaction.rows(select(audit.facts).where(*about))]


def bad_facts(kind: EventKind, random: Random) -> dict[str, Any]:
    """Facts of an event: those that it has, some of them replaced, missing, or added."""
    facts = {name.rstrip("?"): _good(each) for name, each in kind.facts.items()}
    for name, inner in facts.items():  # what holds facts of its own: most often it is one of those that is bad
        if isinstance(inner, dict) and inner and random.random() < 0.5:
            facts[name] = {**inner, random.choice(list(inner)): random.choice(BAD)}
    for name in list(facts):
        if random.random() < 0.3:
            facts[name] = random.choice(BAD)
        elif random.random() < 0.1:
            del facts[name]
    return facts if random.random() < 0.8 else {**facts, "more": random.choice(BAD)}


def _good(kind: Type) -> Any:
    return GOOD[kind] if isinstance(kind, str) else kind[0]
