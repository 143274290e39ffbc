"""A move that the engine can hold: held on request, gone on with, after a crash too, and never twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.ledger import Ledger, StepState
from agent.states import MoveState
from agent.watch import Watch
from connectors.simulated.connector import SimulatedConnector
from tests.simulation.site import Site
from tests.simulation.test_crash import FEW_MOVES, Doomed, Killed, check_truth

SOON = 1.0  # seconds into the first copy


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A simulated shop, three moves at most."""
    return Site(tmp_path, policy=FEW_MOVES)


def hold_soon(site: Site, watch: Watch) -> None:
    """Ask for the running move to be held once its copy has begun."""
    executor = watch.executor
    site.clock.call_later(SOON, lambda: executor.hold("somebody asked"))


def test_a_held_move_waits_and_goes_on(site: Site) -> None:
    """It is PAUSED with the reason, nothing else begins meanwhile, and then it ends like any other."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        hold_soon(site, watch)
        (held,) = watch.act()
        assert (held.state, held.reason) == (MoveState.PAUSED, "somebody asked")
        assert watch.act() == ()
        assert ledger.move(held.id).state is MoveState.PAUSED
        watch.executor.allow()
        watch.act()
        journal = [(step.sql.split()[3], step.state) for step in ledger.steps(held.id)]
        assert journal == [
            ("MOVE", StepState.PAUSED),
            ("PAUSE", StepState.DONE),
            ("RESUME", StepState.DONE),
        ]
    check_truth(site)


def test_going_on_copies_only_the_rest(site: Site) -> None:
    """What was copied before the hold is not copied again: both parts together take the time of the whole."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        hold_soon(site, watch)
        (held,) = watch.act()
        watch.executor.allow()
        watch.act()
        sent, _, again = ledger.steps(held.id)
        assert sent.ended_at is not None
        assert again.ended_at is not None
        parts = (sent.ended_at - sent.intended_at) + (again.ended_at - again.intended_at)
        whole = held.move.size_bytes / 80e6  # half of what the slower device reads, see simulated.workload
        assert parts.total_seconds() == pytest.approx(whole, rel=0.05, abs=0.3)


def test_a_held_move_survives_a_restart(site: Site) -> None:
    """An agent that starts finds it held by the catalog, keeps it PAUSED and goes on with it."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        hold_soon(site, watch)
        (held,) = watch.act()
    with site.agent() as (watch, ledger):
        (found,) = watch.executor.reconcile()
        assert (found.id, found.state) == (held.id, MoveState.PAUSED)
        watch.sample()
        watch.act()
    check_truth(site)


def run(folder: Path, *, at: int = 0, after: bool = False) -> tuple[Site, int]:
    """Hold the first move and go on with it, dying at the given durable point."""
    folder.mkdir()
    site = Site(folder, policy=FEW_MOVES)
    doomed = None
    try:
        with site.agent() as (watch, ledger):
            site.approved(watch, ledger)
            doomed = Doomed(ledger, at=at, after=after)
            hold_soon(site, watch)
            watch.act()
            watch.executor.allow()
            watch.act()
    except Killed:
        pass
    assert doomed is not None
    return site, doomed.count


def test_every_durable_point(tmp_path: Path) -> None:
    """Promise 3 with holding: whatever the point of death, the next run finishes what was approved, once."""
    site, points = run(tmp_path / "whole")
    check_truth(site)
    expected = site.homes()
    for at in range(1, points + 1):
        for after in (False, True):
            site, _ = run(tmp_path / f"{at} {after}", at=at, after=after)
            with site.agent() as (watch, _ledger):
                watch.sample()
                watch.act()
            check_truth(site)
            assert site.homes() == expected, f"killed {'after' if after else 'before'} durable point {at}"


def test_what_cannot_be_held_is_let_finish(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wish to hold changes nothing of a statement that has no way to be held; nothing else begins."""
    online = SimulatedConnector.routes
    monkeypatch.setattr(SimulatedConnector, "routes", lambda *a: r[1:] if isinstance(r := online(*a), tuple) else r)
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        hold_soon(site, watch)
        (first,) = watch.act()
        assert first.state is MoveState.PLACED
        assert [step.state for step in ledger.steps(first.id)] == [StepState.DONE]
        assert _waiting(ledger)


def _waiting(ledger: Ledger) -> list[str]:
    return [row.move.key for row in ledger.moves(database="sim", states={MoveState.APPROVED})]
