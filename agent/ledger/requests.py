"""What people ask and set by hand: requests for moves, stops, pins, and spaces closed to arrivals.

``Requests`` holds requests to pause, resume or cancel a move. The daemon polls them, obeys, and writes the answer. The
newest request for a move is in force until a newer one replaces it; which one that is, the audit chain says.

``Stops`` keep every agent of the ledger from its next statement, also while no agent runs. They are rows of the audit
chain and nothing else: the newest one about a database, and about all, says whether a stop is in force.

``Pins`` override the policy until they end.

``Arrivals`` closes spaces. A space is emptied before it is removed; once it is closed, nothing may be brought back.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import delete, or_, select

from agent.ledger.chain.audit import ASKED, AuditChain
from agent.ledger.chain.events import Unreadable, read_event
from agent.ledger.chain.links import AUDIT, LIFTED, STOPPED, subject_of
from agent.ledger.errors import NotFound, Refused, Stopped, WrongState, readable
from agent.ledger.rows import (
    EVERY,
    UNSTORED,
    ClosedSpaceRow,
    MoveRow,
    OperatorRequestRow,
    PinRow,
    RequestKind,
    StopRow,
    group_of,
)
from agent.ledger.store.database import Database, Reading, Row, Transaction
from agent.ledger.store.schema import (
    among,
    asks,
    audit,
    begins_with,
    closed_spaces,
    given,
    moves,
    one_of,
    pins,
    proposals,
    unindexed,
    value_for,
)
from agent.ledger.stored import MOVES_OF_PROPOSAL, WITH_PROPOSAL, StateChanges, load_move, load_moves
from agent.model.states import ACTIONABLE, UNFINISHED, MoveState, ProposalState
from connectors.kit.contract import Clock
from policies.model.settings import Pin

_MAY_BE_ASKED = (
    select(moves.c.id)
    .join_from(moves, proposals, WITH_PROPOSAL)
    .where(given(proposals.c.database), proposals.c.state == ProposalState.APPROVED)
    .where(among(unindexed(moves.c.state), ACTIONABLE))
)
_ASKED_EVENTS = tuple(f"{ASKED}{kind}" for kind in RequestKind)
_ASKED = AUDIT.where(one_of(audit.c.subject), unindexed(audit.c.event).in_(_ASKED_EVENTS)).order_by(audit.c.id)
_OF_MOVE = select(asks).where(given(asks.c.move_id)).order_by(asks.c.id)
_OF_MOVES = select(asks).where(one_of(asks.c.move_id)).order_by(asks.c.id)


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
            return newest_requests(reading, [row.id for row in reading.rows(_MAY_BE_ASKED, database=database)])

    def of_move(self, move_id: int) -> list[OperatorRequestRow]:
        """Every request for one move, the oldest first."""
        with self._database.read() as reading:
            return [_row(row) for row in reading.rows(_OF_MOVE, move_id=move_id)]

    def _newest(self, reading: Reading, move_id: int) -> OperatorRequestRow | None:
        return newest_requests(reading, [move_id]).get(move_id)

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
    if row.state is MoveState.HANDED_OVER:
        raise WrongState(
            f"a person carries move {row.id} out: hotplace sends nothing that it could {kind}",
            advice=f"Tell that person; what the catalog does not show by {row.expires_at:%F %T %Z} expires.",
        )
    if row.state not in ACTIONABLE:
        raise WrongState(
            f"move {row.id} is {row.state}; only what is approved or has begun can be asked to {kind}",
            advice="hotplace history shows every move with its state.",
        )
    if kind is RequestKind.PAUSE and held:
        raise WrongState(f"move {row.id} was asked to pause already", advice=f"hotplace resume {row.id} lets it go on.")
    if kind is RequestKind.RESUME and not held and row.state is not MoveState.PAUSED:
        raise WrongState(f"move {row.id} is {row.state} and was not asked to pause", advice="It needs no resume.")


def newest_requests(reading: Reading, move_ids: Collection[int]) -> dict[int, OperatorRequestRow]:
    """The newest request for each of some moves of which the chain holds one.

    The table alone would do for a person's pause to be lost with its row. It adds number and answer.
    """
    said = {row.subject: row for row in reading.some(_ASKED, [subject_of("move", each) for each in move_ids])}
    asked = {number: said[subject] for number in move_ids if (subject := subject_of("move", number)) in said}
    held = {row.move_id: _row(row) for row in reading.some(_OF_MOVES, sorted(asked))}
    return {number: _request_of(number, row, held.get(number)) for number, row in asked.items()}


def _request_of(move_id: int, row: Row, held: OperatorRequestRow | None) -> OperatorRequestRow:
    """A request as a row of the chain has it, whatever else that holds."""
    event = read_event(row)
    facts = {} if isinstance(event, Unreadable) else event.facts
    who, origin, reason = (str(facts.get(name, "not known")) for name in ("who", "origin", "reason"))
    kind = RequestKind(row.event.rpartition(".")[2])
    if held is not None and (held.kind, held.who, held.origin, held.reason) == (kind, who, origin, reason):
        return held
    return OperatorRequestRow(
        id=UNSTORED, move_id=move_id, kind=kind, who=who, origin=origin, reason=reason, at=row.at, answer=""
    )


def _row(row: Row) -> OperatorRequestRow:
    return OperatorRequestRow(**{**row._asdict(), "kind": RequestKind(row.kind)})


_UNPIN = delete(pins).where(given(pins.c.database), given(pins.c.pattern))
_PINS_IN_FORCE = (
    select(pins)
    .where(given(pins.c.database), or_(pins.c.until.is_(None), pins.c.until > value_for(pins.c.until, "now")))
    .order_by(pins.c.id)
)
_CLOSED = select(closed_spaces).where(given(closed_spaces.c.database))
_IS_CLOSED = _CLOSED.where(given(closed_spaces.c.space))
_OPEN = delete(closed_spaces).where(given(closed_spaces.c.database), given(closed_spaces.c.space))


class Pins:
    """The pins of all databases. Every change is one transaction with its audit row."""

    def __init__(self, database: Database, chain: AuditChain, clock: Clock) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock

    def pin(
        self, database: str, pattern: str, pin: Pin, *, who: str, reason: str, until: datetime | None = None
    ) -> PinRow:
        """Pin units by key or glob; replaces an earlier pin of the same pattern.

        Raises:
            Refused: it would end in the past.
            ValueError: the pattern or the person is empty.
        """
        now = self._clock.now()
        if not pattern.strip() or not who.strip():
            raise ValueError(f"a pin names a pattern ({pattern!r}) and who set it ({who!r})")
        if until is not None and until <= now:
            raise Refused(f"a pin cannot end at {until:%F %T %Z}: that is past", advice="Give an end that is to come.")
        values = {
            "database": database, "pattern": pattern, "pin": int(pin), "who": who, "reason": reason,
            "created_at": now, "until": until,
        }  # fmt: skip
        with self._database.write() as transaction:
            transaction.execute(_UNPIN, database=database, pattern=pattern)
            number = transaction.insert(pins, values)
            self._chain.append(
                transaction, "pin.set", f"{database} {pattern}",
                pin=pin.name.lower(), who=who, reason=reason, until=None if until is None else until.isoformat(),
            )  # fmt: skip
        return PinRow(
            id=number, database=database, pattern=pattern, pin=pin, who=who, reason=reason, created_at=now, until=until
        )

    def unpin(self, database: str, pattern: str, *, who: str, reason: str = "") -> int:
        """Remove the pin of exactly that pattern; returns how many there were, 0 or 1."""
        with self._database.write() as transaction:
            removed = transaction.execute(_UNPIN, database=database, pattern=pattern)
            if removed:
                self._chain.append(transaction, "pin.removed", f"{database} {pattern}", who=who, reason=reason)
            return removed

    def rows(self, database: str, now: datetime) -> list[PinRow]:
        """Pins in force, the oldest first: where two match a unit, the later one counts."""
        with self._database.read() as reading:
            return pins_in_force(reading, database, now)


def pins_in_force(reading: Reading, database: str, now: datetime) -> list[PinRow]:
    """As ``Pins.rows``, by a reading that is under way."""
    return [_pin_row(reading, row) for row in reading.rows(_PINS_IN_FORCE, database=database, now=now)]


def _pin_row(reading: Reading, row: Row) -> PinRow:
    with readable(reading.database, "pins", id=row.id):
        return PinRow(**{**row._asdict(), "pin": Pin(row.pin)})


_LAST_STOP = (
    AUDIT.where(given(audit.c.subject), unindexed(audit.c.event).in_((STOPPED, LIFTED)))
    .order_by(audit.c.id.desc())
    .limit(1)
)
_EVERY_STOP = AUDIT.where(begins_with(audit.c.event, "sending.")).order_by(audit.c.id)
_LIFT_WITH = "hotplace stop --lift --all"


class Stops:
    """What keeps agents from sending anything. Every change is one row of the audit chain."""

    def __init__(self, database: Database, chain: AuditChain) -> None:
        self._database = database
        self._chain = chain

    def begin(self, databases: Collection[str], *, who: str, origin: str, reason: str) -> list[str]:
        """Let nothing be sent to these databases any more; ``*``: to none of the ledger.

        What runs is cancelled by its agent within a second.

        Returns:
            Those that were not stopped before.
        """
        with self._database.write() as transaction:
            new = [name for name in databases if _stop_of(transaction, name) is None]
            for name in new:
                self._chain.append(transaction, STOPPED, name, who=who, origin=origin, reason=reason)
            return new

    def lift(self, databases: Collection[str] | None, *, who: str, origin: str, reason: str) -> list[str]:
        """Let agents send again.

        Args:
            databases: whose own stops end; None: every stop that this login sees.
            who: a person.
            origin: from where.
            reason: for the record.

        Returns:
            What was stopped before, ``*`` for all.

        Raises:
            WrongState: one of the databases is stopped with all others, which only ends for all.
        """
        with self._database.write() as transaction:
            every = _stop_of(transaction, EVERY)
            if databases is not None and every is not None:
                raise WrongState(f"nothing was lifted: {every.sentence}", advice=f"Lift that for all: {_LIFT_WITH}.")
            known = _in_force(transaction) if databases is None else map(partial(_stop_of, transaction), databases)
            stopped = [each.database for each in known if each is not None]
            for name in stopped:
                self._chain.append(transaction, LIFTED, name, who=who, origin=origin, reason=reason)
            return stopped

    def in_force(self, database: str) -> StopRow | None:
        """The stop that a database is under, its own or that of all; None: it is under none."""
        with self._database.read() as reading:
            return stop_in_force(reading, database)

    def rows(self) -> list[StopRow]:
        """Every stop in force that this login sees, by database."""
        with self._database.read() as reading:
            return _in_force(reading)


def stop_in_force(reading: Reading, database: str) -> StopRow | None:
    """The stop that a database is under; None: agents may send."""
    return _stop_of(reading, EVERY) or _stop_of(reading, database)


def require_no_stop(reading: Reading, database: str) -> None:
    """Refuse to send anything where that is stopped.

    Raises:
        Stopped: it is.
    """
    stop = stop_in_force(reading, database)
    if stop is not None:
        raise Stopped(f"nothing is sent: {stop.sentence}", advice=how_to_lift(stop))


def how_to_lift(stop: StopRow) -> str:
    """The command that ends a stop."""
    command = _LIFT_WITH if stop.database == EVERY else f"hotplace stop --lift --database {shlex.quote(stop.database)}"
    return f"Once it is safe, let agents send again: {command}"


def _stop_of(reading: Reading, subject: str) -> StopRow | None:
    row = reading.first(_LAST_STOP, subject=subject)
    return None if row is None or row.event != STOPPED else _stop_row(row)


def _in_force(reading: Reading) -> list[StopRow]:
    last = {row.subject: row for row in reading.rows(_EVERY_STOP)}
    return [_stop_row(last[name]) for name in sorted(last) if last[name].event == STOPPED]


def _stop_row(row: Row) -> StopRow:
    """A row of the chain as a stop: whatever else it holds, it stops."""
    event = read_event(row)
    facts = {} if isinstance(event, Unreadable) else event.facts
    said = {name: str(facts.get(name, "not known")) for name in ("who", "origin", "reason")}
    return StopRow(database=row.subject, at=row.at, **said)


class Arrivals:
    """The closed spaces of all databases. Every change is one transaction with its audit row."""

    def __init__(self, database: Database, chain: AuditChain, clock: Clock) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock

    def close(self, database: str, space: str, *, who: str, reason: str) -> bool:
        """Close a space; False where it was closed already."""
        if not who.strip():
            raise ValueError(f"who closes the space {space!r} names themselves")
        values = {"database": database, "space": space, "who": who, "reason": reason, "at": self._clock.now()}
        with self._database.write() as transaction:
            if transaction.first(_IS_CLOSED, database=database, space=space) is not None:
                return False
            transaction.insert_all(closed_spaces, [values])
            self._chain.append(transaction, "space.closed", f"{database} {space}", who=who, reason=reason)
            return True

    def open(self, database: str, space: str, *, who: str, reason: str) -> bool:
        """Open it again; False where it was not closed."""
        with self._database.write() as transaction:
            removed = bool(transaction.execute(_OPEN, database=database, space=space))
            if removed:
                self._chain.append(transaction, "space.opened", f"{database} {space}", who=who, reason=reason)
            return removed

    def rows(self, database: str) -> list[ClosedSpaceRow]:
        """Those that are closed, by name."""
        with self._database.read() as reading:
            found = [ClosedSpaceRow(**row._asdict()) for row in reading.rows(_CLOSED, database=database)]
            return sorted(found, key=lambda row: row.space)
