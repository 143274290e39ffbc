"""Whether a statement may be sent on the strength of what the ledger holds.

Any process of the agent's user can write to the ledger. It would have to change everything that must agree: the chain
with its own links, with the anchors outside the ledger, and with the tables of proposals and moves. Each statement
asks for that agreement, within the transaction that journals it. What is read here is judged by ``judge``.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select

from agent.ledger.chain.anchors import AnchorFile, anchor_fault
from agent.ledger.chain.judge import UNDER, Story, group_fault, in_states, move_fault, way_back_fault
from agent.ledger.chain.links import STORED, LinkWalk, subject_of
from agent.ledger.chain.signed import ApprovalRule, read_story, signature_fault
from agent.ledger.chain.standing import first_row_of_rule, standing_fault
from agent.ledger.errors import Spoiled, Untrusted
from agent.ledger.grouping import group_of
from agent.ledger.rows import MoveRow
from agent.ledger.store.database import Database, Reading
from agent.ledger.store.elements import given
from agent.ledger.store.schema import audit, steps
from agent.ledger.stored import MOVE, MOVES_OF_PROPOSAL, load_moves, load_proposal
from agent.model.states import TO_BEGIN
from connectors.base import Clock

# From the last look at the expiry to the first statement: locks are waited for in between.
LATE = timedelta(hours=1)
_STEP = select(steps.c.id).where(given(steps.c.move_id))
_STORED = select(audit.c.id).where(audit.c.event == STORED, given(audit.c.subject)).order_by(audit.c.id).limit(1)


class Trust:
    """Asks chain, anchors and tables whether they agree about a move."""

    def __init__(self, database: Database, clock: Clock, anchors: AnchorFile, rule: ApprovalRule) -> None:
        self._database = database
        self._clock = clock
        self._anchors = anchors
        self.rule = rule

    def require(self, reading: Reading, move: MoveRow) -> None:
        """Check that the chain fits, from the proposal's first row and from the last anchor on, and approves the move.

        Raises:
            Spoiled: rows about the proposal do not approve it; of other proposals statements may be sent.
            Untrusted: the chain does not fit; nothing may be sent.
        """
        story = read_story(reading, move.proposal_id)
        self._require_fitting(self._chain_fault(reading, move, story))
        fault = self._late_fault(reading, move) or self._fault(reading, move, story)
        if fault:
            raise Spoiled(
                f"the ledger cannot be trusted about proposal {move.proposal_id}, nothing of it was sent: {fault}",
                advice=f"Keep the ledger as evidence; hotplace audit verify looks at all of it. hotplace strike "
                f"{move.proposal_id} {move.move.ordinal} drops the move.",
            )

    def require_chain(self, reading: Reading) -> None:
        """Check that the whole chain fits, and the last anchor, whatever moves there are.

        Raises:
            Untrusted: it does not.
        """
        anchor = self._anchors.last()
        fault = "" if anchor is None else anchor_fault(reading, anchor, str(self._anchors.path))
        self._require_fitting(fault or _walk_fault(reading, 0))

    def _require_fitting(self, fault: str) -> None:
        if fault:
            raise Untrusted(
                f"the ledger cannot be trusted, nothing was sent: {fault}",
                advice=f"Keep the ledger and {self._anchors.path} as evidence; hotplace audit verify looks at all of "
                "it. If an older copy was restored on purpose, move that file away: the next decision begins another.",
            )

    def _fault(self, reading: Reading, move: MoveRow, story: Story) -> str:
        """Why nobody who may has approved the move: itself, or the group that it takes back with its way back."""
        if fault := move_fault(story, move) or self._group_fault(reading, move, story):
            return fault
        if not move.move.is_way_back:
            return self._decision_fault(reading, move, story)
        where = (move.database, move.fingerprint)
        done = next(iter(load_moves(reading, MOVE, id=move.move.undoes or 0)), None)
        if done is None:
            return way_back_fault(move.move, where, None, [])
        before = read_story(reading, done.proposal_id, story.stored_row)
        group = in_states(group_of(_moves_of(reading, done.proposal_id), done), before)
        now = read_story(reading, done.proposal_id)
        return (
            way_back_fault(move.move, where, done, group)
            or self._chain_fault(reading, done, now)
            or move_fault(now, done)
            or self._decision_fault(reading, done, now)
        )

    def _decision_fault(self, reading: Reading, move: MoveRow, story: Story) -> str:
        """Why neither people nor a standing rule that they have signed approved the move."""
        if story.approval is not None and UNDER in story.approval.facts:
            now = self._database.latest_possible(reading, self._clock.now())
            return standing_fault(reading, self.rule, move, story.approval, now, self._noted_before(story.approval.row))
        asked_by = load_proposal(reading, move.proposal_id).proposal.asked_by
        return signature_fault(reading, self.rule, move, story, asked_by)

    def _group_fault(self, reading: Reading, move: MoveRow, story: Story) -> str:
        if move.state not in TO_BEGIN:
            return ""
        return group_fault(move, in_states(group_of(_moves_of(reading, move.proposal_id), move), story))

    def _late_fault(self, reading: Reading, move: MoveRow) -> str:
        """Why the approval does not hold any more for a move of which nothing was sent."""
        late = self._clock.now() > move.expires_at + LATE
        if late and reading.first(_STEP, move_id=move.id) is None:
            return f"its approval expired at {move.expires_at:%F %T %Z}"
        return ""

    def _noted_before(self, row: int) -> datetime | None:
        """The latest time at which an anchor was noted before a row was written; None where there is none."""
        return max((at for at, anchor in self._anchors.recent() if anchor.row < row), default=None)

    def _chain_fault(self, reading: Reading, move: MoveRow, story: Story) -> str:
        anchor = self._anchors.last()
        if anchor is not None and (fault := anchor_fault(reading, anchor, str(self._anchors.path))):
            return fault
        # Not from the anchor alone: an approval before it could have been changed where no walk comes by. From there to
        # the anchor each hash depends on the one before, so a rewritten part would end in another hash than it has.
        first = reading.scalar(_STORED, subject=subject_of("proposal", move.proposal_id))
        # A standing rule is older than what it approves: a row that closed it could have been taken out in between.
        first = first and min(first, first_row_of_rule(reading, story.approval) or first)
        return _walk_fault(reading, 0 if anchor is None or first is None else min(anchor.row, first - 1))


def _walk_fault(reading: Reading, after: int) -> str:
    """Why the chain does not fit behind a row; "" where it does."""
    walk = LinkWalk(reading, after)
    for _ in walk.rows():
        pass
    return walk.fault


def _moves_of(reading: Reading, proposal: int) -> list[MoveRow]:
    return load_moves(reading, MOVES_OF_PROPOSAL, proposal_id=proposal)
