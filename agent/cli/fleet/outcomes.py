"""``outcomes --all``: what was measured after moves anywhere, what hurt first."""

from __future__ import annotations

import math

from agent.answers.outcomes import OutcomeAnywhere, OutcomesAnywhere
from agent.cli.fleet.pages import document_rows, first_rows, say_rest, selection_of
from agent.cli.options import begin_of
from agent.cli.session import Session
from agent.fleet.reading import read_outcomes
from agent.fleet.worth import measured_saved_per_hour
from agent.ledger import OutcomeRow
from agent.model.units_of_measure import format_when
from agent.terminal.columns import Column
from connectors.formatting import format_sessions

COLUMNS = (
    Column("proposal", number=True), Column("database", name=True), Column("verdict"),
    Column("predicted", number=True), Column("measured", number=True), Column("measured at", leaves=1),
)  # fmt: skip


def show_outcomes(session: Session, engine: str, since: str, limit: int | None) -> None:
    """Print the list, or the document."""
    begin = begin_of(since, session.clock)
    rows = read_outcomes(session.ledger, selection_of(session, engine), begin)
    if rows:
        here = first_rows(rows, limit)
        session.out.table(COLUMNS, [_cells(_outcome_anywhere(row), row.outcome.judged) for row in here])
        say_rest(session, len(rows), len(here), "outcomes")
        session.out.line("predicted, measured: sessions that no longer wait, on average")
    else:
        session.out.line(f"nothing was measured in any such database since {format_when(begin)}")
    listed = tuple(_outcome_anywhere(row) for row in document_rows(rows, limit))
    session.out.document(OutcomesAnywhere(since=begin, outcomes=listed))


def _cells(outcome: OutcomeAnywhere, judged: str) -> tuple[str, ...]:
    saved = outcome.measured_wait_saved_per_hour_seconds
    return (
        str(outcome.proposal), outcome.database, judged,
        format_sessions(outcome.predicted_wait_saved_per_hour_seconds),
        "-" if math.isnan(saved) else format_sessions(saved), format_when(outcome.measured_at),
    )  # fmt: skip


def _outcome_anywhere(row: OutcomeRow) -> OutcomeAnywhere:
    return OutcomeAnywhere(
        proposal=row.proposal_id,
        database=row.database,
        measured_at=row.at,
        verdict=row.outcome.verdict,
        undo=row.outcome.undo,
        predicted_wait_saved_per_hour_seconds=row.outcome.predicted_wait_saved_per_hour,
        measured_wait_saved_per_hour_seconds=measured_saved_per_hour(row),
        sentence=row.outcome.sentence,
    )
