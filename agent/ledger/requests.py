"""Operator requests for moves: pause, resume, cancel. The daemon polls them and obeys.

The newest request for a move is in force until a newer one replaces it. Its answer says what became of it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import exists, select

from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.links import subject_of
from agent.ledger.errors import NotFound, WrongState
from agent.ledger.grouping import group_of
from agent.ledger.rows import MoveRow, OperatorRequestRow, RequestKind
from agent.ledger.state_changes import StateChanges
from agent.ledger.store.database import Database, Reading, Transaction
from agent.ledger.store.elements import among, given, unindexed
from agent.ledger.store.schema import asks, moves, proposals
from agent.ledger.store.statements import Row
from agent.ledger.stored import MOVES_OF_PROPOSAL, WITH_PROPOSAL, load_move, load_moves
from agent.model.states import ACTIONABLE, UNFINISHED, MoveState, ProposalState
from connectors.base import Clock

_newer = asks.alias("newer")
_IN_FORCE = (
    select(asks)
    .join_from(asks, moves, moves.c.id == asks.c.move_id)
    .join(proposals, WITH_PROPOSAL)
    .where(given(proposals.c.database), proposals.c.state == ProposalState.APPROVED)
    .where(among(unindexed(moves.c.state), ACTIONABLE))
    .where(~exists().where(_newer.c.move_id == asks.c.move_id, _newer.c.id > asks.c.id))
)
_OF_MOVE = select(asks).where(given(asks.c.move_id)).order_by(asks.c.id)
_NEWEST_OF_MOVE = select(asks).where(given(asks.c.move_id)).order_by(asks.c.id.desc()).limit(1)


class Requests:
    """The operator requests for all moves. Every change is one transaction with its audit row."""

    def __init__(self, database: Database, chain: AuditChain, clock: Clock, changes: StateChanges) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock
        self._changes = changes

    def submit(self, move_id: int, kind: RequestKind, *, who: str, origin: str, reason: str) -> OperatorRequestRow:
        """Request something of a move that is approved or has begun; the daemon writes the answer.

        An approved move that has not begun is cancelled at once, with the moves of its group that have not begun.

        Raises:
            NotFound: there is no such move.
            ProposalTampered: its proposal is not what was stored.
            WrongState: the request does not apply to a move in that state.
        """
        if not who.strip() or not origin.strip():
            raise ValueError(f"who asks something of a move names themselves ({who!r}) and from where ({origin!r})")
        with self._database.write() as transaction:
            # In the transaction that stores the request: two operators, or the daemon, may act at the same moment.
            row = load_move(transaction, move_id)
            _check(row, kind, self._newest(transaction, move_id))
            answer = ""
            # At once and not by the daemon: it may be down, and what has not begun must not begin once it comes back.
            if kind is RequestKind.CANCEL and row.state is MoveState.APPROVED:
                because = f"cancelled by {who}{': ' if reason else ''}{reason}"
                answer = self._cancel(transaction, row, because, who=who, origin=origin)
            return self._store(transaction, row, kind, who=who, origin=origin, reason=reason, answer=answer)

    def _store(
        self,
        transaction: Transaction,
        row: MoveRow,
        kind: RequestKind,
        *,
        who: str,
        origin: str,
        reason: str,
        answer: str = "",
    ) -> OperatorRequestRow:
        values: dict[str, Any] = {
            "move_id": row.id, "kind": kind, "who": who, "origin": origin, "reason": reason,
            "at": self._clock.now(), "answer": answer,
        }  # fmt: skip
        number = transaction.insert(asks, values)
        self._chain.append(
            transaction, f"move.asked.{kind}", subject_of("move", row.id),
            who=who, origin=origin, reason=reason, digest=row.digest, state=row.state,
        )  # fmt: skip
        return OperatorRequestRow(id=number, **values)

    def answer(self, request_id: int, sentence: str) -> None:
        """Write what became of a request.

        Raises:
            NotFound: no request has that number.
        """
        with self._database.write() as transaction:
            if not transaction.update(asks, [request_id], {"answer": sentence}):
                raise NotFound(f"there is no request {request_id}")
            self._chain.append(transaction, "ask.answered", subject_of("ask", request_id), answer=sentence)

    def in_force(self, database: str) -> dict[int, OperatorRequestRow]:
        """The newest request for every move of the database that has not ended, by the move's number."""
        with self._database.read() as reading:
            return {row.move_id: _row(row) for row in reading.rows(_IN_FORCE, database=database)}

    def of_move(self, move_id: int) -> list[OperatorRequestRow]:
        """Every request for one move, the oldest first."""
        with self._database.read() as reading:
            return [_row(row) for row in reading.rows(_OF_MOVE, move_id=move_id)]

    def _newest(self, reading: Reading, move_id: int) -> OperatorRequestRow | None:
        row = reading.first(_NEWEST_OF_MOVE, move_id=move_id)
        return None if row is None else _row(row)

    def _is_being_cancelled(self, reading: Reading, row: MoveRow) -> bool:
        """Whether a request to cancel the move waits for its answer: only the newest request is answered."""
        newest = self._newest(reading, row.id)
        return newest is not None and newest.kind is RequestKind.CANCEL and not newest.answer

    def _cancel(self, transaction: Transaction, row: MoveRow, reason: str, *, who: str, origin: str) -> str:
        """Cancel what has not begun, and have what runs of its group cancelled too; the answer says what."""
        others = self._changes.drop(
            transaction, row, reason, who=who, origin=origin, event=f"move.{MoveState.CANCELLED}"
        )[1:]
        group = group_of(load_moves(transaction, MOVES_OF_PROPOSAL, proposal_id=row.proposal_id), row)
        under_way = [each for each in group if each.state in UNFINISHED]
        # What runs cannot be dropped like the rest: only the daemon, in its own process, can stop the statement.
        for each in under_way:
            if not self._is_being_cancelled(transaction, each):
                why = f"move {row.move.ordinal} of its group was {reason}"
                self._store(transaction, each, RequestKind.CANCEL, who=who, origin=origin, reason=why)
        with_it = ", ".join(str(each.move.ordinal) for each in sorted(
            (*others, *under_way), key=lambda each: each.move.ordinal
        ))  # fmt: skip
        return f"it had not begun{f'; with it move {with_it} of its group' if with_it else ''}"


def _check(row: MoveRow, kind: RequestKind, newest: OperatorRequestRow | None) -> None:
    """Refuse a request that does not apply to a move in that state."""
    held = newest is not None and newest.kind is RequestKind.PAUSE
    if row.state not in ACTIONABLE:
        raise WrongState(
            f"move {row.id} is {row.state}; only what is approved or has begun can be asked to {kind}",
            advice="hotplace history shows every move with its state.",
        )
    if kind is RequestKind.PAUSE and held:
        raise WrongState(f"move {row.id} was asked to pause already", advice=f"hotplace resume {row.id} lets it go on.")
    if kind is RequestKind.RESUME and not held and row.state is not MoveState.PAUSED:
        raise WrongState(f"move {row.id} is {row.state} and was not asked to pause", advice="It needs no resume.")


def _row(row: Row) -> OperatorRequestRow:
    return OperatorRequestRow(**{**row._asdict(), "kind": RequestKind(row.kind)})
