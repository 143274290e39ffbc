"""What people set by hand: pins, which override the policy until they end, and spaces closed to arrivals.

A space is emptied before it is removed; once it is closed, nothing may be brought back to it.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, or_, select

from agent.ledger.chain.audit import AuditChain
from agent.ledger.errors import Refused, readable
from agent.ledger.rows import ClosedSpaceRow, PinRow
from agent.ledger.store.database import Database, Reading
from agent.ledger.store.elements import given, value_for
from agent.ledger.store.schema import closed_spaces, pins
from agent.ledger.store.statements import Row
from connectors.base import Clock
from policies.model.settings import Pin

_UNPIN = delete(pins).where(given(pins.c.database), given(pins.c.pattern))
_IN_FORCE = (
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
            return [_pin_row(reading, row) for row in reading.rows(_IN_FORCE, database=database, now=now)]


def _pin_row(reading: Reading, row: Row) -> PinRow:
    with readable(reading.database, "pins", id=row.id):
        return PinRow(**{**row._asdict(), "pin": Pin(row.pin)})


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
