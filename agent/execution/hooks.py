"""What connects the executor to its caller: events of moves, and callbacks around each statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent.execution.progress import RunningMove
from agent.ledger import MoveRow


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveEvent:
    """Something happened to a move; for progress on a terminal and for the log."""

    move: MoveRow
    sentence: str


Listener = Callable[[MoveEvent], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorHooks:
    """Callbacks of the executor.

    Attributes:
        begin_copy: called before every statement, so that our own I/O is not taken for demand.
        end_copy: called after it.
        hold_lease: called before every statement; raises ``LeaseHeld`` where another agent acts here by now.
        note: receives the progress of the running statement every second, and None when nothing runs any more.
        listener: receives everything that happens to a move.
    """

    begin_copy: Callable[[], None]
    end_copy: Callable[[], None]
    hold_lease: Callable[[], None]
    note: Callable[[RunningMove | None], None]
    listener: Listener | None
