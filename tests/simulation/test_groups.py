"""Promise 8 in a simulated shop: a group is begun only if all of it can be done, and one that ends halfway is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.ledger.errors import NotApproved
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, RequestKind
from agent.ledger.state_names import WAITING_MOVES
from agent.model.proposals import CannotUndo, Proposal, ProposedMove, with_ways_back
from agent.model.states import MoveState, ProposalState
from agent.moving.left_worse import left_worse_of
from agent.planning.undo import way_back
from agent.sampling.sampler import CATALOG_EVERY_SECONDS
from agent.service.metrics import AgentCollector
from agent.service.watch import Watch
from connectors.kit.contract import SpaceFull
from connectors.model.moves import Bundle, ByHand, Route, Step, UnitKind
from connectors.simulated.mover import SimulatedSession
from policies.model.moves import MoveReason
from tests.simulation.site import MINUTE, Site

MB = 10**6
COLD, HOT, FILLER = ('"lab"."t5"', '"lab"."t6"'), '"lab"."t0"', '"lab"."t7"'
ANN: dict[str, Any] = {"who": "ann", "origin": "test"}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Eight tables; what is needed of the SSD is filled by each test."""
    return Site(tmp_path, scenario="eight_tables")


def grow(site: Site, key: str, by: int) -> None:
    """A table of the world becomes larger where it is."""
    with site.world.turn():
        placement = site.world.placement
        placement.units.size_bytes[placement.row(key)] += by
        site.world.mark_changed()


def bring(site: Site, keys: tuple[str, ...], space: str) -> None:
    """Put tables somewhere, as a DBA did long ago."""
    with site.world.turn():
        placement = site.world.placement
        for key in keys:
            placement.units.space[placement.row(key)] = placement.space_row(space)
        site.world.mark_changed()


