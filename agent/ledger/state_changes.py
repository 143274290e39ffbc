"""State changes of proposals and their moves: dropped, superseded, expired, finished.

Each method is part of a transaction that the caller holds, and appends its rows to the audit chain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select

from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.links import APPROVED, subject_of
from agent.ledger.errors import ProposalExpired, WrongState
from agent.ledger.grouping import group_of
from agent.ledger.rows import MoveRow, ProposalRow, StepState
from agent.ledger.same_work import is_superseded_by
from agent.ledger.store.database import Reading, Transaction
from agent.ledger.store.elements import among, given, value_for
from agent.ledger.store.schema import moves, placements, proposals, steps
from agent.ledger.store.statements import Row
from agent.ledger.stored import MOVES_OF_PROPOSAL, PROPOSALS, WITH_PROPOSAL, load_move, load_moves, load_proposals
from agent.model.proposals import Proposal
from agent.model.states import (
    ENDED,
    EXPIRABLE,
    HOME_CHANGES,
    OPEN_PROPOSALS,
    STATE_WHEN_DROPPED,
    MoveState,
    ProposalState,
    check_transition,
)
from connectors.base import Clock

_UNDECIDED = MOVES_OF_PROPOSAL.where(moves.c.state == MoveState.PROPOSED)
_OLDER = PROPOSALS.where(
    given(proposals.c.database), proposals.c.state == ProposalState.PROPOSED,
    proposals.c.id < value_for(proposals.c.id, "before"),
).order_by(proposals.c.id)  # fmt: skip
_OVERDUE = (
    select(moves.c.id, moves.c.proposal_id)
    .join_from(moves, proposals, WITH_PROPOSAL)
    .where(among(moves.c.state, EXPIRABLE), proposals.c.expires_at <= value_for(proposals.c.expires_at, "now"))
)
_STATE = select(proposals.c.state).where(given(proposals.c.id))
_STATES_OF_MOVES = select(moves.c.state).where(given(moves.c.proposal_id))


class StateChanges:
    """Changes the state of proposals and moves within the caller's transaction."""

    def __init__(self, chain: AuditChain, clock: Clock) -> None:
        self._chain = chain
        self._clock = clock

    def decide(
        self, transaction: Transaction, row: ProposalRow, to: ProposalState, moves_to: MoveState,
        who: str, origin: str, reason: str,
    ) -> list[int]:  # fmt: skip
        """Set a proposal and its undecided moves; returns the ordinals of the moves that changed."""
        values = {
            "state": to, "reason": reason,
            "decided_at": self._clock.now(), "decided_by": who, "decided_from": origin,
        }  # fmt: skip
        transaction.update(proposals, [row.id], values)
        pending = load_moves(transaction, _UNDECIDED, proposal_id=row.id)
        self.set_moves(transaction, pending, moves_to, reason)
        return [move.move.ordinal for move in pending]

    def approve(
        self, transaction: Transaction, row: ProposalRow, who: str, origin: str, reason: str, /,
        **facts: Any,  # noqa: ANN401  # JSON values
    ) -> None:  # fmt: skip
        """Approve a proposal with all its moves that wait for a decision; the chain holds the facts with its digest."""
        changed = self.decide(transaction, row, ProposalState.APPROVED, MoveState.APPROVED, who, origin, reason)
        transaction.update(proposals, [row.id], {"approved_digest": row.digest})
        self._chain.append(
            transaction, APPROVED, subject_of("proposal", row.id),
            who=who, origin=origin, digest=row.digest, reason=reason, moves=changed, **facts,
        )  # fmt: skip

    def bring(self, transaction: Transaction, row: MoveRow, to: MoveState, reason: str) -> MoveRow:
        """Bring a move into a state that the caller has checked; a proposal is finished with the last of its moves."""
        now, started = self._clock.now(), row.state is MoveState.PRECHECK and to is MoveState.RUNNING
        values = {"state": to, "reason": reason, "updated_at": now, "attempts": row.attempts + started}
        transaction.update(moves, [row.id], values)
        if to in HOME_CHANGES:
            _note_arrival(transaction, row, now)
        self._chain.append(
            transaction, f"move.{to}", subject_of("move", row.id), was=row.state, reason=reason, digest=row.digest
        )
        self.finish_if_ended(transaction, row.proposal_id)
        return load_move(transaction, row.id)

    def end_step(self, transaction: Transaction, step: int, state: StepState, detail: str, at: datetime) -> int:
        """Store the result of a statement; returns the number of the audit row that holds it."""
        transaction.update(steps, [step], {"state": state, "detail": detail, "ended_at": at})
        return self._chain.append(transaction, f"step.{state}", subject_of("step", step), detail=detail)

    def drop(
        self, transaction: Transaction, move: MoveRow, reason: str, *, who: str, origin: str, event: str
    ) -> list[MoveRow]:
        """Drop a move that has not begun, together with the moves of its group that have not begun.

        Returns:
            The rows as they were, the move itself first.
        """
        group = group_of(load_moves(transaction, MOVES_OF_PROPOSAL, proposal_id=move.proposal_id), move)
        others = [row for row in group if row.id != move.id and row.state in STATE_WHEN_DROPPED]
        because = f"dropped with move {move.move.ordinal} ({move.move.key}), which is in the same group"
        for row in (move, *others):
            why = reason if row.id == move.id else ": ".join(filter(None, (because, reason)))
            to = STATE_WHEN_DROPPED[row.state]
            self.set_moves(transaction, [row], to, why)
            self._chain.append(
                transaction, event, subject_of("move", row.id),
                who=who, origin=origin, digest=row.digest, reason=why, was=row.state, to=to,
            )  # fmt: skip
        self.finish_if_ended(transaction, move.proposal_id)
        return [move, *others]

    def supersede_older(
        self, transaction: Transaction, proposal: Proposal, number: int, same_work: Collection[int]
    ) -> None:
        """Supersede older undecided proposals that a new one replaces, or that would send the same statements.

        Args:
            transaction: the new one is stored in it.
            proposal: the new one.
            number: its number.
            same_work: numbers of older proposals with the same statements.
        """
        for row in list(load_proposals(transaction, _OLDER, database=proposal.database, before=number)):
            if row.id in same_work or is_superseded_by(row.proposal, proposal):
                self.supersede(transaction, row.id, f"proposal {number} takes its place")

    def supersede(self, transaction: Transaction, number: int, reason: str) -> None:
        """Supersede a proposal and its undecided moves."""
        pending = load_moves(transaction, _UNDECIDED, proposal_id=number)
        self.set_moves(transaction, pending, MoveState.SUPERSEDED, reason)
        self.set_proposal(transaction, number, ProposalState.SUPERSEDED, reason)

    def overdue(self, reading: Reading) -> Sequence[Row]:
        """Number and proposal of each move that has not begun although its proposal has expired."""
        return reading.rows(_OVERDUE, now=self._clock.now())

    def expire_due(self, transaction: Transaction) -> int:
        """Expire proposals that were not decided in time and approved moves that were not begun; returns the moves."""
        overdue = self.overdue(transaction)
        for number in sorted({row.proposal_id for row in overdue}):
            ids = [row.id for row in overdue if row.proposal_id == number]
            # Not through load_moves: a proposal whose text was tampered with expires like any other.
            values = {"state": MoveState.EXPIRED, "reason": "not begun in time", "updated_at": self._clock.now()}
            transaction.update(moves, ids, values)
            self._chain.append(transaction, "moves.expired", subject_of("proposal", number), moves=ids)
            state = transaction.scalar(_STATE, id=number)
            if state == ProposalState.PROPOSED:
                self.set_proposal(transaction, number, ProposalState.EXPIRED, "not decided in time")
            self.finish_if_ended(transaction, number)
        return len(overdue)

    def finish_if_ended(self, transaction: Transaction, number: int) -> None:
        """Close a proposal if all its moves have ended."""
        states = {row.state for row in transaction.rows(_STATES_OF_MOVES, proposal_id=number)}
        state = transaction.scalar(_STATE, id=number)
        if state not in OPEN_PROPOSALS or not states <= ENDED:
            return
        if state == ProposalState.APPROVED:
            self.set_proposal(transaction, number, ProposalState.FINISHED, "every move has ended")
        else:
            self.set_proposal(transaction, number, ProposalState.REJECTED, "all struck")

    def set_moves(self, transaction: Transaction, rows: Iterable[MoveRow], to: MoveState, reason: str) -> None:
        """Bring moves into a state; the caller appends to the audit chain.

        Raises:
            IllegalTransition: one of them cannot go there; nothing is changed.
        """
        rows = list(rows)
        for row in rows:
            check_transition(row.state, to)
        values = {"state": to, "reason": reason, "updated_at": self._clock.now()}
        transaction.update(moves, [row.id for row in rows], values)

    def set_proposal(self, transaction: Transaction, number: int, to: ProposalState, reason: str) -> None:
        """Bring a proposal into a state."""
        transaction.update(proposals, [number], {"state": to, "reason": reason})
        self._chain.append(transaction, f"proposal.{to}", subject_of("proposal", number), reason=reason)


def require_decidable(row: ProposalRow) -> None:
    """Refuse to approve what does not wait for a decision.

    Raises:
        ProposalExpired: it was not decided in time.
        WrongState: it was decided, or superseded.
    """
    if row.state is ProposalState.EXPIRED:
        raise ProposalExpired(
            f"proposal {row.id} expired at {row.proposal.expires_at:%F %T %Z}",
            advice="Its figures are too old. The next plan proposes again what is still worth moving.",
        )
    require_state(row, ProposalState.PROPOSED, "approved")


def require_state(row: ProposalRow, state: ProposalState, verb: str) -> None:
    """Refuse what may be done in one state only.

    Raises:
        WrongState: it is in another one.
    """
    if row.state is not state:
        raise WrongState(
            f"proposal {row.id} is {row.state} and cannot be {verb}",
            advice="hotplace proposals shows what waits for a decision; strike drops single approved moves.",
        )


def _note_arrival(transaction: Transaction, row: MoveRow, now: datetime) -> None:
    keys = dict.fromkeys((row.move.key, *row.move.route.bundle.unit_keys))
    transaction.put(placements, [{"database": row.database, "unit_key": key, "placed_at": now} for key in keys])
