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
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import Select, bindparam, func, or_, select

from agent.ledger.chain.anchors import Anchor, AnchorFile, anchor_fault, send_to_system_log
from agent.ledger.chain.events import EVENTS
from agent.ledger.chain.links import (
    AUDIT,
    AUDIT_HEAD,
    BELIEVED_AHEAD,
    CREATED,
    GENESIS,
    MIGRATED,
    MOVED,
    hash_of_row,
    link_hash,
)
from agent.ledger.chain.verification import Verification, first_since
from agent.ledger.errors import LedgerReadOnly, readable
from agent.ledger.rows import AuditReport, AuditRow
from agent.ledger.store.database import Database, Reading, Sight, Transaction
from agent.ledger.store.elements import QUERIES_HELD, begins_with, given, like_file_name, value_for
from agent.ledger.store.schema import Whole, audit, audit_head
from agent.ledger.store.statements import Row
from connectors.base import Clock

_LATEST = select(func.max(audit.c.at)).where(audit.c.at <= value_for(audit.c.at, "until"))
_NEWEST = AUDIT.order_by(audit.c.id.desc()).limit(bindparam("limit", type_=Whole))
_NEWEST_LIKE = _NEWEST.where(like_file_name(audit.c.event))
_EVENTS = select(audit.c.event).distinct()
_FROM = AUDIT.where(audit.c.id >= value_for(audit.c.id, "first")).order_by(audit.c.id)
_BY_HASH = select(audit.c.id).where(given(audit.c.hash))
log = logging.getLogger(__name__)
DECIDED_BY = "who"  # the fact that names a person
NOT_VALID, LONGEST_SHOWN = "not valid", 200  # the fact of a row that has none, and how much of its text it holds
# What was sent to a database can then not be forgotten: an older copy of the ledger would send it again.
ALSO_ANCHORED = frozenset({CREATED, MIGRATED, MOVED, "step.intended"})


