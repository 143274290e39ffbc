"""What the ledger says of what is under way: moves, why they wait, requests, windows, closed spaces, the trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.rows import ClosedSpaceRow, MoveRow, OperatorRequestRow
from agent.ledger.state_names import PROGRESS, WAITING_MOVES
from agent.model.answers.watching import (
    MoveHead,
    MoveProgress,
    MovesUnderWay,
    MoveWaiting,
    RequestInForce,
    SpaceWithoutArrivals,
    TraceShown,
    WindowShown,
)
from agent.model.states import MoveState
from agent.model.units_of_measure import format_when
from agent.moving.progress import RunningMove, progress_from_document, reason_of
from agent.sampling.trace_marks import TraceFigures, TraceMark
from agent.terminal.wording import state_text
from connectors.model.formatting import format_bytes, format_ratio, format_seconds

BAR = 20  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderWay:
    """Everything about the moves of one database that is not in their rows."""

    running: RunningMove | None
    waiting: Mapping[str, str]  # number of a move -> why it has not begun
    requests: Mapping[int, OperatorRequestRow]  # in force
    closed: tuple[ClosedSpaceRow, ...]
    window: str  # a sentence
    open_now: bool

    def now(self, row: MoveRow) -> str:
        """What happens to the move right now, beyond its state; "" for nothing."""
        request = self.requests.get(row.id)
        parts = []
        if row.state is MoveState.APPROVED and str(row.id) in self.waiting:
            parts.append(self.waiting[str(row.id)])
        if row.state is MoveState.RUNNING and self.running is not None and self.running.move == row.id:
            parts.append(progress_text(self.running))
        if request is not None and not request.answer:
            parts.append(f"to be {reason_of(request)}")
        return "; ".join(parts)

    def sentence(self, row: MoveRow) -> str:
        """What happens to it now, or else the reason of its state."""
        return self.now(row) or row.reason

    def line(self, row: MoveRow) -> str:
        """The move, its state and what happens to it now, in one line."""
        return move_line(move_head(row), self.sentence(row))


def move_head(row: MoveRow) -> MoveHead:
    """A move and its state as an answer has it."""
    return MoveHead(
        id=row.id, unit=row.move.key, to_space=row.move.to_space, bytes=row.move.size_bytes, state=row.state
    )


def move_line(move: MoveHead, said: str) -> str:
    """A move and its state in one line.

    Args:
        move: the move.
        said: what there is to say about it; "" for nothing.
    """
    return f"move {move.id}: {move.unit} to {move.to_space}, {state_text(move.state)}{': ' if said else ''}{said}"


def under_way_of(ledger: Ledger, database: DatabaseConfig, now: datetime) -> UnderWay:
    """What the ledger tells now."""
    running = ledger.state.load_document(database.name, PROGRESS)
    waiting = ledger.state.load_document(database.name, WAITING_MOVES)
    return UnderWay(
        running=None if running is None else progress_from_document(running[1], now),
        waiting={} if waiting is None else waiting[1],
        requests=ledger.requests.in_force(database.name),
        closed=tuple(ledger.arrivals.rows(database.name)),
        window=_window(database, now),
        open_now=database.calendar.contains(now),
    )


def under_way_shown(under_way: UnderWay) -> MovesUnderWay:
    """The same as answers have it."""
    return MovesUnderWay(
        window=WindowShown(open=under_way.open_now, sentence=under_way.window),
        running=None if under_way.running is None else _progress(under_way.running),
        waiting=tuple(MoveWaiting(move=int(number), why=why) for number, why in under_way.waiting.items()),
        asks=tuple(
            RequestInForce(
                move=request.move_id, kind=request.kind, who=request.who, reason=request.reason or None,
                at=request.at, answer=request.answer or None,
            )
            for request in under_way.requests.values()
        ),
        closed_spaces=tuple(
            SpaceWithoutArrivals(space=row.space, who=row.who, reason=row.reason or None, at=row.at)
            for row in under_way.closed
        ),
    )  # fmt: skip


def _progress(running: RunningMove) -> MoveProgress:
    return MoveProgress(
        move=running.move,
        unit=running.unit,
        to_space=running.to_space,
        done_bytes=running.done_bytes,
        total_bytes=running.total_bytes,
        done_ratio=running.ratio,
        left_seconds=running.left_seconds,
        sentence=running.sentence or None,
        at=running.at,
    )


def progress_text(running: RunningMove) -> str:
    """A bar, bytes, the time left and what the engine is at, in one line: what is copied may still wait for a lock."""
    if running.ratio is None or running.done_bytes is None:
        return running.sentence or "runs; the engine does not tell how far it is"
    filled = round(BAR * min(1.0, running.ratio))
    left = running.left_seconds
    return (
        f"[{'#' * filled}{'.' * (BAR - filled)}] {format_ratio(running.ratio)}, {format_bytes(running.done_bytes)} of "
        f"{format_bytes(running.total_bytes)}{'' if left is None else f', about {format_seconds(left)} left'}"
        f"{'; ' if running.sentence else ''}{running.sentence.replace(f': {running.unit} to {running.to_space}', '')}"
    )


def _window(database: DatabaseConfig, now: datetime) -> str:
    calendar = database.calendar
    if calendar.always:
        return "moves may run at any time"
    if calendar.contains(now):
        closes = calendar.closes_at(now)
        return f"moves may run until {format_when(closes, calendar.zone)}" if closes else "moves may run"
    opens = calendar.opens_at(now)
    return (
        "no window opens within a year" if opens is None else f"moves may run from {format_when(opens, calendar.zone)}"
    )


def trace_sentence(mark: TraceMark, figures: TraceFigures, now: datetime, *, sampled: bool) -> str:
    """Whether demand is collected, until when, and how much there is.

    Args:
        mark: what was asked for.
        figures: what was collected.
        now: the present time.
        sampled: a daemon samples the database.
    """
    collected = f"{figures.intervals} intervals, {format_seconds(figures.seconds)} collected"
    if not mark.on or (mark.until is not None and now >= mark.until):
        return f"trace is off: {collected}"
    end = "" if mark.until is None else f" until {format_when(mark.until)}"
    by = "" if sampled else "; no daemon samples this database, start it with: hotplace run"
    return f"trace is on{end}: {collected}{by}"


def trace_shown(mark: TraceMark, figures: TraceFigures) -> TraceShown:
    """The same as answers have it."""
    return TraceShown(
        on=mark.on,
        since=mark.since,
        until=mark.until,
        who=mark.who or None,
        intervals=figures.intervals,
        seconds=figures.seconds,
        last=figures.last,
    )
