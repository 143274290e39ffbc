"""Whether the indexes of a table are as they were when its move was planned: asked before the move is sent."""

from __future__ import annotations

from collections.abc import Sequence

from connectors.base import StatementFailed
from connectors.model import Route, Step
from connectors.oracle.reading.facts import IndexPiece
from connectors.oracle.routes.operations import MOVE_TABLE, operation_of, rebuilding


def is_first_move(route: Route, step: Step) -> bool:
    """Whether the step begins the way there: on the way back indexes may be unusable because of the way there."""
    begins = bool(route.steps) and step.sql == route.steps[0].sql
    return begins and operation_of(step).name in {MOVE_TABLE, ""} and bool(route.tidy_steps)


def refuse_idle_indexes(route: Route, pieces: Sequence[IndexPiece]) -> None:
    """Refuse where an index that the move may have to repair is out of use already: repairing it was not asked for.

    Raises:
        StatementFailed: a loading job, or INDEXING OFF, has taken it out of use since the move was planned.
    """
    repairs = [operation_of(step) for step in route.tidy_steps]
    idle = [piece for piece in pieces if piece.unusable and rebuilding(piece) in repairs]
    if idle:
        first = f"{idle[0].owner}.{idle[0].name}" + (f" {idle[0].piece} {idle[0].part}" if idle[0].part else "")
        more = f" and {len(idle) - 1} more" if len(idle) > 1 else ""
        raise StatementFailed(
            f"moving {route.bundle.key}: index {first}{more} has become UNUSABLE since this was planned",
            advice="Plan again: the new plan leaves it as it is.",
        )
