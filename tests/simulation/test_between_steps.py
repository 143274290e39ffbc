"""A move of several statements that ends between two of them: whatever ended it, its state is the catalog's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, RequestKind
from agent.model.proposals import ProposedMove
from agent.model.states import MoveState
from agent.service.watch import Watch
from connectors.kit.contract import LeaseHeld
from connectors.simulated.settings import FaultKind
from tests.simulation.site import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Small tables, several of them worth a move."""
    return Site(tmp_path, scenario="eight_tables", policy="maximum_moves: 3")


def joined(first: ProposedMove, second: ProposedMove) -> ProposedMove:
    """One move of two bundles, a statement for each."""
    ours, theirs = first.route.bundle, second.route.bundle
    size = ours.size_bytes + theirs.size_bytes
    bundle = replace(
        ours,
        physical_ids=ours.physical_ids + theirs.physical_ids,
        unit_keys=ours.unit_keys + theirs.unit_keys,
        size_bytes=size,
    )
    route = replace(first.route, bundle=bundle, steps=first.route.steps + second.route.steps)
    return replace(first, ordinal=1, route=route, size_bytes=size)


def approve_one(site: Site, watch: Watch, ledger: Ledger, shape: Callable[[list[ProposedMove]], ProposedMove]) -> int:
    """Observe, and approve a proposal of one move made from those of the plan; its number."""
    site.observe(watch)
    planning = watch.plan()
    assert planning is not None
    proposal = watch.proposal(planning)
    assert proposal is not None
    promoted = [move for move in proposal.moves if move.to_space == "ssd"]
    number = ledger.proposals.store(replace(proposal, moves=(shape(promoted),)))
    ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)
    return number


def after_first_result(ledger: Ledger, action: Callable[[], None]) -> None:
    """Do something once, between the result of the first statement and the intent of the second."""
    original = ledger.moves.step_result

    def once(*arguments: Any, **named: Any) -> None:
        ledger.moves.step_result = original  # type: ignore[method-assign]  # a fault
        original(*arguments, **named)
        action()

    ledger.moves.step_result = once  # type: ignore[method-assign]  # a fault


def cancel(site: Site, ledger: Ledger) -> None:
    """Ann no longer wants it, and the executor has had the time to hear of it."""
    (row,) = ledger.moves.rows(database="sim", states={MoveState.RUNNING})
    ledger.requests.submit(row.id, RequestKind.CANCEL, who="ann", origin="test", reason="")
    site.clock.sleep(1.0)


def two(moves: list[ProposedMove]) -> ProposedMove:
    """The first two moves as one."""
    return joined(moves[0], moves[1])


def once_and_again(moves: list[ProposedMove]) -> ProposedMove:
    """The first move, whose first statement does all of it and whose second is something left to do behind it."""
    return replace(moves[0], ordinal=1, route=replace(moves[0].route, steps=moves[0].route.steps * 2))


def end(ending: str, site: Site, watch: Watch, ledger: Ledger) -> None:
    """What comes between: the agent is told to stop, a person cancels, or the engine refuses the next statement."""
    match ending:
        case "stopped":
            watch.acting.stop()
        case "cancelled":
            cancel(site, ledger)
        case "refused":
            site.world.faults.arm(FaultKind.SPACE_FULL)


ENDINGS = ("stopped", "cancelled", "refused")


def run(site: Site, shape: Callable[[list[ProposedMove]], ProposedMove], ending: str) -> MoveRow:
    """Approve such a move and end it between its statements; the move as it is then."""
    with site.agent() as (watch, ledger):
        number = approve_one(site, watch, ledger, shape)
        after_first_result(ledger, lambda: end(ending, site, watch, ledger))
        watch.act()
        (row,) = ledger.moves.rows(proposal_id=number)
        assert ledger.audit.verify().ok
    return row


