"""``fleet outcomes``: what was measured after moves anywhere, what hurt first."""

from __future__ import annotations

import math
from typing import Any

from agent.cli.fleet.pages import begin_of, document_rows, first_rows, say_rest, selection_of
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
    begin = begin_of(session, since)
    rows = read_outcomes(session.ledger, selection_of(session, engine), begin)
    if rows:
        here = first_rows(rows, limit)
        session.out.table(COLUMNS, [_cells(row) for row in here])
        say_rest(session, len(rows), len(here), "outcomes")
        session.out.line("predicted, measured: sessions that no longer wait, on average")
    else:
        session.out.line(f"nothing was measured in any such database since {format_when(begin)}")
    session.out.document({"since": begin, "outcomes": [_document(row) for row in document_rows(rows, limit)]})


def _cells(row: OutcomeRow) -> tuple[str, ...]:
    saved = measured_saved_per_hour(row)
    return (
        str(row.proposal_id), row.database, row.outcome.judged,
        format_sessions(row.outcome.predicted_wait_saved_per_hour),
        "-" if math.isnan(saved) else format_sessions(saved), format_when(row.at),
    )  # fmt: skip


def _document(row: OutcomeRow) -> dict[str, Any]:
    return {
        "proposal": row.proposal_id,
        "database": row.database,
        "measured_at": row.at,
        "verdict": row.outcome.verdict,
        "undo": row.outcome.undo,
        "predicted_wait_saved_per_hour_seconds": row.outcome.predicted_wait_saved_per_hour,
        "measured_wait_saved_per_hour_seconds": measured_saved_per_hour(row),
        "sentence": row.outcome.sentence,
    }
