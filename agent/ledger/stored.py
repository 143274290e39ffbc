"""Reading proposals and their moves back: every stored text is checked against its digest before it is used."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from agent.ledger.errors import NotFound, ProposalTampered
from agent.ledger.file.reading import Condition, Reading, Row, bounded, in_parts, one_of, where
from agent.ledger.rows import MoveRow, ProposalRow
from agent.model.proposals import DIGEST_SHOWN, Proposal, ProposedMove, proposal_from_text
from agent.model.states import MoveState, ProposalState

PARSED_HELD = 8  # proposals kept in memory, each with its text and all its statements: up to megabytes
READ_AT_ONCE = 50  # proposals
_PROPOSALS = "SELECT * FROM proposals"
_MOVES = "SELECT moves.*, proposals.approved_digest FROM moves JOIN proposals ON proposals.id = moves.proposal_id"


def load_proposals(reading: Reading, *conditions: Condition, then: str) -> Iterator[ProposalRow]:
    """The proposals that fulfil all conditions, in the order that ``then`` says, read as they are asked for.

    Raises:
        ProposalTampered: one of them is not what was stored.
    """
    return map(_proposal_row, reading.rows(_PROPOSALS, *conditions, then=then, in_pieces=True))


def load_proposal(reading: Reading, number: int) -> ProposalRow:
    """One proposal.

    Raises:
        NotFound: there is none by that number.
        ProposalTampered: it is not what was stored.
    """
    row = reading.first(_PROPOSALS, where("id = ?", number))
    if row is None:
        raise NotFound(f"there is no proposal {number}", advice="hotplace proposals lists those there are.")
    return _proposal_row(row)


def load_moves(reading: Reading, *conditions: Condition, newest: int | None = None) -> list[MoveRow]:
    """The moves that fulfil all conditions (over moves and proposals), in the order of execution.

    Args:
        reading: a snapshot or a transaction.
        conditions: over moves and proposals.
        newest: only so many, those first whose state changed last.

    Raises:
        ProposalTampered: the proposal of one of them is not what was stored.
    """
    if newest is None:  # asked to sort, SQLite would rather walk all moves in their order than sort a few
        found = sorted(reading.rows(_MOVES, *conditions), key=lambda row: (row.proposal_id, row.ordinal))
    else:
        order = f"ORDER BY moves.updated_at DESC, moves.id DESC LIMIT {bounded(newest):d}"
        found = list(reading.rows(_MOVES, *conditions, then=order))
    # Each proposal once for all its moves: verifying and parsing a text of megabytes per move would be quadratic in the
    # plan.
    stored = _stored(reading, dict.fromkeys(row.proposal_id for row in found))
    return [stored[row.proposal_id].move_row(row) for row in found]


def load_moves_of(reading: Reading, rows: Collection[ProposalRow]) -> dict[int, list[MoveRow]]:
    """The moves of proposals that are read and checked already, in the order of execution, by proposal."""
    known = {row.id: row for row in rows}
    found: dict[int, list[MoveRow]] = {number: [] for number in known}
    for some in in_parts(known, READ_AT_ONCE):
        by_ordinal = {number: {move.ordinal: move for move in known[number].proposal.moves} for number in some}
        order = "ORDER BY moves.proposal_id, moves.ordinal"
        for row in reading.rows(_MOVES, one_of("moves.proposal_id", some), then=order):
            of, move = known[row.proposal_id], by_ordinal[row.proposal_id][row.ordinal]
            found[of.id].append(_move_row(row, of.proposal, move, of.digest, approved=row.approved_digest == of.digest))
    return found


def load_move(reading: Reading, number: int) -> MoveRow:
    """One move.

    Raises:
        NotFound: there is none by that number.
        ProposalTampered: its proposal is not what was stored.
    """
    found = load_moves(reading, where("moves.id = ?", number))
    if not found:
        raise NotFound(f"there is no move {number}", advice="hotplace show PROPOSAL lists its moves.")
    return found[0]


def _proposal_row(row: Row) -> ProposalRow:
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
    return {
        row.id: _Stored(row)
        for some in in_parts(numbers, READ_AT_ONCE)
        for row in reading.rows(_PROPOSALS, one_of("id", some))
    }


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
