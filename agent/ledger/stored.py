"""Reading proposals and their moves back, and the changes of their states.

Reading proposals and their moves back: every stored text is checked against its digest before it is used.

State changes of proposals and their moves: dropped, superseded, expired, finished.

Each method is part of a transaction that the caller holds, and appends its rows to the audit chain.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, Text, bindparam, select

from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.links import APPROVED, subject_of
from agent.ledger.errors import LedgerCorrupt, NotFound, ProposalExpired, ProposalTampered, WrongState, readable
from agent.ledger.rows import (
    NOT_BEGUN_IN_TIME,
    NOT_DECIDED,
    MoveRow,
    ProposalRow,
    StepState,
    group_of,
    is_superseded_by,
)
from agent.ledger.store.database import Reading, Row, Sight, Transaction
from agent.ledger.store.schema import (
    among,
    given,
    holds_text,
    moves,
    one_of,
    placements,
    proposals,
    steps,
    unindexed,
    value_for,
)
from agent.model.proposals import DIGEST_SHOWN, Proposal, ProposedMove, proposal_from_text
from agent.model.states import (
    CARRIED_OUT,
    ENDED,
    EXPIRABLE,
    HOME_CHANGES,
    NOT_CARRIED_OUT,
    OPEN_PROPOSALS,
    STATE_WHEN_DROPPED,
    MoveState,
    ProposalState,
    check_transition,
)
from connectors.kit.contract import Clock

PARSED_HELD = 8  # proposals kept in memory, each with its text and all its statements: up to megabytes
READ_AT_ONCE = 50  # proposals
PROPOSALS = select(proposals)
WITH_PROPOSAL = proposals.c.id == moves.c.proposal_id
MOVES = select(moves, proposals.c.approved_digest).join_from(moves, proposals, WITH_PROPOSAL)
MOVE = MOVES.where(given(moves.c.id))
SOME_MOVES = MOVES.where(one_of(moves.c.id))
MOVES_OF_PROPOSAL = MOVES.where(given(moves.c.proposal_id))
# What time makes of it without an agent -> the state in which it is stored.
BEFORE_TIME = {
    ProposalState.EXPIRED: {ProposalState.PROPOSED},
    ProposalState.FINISHED: {ProposalState.APPROVED},
}
_PROPOSAL = select(proposals).where(given(proposals.c.id))
_SOME_PROPOSALS = select(proposals).where(one_of(proposals.c.id))
_MOVES_OF_SOME = MOVES.where(one_of(moves.c.proposal_id)).order_by(moves.c.proposal_id, moves.c.ordinal)


def load_proposals(reading: Reading, query: Select[Any], **values: object) -> Iterator[ProposalRow]:
    """The proposals that a query over ``PROPOSALS`` finds, read as they are asked for.

    Raises:
        ProposalTampered: one of them is not what was stored.
    """
    return (_proposal_row(reading, row) for row in reading.each(query, **values))


def stored_states(states: Collection[ProposalState] | None) -> frozenset[ProposalState] | None:
    """The stored states of proposals that may be in one of these states now; None: of every one."""
    return None if states is None else frozenset(states).union(*(BEFORE_TIME.get(state, ()) for state in states))


def as_they_are(
    reading: Reading, rows: Iterable[ProposalRow], states: Collection[ProposalState] | None, now: datetime
) -> Iterator[ProposalRow]:
    """Proposals as they are at an instant, of those the ones in some states.

    An agent notes what time has ended with its next sample. Until then, and for ever where none runs, the stored state
    is an older one, which no reader may be shown: what was not decided in time is expired, and finished if none of its
    approved moves was begun in time. A move by hand may still be found in the catalog, so it keeps its proposal open.
    """
    for stored in rows:
        row = stored.seen_at(now)
        if row.state is ProposalState.APPROVED and row.proposal.expires_at <= now:
            ends = {state for (state,) in reading.rows(_STATES_OF_MOVES, proposal_id=row.id)}
            if ends <= ENDED | {MoveState.APPROVED}:
                row = replace(row, state=ProposalState.FINISHED, reason=ALL_ENDED)
        if states is None or row.state in states:
            yield row


def not_there(reading: Reading, what: str, advice: str) -> NotFound:
    """That there is no such thing, or none that the login may see, where the ledger is divided among teams."""
    whole = reading.database.sight(reading) is Sight.ALL
    return NotFound(f"there is no {what}{'' if whole else ' that this login may see'}", advice=advice)


def load_proposal(reading: Reading, number: int) -> ProposalRow:
    """One proposal.

    Raises:
        NotFound: there is none by that number.
        ProposalTampered: it is not what was stored.
    """
    row = reading.first(_PROPOSAL, id=number)
    if row is None:
        raise not_there(reading, f"proposal {number}", "hotplace proposals lists those there are.")
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
    stored = _read_stored(reading, dict.fromkeys(row.proposal_id for row in found))
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


def load_taking_back(reading: Reading, row: MoveRow) -> list[MoveRow]:
    """The moves of later proposals that take a move back, or would.

    Raises:
        ProposalTampered: one of those proposals is not what was stored.
    """
    words = f'"undoes":{row.id},'  # in canonical text; another key follows
    # The text narrows the search, the parsed move decides: the same characters may stand inside a name.
    later = load_moves(reading, _LATER_THAT_HOLD, after=row.proposal_id, database=row.database, words=words)
    return [each for each in later if each.move.undoes == row.id]


def load_move(reading: Reading, number: int) -> MoveRow:
    """One move.

    Raises:
        NotFound: there is none by that number.
        ProposalTampered: its proposal is not what was stored.
    """
    found = load_moves(reading, MOVE, id=number)
    if not found:
        raise not_there(reading, f"move {number}", "hotplace show PROPOSAL lists its moves.")
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


def _read_stored(reading: Reading, numbers: Iterable[int]) -> dict[int, _Stored]:
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


_UNDECIDED = MOVES_OF_PROPOSAL.where(moves.c.state == MoveState.PROPOSED)
_OLDER = PROPOSALS.where(
    given(proposals.c.database), proposals.c.state == ProposalState.PROPOSED,
    proposals.c.id < value_for(proposals.c.id, "before"),
).order_by(proposals.c.id)  # fmt: skip
_OVERDUE = (
    select(moves.c.id, moves.c.proposal_id, moves.c.state)
    .join_from(moves, proposals, WITH_PROPOSAL)
    .where(among(moves.c.state, EXPIRABLE), proposals.c.expires_at <= value_for(proposals.c.expires_at, "now"))
)
_AWAITING_UNDO = SOME_MOVES.where(moves.c.state == MoveState.UNDO_PROPOSED)
_LATER_THAT_HOLD = MOVES.where(
    proposals.c.id > value_for(proposals.c.id, "after"),
    unindexed(proposals.c.database) == value_for(proposals.c.database, "database"),
    holds_text(proposals.c.body, bindparam("words", type_=Text)),
)
_ENDS_AN_UNDO = NOT_CARRIED_OUT | {MoveState.PLACED}  # entering one of these states
_STATE = select(proposals.c.state).where(given(proposals.c.id))
_STATES_OF_MOVES = select(moves.c.state).where(given(moves.c.proposal_id))


FOR_A_PERSON = "a person carries it out; hotplace looks at the catalog until its approval expires"
ALL_ENDED = "every move has ended"
NOT_SEEN = "the catalog did not show it in its target in time"


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
        by_hand = {move.ordinal for move in row.proposal.by_hand}
        # With the approval and not by the daemon: what a person carries out is never for a moment the executor's.
        for move in load_moves(transaction, MOVES_OF_PROPOSAL, proposal_id=row.id) if by_hand else ():
            if move.state is MoveState.APPROVED and move.move.ordinal in by_hand:
                self.set_state(transaction, move, MoveState.HANDED_OVER, FOR_A_PERSON)

    def set_state(self, transaction: Transaction, row: MoveRow, to: MoveState, reason: str) -> MoveRow:
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
        if to in _ENDS_AN_UNDO:
            self.settle_undone(transaction, [row.move.undoes])
        return load_move(transaction, row.id)

    def settle_undone(self, transaction: Transaction, undone: Iterable[int | None]) -> None:
        """Let moves whose undo was proposed know what became of it, if that has ended.

        In the transaction that ends the undo, so that no reader in between is told that it still waits. Where a
        proposal was changed by hand, its text says nothing of which move it takes back: such a move is left as it is.
        """
        numbers = [number for number in undone if number is not None]
        with suppress(ProposalTampered, LedgerCorrupt):
            for row in load_moves(transaction, _AWAITING_UNDO, some=numbers) if numbers else ():
                if (end := end_of_undo(load_taking_back(transaction, row))) is not None:
                    self.set_state(transaction, row, *end)

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
        """Number, proposal and state of each move that has not begun although its proposal has expired."""
        return reading.rows(_OVERDUE, now=self._clock.now())

    def expire_due(self, transaction: Transaction) -> int:
        """Expire proposals that were not decided in time and approved moves that were not begun; returns the moves."""
        overdue = self.overdue(transaction)
        for number in sorted({row.proposal_id for row in overdue}):
            # Not through load_moves: a proposal whose text was tampered with expires like any other.
            late = [(row.id, row.state == MoveState.HANDED_OVER) for row in overdue if row.proposal_id == number]
            ids = [move for move, _ in late]
            for by_hand, why in ((False, NOT_BEGUN_IN_TIME), (True, NOT_SEEN)):
                of_it = [move for move, handed in late if handed is by_hand]
                if of_it:
                    values = {"state": MoveState.EXPIRED, "reason": why, "updated_at": self._clock.now()}
                    transaction.update(moves, of_it, values)
            self._chain.append(transaction, "moves.expired", subject_of("proposal", number), moves=ids)
            state = transaction.scalar(_STATE, id=number)
            if state == ProposalState.PROPOSED:
                self.set_proposal(transaction, number, ProposalState.EXPIRED, NOT_DECIDED)
            self.finish_if_ended(transaction, number)
            with suppress(ProposalTampered, LedgerCorrupt):
                late_moves = load_moves(transaction, SOME_MOVES, some=ids)
                self.settle_undone(transaction, [row.move.undoes for row in late_moves])
        return len(overdue)

    def finish_if_ended(self, transaction: Transaction, number: int) -> None:
        """Close a proposal if all its moves have ended."""
        states = {row.state for row in transaction.rows(_STATES_OF_MOVES, proposal_id=number)}
        state = transaction.scalar(_STATE, id=number)
        if state not in OPEN_PROPOSALS or not states <= ENDED:
            return
        if state == ProposalState.APPROVED:
            self.set_proposal(transaction, number, ProposalState.FINISHED, ALL_ENDED)
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
        if to in _ENDS_AN_UNDO:
            self.settle_undone(transaction, [row.move.undoes for row in rows])

    def set_proposal(self, transaction: Transaction, number: int, to: ProposalState, reason: str) -> None:
        """Bring a proposal into a state."""
        transaction.update(proposals, [number], {"state": to, "reason": reason})
        self._chain.append(transaction, f"proposal.{to}", subject_of("proposal", number), reason=reason)


def end_of_undo(undos: Iterable[MoveRow]) -> tuple[MoveState, str] | None:
    """What becomes of a move whose undo was proposed, and why; None while that undo may still be carried out.

    Args:
        undos: every move that was to take it back.
    """
    # Only the newest decides: an earlier undo may have been rejected before someone proposed it again.
    last = max(undos, key=lambda undo: undo.id, default=None)
    if last is None:
        return MoveState.KEPT, "not taken back, there is no such proposal"
    if last.state in CARRIED_OUT:
        return MoveState.UNDONE, f"move {last.id} took it back"
    if last.state in NOT_CARRIED_OUT:
        return MoveState.KEPT, f"not taken back, it is {last.state}: {last.reason}"
    return None


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


def require_held_to(reading: Reading, row: ProposalRow, *, conditional: bool) -> None:
    """Refuse conditions, or a turn behind others, for what a person carries out: hotplace could keep neither.

    Raises:
        WrongState: a person carries a move of it out, which was not struck.
    """
    if not conditional or not row.proposal.by_hand:
        return
    if any(move.move.by_hand for move in load_moves(reading, _UNDECIDED, proposal_id=row.id)):
        raise WrongState(
            f"proposal {row.id} has moves by hand, which hotplace can hold to no condition but --stall, and no turn",
            advice="Approve it without, and agree on the hour with the person who carries it out.",
        )


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
