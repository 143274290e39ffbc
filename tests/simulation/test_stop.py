"""``hotplace stop``: what runs ends, and nothing is sent before a person lifts it, whichever agent comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.ledger.errors import Stopped, WrongState
from agent.ledger.ledger import Ledger
from agent.ledger.rows import EVERY
from agent.model.states import MoveState
from tests.simulation.site import Site

BY = {"who": "ann", "origin": "tty1", "reason": "storage fails"}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Approved moves run."""
    return Site(tmp_path)


@pytest.mark.parametrize("name", [EVERY, "sim"])
def test_a_stop_without_an_agent_holds_for_the_next_one(site: Site, name: str) -> None:
    """Of all databases or of this one, written while no agent runs; once lifted, what was approved is carried out."""
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
    before = site.homes()
    with Ledger.open(site.config.ledger.place, site.clock) as ledger:
        assert ledger.stops.begin([name], **BY) == [name]
        assert ledger.stops.begin([name], **BY) == [], "it is stopped already"
    with site.agent() as (watch, ledger):
        watch.act()
        assert site.homes() == before
        assert {row.state for row in ledger.moves.rows(proposal_id=number)} == {MoveState.APPROVED}
        assert ledger.audit.verify().ok
        assert ledger.stops.lift(None, **BY) == [name]
        watch.act()
        assert site.homes() != before


def test_a_stop_of_another_database_stops_nothing_here(site: Site) -> None:
    """Each database has its own."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        before = site.homes()
        ledger.stops.begin(["other"], **BY)
        watch.act()
        assert site.homes() != before


def test_a_stop_ends_what_runs(site: Site) -> None:
    """The running statement is cancelled and the move stays approved; its reason says when it goes on."""
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        before = site.homes()
        begun: list[str] = []

        def stop_soon(event: object) -> None:
            if not begun:
                begun.append(str(event))
                ledger.stops.begin([EVERY], **BY)

        watch.acting._listener = stop_soon
        watch.act()
        first = ledger.moves.rows(proposal_id=number)[0]
        assert begun
        assert (first.state, site.homes()) == (MoveState.APPROVED, before)
        assert "once the stop is lifted" in first.reason
        ledger.stops.lift(None, **BY)
        site.clock.sleep(120)
        watch.act()
        assert site.homes() != before


def test_no_intent_is_journalled_under_a_stop(site: Site) -> None:
    """Asked within the transaction of the intent: no statement is between the question and the journal."""
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        row = ledger.moves.rows(proposal_id=number)[0]
        for state in (MoveState.PRECHECK, MoveState.RUNNING):
            row = ledger.moves.transition(row.id, state, "test")
        ledger.stops.begin(["sim"], **BY)
        with pytest.raises(Stopped, match=r"sim stopped by ann, .*: storage fails") as caught:
            ledger.moves.step_intent(row.id, 1, row.move.route.steps[0].sql)
        assert "hotplace stop --lift --database sim" in caught.value.advice
        assert ledger.moves.steps(row.id) == []


def test_a_stop_of_all_ends_for_all(site: Site) -> None:
    """One database cannot be let go on while all are stopped."""
    with site.agent() as (_, ledger):
        ledger.stops.begin([EVERY], **BY)
        ledger.stops.begin(["sim"], **BY)
        with pytest.raises(WrongState, match=r"all databases of this ledger stopped by ann"):
            ledger.stops.lift(["sim"], **BY)
        assert [row.database for row in ledger.stops.rows()] == [EVERY, "sim"]
        assert ledger.stops.lift(None, **BY) == [EVERY, "sim"]
        assert ledger.stops.rows() == []
