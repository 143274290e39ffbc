"""When a stored proposal makes a new one unnecessary, and when a new one replaces a stored one. Pure functions."""

from __future__ import annotations

import hashlib
import json

from agent.ledger.rows import ProposalRow
from agent.model.proposals import Proposal
from agent.model.purposes import takes_back
from agent.model.states import ProposalState


def digest_of_work(proposal: Proposal) -> str:
    """Equal for proposals that would send the same statements for the same bundles, in any order.

    Sizes, expected gains and with them the order change a little with every sample. If they counted, a proposal would
    be superseded before anyone could finish reading it. The text that is stored, shown and approved is not affected.
    """
    work = [
        proposal.fingerprint,
        [
            [m.key, m.from_space, m.to_space, [*m.route.prologue, *(step.sql for step in m.route.steps)]]
            # Sorted by key, since the order of moves follows their gains and those change with every sample.
            for m in sorted(proposal.moves, key=lambda move: move.key)
        ],
    ]
    return hashlib.sha256(json.dumps(work, ensure_ascii=False).encode()).hexdigest()


def makes_unnecessary(row: ProposalRow, proposal: Proposal) -> bool:
    """Whether a stored proposal of the same work stands for a new one.

    It does not if the new one was requested by a command and the stored one was not: the agent may supersede its own
    proposals, but never one that was requested. Nor does it if something is now expected to outgrow the size up to
    which the stored one holds: it would be approved in vain. Nor does the undo of other moves: it may have run already,
    between the moves that it took back and those that are to be taken back now.
    """
    if takes_back(row.proposal.purpose) and takes_back(proposal.purpose) and row.proposal.purpose != proposal.purpose:
        return False
    if row.state is ProposalState.APPROVED or row.proposal.asked_by:
        return True
    return not proposal.asked_by and _sizes_hold(row.proposal, proposal)


def _sizes_hold(old: Proposal, new: Proposal) -> bool:
    """Whether no move of the new one is expected to become larger than the old one allows."""
    allowed = {move.key: move.largest_bytes for move in old.moves}
    return all((move.expected_bytes or move.size_bytes) <= allowed.get(move.key, 0) for move in new.moves)


def is_superseded_by(old: Proposal, new: Proposal) -> bool:
    """Whether the new one answers the same question; the agent's own never supersedes a requested one."""
    return old.purpose == new.purpose and (bool(new.asked_by) or not old.asked_by)
