"""Taking moves back: proposed, approved and carried out like any other move."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.rows import StepRow
from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.model.proposals import CannotUndo
from agent.model.states import MoveState, ProposalState
from agent.planning.undo import propose_undo
from agent.service.watch import Watch
from tests.simulation.site import MINUTE, Site
from tests.simulation.test_crash import Doomed, Killed


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A simulated shop."""
    return Site(tmp_path, policy="maximum_moves: 3")


def settled(site: Site, watch: Watch, minutes: int = 15) -> list[Outcome]:
    """Sample until what was placed has been measured."""
    outcomes: list[Outcome] = []
    for _ in range(minutes):
        site.clock.sleep(MINUTE)
        watch.sample()
        outcomes += watch.verify()
    return outcomes


def take_back(site: Site, watch: Watch, ledger: Ledger) -> int:
    """Propose to undo every move that was placed."""
    rows = ledger.moves.rows(database="sim", states={MoveState.KEPT, MoveState.PLACED, MoveState.SETTLING})
    return propose_undo(rows, watch.database, watch.connector, ledger, site.clock.now())


def approve(ledger: Ledger, number: int) -> None:
    """Approve a proposal by its digest."""
    ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)


@pytest.mark.parametrize("measured_first", [False, True])
def test_everything_goes_back_where_it_was(site: Site, measured_first: bool) -> None:
    """After an approved undo every unit is at home again, whether or not the outcome was known."""
    before = site.homes()
    with site.agent() as (watch, ledger):
        first = site.approved(watch, ledger)
        watch.act()
        if measured_first:
            settled(site, watch)
        assert site.homes() != before
        approve(ledger, take_back(site, watch, ledger))
        watch.act()
        assert site.homes() == before
        settled(site, watch)
        assert {row.state for row in ledger.moves.rows(proposal_id=first)} == {MoveState.UNDONE}
        assert ledger.audit.verify().ok


