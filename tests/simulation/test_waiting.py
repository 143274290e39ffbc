"""Moves that cannot go on now: what they hold up, how long they rest, and when the agent has nothing to do."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings, RequestKind
from agent.ledger.state_names import WAITING_MOVES
from agent.model.states import MoveState
from agent.planning.full_spaces import forget_full, note_full, with_full_spaces
from agent.service.jobs import Jobs
from agent.service.watch import Watch
from connectors.kit.contract import LockNotObtained
from connectors.model.moves import Route, Step
from connectors.model.observation import Blocker, Space
from connectors.simulated.mover import SimulatedSession
from tests.simulation.site import MINUTE, Site
from tests.simulation.test_groups import ANN, COLD, a_group, approved, bring, crowded, fails_at, move_of, rows

CLOSED = 'windows: ["sun 03:00-03:01"]'


def ask(ledger: Ledger, move: int, kind: RequestKind) -> None:
    """Ann asks something of a move."""
    ledger.requests.submit(move, kind, **ANN, reason="")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Eight tables."""
    return Site(tmp_path, scenario="eight_tables")


def test_without_approved_moves_there_is_nothing_to_do(site: Site) -> None:
    """The lease is not taken for nothing."""
    with site.agent() as (watch, _):
        watch.sample()
        assert not watch.executor.has_work()


def in_the_way_of(monkeypatch: pytest.MonkeyPatch, watch: Watch, key: str) -> list[Blocker]:
    """A session holds that table for as long as it is in the list."""
    in_the_way = [Blocker(sentence="session 7")]

    def blockers(route: Route, *, tidying: bool = False) -> tuple[Blocker, ...]:
        return tuple(in_the_way) if route.bundle.key == key and not tidying else ()

    monkeypatch.setattr(watch.executor._connector, "blockers", blockers, raising=False)
    return in_the_way


def test_what_waits_for_a_session_is_passed_by_what_needs_nothing_of_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another table of the same plan, whose room the first one neither frees nor takes, does not wait for hours."""
    bring(site, COLD, "ssd")
    with site.agent() as (watch, ledger):
        watch.sample()
        in_the_way = in_the_way_of(monkeypatch, watch, COLD[0])
        moves = tuple(move_of(watch, at, key, "hdd", at) for at, key in enumerate(COLD, start=1))
        number = approved(site, watch, ledger, moves)
        watch.act()
        first, second = rows(ledger, number)
        assert (first.state, second.state) == (MoveState.APPROVED, MoveState.PLACED)
        stored = ledger.state.load_document(watch.database.name, WAITING_MOVES)
        assert stored is not None
        assert stored[1] == {str(first.id): "waits for session 7"}
        assert not watch.executor.has_work()
        in_the_way.clear()
        site.clock.sleep(MINUTE)
        watch.act()
        assert {row.state for row in rows(ledger, number)} == {MoveState.PLACED}


def test_what_waits_for_a_session_holds_up_what_needs_its_room(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of a plan matters: what goes where the first one leaves room does not overtake it."""
    bring(site, COLD[:1], "ssd")
    with site.agent() as (watch, ledger):
        watch.sample()
        in_the_way = in_the_way_of(monkeypatch, watch, COLD[0])
        moves = (move_of(watch, 1, COLD[0], "hdd", 1), move_of(watch, 2, COLD[1], "ssd", 2))
        number = approved(site, watch, ledger, moves)
        watch.act()
        assert not watch.executor.has_work()
        assert {row.state for row in rows(ledger, number)} == {MoveState.APPROVED}
        assert not watch.snapshot.moves.total()
        in_the_way.clear()
        site.clock.sleep(MINUTE)
        watch.act()
        assert watch.snapshot.moves == {MoveState.PLACED: 2}
        assert {row.state for row in rows(ledger, number)} == {MoveState.PLACED}


