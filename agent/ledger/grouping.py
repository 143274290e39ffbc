"""What makes room and what it makes room for: a group, which is begun only if all of it can be done.

A group pays only as a whole: what gives way loses, and what comes in its place gains more than that. So dropping any of
its moves drops all of it that has not begun, and where its end fails after something gave way, sessions wait more than
before it (``left_worse``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from agent.ledger.rows import MoveRow
from agent.model.proposals import grouped
from agent.model.states import IN_PLACE, OUTSTANDING


def group_of(rows: Iterable[MoveRow], row: MoveRow) -> list[MoveRow]:
    """The rows of a move's group, the row's own among them, in order of execution.

    Args:
        rows: all moves of its proposal, perhaps those of others too.
        row: one of them.
    """
    own = [each for each in rows if each.proposal_id == row.proposal_id]
    return next(group for group in groups_of(own) if any(each.id == row.id for each in group))


def groups_of(rows: Collection[MoveRow]) -> list[list[MoveRow]]:
    """The groups of all moves of one proposal, in order of execution."""
    by_ordinal = {row.move.ordinal: row for row in rows}
    return [[by_ordinal[move.ordinal] for move in group] for group in grouped(row.move for row in rows)]


def first_dropped(group: Iterable[MoveRow]) -> MoveRow | None:
    """The first move of a group that ended without being carried out, or that was taken back; None: there is none."""
    return next((row for row in group if row.state not in OUTSTANDING | IN_PLACE), None)


def left_worse(group: Sequence[MoveRow]) -> bool:
    """Whether a group has ended halfway, and what of it was carried out loses more than it saves."""
    arrived = [row for row in group if row.state in IN_PLACE]
    ended = not any(row.state in OUTSTANDING for row in group)
    return ended and first_dropped(group) is not None and sum(row.move.wait_saved_per_hour for row in arrived) < 0
