"""The audit chain: every row carries the hash of the row before, so a changed, removed or inserted one shows.

``hash = SHA-256(canonical JSON of [id, at, actor, event, subject, facts, previous])``. The head of the chain is kept in
a table of its own, so that cutting off the tail shows as well. A user who may write the file can replace the
whole chain: where that matters, keep the head's hash (``AuditReport.head``) elsewhere.

The chain records decisions and acts: proposals, approvals, moves, steps, outcomes, pins. Samples and caches are not in
it. The chain is never pruned; a row takes about 0.5 kB.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, or_, select, update

from agent.ledger.chain.anchors import Anchor, AnchorFile, anchor_fault, send_to_system_log
from agent.ledger.chain.links import CREATED, GENESIS, hash_of_row, link_hash
from agent.ledger.chain.verification import Verification, first_since
from agent.ledger.errors import corrupt
from agent.ledger.file.database import AFTER_COMMIT, Database
from agent.ledger.file.schema import audit, audit_head
from agent.ledger.rows import AuditReport, AuditRow
from connectors.base import Clock

log = logging.getLogger(__name__)
DECIDED_BY = "who"  # the fact that names a person
# What was sent to a database can then not be forgotten: an older copy of the ledger would send it again.
ALSO_ANCHORED = frozenset({CREATED, "ledger.migrated", "step.intended"})


class AuditChain:
    """Appends to the chain within the caller's transaction, reads it, verifies it."""

    def __init__(self, database: Database, clock: Clock, actor: str, anchors: AnchorFile) -> None:
        self._database = database
        self._clock = clock
        self._actor = actor
        self._anchors = anchors

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
        row["hash"] = link_hash(row)
        connection.execute(insert(audit).values(row))
        end = {"id": 1, "last_id": number, "hash": row["hash"]}
        connection.execute(insert(audit_head).values(end) if head is None else update(audit_head).values(end))
        if DECIDED_BY in facts or event in ALSO_ANCHORED:
            connection.info[AFTER_COMMIT] = self.anchor

    def record(self, event: str, subject: str, /, **facts: Any) -> None:  # noqa: ANN401  # JSON values
        """Append to the audit chain what changes nothing else in the ledger. Facts are JSON values, never secrets."""
        with self._database.write() as connection:
            self.append(connection, event, subject, **facts)

    def anchor(self) -> None:
        """Note outside the ledger where the chain ends now. What cannot be noted is logged, and the work goes on."""
        with self._database.read() as connection:
            head = connection.execute(select(audit_head)).one_or_none()
            if head is None:
                return
            anchor = Anchor(ledger=hash_of_row(connection, 1) or GENESIS, row=head.last_id, hash=head.hash)
        send_to_system_log(anchor)
        try:
            self._anchors.append(anchor, self._clock.now())
        except OSError as error:
            facts = {"path": str(self._anchors.path), "error": str(error.strerror)}
            log.warning("anchor not written", extra={"fields": facts})

    def anchor_faults(self, anchors: Iterable[Anchor], source: str) -> tuple[int, list[str]]:
        """Hold anchors from a log against the chain.

        Args:
            anchors: as ``find_anchors`` finds them.
            source: where they come from, for people.

        Returns:
            How many speak of this ledger, and why some of these do not fit.
        """
        faults: dict[str, None] = {}
        count = 0
        with self._database.read() as connection:
            ours = hash_of_row(connection, 1)
            for anchor in anchors:
                if anchor.ledger == ours:
                    count += 1
                    faults |= dict.fromkeys(filter(None, [anchor_fault(connection, anchor, source)]))
        return count, list(faults)

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
            query = select(audit).where(audit.c.id >= first_since(connection, at), begins).order_by(audit.c.id)
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
            return Verification(connection, since).report()


def _audit_row(row: Row[Any]) -> AuditRow:
    return AuditRow(**{**row._asdict(), "facts": json.loads(row.facts)})
