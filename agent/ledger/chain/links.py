"""Links of the chain: names of events and subjects, the hash of a row, and the walk that checks one after the other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import select

from agent.ledger.store.database import Reading
from agent.ledger.store.elements import given, value_for
from agent.ledger.store.schema import audit, audit_head, microseconds
from agent.ledger.store.statements import Row

GENESIS = "0" * 64
CREATED, MIGRATED, MOVED = "ledger.created", "ledger.migrated", "ledger.moved"
STORED, APPROVED = "proposal.stored", "proposal.approved"
# A row that is dated further ahead than this was dated by no clock that anybody goes by.
BELIEVED_AHEAD = timedelta(days=1)
AUDIT, AUDIT_HEAD = select(audit), select(audit_head)
_HASH = select(audit.c.hash).where(given(audit.c.id))
_AFTER = AUDIT.where(audit.c.id > value_for(audit.c.id, "after")).order_by(audit.c.id)


def subject_of(kind: str, number: int) -> str:
    """How the chain names a thing: ``proposal 3``."""
    return f"{kind} {number}"


def link_hash(row: Mapping[str, Any]) -> str:
    """The hash that a row carries: over its columns and the hash of the row before it."""
    # Facts as the text that is stored: parsed and written again, a float or the order of keys may come out differently.
    parts = [row["id"], microseconds(row["at"]), *(row[k] for k in ("actor", "event", "subject", "facts", "previous"))]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def hash_of_row(reading: Reading, number: int) -> str | None:
    """The hash that a row says it has; None where there is no such row."""
    found: str | None = reading.scalar(_HASH, id=number)
    return found


class LinkWalk:
    """One walk over the rows after a given one, in one snapshot.

    Attributes:
        last: number of the last row that fits; ``hash``: what it carries.
        fault: why the next row does not fit, or the end of the chain is not where it was; "" as long as all fit.
        broken_id: number of that row.
    """

    def __init__(self, reading: Reading, after: int) -> None:
        """Begin after a row that is taken as it is; 0: at the first one."""
        self._reading = reading
        self.after = after
        self.last, self.hash = after, (hash_of_row(reading, after) or GENESIS) if after else GENESIS
        self.fault, self.broken_id = "", 0

    def rows(self) -> Iterator[Row]:
        """The rows as far as they fit."""
        for row in self._reading.each(_AFTER, after=self.after):
            self.fault = self._fault(row)
            if self.fault:
                self.broken_id = self.last + 1
                return
            self.last, self.hash = row.id, row.hash
            yield row
        self.fault, self.broken_id = self._tail_fault(), self.last + 1

    def _fault(self, row: Row) -> str:
        """Why this row is not the next one; "" where it is."""
        expected = self.last + 1
        # Asked before the hashes: a removed row also breaks the link of the next one, which would then be blamed for
        # it.
        if row.id != expected:
            return f"audit row {expected} is missing"
        if row.previous != self.hash:
            return f"audit row {row.id} does not follow the row before it"
        if row.hash != link_hash(row._asdict()):
            return f"audit row {row.id} was changed after it was written"
        return ""

    def _tail_fault(self) -> str:
        # Each remaining row of a chain without its tail still fits the one before: only the stored head shows the cut.
        head = self._reading.first(AUDIT_HEAD)
        known = (0, GENESIS) if head is None else (head.last_id, head.hash)
        if known == (self.last, self.hash):
            return ""
        return f"the chain ends at row {self.last}, but {known[0]} rows were written"
