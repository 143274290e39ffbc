"""Approvals of several proposals with one signature, as the chain holds them.

The row of a signature over a list holds its members and the signature; the row of each member names that row, so that
the text can be put together again: with what the ledger says of this member now, and what the row says of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent.keys import ApprovalDocument, ApprovalList, ListedApproval
from agent.ledger.chain.events import Event, read_event
from agent.ledger.chain.judge import LIST_ROW, Story
from agent.ledger.chain.links import AUDIT
from agent.ledger.store.database import Reading
from agent.ledger.store.elements import given, one_of
from agent.ledger.store.schema import audit

LIST_SIGNED, LIST_APPROVED, LIST_STOPPED = "list.signed", "list.approved", "list.stopped"
_ROW_OF_LIST = AUDIT.where(given(audit.c.id), one_of(audit.c.event))


@dataclass(frozen=True, slots=True)
class SignedList:
    """A list with a signature over it."""

    document: ApprovalList
    armored: str


def subject_of_list(digest: str) -> str:
    """How the chain names a list."""
    return f"list {digest}"


def members_facts(listed: ApprovalList) -> list[dict[str, Any]]:
    """The members as facts of a row: all that the text says of them."""
    return [
        {
            "wave": member.wave, "database": member.document.database, "fingerprint": member.document.fingerprint,
            "proposal": member.document.proposal, "digest": member.document.digest,
            "moves": list(member.document.moves), "conditions": member.document.conditions,
            "expires": member.document.expires_at.isoformat(), "sequence": member.document.sequence,
        }
        for member in listed.members
    ]  # fmt: skip


def find_list(reading: Reading, facts: Mapping[str, Any], document: ApprovalDocument) -> SignedList | None:
    """The list that a member's signature is over; None where the row names none, or one without the member.

    Args:
        reading: of the ledger.
        facts: of the member's row.
        document: the member, by the ledger: it takes the place of what the list's row says of it.
    """
    listed = _list_facts(reading, facts, {LIST_SIGNED})
    if listed is None:
        return None
    members = tuple(_member(each, document) for each in listed["members"])
    if document not in (member.document for member in members):
        return None
    return SignedList(ApprovalList(ledger=document.ledger, members=members), listed["signature"])


def goes_before(reading: Reading, proposal: int, story: Story) -> set[int]:
    """The proposals of earlier waves, by each list that a signature or the approval of a proposal rests on."""
    # By the rows of signatures as well as of the approval: a forged approval that names no list would begin before its
    # turn, but its signatures count only by the rows that name the list.
    about = [row.facts for row in story.signatures]
    about += [] if story.approval is None else [story.approval.facts]
    found: set[int] = set()
    for facts in about:
        listed = _list_facts(reading, facts, {LIST_SIGNED, LIST_APPROVED})
        if listed is not None:
            found |= _before(listed["members"], proposal)
    return found


def _before(members: Iterable[Mapping[str, Any]], proposal: int) -> set[int]:
    waves = {each["proposal"]: each["wave"] for each in members}
    return {other for other, wave in waves.items() if wave < waves.get(proposal, 0)}


def _list_facts(reading: Reading, facts: Mapping[str, Any], events: set[str]) -> Mapping[str, Any] | None:
    """What the row of a list holds that a member's row names; None where there is none that can be read."""
    if LIST_ROW not in facts:
        return None
    row = reading.first(_ROW_OF_LIST, id=facts[LIST_ROW], some=sorted(events))
    event = None if row is None else read_event(row)
    return event.facts if isinstance(event, Event) else None


def _member(facts: Mapping[str, Any], document: ApprovalDocument) -> ListedApproval:
    if facts["proposal"] == document.proposal:
        return ListedApproval(document=document, wave=facts["wave"])
    other = ApprovalDocument(
        ledger=document.ledger, database=facts["database"], fingerprint=facts["fingerprint"],
        proposal=facts["proposal"], digest=facts["digest"], moves=tuple(facts["moves"]),
        conditions=facts["conditions"], expires_at=datetime.fromisoformat(facts["expires"]), sequence=facts["sequence"],
    )  # fmt: skip
    return ListedApproval(document=other, wave=facts["wave"])
