"""Storing proposals, and what people decide about them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from agent.ledger.audit import APPROVED, STORED, AuditChain, subject_of
from agent.ledger.errors import DigestMismatch, NotFound, ProposalExpired, WrongState
from agent.ledger.file.database import Database, in_parts, insert_row, not_by_index
from agent.ledger.file.schema import moves, proposals
from agent.ledger.grouping import group_of
from agent.ledger.rows import MoveRow, ProposalRow
from agent.ledger.stored import ENDED, load_moves, load_proposal, load_proposals
from agent.model.proposals import DIGEST_SHOWN, Proposal, proposal_from_text, proposal_text
from agent.model.states import MoveState, ProposalState, check_transition
from connectors.base import Clock

LIVE = (ProposalState.PROPOSED, ProposalState.APPROVED)
AT_ONCE = 500  # moves in one statement
STRUCK = {MoveState.PROPOSED: MoveState.REJECTED, MoveState.APPROVED: MoveState.CANCELLED}  # what becomes of each


class Proposals:
    """The proposals of all databases. Every change is one transaction with its audit row."""

    def __init__(self, database: Database, chain: AuditChain, clock: Clock) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock

    def store(self, proposal: Proposal) -> int:
        """Store a proposal and return its number; older undecided ones of that database and purpose are superseded.

        What the agent made by itself supersedes nothing that somebody asked for. Where one that would do the same (same
        statements for the same bundles) still waits or is approved and not finished, nothing is stored and its number
        is returned, unless somebody asks for what until now was the agent's own. Moves that it would take back are
        UNDO_PROPOSED with the same transaction.

        Raises:
            IllegalTransition: a move that it would take back was not placed, or is taken back already.
            ValueError: it has no moves, or does not survive being written down.
        """
        text = _faithful_text(proposal)
        same_work = _same_work(proposal)
        with self._database.write() as connection:
            self._expire_due(connection)
            live = proposals.c.database == proposal.database, proposals.c.state.in_(LIVE)
            query = select(proposals).where(*live, proposals.c.same_work == same_work).order_by(proposals.c.id.desc())
            same = list(load_proposals(connection, query))
            known = next((row.id for row in same if _stands_for(row, proposal)), None)
            number = self._insert(connection, proposal, text, same_work) if known is None else known
            if known is None:
                self._supersede(connection, proposal, number, {row.id for row in same})
            self._await_undo(connection, proposal, number)
            return number

    def end(self, number: int, reason: str) -> None:
        """Mark one that still waits for a decision superseded; any other stays as it is.

        Raises:
            NotFound, ProposalTampered: as ``row``.
        """
        with self._database.write() as connection:
            if load_proposal(connection, number).state is ProposalState.PROPOSED:
                self._give_way(connection, number, reason)

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
        query = select(proposals)
        by_time = [] if since is None else [proposals.c.created_at >= since]
        by_time += [] if until is None else [proposals.c.created_at <= until]
        if database is not None:
            query = query.where((not_by_index(proposals.c.database) if by_time else proposals.c.database) == database)
        if states is not None:
            query = query.where(proposals.c.state.in_(tuple(states)))
        with self._database.read() as connection:
            newest = (proposals.c.created_at.desc(), proposals.c.id.desc()) if by_time else (proposals.c.id.desc(),)
            yield from load_proposals(connection, query.where(*by_time).order_by(*newest))

    def row(self, number: int) -> ProposalRow:
        """One proposal.

        Raises:
            NotFound: there is none by that number.
            ProposalTampered: its text no longer has its digest.
        """
        with self._database.read() as connection:
            return load_proposal(connection, number)

    def approve(self, number: int, *, who: str, origin: str, digest: str, reason: str = "") -> ProposalRow:
        """Approve a proposal and all its moves that were not struck.

        Args:
            number: its number.
            who: the person.
            origin: from where: terminal, address.
            digest: of what the person looked at, whole or its first 12 or more characters.
            reason: why, if they say.

        Raises:
            NotFound, ProposalTampered: as ``row``.
            ProposalExpired: too late; it is marked so.
            WrongState: it was decided or superseded before.
            DigestMismatch: it is another digest, or too short.
        """
        _require_name(who, origin)
        self.expire_due()  # in a transaction of its own: it holds although the approval is refused
        with self._database.write() as connection:
            row = load_proposal(connection, number)
            if row.state is ProposalState.EXPIRED:
                raise ProposalExpired(
                    f"proposal {number} expired at {row.proposal.expires_at:%F %T %Z}",
                    advice="The facts behind it are old. The next plan proposes afresh what is still worth it.",
                )
            _require(row, ProposalState.PROPOSED, "approved")
            _check_digest(row, digest)
            changed = self._decide(connection, row, ProposalState.APPROVED, MoveState.APPROVED, who, origin, reason)
            query = update(proposals).where(proposals.c.id == number)
            connection.execute(query.values(approved_digest=row.digest))
            self._chain.append(
                connection, APPROVED, subject_of("proposal", number),
                who=who, origin=origin, digest=row.digest, reason=reason, moves=changed,
            )  # fmt: skip
            return load_proposal(connection, number)

    def reject(self, number: int, *, who: str, origin: str, reason: str) -> ProposalRow:
        """Reject a proposal that waits for a decision.

        Raises:
            NotFound, ProposalTampered: as ``row``.
            WrongState: it does not wait for a decision.
        """
        _require_name(who, origin)
        with self._database.write() as connection:
            row = load_proposal(connection, number)
            _require(row, ProposalState.PROPOSED, "rejected")
            changed = self._decide(connection, row, ProposalState.REJECTED, MoveState.REJECTED, who, origin, reason)
            self._chain.append(
                connection, "proposal.rejected", subject_of("proposal", number),
                who=who, origin=origin, digest=row.digest, reason=reason, moves=changed,
            )  # fmt: skip
            return load_proposal(connection, number)

    def strike(self, number: int, ordinal: int, *, who: str, origin: str, reason: str) -> list[MoveRow]:
        """Drop one move that has not begun, before or after the approval. The digest stays that of the whole.

        What of its group has not begun is dropped with it: the group pays only as a whole.

        Returns:
            What was dropped, the move itself first.

        Raises:
            NotFound: no such proposal or move.
            ProposalTampered: as ``row``.
            WrongState: the move has begun or ended.
        """
        _require_name(who, origin)
        with self._database.write() as connection:
            row = load_proposal(connection, number)
            move = _by_ordinal(connection, row, ordinal)
            if move.state not in STRUCK:
                raise WrongState(
                    f"move {ordinal} of proposal {number} is {move.state} and can no longer be struck",
                    advice="Only a move that has not begun can be dropped.",
                )
            dropped = self.drop(connection, move, reason, who=who, origin=origin, event="move.struck")
            return [_by_ordinal(connection, row, each.move.ordinal) for each in dropped]

    def drop(
        self, connection: Connection, move: MoveRow, reason: str, *, who: str, origin: str, event: str
    ) -> list[MoveRow]:
        """Drop a move that has not begun, and what of its group has not; part of the caller's transaction.

        Returns:
            The rows as they were, the move itself first.
        """
        group = group_of(load_moves(connection, [moves.c.proposal_id == move.proposal_id]), move)
        others = [row for row in group if row.id != move.id and row.state in STRUCK]
        because = f"dropped with move {move.move.ordinal} ({move.move.key}), whose group it belongs to"
        for row in (move, *others):
            why = reason if row.id == move.id else ": ".join(filter(None, (because, reason)))
            to = STRUCK[row.state]
            self._set_moves(connection, [row], to, why)
            self._chain.append(
                connection, event, subject_of("move", row.id),
                who=who, origin=origin, digest=row.digest, reason=why, was=row.state, to=to,
            )  # fmt: skip
        self.finish_if_ended(connection, move.proposal_id)
        return [move, *others]

    def expire_due(self) -> int:
        """Expire proposals that nobody decided in time and approved moves that nobody began; returns how many moves."""
        if not self._overdue_exists():
            return 0  # the usual case takes no write lock
        with self._database.write() as connection:
            return self._expire_due(connection)

    def finish_if_ended(self, connection: Connection, number: int) -> None:
        """Close a proposal whose moves have all ended; part of the caller's transaction."""
        states = set(connection.execute(select(moves.c.state).where(moves.c.proposal_id == number)).scalars())
        state = connection.execute(select(proposals.c.state).where(proposals.c.id == number)).scalar_one()
        if state not in LIVE or not states <= ENDED:
            return
        to = ProposalState.FINISHED if state == ProposalState.APPROVED else ProposalState.REJECTED
        self._set_state(
            connection, number, to, "every move has ended" if to is ProposalState.FINISHED else "all struck"
        )

    # -- parts of one transaction --------------------------------------------------------------------------------

    def _insert(self, connection: Connection, proposal: Proposal, text: str, same_work: str) -> int:
        values = {
            "database": proposal.database, "fingerprint": proposal.fingerprint, "digest": proposal.digest,
            "same_work": same_work, "body": text, "state": ProposalState.PROPOSED, "reason": "",
            "created_at": proposal.created_at, "expires_at": proposal.expires_at,
            "decided_by": "", "decided_from": "",
        }  # fmt: skip
        number = insert_row(connection, proposals, values)
        now = self._clock.now()
        start = {"state": MoveState.PROPOSED, "reason": "", "attempts": 0, "updated_at": now}
        connection.execute(
            insert(moves), [{"proposal_id": number, "ordinal": move.ordinal, **start} for move in proposal.moves]
        )
        self._chain.append(
            connection, STORED, subject_of("proposal", number),
            database=proposal.database, digest=proposal.digest, moves=len(proposal.moves),
        )  # fmt: skip
        return number

    def _await_undo(self, connection: Connection, proposal: Proposal, number: int) -> None:
        """The moves that it would take back wait for what becomes of it: in one transaction, or neither is so."""
        taken_back = [move.undoes for move in proposal.moves if move.undoes is not None]
        if not taken_back:
            return
        reason = f"proposal {number} would take it back"
        for row in load_moves(connection, [moves.c.id.in_(taken_back), moves.c.state != MoveState.UNDO_PROPOSED]):
            self._set_moves(connection, [row], MoveState.UNDO_PROPOSED, reason)
            self._chain.append(
                connection, f"move.{MoveState.UNDO_PROPOSED}", subject_of("move", row.id),
                was=row.state, reason=reason, digest=row.digest,
            )  # fmt: skip

    def _supersede(self, connection: Connection, proposal: Proposal, by: int, same: Collection[int]) -> None:
        """End older undecided ones that the new one answers better, or that would send the ``same`` statements."""
        older = select(proposals).where(
            proposals.c.database == proposal.database, proposals.c.state == ProposalState.PROPOSED, proposals.c.id < by
        )
        for row in list(load_proposals(connection, older.order_by(proposals.c.id))):
            if row.id in same or _answered_again(row.proposal, proposal):
                self._give_way(connection, row.id, f"proposal {by} takes its place")

    def _give_way(self, connection: Connection, number: int, reason: str) -> None:
        pending = load_moves(connection, [moves.c.proposal_id == number, moves.c.state == MoveState.PROPOSED])
        self._set_moves(connection, pending, MoveState.SUPERSEDED, reason)
        self._set_state(connection, number, ProposalState.SUPERSEDED, reason)

    def _overdue_exists(self) -> bool:
        with self._database.read() as connection:
            return connection.execute(self._overdue()).first() is not None

    def _overdue(self) -> Any:  # noqa: ANN401  # SQLAlchemy's own type has six parameters
        """Moves that nobody began, of proposals past their expiry."""
        waiting = moves.c.state.in_((MoveState.PROPOSED, MoveState.APPROVED))
        late = proposals.c.expires_at <= self._clock.now()
        return select(moves.c.id, moves.c.proposal_id).join(proposals).where(waiting, late)

    def _expire_due(self, connection: Connection) -> int:
        overdue = connection.execute(self._overdue()).all()
        for number in sorted({row.proposal_id for row in overdue}):
            ids = [row.id for row in overdue if row.proposal_id == number]
            # Not through load_moves: a proposal that somebody tampered with expires like any other.
            values = {"state": MoveState.EXPIRED, "reason": "not begun in time", "updated_at": self._clock.now()}
            connection.execute(update(moves).where(moves.c.id.in_(ids)).values(values))
            self._chain.append(connection, "moves.expired", subject_of("proposal", number), moves=ids)
            state = connection.execute(select(proposals.c.state).where(proposals.c.id == number)).scalar_one()
            if state == ProposalState.PROPOSED:
                self._set_state(connection, number, ProposalState.EXPIRED, "nobody decided in time")
            self.finish_if_ended(connection, number)
        return len(overdue)

    def _decide(
        self, connection: Connection, row: ProposalRow, to: ProposalState, moves_to: MoveState,
        who: str, origin: str, reason: str,
    ) -> list[int]:  # fmt: skip
        """Set a proposal and its undecided moves; returns the ordinals of the moves that changed."""
        values = {
            "state": to, "reason": reason,
            "decided_at": self._clock.now(), "decided_by": who, "decided_from": origin,
        }  # fmt: skip
        connection.execute(update(proposals).where(proposals.c.id == row.id).values(values))
        pending = load_moves(connection, [moves.c.proposal_id == row.id, moves.c.state == MoveState.PROPOSED])
        self._set_moves(connection, pending, moves_to, reason)
        return [move.move.ordinal for move in pending]

    def _set_moves(self, connection: Connection, rows: list[MoveRow], to: MoveState, reason: str) -> None:
        for row in rows:
            check_transition(row.state, to)
        values = {"state": to, "reason": reason, "updated_at": self._clock.now()}
        for some in in_parts((row.id for row in rows), AT_ONCE):
            connection.execute(update(moves).where(moves.c.id.in_(some)).values(values))

    def _set_state(self, connection: Connection, number: int, to: ProposalState, reason: str) -> None:
        connection.execute(update(proposals).where(proposals.c.id == number).values(state=to, reason=reason))
        self._chain.append(connection, f"proposal.{to}", subject_of("proposal", number), reason=reason)


