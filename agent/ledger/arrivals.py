"""Spaces that are closed to arrivals: emptied before they are removed, nothing may be brought back to them."""

from __future__ import annotations

from sqlalchemy import delete, insert, select

from agent.ledger.chain.audit import AuditChain
from agent.ledger.file.database import Database
from agent.ledger.file.schema import closed_spaces
from agent.ledger.rows import ClosedSpaceRow
from connectors.base import Clock


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
        with self._database.write() as connection:
            query = select(closed_spaces).where(closed_spaces.c.database == database, closed_spaces.c.space == space)
            if connection.execute(query).first() is not None:
                return False
            connection.execute(insert(closed_spaces), values)
            self._chain.append(connection, "space.closed", f"{database} {space}", who=who, reason=reason)
            return True

    def open(self, database: str, space: str, *, who: str, reason: str) -> bool:
        """Open it again; False where it was not closed."""
        with self._database.write() as connection:
            query = delete(closed_spaces).where(closed_spaces.c.database == database, closed_spaces.c.space == space)
            removed = bool(connection.execute(query).rowcount)
            if removed:
                self._chain.append(connection, "space.opened", f"{database} {space}", who=who, reason=reason)
            return removed

    def rows(self, database: str) -> list[ClosedSpaceRow]:
        """Those that are closed, by name."""
        query = select(closed_spaces).where(closed_spaces.c.database == database).order_by(closed_spaces.c.space)
        with self._database.read() as connection:
            return [ClosedSpaceRow(**row._asdict()) for row in connection.execute(query)]
