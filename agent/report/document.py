"""The report as an answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent.answers.report import (
    AuditReported,
    ClosedSpaceReported,
    DatabaseReported,
    DecisionReported,
    MoveReported,
    PinReported,
    ProposalReported,
    ReportFiles,
    StatementReported,
)
from agent.ledger import AuditRow
from agent.model.states import IN_PLACE
from agent.report.content import MoveRecord, ProposalRecord, Report
from agent.terminal.throughput import forecast_shown
from agent.terminal.wording import outcome_shown

if TYPE_CHECKING:
    from agent.report.figures import ReportFigures


def database_reported(
    report: Report, figures: ReportFigures, *, html: Path | None = None, markdown: Path | None = None
) -> DatabaseReported:
    """The report with the figures of the pictures, and the files that it was written to."""
    from agent.report.figures import figures_reported  # it brings arrays, which the plain page goes without

    return DatabaseReported(
        database=report.database,
        since=report.since,
        until=report.until,
        totals=report.totals,
        proposals=tuple(_proposal_reported(proposal) for proposal in report.proposals),
        pins=tuple(
            PinReported(unit=pin.pattern, pin=pin.pin.name.lower(), who=pin.who, reason=pin.reason, until=pin.until)
            for pin in report.pins
        ),
        closed_spaces=tuple(
            ClosedSpaceReported(space=row.space, who=row.who, reason=row.reason, at=row.at) for row in report.closed
        ),
        advice=report.advice,
        audit=AuditReported(
            ok=report.audit.ok, rows=report.audit.rows, head=report.audit.head, sentence=report.audit.sentence
        ),
        figures=figures_reported(figures),
        files=ReportFiles(
            html=None if html is None else str(html), markdown=None if markdown is None else str(markdown)
        ),
    )


def _proposal_reported(proposal: ProposalRecord) -> ProposalReported:
    row = proposal.row
    return ProposalReported(
        id=row.id,
        digest=row.digest,
        state=row.state,
        created_at=row.proposal.created_at,
        wait_saved_per_hour_seconds=row.proposal.wait_saved_per_hour,
        forecast=forecast_shown(row.proposal.forecast),
        bytes=row.proposal.bytes_moved,
        decisions=tuple(map(_decision_reported, proposal.decisions)),
        moves=tuple(map(_move_reported, proposal.moves)),
    )


def _decision_reported(decision: AuditRow) -> DecisionReported:
    facts = decision.facts
    return DecisionReported(
        at=decision.at,
        event=decision.event,
        who=facts.get("who"),
        origin=facts.get("origin"),
        reason=facts.get("reason") or None,
        digest=facts.get("digest"),
    )


def _move_reported(move: MoveRecord) -> MoveReported:
    return MoveReported(
        id=move.row.id,
        unit=move.row.move.key,
        from_space=move.row.move.from_space,
        to_space=move.row.move.to_space,
        bytes=move.row.move.size_bytes,
        state=move.row.state,
        placed=move.row.state in IN_PLACE,
        reason=move.row.reason,
        started_at=move.started_at,
        ended_at=move.ended_at,
        copy_seconds=move.copy_seconds if move.copy_complete or move.copy_seconds else None,
        copy_complete=move.copy_complete,
        statements=tuple(StatementReported(sql=step.sql, state=step.state, at=step.intended_at) for step in move.steps),
        if_interrupted=tuple(sql for step in move.row.move.route.tidy_steps for sql in step.statements),
        outcome=outcome_shown(move.outcome.outcome) if move.outcome is not None else None,
    )
