"""Promise 3: killed anywhere and restarted, every move ends in a state that agrees with the engine's catalog.

The journal's durable points are counted first; then the same run dies just before and just after each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.ledger.errors import LedgerFull
from agent.ledger.ledger import Ledger
from agent.model.states import TRANSITIONS, MoveState
from agent.moving.transition_rules import MOST_STARTS
from connectors.simulated.settings import FaultKind
from policies.model.plan import Verdict
from policies.placement.dispatch import Hsm
from tests.simulation.site import Site

POINTS = ("moves.transition", "moves.step_intent", "moves.step_result")  # room and call
FEW_MOVES = "maximum_moves: 3"


class Killed(BaseException):
    """The process is gone: nothing after this line runs, no handler either."""


class Doomed:
    """Counts the ledger's durable points and dies at the chosen one."""

    def __init__(self, ledger: Ledger, *, at: int, after: bool, points: tuple[str, ...] = POINTS) -> None:
        self.count = 0
        self._at, self._after = at, after
        for point in points:
            room, name = getattr(ledger, point.partition(".")[0]), point.partition(".")[2]
            setattr(room, name, self._wrapped(getattr(room, name)))

    def _wrapped(self, point: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.count += 1
            if self.count == self._at and not self._after:
                raise Killed
            result = point(*arguments, **named)
            if self.count == self._at:
                raise Killed
            return result

        return call


def approved_site(folder: Path) -> Site:
    """Observed and approved; of small tables, since there are many runs of it."""
    folder.mkdir()
    site = Site(folder, scenario="eight_tables", policy=FEW_MOVES)
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
    return site


def run(origin: Site, folder: Path, *, at: int = 0, after: bool = False) -> tuple[Site, int]:
    """Act on a copy of an approved site, dying at a durable point; the copy, and how many points were passed."""
    site = origin.copy(folder)
    passed = 0
    try:
        with site.agent() as (watch, ledger):
            doomed = Doomed(ledger, at=at, after=after)
            try:
                watch.act()
            finally:
                passed = doomed.count
    except Killed:
        pass
    return site, passed


def check_truth(site: Site) -> None:
    """Every move is where its state says, the audit chain verifies, and nothing is unfinished."""
    homes = site.homes()
    with site.agent() as (_, ledger):
        rows = ledger.moves.rows(database="sim")
        assert rows
        for row in rows:
            assert row.state in {MoveState.PLACED, MoveState.SETTLING, MoveState.KEPT}, row.reason
            assert homes[row.move.key] == row.move.to_space
        assert ledger.audit.verify().ok


def test_every_durable_point(tmp_path: Path) -> None:
    """Whatever the point of death, the next run finishes what was approved, once, and says the truth."""
    origin = approved_site(tmp_path / "origin")
    site, points = run(origin, tmp_path / "whole")
    check_truth(site)
    expected = site.homes()
    assert points > 10
    for at in range(1, points + 1):
        for after in (False, True):
            site, _ = run(origin, tmp_path / f"{at} {after}", at=at, after=after)
            with site.agent() as (watch, _ledger):
                watch.sample()
                watch.act()
            check_truth(site)
            assert site.homes() == expected, f"killed {'after' if after else 'before'} durable point {at}"


@pytest.mark.parametrize("kind", [FaultKind.BROKEN_BEFORE, FaultKind.BROKEN_AFTER])
def test_a_broken_session_is_reconciled(tmp_path: Path, kind: FaultKind) -> None:
    """A session that breaks before or after the effect leaves an unknown outcome that the catalog resolves."""
    site = Site(tmp_path, policy=FEW_MOVES)
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        site.world.faults.arm(kind)
        watch.act()
        watch.act()
        first = ledger.moves.rows(database="sim")[0]
        assert first.state is MoveState.PLACED
    check_truth(site)


def test_a_move_that_never_ends_is_not_begun_for_ever(tmp_path: Path) -> None:
    """A session that breaks in every try, as behind a firewall that cuts long ones, ends the move after a few."""
    site = Site(tmp_path, policy="maximum_moves: 1")
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        for _ in range(MOST_STARTS + 3):
            site.world.faults.arm(FaultKind.BROKEN_BEFORE)
            watch.act()
        (row,) = ledger.moves.rows(database="sim")
        assert (row.state, row.attempts) == (MoveState.FAILED, MOST_STARTS)
        assert "begun 5 times and never done" in row.reason
        site.observe(watch, 2)
        planning = watch.plan()  # its space is open, and it would fail again
        assert planning is not None
        rows = [planning.situation.units.key.index(key) for key in row.move.route.bundle.unit_keys]
        assert {planning.plan.verdict[each] for each in rows} == {Verdict.COOLING_DOWN}


def test_a_lock_that_is_not_obtained_is_tried_again(tmp_path: Path) -> None:
    """Nothing changed, so the same statement may be tried again; it then succeeds."""
    site = Site(tmp_path, policy=FEW_MOVES)
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        site.world.faults.arm(FaultKind.LOCK_NOT_OBTAINED)
        watch.act()
    assert any("try 2 in " in sentence for sentence in site.told)
    check_truth(site)


def test_locks_that_are_not_obtained_fail_no_move(tmp_path: Path) -> None:
    """The tries of a row over, the move waits, says so, and begins again after growing pauses until it can."""
    site = Site(tmp_path, policy="maximum_moves: 1")
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        for _ in range(9):
            site.world.faults.arm(FaultKind.LOCK_NOT_OBTAINED)
        (row,) = watch.act()
        assert (row.state, len(ledger.moves.steps(row.id))) == (MoveState.APPROVED, 5)
        assert "while its window and its approval last" in row.reason
        assert watch.act() == (), "it is left alone for a while"
        for _ in range(4):  # one try each from now on
            site.clock.sleep(30.0)
            (row,) = watch.act()
            assert row.state is MoveState.APPROVED
        site.clock.sleep(30.0)
        (row,) = watch.act()
        assert (row.state, len(ledger.moves.steps(row.id))) == (MoveState.PLACED, 10)


def test_the_precheck_comes_before_every_try(tmp_path: Path) -> None:
    """What has become wrong between two tries is not done: the table was dropped meanwhile."""
    site = Site(tmp_path, policy="maximum_moves: 1")
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        move = ledger.proposals.row(number).proposal.moves[0]
        site.world.faults.arm(FaultKind.LOCK_NOT_OBTAINED)
        sleep = site.clock.sleep

        def drop_before_another_try(seconds: float) -> None:
            sleep(seconds)
            if "try 2 in " in site.told[-1]:
                with site.world.turn():
                    site.world.drop(move.key)

        site.clock.sleep = drop_before_another_try  # type: ignore[method-assign]  # a fault
        (row,) = watch.act()
        assert row.state is MoveState.SKIPPED
        assert "no longer exists" in row.reason
        assert len(ledger.moves.steps(row.id)) == 1


def test_a_full_space_fails_one_move_and_stops_those_to_it(tmp_path: Path) -> None:
    """The move fails with the engine's reason, its bundle stays, and nothing more is sent to that space."""
    site = Site(tmp_path, policy=FEW_MOVES)
    before = site.homes()
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        site.world.faults.arm(FaultKind.SPACE_FULL)
        done = watch.act()
    failed = [row for row in done if row.state is MoveState.FAILED]
    assert len(failed) == 1
    assert not TRANSITIONS[failed[0].state]
    assert site.homes()[failed[0].move.key] == before[failed[0].move.key]
    others = [row for row in done if row.id != failed[0].id]
    assert {row.state for row in others} == {MoveState.SKIPPED}
    assert all("the engine had no room in it for move 1" in row.reason for row in others)


def test_what_could_not_be_moved_is_not_proposed_again_at_once(tmp_path: Path) -> None:
    """Its space is closed until it has the room that was missing, for plans that a person asks for, too."""
    site = Site(tmp_path, policy=FEW_MOVES)
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        site.world.faults.arm(FaultKind.SPACE_FULL)
        failed = next(row.move.key for row in watch.act() if row.state is MoveState.FAILED)
        site.observe(watch, 2)
        unasked, asked = watch.plan(), watch.plan(Hsm())
        assert unasked is not None
        assert asked is not None
        assert failed not in {move.key for move in unasked.plan.moves}
        verdict = unasked.plan.verdict[unasked.situation.units.key.index(failed)]
        assert verdict == Verdict.WOULD_NOT_FIT
        assert failed not in {move.key for move in asked.plan.moves}


def test_stopping_leaves_moves_approved(tmp_path: Path) -> None:
    """An agent told to stop starts nothing more, and the next one goes on."""
    site = Site(tmp_path, policy=FEW_MOVES)
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        watch.executor.stop()
        assert watch.act() == ()
        assert {row.state for row in ledger.moves.rows(database="sim")} == {MoveState.APPROVED}
    with site.agent() as (watch, _):
        watch.act()
    check_truth(site)


def test_told_to_stop_before_it_has_begun(tmp_path: Path) -> None:
    """The word to stop may come while the first cycle is still on its way to the executor: nothing begins after it."""
    site = Site(tmp_path, policy=FEW_MOVES)
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        watch.acting.stop()
        assert watch.act() == ()
        assert {row.state for row in ledger.moves.rows(database="sim")} == {MoveState.APPROVED}


def test_a_full_disk_under_the_ledger_keeps_no_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was learnt cannot be saved; the lease and the sessions are given back all the same."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        watch.sample()
        watch.hold_lease()

        def full(*_: object) -> None:
            raise LedgerFull("no room")

        with monkeypatch.context() as patch:
            patch.setattr(ledger.state, "save_arrays", full)
            with pytest.raises(LedgerFull):
                watch.close()
        assert site.world.leased_to == ""