@pytest.mark.parametrize("ending", ENDINGS)
def test_half_a_bundle_is_no_rollback(site: Site, ending: str) -> None:
    """Where some units are here and some there the move has failed, and says where they are."""
    row = run(site, two, ending)
    homes = site.homes()
    assert {homes[key] for key in row.move.route.bundle.unit_keys} == {"ssd", "hdd"}
    assert row.state is MoveState.FAILED
    assert "is in hdd, ssd" in row.reason


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_has_arrived_is_placed(site: Site, ending: str) -> None:
    """Where the catalog shows the bundle in its new home nothing was rolled back; what was not done is told."""
    row = run(site, once_and_again, ending)
    assert site.homes()[row.move.key] == "ssd"
    assert row.state is MoveState.PLACED
    assert "is in ssd" in row.reason
    assert row.reason != f"{row.move.key} is in ssd."


def test_who_has_lost_the_lease_sends_nothing_more(site: Site) -> None:
    """Promise 10: when another agent has taken over between two statements, the second one is not sent."""
    with site.agent() as (watch, ledger):
        number = approve_one(site, watch, ledger, two)

        def taken_over() -> None:
            assert watch.leasing.of_engine is not None
            watch.leasing.of_engine.release()
            site.world.lease("another agent")

        after_first_result(ledger, taken_over)
        with pytest.raises(LeaseHeld, match="another agent"):
            watch.act()
        (row,) = ledger.moves.rows(proposal_id=number)
        assert len(ledger.moves.steps(row.id)) == 1
        assert row.state is MoveState.RUNNING  # for the other one to reconcile
        site.world.unlease()


def test_a_lease_that_broke_is_taken_again(site: Site) -> None:
    """Between two statements too: nobody else was there, so the move goes on to its end."""
    with site.agent() as (watch, ledger):
        number = approve_one(site, watch, ledger, two)
        watch.hold_lease()
        assert watch.leasing.of_engine is not None
        after_first_result(ledger, watch.leasing.of_engine.release)
        watch.act()
        (row,) = ledger.moves.rows(proposal_id=number)
        assert row.state is MoveState.PLACED


@pytest.mark.parametrize("shape", [two, once_and_again])
def test_what_has_arrived_is_not_copied_again(site: Site, shape: Callable[[list[ProposedMove]], ProposedMove]) -> None:
    """A lock that the second statement does not get is waited for at the second statement, not at the first."""
    with site.agent() as (watch, ledger):
        number = approve_one(site, watch, ledger, shape)
        after_first_result(ledger, lambda: site.world.faults.arm(FaultKind.LOCK_NOT_OBTAINED))
        watch.act()
        (row,) = ledger.moves.rows(proposal_id=number)
        assert row.state is MoveState.PLACED
        assert [step.ordinal for step in ledger.moves.steps(row.id)] == [1, 2, 2]


def refuse_locks(site: Site, times: int) -> None:
    """The next statements do not get their lock."""
    for _ in range(times):
        site.world.faults.arm(FaultKind.LOCK_NOT_OBTAINED)


def test_the_rest_of_a_move_waits_for_its_lock(site: Site) -> None:
    """However often the second statement does not get its lock, the move neither fails nor begins again."""
    often = 3 * site.config.database().retries
    with site.agent() as (watch, ledger):
        number = approve_one(site, watch, ledger, two)
        after_first_result(ledger, lambda: refuse_locks(site, often))
        watch.act()
        (row,) = ledger.moves.rows(proposal_id=number)
        assert row.state is MoveState.PLACED
        assert [step.ordinal for step in ledger.moves.steps(row.id)] == [1, *[2] * (often + 1)]


def test_a_stop_ends_the_wait_for_another_try(site: Site) -> None:
    """Told to stop while it waits half a minute for another try, the agent does not wait for its end."""
    with site.agent() as (watch, ledger):
        number = approve_one(site, watch, ledger, two)
        after_first_result(ledger, lambda: refuse_locks(site, 99))
        stopped: list[float] = []

        def stop() -> None:
            stopped.append(site.clock.monotonic())
            watch.acting.stop()

        site.clock.call_later(100.0, stop)
        watch.act()
        assert site.clock.monotonic() - stopped[0] < 2.0
        (row,) = ledger.moves.rows(proposal_id=number)
        assert row.state is MoveState.FAILED
        assert "is in hdd, ssd" in row.reason
