"""A move that the engine can hold: held on request, gone on with, after a crash too, and never twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.rows import RequestKind, StepState
from agent.ledger.state_names import WAITING_MOVES
from agent.model.states import UNFINISHED, MoveState
from connectors.simulated.connector import SimulatedConnector
from tests.simulation.site import Site
from tests.simulation.test_crash import FEW_MOVES, Doomed, Killed, check_truth

ONE_MOVE = "maximum_moves: 1"
SOON = 1.0  # seconds into the first copy


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A simulated shop, three moves at most."""
    return Site(tmp_path, policy=FEW_MOVES)


def ask(ledger: Ledger, kind: RequestKind, states: frozenset[MoveState] = UNFINISHED) -> None:
    """Ann asks something of the first move in one of these states."""
    row = ledger.moves.rows(database="sim", states=states)[0]
    ledger.requests.submit(row.id, kind, who="ann", origin="test", reason="backup runs")


def ask_soon(site: Site, ledger: Ledger, kind: RequestKind) -> None:
    """Ask something of the running move once its copy has begun."""
    site.clock.call_later(SOON, lambda: ask(ledger, kind))


def test_a_held_move_waits_and_goes_on(site: Site) -> None:
    """It is PAUSED with the reason, nothing else begins meanwhile, and then it ends like any other."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        ask_soon(site, ledger, RequestKind.PAUSE)
        (held,) = watch.act()
        assert (held.state, held.reason) == (MoveState.PAUSED, "held by ann: backup runs")
        assert watch.act() == ()
        assert ledger.moves.row(held.id).state is MoveState.PAUSED
        ask(ledger, RequestKind.RESUME)
        watch.act()
        journal = [(step.sql.split()[3], step.state) for step in ledger.moves.steps(held.id)]
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
        ask_soon(site, ledger, RequestKind.PAUSE)
        (held,) = watch.act()
        ask(ledger, RequestKind.RESUME)
        watch.act()
        sent, _, again = ledger.moves.steps(held.id)
        assert sent.ended_at is not None
        assert again.ended_at is not None
        parts = (sent.ended_at - sent.intended_at) + (again.ended_at - again.intended_at)
        whole = held.move.size_bytes / 80e6  # half of what the slower device reads, see simulated.workload
        assert parts.total_seconds() == pytest.approx(whole, rel=0.05, abs=0.3)


def test_a_held_move_survives_a_restart(site: Site) -> None:
    """An agent that starts finds it held by the catalog, keeps it PAUSED and goes on with it."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        ask_soon(site, ledger, RequestKind.PAUSE)
        (held,) = watch.act()
    with site.agent() as (watch, ledger):
        (found,) = watch.executor.reconcile()
        assert (found.id, found.state) == (held.id, MoveState.PAUSED)
        watch.sample()
        assert watch.act() == ()
        ask(ledger, RequestKind.RESUME)
        watch.act()
    check_truth(site)


