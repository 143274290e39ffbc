"""What a person decides on, as every command and page shows it first; ``agent.model.summary`` makes it."""

from __future__ import annotations

from agent.model.answers.kind import answer
from connectors.model.moves import Locked


@answer
class SummaryLine:
    """A line of a summary."""

    name: str
    """Empty: the line goes on with what the one before it is about."""
    text: str


@answer
class LockExpected:
    """An object that sessions can't use while it moves."""

    unit: str
    locked: Locked | None
    """What is held up: all, briefly or writes only. Null: not known."""
    low_seconds: float | None
    high_seconds: float | None
    """How long; null: not known."""
    queue_seconds: float
    """For how long others may queue before that, while the move waits for its lock."""


@answer
class DecisionSummary:
    """What a person decides on: the lines that every command and page shows first, and figures behind them."""

    lines: tuple[SummaryLine, ...]
    locks: tuple[LockExpected, ...]
    """Every object that is locked; empty: none."""
    copy_low_seconds: float
    copy_high_seconds: float
    """Of all copies, one after another."""
    log_bytes: int
    certainty_ratio: float | None
    """Share of outcomes that lie within the intervals; null: no forecast was made."""
