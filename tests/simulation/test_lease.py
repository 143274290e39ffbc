"""Promise 10, statement by statement: who has lost the lease sends nothing more, whatever the statement is for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.rows import RequestKind
from agent.model.states import MoveState
from agent.service.watch import Watch
from connectors.kit.contract import LeaseHeld
from connectors.simulated.connector import SimulatedConnector
from tests.simulation.site import Site
from tests.simulation.test_crash import FEW_MOVES
from tests.simulation.test_pausing import ask, ask_soon


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A simulated shop, three moves at most."""
    return Site(tmp_path, policy=FEW_MOVES)


def take_over(site: Site, watch: Watch) -> None:
    """The lease goes to another agent, as after a failover."""
    assert watch.leasing.of_engine is not None
    watch.leasing.of_engine.release()
    site.world.lease("another agent")


def before_next_look(monkeypatch: pytest.MonkeyPatch, action: Callable[[], None]) -> None:
    """Do something once, just before the executor next asks the catalog where a move stands."""
    original = SimulatedConnector.inspect
    to_do = [action]

    def inspect(self: SimulatedConnector, *arguments: Any) -> Any:
        if to_do:
            to_do.pop()()
        return original(self, *arguments)

    monkeypatch.setattr(SimulatedConnector, "inspect", inspect)


def journal(ledger: Ledger) -> list[str]:
    """Every statement that was sent, or about to be."""
    return [step.sql for row in ledger.moves.rows(database="sim") for step in ledger.moves.steps(row.id)]


def test_a_second_agent_hears_the_process_of_the_first(site: Site) -> None:
    """Whoever finds the lock taken looks for a process of an agent, not for one of the server."""
    with site.agent() as (watch, _):
        watch.leasing.hold()
        assert site.world.leased_to.startswith(f"agent pid {os.getpid()} ")
        with pytest.raises(LeaseHeld, match=rf"agent pid {os.getpid()} \w+ for sim acts on this database"):
            site.world.lease("a second one")


def test_without_the_lease_nothing_begins(site: Site) -> None:
    """While another agent acts, no state of a move changes and no statement is journalled."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        site.world.lease("another agent")
        with pytest.raises(LeaseHeld, match="another agent"):
            watch.act()
        assert {row.state for row in ledger.moves.rows(database="sim")} == {MoveState.APPROVED}
        assert journal(ledger) == []
        site.world.unlease()


def test_without_the_lease_nothing_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What rolls a held move back is a statement like any other: the other agent may have gone on with the move."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        ask_soon(site, ledger, RequestKind.PAUSE)
        (held,) = watch.act()
        before = journal(ledger)
        ask(ledger, RequestKind.CANCEL)
        before_next_look(monkeypatch, lambda: take_over(site, watch))
        with pytest.raises(LeaseHeld, match="another agent"):
            watch.act()
        assert journal(ledger) == before
        assert ledger.moves.row(held.id).state is MoveState.PAUSED
        site.world.unlease()


def test_without_the_lease_nothing_is_held(site: Site) -> None:
    """An order to hold what runs is a statement of a session of its own; the copy goes on to its end."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        site.clock.call_later(0.5, lambda: take_over(site, watch))
        ask_soon(site, ledger, RequestKind.PAUSE)
        with pytest.raises(LeaseHeld, match="another agent"):  # at the next move
            watch.act()
        assert not any("PAUSE" in sql for sql in journal(ledger))
        assert any("could not be stopped or held: another agent" in said for said in site.told)
        site.world.unlease()
