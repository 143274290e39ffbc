"""What ``pause``, ``resume``, ``cancel``, ``close`` and ``reopen`` answer."""

from __future__ import annotations

from datetime import datetime

from agent.answers.kind import answer
from agent.model.states import MoveState


@answer
class MoveAsked:
    """A move that was asked to pause, to go on or to give up."""

    move: int
    unit: str
    kind: str
    who: str | None
    at: datetime
    answer: str | None
    """What the daemon answered; null: nothing yet."""
    state: MoveState
    reason: str | None


@answer
class MovesAsked:
    """Moves of one database that were asked to do something."""

    database: str
    asked: tuple[MoveAsked, ...]


@answer
class SpaceClosed:
    """A space that is closed to arrivals, or open to them again."""

    database: str
    space: str
    closed: bool
    changed: bool
    """Whether the command changed that."""