def _faithful_text(proposal: Proposal) -> str:
    """The text to store, having made sure that it reads back as the same proposal."""
    ordinals = [move.ordinal for move in proposal.moves]
    if not ordinals or len(set(ordinals)) < len(ordinals):
        raise ValueError(f"a proposal needs moves with different ordinals, these are {ordinals}")
    text = proposal_text(proposal)
    if proposal_text(proposal_from_text(text)) != text:
        raise ValueError(f"a proposal for {proposal.database} does not survive being written down")
    return text


def _same_work(proposal: Proposal) -> str:
    """Equal for proposals that would send the same statements for the same bundles, in whatever order.

    Sizes, expected gains and with them the order move a little with every sample; if they counted, a proposal would be
    superseded before anybody could read it to the end. What is stored, shown and approved stays exactly what it was.
    """
    work = [
        proposal.fingerprint,
        [
            [m.key, m.from_space, m.to_space, [*m.route.prologue, *(step.sql for step in m.route.steps)]]
            for m in sorted(proposal.moves, key=lambda move: move.key)
        ],
    ]
    return hashlib.sha256(json.dumps(work, ensure_ascii=False).encode()).hexdigest()


def _stands_for(row: ProposalRow, proposal: Proposal) -> bool:
    """Whether one of the same work makes a new one needless: not where it may vanish and the new one may not."""
    return row.state is ProposalState.APPROVED or bool(row.proposal.asked_by) or not proposal.asked_by