def free(site: Site, space: str = "ssd") -> int:
    """Bytes of a space that its head-room leaves."""
    with site.world.turn():
        placement = site.world.placement
        row = placement.space_row(space)
        return int(placement.free_bytes()[row] - placement.spaces[row].capacity_bytes // 10)


def crowded(site: Site, spare: int = 10 * MB) -> None:
    """The SSD holds two cold tables and something large; the hot table needs the room of both, and leaves ``spare``."""
    bring(site, (*COLD, FILLER), "ssd")
    grow(site, FILLER, free(site))
    grow(site, HOT, 67 * MB - spare)


def move_of(watch: Watch, ordinal: int, key: str, to_space: str, group: int | None) -> ProposedMove:
    """One move of a proposal, with the engine's own statements."""
    catalog = watch.connector.catalog()
    row = list(catalog.units.key).index(key)
    size, source = int(catalog.units.size_bytes[row]), catalog.spaces[int(catalog.units.space[row])].name
    bundle = Bundle(
        key=key, physical_ids=(int(catalog.units.physical_id[row]),), unit_keys=(key,),
        kind=UnitKind(int(catalog.units.kind[row])), size_bytes=size, space=source,
    )  # fmt: skip
    routes = watch.connector.routes(bundle, to_space)
    assert isinstance(routes, tuple)
    rises = to_space == "ssd"
    return ProposedMove(
        ordinal=ordinal, key=key, route=routes[1], from_space=source, to_space=to_space, from_tier=source,
        to_tier=to_space, reason=(MoveReason.PROMOTE if rises else MoveReason.MAKE_ROOM).value, size_bytes=size,
        wait_saved_per_hour=900.0 if rises else -30.0, copy_seconds=2.0, payback_seconds=8.0 if rises else None,
        sentence="", group=group,
    )  # fmt: skip


def a_group(
    site: Site, watch: Watch, ledger: Ledger, *, numbered: bool = True, end_takes: int = 0, copy_seconds: float = 2.0,
    goes_back: bool = True,
) -> int:  # fmt: skip
    """A proposal of one group, approved: both cold tables go down, the hot one comes up, by a way that takes room."""
    group = 1 if numbered else None
    end = move_of(watch, 3, HOT, "ssd", group)
    moves = (
        move_of(watch, 1, COLD[0], "hdd", group),
        move_of(watch, 2, COLD[1], "hdd", group),
        replace(end, route=replace(end.route, transient_bytes=end_takes)),
    )
    timed = tuple(replace(move, copy_seconds=copy_seconds) for move in moves)
    return approved(site, watch, ledger, with_ways_back(timed) if goes_back else timed)


def approved(site: Site, watch: Watch, ledger: Ledger, moves: tuple[ProposedMove, ...]) -> int:
    """A proposal of those moves that Ann has approved; its number."""
    now = site.clock.now()
    number = ledger.proposals.store(
        Proposal(
            database="sim",
            fingerprint=watch.connector.identify().fingerprint,
            created_at=now,
            expires_at=now.replace(year=now.year + 1),
            wait_per_hour=1000.0,
            wait_saved_per_hour=840.0,
            bound_per_hour=840.0,
            gap_ratio=0.0,
            ceiling_ratio=None,
            moves=moves,
        )
    )
    ledger.proposals.approve(number, **ANN, digest=ledger.proposals.row(number).digest)
    return number


def rows(ledger: Ledger, number: int) -> list[MoveRow]:
    """The moves of a proposal."""
    return ledger.moves.rows(proposal_id=number)


@pytest.mark.parametrize("numbered", [True, False])
def test_a_group_that_fits_is_carried_out(site: Site, numbered: bool) -> None:
    """One by one the three would not fit the other way round; in their order they do."""
    crowded(site)
    with site.agent() as (watch, ledger):
        watch.sample()
        number = a_group(site, watch, ledger, numbered=numbered)
        watch.act()
        assert {row.state for row in rows(ledger, number)} == {MoveState.PLACED}
    homes = site.homes()
    assert (homes[COLD[0]], homes[COLD[1]], homes[HOT]) == ("hdd", "hdd", "ssd")


def test_what_comes_after_a_move_by_hand_waits_for_it(site: Site) -> None:
    """The first is a person's, so nothing of the group is sent until the catalog shows it where it goes."""
    crowded(site)
    with site.agent() as (watch, ledger):
        watch.sample()
        hand = ByHand(statements=("BRING IT DOWN;",), because="it is only an example")
        first, *others = (
            move_of(watch, 1, COLD[0], "hdd", 1), move_of(watch, 2, COLD[1], "hdd", 1), move_of(watch, 3, HOT, "ssd", 1)
        )  # fmt: skip
        plain = replace(first.route, steps=(), undo_steps=(), tidy_steps=(), prologue=(), by_hand=hand)
        number = approved(site, watch, ledger, (replace(first, route=plain), *others))
        assert [row.state for row in rows(ledger, number)] == [MoveState.HANDED_OVER, *[MoveState.APPROVED] * 2]
        watch.act()
        watch.sample()
        watch.verify()
        watch.act()
        assert [row.state for row in rows(ledger, number)] == [MoveState.HANDED_OVER, *[MoveState.APPROVED] * 2]
        bring(site, (COLD[0],), "hdd")  # as the person did
        site.clock.sleep(CATALOG_EVERY_SECONDS)
        watch.sample()
        watch.verify()
        watch.act()
        found = rows(ledger, number)
        assert [row.state for row in found] == [MoveState.SETTLING, *[MoveState.PLACED] * 2], [
            row.reason for row in found
        ]
        assert ledger.moves.steps(found[0].id) == []


@pytest.mark.parametrize("numbered", [True, False])
def test_nothing_of_a_group_begins_when_its_end_has_grown_too_large(site: Site, numbered: bool) -> None:
    """What it is for has grown by 14 MB since: skipped whole, nothing moved, with the figures."""
    crowded(site, spare=5 * MB)
    with site.agent() as (watch, ledger):
        watch.sample()
        number = a_group(site, watch, ledger, numbered=numbered)
        before = site.homes()
        grow(site, HOT, 14 * MB)
        watch.act()
        found = rows(ledger, number)
        assert {row.state for row in found} == {MoveState.SKIPPED}
        assert [ledger.moves.steps(row.id) for row in found] == [[], [], []]
        assert site.homes() == before
        assert "moves 1 to 3 are one group, and none of them was moved" in found[0].reason
        assert f"{HOT} needs" in found[0].reason
        assert "once 2 moves have made room" in found[0].reason
        assert left_worse_of(ledger, "sim") == {}


def test_growth_until_the_end_counts(site: Site) -> None:
    """It would fit as it is; at the pace at which it has grown since it was planned it would not at the end."""
    crowded(site, spare=5 * MB)
    with site.agent() as (watch, ledger):
        watch.sample()
        number = a_group(site, watch, ledger, copy_seconds=600.0)
        site.clock.sleep(1200)
        grow(site, HOT, 4 * MB)  # and the group takes half an hour at least
        watch.act()
        found = rows(ledger, number)
        assert {row.state for row in found} == {MoveState.SKIPPED}
        assert "of growth until the end" in found[0].reason


def test_transient_room_of_the_end_counts(site: Site) -> None:
    """The way of the hot table takes more than the two leave behind."""
    crowded(site, spare=MB)
    with site.agent() as (watch, ledger):
        watch.sample()
        number = a_group(site, watch, ledger, end_takes=2 * MB)
        watch.act()
        found = rows(ledger, number)
        assert {row.state for row in found} == {MoveState.SKIPPED}
        assert "1.9 MiB while it is moved" in found[2].reason


def fails_at(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """The engine finds the disk full when it copies that object."""
    original = SimulatedSession.execute

    def execute(self: SimulatedSession, step: Step) -> None:
        if key in step.sql:
            raise SpaceFull(f"no room for {key}", advice="Make some.")
        original(self, step)

    monkeypatch.setattr(SimulatedSession, "execute", execute)


def metric(watch: Watch) -> float:
    """What Prometheus sees of groups that ended halfway."""
    families = {family.name: family for family in AgentCollector(lambda: [watch.snapshot], top_units=1).collect()}
    (sample,) = families["hotplace_groups_left_worse"].samples
    return sample.value


@pytest.mark.parametrize("level", ["propose", "observe"])
def test_what_a_group_moved_goes_back_when_its_end_fails(
    site: Site, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    """By the statements that its approval showed, without another decision; then nothing stands worse any more."""
    site.level = level
    crowded(site)
    with site.agent() as (watch, ledger):
        watch.sample()
        before = site.homes()
        number = a_group(site, watch, ledger)
        shown = [step.sql for row in rows(ledger, number) for step in row.move.route.undo_steps if row.move.goes_back]
        fails_at(monkeypatch, HOT)
        watch.act()
        assert (metric(watch), site.homes()[COLD[0]]) == (1, "hdd")
        (sentence,) = left_worse_of(ledger, "sim").values()
        back, _ = ledger.proposals.rows(database="sim", states={ProposalState.APPROVED})
        assert f"It is taken back as was approved with it: hotplace show {back.id}." in sentence
        assert (back.decided_by, back.decided_from) == ("ann", f"the approval of proposal {number}")
        watch.act()
        watch.verify()
        assert site.homes() == before
        assert [row.state.value for row in rows(ledger, number)] == ["undone", "undone", "failed"]
        sent = [step.sql for row in rows(ledger, back.id) for step in ledger.moves.steps(row.id)]
        assert sorted(sent) == sorted(shown)
        assert (metric(watch), left_worse_of(ledger, "sim")) == (0, {})
        assert ledger.audit.verify().ok


def test_a_way_back_waits_for_room_and_comes_first(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails for no full disk and expires with no approval; nothing else begins before it."""
    crowded(site)
    with site.agent() as (watch, ledger):
        watch.sample()
        before = site.homes()
        number = a_group(site, watch, ledger)
        with monkeypatch.context() as patch:
            fails_at(patch, HOT)
            watch.act()
        with monkeypatch.context() as patch:
            fails_at(patch, COLD[0])
            watch.act()
            first, second = rows(ledger, number + 1)
            assert [(row.move.key, row.state) for row in (first, second)] == [
                (COLD[1], MoveState.PLACED), (COLD[0], MoveState.APPROVED),
            ]  # fmt: skip
            waiting = ledger.state.load_document("sim", WAITING_MOVES)
            assert waiting is not None
            assert "no room for" in waiting[1][str(second.id)]
            sent = len(ledger.moves.steps(second.id))
            site.clock.sleep(5 * MINUTE)
            assert watch.act() == ()
            assert len(ledger.moves.steps(second.id)) == sent, "it is not copied again and again"
            watch.verify()
            assert metric(watch) == 1, "the alert stays"
        grow(site, FILLER, 60 * MB)  # somebody else takes the room
        site.clock.sleep(40 * 86400)
        watch.act()
        assert f"{COLD[0]} needs" in ledger.moves.row(second.id).reason
        assert ledger.moves.row(second.id).state is MoveState.APPROVED
        other = approved(site, watch, ledger, (move_of(watch, 1, FILLER, "hdd", None),))
        site.clock.sleep(20 * MINUTE)
        watch.act()
        assert {row.state for row in rows(ledger, other)} == {MoveState.APPROVED}, "nothing else begins before"
        ledger.proposals.strike(other, 1, **ANN, reason="")
        grow(site, FILLER, -60 * MB)
        site.clock.sleep(20 * MINUTE)
        watch.act()
        watch.verify()
        assert site.homes() == before
        assert metric(watch) == 0


def test_only_what_was_shown_goes_back_without_a_decision(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another statement, another place, or a move whose way back was not approved: the ledger refuses each."""
    crowded(site)
    with site.agent() as (watch, ledger):
        watch.sample()
        number = a_group(site, watch, ledger)
        fails_at(monkeypatch, HOT)
        with monkeypatch.context() as patch:
            patch.setattr("agent.moving.left_worse.GroupWatch.look", lambda *_: 0)
            watch.act()
        found = rows(ledger, number)
        proposal = way_back(found[:2], site.config.database(), watch.connector, site.clock.now())
        first = proposal.moves[0]
        worse = Step(sql=f"{first.route.steps[0].sql}; DROP TABLE x", purpose="")
        for other in (
            replace(first, route=replace(first.route, steps=(worse,))),
            replace(first, route=replace(first.route, tidy_steps=(worse,))),
            replace(first, route=replace(first.route, prologue=(worse.sql,))),
            replace(first, to_space="elsewhere"),
            replace(first, undoes=found[2].id),
            replace(first, undoes=None),
        ):
            with pytest.raises(NotApproved):
                ledger.proposals.approve_way_back(replace(proposal, moves=(other, *proposal.moves[1:])))
        assert len(ledger.proposals.rows(database="sim")) == 1
        with pytest.raises(CannotUndo):
            way_back(found, site.config.database(), watch.connector, site.clock.now())


@pytest.mark.parametrize(("closes", "state"), [("01:00", MoveState.SKIPPED), ("02:00", MoveState.PLACED)])
def test_a_group_and_its_way_back_fit_the_window(site: Site, closes: str, state: MoveState) -> None:
    """Three copies of ten minutes and two back take 75 minutes with the usual safety, more than an hour."""
    crowded(site)
    site.windows = f"windows: ['mon-sun 00:00-{closes}']"
    with site.agent() as (watch, ledger):
        watch.sample()
        number = a_group(site, watch, ledger, copy_seconds=600.0)
        now = site.clock.now()
        site.clock.sleep((86400 - (now - now.replace(hour=0, minute=0, second=0)).total_seconds()) % 86400 + 1.0)
        watch.act()
        assert {row.state for row in rows(ledger, number)} == {state}
        assert state is MoveState.PLACED or "with its way back" in rows(ledger, number)[0].reason


def test_an_end_that_fails_is_told_and_its_way_back_is_proposed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the approval is of a version that showed no way back; taken back, nothing stands worse any more."""
    crowded(site)
    with site.agent() as (watch, ledger):
        watch.sample()
        before = site.homes()
        number = a_group(site, watch, ledger, goes_back=False)
        fails_at(monkeypatch, HOT)
        watch.act()
        assert [row.state.value for row in rows(ledger, number)] == ["undo_proposed", "undo_proposed", "failed"]
        (sentence,) = left_worse_of(ledger, "sim").values()
        assert f"{HOT} was not moved to ssd (failed: no room for {HOT}" in sentence
        assert f"{COLD[0]} to hdd, {COLD[1]} to hdd" in sentence
        assert "0.0167 waiting sessions (1 min/h) more than before" in sentence
        (back,) = ledger.proposals.rows(database="sim", states={ProposalState.PROPOSED})
        assert [move.key for move in back.proposal.moves] == [COLD[1], COLD[0]]
        assert sentence.endswith(f"Proposal {back.id} takes it back: hotplace show {back.id}.")
        assert metric(watch) == 1
        assert [row.event for row in ledger.audit.rows(50)].count("group.left_worse") == 1
        watch.verify()
        assert [row.event for row in ledger.audit.rows(50)].count("group.left_worse") == 1, "told once"
        ledger.proposals.approve(back.id, **ANN, digest=back.digest)
        watch.act()
        watch.verify()
        assert site.homes() == before
        assert (metric(watch), left_worse_of(ledger, "sim")) == (0, {})


def test_who_only_observes_says_how_to_take_it_back(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """No proposal that nobody asked for."""
    site.level = "observe"
    crowded(site)
    with site.agent() as (watch, ledger):
        watch.sample()
        number = a_group(site, watch, ledger, goes_back=False)
        fails_at(monkeypatch, HOT)
        watch.act()
        (sentence,) = left_worse_of(ledger, "sim").values()
        first, second, _ = rows(ledger, number)
        assert f"hotplace undo {first.id} {second.id}" in sentence
        assert not ledger.proposals.rows(database="sim", states={ProposalState.PROPOSED})


def test_the_verdict_ends_it(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody takes it back, what arrived is judged, and the look that judges it ends the alert."""
    site.level = "observe"
    crowded(site)
    with site.agent() as (watch, ledger):
        watch.sample()
        a_group(site, watch, ledger, goes_back=False)
        fails_at(monkeypatch, HOT)
        watch.act()
        assert metric(watch) == 1
        for _ in range(200):
            site.clock.sleep(MINUTE)
            watch.sample()
            if watch.verify():
                break
        assert not ledger.moves.rows(database="sim", states={MoveState.SETTLING})
        assert (metric(watch), left_worse_of(ledger, "sim")) == (0, {})


def test_what_fails_first_leaves_the_rest_undone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing gave way, so nothing stands worse, and nothing else of the group begins."""
    crowded(site)
    with site.agent() as (watch, ledger):
        watch.sample()
        number = a_group(site, watch, ledger)
        fails_at(monkeypatch, COLD[0])
        watch.act()
        found = rows(ledger, number)
        assert [row.state.value for row in found] == ["failed", "skipped", "skipped"]
        assert f"move 1 ({COLD[0]}) is failed" in found[2].reason
        assert metric(watch) == 0


def between_moves(monkeypatch: pytest.MonkeyPatch, key: str, then: Callable[[], None]) -> None:
    """Do something right after that object was moved."""
    original = SimulatedSession.execute

    def execute(self: SimulatedSession, step: Step) -> None:
        original(self, step)
        if key in step.sql:
            then()

    monkeypatch.setattr(SimulatedSession, "execute", execute)


def test_once_the_end_no_longer_fits_nothing_more_gives_way(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It grows while the first makes room: the second stays where it is."""
    crowded(site, spare=5 * MB)
    with site.agent() as (watch, ledger):
        watch.sample()
        number = a_group(site, watch, ledger)
        between_moves(monkeypatch, COLD[0], lambda: grow(site, HOT, 14 * MB))
        watch.act()
        found = rows(ledger, number)
        assert [row.state.value for row in found] == ["undo_proposed", "skipped", "skipped"]
        assert f"which cannot be completed: {HOT} needs" in found[1].reason
        assert site.homes()[COLD[1]] == "ssd"


def test_a_group_waits_while_its_end_is_held(site: Site) -> None:
    """Who pauses what it is for pauses what makes room for it."""
    crowded(site)
    with site.agent() as (watch, ledger):
        watch.sample()
        number = a_group(site, watch, ledger)
        end = rows(ledger, number)[2]
        ledger.requests.submit(end.id, RequestKind.PAUSE, **ANN, reason="backup")
        site.clock.sleep(MINUTE)
        assert watch.act() == ()
        assert {row.state for row in rows(ledger, number)} == {MoveState.APPROVED}
        ledger.requests.submit(end.id, RequestKind.RESUME, **ANN, reason="")
        watch.act()
        assert {row.state for row in rows(ledger, number)} == {MoveState.PLACED}


def test_a_group_that_would_outlive_its_approval_is_not_begun(site: Site) -> None:
    """Its last move would begin too late."""
    crowded(site)
    with site.agent() as (watch, ledger):
        watch.sample()
        number = a_group(site, watch, ledger)
        proposal = ledger.proposals.row(number).proposal
        ledger.proposals.strike(number, 1, **ANN, reason="")
        slow = tuple(replace(move, copy_seconds=3600.0) for move in proposal.moves)
        now = site.clock.now()
        short = replace(proposal, moves=slow, created_at=now, expires_at=now.replace(hour=now.hour + 1))
        other = ledger.proposals.store(short)
        ledger.proposals.approve(other, **ANN, digest=ledger.proposals.row(other).digest)
        watch.act()
        found = rows(ledger, other)
        assert {row.state for row in found} == {MoveState.SKIPPED}
        assert f"{HOT} would begin at" in found[0].reason


def test_every_statement_of_a_route_is_the_engines(site: Site) -> None:
    """The offline way, which takes no room beyond the copy: these tests rest on it."""
    crowded(site)
    with site.agent() as (watch, _):
        watch.sample()
        route: Route = move_of(watch, 1, HOT, "ssd", None).route
        assert (route.transient_bytes, route.online) == (0, False)
