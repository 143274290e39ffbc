"""What matters of a proposal, in a few lines: read before its details, and again before the question."""

from __future__ import annotations

from collections.abc import Sequence

from agent.model.proposals import Proposal, ProposedMove
from agent.terminal.wording import count_of_moves, saving
from connectors.formatting import exact_bytes, format_bytes, format_seconds
from connectors.move_effects import Locked

NO_LOCK = "none: sessions read and write all the while"


def essentials(number: int, proposal: Proposal, moves: Sequence[ProposedMove]) -> list[tuple[str, str]]:
    """Names and values.

    Args:
        number: of the proposal.
        proposal: what was expected of all of it.
        moves: those that would run.
    """
    size = sum(move.size_bytes for move in moves)
    lines = [
        ("would run", f"{_count(moves, len(proposal.moves))}, {format_bytes(size)} ({exact_bytes(size)})"),
        saving(proposal),
        ("longest stop", _longest_stop(moves)),
        ("longest wait", _longest_wait(moves)),
    ]
    if not proposal.is_undo:
        lines.append(("way back", f"hotplace undo --proposal {number} proposes it, at any time after the moves"))
    return lines


def _count(moves: Sequence[ProposedMove], proposed: int) -> str:
    return count_of_moves(moves) + ("" if len(moves) == proposed else f" of {proposed}")


def _longest_stop(moves: Sequence[ProposedMove]) -> str:
    """The move that keeps sessions out the longest."""
    stops = [move for move in moves if move.stall_seconds]
    if not stops:
        return NO_LOCK
    worst = max(stops, key=lambda move: move.stall_seconds or 0.0)
    whom = "writes to" if worst.route.locked is Locked.WRITES else "all use of"
    return f"about {format_seconds(worst.stall_seconds or 0.0)} without {whom} {worst.what}{_others(len(stops) - 1)}"


def _others(count: int) -> str:
    return f"; {count} more {'stops' if count == 1 else 'stop'} sessions for less" if count else ""


def _longest_wait(moves: Sequence[ProposedMove]) -> str:
    """The move behind which others may queue the longest while it waits for its lock."""
    worst = max(moves, key=lambda move: move.route.lock_seconds, default=None)
    if worst is None or not worst.route.lock_seconds:
        return "no move makes others queue for a lock"
    return f"{worst.what} may make others queue {format_seconds(worst.route.lock_seconds)} for its lock"