def _answered_again(old: Proposal, new: Proposal) -> bool:
    """Whether the new one takes the old one's place; never, by itself, that of one which somebody asked for."""
    return old.purpose == new.purpose and (bool(new.asked_by) or not old.asked_by)


def _require_name(who: str, origin: str) -> None:
    if not who.strip() or not origin.strip():
        raise ValueError(f"a decision names who ({who!r}) and from where ({origin!r})")


def _require(row: ProposalRow, state: ProposalState, verb: str) -> None:
    if row.state is not state:
        raise WrongState(
            f"proposal {row.id} is {row.state} and cannot be {verb}",
            advice="hotplace proposals shows what waits for a decision; strike drops single approved moves.",
        )


def _check_digest(row: ProposalRow, digest: str) -> None:
    given = digest.strip().lower()
    if len(given) < DIGEST_SHOWN or not row.digest.startswith(given):
        raise DigestMismatch(
            f"proposal {row.id} does not have the digest {digest!r}",
            advice=f"Look at it with hotplace show {row.id}; give at least {DIGEST_SHOWN} characters of its digest.",
        )


def _by_ordinal(connection: Connection, row: ProposalRow, ordinal: int) -> MoveRow:
    found = load_moves(connection, [moves.c.proposal_id == row.id, moves.c.ordinal == ordinal])
    if not found:
        raise NotFound(
            f"proposal {row.id} has no move {ordinal}", advice=f"It has moves 1 to {len(row.proposal.moves)}."
        )
    return found[0]
