"""What a proposal says of the units that it is about, in a few kilobytes that stay.

A whole situation is megabytes and is dropped with the history (``decisions.drop_old_decisions``). For the units that a
proposal moves, and for the hottest others, sentence and numbers are kept for as long as the proposal itself.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from agent.ledger import Ledger
from agent.ledger.state_names import explanation_of_proposal
from connectors.model import I64
from connectors.string_column import StringColumn
from policies.explanation.figures import Figures, figures_of
from policies.explanation.verdicts import explain
from policies.model.plan import Verdict

if TYPE_CHECKING:
    from agent.planning.planner import Planning

MOST_MOVED, MOST_OTHERS = 100, 20  # units that move; of the others, those with the highest benefit
NUMBERS = tuple(field.name for field in fields(Figures) if field.name != "verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedExplanation:
    """Sentences and numbers of the day, one of each for a key."""

    at: datetime
    keys: StringColumn
    sentences: StringColumn
    figures: tuple[Figures, ...]


def archive_explanation(ledger: Ledger, database: str, planning: Planning, number: int) -> None:
    """Store what the proposal of that number says."""
    situation, plan, settings = planning.situation, planning.plan, planning.settings
    rows = _rows_of(planning).tolist()
    figures = [figures_of(situation, plan, row, settings) for row in rows]
    columns = {name: np.array([getattr(each, name) for each in figures], dtype=np.float64) for name in NUMBERS}
    ledger.state.save_arrays(
        database,
        explanation_of_proposal(number),
        planning.made_at,
        {
            **StringColumn.of(situation.units.key[row] for row in rows).arrays("keys"),
            **StringColumn.of(explain(situation, plan, row, settings) for row in rows).arrays("sentences"),
            "verdict": plan.verdict[rows],
            **columns,
        },
    )


def load_archived_explanation(ledger: Ledger, database: str, number: int) -> ArchivedExplanation | None:
    """What the proposal said; None where that is not stored. A number that was not yet stored at that time is NaN."""
    stored = ledger.state.load_arrays(database, explanation_of_proposal(number))
    if stored is None:
        return None
    at, arrays = stored
    count = len(arrays["verdict"])
    columns = {name: arrays.get(name, np.full(count, nan)).tolist() for name in NUMBERS}
    columns["bundle_bytes"] = [int(size) for size in columns["bundle_bytes"]]
    figures = tuple(
        Figures(verdict=Verdict(int(arrays["verdict"][row])), **{name: column[row] for name, column in columns.items()})
        for row in range(count)
    )
    return ArchivedExplanation(
        at=at,
        keys=StringColumn.from_arrays(arrays, "keys"),
        sentences=StringColumn.from_arrays(arrays, "sentences"),
        figures=figures,
    )


def _rows_of(planning: Planning) -> I64:
    moved = [row for move in planning.plan.moves for row in move.rows][:MOST_MOVED]
    hottest = np.argsort(-planning.plan.benefit_per_hour, kind="stable")[: len(moved) + MOST_OTHERS]
    others = hottest[~np.isin(hottest, moved)][:MOST_OTHERS]
    return np.concatenate([np.array(moved, dtype=np.int64), others.astype(np.int64)])
