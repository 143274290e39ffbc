"""Several proposals decided together: one signature over all of them, in waves, and what stops those not begun."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

from sqlalchemy import Text, bindparam, select

from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.events import Event, read_event
from agent.ledger.chain.judge import LIST_ROW, SIGNED, CheckedSignature
from agent.ledger.chain.links import AUDIT, GENESIS, hash_of_row, subject_of
from agent.ledger.chain.signed import (
    LIST_APPROVED,
    LIST_SIGNED,
    LIST_STOPPED,
    Given,
    check_signature,
    checked,
    document_of,
    given_for,
    goes_before,
    members_facts,
    missing_signatures,
    read_story,
    require_sound,
    subject_of_list,
)
from agent.ledger.errors import DigestMismatch, NotFound, WrongState, readable
from agent.ledger.moves import OUTCOMES, outcome_row
from agent.ledger.proposals import Proposals, if_any, require_name
from agent.ledger.rows import MoveRow, ProposalRow, group_of
from agent.ledger.store.database import Database, Reading, Transaction
from agent.ledger.store.schema import audit, begins_with, moves, one_of, outcomes
from agent.ledger.stored import MOVES, StateChanges, load_moves, load_proposal, require_decidable, require_held_to
from agent.model.approvals import NONE, Conditions
from agent.model.outcomes import WentBefore
from agent.model.proposals import DIGEST_SHOWN
from agent.model.signatures import Signature
from agent.model.signed_documents import ApprovalList, ListedApproval
from agent.model.states import ACTIONABLE, IN_PLACE, UNFINISHED, MoveState

_MOVES_OF = MOVES.where(one_of(moves.c.proposal_id))
_STATES_OF = select(moves.c.proposal_id, moves.c.state).where(one_of(moves.c.proposal_id))
_APPROVED_LISTS = AUDIT.where(
    audit.c.event == LIST_APPROVED, begins_with(audit.c.subject, bindparam("words", type_=Text))
).order_by(audit.c.id)
_OUTCOMES_OF = OUTCOMES.where(one_of(moves.c.proposal_id)).order_by(outcomes.c.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDecision:
    """What became of a list that was approved or signed."""

    digest: str  # its name
    rows: tuple[ProposalRow, ...]  # in the order of the list
    who: str  # everybody who has signed, or who decided
    missing: int  # signatures; 0: all of it is approved


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedList:
    """What a stop has cancelled, and what goes on since it had begun."""

    digest: str
    cancelled: tuple[MoveRow, ...]  # as they were
    going_on: tuple[MoveRow, ...]


class Lists:
    """Approvals of several proposals at once. Every change is one transaction with its audit rows."""

    def __init__(self, database: Database, chain: AuditChain, changes: StateChanges, proposals: Proposals) -> None:
        self._database = database
        self._chain = chain
        self._changes = changes
        self._proposals = proposals

    def document(
        self, numbers: Sequence[int], canaries: Collection[int] = (), conditions: Conditions = NONE
    ) -> tuple[ApprovalList, list[str]]:
        """What is to be signed to approve these proposals as they are now, and who has signed just that.

        Args:
            numbers: of the proposals.
            canaries: those of them that go first; none: nothing waits for another.
            conditions: under which all of them are approved.

        Raises:
            NotFound, ProposalTampered, ProposalExpired, WrongState: one of them cannot be decided.
        """
        self._proposals.expire_due()
        with self._database.read() as reading:
            listed = _list_of(reading, _decidable(reading, numbers), canaries, conditions)
            return listed, list(dict.fromkeys(given.who for given in _signatures(reading, listed)))

    def approve(
        self,
        numbers: Sequence[int],
        canaries: Collection[int] = (),
        *,
        who: str,
        origin: str,
        digest: str = "",
        reason: str = "",
        signature: str = "",
        conditions: Conditions = NONE,
    ) -> ListDecision:
        """Approve all of them or none; or take in a signature over the list while others are missing.

        Args:
            numbers: of the proposals.
            canaries: those of them that go first.
            who: the person; with a signature it is its principal instead.
            origin: terminal or address.
            digest: of the list that was looked at, its first 12 or more characters; "": a signature says it.
            reason: their reason, if given.
            signature: over the list, as ssh-keygen writes it; "": none.
            conditions: that must hold at the first statement of each group.

        Raises:
            NotFound, ProposalTampered, ProposalExpired, WrongState: one of them cannot be decided.
            DigestMismatch: the list is another one, or its digest too short.
            NotSigned, SignatureInvalid: the signature is missing or does not count.
        """
        require_name(who, origin)
        self._proposals.expire_due()
        with self._database.write() as transaction:
            rows = _decidable(transaction, numbers)
            listed = _list_of(transaction, rows, canaries, conditions)
            missing = 0
            if signature or self._proposals.rule.signers is not None:
                who, missing = self._take_in(transaction, rows, listed, signature, origin)
            else:
                _check_digest(listed, digest)
            if not missing:
                self._approve_all(transaction, rows, listed, who, origin, reason, conditions)
            after = tuple(load_proposal(transaction, row.id) for row in rows)
            return ListDecision(digest=listed.digest, rows=after, who=who, missing=missing)

    def stop(self, digest: str, *, who: str, origin: str, reason: str) -> StoppedList:
        """Cancel every move of an approved list whose group has not begun; what has begun is completed.

        Args:
            digest: of the list, its first 12 or more characters.
            who: the person.
            origin: terminal or address.
            reason: their reason.

        Raises:
            NotFound: no list, or more than one, was approved by that digest.
        """
        require_name(who, origin)
        with self._database.write() as transaction:
            name, members = _find_approved(transaction, digest)
            found = load_moves(transaction, _MOVES_OF, some=members)
            unbegun = [row for row in found if row.state is MoveState.APPROVED and _is_unbegun(found, row)]
            going_on = [row for row in found if row.state in ACTIONABLE and row not in unbegun]
            self._chain.append(
                transaction, LIST_STOPPED, subject_of_list(name), who=who, origin=origin, reason=reason,
                moves=[row.id for row in unbegun],
            )  # fmt: skip
            done: set[int] = set()
            for row in unbegun:
                if row.id not in done:  # dropped with its group
                    dropped = self._changes.drop(transaction, row, reason, who=who, origin=origin, event="move.stopped")
                    done |= {each.id for each in dropped}
            return StoppedList(digest=name, cancelled=tuple(unbegun), going_on=tuple(going_on))

    # -- waves ---------------------------------------------------------------------------------------------------

    def goes_before(self, proposal: int) -> frozenset[int]:
        """The proposals of earlier waves; they stay the same once a proposal is approved."""
        with self._database.read() as reading:
            return frozenset(goes_before(reading, proposal, read_story(reading, proposal)))

    def went_before(self, numbers: Collection[int]) -> list[WentBefore]:
        """How far those proposals are, and what was measured of them."""
        states: dict[int, list[MoveState]] = {number: [] for number in numbers}
        with self._database.read() as reading:
            for row in reading.some(_STATES_OF, sorted(numbers)):
                with readable(reading.database, "moves", "states of moves"):
                    states[row.proposal_id].append(MoveState(row.state))
            measured = {
                row.proposal_id: outcome_row(reading, row).outcome.verdict
                for row in reading.some(_OUTCOMES_OF, sorted(numbers))
            }
            return [
                WentBefore(
                    proposal=number, database=load_proposal(reading, number).proposal.database, states=states[number],
                    verdict=measured.get(number),
                )
                for number in sorted(numbers)
            ]  # fmt: skip

    # -- parts of one transaction --------------------------------------------------------------------------------

    def _take_in(
        self, transaction: Transaction, rows: Sequence[ProposalRow], listed: ApprovalList, armored: str, origin: str
    ) -> tuple[str, int]:
        """Store a signature that counts; everybody who has signed, and how many people have yet to sign some of it."""
        rule = self._proposals.rule
        signature = check_signature(
            rule, listed, armored, chain.from_iterable(self._signatures(transaction, listed)),
            {row.proposal.asked_by for row in rows} - {""},
            what=f"the list of {len(rows)} proposals", command=f"hotplace approve --all {_numbers(rows)}",
        )  # fmt: skip
        self._store(transaction, listed, signature, origin)
        found = self._signatures(transaction, listed)
        missing = [
            missing_signatures(signatures, member.document.moves, rule.needed, row.proposal.asked_by)
            for signatures, member, row in zip(found, listed.members, rows, strict=True)
        ]
        return ", ".join(dict.fromkeys(each.who for each in chain.from_iterable(found))), max(missing)

    def _signatures(self, reading: Reading, listed: ApprovalList) -> list[list[CheckedSignature]]:
        """The signatures that count, of each member."""
        return [checked(self._proposals.rule, _given_for_member(reading, each))[0] for each in listed.members]

    def _store(self, transaction: Transaction, listed: ApprovalList, signature: Signature, origin: str) -> None:
        """The signature once, with the list that it is over, and a row for each member that names it."""
        common = {"who": signature.who, "origin": origin, "key": signature.key}
        number = self._chain.append(
            transaction, LIST_SIGNED, subject_of_list(listed.digest),
            **common, members=members_facts(listed), signature=signature.armored,
        )  # fmt: skip
        for member in listed.members:
            document = member.document
            self._chain.append(
                transaction, SIGNED, subject_of("proposal", document.proposal), **common, digest=document.digest,
                moves=document.moves, sequence=document.sequence, **{LIST_ROW: number},
            )  # fmt: skip

    def _approve_all(
        self,
        transaction: Transaction,
        rows: Sequence[ProposalRow],
        listed: ApprovalList,
        who: str,
        origin: str,
        reason: str,
        conditions: Conditions,
    ) -> None:
        number = self._chain.append(
            transaction, LIST_APPROVED, subject_of_list(listed.digest),
            who=who, origin=origin, reason=reason, members=members_facts(listed),
        )  # fmt: skip
        for row in rows:
            facts = {**if_any(conditions), LIST_ROW: number}
            self._changes.approve(transaction, row, who, origin, reason, **facts)


def _decidable(reading: Reading, numbers: Sequence[int]) -> list[ProposalRow]:
    """The proposals, each once, that wait for a decision.

    Raises:
        NotFound, ProposalTampered, ProposalExpired, WrongState: one of them does not.
    """
    rows = [load_proposal(reading, number) for number in dict.fromkeys(numbers)]
    for row in rows:
        require_decidable(row)
    return rows


def _list_of(
    reading: Reading, rows: Sequence[ProposalRow], canaries: Collection[int], conditions: Conditions
) -> ApprovalList:
    """The list as it would be signed now.

    Raises:
        WrongState: a canary is none of the proposals, or all of them are.
    """
    numbers = {row.id for row in rows}
    if strangers := sorted(set(canaries) - numbers):
        raise WrongState(f"proposal {strangers[0]} is to go first, but it is not on the list")
    if canaries and numbers <= set(canaries):
        raise WrongState("all proposals of the list are to go first, so none would wait for them")
    later = 2 if canaries else 1
    for row in rows:
        waits = bool(canaries) and row.id not in canaries
        require_held_to(reading, row, conditional=conditions.of_any_hand or waits)
    members = tuple(
        ListedApproval(document=document_of(reading, row, conditions), wave=1 if row.id in canaries else later)
        for row in rows
    )
    return ApprovalList(ledger=hash_of_row(reading, 1) or GENESIS, members=members)


def _given_for_member(reading: Reading, member: ListedApproval) -> list[Given]:
    """The signatures for a member, on this or another list, or alone."""
    document = member.document
    story = require_sound(read_story(reading, document.proposal), document.proposal)
    return list(given_for(reading, document, story))


def _signatures(reading: Reading, listed: ApprovalList) -> list[Given]:
    """The signatures over just this list."""
    return [given for given in _given_for_member(reading, listed.members[0]) if given.signed == listed]


def _check_digest(listed: ApprovalList, digest: str) -> None:
    given = digest.strip().lower()
    if len(given) < DIGEST_SHOWN or not listed.digest.startswith(given):
        raise DigestMismatch(
            f"the list of these proposals does not have the digest {digest!r}",
            advice="One of them was changed since, or they are others; hotplace approve without --digest asks.",
        )


def _find_approved(reading: Reading, digest: str) -> tuple[str, list[int]]:
    """Digest and proposals of the approved list by the beginning of its digest.

    Raises:
        NotFound: there is none, or more than one.
    """
    subject = subject_of_list(digest.strip().lower())
    rows = [] if len(digest.strip()) < DIGEST_SHOWN else reading.rows(_APPROVED_LISTS, words=subject)
    found = [event for event in map(read_event, rows) if isinstance(event, Event)]
    if len({row.subject for row in found}) != 1:
        raise NotFound(
            f"no list was approved by the digest {digest!r}",
            advice=f"Give {DIGEST_SHOWN} or more characters of the digest that hotplace approve printed; "
            "hotplace history --audit --event 'list.*' shows them.",
        )
    return found[0].subject.partition(" ")[2], [each["proposal"] for each in found[0].facts["members"]]


def _is_unbegun(moves: Sequence[MoveRow], row: MoveRow) -> bool:
    """Whether nothing of the group of a move has begun."""
    return not any(each.state in UNFINISHED | IN_PLACE for each in group_of(moves, row))


def _numbers(rows: Sequence[ProposalRow]) -> str:
    return " ".join(str(row.id) for row in rows)
