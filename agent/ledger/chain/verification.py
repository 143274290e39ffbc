"""Checks the whole chain or the end of it, and the proposals and moves that it speaks of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime

from sqlalchemy import func, select

from agent.ledger.chain.judge import Replay, Story
from agent.ledger.chain.links import LinkWalk, subject_of
from agent.ledger.chain.signed import StoredPlaces
from agent.ledger.rows import AuditReport
from agent.ledger.store.database import Reading, Sight
from agent.ledger.store.elements import one_of, unindexed, value_for
from agent.ledger.store.schema import audit, moves, proposals
from agent.ledger.store.statements import Row

AT_ONCE = 50  # proposals: their texts are long
# The first of those by time, whose order a clock set back may break: by the index of time.
_FIRST_SINCE = select(func.min(unindexed(audit.c.id))).where(audit.c.at >= value_for(audit.c.at, "since"))
_LAST = select(func.max(audit.c.id))
_NUMBERS = select(proposals.c.id)
_NUMBERS_SINCE = _NUMBERS.where(proposals.c.created_at >= value_for(proposals.c.created_at, "since"))
_SEEN = _NUMBERS.where(one_of(proposals.c.id)).order_by(proposals.c.id)
_PROPOSALS = select(proposals).where(one_of(proposals.c.id))
_MOVES = select(moves.c.id, moves.c.proposal_id, moves.c.ordinal, moves.c.state)
_ALL_MOVES = _MOVES.order_by(moves.c.id)
_MOVES_OF = _MOVES.where(one_of(moves.c.proposal_id))


def first_since(reading: Reading, at: datetime) -> int:
    """Number of the first row that was written at that instant or later; that of the next one where there is none."""
    first = reading.scalar(_FIRST_SINCE, since=at)
    if first is None:
        first = (reading.scalar(_LAST) or 0) + 1
    return int(first)


class Verification:
    """One walk over the chain, or over the end of it, in one snapshot."""

    def __init__(self, reading: Reading, since: datetime | None) -> None:
        self._reading = reading
        self._since = since
        self._before = 0 if since is None else first_since(reading, since) - 1  # rows that are taken as they are
        self._walk = LinkWalk(reading, self._before)
        self._replay = Replay(StoredPlaces(reading), from_the_middle=bool(self._before))
        self._sees_all = reading.database.sight(reading) is Sight.ALL

    def report(self) -> AuditReport:
        """What was found: the first fault, or that all fits."""
        for row in self._walk.rows():
            self._replay.apply(row)
        if self._walk.fault:
            return self._fail_at(self._walk.broken_id, self._walk.fault)
        for fault in (*self._story_faults(), *self._proposal_faults(), *self._move_faults()):
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

    def _story_faults(self) -> Iterator[str]:
        """Each row that no honest writer wrote. Of other teams' proposals nothing is said: their agents see to them."""
        yield from (self._replay.stories[number].fault for number in self._seen() if self._replay.stories[number].fault)
        if self._sees_all:
            yield from (row.sentence for row in self._replay.unreadable)

    def _seen(self) -> list[int]:
        """The proposals that the chain tells of, as far as this login sees them."""
        return [row.id for row in self._reading.some(_SEEN, sorted(self._replay.stories))]

    def _proposal_faults(self) -> Iterator[str]:
        """Each proposal that is not what the chain says was stored or approved."""
        # The links of the chain protect its own rows. A proposal's text lies in another table, where only the digest in
        # the chain shows a change: the digest next to the text could have been changed with it.
        seen = set()
        for row in self._to_check():
            seen.add(row.id)
            name, story = subject_of("proposal", row.id), self._replay.stories.get(row.id, Story())
            approved = None if story.approval is None else story.approval.facts["digest"]
            digest = hashlib.sha256(str(row.body).encode()).hexdigest()  # of what is no text too
            if digest != row.digest or (story.digest != digest and (story.digest or not self._older(row))):
                yield f"{name} was changed after it was stored"
            if row.approved_digest != approved and (approved or not self._older(row)):
                yield f"{name} is marked approved in a way that the audit chain does not hold"
            if story.state is not None and story.state != row.state:
                yield f"{name} is marked {row.state}, but by the audit chain it is {story.state}"
        for number, story in self._replay.stories.items():
            # Where other teams' proposals are hidden, the chain speaks of some that are not seen.
            if story.stored_row and number not in seen and self._sees_all:
                yield f"{subject_of('proposal', number)} was removed"

    def _move_faults(self) -> Iterator[str]:
        """Each move whose state is not the one that the chain brought it into."""
        for row in self._moves_to_check():
            state = self._replay.state(row.id)
            if state is not None and state != row.state:
                yield f"move {row.id} is marked {row.state}, but by the audit chain it is {state}"

    def _moves_to_check(self) -> Iterable[Row]:
        """All moves; of the end of the chain those that its rows speak of: what older ones cost grows with age."""
        if not self._before:
            return self._reading.rows(_ALL_MOVES)
        return self._reading.some(_MOVES_OF, sorted(self._replay.stories))

    def _to_check(self) -> Iterator[Row]:
        """The proposals that the rows store or decide about, and those that say themselves that they are as new."""
        late = self._reading.rows(_NUMBERS_SINCE, since=self._since) if self._before else self._reading.rows(_NUMBERS)
        made = {row.id for row in late}
        numbers = {
            number for number, story in self._replay.stories.items() if story.stored_row or story.approval
        } | made
        return self._reading.some(_PROPOSALS, sorted(numbers), AT_ONCE)

    def _older(self, row: Row) -> bool:
        """Whether the chain may speak of a proposal before the rows that are looked at."""
        return bool(self._before) and self._since is not None and row.created_at < self._since
