"""Whether the indexes of a table are as they were when its move was planned: asked before the move is sent."""

from __future__ import annotations

from collections.abc import Sequence

from connectors.base import StatementFailed
from connectors.model import Route, Step
from connectors.oracle.reading.facts import IndexPiece
from connectors.oracle.routes.operations import MOVE_TABLE, operation_of, rebuilding
from connectors.oracle.routes.side_effects import is_rebuildable


def is_first_move(route: Route, step: Step) -> bool:
    """Whether the step begins the way there: on the way back indexes may be unusable because of the way there."""
    begins = bool(route.steps) and step.sql == route.steps[0].sql
    return begins and operation_of(step).name in {MOVE_TABLE, ""}


def refuse_changed_indexes(route: Route, pieces: Sequence[IndexPiece]) -> None:
    """Refuse where an index that the move may have to repair is out of use already: repairing it was not asked for.

    And where the move would break an index that none of its statements repairs.

    Raises:
        StatementFailed: a loading job, or INDEXING OFF, has taken it out of use since the move was planned; or it was
            made since.
    """
    repairs = [operation_of(step) for step in route.tidy_steps]
    idle = [piece for piece in pieces if piece.unusable and rebuilding(piece) in repairs]
    if idle:
        raise StatementFailed(
            f"moving {route.bundle.key}: index {_names(idle)} has become UNUSABLE since this was planned",
            advice="Plan again: the new plan leaves it as it is.",
        )
    maintains = operation_of(route.steps[0]).parameters.get("maintains", True)
    made = [piece for piece in pieces if not maintains and is_rebuildable(piece) and not piece.unusable]
    # Compared by operation and not by name: an index that was dropped and made again under its name is repaired by the
    # same statement.
    made = [piece for piece in made if rebuilding(piece) not in repairs]
    if made:
        raise StatementFailed(
            f"moving {route.bundle.key}: index {_names(made)} was made since this was planned, and would be unusable",
            advice="Plan again: the new plan rebuilds it.",
        )


def _names(pieces: Sequence[IndexPiece]) -> str:
    first = f"{pieces[0].owner}.{pieces[0].name}" + (f" {pieces[0].piece} {pieces[0].part}" if pieces[0].part else "")
    return first + (f" and {len(pieces) - 1} more" if len(pieces) > 1 else "")