@pytest.mark.parametrize("asked", [RequestKind.RESUME, RequestKind.CANCEL])
def test_what_is_held_gets_nothing_from_another_database(
    site: Site, monkeypatch: pytest.MonkeyPatch, asked: RequestKind
) -> None:
    """Promise 1: a copy of the database holds the statement too; it is neither resumed nor given up there, but here."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        ask_soon(site, ledger, RequestKind.PAUSE)
        (held,) = watch.act()
        sent = len(ledger.moves.steps(held.id))
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(type(site.world), "fingerprint", "restored from a copy")
            ask(ledger, asked)
            watch.act()
            assert len(ledger.moves.steps(held.id)) == sent
            assert ledger.moves.row(held.id).state is MoveState.PAUSED
            assert any("not the database for which the move was approved" in sentence for sentence in site.told)
        ask(ledger, asked)
        site.clock.sleep(120)
        watch.act()
        assert len(ledger.moves.steps(held.id)) > sent
        assert ledger.moves.row(held.id).state not in UNFINISHED


def run(origin: Site, folder: Path, *, at: int = 0, after: bool = False) -> tuple[Site, int]:
    """Hold the first move and go on with it, on a copy of an approved site, dying at the given durable point."""
    site = origin.copy(folder)
    doomed = None
    try:
        with site.agent() as (watch, ledger):
            doomed = Doomed(ledger, at=at, after=after)
            ask_soon(site, ledger, RequestKind.PAUSE)
            watch.act()
            ask(ledger, RequestKind.RESUME)
            watch.act()
    except Killed:
        pass
    assert doomed is not None
    return site, doomed.count


def test_every_durable_point(tmp_path: Path) -> None:
    """Promise 3 with holding: whatever the point of death, the next run finishes what was approved, once."""
    origin = Site(tmp_path / "origin", policy=ONE_MOVE)
    origin.folder.mkdir()
    with origin.agent() as (watch, ledger):
        origin.approved(watch, ledger)
    site, points = run(origin, tmp_path / "whole")
    check_truth(site)
    expected = site.homes()
    for at in range(1, points + 1):
        for after in (False, True):
            site, _ = run(origin, tmp_path / f"{at} {after}", at=at, after=after)
            with site.agent() as (watch, ledger):
                watch.sample()
                watch.act()
                for number, wish in ledger.requests.in_force("sim").items():
                    assert wish.kind is RequestKind.PAUSE
                    ledger.requests.submit(number, RequestKind.RESUME, who="ann", origin="test", reason="")
                watch.act()
            check_truth(site)
            assert site.homes() == expected, f"killed {'after' if after else 'before'} durable point {at}"


def test_what_cannot_be_held_is_let_finish(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wish to hold changes nothing of a statement that has no way to be held, and its answer says so."""
    online = SimulatedConnector.routes
    monkeypatch.setattr(SimulatedConnector, "routes", lambda *a: r[1:] if isinstance(r := online(*a), tuple) else r)
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        ask_soon(site, ledger, RequestKind.PAUSE)
        first, *_ = watch.act()
        assert first.state is MoveState.PLACED
        assert [step.state for step in ledger.moves.steps(first.id)] == [StepState.DONE]
        assert "cannot be held" in ledger.requests.of_move(first.id)[0].answer


def test_a_running_move_can_be_cancelled(site: Site) -> None:
    """It is rolled back and CANCELLED with who and why; the others go on."""
    before = site.homes()
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        ask_soon(site, ledger, RequestKind.CANCEL)
        first, *others = watch.act()
        assert (first.state, first.reason) == (MoveState.CANCELLED, "cancelled by ann: backup runs")
        assert {row.state for row in others} == {MoveState.PLACED}
        assert ledger.requests.of_move(first.id)[0].answer == "it was cancelled and rolled back"
    assert site.homes()[first.move.key] == before[first.move.key]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (
            (RequestKind.PAUSE, RequestKind.RESUME),
            [("it is held", MoveState.PAUSED), ("it goes on", MoveState.RUNNING)],
        ),
        ((RequestKind.CANCEL,), [("it was cancelled and rolled back", MoveState.CANCELLED)]),
    ],
)
def test_an_answer_comes_when_the_state_agrees_with_it(
    site: Site, monkeypatch: pytest.MonkeyPatch, kinds: tuple[RequestKind, ...], expected: list[tuple[str, MoveState]]
) -> None:
    """Whoever waits for an answer and then looks at the move finds it held, going on, or cancelled."""
    seen: list[tuple[str, MoveState]] = []
    with site.agent() as (watch, ledger):
        say = ledger.requests.answer

        def noting(number: int, sentence: str) -> None:
            (move,) = (
                row for row in ledger.moves.rows() if number in {each.id for each in ledger.requests.of_move(row.id)}
            )
            seen.append((sentence, move.state))
            say(number, sentence)

        monkeypatch.setattr(ledger.requests, "answer", noting)
        site.approved(watch, ledger)
        ask_soon(site, ledger, kinds[0])
        watch.act()
        for kind in kinds[1:]:
            ask(ledger, kind)
            watch.act()
    assert seen == expected


