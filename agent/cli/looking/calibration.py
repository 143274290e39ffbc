"""How good were predictions? ``outcomes --calibration``: a plot, errors by kind of move, how often intervals held."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agent.answers.outcomes import Calibration, ErrorLearnt, PredictionChecked
from agent.budget.prediction_errors import PastPrediction, past_predictions
from agent.cli.session import Session
from agent.terminal.columns import Column
from agent.terminal.scatter import scatter
from connectors.formatting import format_ratio
from policies.model.prediction_error import ALL, PredictionError, learn_errors

KIND_COLUMNS = (
    Column("moves of"), Column("from"), Column("to"), Column("outcomes", number=True),
    Column("error", number=True),
)  # fmt: skip


def show_calibration(session: Session) -> None:
    """Print it; ``--json`` gives the points and the errors."""
    past = list(past_predictions(session.ledger, session.database.name))
    errors = learn_errors(each.residual for each in past)
    if past:
        points = [(each.residual.predicted, each.residual.measured) for each in past]
        for line in scatter(points, "saved as predicted", "as measured"):
            session.out.line(line)
        session.out.table(KIND_COLUMNS, [_cells(error) for error in errors])
        session.out.line(_held_sentence(past))
    else:
        session.out.line("no outcome of a predicted proposal was measured for the same work yet")
    held, known = _count_held(past)
    session.out.document(
        Calibration(
            database=session.database.name,
            engine=session.database.engine,
            points=tuple(_checked(each) for each in past),
            errors=tuple(_learnt(error) for error in errors),
            intervals_known=known,
            intervals_held=held,
        )
    )


def _count_held(past: Sequence[PastPrediction]) -> tuple[int, int]:
    """How many outcomes lie in their predicted interval, and how many had one."""
    known = [each.outcome.as_predicted for each in past if each.outcome.as_predicted is not None]
    return sum(known), len(known)


def _held_sentence(past: Sequence[PastPrediction]) -> str:
    held, known = _count_held(past)
    return f"{held} of {known} outcomes lie in their predicted interval; errors are learnt, and feed the next intervals"


def _root_mean_square(error: PredictionError) -> float:
    return math.sqrt(error.squares / error.count) if error.count > 0 else math.nan


def _cells(error: PredictionError) -> tuple[str, ...]:
    kind = ("all moves", "", "") if error.kind == ALL else error.kind
    return (*kind, f"{error.count:.1f}".removesuffix(".0"), format_ratio(_root_mean_square(error)))


def _learnt(error: PredictionError) -> ErrorLearnt:
    return ErrorLearnt(
        unit_kind=error.unit_kind or None,
        from_tier=error.from_tier or None,
        to_tier=error.to_tier or None,
        outcomes=error.count,
        error_ratio=_root_mean_square(error),
    )


def _checked(past: PastPrediction) -> PredictionChecked:
    outcome = past.outcome
    return PredictionChecked(
        proposal=past.proposal_id,
        measured_at=past.measured_at,
        predicted_saved_ratio=outcome.predicted_saved_ratio,
        predicted_low=outcome.predicted_saved_ratio_low,
        predicted_high=outcome.predicted_saved_ratio_high,
        measured_saved_ratio=outcome.saved_ratio,
        measured_low=-outcome.change_high,
        measured_high=-outcome.change_low,
        as_predicted=outcome.as_predicted,
        verdict=outcome.verdict,
    )
