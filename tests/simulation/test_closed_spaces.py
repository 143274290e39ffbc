"""A space that is closed to arrivals stays empty until somebody reopens it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.config.models import NoticeEvent
from agent.ledger.ledger import Ledger
from agent.model.states import MoveState
from agent.planning.undo import propose_undo
from agent.sampling.sampler import CATALOG_EVERY_SECONDS
from agent.service.daemon import facts_of
from agent.service.notifier import find_notices
from agent.service.watch import Watch
from connectors.kit.contract import Connector
from connectors.model.observation import Catalog
from policies.placement.dispatch import Drain
from tests.simulation.site import Site


def approve(watch: Watch, ledger: Ledger, number: int | None) -> None:
    """Somebody approves what is stored."""
    assert number is not None
    assert watch.database.name == "sim"
    ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)


def test_a_drained_space_is_not_filled_again(tmp_path: Path) -> None:
    """Draining closes it; the hottest table stays out of it until it is reopened, then it is promoted again."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        site.observe(watch)
        drain = watch.plan(Drain(space="ssd"))
        assert drain is not None
        approve(watch, ledger, watch.propose(drain))
        assert {row.state for row in watch.act()} == {MoveState.PLACED}
        assert [row.space for row in ledger.arrivals.rows("sim")] == ["ssd"]
        site.observe(watch, 2)
        closed = watch.plan()
        assert closed is not None
        assert not [move for move in closed.plan.moves if move.to_space == "ssd"]
        ledger.arrivals.open("sim", "ssd", who="ann", reason="")
        reopened = watch.plan()
        assert reopened is not None
        assert [move for move in reopened.plan.moves if move.to_space == "ssd"]
        assert ledger.audit.verify().ok


def test_what_was_approved_before_the_space_closed_is_skipped(tmp_path: Path) -> None:
    """The precheck refuses the target, and says how it is opened."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        ledger.arrivals.close("sim", "ssd", who="ann", reason="retired")
        skipped = [row for row in watch.act() if row.move.to_space == "ssd"]
        assert {row.state for row in skipped} == {MoveState.SKIPPED}
        assert all("hotplace reopen" in row.reason for row in skipped)
    assert not [key for key, space in site.homes().items() if space == "ssd" and key == skipped[0].move.key]


@pytest.mark.parametrize(
    ("change", "why"),
    [("only_slow", "no tier of the configuration names space ssd"), ("swapped", "belongs to tier")],
)
def test_a_space_that_is_no_longer_of_its_tier_gets_nothing(tmp_path: Path, change: str, why: str) -> None:
    """No tier names it, or another one does: it is not the place that was approved, and what makes room stays too."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
    setattr(site, change, True)
    with site.agent() as (watch, ledger):
        moved = [row for row in watch.act() if row.move.to_space == "ssd"]
        assert {row.state for row in moved} == {MoveState.SKIPPED}
        assert all(why in row.reason for row in moved)


def test_what_goes_back_goes_back_whatever_tier_its_space_belongs_to(tmp_path: Path) -> None:
    """An undo restores what was: the configuration may have given its space to another tier since."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        placed = [row for row in watch.act() if row.state is MoveState.PLACED]
        back = propose_undo(placed, watch.database, watch.connector, ledger, site.clock.now())
        approve(watch, ledger, back)
    site.swapped = True
    with site.agent() as (watch, ledger):
        assert {row.state for row in watch.act()} == {MoveState.PLACED}
        assert {ledger.moves.row(row.id).state for row in placed} == {MoveState.UNDONE}


def lose(monkeypatch: pytest.MonkeyPatch, connector: Connector, why: list[str]) -> None:
    """The storage of the fast space has gone for as long as there is a reason in the list."""
    read = connector.catalog

    def catalog() -> Catalog:
        found = read()
        spaces = (replace(space, lost=why[0] if why and space.name == "ssd" else "") for space in found.spaces)
        return replace(found, spaces=tuple(spaces))

    monkeypatch.setattr(connector, "catalog", catalog)


def test_a_space_whose_storage_has_gone_is_no_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is proposed to go there, what was approved is not sent, and people are notified."""
    site, why = Site(tmp_path), list[str]()
    with site.agent() as (watch, ledger):
        for connector in (watch.connector, watch.executor._connector):
            lose(monkeypatch, connector, why)
        site.approved(watch, ledger)
        why.append("the server does not find its folder /ssd: is its file system mounted?")
        skipped = [row for row in watch.act() if row.move.to_space == "ssd"]
        assert {row.state for row in skipped} == {MoveState.SKIPPED}
        assert all("does not find its folder" in row.reason for row in skipped)
        site.clock.sleep(CATALOG_EVERY_SECONDS)
        site.observe(watch, 1)
        planning = watch.plan()
        assert planning is not None
        assert not [move for move in planning.plan.moves if move.to_space == "ssd"]
        facts = facts_of(watch.snapshot, 60.0, ledger, site.clock.now())
        (notice,) = [each for each in find_notices(facts) if each.event is NoticeEvent.FILLING]
        assert "ssd cannot take data" in notice.sentence
        why.clear()
        site.clock.sleep(CATALOG_EVERY_SECONDS)
        site.observe(watch, 1)
        again = watch.plan()
        assert again is not None
        assert [move for move in again.plan.moves if move.to_space == "ssd"]
