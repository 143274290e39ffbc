"""State changes of proposals and their moves: dropped, superseded, expired, finished.

Each method is part of a transaction that the caller holds, and appends its rows to the audit chain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import Connection, Row, select, update

from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.links import subject_of
from agent.ledger.file.database import in_parts
from agent.ledger.file.schema import moves, proposals
from agent.ledger.grouping import group_of
from agent.ledger.rows import MoveRow
from agent.ledger.same_work import is_superseded_by
from agent.ledger.stored import load_moves, load_proposals
from agent.model.proposals import Proposal
from agent.model.states import (
    ENDED,
    EXPIRABLE,
    OPEN_PROPOSALS,
    STATE_WHEN_DROPPED,
    MoveState,
    ProposalState,
    check_transition,
)
from connectors.base import Clock

AT_ONCE = 500  # moves in one statement


class StateChanges:
    """Changes the state of proposals and moves within the caller's transaction."""

    def __init__(self, chain: AuditChain, clock: Clock) -> None:
        self._chain = chain
        self._clock = clock

    def drop(
        self, connection: Connection, move: MoveRow, reason: str, *, who: str, origin: str, event: str
    ) -> list[MoveRow]:
        """Drop a move that has not begun, together with the moves of its group that have not begun.

        Returns:
            The rows as they were, the move itself first.
        """
        group = group_of(load_moves(connection, [moves.c.proposal_id == move.proposal_id]), move)
        others = [row for row in group if row.id != move.id and row.state in STATE_WHEN_DROPPED]
        because = f"dropped with move {move.move.ordinal} ({move.move.key}), which is in the same group"
        for row in (move, *others):
            why = reason if row.id == move.id else ": ".join(filter(None, (because, reason)))
            to = STATE_WHEN_DROPPED[row.state]
            self.set_moves(connection, [row], to, why)
            self._chain.append(
                connection, event, subject_of("move", row.id),
                who=who, origin=origin, digest=row.digest, reason=why, was=row.state, to=to,
            )  # fmt: skip
        self.finish_if_ended(connection, move.proposal_id)
        return [move, *others]

    def supersede_older(
        self, connection: Connection, proposal: Proposal, number: int, same_work: Collection[int]
    ) -> None:
        """Supersede older undecided proposals that a new one replaces, or that would send the same statements.

        Args:
            connection: of the transaction.
            proposal: the new one.
            number: its number.
            same_work: numbers of older proposals with the same statements.
        """
        older = select(proposals).where(
            proposals.c.database == proposal.database,
            proposals.c.state == ProposalState.PROPOSED,
            proposals.c.id < number,
        )
        for row in list(load_proposals(connection, older.order_by(proposals.c.id))):
            if row.id in same_work or is_superseded_by(row.proposal, proposal):
                self.supersede(connection, row.id, f"proposal {number} takes its place")

    def supersede(self, connection: Connection, number: int, reason: str) -> None:
        """Supersede a proposal and its undecided moves."""
        pending = load_moves(connection, [moves.c.proposal_id == number, moves.c.state == MoveState.PROPOSED])
        self.set_moves(connection, pending, MoveState.SUPERSEDED, reason)
        self.set_proposal(connection, number, ProposalState.SUPERSEDED, reason)

    def overdue(self, connection: Connection) -> list[Row[Any]]:
        """Number and proposal of each move that has not begun although its proposal has expired."""
        waiting = moves.c.state.in_(tuple(EXPIRABLE))
        late = proposals.c.expires_at <= self._clock.now()
        query = select(moves.c.id, moves.c.proposal_id).join(proposals).where(waiting, late)
        return list(connection.execute(query))

    def expire_due(self, connection: Connection) -> int:
        """Expire proposals that were not decided in time and approved moves that were not begun; returns the moves."""
        overdue = self.overdue(connection)
        for number in sorted({row.proposal_id for row in overdue}):
            ids = [row.id for row in overdue if row.proposal_id == number]
            # Not through load_moves: a proposal whose text was tampered with expires like any other.
            values = {"state": MoveState.EXPIRED, "reason": "not begun in time", "updated_at": self._clock.now()}
            connection.execute(update(moves).where(moves.c.id.in_(ids)).values(values))
            self._chain.append(connection, "moves.expired", subject_of("proposal", number), moves=ids)
            state = connection.execute(select(proposals.c.state).where(proposals.c.id == number)).scalar_one()
            if state == ProposalState.PROPOSED:
                self.set_proposal(connection, number, ProposalState.EXPIRED, "not decided in time")
            self.finish_if_ended(connection, number)
        return len(overdue)

    def finish_if_ended(self, connection: Connection, number: int) -> None:
        """Close a proposal if all its moves have ended."""
        states = set(connection.execute(select(moves.c.state).where(moves.c.proposal_id == number)).scalars())
        state = connection.execute(select(proposals.c.state).where(proposals.c.id == number)).scalar_one()
        if state not in OPEN_PROPOSALS or not states <= ENDED:
            return
        if state == ProposalState.APPROVED:
            self.set_proposal(connection, number, ProposalState.FINISHED, "every move has ended")
        else:
            self.set_proposal(connection, number, ProposalState.REJECTED, "all struck")

    def set_moves(self, connection: Connection, rows: Iterable[MoveRow], to: MoveState, reason: str) -> None:
        """Bring moves into a state; the caller appends to the audit chain.

        Raises:
            IllegalTransition: one of them cannot go there; nothing is changed.
        """
        rows = list(rows)
        for row in rows:
            check_transition(row.state, to)
        values = {"state": to, "reason": reason, "updated_at": self._clock.now()}
        for some in in_parts((row.id for row in rows), AT_ONCE):
            connection.execute(update(moves).where(moves.c.id.in_(some)).values(values))

    def set_proposal(self, connection: Connection, number: int, to: ProposalState, reason: str) -> None:
        """Bring a proposal into a state."""
        connection.execute(update(proposals).where(proposals.c.id == number).values(state=to, reason=reason))
        self._chain.append(connection, f"proposal.{to}", subject_of("proposal", number), reason=reason)
