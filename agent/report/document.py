"""The report as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.model.outcomes import outcome_json
from agent.model.states import IN_PLACE
from agent.report.content import MoveRecord, ProposalRecord, Report
from agent.terminal.throughput import forecast_document

if TYPE_CHECKING:
    from agent.report.figures import ReportFigures


def report_document(report: Report, figures: ReportFigures) -> dict[str, Any]:
    """The same as JSON values, with the figures of the pictures."""
    from agent.report.figures import figures_document  # it brings arrays, which the plain page goes without

    return {
        "database": report.database,
        "since": report.since,
        "until": report.until,
        "totals": report.totals,
        "proposals": [_proposal_document(proposal) for proposal in report.proposals],
        "pins": [
            {"unit": pin.pattern, "pin": pin.pin.name.lower(), "who": pin.who, "reason": pin.reason, "until": pin.until}
            for pin in report.pins
        ],
        "closed_spaces": [{"space": row.space, "who": row.who, "reason": row.reason} for row in report.closed],
        "advice": list(report.advice),
        "audit": {
            "ok": report.audit.ok,
            "rows": report.audit.rows,
            "head": report.audit.head,
            "sentence": report.audit.sentence,
        },
        "figures": figures_document(figures),
    }


def _proposal_document(proposal: ProposalRecord) -> dict[str, Any]:
    row = proposal.row
    return {
        "id": row.id,
        "digest": row.digest,
        "state": row.state,
        "created_at": row.proposal.created_at,
        "wait_saved_per_hour_seconds": row.proposal.wait_saved_per_hour,
        "forecast": forecast_document(row.proposal.forecast),
        "bytes": row.proposal.bytes_moved,
        "decisions": [
            {"at": d.at, "event": d.event, "who": d.facts.get("who"), "origin": d.facts.get("origin"),
             "reason": d.facts.get("reason") or None, "digest": d.facts.get("digest")}
            for d in proposal.decisions
        ],
        "moves": [_move_document(move) for move in proposal.moves],
    }  # fmt: skip


def _move_document(move: MoveRecord) -> dict[str, Any]:
    return {
        "id": move.row.id,
        "unit": move.row.move.key,
        "from_space": move.row.move.from_space,
        "to_space": move.row.move.to_space,
        "bytes": move.row.move.size_bytes,
        "state": move.row.state,
        "placed": move.row.state in IN_PLACE,
        "reason": move.row.reason,
        "started_at": move.started_at,
        "ended_at": move.ended_at,
        "copy_seconds": move.copy_seconds if move.copy_complete or move.copy_seconds else None,
        "copy_complete": move.copy_complete,
        "statements": [{"sql": step.sql, "state": step.state, "at": step.intended_at} for step in move.steps],
        "if_interrupted": [sql for step in move.row.move.route.tidy_steps for sql in step.statements],
        "outcome": outcome_json(move.outcome.outcome) if move.outcome is not None else None,
    }
