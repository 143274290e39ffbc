"""``fleet report``: one page about all databases since a day."""

from __future__ import annotations

from typing import Any

from agent.cli.fleet.pages import begin_of, document_rows, first_rows, say_rest, selection_of
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


def show_report(session: Session, engine: str, since: str, limit: int | None) -> None:
    """Print the page, or the document."""
    begin = begin_of(session, since)
    found = read_summaries(session.ledger, selection_of(session, engine), begin)
    total = total_of(found)
    _print(session, found, total, f"since {format_when(begin)}", limit)
    session.out.document(
        {
            "since": begin,
            "until": session.clock.now(),
            "total": _document(total),
            "databases": [{"database": each.database, **_document(each)} for each in document_rows(found, limit)],
        }
    )


def _print(
    session: Session, found: list[DatabaseSummary], total: DatabaseSummary, since: str, limit: int | None
) -> None:
    session.out.line(f"{len(found)} databases {since}", style="bold")
    session.out.facts(
        [
            ("proposals", f"{total.proposals.total()}, {_count_approved(total)} of them approved"),
            ("approved bytes", format_bytes(total.approved_bytes)),
            ("moves", f"{total.moved} carried out, {total.not_moved} not"),
            ("outcomes", _verdicts(total) or "none yet"),
            ("measured", f"{format_wait(total.saved_per_hour)} saved"),
        ]
    )
    if found:
        rows = first_rows(found, limit)
        session.out.table(COLUMNS, [_cells(each) for each in rows])
        say_rest(session, len(found), len(rows), "databases")


def _count_approved(summary: DatabaseSummary) -> int:
    return sum(summary.proposals[state] for state in APPROVED_PROPOSALS)


def _verdicts(summary: DatabaseSummary) -> str:
    return ", ".join(f"{summary.verdicts[each]} {each}" for each in OutcomeVerdict if summary.verdicts[each])


def _cells(each: DatabaseSummary) -> tuple[str, ...]:
    return (
        each.database, str(each.proposals.total()), str(_count_approved(each)), str(each.moved), str(each.not_moved),
        _verdicts(each), format_sessions(each.saved_per_hour),
    )  # fmt: skip


def _document(summary: DatabaseSummary) -> dict[str, Any]:
    return {
        "proposals_by_state": {state.value: summary.proposals[state] for state in ProposalState},
        "approved_bytes": summary.approved_bytes,
        "moves_carried_out": summary.moved,
        "moves_not_carried_out": summary.not_moved,
        "outcomes_by_verdict": {verdict.value: summary.verdicts[verdict] for verdict in OutcomeVerdict},
        "measured_wait_saved_per_hour_seconds": summary.saved_per_hour,
    }
