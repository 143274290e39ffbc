"""Reading proposals and their moves back: every stored text is checked against its digest before it is used."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, select

from agent.ledger.errors import NotFound, ProposalTampered, readable
from agent.ledger.rows import MoveRow, ProposalRow
from agent.ledger.store.database import Reading
from agent.ledger.store.elements import given, one_of
from agent.ledger.store.schema import moves, proposals
from agent.ledger.store.statements import Row
from agent.model.proposals import DIGEST_SHOWN, Proposal, ProposedMove, proposal_from_text
from agent.model.states import MoveState, ProposalState

PARSED_HELD = 8  # proposals kept in memory, each with its text and all its statements: up to megabytes
READ_AT_ONCE = 50  # proposals
PROPOSALS = select(proposals)
WITH_PROPOSAL = proposals.c.id == moves.c.proposal_id
MOVES = select(moves, proposals.c.approved_digest).join_from(moves, proposals, WITH_PROPOSAL)
MOVE = MOVES.where(given(moves.c.id))
SOME_MOVES = MOVES.where(one_of(moves.c.id))
MOVES_OF_PROPOSAL = MOVES.where(given(moves.c.proposal_id))
_PROPOSAL = select(proposals).where(given(proposals.c.id))
_SOME_PROPOSALS = select(proposals).where(one_of(proposals.c.id))
_MOVES_OF_SOME = MOVES.where(one_of(moves.c.proposal_id)).order_by(moves.c.proposal_id, moves.c.ordinal)


def load_proposals(reading: Reading, query: Select[Any], **values: object) -> Iterator[ProposalRow]:
    """The proposals that a query over ``PROPOSALS`` finds, read as they are asked for.

    Raises:
        ProposalTampered: one of them is not what was stored.
    """
    return (_proposal_row(reading, row) for row in reading.each(query, **values))


def load_proposal(reading: Reading, number: int) -> ProposalRow:
    """One proposal.

    Raises:
        NotFound: there is none by that number.
        ProposalTampered: it is not what was stored.
    """
    row = reading.first(_PROPOSAL, id=number)
    if row is None:
        raise NotFound(f"there is no proposal {number}", advice="hotplace proposals lists those there are.")
    return _proposal_row(reading, row)


def load_moves(reading: Reading, query: Select[Any], **values: object) -> list[MoveRow]:
    """The moves that a query over ``MOVES`` finds, in the order of execution.

    Raises:
        ProposalTampered: the proposal of one of them is not what was stored.
    """
    # Asked to sort, SQLite would rather walk all moves in their order than sort a few.
    return move_rows(reading, sorted(reading.rows(query, **values), key=lambda row: (row.proposal_id, row.ordinal)))


def move_rows(reading: Reading, found: Collection[Row]) -> list[MoveRow]:
    """The moves in rows of ``MOVES``.

    Raises:
        ProposalTampered: the proposal of one of them is not what was stored.
    """
    # Each proposal once for all its moves: verifying and parsing a text of megabytes per move would be quadratic in the
    # plan.
    stored = _stored(reading, dict.fromkeys(row.proposal_id for row in found))
    return [_of_proposal(reading, row, stored) for row in found]


def load_moves_of(reading: Reading, rows: Collection[ProposalRow]) -> dict[int, list[MoveRow]]:
    """The moves of proposals that are read and checked already, in the order of execution, by proposal."""
    known = {row.id: row for row in rows}
    found: dict[int, list[MoveRow]] = {number: [] for number in known}
    by_ordinal = {row.id: {move.ordinal: move for move in row.proposal.moves} for row in rows}
    for row in reading.some(_MOVES_OF_SOME, known, READ_AT_ONCE):
        with readable(reading.database, "moves", id=row.id):
            of, move = known[row.proposal_id], by_ordinal[row.proposal_id][row.ordinal]
            approved = row.approved_digest == of.digest
            found[of.id].append(_move_row(row, of.proposal, move, of.digest, approved=approved))
    return found


def load_move(reading: Reading, number: int) -> MoveRow:
    """One move.

    Raises:
        NotFound: there is none by that number.
        ProposalTampered: its proposal is not what was stored.
    """
    found = load_moves(reading, MOVE, id=number)
    if not found:
        raise NotFound(f"there is no move {number}", advice="hotplace show PROPOSAL lists its moves.")
    return found[0]


def _proposal_row(reading: Reading, row: Row) -> ProposalRow:
    with readable(reading.database, "proposals", id=row.id):
        return ProposalRow(
            id=row.id,
            proposal=_verify(row),
            digest=row.digest,
            state=ProposalState(row.state),
            reason=row.reason,
            decided_at=row.decided_at,
            decided_by=row.decided_by,
            decided_from=row.decided_from,
        )


def _of_proposal(reading: Reading, row: Row, stored: Mapping[int, _Stored]) -> MoveRow:
    with readable(reading.database, "moves", id=row.id):
        return stored[row.proposal_id].move_row(row)


class _Stored:
    """A proposal as its moves need it, checked against its digest once for all of them."""

    def __init__(self, row: Row) -> None:
        self._proposal = _verify(row)
        self._digest, self._approved = row.digest, row.approved_digest == row.digest
        self._by_ordinal = {move.ordinal: move for move in self._proposal.moves}

    def move_row(self, row: Row) -> MoveRow:
        """One of its moves."""
        return _move_row(row, self._proposal, self._by_ordinal[row.ordinal], self._digest, approved=self._approved)


def _move_row(row: Row, proposal: Proposal, move: ProposedMove, digest: str, *, approved: bool) -> MoveRow:
    return MoveRow(
        id=row.id,
        proposal_id=row.proposal_id,
        database=proposal.database,
        fingerprint=proposal.fingerprint,
        digest=digest,
        move=move,
        state=MoveState(row.state),
        reason=row.reason,
        attempts=row.attempts,
        updated_at=row.updated_at,
        approved=approved,
        planned_at=proposal.created_at,
        expires_at=proposal.expires_at,
    )


def _stored(reading: Reading, numbers: Iterable[int]) -> dict[int, _Stored]:
    """The proposals of those numbers, some read at a time: their texts are long."""
    found = {}
    for row in reading.some(_SOME_PROPOSALS, numbers, READ_AT_ONCE):
        with readable(reading.database, "proposals", id=row.id):
            found[row.id] = _Stored(row)
    return found


def _verify(row: Row) -> Proposal:
    """The proposal in a row; its columns only serve queries, the text is what counts."""
    if hashlib.sha256(row.body.encode()).hexdigest() != row.digest:
        raise ProposalTampered(
            f"proposal {row.id} no longer has its digest {row.digest[:DIGEST_SHOWN]}: its text was changed",
            advice="Restore the ledger from a backup; hotplace audit verify says what else was changed.",
        )
    return _parse(row.body)


@lru_cache(maxsize=PARSED_HELD)
def _parse(text: str) -> Proposal:
    return proposal_from_text(text)
