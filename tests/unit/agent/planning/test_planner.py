"""The planner against the simulated engine: what becomes of moves whose routes write the same thing anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.rows import SentRow, StepState
from agent.ledger.state_names import GONE_UNITS
from agent.model.states import MoveState
from agent.planning.planner import Planning, _without_moves, curve_document, make_planning, proposal_of
from agent.planning.situation import situation_of
from agent.sampling.picture import Picture
from agent.sampling.sampler import Sampler
from connectors.kit.contract import Connector
from connectors.model.moves import Bundle, NoRoute, Route
from connectors.model.observation import I64
from connectors.simulated.connector import SimulatedConnector
from policies.evidence.capacity import Growth, room_bytes
from policies.model.plan import SavingLimit
from tests.simulated.worlds import make
from tests.unit.samples import a_move, a_route
from tests.virtual_clock import VirtualClock

HOUR = 3600.0
DAY = timedelta(days=1)
DATABASE = DatabaseConfig.model_validate(
    {
        "name": "shop",
        "engine": "simulated",
        "connection": {},
        "tiers": [{"name": "ssd", "spaces": ["ssd"]}, {"name": "hdd", "spaces": ["hdd"]}],
        "policy": {"minimum_history": "0s"},
    }
)


class Rewriting:
    """The simulated engine, whose routes of chosen units say what else they write anew."""

    def __init__(self, connector: SimulatedConnector) -> None:
        self.rewrites: dict[str, str] = {}  # by key
        self.exact_ratio = 1.0  # of what the catalog says
        self.transient_ratio: float | None = None  # of the bundle; None: as the engine says
        self.stays = False  # the original of every bundle is kept for a time
        self.asked_exactly = 0
        self.stuck: set[str] = set()  # keys without a route
        self._connector = connector

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connector, name)

    def routes(self, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
        """As the engine says, and what is written anew."""
        found = self._connector.routes(bundle, to_space)
        if isinstance(found, NoRoute):
            return found
        if bundle.key in self.stuck:
            return NoRoute(code="stuck", sentence="it stays")
        return tuple(
            replace(
                route,
                rewrites=self.rewrites.get(bundle.key, ""),
                transient_bytes=route.transient_bytes
                if self.transient_ratio is None
                else int(bundle.size_bytes * self.transient_ratio),
                stays_bytes=bundle.size_bytes if self.stays else 0,
            )
            for route in found
        )

    def exact_sizes(self, physical_ids: I64) -> I64:
        """A little more or less than the catalog says."""
        self.asked_exactly += len(physical_ids)
        sizes: I64 = np.rint(self._connector.exact_sizes(physical_ids) * self.exact_ratio).astype(np.int64)
        return sizes


class Desk:
    """Plans of one picture."""

    def __init__(self, ledger: Ledger, clock: VirtualClock, connector: SimulatedConnector) -> None:
        self.engine = Rewriting(connector)
        self.ledger, self.clock = ledger, clock
        self._connector = cast(Connector, self.engine)
        self._sampler = Sampler(DATABASE, self._connector, ledger, clock)
        for _ in range(3):
            self._sampler.cycle()
            clock.sleep(HOUR)

    def plan(self) -> Planning:
        """As the daemon makes it."""
        return make_planning(self.picture(), DATABASE, self._connector, self.ledger, self.clock.now())

    def restart(self) -> None:
        """Save what was learnt and begin again with what the ledger keeps."""
        self._sampler.save()
        self._sampler = Sampler(DATABASE, self._connector, self.ledger, self.clock)
        self._sampler.cycle()

    def picture(self) -> Picture:
        """What the sampler knows."""
        picture = self._sampler.picture()
        assert picture is not None
        return picture


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A shop that has been watched for some hours."""
    _, connector, clock = make()
    ledger = Ledger.open(tmp_path / "ledger.db", clock)
    yield Desk(ledger, clock, connector)
    ledger.close()


def keys(planning: Planning) -> list[str]:
    """What is moved, in the order of the plan."""
    return [move.key for move in planning.plan.moves]


def test_of_routes_that_write_the_same_thing_only_the_first_is_planned(desk: Desk) -> None:
    """The first of the plan stays, the other waits with the reason, and what writes something else is not touched."""
    free = keys(desk.plan())
    assert len(free) >= 3
    first, second, third = free[:3]
    desk.engine.rewrites = {first: "the index", second: "the index", third: "another index"}
    planning = desk.plan()
    assert first in keys(planning)
    assert second not in keys(planning)
    assert third in keys(planning)
    assert planning.situation.no_route == {
        second: "another move of this plan rewrites the index; this one can follow in a later plan"
    }