def test_what_is_put_off_makes_no_plan(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A try every few seconds would cost a plan each time; a move that arrives has its new home ranked at once."""
    bring(site, COLD, "ssd")
    with site.agent() as (watch, ledger):
        watch.sample()
        number = approved(site, watch, ledger, (move_of(watch, 1, COLD[0], "hdd", None),))
        planned, plan = list[object](), watch.plan
        monkeypatch.setattr(watch, "plan", lambda: planned.append(plan()))
        jobs = Jobs(ledger, site.clock, HistorySettings())
        with monkeypatch.context() as patch:
            patch.setattr(watch.executor, "run_approved", lambda: tuple(rows(ledger, number)))
            jobs.act(watch)
        assert not planned
        jobs.act(watch)
        assert len(planned) == 1


def test_the_rest_of_a_group_ends_outside_windows_too(site: Site) -> None:
    """No statement is needed to skip what can no longer be whole, so it does not wait for the next window."""
    crowded(site)
    site.windows = CLOSED
    with site.agent() as (watch, ledger):
        watch.sample()
        number = a_group(site, watch, ledger)
        assert not watch.executor.has_work()
        ledger.moves.transition(rows(ledger, number)[0].id, MoveState.SKIPPED, "as a test")
        assert watch.executor.has_work()
        watch.act()
        assert {row.state for row in rows(ledger, number)} == {MoveState.SKIPPED}


def test_a_lock_is_tried_for_less_and_less_often(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses double up to half a minute."""
    bring(site, COLD, "ssd")
    site.windows = "retries: 10"

    def execute(_: SimulatedSession, step: Step) -> None:
        raise LockNotObtained(f"no lock for {step.sql}", advice="Wait.")

    monkeypatch.setattr(SimulatedSession, "execute", execute)
    with site.agent() as (watch, ledger):
        watch.sample()
        approved(site, watch, ledger, (move_of(watch, 1, COLD[0], "hdd", None),))
        watch.act()
    pauses = [found[1] for each in site.told if (found := re.search(r"; try \d+ in (.*)$", each))]
    assert pauses == ["500 ms", "1 s", "2 s", "4 s", "8 s", "16 s", "30 s", "30 s", "30 s"]


def test_what_is_held_is_looked_at_once_a_minute(site: Site) -> None:
    """Somebody may end it at the engine; and an agent that stops lets nothing go on."""
    bring(site, COLD, "ssd")
    with site.agent() as (watch, ledger):
        watch.sample()
        move = move_of(watch, 1, COLD[0], "hdd", None)
        routes = watch.connector.routes(move.route.bundle, "hdd")
        assert isinstance(routes, tuple)
        number = approved(site, watch, ledger, (replace(move, route=routes[0]),))  # the way that can be held
        (row,) = rows(ledger, number)
        site.clock.call_later(0.1, partial(ask, ledger, row.id, RequestKind.PAUSE))
        watch.act()
        assert ledger.moves.row(row.id).state is MoveState.PAUSED
        site.clock.sleep(59.0)
        assert not watch.executor.has_work()
        site.clock.sleep(1.0)
        assert watch.executor.has_work()
        watch.act()
        ask(ledger, row.id, RequestKind.RESUME)
        assert watch.executor.has_work()
        watch.executor.stop()
        assert not watch.executor.has_work()


def test_one_failure_of_a_space_stops_what_targets_it(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine found no room where there seemed to be some: no other copy is made to find that out again."""
    bring(site, COLD, "ssd")
    with site.agent() as (watch, ledger):
        watch.sample()
        moves = tuple(move_of(watch, at, key, "hdd", at) for at, key in enumerate(COLD, start=1))
        number = approved(site, watch, ledger, moves)
        with monkeypatch.context() as patch:
            fails_at(patch, COLD[0])
            watch.act()
        first, second = rows(ledger, number)
        assert (first.state, second.state) == (MoveState.FAILED, MoveState.SKIPPED)
        assert f"the engine had no room in it for move {first.id}" in second.reason
        assert not ledger.moves.steps(second.id)
        again = approved(site, watch, ledger, (move_of(watch, 1, COLD[1], "hdd", 1),))
        watch.act()
        assert {row.state for row in rows(ledger, again)} == {MoveState.SKIPPED}
        site.observe(watch, 1)
        planning = watch.plan()
        assert planning is not None
        assert {space.name for space in planning.situation.spaces if space.lost} == {"hdd"}
        site.clock.sleep(25 * 3600.0)
        watch.sample()
        last = approved(site, watch, ledger, (move_of(watch, 1, COLD[1], "hdd", 1),))
        watch.act()
        assert {row.state for row in rows(ledger, last)} == {MoveState.PLACED}


def test_a_full_space_that_got_more_room_is_tried_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody has made as much room as the move that failed wanted."""
    bring(site, COLD, "ssd")
    with site.agent() as (watch, ledger):
        watch.sample()
        note_full(ledger, "sim", "hdd", move=1, needed=1000, free=5000, now=site.clock.now())
        space = Space(name="hdd", path="", used_bytes=0, free_bytes=5999, capacity_bytes=None)

        def lost(free: int | None) -> bool:
            found = with_full_spaces((replace(space, free_bytes=free),), ledger, watch.database, site.clock.now())
            return bool(found[0].lost)

        assert (lost(5999), lost(6000), lost(None)) == (True, False, True)
        # Bytes were short: as soon as they would do, nothing else has to be believed.
        note_full(ledger, "sim", "hdd", move=1, needed=1000, free=400, now=site.clock.now())
        assert (lost(999), lost(1000)) == (True, False)


def test_a_full_space_is_tried_again_once_a_person_says_that_it_has_room(site: Site) -> None:
    """Inodes or a quota: no bytes show it. Of another space, or one that was never found full, it cannot be said."""
    with site.agent() as (watch, ledger):
        watch.sample()
        note_full(ledger, "sim", "hdd", move=1, needed=1000, free=5000, now=site.clock.now())
        space = Space(name="hdd", path="", used_bytes=0, free_bytes=5000, capacity_bytes=None)
        (found,) = with_full_spaces((space,), ledger, watch.database, site.clock.now())
        assert "hotplace doctor --has-room hdd" in found.lost
        assert not forget_full(ledger, "sim", "ssd")
        assert forget_full(ledger, "sim", "hdd")
        assert with_full_spaces((space,), ledger, watch.database, site.clock.now()) == (space,)
        assert not forget_full(ledger, "sim", "hdd")


def test_plans_leave_room_for_what_a_person_is_to_bring(tmp_path: Path) -> None:
    """Where nobody knows when it comes: its target has so much less room, its source no more than now."""
    site = Site(tmp_path, windows="by_hand: true")
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        before = {space.name: space.free_bytes for space in watch.connector.catalog().spaces}
        coming = Counter[str]()
        for row in ledger.moves.rows(proposal_id=number):
            assert row.state is MoveState.HANDED_OVER
            coming[row.move.to_space] += row.move.size_bytes + row.move.route.transient_bytes
        assert coming["ssd"]
        planning = watch.plan()
        assert planning is not None
        for space in planning.situation.spaces:
            free = before[space.name]
            assert free is not None
            assert space.free_bytes == free - coming[space.name]
