"""What was predicted for those moves of a proposal that were carried out: what an outcome is compared with."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from agent.model.proposals import Proposal


def carried_out(proposal: Proposal, ordinals: Collection[int]) -> Proposal:
    """The proposal as if it had held only the moves that were carried out; itself where all of them were.

    The saving is the sum of what each of these moves was predicted to save. The interval scales with it: what remains
    of the wait errs by a factor, and the logarithm of that factor shrinks as the predicted saving does. So the interval
    of all moves is that of the proposal, and that of none is a point.

    Args:
        proposal: as it was stored.
        ordinals: of the moves that were carried out.
    """
    moves = tuple(move for move in proposal.moves if move.ordinal in ordinals)
    if len(moves) == len(proposal.moves):
        return proposal
    saved = sum(move.wait_saved_per_hour for move in moves)
    low, high = _saved_ratio_ends(proposal, saved)
    return replace(
        proposal,
        moves=moves,
        wait_saved_per_hour=saved,
        wait_saved_low_per_hour=None,
        wait_saved_high_per_hour=None,
        relief_per_hour=None,
        saved_ratio_low=low,
        saved_ratio_high=high,
    )


def _saved_ratio_ends(proposal: Proposal, saved: float) -> tuple[float | None, float | None]:
    """Ends of the share of all wait that a part of the proposal saves; None where the whole has no such interval.

    Args:
        proposal: the whole.
        saved: seconds per hour that the part saves.
    """
    ends = [end for end in (proposal.saved_ratio_low, proposal.saved_ratio_high) if end is not None]
    if len(ends) < 2 or proposal.wait_per_hour <= 0:
        return None, None
    whole, part = proposal.wait_saved_per_hour / proposal.wait_per_hour, saved / proposal.wait_per_hour
    if not whole or max(whole, part) >= 1:
        return None, None
    share = min(1.0, abs(part / whole))
    # Scaled as a power of what remains, not in proportion to the saving: a share of 0.9 to 0.99 of all wait is an
    # uncertainty of a factor of ten in what is left, and half of those moves keep the root of it.
    low, high = (1 - (1 - part) * ((1 - end) / (1 - whole)) ** share for end in ends)
    return low, high
