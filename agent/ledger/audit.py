"""The audit chain: every row carries the hash of the row before, so a changed, removed or inserted one shows.

``hash = SHA-256(canonical JSON of [id, at, actor, event, subject, facts, previous])``. The head of the chain is kept in
a table of its own, so that cutting off the tail shows as well. Whoever may write the whole file can write a whole new
chain: note the head's hash (``AuditReport.head``) elsewhere where that matters.

The chain records decisions and acts: proposals, approvals, moves, steps, outcomes, pins. Samples and caches are not in
it. The chain is never pruned; a row takes about 0.5 kB.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from agent.ledger.database import Database
from agent.ledger.errors import corrupt
from agent.ledger.rows import AuditReport, AuditRow
from agent.ledger.schema import audit, audit_head, microseconds, proposals
from connectors.base import Clock

GENESIS = "0" * 64
CREATED = "ledger.created"
STORED, APPROVED = "proposal.stored", "proposal.approved"


def subject_of(kind: str, number: int) -> str:
    """How the chain names a thing: ``proposal 3``."""
    return f"{kind} {number}"


class AuditChain:
    """Appends to the chain within somebody's transaction, reads it, verifies it."""

    def __init__(self, database: Database, clock: Clock, actor: str) -> None:
        self._database = database
        self._clock = clock
        self._actor = actor

    def append(self, connection: Connection, event: str, subject: str, /, **facts: Any) -> None:  # noqa: ANN401  # JSON values
        """Add one row in the transaction that does what it tells of. Facts are JSON values, and hold no secret."""
        head = connection.execute(select(audit_head)).one_or_none()
        number, previous = (1, GENESIS) if head is None else (head.last_id + 1, head.hash)
        row = {
            "id": number,
            "at": self._clock.now(),
            "actor": self._actor,
            "event": event,
            "subject": subject,
            "facts": json.dumps(facts, sort_keys=True, ensure_ascii=False, allow_nan=False),
            "previous": previous,
        }
        row["hash"] = _hash(row)
        connection.execute(insert(audit).values(row))
        end = {"id": 1, "last_id": number, "hash": row["hash"]}
        connection.execute(insert(audit_head).values(end) if head is None else update(audit_head).values(end))

    def record(self, event: str, subject: str, /, **facts: Any) -> None:  # noqa: ANN401  # JSON values
        """Append to the audit chain what changes nothing else in the ledger. Facts are JSON values, never secrets."""
        with self._database.write() as connection:
            self.append(connection, event, subject, **facts)

    def rows(self, limit: int = 100) -> list[AuditRow]:
        """Audit rows, the newest first."""
        with self._database.read() as connection:
            found = connection.execute(select(audit).order_by(audit.c.id.desc()).limit(limit))
            return [AuditRow(**{**row._asdict(), "facts": json.loads(row.facts)}) for row in found]

    def events(self) -> list[str]:
        """Every event that the chain holds, by name."""
        with self._database.read() as connection:
            return list(connection.scalars(select(audit.c.event).distinct().order_by(audit.c.event)))

    def verify(self) -> AuditReport:
        """Check the file, the whole chain, and every stored proposal and approval against the chain.

        Raises:
            LedgerCorrupt: the file itself is damaged.
        """
        damage = self._database.pragma("quick_check(1)")
        if damage != "ok":
            raise corrupt(self._database.path, str(damage))
        with self._database.read() as connection:
            return _Verification(connection).report()


class _Verification:
    """One walk over the chain in one snapshot."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows = 0
        self._hash = GENESIS
        self._digests: dict[tuple[str, str], str] = {}  # (event, subject) -> the digest that the chain holds

    def report(self) -> AuditReport:
        for row in self._connection.execute(select(audit).order_by(audit.c.id)):
            fault = self._fault(row)
            if fault:
                return self._broken(row.id if row.id == self._rows + 1 else self._rows + 1, fault)
        fault = self._tail_fault()
        if fault:
            return self._broken(self._rows + 1, fault)
        for fault in self._proposal_faults():
            return self._broken(None, fault)
        return AuditReport(
            ok=True, rows=self._rows, head=self._hash, broken_id=None, sentence=f"all {self._rows} audit rows fit"
        )

    def _broken(self, number: int | None, fault: str) -> AuditReport:
        return AuditReport(ok=False, rows=self._rows, head=self._hash, broken_id=number, sentence=fault)

    def _fault(self, row: Row[Any]) -> str:
        """Why this row is not the next one; "" where it is."""
        expected = self._rows + 1
        if row.id != expected:
            return f"audit row {expected} is missing"
        if row.previous != self._hash:
            return f"audit row {row.id} does not follow the row before it"
        if row.hash != _hash(row._asdict()):
            return f"audit row {row.id} was changed after it was written"
        if row.event in {STORED, APPROVED}:
            self._digests[row.event, row.subject] = json.loads(row.facts)["digest"]
        self._rows, self._hash = row.id, row.hash
        return ""

    def _tail_fault(self) -> str:
        head = self._connection.execute(select(audit_head)).one_or_none()
        known = (0, GENESIS) if head is None else (head.last_id, head.hash)
        if known == (self._rows, self._hash):
            return ""
        return f"the chain ends at row {self._rows}, but {known[0]} rows were written"

    def _proposal_faults(self) -> Iterator[str]:
        """Each proposal that is not what the chain says was stored or approved."""
        found = self._connection.execute(select(proposals).order_by(proposals.c.id))
        seen = set()
        for row in found:
            name = subject_of("proposal", row.id)
            seen.add(name)
            digest = hashlib.sha256(row.body.encode()).hexdigest()
            if not digest == row.digest == self._digests.get((STORED, name)):
                yield f"{name} was changed after it was stored"
            if row.approved_digest != self._digests.get((APPROVED, name)):
                yield f"{name} is marked approved in a way that the audit chain does not hold"
        for event, name in self._digests:
            if event == STORED and name not in seen:
                yield f"{name} was removed"


def _hash(row: Mapping[str, Any]) -> str:
    parts = [row["id"], microseconds(row["at"]), *(row[k] for k in ("actor", "event", "subject", "facts", "previous"))]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()
