"""``outcomes --calibration``: predicted against measured, and what the errors teach."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from agent.ledger.ledger import Ledger
from agent.model.proposals import UNDO
from agent.model.states import MoveState
from agent.moving.verifier import measure
from agent.sampling.prediction_errors import past_predictions
from agent.terminal.text_plots import COLUMNS, ROWS, scatter
from connectors.model.observation import DatabaseDemand
from policies.model.moves import ALL, learn_errors
from tests.cli.site import Site
from tests.cli.test_report import carried_out
from tests.ledger.clock import StillClock
from tests.unit.samples import a_move, a_proposal, an_effect

ENDS = MoveState.PRECHECK, MoveState.RUNNING, MoveState.PLACED
DEMAND = DatabaseDemand(reads=1000.0, read_wait=4.0, transactions=100.0, active=5.0)


def measured(ledger: Ledger, change: float | None, *, undo: bool = False, database: str) -> None:
    """One proposal that predicts 75 % less wait, between 60 and 85 %, and what came of it."""
    move = a_move(key=f"public.t{change}")
    move = replace(move, reason=UNDO, undoes=1) if undo else move
    proposal = a_proposal(move, database=database, saved_ratio_low=0.6, saved_ratio_high=0.85)
    number = carried_out(ledger, ledger.proposals.store(proposal), *ENDS)
    effect = None if change is None else an_effect(change)
    ledger.moves.record_outcome(number, measure(proposal, DEMAND, DEMAND, 60.0, effect=effect))


def test_predicted_against_measured(site: Site) -> None:
    """Two outcomes of tables: one as predicted, one that saved half as much; undos and unknown effects are left out."""
    name = str(site.good("status", "--json").document["databases"][0]["database"])
    with Ledger.open(site.ledger_path, StillClock()) as ledger:
        measured(ledger, -0.75, database=name)
        measured(ledger, -0.375, database=name)
        measured(ledger, None, database=name)
        measured(ledger, 0.3, undo=True, database=name)
    found = site.good("outcomes", "--calibration", "--json").document
    assert [point["measured_saved_ratio"] for point in found["points"]] == pytest.approx([0.375, 0.75])
    assert [point["as_predicted"] for point in found["points"]] == [False, True]
    assert (found["intervals_held"], found["intervals_known"]) == (1, 2)
    errors = {error["unit_kind"]: error for error in found["errors"]}
    assert errors["table"]["outcomes"] == 2
    assert errors["table"]["error_ratio"] == pytest.approx(math.log(0.625 / 0.25) / math.sqrt(2), rel=0.01)
    text = site.good("outcomes", "--calibration").out
    assert text.count("o") > 2
    assert "1 of 2 outcomes lie in their predicted interval" in text
    assert "all moves" in text


def test_nothing_measured_is_said(site: Site) -> None:
    """An empty ledger has no plot."""
    done = site.good("outcomes", "--calibration")
    assert "no outcome of a predicted proposal" in done.out
    assert site.good("outcomes", "--calibration", "--json").document["points"] == []


def test_what_is_learnt_comes_from_the_ledger(site: Site) -> None:
    """The planner reads the same predictions."""
    with Ledger.open(site.ledger_path, StillClock()) as ledger:
        measured(ledger, -0.375, database="shop")
        (past,) = past_predictions(ledger, "shop")
        assert past.residual.kinds == {("table", "hdd", "ssd"): 1.0}
        (everything, table) = learn_errors([past.residual])
    assert everything.kind == ALL
    assert table.squares == everything.squares > 0.5


def test_the_plot_shows_points_and_diagonal() -> None:
    """As predicted lies on the diagonal, less is below it, two at one place are marked, harm is below nothing."""
    lines = scatter([(0.0, 0.0), (1.0, 1.0), (1.0, 1.0), (1.0, 0.0)], "x", "y")
    plot = [line.split("|", 1)[1] for line in lines[:ROWS]]
    assert plot[0][COLUMNS - 1] == "@"
    assert plot[-1][0] == "o"
    assert plot[-1][COLUMNS - 1] == "o"
    assert plot[ROWS // 2].strip(" ").startswith(".")
    assert lines[0].startswith(" 100%")
    harmed = scatter([(0.5, -0.5)], "x", "y")
    assert harmed[ROWS - 1].strip().startswith("-50%")
