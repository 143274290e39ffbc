"""What ``report`` answers: what was proposed, decided, moved and measured in a time; read from the ledger alone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from agent.model.answers.kind import answer
from agent.model.answers.outcomes import OutcomeShown
from agent.model.answers.plans import ForecastShown
from agent.model.answers.sizing import CurveShown
from agent.model.answers.summary import DecisionSummary
from agent.model.answers.units import AdviceShown
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import MoveState, ProposalState


@answer
class ReportTotals:
    """Sums over the time of a report."""

    proposals: int
    proposals_by_state: Mapping[ProposalState, int]
    moves: int
    moves_by_state: Mapping[MoveState, int]
    bytes_moved: int
    copy_seconds: float
    """How long statements ran, as far as their ends are known."""
    copy_complete: bool
    """Whether the end of every statement is known."""
    outcomes_by_verdict: Mapping[OutcomeVerdict, int]
    """Of proposals: their moves are measured together."""
    undo_outcomes_by_verdict: Mapping[OutcomeVerdict, int]


@answer
class DecisionReported:
    """What a person decided on a proposal or a move."""

    id: int
    """Of the link in the audit chain that holds it."""
    at: datetime
    event: str
    subject: str
    """What was decided on: ``proposal 3``, or one of its moves as ``move 7``."""
    who: str | None
    origin: str | None
    reason: str | None
    digest: str | None


@answer
class StatementReported:
    """A statement that was sent."""

    sql: str
    state: str
    """intended, done, paused, failed or unknown."""
    detail: str
    """What came back: an error, or what was found in its place; "" where nothing was."""
    at: datetime


@answer
class MoveReported:
    """A move with what was sent for it, and what came of it."""

    id: int
    unit: str
    from_space: str
    to_space: str
    bytes: int
    state: MoveState
    placed: bool
    """Whether the unit is in the target now."""
    reason: str
    started_at: datetime | None
    ended_at: datetime | None
    copy_seconds: float | None
    """Null: not known."""
    copy_complete: bool
    statements: tuple[StatementReported, ...]
    if_interrupted: tuple[str, ...]
    """Statements that were approved for the case that an attempt is interrupted."""
    not_needed: tuple[str, ...]
    """Lines of those that were not sent; names that one may have instead stand behind it."""
    outcome: OutcomeShown | None
    """Of all moves of its proposal."""


@answer
class ProposalReported:
    """A proposal with who decided what about it."""

    id: int
    digest: str
    state: ProposalState
    created_at: datetime
    wait_saved_per_hour_seconds: float
    forecast: ForecastShown | None
    summary: DecisionSummary
    measured: str
    """Throughput and latency before and after its moves, next to the forecast; "" where nothing was measured."""
    statements_compared: tuple[str, ...]
    """What became of single statements, by their ids, the worst first; empty where none were compared."""
    bytes: int
    decisions: tuple[DecisionReported, ...]
    """The oldest first."""
    moves: tuple[MoveReported, ...]


@answer
class PinReported:
    """A pin that a person set."""

    unit: str
    """Key or pattern."""
    pin: str
    who: str
    reason: str
    until: datetime | None
    """Null: until it is removed."""


@answer
class ClosedSpaceReported:
    """A space that nothing may be brought to."""

    space: str
    who: str
    reason: str
    at: datetime


@answer
class AuditReported:
    """Whether the audit chain holds, and its head."""

    ok: bool
    rows: int
    head: str
    sentence: str


@answer
class WaitsAt:
    """How many sessions waited for reads on average in the while that ends then."""

    at: datetime
    waiting_sessions: float
    transactions_per_second: float


@answer
class TierFillAt:
    """How full tiers were."""

    at: datetime
    used_bytes: Mapping[str, int]
    capacity_bytes: Mapping[str, int | None]
    """Null: not known of a space of the tier."""


@answer
class UnitOverTime:
    """Reads that sessions waited for, of one unit in each cell; null: nothing was sampled."""

    unit: str
    sync_reads_per_second: tuple[float, ...]


@answer
class HottestUnits:
    """The units with most reads that sessions waited for."""

    starts: tuple[datetime, ...]
    """Of cells."""
    cell_seconds: float
    units: tuple[UnitOverTime, ...]


@answer
class PlaceOverTime:
    """Reads of one place inside a unit, which is as large as any other, in each cell."""

    from_bytes: int
    reads_per_second: tuple[float, ...]


@answer
class InsideOverTime:
    """Reads from storage inside the unit that was read most of those that were looked into."""

    unit: str
    starts: tuple[datetime, ...]
    """Of cells; there are gaps where no look was taken."""
    cell_seconds: float
    places: tuple[PlaceOverTime, ...]


@answer
class ReadWaitChange:
    """What sessions waited for one read of what a move has moved."""

    move: int
    unit: str
    before_seconds: float
    after_seconds: float


@answer
class SavedInterval:
    """Share of the wait that is saved, with the interval that holds it in 90 of 100 cases."""

    saved_ratio: float
    saved_ratio_low: float
    saved_ratio_high: float


@answer
class PredictionReported:
    """What was predicted of moves that were measured together, and what was measured."""

    moves: tuple[int, ...]
    verdict: OutcomeVerdict
    undo: bool
    predicted: SavedInterval
    measured: SavedInterval


@answer
class SessionsSpent:
    """How many sessions are at one thing, on average."""

    what: str
    kind: str
    """tier, log, temp, undo or other."""
    sessions: float


@answer
class FiguresReported:
    """The figures of every picture; empty or null where the ledger has too little for one."""

    waits: tuple[WaitsAt, ...]
    tier_fill: tuple[TierFillAt, ...]
    hottest_units: HottestUnits
    inside: InsideOverTime | None
    """Null: no unit was looked into."""
    wait_per_read: tuple[ReadWaitChange, ...]
    predictions: tuple[PredictionReported, ...]
    sessions_by_what: tuple[SessionsSpent, ...]
    """By the last plan, the longest first."""
    sizing: CurveShown | None


NO_FIGURES = FiguresReported(  # of a report without pictures
    waits=(), tier_fill=(), hottest_units=HottestUnits(starts=(), cell_seconds=0.0, units=()), inside=None,
    wait_per_read=(), predictions=(), sessions_by_what=(), sizing=None,
)  # fmt: skip


@answer
class ReportFiles:
    """Files that the report was written to; null: not asked for."""

    html: str | None
    markdown: str | None


@answer
class DatabaseReported:
    """The report on one database."""

    database: str
    since: datetime
    until: datetime
    result: str
    """What came of the last proposal that was measured."""
    totals: ReportTotals
    proposals: tuple[ProposalReported, ...]
    """Made in the time or decided in it, the oldest first."""
    pins: tuple[PinReported, ...]
    closed_spaces: tuple[ClosedSpaceReported, ...]
    advice: tuple[AdviceShown, ...]
    """Of the last plan."""
    audit: AuditReported
    figures: FiguresReported
    files: ReportFiles


@answer
class FleetReportTotals:
    """What happened to one database, or to all of them."""

    proposals_by_state: Mapping[ProposalState, int]
    approved_bytes: int
    """Of all that was approved, whether it was moved or not."""
    moves_carried_out: int
    moves_not_carried_out: int
    """Approved moves that failed or were skipped."""
    outcomes_by_verdict: Mapping[OutcomeVerdict, int]
    """Of moves, undos left out."""
    undo_outcomes_by_verdict: Mapping[OutcomeVerdict, int]
    measured_wait_saved_per_hour_seconds: float
    """Of moves, undos left out."""


@answer
class DatabaseInFleetReport(FleetReportTotals):
    """What happened to one database."""

    database: str


@answer
class FleetReported:
    """The report on all databases."""

    since: datetime
    until: datetime
    total: FleetReportTotals
    databases: tuple[DatabaseInFleetReport, ...]
    """What hurt first, then what saved most."""
    not_seen: tuple[str, ...]
    """Configured databases that this login may not see: nothing is known of them here."""
