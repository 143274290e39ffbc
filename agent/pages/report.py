"""The report as an answer, and as a page made of that answer.

The report as a page: HTML for a browser and for paper, Markdown for a ticket.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent.ledger.rows import AuditRow
from agent.model.answers.report import (
    NO_FIGURES,
    AuditReported,
    ClosedSpaceReported,
    DatabaseReported,
    DecisionReported,
    FiguresReported,
    MoveReported,
    PinReported,
    ProposalReported,
    ReportFiles,
    StatementReported,
)
from agent.model.states import IN_PLACE
from agent.model.units_of_measure import format_when
from agent.moving.statement_texts import statement_lines
from agent.pages.content import (
    AllOf,
    MoveRecord,
    ProposalRecord,
    Report,
    decision_text,
    moved_text,
    moves_by_state,
    outcomes_text,
    predicted_text,
    summary_lines,
    took_text,
    verdict_text,
    why_text,
)
from agent.terminal.wording import forecast_shown, outcome_shown, state_text
from connectors.model.formatting import format_bytes, format_ratio, format_seconds, printable, shown

if TYPE_CHECKING:
    from jinja2 import Environment

    from agent.pages.figures import ReportFigures


def database_reported(
    report: Report, figures: ReportFigures | None = None, *, html: Path | None = None, markdown: Path | None = None
) -> DatabaseReported:
    """The report with the files that it was written to, and the figures of the pictures; None: without those."""
    return DatabaseReported(
        database=report.database,
        since=report.since,
        until=report.until,
        result=report.result,
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
        figures=NO_FIGURES if figures is None else _figures_reported(figures),
        files=ReportFiles(
            html=None if html is None else str(html), markdown=None if markdown is None else str(markdown)
        ),
    )


def _figures_reported(figures: ReportFigures) -> FiguresReported:
    from agent.pages.figures import figures_reported  # it brings arrays, which the plain page goes without

    return figures_reported(figures)


def _proposal_reported(proposal: ProposalRecord) -> ProposalReported:
    row, outcome = proposal.row, proposal.outcome
    return ProposalReported(
        id=row.id,
        digest=row.digest,
        state=row.state,
        created_at=row.proposal.created_at,
        wait_saved_per_hour_seconds=row.proposal.wait_saved_per_hour,
        forecast=forecast_shown(row.proposal.forecast),
        summary=proposal.summary,
        measured="" if outcome is None else outcome.throughput_sentence,
        statements_compared=() if outcome is None else tuple(statement_lines(outcome, {})),
        bytes=row.proposal.bytes_moved,
        decisions=tuple(map(_decision_reported, proposal.decisions)),
        moves=tuple(map(_move_reported, proposal.moves)),
    )


def _decision_reported(decision: AuditRow) -> DecisionReported:
    facts = decision.facts
    return DecisionReported(
        id=decision.id,
        at=decision.at,
        event=decision.event,
        subject=decision.subject,
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
        statements=tuple(
            StatementReported(sql=step.sql, state=step.state, detail=step.detail, at=step.intended_at)
            for step in move.steps
        ),
        if_interrupted=tuple(sql for step in move.row.move.route.tidy_steps for sql in step.statements),
        not_needed=move.not_needed,
        outcome=outcome_shown(move.outcome.outcome) if move.outcome is not None else None,
    )


def html_page(report: Report, figures: ReportFigures) -> str:
    """One self-contained page without scripts; every text from a database is escaped."""
    from agent.pages.pictures import cards_of, pictures_of
    from agent.pages.plots import VARIABLES  # only a page with pictures needs what draws them

    answer = database_reported(report)
    drawn = {"cards": cards_of(answer, figures), "pictures": pictures_of(report, figures), "colors": VARIABLES}
    return page_environment().get_template("report.html").render(report=answer, all=AllOf(answer), **drawn)


def markdown_page(report: Report) -> str:
    """What was done, as Markdown, without pictures; what would end a cell of a table is escaped."""
    return page_environment().get_template("report.md").render(report=database_reported(report))


def page_environment() -> Environment:
    """Templates of pages; what they show is escaped, control characters too."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape  # only a page needs it

    environment = Environment(
        loader=PackageLoader("agent.pages", "templates"),
        autoescape=select_autoescape(("html",)),  # by the template's name
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "bytes": format_bytes, "seconds": format_seconds, "ratio": format_ratio, "when": format_when,
        "cell": _cell, "code": _code, "shown": shown, "state": state_text, "took": took_text, "why": why_text,
        "verdict": verdict_text, "decision": decision_text, "predicted": predicted_text, "lines": summary_lines,
        "by_state": moves_by_state, "moved": moved_text, "outcomes": outcomes_text,
    }  # fmt: skip
    return environment


def _visible(value: object) -> object:
    """Control characters in names and statements as escapes: a browser, a pager or a terminal would obey them."""
    # By its own type: text already marked as safe for HTML has to stay so, or it would be escaped twice.
    return type(value)(printable(value, keep="\n\t")) if isinstance(value, str) else value


def _cell(value: object) -> str:
    """A text that stays within its cell and means nothing to Markdown."""
    text = " ".join(str(value).split())
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return text


def _code(statement: str) -> str:
    """A statement for an indented block."""
    return "\n".join(f"    {line}" for line in statement.splitlines())