def test_the_way_back_states_exact_sizes(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the catalog's cheap sizes are too small, an undo is neither refused as grown nor priced by them."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        watch.act()
        catalog = watch.connector.catalog()
        cheap = replace(catalog, units=replace(catalog.units, size_bytes=catalog.units.size_bytes // 2))
        with monkeypatch.context() as patch:
            patch.setattr(watch.connector, "catalog", lambda: cheap)
            patch.setattr(
                watch.connector, "exact_sizes", lambda ids: catalog.units.size_bytes[catalog.units.rows_of(ids)]
            )
            number = take_back(site, watch, ledger)
        approve(ledger, number)
        watch.act()
        assert {row.state for row in ledger.moves.rows(proposal_id=number)} == {MoveState.PLACED}
        for move in ledger.proposals.row(number).proposal.moves:
            (size,) = catalog.units.size_bytes[[key == move.key for key in catalog.units.key]]
            assert move.size_bytes == size


@pytest.mark.parametrize("left", [1, 2])
@pytest.mark.parametrize("slower", [1, 4])
def test_the_way_back_is_timed_by_the_way_there(
    site: Site, monkeypatch: pytest.MonkeyPatch, left: int, slower: int
) -> None:
    """What took four times as long as was said, or has half the bytes by now, is not foretold as it was."""
    with site.agent() as (watch, ledger):
        first = site.approved(watch, ledger)
        watch.act()
        exact, steps_of = watch.connector.exact_sizes, ledger.moves.steps_of
        there = {row.id: row.move for row in ledger.moves.rows(proposal_id=first)}

        def prolonged(numbers: Collection[int]) -> dict[int, list[StepRow]]:
            """Each move as if its first statement had taken as many times as long as was said."""
            found = steps_of(numbers)
            for number, (step, *_) in found.items():
                lasted = timedelta(seconds=slower * there[number].copy_seconds)
                found[number] = [replace(step, ended_at=step.intended_at + lasted)]
            return found

        with monkeypatch.context() as patch:
            patch.setattr(watch.connector, "exact_sizes", lambda ids: exact(ids) // left)
            patch.setattr(ledger.moves, "steps_of", prolonged)
            number = take_back(site, watch, ledger)
        for move in ledger.proposals.row(number).proposal.moves:
            assert move.undoes is not None
            before = there[move.undoes]
            bytes_ratio = move.size_bytes / before.size_bytes
            assert bytes_ratio == pytest.approx(1 / left, rel=0.05)
            assert move.copy_seconds == pytest.approx(before.copy_seconds * slower * bytes_ratio)


def test_an_undo_runs_only_when_approved(site: Site) -> None:
    """Proposed is not done; rejected, the moves are kept after all."""
    with site.agent() as (watch, ledger):
        first = site.approved(watch, ledger)
        watch.act()
        moved = site.homes()
        number = take_back(site, watch, ledger)
        assert watch.act() == ()
        ledger.proposals.reject(number, who="ann", origin="test", reason="it is fine")
        watch.verify()
        assert site.homes() == moved
        assert {row.state for row in ledger.moves.rows(proposal_id=first)} == {MoveState.KEPT}


def test_a_plan_does_not_push_an_undo_aside(site: Site) -> None:
    """While an undo waits for its answer no plan is proposed in its place."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        watch.act()
        number = take_back(site, watch, ledger)
        site.observe(watch)
        planning = watch.plan()
        assert planning is not None
        assert watch.propose(planning) is None
        assert ledger.proposals.row(number).state is ProposalState.PROPOSED


def test_what_was_never_moved_cannot_be_taken_back(site: Site) -> None:
    """A move that is only approved, and a unit that is gone or elsewhere, are refused by name."""
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        with pytest.raises(CannotUndo, match="is approved"):
            propose_undo(
                ledger.moves.rows(proposal_id=number), watch.database, watch.connector, ledger, site.clock.now()
            )
        watch.act()
        key = ledger.moves.rows(proposal_id=number)[0].move.key
        with site.world.turn():
            site.world.drop(key)
        with pytest.raises(CannotUndo, match="no longer exists"):
            take_back(site, watch, ledger)


def taken_back_by_hand(site: Site, ledger: Ledger, number: int) -> int:
    """A DBA brings the unit of one move of a proposal back; that move."""
    row = ledger.moves.rows(proposal_id=number)[-1]
    placement = site.world.placement
    with site.world.turn():
        at = [placement.units.keys.index(key) for key in row.move.route.bundle.unit_keys]
        placement.units.space[at] = [space.name for space in placement.spaces].index(row.move.from_space)
    return row.id


def test_what_was_taken_back_by_hand_is_left_out(site: Site) -> None:
    """The others are proposed to go back; a move alone that is back already is refused by name."""
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        watch.act()
        by_hand = taken_back_by_hand(site, ledger, number)
        rows = ledger.moves.rows(proposal_id=number)
        with pytest.raises(CannotUndo, match=f"move {by_hand} cannot be taken back"):
            propose_undo([ledger.moves.row(by_hand)], watch.database, watch.connector, ledger, site.clock.now())
        back = propose_undo(rows, watch.database, watch.connector, ledger, site.clock.now())
        undoes = {move.undoes for move in ledger.proposals.row(back).proposal.moves}
        assert undoes == {row.id for row in rows} - {by_hand}
        with pytest.raises(CannotUndo, match=r"cannot be taken back|there is nothing to take back"):
            propose_undo(
                ledger.moves.rows(proposal_id=number), watch.database, watch.connector, ledger, site.clock.now()
            )
        approve(ledger, back)
        watch.act()
        assert {ledger.moves.row(each).state for each in undoes if each is not None} == {MoveState.UNDONE}


def test_what_hurt_goes_back_although_a_part_was_taken_back_by_hand(site: Site) -> None:
    """The other moves of it are proposed to be undone; they are not kept."""
    with site.agent() as (watch, ledger):
        number = blundered(site, watch, ledger)
        by_hand = taken_back_by_hand(site, ledger, number)
        settled(site, watch)
        states = {row.id: row.state for row in ledger.moves.rows(proposal_id=number)}
        assert states.pop(by_hand) is MoveState.KEPT
        assert set(states.values()) == {MoveState.UNDO_PROPOSED}


def blundered(site: Site, watch: Watch, ledger: Ledger) -> int:
    """Hot units are brought up, and then somebody sends them down again as a plan would; that proposal's number."""
    site.approved(watch, ledger)
    watch.act()
    settled(site, watch)
    site.observe(watch, 10)  # harm is told only where enough was seen before to know how long noise lasts
    number = take_back(site, watch, ledger)
    back = ledger.proposals.row(number).proposal
    ledger.proposals.reject(number, who="ann", origin="test", reason="replaced below")
    watch.verify()
    blunder = replace(back, moves=tuple(replace(move, reason="promote", undoes=None) for move in back.moves))
    number = ledger.proposals.store(blunder)
    approve(ledger, number)
    watch.act()
    return number


def test_what_hurt_is_proposed_to_be_taken_back(site: Site) -> None:
    """A move after which sessions wait longer is measured as hurt, and its undo is proposed without being asked for."""
    with site.agent() as (watch, ledger):
        number = blundered(site, watch, ledger)
        (outcome,) = settled(site, watch)
        assert outcome.verdict is OutcomeVerdict.HURT
        proposed = ledger.proposals.rows(database="sim", states={ProposalState.PROPOSED})
        assert [move.undoes for row in proposed for move in row.proposal.moves]
        assert {row.state for row in ledger.moves.rows(proposal_id=number)} == {MoveState.UNDO_PROPOSED}


def test_killed_while_it_judges(site: Site) -> None:
    """Whatever the point of death, every move has one outcome in the end, and what hurt is proposed to go back."""
    with site.agent() as (watch, ledger):
        number = blundered(site, watch, ledger)
        path = Path(ledger.name)
        points = len(ledger.moves.rows(proposal_id=number)) + 1  # an outcome each, and the proposal
    as_it_was = path.read_bytes()
    for at in range(1, points + 1):
        path.write_bytes(as_it_was)
        _kill(site, at=at)
        with site.agent() as (watch, ledger):
            settled(site, watch, minutes=6)
            rows = ledger.moves.rows(proposal_id=number)
            assert {row.state for row in rows} == {MoveState.UNDO_PROPOSED}, at
            recorded = ledger.audit.rows(1_000, event="outcome.recorded")
            measured = sorted(row.subject for row in recorded if row.facts["proposal"] == number)
            assert measured == sorted(f"move {row.id}" for row in rows), at
            assert len(ledger.proposals.rows(database="sim", states={ProposalState.PROPOSED})) == 1, at
            assert ledger.audit.verify().ok


def _kill(site: Site, *, at: int) -> None:
    """An agent that measures what has settled, and dies behind that durable point."""
    with suppress(Killed), site.agent() as (watch, ledger):
        doomed = Doomed(ledger, at=at, after=True, points=("moves.record_outcome", "proposals.store"))
        settled(site, watch)
    assert doomed.count == at


def test_killed_while_it_proposes_an_undo(site: Site) -> None:
    """An undo is stored together with what it means to the moves it takes back, so that neither is there alone."""
    with site.agent() as (watch, ledger):
        first = site.approved(watch, ledger)
        watch.act()
        Doomed(ledger, at=1, after=True, points=("proposals.store",))
        with pytest.raises(Killed):
            take_back(site, watch, ledger)
        assert {row.state for row in ledger.moves.rows(proposal_id=first)} == {MoveState.UNDO_PROPOSED}
