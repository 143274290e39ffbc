"""``report --all``: one page about all databases since a day."""

from __future__ import annotations

from datetime import datetime

from agent.answers.kind import extend
from agent.answers.report import DatabaseInFleetReport, FleetReported, FleetReportTotals
from agent.cli.fleet.pages import document_rows, first_rows, say_rest, selection_of
from agent.cli.session import Session
from agent.fleet.reading import read_summaries
from agent.fleet.summary import DatabaseSummary, total_of
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import APPROVED_PROPOSALS, ProposalState
from agent.model.units_of_measure import format_when
from agent.terminal.columns import Column
from connectors.formatting import format_bytes, format_sessions, format_wait

COLUMNS = (
    Column("database", name=True), Column("proposed", number=True, leaves=3), Column("approved", number=True, leaves=2),
    Column("moved", number=True), Column("not moved", number=True, leaves=1), Column("outcomes"),
    Column("saved", number=True),
)  # fmt: skip


def show_report(session: Session, engine: str, begin: datetime, limit: int | None) -> None:
    """Print the page, or the document."""
    summaries = read_summaries(session.ledger, selection_of(session, engine), begin)
    found = [extend(DatabaseInFleetReport, _totals(each), database=each.database) for each in summaries]
    total = _totals(total_of(summaries))
    _print(session, found, total, f"since {format_when(begin)}", limit)
    session.out.document(
        FleetReported(
            since=begin,
            until=session.clock.now(),
            total=total,
            databases=tuple(document_rows(found, limit)),
        )
    )


def _print(
    session: Session, found: list[DatabaseInFleetReport], total: FleetReportTotals, since: str, limit: int | None
) -> None:
    session.out.line(f"{len(found)} databases {since}", style="bold")
    session.out.facts(
        [
            ("proposals", f"{_count(total)}, {_count_approved(total)} of them approved"),
            ("approved bytes", format_bytes(total.approved_bytes)),
            ("moves", f"{total.moves_carried_out} carried out, {total.moves_not_carried_out} not"),
            ("outcomes", _verdicts(total) or "none yet"),
            ("measured", f"{format_wait(total.measured_wait_saved_per_hour_seconds)} saved"),
        ]
    )
    if found:
        rows = first_rows(found, limit)
        session.out.table(COLUMNS, [_cells(each) for each in rows])
        say_rest(session, len(found), len(rows), "databases")


def _count(totals: FleetReportTotals) -> int:
    return sum(totals.proposals_by_state.values())


def _count_approved(totals: FleetReportTotals) -> int:
    return sum(totals.proposals_by_state[state] for state in APPROVED_PROPOSALS)


def _verdicts(totals: FleetReportTotals) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in totals.outcomes_by_verdict.items() if count)


def _cells(each: DatabaseInFleetReport) -> tuple[str, ...]:
    return (
        each.database, str(_count(each)), str(_count_approved(each)), str(each.moves_carried_out),
        str(each.moves_not_carried_out), _verdicts(each), format_sessions(each.measured_wait_saved_per_hour_seconds),
    )  # fmt: skip


def _totals(summary: DatabaseSummary) -> FleetReportTotals:
    return FleetReportTotals(
        proposals_by_state={state: summary.proposals[state] for state in ProposalState},
        approved_bytes=summary.approved_bytes,
        moves_carried_out=summary.moved,
        moves_not_carried_out=summary.not_moved,
        outcomes_by_verdict={verdict: summary.verdicts[verdict] for verdict in OutcomeVerdict},
        measured_wait_saved_per_hour_seconds=summary.saved_per_hour,
    )
