"""The audit chain: every row carries the hash of the row before, so a changed, removed or inserted one shows.

``hash = SHA-256(canonical JSON of [id, at, actor, event, subject, facts, previous])``. The head of the chain is kept in
a table of its own, so that cutting off the tail shows as well. A user who may write the file can replace the
whole chain: where that matters, keep the head's hash (``AuditReport.head``) elsewhere.

The chain records decisions and acts: proposals, approvals, moves, steps, outcomes, pins. Samples and caches are not in
it. The chain is never pruned; a row takes about 0.5 kB.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, insert, or_, select, update

from agent.ledger.errors import corrupt
from agent.ledger.file.database import Database, in_parts, not_by_index
from agent.ledger.file.schema import audit, audit_head, microseconds, proposals
from agent.ledger.rows import AuditReport, AuditRow
from connectors.base import Clock

GENESIS = "0" * 64
CREATED = "ledger.created"
STORED, APPROVED = "proposal.stored", "proposal.approved"
ROWS_AT_ONCE, PROPOSALS_AT_ONCE = 500, 50  # handed over by the driver


def subject_of(kind: str, number: int) -> str:
    """How the chain names a thing: ``proposal 3``."""
    return f"{kind} {number}"


class AuditChain:
    """Appends to the chain within the caller's transaction, reads it, verifies it."""

    def __init__(self, database: Database, clock: Clock, actor: str) -> None:
        self._database = database
        self._clock = clock
        self._actor = actor

    def append(self, connection: Connection, event: str, subject: str, /, **facts: Any) -> None:  # noqa: ANN401  # JSON values
        """Add one row in the transaction that makes the change it describes. Facts are JSON values, never secrets."""
        # The caller's transaction holds the write lock from its start (BEGIN IMMEDIATE), so no other process can append
        # to the same head in between: two rows with one predecessor would look like tampering.
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

    def rows(self, limit: int = 100, *, event: str = "*") -> list[AuditRow]:
        """Audit rows, the newest first.

        Args:
            limit: no more than so many.
            event: only events that match; ``*``, ``?`` and ``[...]`` as in file names.
        """
        query = select(audit).order_by(audit.c.id.desc()).limit(limit)
        if event != "*":
            query = query.where(audit.c.event.op("GLOB")(event.replace("[!", "[^")))
        with self._database.read() as connection:
            return [_audit_row(row) for row in connection.execute(query)]

    def events(self) -> list[str]:
        """Every event that the chain holds, by name."""
        with self._database.read() as connection:
            return list(connection.scalars(select(audit.c.event).distinct().order_by(audit.c.event)))

    def since(self, at: datetime, events: Collection[str]) -> list[AuditRow]:
        """All rows from an instant on whose event begins with one of those words, the oldest first."""
        begins = or_(*(audit.c.event.startswith(word, autoescape=True) for word in events))
        with self._database.read() as connection:
            query = select(audit).where(audit.c.id >= _first_since(connection, at), begins).order_by(audit.c.id)
            return [_audit_row(row) for row in connection.execute(query)]

    def holds(self, head: str) -> bool:
        """Whether one of the rows has that hash."""
        with self._database.read() as connection:
            return connection.execute(select(audit.c.id).where(audit.c.hash == head)).first() is not None

    def verify(self, since: datetime | None = None) -> AuditReport:
        """Check the chain, and the proposals and approvals that it speaks of.

        Args:
            since: check what was written from this instant on, and that it follows the row before, which takes as long
                as that part is; None: check the file, the whole chain and every stored proposal and approval.

        Raises:
            LedgerCorrupt: the file itself is damaged.
        """
        if since is None:
            damage = self._database.pragma("quick_check(1)")
            if damage != "ok":
                raise corrupt(self._database.path, str(damage))
        with self._database.read() as connection:
            return _Verification(connection, since).report()


def _first_since(connection: Connection, at: datetime) -> int:
    """Number of the first row that was written at that instant or later; that of the next one where there is none."""
    number = func.min(not_by_index(audit.c.id))  # the first of those by time, whose order a clock set back may break
    first = connection.execute(select(number).where(audit.c.at >= at)).scalar()
    if first is None:
        first = (connection.execute(select(func.max(audit.c.id))).scalar() or 0) + 1
    return int(first)


def _audit_row(row: Row[Any]) -> AuditRow:
    return AuditRow(**{**row._asdict(), "facts": json.loads(row.facts)})


