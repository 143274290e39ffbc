"""Whether a statement may be sent on the strength of what the ledger holds.

Any process of the agent's user can write to the ledger. It would have to change everything that must agree: the chain
with its own links, with the anchors outside the ledger, and with the tables of proposals and moves. Each statement
asks for that agreement, within the transaction that journals it.
"""

from __future__ import annotations

from agent.ledger.chain.anchors import AnchorFile, anchor_fault
from agent.ledger.chain.links import APPROVED, AUDIT, STORED, LinkWalk, subject_of
from agent.ledger.chain.move_states import MoveStates
from agent.ledger.chain.signed import ApprovalRule, signature_fault
from agent.ledger.chain.standing import first_row_of_rule, rule_of_approval, standing_fault
from agent.ledger.chain.ways_back import way_back_fault
from agent.ledger.errors import Untrusted
from agent.ledger.file.reading import Reading, one_of, where
from agent.ledger.rows import MoveRow
from agent.ledger.stored import load_moves


class Trust:
    """Asks chain, anchors and tables whether they agree about a move."""

    def __init__(self, anchors: AnchorFile, rule: ApprovalRule) -> None:
        self._anchors = anchors
        self.rule = rule

    def require(self, reading: Reading, move: MoveRow) -> None:
        """Check that the chain fits, from the proposal's first row and from the last anchor on, and holds the move.

        Raises:
            Untrusted: something does not fit; nothing may be sent.
        """
        fault = self._chain_fault(reading, move) or _move_fault(reading, move) or self._approval_fault(reading, move)
        if fault:
            raise Untrusted(
                f"the ledger cannot be trusted, nothing was sent: {fault}",
                advice=f"Keep the ledger and {self._anchors.path} as evidence; hotplace audit verify looks at all of "
                "it. If an older copy was restored on purpose, move that file away: the next decision begins another.",
            )

    def _approval_fault(self, reading: Reading, move: MoveRow) -> str:
        """Why nobody who may has approved the move: itself, or the group that it takes back with its way back."""
        if not move.move.is_way_back:
            return self._decision_fault(reading, move)
        done = next(iter(load_moves(reading, where("moves.id = ?", move.move.undoes or 0))), None)
        if (fault := way_back_fault(move.move, done)) or done is None:
            return fault
        return self._chain_fault(reading, done) or _move_fault(reading, done) or self._decision_fault(reading, done)

    def _decision_fault(self, reading: Reading, move: MoveRow) -> str:
        """Why neither people nor a standing rule that they have signed approved the move."""
        if rule_of_approval(reading, move.proposal_id) is not None:
            return standing_fault(reading, self.rule, move)
        return signature_fault(reading, self.rule, move)

    def _chain_fault(self, reading: Reading, move: MoveRow) -> str:
        anchor = self._anchors.last()
        if anchor is not None and (fault := anchor_fault(reading, anchor, str(self._anchors.path))):
            return fault
        # Not from the anchor alone: an approval before it could have been changed where no walk comes by. From there to
        # the anchor each hash depends on the one before, so a rewritten part would end in another hash than it has.
        stored = where("event = ?", STORED), where("subject = ?", subject_of("proposal", move.proposal_id))
        first = reading.scalar("SELECT id FROM audit", *stored, then="ORDER BY id LIMIT 1")
        # A standing rule is older than what it approves: a row that closed it could have been taken out in between.
        first = first and min(first, first_row_of_rule(reading, move.proposal_id) or first)
        walk = LinkWalk(reading, 0 if anchor is None or first is None else min(anchor.row, first - 1))
        for _ in walk.rows():
            pass
        return walk.fault


def _move_fault(reading: Reading, move: MoveRow) -> str:
    """Why the chain does not hold a move as the tables do; "" where it does."""
    states = MoveStates()
    proposal = subject_of("proposal", move.proposal_id)
    its_own = one_of("subject", (proposal, subject_of("move", move.id)))
    for row in reading.rows(AUDIT, its_own, then="ORDER BY id"):
        states.apply(row)
    for event in (STORED, APPROVED):
        if states.digests.get((event, move.proposal_id)) != move.digest:
            return f"the audit chain does not hold that {proposal} was {event.partition('.')[2]} with its digest"
    state = states.state(move.id, move.proposal_id, move.move.ordinal)
    if state != move.state:
        return f"move {move.id} is marked {move.state}, but by the audit chain it is {state}"
    return ""