def test_every_plan_has_one_route_for_each_thing_that_is_written(desk: Desk) -> None:
    """Were all units one index, a plan would be one move; routes that write nothing besides hinder nobody."""
    free = desk.plan()
    assert len(free.routes) == len(free.plan.moves) >= 3
    assert not free.situation.no_route
    units = free.situation.units.key
    desk.engine.rewrites = dict.fromkeys(units, "everything")
    planning = desk.plan()
    assert len(planning.plan.moves) == 1
    assert [route.bundle.key for route in planning.routes] == keys(planning)


def test_the_turn_of_the_others_comes(desk: Desk) -> None:
    """What waited is planned again as soon as the first needs no writing any more: nothing of it is remembered."""
    first, second, *_ = free = keys(desk.plan())
    desk.engine.rewrites = {first: "the index", second: "the index"}
    assert second not in keys(desk.plan())
    del desk.engine.rewrites[first]
    assert keys(desk.plan()) == free


def made_room(key: str, reason: str, at: datetime) -> SentRow:
    """The statement with which a unit went down."""
    route = a_route(key)
    move = replace(a_move(key=key, route=route), from_tier="ssd", to_tier="hdd", reason=reason)
    return SentRow(
        move_id=1, ordinal=1, sql=route.steps[0].sql, state=StepState.DONE, intended_at=at, ended_at=at,
        move_state=MoveState.KEPT, state_since=at, move=move,
    )  # fmt: skip


