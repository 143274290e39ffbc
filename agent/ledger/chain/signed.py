"""Approvals as the chain holds them, of single proposals and of several with one signature.

A signature is a row of the audit chain. It counts only while its key is among the allowed signers. The same judge
checks it when it is given, and again before each statement that rests on it.

``SignedList`` is several proposals under one signature. Its row holds the members and the signature, and the row of
each member names that row. So the signed text can be put together again: from what the ledger says of this member now,
and from what the row says of the others.

``read_story`` is what the chain says of one proposal, ``document_of`` the document to be signed, and ``given_for`` the
signatures that count for it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from sqlalchemy import func, select

from agent.ledger.chain.events import Event, Facts, read_event
from agent.ledger.chain.judge import (
    LIST_ROW,
    NOWHERE,
    SIGNED,
    CheckedSignature,
    Place,
    Replay,
    Story,
    missing_people,
    signatures_fault,
)
from agent.ledger.chain.links import AUDIT, GENESIS, hash_of_row, subject_of
from agent.ledger.errors import NotSigned, Spoiled
from agent.ledger.rows import MoveRow, ProposalRow
from agent.ledger.store.database import Reading
from agent.ledger.store.schema import audit, given, moves, one_of, value_for
from agent.model.approvals import Conditions
from agent.model.signatures import NameUnclear, Signature, SignatureInvalid, Signers, names_of_asker
from agent.model.signed_documents import ApprovalDocument, ApprovalList, ListedApproval, Signable
from agent.model.states import MoveState

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


_PROPOSAL_OF = select(moves.c.proposal_id).where(given(moves.c.id))
_MOVES_OF = (
    select(moves.c.id, moves.c.ordinal, moves.c.state).where(given(moves.c.proposal_id)).order_by(moves.c.ordinal)
)
_ABOUT = AUDIT.where(one_of(audit.c.subject))
_ABOUT_BEFORE = _ABOUT.where(audit.c.id < value_for(audit.c.id, "before"))
_LAST_ABOUT = select(func.max(audit.c.id)).where(one_of(audit.c.subject), audit.c.event != SIGNED)


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """How a proposal is approved.

    Attributes:
        signers: who may sign; None: the user who runs the command decides.
        needed: how many people must sign, each with a key of his own; more than one: none of them the proposer.
        automatic: standing rules approve what they cover.
    """

    signers: Signers | None = None
    needed: int = 1
    automatic: bool = False

    @classmethod
    def of(cls, allowed_signers: Path | None, needed: int, *, automatic: bool) -> Self:
        """The rule of a configuration; without a file of signers approvals are plain."""
        return cls(None if allowed_signers is None else Signers(allowed_signers), needed, automatic)


PLAIN = ApprovalRule()


@dataclass(frozen=True, slots=True)
class Given:
    """A signature that the chain holds, with what was signed."""

    document: ApprovalDocument
    who: str
    key: str
    armored: str
    signed: Signable  # the text that the signature is over: the document itself, or a list that it is on


class StoredPlaces:
    """Where moves are, read from their table as they are asked for, a proposal at a time."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._of: dict[int, Place] = {}
        self._moves: dict[int, dict[int, int]] = {}

    def of(self, move: int) -> Place:
        """As ``Places.of``."""
        if move not in self._of:
            proposal = self._reading.scalar(_PROPOSAL_OF, id=move)
            self._of[move] = NOWHERE
            self.moves(proposal or 0)
        return self._of[move]

    def moves(self, proposal: int) -> Mapping[int, int]:
        """As ``Places.moves``."""
        if proposal not in self._moves:
            found = self._reading.rows(_MOVES_OF, proposal_id=proposal)
            self._moves[proposal] = {row.ordinal: row.id for row in found}
            self._of |= {move: (proposal, ordinal) for ordinal, move in self._moves[proposal].items()}
        return self._moves[proposal]


def read_story(reading: Reading, proposal: int, before: int | None = None) -> Story:
    """What the chain tells of a proposal, up to the row before that one; None: to its end."""
    places = StoredPlaces(reading)
    numbers = sorted(places.moves(proposal).values())
    subjects = [subject_of("proposal", proposal), *(subject_of("move", move) for move in numbers)]
    rows = reading.some(_ABOUT, subjects) if before is None else reading.some(_ABOUT_BEFORE, subjects, before=before)
    replay = Replay(places)
    for row in sorted(rows, key=lambda each: each.id):
        replay.apply(row)
    return replay.stories.get(proposal, Story())


def require_sound(story: Story, proposal: int) -> Story:
    """The story, if all of its rows can be believed.

    Raises:
        Spoiled: one cannot.
    """
    if story.fault:
        raise Spoiled(
            f"the ledger cannot be trusted about proposal {proposal}: {story.fault}",
            advice="Keep the ledger as evidence. The next plan proposes again what is still worth moving.",
        )
    return story


def approval_of(reading: Reading, proposal: int) -> Event | None:
    """The row that approved a proposal; None where none did, or its rows cannot be believed."""
    story = read_story(reading, proposal)
    return None if story.fault else story.approval


def conditions_text(conditions: Conditions) -> str:
    """Conditions as the document has them: canonical JSON, in one line."""
    return json.dumps(conditions.facts, sort_keys=True)


def conditions_of(facts: Facts) -> Conditions:
    """The conditions in the facts of an approval."""
    return Conditions.from_facts(facts.get("conditions", {}))


