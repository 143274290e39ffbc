"""Checks the whole chain or the end of it, and the proposals and moves that it speaks of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime

from agent.ledger.chain.links import APPROVED, STORED, LinkWalk, subject_of
from agent.ledger.chain.move_states import MoveStates
from agent.ledger.file.reading import Reading, Row, Sight, in_parts, one_of, where
from agent.ledger.rows import AuditReport

AT_ONCE = 50  # proposals: their texts are long
MOVES_AT_ONCE = 500


def first_since(reading: Reading, at: datetime) -> int:
    """Number of the first row that was written at that instant or later; that of the next one where there is none."""
    # The first of those by time, whose order a clock set back may break; + as in Condition: by the index of time.
    first = reading.scalar("SELECT min(+id) FROM audit", where("at >= ?", at))
    if first is None:
        first = (reading.scalar("SELECT max(id) FROM audit") or 0) + 1
    return int(first)


class Verification:
    """One walk over the chain, or over the end of it, in one snapshot."""

    def __init__(self, reading: Reading, since: datetime | None) -> None:
        self._reading = reading
        self._since = since
        self._before = 0 if since is None else first_since(reading, since) - 1  # rows that are taken as they are
        self._walk = LinkWalk(reading, self._before)
        self._states = MoveStates()
        self._sees_all = reading.dialect.sight(reading) is Sight.ALL

    def report(self) -> AuditReport:
        """What was found: the first fault, or that all fits."""
        for row in self._walk.rows():
            self._states.apply(row)
        if self._walk.fault:
            return self._fail_at(self._walk.broken_id, self._walk.fault)
        for fault in (*self._proposal_faults(), *self._move_faults()):
            return self._fail_at(None, fault)
        return AuditReport(ok=True, rows=self._rows, head=self._walk.hash, broken_id=None, sentence=self._sentence())

    @property
    def _rows(self) -> int:
        return self._walk.last - self._before

    def _sentence(self) -> str:
        if not self._before:
            of_all = "" if self._sees_all else ", and the proposals of this login's teams"
            return f"all {self._rows} audit rows fit{of_all}"
        return (
            f"the last {self._rows} of {self._walk.last} audit rows fit, which is all since {self._since:%F %T %Z}; "
            "hotplace audit verify checks the whole chain"
        )

    def _fail_at(self, number: int | None, fault: str) -> AuditReport:
        return AuditReport(ok=False, rows=self._rows, head=self._walk.hash, broken_id=number, sentence=fault)

    def _proposal_faults(self) -> Iterator[str]:
        """Each proposal that is not what the chain says was stored or approved."""
        # The links of the chain protect its own rows. A proposal's text lies in another table, where only the digest in
        # the chain shows a change: the digest next to the text could have been changed with it.
        seen = set()
        digests = self._states.digests
        for row in self._to_check():
            seen.add(row.id)
            name = subject_of("proposal", row.id)
            stored, approved = digests.get((STORED, row.id)), digests.get((APPROVED, row.id))
            digest = hashlib.sha256(row.body.encode()).hexdigest()
            if digest != row.digest or (stored != digest and (stored or not self._older(row))):
                yield f"{name} was changed after it was stored"
            if row.approved_digest != approved and (approved or not self._older(row)):
                yield f"{name} is marked approved in a way that the audit chain does not hold"
        for event, number in digests:
            # Where other teams' proposals are hidden, the chain speaks of some that are not seen.
            if event == STORED and number not in seen and self._sees_all:
                yield f"{subject_of('proposal', number)} was removed"

    def _move_faults(self) -> Iterator[str]:
        """Each move whose state is not the one that the chain brought it into."""
        for row in self._moves_to_check():
            state = self._states.state(row.id, row.proposal_id, row.ordinal)
            if state is not None and state != row.state:
                yield f"move {row.id} is marked {row.state}, but by the audit chain it is {state}"

    def _moves_to_check(self) -> Iterator[Row]:
        """All moves; of the end of the chain those that its rows speak of: what older ones cost grows with age."""
        query = "SELECT id, proposal_id, ordinal, state FROM moves"
        if not self._before:
            yield from self._reading.rows(query, then="ORDER BY id")
            return
        for column, numbers in (("id", self._states.moves), ("proposal_id", self._states.proposals)):
            for some in in_parts(sorted(numbers), MOVES_AT_ONCE):
                yield from self._reading.rows(query, one_of(column, some))

    def _to_check(self) -> Iterator[Row]:
        """The proposals that the rows speak of, and those that say themselves that they are as new."""
        late = [where("created_at >= ?", self._since)] if self._before else []
        made = {row.id for row in self._reading.rows("SELECT id FROM proposals", *late)}
        numbers = {number for _, number in self._states.digests} | made
        for some in in_parts(sorted(numbers), AT_ONCE):
            yield from self._reading.rows("SELECT * FROM proposals", one_of("id", some))

    def _older(self, row: Row) -> bool:
        """Whether the chain may speak of a proposal before the rows that are looked at."""
        return bool(self._before) and self._since is not None and row.created_at < self._since