class AuditChain:
    """Appends to the chain within the caller's transaction, reads it, verifies it."""

    def __init__(self, database: Database, clock: Clock, actor: str, anchors: AnchorFile) -> None:
        self._database = database
        self._clock = clock
        self._actor = actor
        self._anchors = anchors

    def append(self, transaction: Transaction, event: str, subject: str, /, **facts: Any) -> int:  # noqa: ANN401  # JSON values
        """Add one row in the transaction that makes the change it describes; returns its number.

        Facts are JSON values, never secrets.
        """
        # The caller's transaction holds the write lock from its start (BEGIN IMMEDIATE), so no other process can append
        # to the same head in between: two rows with one predecessor would look like tampering.
        head = transaction.first(AUDIT_HEAD)
        number, previous = (1, GENESIS) if head is None else (head.last_id + 1, head.hash)
        at = self._time(transaction, None if head is None else head.at)
        text = json.dumps(facts, sort_keys=True, ensure_ascii=False, allow_nan=False)
        fault = EVENTS[event].fault(json.loads(text)) if event in EVENTS else ""
        if fault:
            raise ValueError(f"{event} about {subject}: {fault}")
        row = {
            "id": number,
            "at": at,
            "actor": self._actor,
            "event": event,
            "subject": subject,
            "facts": text,
            "previous": previous,
        }
        row["hash"] = link_hash(row)
        transaction.insert_all(audit, [row])
        transaction.put(audit_head, [{"id": 1, "last_id": number, "hash": row["hash"], "at": at}])
        if DECIDED_BY in facts or event in ALSO_ANCHORED:
            transaction.after_commit = self.anchor
        return number

    def _time(self, transaction: Transaction, before: datetime | None) -> datetime:
        """The time of the next row: not before that of the rows that are there, so that limits can count by it.

        Args:
            transaction: which writes it.
            before: as the head holds it; None: written before there was one.
        """
        now = self._clock.now()
        latest = self._database.latest_possible(transaction, now)
        # A row that a clock set far ahead has dated does not date those after it.
        if before is None or before > latest + BELIEVED_AHEAD:
            before = transaction.scalar(_LATEST, until=latest + BELIEVED_AHEAD)
        return now if before is None else min(max(now, before), max(latest, before))

    def record(self, event: str, subject: str, /, **facts: Any) -> None:  # noqa: ANN401  # JSON values
        """Append to the audit chain what changes nothing else in the ledger. Facts are JSON values, never secrets."""
        with self._database.write() as transaction:
            self.append(transaction, event, subject, **facts)

    def anchor(self, *, after_loss: bool = False) -> None:
        """Note outside the ledger where the chain ends now. What cannot be noted is logged, and the work goes on.

        Args:
            after_loss: also where the chain lacks what was noted before: that was restored, or is known to be lost.
        """
        try:
            last = None if after_loss else self._anchors.last()  # before the snapshot, which then holds its row
            with self._database.read() as reading:
                head = reading.first(AUDIT_HEAD)
                if head is None:
                    return
                anchor = Anchor(ledger=hash_of_row(reading, 1) or GENESIS, row=head.last_id, hash=head.hash)
                fault = last and anchor_fault(reading, last, str(self._anchors.path))
            if fault:  # the next anchor would hide it
                _warn(self._anchors.path, fault)
                return
            # The system's log first: where the file cannot be written, the anchor is kept in a place that the agent's
            # user cannot change anyway.
            send_to_system_log(anchor)
            self._anchors.append(anchor, self._clock.now())
        except OSError as error:
            # A warning and no error: what it speaks of is committed already, and to raise would look as if the decision
            # had not been stored.
            _warn(self._anchors.path, str(error.strerror))

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
        with self._database.read() as reading:
            ours = hash_of_row(reading, 1)
            for anchor in anchors:
                if anchor.ledger == ours:
                    count += 1
                    faults |= dict.fromkeys(filter(None, [anchor_fault(reading, anchor, source)]))
        return count, list(faults)

    def rows(self, limit: int = 100, *, event: str = "*") -> list[AuditRow]:
        """Audit rows, the newest first.

        Args:
            limit: no more than so many.
            event: only events that match; ``*``, ``?`` and ``[...]`` as in file names.
        """
        with self._database.read() as reading:
            if event == "*":
                found = reading.rows(_NEWEST, limit=limit)
            else:
                found = reading.rows(_NEWEST_LIKE, limit=limit, pattern=event)
            return [_audit_row(reading, row) for row in found]

    def events(self) -> list[str]:
        """Every event that the chain holds, by name."""
        with self._database.read() as reading:
            # Sorted here: how texts are ordered is a matter of the database in PostgreSQL.
            return sorted(row.event for row in reading.rows(_EVENTS))

    def since(self, at: datetime, events: Collection[str]) -> list[AuditRow]:
        """All rows from an instant on whose event begins with one of those words, the oldest first."""
        query = _since(tuple(sorted(events)))
        with self._database.read() as reading:
            return [_audit_row(reading, row) for row in reading.rows(query, first=first_since(reading, at))]

    def holds(self, head: str) -> bool:
        """Whether one of the rows has that hash."""
        with self._database.read() as reading:
            return reading.first(_BY_HASH, hash=head) is not None

    def verify(self, since: datetime | None = None) -> AuditReport:
        """Check the chain, and the proposals and approvals that it speaks of.

        Args:
            since: check what was written from this instant on, and that it follows the row before, which takes as long
                as that part is; None: check the file, the whole chain and every stored proposal and approval.

        Raises:
            LedgerCorrupt: the file itself is damaged.
            LedgerReadOnly: the login sees only what its teams own, and so no whole chain.
        """
        # The file before the chain: rows read from a damaged page would be reported as tampering, and an operator would
        # look for a culprit instead of a disk.
        if since is None and (damage := self._database.find_damage()):
            raise self._database.corrupt(damage)
        with self._database.read() as reading:
            if self._database.sight(reading) is Sight.OWN:
                raise LedgerReadOnly(
                    "this login sees only what its teams own of the audit chain, so it cannot check the whole of it",
                    advice="Run it where the agent runs: agents see the whole chain.",
                )
            return Verification(reading, since).report()


@lru_cache(maxsize=QUERIES_HELD)
def _since(words: tuple[str, ...]) -> Select[Any]:
    """The rows from one on whose event begins with one of the words."""
    return _FROM.where(or_(*(begins_with(audit.c.event, word) for word in words)))


def _warn(path: Path, error: str) -> None:
    log.warning("anchor not written", extra={"fields": {"path": str(path), "error": error}})


def _audit_row(reading: Reading, row: Row) -> AuditRow:
    with readable(reading.database, "audit", id=row.id):
        try:
            facts = json.loads(row.facts)
            if not isinstance(facts, dict):
                raise TypeError("the facts are no object")  # noqa: TRY301  # caught like what is no JSON
        except (ValueError, TypeError, RecursionError):
            if row.hash != link_hash(row._asdict()):
                raise
            # It fits the chain: somebody wrote it so, and a list of rows shows it among the others.
            facts = {NOT_VALID: row.facts[:LONGEST_SHOWN]}
        return AuditRow(**{**row._asdict(), "facts": facts})
