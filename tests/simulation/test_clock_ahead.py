"""What happened while the clock ran a year ahead holds up nothing for that year once it was set right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.model.states import MoveState
from agent.planning.situation import with_rest
from connectors.simulated.settings import FaultKind
from tests.simulation.site import MINUTE, Site

YEAR = 365 * 86400.0


@pytest.mark.parametrize("settles_ahead", [False, True])
def test_moves_of_a_clock_that_was_ahead_are_judged(tmp_path: Path, settles_ahead: bool) -> None:
    """Not by times that nobody knows: they stay, and how the next moves are judged and when is as ever."""
    site = Site(tmp_path, policy="maximum_moves: 1, cool_down: 1h")
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        # An approval must not have expired by then; the clock is set while the statement runs.
        site.clock.call_later(1.0, lambda: site.clock.jump(YEAR))
        (row,) = watch.act()
        assert row.state is MoveState.PLACED
        if settles_ahead:
            watch.verify()
        site.clock.jump(-YEAR)
        outcomes: list[Outcome] = []
        for _ in range(12):
            site.clock.sleep(MINUTE)
            watch.sample()
            outcomes += watch.verify()
        (outcome,) = outcomes
        if settles_ahead:
            assert outcome.verdict is OutcomeVerdict.UNMEASURED
        assert ledger.moves.row(row.id).state is MoveState.KEPT
        assert all(at <= site.clock.now() for at in ledger.moves.last_moved("sim").values())
        site.clock.sleep(3600.0)
        watch.sample()
        planning = watch.plan()
        assert planning is not None
        assert float(planning.situation.cooling_seconds.max()) == 0.0
        assert ledger.proposals.row(number).state.value == "finished"


def test_what_failed_ahead_of_the_clock_rests_no_longer(tmp_path: Path) -> None:
    """A unit whose move failed while the clock was a year ahead may be planned again at once, not in a year."""
    site = Site(tmp_path, policy="maximum_moves: 1, cool_down: 1h")
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        site.world.faults.arm(FaultKind.SPACE_FULL)
        (failed,) = watch.act()
        assert failed.state is MoveState.FAILED
        site.observe(watch, 2)
        planning = watch.plan()
        assert planning is not None
        keys = planning.situation.units.key
        fresh = replace(planning.situation, cooling_seconds=np.zeros(len(keys)))

        def rest() -> float:
            now = site.clock.now()
            rested = with_rest(fresh, site.config.database(), ledger, planning.settings, now)
            return float(rested.cooling_seconds[keys.index(failed.move.key)])

        assert rest() > 0.0
        site.clock.jump(-YEAR)
        assert rest() == 0.0
