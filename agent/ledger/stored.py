"""Reading proposals and their moves back: every stored text is checked against its digest before anybody sees it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, select

from agent.ledger.errors import NotFound, ProposalTampered
from agent.ledger.rows import MoveRow, ProposalRow
from agent.ledger.schema import moves, proposals
from agent.proposals import DIGEST_SHOWN, Proposal, proposal_from_text
from agent.states import TRANSITIONS, MoveState, ProposalState

ENDED = frozenset(state for state, onward in TRANSITIONS.items() if not onward) | {MoveState.KEPT}
STATES_HELD = 64  # parsed proposals kept in memory


def load_proposals(connection: Connection, query: Select[Any]) -> list[ProposalRow]:
    """The proposals that the query (over all columns of the table) finds, in its order.

    Raises:
        ProposalTampered: one of them is not what was stored.
    """
    return [_proposal_row(row) for row in connection.execute(query)]


def load_proposal(connection: Connection, number: int) -> ProposalRow:
    """One proposal.

    Raises:
        NotFound: there is none by that number.
        ProposalTampered: it is not what was stored.
    """
    row = connection.execute(select(proposals).where(proposals.c.id == number)).one_or_none()
    if row is None:
        raise NotFound(f"there is no proposal {number}", advice="hotplace proposals lists those there are.")
    return _proposal_row(row)


def load_moves(connection: Connection, conditions: Iterable[ColumnElement[bool]]) -> list[MoveRow]:
    """The moves that fulfil all conditions (over moves and proposals), in the order of execution.

    Raises:
        ProposalTampered: the proposal of one of them is not what was stored.
    """
    query = select(moves).join(proposals).where(*conditions)
    found = connection.execute(query.order_by(moves.c.proposal_id, moves.c.ordinal)).all()
    wanted = select(moves.c.proposal_id).join(proposals).where(*conditions)
    stored = {row.id: row for row in connection.execute(select(proposals).where(proposals.c.id.in_(wanted)))}
    return [_move_row(row, stored[row.proposal_id]) for row in found]


def load_move(connection: Connection, number: int) -> MoveRow:
    """One move.

    Raises:
        NotFound: there is none by that number.
        ProposalTampered: its proposal is not what was stored.
    """
    found = load_moves(connection, [moves.c.id == number])
    if not found:
        raise NotFound(f"there is no move {number}", advice="hotplace show PROPOSAL lists its moves.")
    return found[0]


def _proposal_row(row: Row[Any]) -> ProposalRow:
    return ProposalRow(
        id=row.id,
        proposal=_verified(row),
        digest=row.digest,
        state=ProposalState(row.state),
        reason=row.reason,
        decided_at=row.decided_at,
        decided_by=row.decided_by,
        decided_from=row.decided_from,
    )


def _move_row(row: Row[Any], stored: Row[Any]) -> MoveRow:
    proposal = _verified(stored)
    return MoveRow(
        id=row.id,
        proposal_id=row.proposal_id,
        database=proposal.database,
        fingerprint=proposal.fingerprint,
        digest=stored.digest,
        move=next(move for move in proposal.moves if move.ordinal == row.ordinal),
        state=MoveState(row.state),
        reason=row.reason,
        attempts=row.attempts,
        updated_at=row.updated_at,
        approved=stored.approved_digest == stored.digest,
        expires_at=proposal.expires_at,
    )


def _verified(row: Row[Any]) -> Proposal:
    """The proposal in a row; its columns only serve queries, the text is what counts."""
    if hashlib.sha256(row.body.encode()).hexdigest() != row.digest:
        raise ProposalTampered(
            f"proposal {row.id} no longer has its digest {row.digest[:DIGEST_SHOWN]}: somebody changed its text",
            advice="Restore the ledger from a backup; hotplace audit verify says what else was changed.",
        )
    return _parsed(row.body)


@lru_cache(maxsize=STATES_HELD)
def _parsed(text: str) -> Proposal:
    return proposal_from_text(text)