class _Verification:
    """One walk over the chain, or over the end of it, in one snapshot."""

    def __init__(self, connection: Connection, since: datetime | None) -> None:
        self._connection = connection
        self._since = since
        first = 1 if since is None else _first_since(connection, since)
        self._before = first - 1  # rows that are taken as they are
        before = connection.execute(select(audit.c.hash).where(audit.c.id == self._before)).scalar()
        self._last, self._hash = self._before, GENESIS if before is None else str(before)
        self._digests: dict[tuple[str, int], str] = {}  # (event, proposal) -> the digest that the chain holds

    def report(self) -> AuditReport:
        query = select(audit).where(audit.c.id > self._before).order_by(audit.c.id)
        for row in self._connection.execute(query, execution_options={"yield_per": ROWS_AT_ONCE}):
            fault = self._fault(row)
            if fault:
                return self._fail_at(row.id if row.id == self._last + 1 else self._last + 1, fault)
        fault = self._tail_fault()
        if fault:
            return self._fail_at(self._last + 1, fault)
        for fault in self._proposal_faults():
            return self._fail_at(None, fault)
        return AuditReport(ok=True, rows=self._rows, head=self._hash, broken_id=None, sentence=self._sentence())

    @property
    def _rows(self) -> int:
        return self._last - self._before

    def _sentence(self) -> str:
        if not self._before:
            return f"all {self._rows} audit rows fit"
        return (
            f"the last {self._rows} of {self._last} audit rows fit, which is all since {self._since:%F %T %Z}; "
            "hotplace audit verify checks the whole chain"
        )

    def _fail_at(self, number: int | None, fault: str) -> AuditReport:
        return AuditReport(ok=False, rows=self._rows, head=self._hash, broken_id=number, sentence=fault)

    def _fault(self, row: Row[Any]) -> str:
        """Why this row is not the next one; "" where it is."""
        expected = self._last + 1
        if row.id != expected:
            return f"audit row {expected} is missing"
        if row.previous != self._hash:
            return f"audit row {row.id} does not follow the row before it"
        if row.hash != _hash(row._asdict()):
            return f"audit row {row.id} was changed after it was written"
        if row.event in {STORED, APPROVED}:
            self._digests[row.event, _number(row.subject)] = json.loads(row.facts)["digest"]
        self._last, self._hash = row.id, row.hash
        return ""

    def _tail_fault(self) -> str:
        # Each remaining row of a chain without its tail still fits the one before: only the stored head shows the cut.
        head = self._connection.execute(select(audit_head)).one_or_none()
        known = (0, GENESIS) if head is None else (head.last_id, head.hash)
        if known == (self._last, self._hash):
            return ""
        return f"the chain ends at row {self._last}, but {known[0]} rows were written"

    def _proposal_faults(self) -> Iterator[str]:
        """Each proposal that is not what the chain says was stored or approved."""
        # The links of the chain protect its own rows. A proposal's text lies in another table, where only the digest in
        # the chain shows a change: the digest next to the text could have been changed with it.
        seen = set()
        for row in self._to_check():
            seen.add(row.id)
            name = subject_of("proposal", row.id)
            stored, approved = self._digests.get((STORED, row.id)), self._digests.get((APPROVED, row.id))
            digest = hashlib.sha256(row.body.encode()).hexdigest()
            if digest != row.digest or (stored != digest and (stored or not self._older(row))):
                yield f"{name} was changed after it was stored"
            if row.approved_digest != approved and (approved or not self._older(row)):
                yield f"{name} is marked approved in a way that the audit chain does not hold"
        for event, number in self._digests:
            if event == STORED and number not in seen:
                yield f"{subject_of('proposal', number)} was removed"

    def _to_check(self) -> Iterator[Row[Any]]:
        """The proposals that the rows speak of, and those that say themselves that they are as new."""
        made = select(proposals.c.id)
        if self._before:
            made = made.where(proposals.c.created_at >= self._since)
        numbers = {number for _, number in self._digests} | set(self._connection.execute(made).scalars())
        for some in in_parts(sorted(numbers), PROPOSALS_AT_ONCE):
            yield from self._connection.execute(select(proposals).where(proposals.c.id.in_(some)))

    def _older(self, row: Row[Any]) -> bool:
        """Whether the chain may speak of a proposal before the rows that are looked at."""
        return bool(self._before) and self._since is not None and row.created_at < self._since


def _number(subject: str) -> int:
    """The number in ``proposal 3``."""
    return int(subject.rpartition(" ")[2])


def _hash(row: Mapping[str, Any]) -> str:
    # Facts as the text that is stored: parsed and written again, a float or the order of keys may come out differently.
    parts = [row["id"], microseconds(row["at"]), *(row[k] for k in ("actor", "event", "subject", "facts", "previous"))]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()
