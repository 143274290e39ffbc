"""Stored proposals and the decisions about them: store, list, approve, reject, strike."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, select

from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.judge import SIGNED, in_states, way_back_fault
from agent.ledger.chain.links import STORED, subject_of
from agent.ledger.chain.signed import (
    ApprovalRule,
    Given,
    approval_of,
    check_signature,
    checked,
    conditions_of,
    document_of,
    given_for,
    missing_signatures,
    read_story,
    require_sound,
)
from agent.ledger.errors import DigestMismatch, NotApproved, NotFound, WrongState
from agent.ledger.rows import MoveRow, ProposalRow, digest_of_work, group_of, makes_unnecessary
from agent.ledger.store.database import Database, Reading, Transaction
from agent.ledger.store.schema import QUERIES_HELD, among, given, moves, proposals, unindexed, value_for
from agent.ledger.stored import (
    MOVES_OF_PROPOSAL,
    PROPOSALS,
    SOME_MOVES,
    StateChanges,
    as_they_are,
    load_moves,
    load_proposal,
    load_proposals,
    require_decidable,
    require_held_to,
    require_state,
    stored_states,
)
from agent.model.approvals import NONE, Conditions
from agent.model.proposals import DIGEST_SHOWN, Proposal, proposal_from_text, proposal_text
from agent.model.signed_documents import ApprovalDocument
from agent.model.states import OPEN_PROPOSALS, STATE_WHEN_DROPPED, MoveState, ProposalState
from connectors.kit.contract import Clock

_NUMBERS_OF_MOVES = select(moves.c.id).where(given(moves.c.proposal_id)).order_by(moves.c.ordinal)
_OF_SAME_WORK = (given(proposals.c.database), given(proposals.c.same_work))
_OPEN_OF_SAME_WORK = PROPOSALS.where(*_OF_SAME_WORK, among(proposals.c.state, OPEN_PROPOSALS)).order_by(
    proposals.c.id.desc()
)
_REJECTED_OF_SAME_WORK = (
    select(proposals.c.id)
    .where(*_OF_SAME_WORK, proposals.c.state == ProposalState.REJECTED)
    .where(proposals.c.decided_at > value_for(proposals.c.decided_at, "since"))
    .where(proposals.c.decided_at < value_for(proposals.c.decided_at, "until"))
    .limit(1)
)
_MOVE_BY_ORDINAL = MOVES_OF_PROPOSAL.where(given(moves.c.ordinal))
_TO_BE_TAKEN_BACK = SOME_MOVES.where(moves.c.state != MoveState.UNDO_PROPOSED)


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
            of_it = {"database": proposal.database, "same_work": same_work}
            same = list(load_proposals(transaction, _OPEN_OF_SAME_WORK, **of_it))
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
        """Proposals as they are now, the newest first; with ``since`` and ``until`` those made between these instants.

        What was not decided in time is expired, whether or not an agent has noted it.

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
        wanted = {"database": database, "since": since, "until": until}
        asked = {name: value for name, value in wanted.items() if value is not None}
        query = _query(frozenset(asked), stored_states(states))
        with self._database.read() as reading:
            found = load_proposals(reading, query, **asked)
            yield from as_they_are(reading, found, states, self._clock.now())

    def row(self, number: int) -> ProposalRow:
        """One proposal as it is now, as ``each``.

        Raises:
            NotFound: there is none by that number.
            ProposalTampered: its text no longer has its digest.
        """
        with self._database.read() as reading:
            (row,) = as_they_are(reading, [load_proposal(reading, number)], None, self._clock.now())
            return row

    def conditions(self, number: int) -> Conditions:
        """The conditions under which a proposal was approved."""
        with self._database.read() as reading:
            approval = approval_of(reading, number)
            return NONE if approval is None else conditions_of(approval.facts)

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
            require_held_to(reading, row, conditional=conditions.of_any_hand)
            document = document_of(reading, row, conditions)
            story = require_sound(read_story(reading, number), number)
            return document, list(given_for(reading, document, story))

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
            Spoiled: the chain holds a row about it that cannot be.
        """
        require_name(who, origin)
        self.expire_due()  # in a transaction of its own: it holds although the approval is refused
        with self._database.write() as transaction:
            row = load_proposal(transaction, number)
            require_decidable(row)
            require_held_to(transaction, row, conditional=conditions.of_any_hand)
            _check_digest(row, digest)
            require_sound(read_story(transaction, number), number)
            if signature or self.rule.signers is not None:
                who, missing = self._take_in(transaction, row, signature, origin, conditions)
                if missing:
                    return row
            self._changes.approve(transaction, row, who, origin, reason, **if_any(conditions))
            return load_proposal(transaction, number)

    def approve_way_back(self, proposal: Proposal) -> int:
        """Store what takes moves of an approved group back, approved with the group; returns its number.

        Raises:
            NotApproved: a statement is none that the approval of the moves showed as their way back, their group has
                not ended halfway, or a move that it would take back is not in its target.
        """
        text = _checked_text(proposal)
        with self._database.write() as transaction:
            taken_back = [move.undoes or 0 for move in proposal.moves]
            done = {row.id: row for row in load_moves(transaction, SOME_MOVES, some=taken_back)}
            of = load_proposal(transaction, _only_proposal(done.values()))
            story = require_sound(read_story(transaction, of.id), of.id)
            all_moves = in_states(load_moves(transaction, MOVES_OF_PROPOSAL, proposal_id=of.id), story)
            for move in proposal.moves:
                row_before = done.get(move.undoes or 0)
                group = [] if row_before is None else group_of(all_moves, row_before)
                if fault := way_back_fault(move, (proposal.database, proposal.fingerprint), row_before, group):
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

    def was_rejected(self, proposal: Proposal, within: timedelta) -> bool:
        """Whether a proposal with the same statements for the same bundles was rejected less than ``within`` ago.

        One that is dated ahead counts for as long too: a clock that is set right must not silence it until that day.
        """
        same, now = {"database": proposal.database, "same_work": digest_of_work(proposal)}, self._clock.now()
        with self._database.read() as reading:
            return reading.first(_REJECTED_OF_SAME_WORK, **same, since=now - within, until=now + within) is not None

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
                handed = move.state is MoveState.HANDED_OVER
                raise WrongState(
                    f"move {ordinal} of proposal {number} is {move.state.words} and can no longer be struck",
                    advice="Tell who carries it out; what the catalog does not show in time expires."
                    if handed
                    else "Only a move that has not begun can be dropped.",
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
        number = transaction.insert(proposals, values)
        now = self._clock.now()
        start = {"state": MoveState.PROPOSED, "reason": "", "attempts": 0, "updated_at": now}
        transaction.insert_all(
            moves, [{"proposal_id": number, "ordinal": move.ordinal, **start} for move in proposal.moves]
        )
        self._chain.append(
            transaction, STORED, subject_of("proposal", number),
            database=proposal.database, digest=proposal.digest, moves=len(proposal.moves),
            ids=[row.id for row in transaction.rows(_NUMBERS_OF_MOVES, proposal_id=number)],
        )  # fmt: skip
        return number

    def _await_undo(self, transaction: Transaction, proposal: Proposal, number: int) -> None:
        """Mark the moves that the proposal would take back UNDO_PROPOSED, in the transaction that stores it."""
        taken_back = [move.undoes for move in proposal.moves if move.undoes is not None]
        if not taken_back:
            return
        reason = f"proposal {number} would take it back"
        for row in load_moves(transaction, _TO_BE_TAKEN_BACK, some=taken_back):
            self._changes.set_moves(transaction, [row], MoveState.UNDO_PROPOSED, reason)
            self._chain.append(
                transaction, f"move.{MoveState.UNDO_PROPOSED}", subject_of("move", row.id),
                was=row.state, reason=reason, digest=row.digest,
            )  # fmt: skip

    def _take_in(
        self, transaction: Transaction, row: ProposalRow, armored: str, origin: str, conditions: Conditions
    ) -> tuple[str, int]:
        """Store a signature that counts; returns everybody who has signed, and how many people have yet to sign."""
        document = document_of(transaction, row, conditions)
        before = list(given_for(transaction, document, read_story(transaction, row.id)))
        signature = check_signature(
            self.rule, document, armored, checked(self.rule, before)[0], {row.proposal.asked_by},
            what=subject_of("proposal", row.id), command=f"hotplace approve {row.id}",
        )  # fmt: skip
        self._chain.append(
            transaction, SIGNED, subject_of("proposal", row.id),
            who=signature.who, origin=origin, key=signature.key, digest=row.digest, moves=document.moves,
            sequence=document.sequence, signature=signature.armored,
        )  # fmt: skip
        given = given_for(transaction, document, read_story(transaction, row.id))
        signatures, _ = checked(self.rule, given)
        missing = missing_signatures(signatures, document.moves, self.rule.needed, row.proposal.asked_by)
        return ", ".join(dict.fromkeys(each.who for each in signatures)), missing


@lru_cache(maxsize=QUERIES_HELD)
def _query(asked: frozenset[str], states: frozenset[ProposalState] | None) -> Select[Any]:
    """Proposals, the newest first, by what is asked for of database, since and until, and by their states."""
    by_time = "since" in asked or "until" in asked
    query = PROPOSALS
    if "since" in asked:
        query = query.where(proposals.c.created_at >= value_for(proposals.c.created_at, "since"))
    if "until" in asked:
        query = query.where(proposals.c.created_at <= value_for(proposals.c.created_at, "until"))
    if "database" in asked:
        of_it = unindexed(proposals.c.database) if by_time else proposals.c.database
        query = query.where(of_it == value_for(proposals.c.database, "database"))
    if states is not None:
        query = query.where(among(proposals.c.state, states))
    newest = (proposals.c.created_at.desc(), proposals.c.id.desc()) if by_time else (proposals.c.id.desc(),)
    return query.order_by(*newest)


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
    found = load_moves(reading, _MOVE_BY_ORDINAL, proposal_id=row.id, ordinal=ordinal)
    if not found:
        raise NotFound(
            f"proposal {row.id} has no move {ordinal}", advice=f"It has moves 1 to {len(row.proposal.moves)}."
        )
    return found[0]
