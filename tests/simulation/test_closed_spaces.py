"""A space that is closed to arrivals stays empty until somebody reopens it."""

from __future__ import annotations

from pathlib import Path

from agent.ledger.ledger import Ledger
from agent.model.states import MoveState
from agent.service.watch import Watch
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
