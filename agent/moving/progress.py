"""The running move for all that watch it: progress, requests of operators, callbacks.

The running move and its progress: kept in memory for the metrics, and in the ledger for other processes.

Operator requests (pause, resume, cancel) for moves, polled from the ledger and answered once.

What connects the executor to its caller: events of moves, and callbacks around each statement.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agent.ledger.errors import AWAY
from agent.ledger.ledger import Ledger
from agent.ledger.rows import UNSTORED, MoveRow, OperatorRequestRow, RequestKind, StopRow
from connectors.kit.contract import Clock

if TYPE_CHECKING:
    from connectors.model.observation import Progress


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


READ_EVERY_SECONDS = 0.5  # between two reads of the ledger


class OperatorRequests:
    """The requests in force of one database, and the stop that it is under. Safe from any thread.

    An answer is at most half a second old.
    """

    def __init__(self, database: str, ledger: Ledger, clock: Clock) -> None:
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._read_at = -math.inf
        self._in_force: dict[int, OperatorRequestRow] = {}
        self._stop: StopRow | None = None

    def of(self, move_id: int, *, fresh: bool = False) -> OperatorRequestRow | None:
        """The request in force for a move; None: there is none."""
        self._read(fresh=fresh)
        return self._in_force.get(move_id)

    def stop(self, *, fresh: bool = False) -> StopRow | None:
        """The stop that the database is under; None: it is under none."""
        self._read(fresh=fresh)
        return self._stop

    def _read(self, *, fresh: bool) -> None:
        now = self._clock.monotonic()
        if fresh or now - self._read_at >= READ_EVERY_SECONDS:
            # All requests in one query and kept for half a second: the running statement asks ten times a second for
            # hours.
            self._read_at = now
            try:
                self._in_force = self._ledger.requests.in_force(self._database)
                self._stop = self._ledger.stops.in_force(self._database)
            except AWAY:
                # What was asked last stands for what runs: it ends as it was to. Nothing begins without the ledger.
                if fresh:
                    raise

    def kind(self, move_id: int, *, fresh: bool = False) -> RequestKind | None:
        """The kind of the request in force; None: there is none."""
        request = self.of(move_id, fresh=fresh)
        return None if request is None else request.kind

    def answer_to(self, request: OperatorRequestRow | None, sentence: str) -> None:
        """Answer a request that has no answer yet. Call it once the state of the move agrees with the answer."""
        # What was removed from its table behind the chain stays in force, and has no row that takes an answer.
        if request is not None and not request.answer and request.id != UNSTORED:
            self._ledger.requests.answer(request.id, sentence)
            self._read_at = -math.inf

    def hold(self, move_id: int, reason: str, *, who: str) -> None:
        """Keep a move paused until an operator resumes it: a fault, or a person at the engine, has stopped it."""
        if self.kind(move_id, fresh=True) is not RequestKind.PAUSE:
            self._ledger.requests.submit(move_id, RequestKind.PAUSE, who=who, origin="engine", reason=reason)
            self._read_at = -math.inf


def reason_of(request: OperatorRequestRow) -> str:
    """A request in words, as the reason of a state."""
    done = {RequestKind.PAUSE: "held", RequestKind.RESUME: "let go on", RequestKind.CANCEL: "cancelled"}[request.kind]
    return f"{done} by {request.who}{': ' if request.reason else ''}{request.reason}"


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
