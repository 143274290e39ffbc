"""Pins set by hand: a pin overrides the policy until it ends."""

from __future__ import annotations

from datetime import datetime

from agent.ledger.chain.audit import AuditChain
from agent.ledger.errors import Refused
from agent.ledger.file.reading import where
from agent.ledger.rows import PinRow
from agent.ledger.store.database import Database
from connectors.base import Clock
from policies.model.settings import Pin


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
            transaction.delete("pins", database=database, pattern=pattern)
            number = transaction.insert("pins", values)
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
            removed = transaction.delete("pins", database=database, pattern=pattern)
            if removed:
                self._chain.append(transaction, "pin.removed", f"{database} {pattern}", who=who, reason=reason)
            return removed

    def rows(self, database: str, now: datetime) -> list[PinRow]:
        """Pins in force, the oldest first: where two match a unit, the later one counts."""
        in_force = where("database = ?", database), where("(until IS NULL OR until > ?)", now)
        with self._database.read() as reading:
            found = reading.rows("SELECT * FROM pins", *in_force, then="ORDER BY id")
            return [PinRow(**{**row._asdict(), "pin": Pin(row.pin)}) for row in found]