def test_a_held_move_can_be_cancelled(site: Site) -> None:
    """What the engine holds is rolled back by a statement of the approval, and its room is free again."""
    before = site.homes()
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        ask_soon(site, ledger, RequestKind.PAUSE)
        (held,) = watch.act()
        ask(ledger, RequestKind.CANCEL)
        watch.act()
        row = ledger.moves.row(held.id)
        assert row.state is MoveState.CANCELLED
        assert "cancelled by ann" in row.reason
        assert ledger.requests.of_move(held.id)[-1].answer == "the move is cancelled"
        assert ledger.moves.steps(held.id)[-1].sql.endswith(f"ABORT MOVE {held.move.key}")
    assert site.homes()[held.move.key] == before[held.move.key]
    assert not site.world.placement.running


def test_an_approved_move_that_is_to_pause_does_not_begin(site: Site) -> None:
    """Nor does anything after it; the reason says who asked. Cancelled, it ends without any statement."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        approved = frozenset({MoveState.APPROVED})
        ask(ledger, RequestKind.PAUSE, approved)
        assert watch.act() == ()
        waiting = ledger.state.load_document("sim", WAITING_MOVES)
        assert waiting is not None
        assert "held by ann: backup runs" in next(iter(waiting[1].values()))
        ask(ledger, RequestKind.CANCEL, approved)
        first = ledger.moves.rows(database="sim")[0]
        assert first.state is MoveState.CANCELLED
        assert ledger.moves.steps(first.id) == []
        assert {row.state for row in watch.act()} == {MoveState.PLACED}


def test_what_somebody_holds_at_the_engine_stays_held(site: Site) -> None:
    """A hold that nobody asked hotplace for is not undone by it: a person lets the move go on."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        first = ledger.moves.rows(database="sim")[0].move
        with watch.connector.open_mover() as somebody:
            site.clock.call_later(SOON, lambda: somebody.run(f"PAUSE MOVE {first.key}"))  # type: ignore[attr-defined]  # a simulated mover's
            (held,) = watch.act()
        assert held.state is MoveState.PAUSED
        assert watch.act() == ()
        ask(ledger, RequestKind.RESUME)
        watch.act()
    check_truth(site)


@pytest.mark.parametrize(
    ("finish", "state", "answer"),
    [
        (True, MoveState.PLACED, "too late: the move is placed"),
        (False, MoveState.FAILED, "too late: the move is failed"),
    ],
)
def test_a_request_for_a_move_that_has_ended_is_answered(
    site: Site, finish: bool, state: MoveState, answer: str
) -> None:
    """The agent died and the move has ended since: whoever asked to cancel it reads how, and no request stays open."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        row = ledger.moves.rows(database="sim")[0]
        for entered in (MoveState.PRECHECK, MoveState.RUNNING):
            ledger.moves.transition(row.id, entered, "an agent that will die")
        ask(ledger, RequestKind.CANCEL)
        if finish:
            with watch.connector.open_mover() as mover:
                mover.prepare(row.move.route)
                for step in row.move.route.steps:
                    mover.execute(step)
        else:
            site.world.drop(row.move.key)
    with site.agent() as (watch, ledger):
        (found,) = watch.executor.reconcile()
        assert (found.id, found.state) == (row.id, state)
        assert ledger.requests.of_move(row.id)[-1].answer == answer
        assert row.id not in ledger.requests.in_force("sim")


def test_cancelled_while_the_agent_dies(site: Site) -> None:
    """A move that is found not done, and that somebody wanted cancelled, ends at once and waits for no window."""
    site.windows = 'windows: ["sun 03:00-03:01"]'
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        row = ledger.moves.rows(database="sim")[0]
        for state in (MoveState.PRECHECK, MoveState.RUNNING):
            ledger.moves.transition(row.id, state, "an agent that will die")
        ask(ledger, RequestKind.CANCEL)
    with site.agent() as (watch, ledger):
        watch.sample()
        watch.act()
        assert ledger.moves.row(row.id).state is MoveState.CANCELLED
        assert ledger.moves.row(row.id).reason == "cancelled by ann: backup runs"
        assert ledger.requests.of_move(row.id)[-1].answer