def test_what_came_to_the_fastest_tier_stays_until_it_has_paid(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three that moved an hour ago one has paid, unless copies become dear; what made room may come back."""
    picture, now = desk.picture(), desk.clock.now()
    count = len(picture.catalog.units)
    units = replace(picture.catalog.units, space=(np.arange(count) == 2).astype(np.int32))
    picture = replace(
        picture,
        catalog=replace(picture.catalog, units=units),
        storage=replace(picture.storage, tier_of_space=np.arange(len(picture.catalog.spaces), dtype=np.int32)),
        earned=np.where(np.arange(count) == 0, 1e9, 0.0),
    )
    lately = dict.fromkeys(units.key[:3], now - timedelta(hours=1))
    monkeypatch.setattr(desk.ledger.moves, "last_moved", lambda _database: lately)
    day = 23 * 3600.0
    for reason, earned, dearest, rests in (
        ("undo", picture.earned, 1.0, [0.0, day, day]),
        ("undo", picture.earned, 1e12, [day, day, day]),
        ("undo", None, 1.0, [day, day, day]),
        ("make_room", None, 1.0, [day, day, 0.0]),
    ):
        row = made_room(units.key[2], reason, now)
        monkeypatch.setattr(desk.ledger.moves, "sent_statements", lambda _database, _since, row=row: [row])
        known = replace(picture, earned=earned, dearest=dearest)
        cooling = situation_of(known, DATABASE, desk.ledger, DATABASE.policy_settings(), now).cooling_seconds
        assert cooling.tolist() == [*rests, *[0.0] * (count - 3)]


@pytest.mark.parametrize(("spare", "rests"), [(1, 0.0), (-1, 23 * 3600.0)])
def test_what_left_for_growth_comes_back_once_there_is_room(
    desk: Desk, spare: int, rests: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Room that appears is used within its cool-down, if half of the head-room stays free; a byte less will not do."""
    picture, now = desk.picture(), desk.clock.now()
    settings, units = DATABASE.policy_settings(), picture.catalog.units
    row = int(np.flatnonzero(picture.storage.tier_of_space[units.space] == 1)[0])
    grown = np.where(np.arange(len(units)) == row, 1.0, 0.0)
    growth = Growth(rate=grown, lasts=np.full(len(units), np.inf), most=np.full(len(units), 1000.0))
    tier = picture.storage.tier_of_space.tolist()
    capacity = 10**12
    free = -int(-capacity * (settings.head_room_ratio * 1.5) // 1) + int(units.size_bytes[row]) + 1000 + min(spare, 0)
    spaces = tuple(
        replace(space, capacity_bytes=capacity, free_bytes=free, used_bytes=capacity - free) if at == 0 else space
        for space, at in zip(picture.storage.spaces, tier, strict=True)
    )
    picture = replace(picture, growth=growth, storage=replace(picture.storage, spaces=spaces))
    monkeypatch.setattr(desk.ledger.moves, "last_moved", lambda _database: {units.key[row]: now - timedelta(hours=1)})
    left = made_room(units.key[row], "growth", now)
    monkeypatch.setattr(desk.ledger.moves, "sent_statements", lambda _database, _since: [left])
    assert situation_of(picture, DATABASE, desk.ledger, settings, now).cooling_seconds[row] == rests


def test_a_move_pays_over_the_time_for_which_the_best_memory_holds(desk: Desk) -> None:
    """Where hours of memory place best, gains are counted over 12 hours; never over more than is configured."""
    for lasting, horizon in ((12 * 3600.0, 12 * 3600.0), (96 * 3600.0, 24 * 3600.0)):
        picture = replace(desk.picture(), lasting_seconds=lasting)
        planning = make_planning(picture, DATABASE, cast(Connector, desk.engine), desk.ledger, desk.clock.now())
        assert planning.settings.horizon_seconds == horizon


def test_no_plan_has_sessions_wait_for_longer_than_they_are_at_work(desk: Desk) -> None:
    """A read of hdd said to take a second would have them wait for days an hour: the plan says their own hours."""
    picture = desk.picture()
    assert picture.sessions == pytest.approx(picture.work.active, rel=0.2)
    slowest = picture.storage.tiers[-1]
    slow = replace(slowest, speed=replace(slowest.speed, random_read_seconds=1.0))
    storage = replace(picture.storage, tiers=(*picture.storage.tiers[:-1], slow))
    most = HOUR * max(picture.sessions, picture.work.active)
    planning = make_planning(
        replace(picture, storage=storage), DATABASE, cast(Connector, desk.engine), desk.ledger, desk.clock.now()
    )
    assert planning.plan.wait_per_hour == pytest.approx(most, rel=1e-4)
    assert planning.plan.wait_saved_per_hour <= most
    unknown = replace(picture, storage=storage, sessions=np.nan, work=replace(picture.work, active=np.nan))
    free = make_planning(unknown, DATABASE, cast(Connector, desk.engine), desk.ledger, desk.clock.now())
    assert free.plan.wait_per_hour > 10 * most


def test_sessions_at_work_are_known_after_a_restart(desk: Desk) -> None:
    """They come from the ledger, before the new sampler has seen an interval of its own."""
    sessions = desk.picture().sessions
    desk.restart()
    assert desk.picture().sessions == pytest.approx(sessions)


@pytest.mark.parametrize("ratio", [0.0, 0.98, 1.0, 1.03, 1.2])
def test_what_is_planned_has_exact_sizes(desk: Desk, ratio: float) -> None:
    """However near the catalog's are: a per cent of a large table is what another one would have needed."""
    desk.engine.exact_ratio = ratio
    planning = desk.plan()
    assert planning.plan.moves
    cheap = dict(zip(desk.picture().catalog.units.key, desk.picture().catalog.units.size_bytes.tolist(), strict=True))
    units = planning.situation.units
    for move, route in zip(planning.plan.moves, planning.routes, strict=True):
        exact = sum(round(cheap[units.key[row]] * ratio) for row in move.rows)
        assert (move.size_bytes, route.bundle.size_bytes) == (exact, exact)
    assert desk.engine.asked_exactly <= len(units), "each is asked for once"


def filled(desk: Desk, planning: Planning, ratio: float, monkeypatch: pytest.MonkeyPatch) -> Picture:
    """The picture with a fast space that holds so much of what was planned, above its head-room."""
    picture = desk.picture()
    coming = [move for move in planning.plan.moves if move.to_tier == "ssd"]
    fast, wanted = {move.to_space for move in coming}, sum(move.size_bytes for move in coming)
    spaces = tuple(
        replace(space, capacity_bytes=None, free_bytes=round(wanted * ratio / 0.9)) if space.name in fast else space
        for space in picture.storage.spaces
    )
    picture = replace(picture, storage=replace(picture.storage, spaces=spaces))
    monkeypatch.setattr(desk, "picture", lambda: picture)
    return picture


@pytest.mark.parametrize("transient", [0.0, 0.1, 1.2])
@pytest.mark.parametrize("room", [0.4, 0.8, 1.0])
def test_a_plan_leaves_room_for_what_its_routes_take_on_the_way(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, transient: float, room: float
) -> None:
    """Sorts and journals: every move of the plan fits at its turn, and what fits is planned."""
    free = desk.plan()
    filled(desk, free, room, monkeypatch)
    desk.engine.transient_ratio = transient
    planning = desk.plan()
    left = {
        space.name: room_bytes(space, planning.settings.head_room_ratio) for space in planning.situation.spaces
    }  # fmt: skip
    for move, route in zip(planning.plan.moves, planning.routes, strict=True):
        there = left[move.to_space]
        assert there is not None
        assert move.size_bytes + route.transient_bytes <= there
        left[move.to_space] = there - move.size_bytes
        left[move.from_space] = (left[move.from_space] or 0) + move.size_bytes
    assert planning.plan.moves


def test_a_plan_does_not_count_on_room_that_originals_keep(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes down frees nothing for what comes up: only what fits beside it is planned."""
    picture = filled(desk, desk.plan(), 0.3, monkeypatch)
    assert any(move.reason == "make_room" for move in desk.plan().plan.moves)
    desk.engine.stays = True
    planning = desk.plan()
    ratio = planning.settings.head_room_ratio
    left = {space.name: room_bytes(space, ratio) or 0 for space in planning.situation.spaces}
    for move in planning.plan.moves:
        assert move.size_bytes <= left[move.to_space]
        left[move.to_space] -= move.size_bytes
    assert not any(move.reason == "make_room" for move in planning.plan.moves), picture


def test_a_growing_database_is_planned_with_what_it_will_have_grown_to(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes that are shown are those of now; the proposal also says what was expected, and up to what it holds."""
    desk.engine.transient_ratio = 0.0
    desk.engine.stuck = {move.key for move in desk.plan().plan.moves if move.to_tier == "hdd"}
    picture = filled(desk, desk.plan(), 1.02, monkeypatch)
    still = desk.plan()
    assert still.situation.growth is None
    hdd = [space.name for space in picture.catalog.spaces].index("hdd")
    rate = np.where(picture.catalog.units.space == hdd, 1e9, 0.0)
    most = picture.catalog.units.size_bytes.astype(np.float64) * 0.2
    growing = replace(picture, growth=Growth(rate=rate, lasts=np.full(len(rate), np.inf), most=most))
    monkeypatch.setattr(desk, "picture", lambda: growing)
    planning = desk.plan()
    assert planning.situation.growth is not None
    coming = sum(move.size_bytes for move in planning.plan.moves)
    assert 0 < coming < sum(move.size_bytes for move in still.plan.moves)
    cheap = dict(zip(picture.catalog.units.key, picture.catalog.units.size_bytes.tolist(), strict=True))
    assert all(
        move.size_bytes == sum(cheap[planning.situation.units.key[row]] for row in move.rows)
        for move in planning.plan.moves
    )
    proposal = proposal_of(planning, DATABASE, "fingerprint")
    assert proposal is not None
    ahead = planning.situation.growth_seconds
    assert ahead == DATABASE.plan_seconds + DATABASE.proposal_expires_seconds
    for move in (each for each in proposal.moves if each.from_space == "hdd"):
        grown = move.largest_bytes - move.size_bytes
        assert grown == pytest.approx((0.2 + 0.2) * move.size_bytes, rel=1e-3), "what is expected, and a fifth"
        assert move.expected_bytes is not None
        share = DATABASE.proposal_expires_seconds / ahead
        assert move.expected_bytes - move.size_bytes == pytest.approx(share * grown / 2, rel=1e-3)
    moves = proposal.moves
    assert proposal.digest != replace(proposal, moves=(replace(moves[0], limit_bytes=1), *moves[1:])).digest


def test_a_plan_tells_what_each_size_of_its_fastest_tier_saves(desk: Desk) -> None:
    """From none to all of it, where nothing is pinned there; a database of one tier has no curve."""
    planning = desk.plan()
    curve = curve_document(planning)
    assert curve is not None
    sizes, saved = zip(*curve["points"], strict=True)
    assert (curve["tier"], sizes[0], saved[0]) == ("ssd", 0, 0.0)
    assert len(sizes) > 2
    assert sorted(sizes) == list(sizes)
    assert sorted(saved) == list(saved)
    alone = replace(planning.situation, tiers=planning.situation.tiers[:1])
    assert curve_document(replace(planning, situation=alone)) is None


def test_the_sampler_notes_which_units_are_gone(desk: Desk) -> None:
    """By each new catalog; nothing is written while none has gone."""
    assert desk.ledger.state.load_document("shop", GONE_UNITS) is None
    before = desk.picture().catalog.units.key
    slots = desk.ledger.slots.of("shop", ['"shop"."of another day"'])
    desk.restart()
    stored = desk.ledger.state.load_document("shop", GONE_UNITS)
    assert stored is not None
    assert stored[1] == slots.tolist() == [len(before)]


def test_the_sampler_tells_how_fast_units_grow(desk: Desk) -> None:
    """Nothing grows in this shop, and after an hour that is known."""
    growth = desk.picture().growth
    assert growth is not None
    assert not growth.rate.any()


def test_a_plan_whose_moves_have_no_way_after_all_rounds_moves_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the part that has one, either: what makes room for a move without a way would be a loss."""
    free = desk.plan()
    desk.engine.stuck = {keys(free)[0]}
    monkeypatch.setattr("agent.planning.planner.ROUNDS", 1)
    planning = desk.plan()
    assert (planning.plan.moves, planning.routes, planning.costs) == ((), (), ())
    assert (planning.plan.wait_saved_per_hour, planning.plan.gap_ratio) == (0.0, 1.0)
    nothing_to_gain = replace(free.plan, limit=SavingLimit())
    assert _without_moves(free.situation, nothing_to_gain).gap_ratio == 0.0
    monkeypatch.undo()
    assert keys(desk.plan()), "with more rounds, another plan"
