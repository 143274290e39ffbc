"""Stored proposals and the decisions about them: store, list, approve, reject, strike."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agent.keys import ApprovalDocument
from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.links import STORED, subject_of
from agent.ledger.chain.signed import (
    SIGNED,
    ApprovalRule,
    Given,
    check_signature,
    conditions_of,
    document_of,
    given_for,
)
from agent.ledger.chain.ways_back import way_back_fault
from agent.ledger.errors import DigestMismatch, NotApproved, NotFound, WrongState
from agent.ledger.file.reading import Reading, one_of, where
from agent.ledger.rows import MoveRow, ProposalRow
from agent.ledger.same_work import digest_of_work, makes_unnecessary
from agent.ledger.state_changes import StateChanges, require_decidable, require_state
from agent.ledger.store.database import Database
from agent.ledger.stored import load_moves, load_proposal, load_proposals
from agent.model.conditions import NONE, Conditions
from agent.model.proposals import DIGEST_SHOWN, Proposal, proposal_from_text, proposal_text
from agent.model.states import OPEN_PROPOSALS, STATE_WHEN_DROPPED, MoveState, ProposalState
from connectors.base import Clock

if TYPE_CHECKING:
    from agent.ledger.file.transaction import Transaction


class Proposals:
    """The proposals of all databases. Every change is one transaction with its audit row."""

    def __init__(
        self, database: Database, chain: AuditChain, clock: Clock, changes: StateChanges, rule: ApprovalRule
    ) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock
        self._changes = changes
        self.rule = rule

    def store(self, proposal: Proposal) -> int:
        """Store a proposal and return its number; older undecided ones of that database and purpose are superseded.

        A proposal of the agent's own never supersedes one that a command requested. If a proposal with the same
        statements for the same bundles is undecided, or approved and not finished, nothing is stored and its number is
        returned, unless the new one was requested by a command and the stored one was not. Moves that the proposal
        would take back become UNDO_PROPOSED in the same transaction.

        Raises:
            IllegalTransition: a move that it would take back was not placed, or is taken back already.
            ValueError: it has no moves, or does not read back as it was written.
        """
        text = _checked_text(proposal)
        # Not the digest: sizes and gains differ a little in each plan, and each would supersede the one under review.
        same_work = digest_of_work(proposal)
        with self._database.write() as transaction:
            self._changes.expire_due(transaction)
            # First, since an expired proposal of the same work would otherwise stand for the new one and nothing be
            # proposed.
            live = where("database = ?", proposal.database), one_of("state", OPEN_PROPOSALS)
            same_text = where("same_work = ?", same_work)
            same = list(load_proposals(transaction, *live, same_text, then="ORDER BY id DESC"))
            known = next((row.id for row in same if makes_unnecessary(row, proposal)), None)
            number = self._insert(transaction, proposal, text, same_work) if known is None else known
            if known is None:
                self._changes.supersede_older(transaction, proposal, number, {row.id for row in same})
            self._await_undo(transaction, proposal, number)
            return number

    def end(self, number: int, reason: str) -> None:
        """Supersede a proposal that still waits for a decision; any other stays as it is.

        Raises:
            NotFound, ProposalTampered: as ``row``.
        """
        with self._database.write() as transaction:
            if load_proposal(transaction, number).state is ProposalState.PROPOSED:
                self._changes.supersede(transaction, number, reason)

    def rows(
        self,
        *,
        database: str | None = None,
        states: Collection[ProposalState] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[ProposalRow]:
        """Proposals, the newest first; with ``since`` and ``until`` those made at these instants or between them.

        Raises:
            ProposalTampered: one of them is not what was stored.
        """
        return list(self.each(database=database, states=states, since=since, until=until))

    def each(
        self,
        *,
        database: str | None = None,
        states: Collection[ProposalState] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Iterator[ProposalRow]:
        """The same as ``rows``, one after the other in one snapshot: only one of them need be held.

        Raises:
            ProposalTampered: one of them is not what was stored.
        """
        conditions = [] if since is None else [where("created_at >= ?", since)]
        conditions += [] if until is None else [where("created_at <= ?", until)]
        by_time = bool(conditions)
        if database is not None:
            conditions.append(where("+database = ?" if by_time else "database = ?", database))
        if states is not None:
            conditions.append(one_of("state", states))
        with self._database.read() as reading:
            newest = "ORDER BY created_at DESC, id DESC" if by_time else "ORDER BY id DESC"
            yield from load_proposals(reading, *conditions, then=newest)

    def row(self, number: int) -> ProposalRow:
        """One proposal.

        Raises:
            NotFound: there is none by that number.
            ProposalTampered: its text no longer has its digest.
        """
        with self._database.read() as reading:
            return load_proposal(reading, number)

    def conditions(self, number: int) -> Conditions:
        """The conditions under which a proposal was approved."""
        with self._database.read() as reading:
            return conditions_of(reading, number)

    def document(self, number: int, conditions: Conditions = NONE) -> tuple[ApprovalDocument, list[Given]]:
        """What is to be signed to approve a proposal as it is now, and the signatures over just that.

        Raises:
            NotFound, ProposalTampered: as ``row``.
            ProposalExpired, WrongState: as ``approve``.
        """
        self.expire_due()
        with self._database.read() as reading:
            row = load_proposal(reading, number)
            require_decidable(row)
            document = document_of(reading, row, conditions)
            return document, [given for given in given_for(reading, document) if given.document == document]

    def approve(
        self,
        number: int,
        *,
        who: str,
        origin: str,
        digest: str,
        reason: str = "",
        signature: str = "",
        conditions: Conditions = NONE,
    ) -> ProposalRow:
        """Approve a proposal and all its moves that were not struck, or take in a signature while others are missing.

        Args:
            number: its number.
            who: the person; with a signature it is its principal instead.
            origin: terminal or address.
            digest: of what the person looked at, whole or its first 12 or more characters.
            reason: their reason, if given.
            signature: over the document, as ssh-keygen writes it; "": none.
            conditions: that must hold at the first statement of each group.

        Returns:
            The proposal; still PROPOSED where more people have to sign.

        Raises:
            NotFound, ProposalTampered: as ``row``.
            ProposalExpired: too late; it is marked so.
            WrongState: it was decided or superseded before.
            DigestMismatch: it is another digest, or too short.
            NotSigned, SignatureInvalid: a signature is missing or does not count.
        """
        require_name(who, origin)
        self.expire_due()  # in a transaction of its own: it holds although the approval is refused
        with self._database.write() as transaction:
            row = load_proposal(transaction, number)
            require_decidable(row)
            _check_digest(row, digest)
            if signature or self.rule.signers is not None:
                who, missing = self._take_in(transaction, row, signature, origin, conditions)
                if missing:
                    return row
            self._changes.approve(transaction, row, who, origin, reason, **if_any(conditions))
            return load_proposal(transaction, number)

    def approve_way_back(self, proposal: Proposal) -> int:
        """Store what takes moves of an approved group back, approved with the group; returns its number.

        Raises:
            NotApproved: a statement is none that the approval of the moves showed as their way back.
            IllegalTransition: a move that it would take back was not placed, or is taken back already.
        """
        text = _checked_text(proposal)
        with self._database.write() as transaction:
            taken_back = one_of("moves.id", [move.undoes or 0 for move in proposal.moves])
            done = {row.id: row for row in load_moves(transaction, taken_back)}
            of = load_proposal(transaction, _only_proposal(done.values()))
            for move in proposal.moves:
                if fault := way_back_fault(move, done.get(move.undoes or 0)):
                    raise NotApproved(fault, advice="hotplace undo proposes to take a move back.")
            number = self._insert(transaction, proposal, text, digest_of_work(proposal))
            self._await_undo(transaction, proposal, number)
            row = load_proposal(transaction, number)
            origin, reason = f"the approval of proposal {of.id}", "it was shown as the way back of a group"
            self._changes.approve(transaction, row, of.decided_by, origin, reason, covered_by=of.digest)
            return number

    def reject(self, number: int, *, who: str, origin: str, reason: str) -> ProposalRow:
        """Reject a proposal that waits for a decision.

        Raises:
            NotFound, ProposalTampered: as ``row``.
            WrongState: it does not wait for a decision.
        """
        require_name(who, origin)
        with self._database.write() as transaction:
            row = load_proposal(transaction, number)
            require_state(row, ProposalState.PROPOSED, "rejected")
            changed = self._changes.decide(
                transaction, row, ProposalState.REJECTED, MoveState.REJECTED, who, origin, reason
            )
            self._chain.append(
                transaction, "proposal.rejected", subject_of("proposal", number),
                who=who, origin=origin, digest=row.digest, reason=reason, moves=changed,
            )  # fmt: skip
            return load_proposal(transaction, number)

    def was_rejected(self, proposal: Proposal, since: datetime) -> bool:
        """Whether a proposal with the same statements for the same bundles was rejected after that instant."""
        same = where("database = ?", proposal.database), where("same_work = ?", digest_of_work(proposal))
        rejected = where("state = ?", ProposalState.REJECTED), where("decided_at > ?", since)
        with self._database.read() as reading:
            return reading.first("SELECT id FROM proposals", *same, *rejected, then="LIMIT 1") is not None

    def strike(self, number: int, ordinal: int, *, who: str, origin: str, reason: str) -> list[MoveRow]:
        """Drop one move that has not begun, before or after the approval. The digest of the proposal stays the same.

        The moves of its group that have not begun are dropped with it, since a group pays only as a whole.

        Returns:
            What was dropped, the move itself first.

        Raises:
            NotFound: no such proposal or move.
            ProposalTampered: as ``row``.
            WrongState: the move has begun or ended.
        """
        require_name(who, origin)
        with self._database.write() as transaction:
            row = load_proposal(transaction, number)
            move = _by_ordinal(transaction, row, ordinal)
            if move.state not in STATE_WHEN_DROPPED:
                raise WrongState(
                    f"move {ordinal} of proposal {number} is {move.state} and can no longer be struck",
                    advice="Only a move that has not begun can be dropped.",
                )
            dropped = self._changes.drop(transaction, move, reason, who=who, origin=origin, event="move.struck")
            return [_by_ordinal(transaction, row, each.move.ordinal) for each in dropped]

    def expire_due(self) -> int:
        """Expire proposals that were not decided in time and approved moves that were not begun; returns the moves."""
        with self._database.read() as reading:
            if not self._changes.overdue(reading):
                return 0  # the usual case takes no write lock
        with self._database.write() as transaction:
            return self._changes.expire_due(transaction)

    # -- parts of one transaction --------------------------------------------------------------------------------

    def _insert(self, transaction: Transaction, proposal: Proposal, text: str, same_work: str) -> int:
        values = {
            "database": proposal.database, "fingerprint": proposal.fingerprint, "digest": proposal.digest,
            "same_work": same_work, "body": text, "state": ProposalState.PROPOSED, "reason": "",
            "created_at": proposal.created_at, "expires_at": proposal.expires_at,
            "decided_by": "", "decided_from": "",
        }  # fmt: skip
        number = transaction.insert("proposals", values)
        now = self._clock.now()
        start = {"state": MoveState.PROPOSED, "reason": "", "attempts": 0, "updated_at": now}
        transaction.insert_all(
            "moves", [{"proposal_id": number, "ordinal": move.ordinal, **start} for move in proposal.moves]
        )
        self._chain.append(
            transaction, STORED, subject_of("proposal", number),
            database=proposal.database, digest=proposal.digest, moves=len(proposal.moves),
        )  # fmt: skip
        return number

    def _await_undo(self, transaction: Transaction, proposal: Proposal, number: int) -> None:
        """Mark the moves that the proposal would take back UNDO_PROPOSED, in the transaction that stores it."""
        taken_back = [move.undoes for move in proposal.moves if move.undoes is not None]
        if not taken_back:
            return
        reason = f"proposal {number} would take it back"
        others = where("moves.state != ?", MoveState.UNDO_PROPOSED)
        for row in load_moves(transaction, one_of("moves.id", taken_back), others):
            self._changes.set_moves(transaction, [row], MoveState.UNDO_PROPOSED, reason)
            self._chain.append(
                transaction, f"move.{MoveState.UNDO_PROPOSED}", subject_of("move", row.id),
                was=row.state, reason=reason, digest=row.digest,
            )  # fmt: skip

    def _take_in(
        self, transaction: Transaction, row: ProposalRow, armored: str, origin: str, conditions: Conditions
    ) -> tuple[str, int]:
        """Store a signature that counts; returns everybody who has signed, and how many signatures are missing."""
        document = document_of(transaction, row, conditions)
        before = [given for given in given_for(transaction, document) if given.document == document]
        signature = check_signature(
            self.rule, document, armored, {given.key for given in before}, {row.proposal.asked_by},
            what=subject_of("proposal", row.id), command=f"hotplace approve {row.id}",
        )  # fmt: skip
        self._chain.append(
            transaction, SIGNED, subject_of("proposal", row.id),
            who=signature.who, origin=origin, key=signature.key, digest=row.digest, moves=document.moves,
            sequence=document.sequence, signature=signature.armored,
        )  # fmt: skip
        names = dict.fromkeys([*(given.who for given in before), signature.who])
        return ", ".join(names), self.rule.needed - len(before) - 1


def _checked_text(proposal: Proposal) -> str:
    """The text to store, once it was seen to read back as the same proposal."""
    ordinals = [move.ordinal for move in proposal.moves]
    if not ordinals or len(set(ordinals)) < len(ordinals):
        raise ValueError(f"a proposal needs moves with different ordinals, these are {ordinals}")
    # Once it is approved, a text that cannot be read back could neither be verified nor carried out.
    text = proposal_text(proposal)
    if proposal_text(proposal_from_text(text)) != text:
        raise ValueError(f"the text of a proposal for {proposal.database} does not read back as the same proposal")
    return text


def _only_proposal(rows: Collection[MoveRow]) -> int:
    """The number of the proposal that all of those moves are of."""
    numbers = {row.proposal_id for row in rows}
    if len(numbers) != 1:
        raise NotApproved(f"a way back is of the moves of one proposal, not of {len(numbers)}")
    return numbers.pop()


def require_name(who: str, origin: str) -> None:
    """Refuse a decision without a name."""
    if not who.strip() or not origin.strip():
        raise ValueError(f"a decision names who ({who!r}) and from where ({origin!r})")


def if_any(conditions: Conditions) -> dict[str, Any]:
    """Conditions as a fact of the chain, where there are some."""
    return {"conditions": conditions.facts} if conditions.facts else {}


def _check_digest(row: ProposalRow, digest: str) -> None:
    given = digest.strip().lower()
    # A least length, because the first few characters of a digest are soon found for another proposal.
    if len(given) < DIGEST_SHOWN or not row.digest.startswith(given):
        raise DigestMismatch(
            f"proposal {row.id} does not have the digest {digest!r}",
            advice=f"Look at it with hotplace show {row.id}; give at least {DIGEST_SHOWN} characters of its digest.",
        )


def _by_ordinal(reading: Reading, row: ProposalRow, ordinal: int) -> MoveRow:
    found = load_moves(reading, where("moves.proposal_id = ?", row.id), where("moves.ordinal = ?", ordinal))
    if not found:
        raise NotFound(
            f"proposal {row.id} has no move {ordinal}", advice=f"It has moves 1 to {len(row.proposal.moves)}."
        )
    return found[0]
