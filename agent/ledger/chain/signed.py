"""Signed approvals in the ledger: the document that is to be signed, what was signed, and whether that is enough.

A signature is a row of the audit chain. It counts only as long as its key is among the allowed signers: it is checked
when it is given, and again before each statement that rests on it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from agent.keys import ApprovalDocument, Signable, Signature, SignatureInvalid, Signers
from agent.ledger.chain.approval_lists import find_list
from agent.ledger.chain.links import APPROVED, AUDIT, GENESIS, hash_of_row, subject_of
from agent.ledger.errors import NotSigned
from agent.ledger.file.reading import Reading, one_of, where
from agent.ledger.rows import MoveRow, ProposalRow
from agent.model.conditions import Conditions
from agent.model.states import MoveState

SIGNED = "proposal.signed"


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """How a proposal is approved.

    Attributes:
        signers: who may sign; None: whoever runs the command decides.
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


def conditions_text(conditions: Conditions) -> str:
    """Conditions as the document has them: canonical JSON, in one line."""
    return json.dumps(conditions.facts, sort_keys=True)


def conditions_of(reading: Reading, proposal: int) -> Conditions:
    """The conditions under which a proposal was approved, by the chain; none where it was not."""
    about = where("subject = ?", subject_of("proposal", proposal)), where("event = ?", APPROVED)
    facts = reading.scalar("SELECT facts FROM audit", *about, then="ORDER BY id DESC LIMIT 1")
    return Conditions() if facts is None else Conditions.from_facts(json.loads(facts).get("conditions", {}))


def document_of(reading: Reading, row: ProposalRow, conditions: Conditions) -> ApprovalDocument:
    """What a person signs to approve a proposal as it is now, under these conditions."""
    of_it = where("proposal_id = ?", row.id)
    found = list(reading.rows("SELECT id, ordinal, state FROM moves", of_it, then="ORDER BY ordinal"))
    subjects = [subject_of("proposal", row.id), *(subject_of("move", move.id) for move in found)]
    last = reading.scalar("SELECT max(id) FROM audit", one_of("subject", subjects), where("event != ?", SIGNED))
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


def given_for(reading: Reading, document: ApprovalDocument) -> Iterator[Given]:
    """The signatures that the chain holds for a proposal, each with its own moves and sequence.

    Args:
        reading: of the ledger.
        document: of the proposal; moves and sequence in it do not matter.
    """
    about = where("subject = ?", subject_of("proposal", document.proposal)), where("event = ?", SIGNED)
    for row in reading.rows(AUDIT, *about, then="ORDER BY id"):
        facts = json.loads(row.facts)
        # With the moves and the number as they were when it was signed: struck moves would otherwise make every earlier
        # signature invalid.
        signed = replace(document, moves=tuple(facts["moves"]), sequence=facts["sequence"])
        listed = find_list(reading, facts, signed)
        armored = facts.get("signature", "") if listed is None else listed.armored
        yield Given(signed, facts["who"], facts["key"], armored, signed if listed is None else listed.document)


def check_signature(
    rule: ApprovalRule,
    document: Signable,
    armored: str,
    keys: Collection[str],
    proposers: Collection[str],
    *,
    what: str,
    command: str,
) -> Signature:
    """Check a signature that is given now.

    Args:
        rule: which says who may sign.
        document: as it must be signed now.
        armored: the signature.
        keys: that have signed just this document before.
        proposers: who asked for what is signed; "": the agent.
        what: is signed, for messages: ``proposal 3``.
        command: that prints the document, and takes its signature.

    Raises:
        NotSigned: it is not needed, made with a key that has signed already, or by the proposer.
        SignatureInvalid: it does not fit the document, or is of nobody who may sign.
    """
    if rule.signers is None:
        raise NotSigned("approvals are plain here: a signature means nothing", advice="Set approval: signed.")
    if not armored:
        raise NotSigned(
            f"{what} is approved by signature only",
            advice=f"{command} > FILE prints what to sign; then give --signature FILE.sig.",
        )
    signature = rule.signers.verify(document, armored)
    if signature.key in keys:
        raise NotSigned(
            f"the key {signature.key} of {signature.who} has signed this already",
            advice="Another person has to sign with a key of his own.",
        )
    if rule.needed > 1 and signature.who in proposers:
        refused = f"{signature.who} proposed this and cannot approve it too"
        raise NotSigned(refused, advice="Another person has to sign it.")
    return signature


def signature_fault(reading: Reading, rule: ApprovalRule, move: MoveRow) -> str:
    """Why the signatures that the chain holds do not approve a move by today's rule; "" where they do."""
    if rule.signers is None:
        return ""
    document = ApprovalDocument(
        ledger=hash_of_row(reading, 1) or GENESIS, database=move.database, fingerprint=move.fingerprint,
        proposal=move.proposal_id, digest=move.digest, moves=(), expires_at=move.expires_at, sequence=0,
        conditions=conditions_text(conditions_of(reading, move.proposal_id)),
    )  # fmt: skip
    # A set: a key that has signed again, after a move was struck, counts once.
    keys, why = set(), ""
    for given in given_for(reading, document):
        if move.move.ordinal not in given.document.moves:
            continue
        try:
            keys.add(rule.signers.verify(given.signed, given.armored).key)
        except SignatureInvalid as error:
            why = f": {error}"
    if len(keys) >= rule.needed:
        return ""
    return f"proposal {move.proposal_id} has {len(keys)} of the {rule.needed} signatures that it needs{why}"