def document_of(reading: Reading, row: ProposalRow, conditions: Conditions) -> ApprovalDocument:
    """What a person signs to approve a proposal as it is now, under these conditions."""
    found = reading.rows(_MOVES_OF, proposal_id=row.id)
    subjects = [subject_of("proposal", row.id), *(subject_of("move", move.id) for move in found)]
    last = reading.scalar(_LAST_ABOUT, some=subjects)
    return ApprovalDocument(
        ledger=hash_of_row(reading, 1) or GENESIS,
        database=row.proposal.database,
        fingerprint=row.proposal.fingerprint,
        proposal=row.id,
        digest=row.digest,
        moves=tuple(move.ordinal for move in found if move.state == MoveState.PROPOSED),
        conditions=conditions_text(conditions),
        expires_at=row.proposal.expires_at,
        sequence=last or 0,
    )


def given_for(reading: Reading, document: ApprovalDocument, story: Story) -> Iterator[Given]:
    """The signatures that count for a proposal by its story, each with its own moves and sequence.

    Args:
        reading: of the ledger.
        document: of the proposal; moves and sequence in it do not matter.
        story: of the proposal.
    """
    for row in story.signatures:
        if not row.current:
            continue
        # With the moves and the number as they were when it was signed: what ended since is none of its business.
        signed = replace(document, moves=row.moves, sequence=row.facts["sequence"])
        listed = find_list(reading, row.facts, signed)
        armored = row.facts.get("signature", "") if listed is None else listed.armored
        yield Given(signed, row.facts["who"], row.facts["key"], armored, signed if listed is None else listed.document)


def checked(rule: ApprovalRule, given: Iterable[Given]) -> tuple[list[CheckedSignature], str]:
    """The signatures that fit by those who may sign today, and why the last of the others does not."""
    if rule.signers is None:
        return [], ""
    found, why = [], ""
    for each in given:
        try:
            signature = rule.signers.verify(each.signed, each.armored)
        except SignatureInvalid as error:
            # One who may no longer sign makes the others' signatures no worse.
            why = str(error)
        else:
            found.append(CheckedSignature(signature.who, signature.key, signature.names, each.document.moves))
    return found, why


def check_signature(
    rule: ApprovalRule,
    document: Signable,
    armored: str,
    before: Iterable[CheckedSignature],
    askers: Collection[str],
    *,
    what: str,
    command: str,
) -> Signature:
    """Check a signature that is given now.

    Args:
        rule: which says who may sign.
        document: as it must be signed now.
        armored: the signature.
        before: the signatures that count already.
        askers: who asked for what is signed; "": the agent.
        what: is signed, for messages: ``proposal 3``.
        command: that prints the document, and takes its signature.

    Raises:
        NotSigned: it is not needed, by a person who has signed already, or by the one who asked.
        SignatureInvalid: it does not fit the document, or its maker may not sign.
    """
    if rule.signers is None:
        raise NotSigned("approvals are plain here: a signature means nothing", advice="Set approval: signed.")
    if not armored:
        raise NotSigned(
            f"{what} is approved by signature only",
            advice=f"{command} > FILE prints what to sign; then give --signature FILE.sig.",
        )
    signature = rule.signers.verify(document, armored)
    if any(signature.names & each.names for each in before):  # by today's file each key has one name
        raise NotSigned(
            f"{signature.who} has signed this already",
            advice="Another person has to sign, with a key of their own.",
        )
    if rule.needed > 1 and _is_by_asker(signature, askers):
        refused = f"{signature.who} asked for this and cannot approve it too"
        raise NotSigned(refused, advice="Another person has to sign it.")
    return signature


def _is_by_asker(signature: Signature, askers: Collection[str]) -> bool:
    """Whether one of those who asked made the signature, or may have.

    Raises:
        NotSigned: it is unclear who asked.
    """
    try:
        return any(not names_of_asker(who).isdisjoint(signature.names) for who in askers if who)
    except NameUnclear as error:
        raise NotSigned(f"who asked for this is not known for certain: {error}", advice=error.advice) from error


def missing_signatures(
    signatures: Collection[CheckedSignature], moves: Iterable[int], needed: int, asked_by: str
) -> int:
    """How many people have yet to sign; as ``missing_people``.

    Raises:
        NotSigned: it is unclear who asked for it.
    """
    try:
        return missing_people(signatures, moves, needed, asked_by)
    except NameUnclear as error:
        raise NotSigned(f"who asked for this is not known for certain: {error}", advice=error.advice) from error


def signature_fault(reading: Reading, rule: ApprovalRule, move: MoveRow, story: Story, asked_by: str) -> str:
    """Why the signatures that the chain holds do not approve a move by today's rule; "" where they do."""
    if rule.signers is None or story.approval is None:
        return ""
    document = ApprovalDocument(
        ledger=hash_of_row(reading, 1) or GENESIS, database=move.database, fingerprint=move.fingerprint,
        proposal=move.proposal_id, digest=move.digest, moves=(), expires_at=move.expires_at, sequence=0,
        conditions=conditions_text(conditions_of(story.approval.facts)),
    )  # fmt: skip
    found, why = checked(rule, given_for(reading, document, story))
    fault = signatures_fault(found, move, rule.needed, asked_by)
    return f"{fault}: {why}" if fault and why else fault
