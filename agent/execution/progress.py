"""The running move and its progress: kept in memory for the metrics, and in the ledger for other processes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agent.ledger import MoveRow

if TYPE_CHECKING:
    from connectors.model import Progress

NOTE_EVERY_SECONDS = 1.0
FORGET_AFTER_SECONDS = 30.0  # older than this, the daemon that wrote it has died


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningMove:
    """A move whose statement runs."""

    move: int
    proposal: int
    unit: str
    to_space: str
    started_at: datetime  # of this attempt
    at: datetime  # when this was true
    sentence: str  # "" where the engine reports none
    total_bytes: int
    done_bytes: int | None  # None: the engine does not report it
    done_before: int  # bytes done when this attempt was first looked at: it may go on with what was held
    share: float | None = None  # of its predicted time that its phases have taken; None: the engine reports bytes only

    @property
    def ratio(self) -> float | None:
        """Share that is done: of its time where the engine reports phases, else of its bytes."""
        if self.share is not None:
            return self.share
        return None if self.done_bytes is None or not self.total_bytes else self.done_bytes / self.total_bytes

    @property
    def left_seconds(self) -> float | None:
        """How long it will still take at its speed so far."""
        elapsed = (self.at - self.started_at).total_seconds()
        if self.share is not None:
            return elapsed * (1.0 - self.share) / self.share if self.share > 0 and elapsed > 0 else None
        if self.done_bytes is None or elapsed <= 0 or self.done_bytes <= self.done_before:
            return None
        # Without what was there at the start: a move that goes on at 80 % after a pause would seem to have copied all
        # of that within a second.
        speed = (self.done_bytes - self.done_before) / elapsed
        return max(0, self.total_bytes - self.done_bytes) / speed


def update_running_move(
    row: MoveRow, progress: Progress | None, now: datetime, before: RunningMove | None
) -> RunningMove:
    """What is known of a running move now.

    Args:
        row: the move.
        progress: what the engine reports, None: nothing.
        now: the instant.
        before: what was known of the same attempt a moment ago, None: this is the first look.
    """
    done = None if progress is None else progress.done_bytes
    if done is None and before is not None:
        done = before.done_bytes  # between two statements the engine reports nothing; the last figure still holds
    return RunningMove(
        move=row.id,
        proposal=row.proposal_id,
        unit=row.move.key,
        to_space=row.move.to_space,
        started_at=now if before is None else before.started_at,
        at=now,
        sentence="" if progress is None else progress.sentence,
        total_bytes=row.move.size_bytes if progress is None else progress.total_bytes,
        done_bytes=done,
        share=_share(row, progress) if progress is not None or before is None else before.share,
        done_before=(done or 0) if before is None or before.done_bytes is None else before.done_before,
    )


def _share(row: MoveRow, progress: Progress | None) -> float | None:
    """Share of the predicted time that the finished parts of all phases took; None without phases or prediction."""
    parts = None if row.move.cost is None else row.move.cost.copying
    if progress is None or not parts or len(parts) != len(progress.done_ratios) or not sum(parts) > 0:
        return None
    return sum(part * done for part, done in zip(parts, progress.done_ratios, strict=True)) / sum(parts)


def progress_document(running: RunningMove | None) -> dict[str, Any]:
    """As JSON values; empty where nothing runs."""
    if running is None:
        return {}
    plain = asdict(running)
    return {**plain, "started_at": running.started_at.isoformat(), "at": running.at.isoformat()}


def progress_from_document(document: dict[str, Any], now: datetime) -> RunningMove | None:
    """Inverse of ``progress_document``; None where nothing runs or the document is too old."""
    if not document:
        return None
    times = {name: datetime.fromisoformat(document[name]) for name in ("started_at", "at")}
    running = RunningMove(**{**document, **times})
    return None if (now - running.at).total_seconds() > FORGET_AFTER_SECONDS else running
