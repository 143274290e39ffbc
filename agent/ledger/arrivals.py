"""Spaces that are closed to arrivals: emptied before they are removed, nothing may be brought back to them."""

from __future__ import annotations

from agent.ledger.chain.audit import AuditChain
from agent.ledger.file.reading import where
from agent.ledger.rows import ClosedSpaceRow
from agent.ledger.store.database import Database
from connectors.base import Clock

_CLOSED = "SELECT * FROM closed_spaces"


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
            if transaction.first(_CLOSED, where("database = ?", database), where("space = ?", space)) is not None:
                return False
            transaction.insert_all("closed_spaces", [values])
            self._chain.append(transaction, "space.closed", f"{database} {space}", who=who, reason=reason)
            return True

    def open(self, database: str, space: str, *, who: str, reason: str) -> bool:
        """Open it again; False where it was not closed."""
        with self._database.write() as transaction:
            removed = bool(transaction.delete("closed_spaces", database=database, space=space))
            if removed:
                self._chain.append(transaction, "space.opened", f"{database} {space}", who=who, reason=reason)
            return removed

    def rows(self, database: str) -> list[ClosedSpaceRow]:
        """Those that are closed, by name."""
        with self._database.read() as reading:
            found = [ClosedSpaceRow(**row._asdict()) for row in reading.rows(_CLOSED, where("database = ?", database))]
            return sorted(found, key=lambda row: row.space)
