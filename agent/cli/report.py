"""What do I show the auditor and the storage architect? ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.options import AllDatabases, Engine, Limit, begin_of, refuse, refuse_without_all
from agent.cli.session import Session
from agent.model.answers.report import DatabaseReported, ProposalReported
from agent.model.units_of_measure import format_when
from agent.pages.content import (
    Report,
    counted,
    decision_text,
    moved_text,
    moves_by_state,
    outcomes_text,
    report_of,
    summary_lines,
    took_text,
    verdict_text,
)
from agent.pages.report import database_reported, html_page, markdown_page
from agent.terminal.columns import Column
from agent.terminal.errors import ExitCode, write_file
from agent.terminal.output import Output
from connectors.model.formatting import format_bytes

if TYPE_CHECKING:
    from agent.pages.figures import ReportFigures

COLUMNS = (
    Column("move", number=True), Column("unit", name=True), Column("to"), Column("size", number=True), Column("state"),
    Column("took", number=True, leaves=1), Column("outcome"),
)  # fmt: skip


@command(HelpGroup.LOOK_BACK, "hotplace report --since 90d --html report.html", reads=True)
def report(
    session: Session,
    since: Annotated[str, typer.Option(metavar="DURATION", help="How far back.")] = "30d",
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write it as a page with pictures.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Also write it as Markdown.")
    ] = None,
    everything: AllDatabases = False,
    engine: Engine = "",
    limit: Limit = None,
) -> ExitCode:
    """One page of what was proposed, approved by whom, moved and measured; asks the ledger alone."""
    begin = begin_of(since, session.clock)
    if everything:
        from agent.cli.fleet import show_report

        refuse({"--html": html, "--markdown": markdown}, "it takes no --all")
        show_report(session, engine, begin, limit)
        return ExitCode.OK
    refuse_without_all({"--engine": engine, "--limit": limit})
    found = report_of(session.ledger, session.database.name, begin, session.clock.now())
    figures = _figures(session, found) if html is not None or session.out.as_json else None
    if html is not None and figures is not None:
        write_file(html, html_page(found, figures))
    if markdown is not None:
        write_file(markdown, markdown_page(found))
    answer = database_reported(found, figures if session.out.as_json else None, html=html, markdown=markdown)
    if session.out.as_json:
        session.out.document(answer)
    else:  # as long as all the rest where moves are many
        _print(session.out, answer)
    return ExitCode.OK if found.audit.ok else ExitCode.LEDGER_UNUSABLE


def _figures(session: Session, found: Report) -> ReportFigures:
    """What pictures show: asked for only where they are, since it brings arrays and the policies."""
    from agent.pages.figures import figures_of

    return figures_of(session.ledger, found)


def _print(out: Output, found: DatabaseReported) -> None:
    totals = found.totals
    if not found.audit.ok:
        out.line(f"{found.audit.sentence}: do not rely on this report; see hotplace audit verify", style="bold red")
    out.line(f"{found.database}, {format_when(found.since)} to {format_when(found.until)}", style="bold")
    out.facts(
        [
            ("result", found.result),
            ("proposals", counted(totals.proposals_by_state)),
            ("moves", counted(moves_by_state(totals))),
            ("moved", moved_text(totals)),
            ("outcomes", outcomes_text(totals)),
            ("audit chain", f"{found.audit.sentence}; head {found.audit.head}"),
        ]
    )
    for proposal in found.proposals:
        _print_proposal(out, proposal)
    if found.advice:
        out.heading("advice other than moves, from the last plan")
    for each in found.advice:
        out.line(f"{each.code}: {each.sentence}")
    for path in (found.files.html, found.files.markdown):
        if path is not None:
            out.line(f"written: {path}")


def _print_proposal(out: Output, proposal: ProposalReported) -> None:
    out.heading(
        f"proposal {proposal.id} of {format_when(proposal.created_at)}, {proposal.state}, digest {proposal.digest}"
    )
    for decision in proposal.decisions:
        out.line(f"{format_when(decision.at)}: {decision_text(decision)}")
    if summary_lines(proposal):
        out.facts([(line.name, line.text) for line in proposal.summary.lines])
    if proposal.measured:
        out.line(f"measured: {proposal.measured}")
    cells = [
        (
            str(move.id), move.unit, move.to_space, format_bytes(move.bytes), move.state.value, took_text(move),
            verdict_text(move),
        )
        for move in proposal.moves
    ]  # fmt: skip
    out.table(COLUMNS, cells)
