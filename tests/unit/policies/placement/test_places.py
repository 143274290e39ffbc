"""Which spaces count on their own, and what a plan does where the room of a tier is in several of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.model.moves import MoveReason
from policies.model.plan import Plan
from policies.model.settings import Pin, PolicySettings
from policies.placement.balancer import make_plan
from policies.placement.placement_state import MOST_OF_A_TIER, Place, place_of_spaces, places_of
from policies.placement.verdicts import explain_verdict
from tests.unit.policies.referee import carried_out
from tests.unit.policies.situations import GIB, HDD, SSD, Site, Unit

TWO_FAST = (("ssd", SSD, ("a", "b")), ("hdd", HDD, ("slow",)))
NO_HEAD_ROOM = PolicySettings(head_room_ratio=0.0)
IDLE = (Unit(key="idle_a", size=10 * GIB, space="a"), Unit(key="idle_b", size=10 * GIB, space="b"))
HOT = Unit(key="hot", size=12 * GIB, sync=500.0)


def planned(*units: Unit, free: float = 10.8, settings: PolicySettings = NO_HEAD_ROOM) -> Plan:
    """The plan for two fast spaces with so many GiB free in each, after the referee has carried it out."""
    room = {"a": int(free * GIB), "b": int(free * GIB), "slow": 10**15}
    situation = Site(room=room, tiers=TWO_FAST).situation(units)
    plan = make_plan(situation, settings)
    assert len(list(carried_out(situation, plan, settings))) == len(plan.moves)
    return plan


def test_room_in_two_spaces_is_room_in_neither() -> None:
    """A hot table larger than what is free in either space comes once an idle one has made room in one of them."""
    plan = planned(*IDLE, HOT)
    assert [move.key for move in plan.moves][1:] == ["hot"]
    assert plan.moves[0].from_space == plan.moves[1].to_space
    assert plan.wait_saved_per_hour == pytest.approx(9540)
    assert plan.gap_ratio == pytest.approx(0, abs=1e-6)


def test_busy_tables_change_spaces_instead_of_tiers() -> None:
    """What is worth its place on the fast tier, pinned or not, goes to the other space of it to make room."""
    for pin in (Pin.NONE, Pin.MUST):
        busy = [replace(unit, sync=100.0, pin=pin) for unit in IDLE]
        plan = planned(*busy, HOT)
        assert [move.reason for move in plan.moves] == [MoveReason.LEVEL, MoveReason.PROMOTE]
        assert plan.moves[0].to_tier == plan.moves[0].from_tier == "ssd"
        assert "and so makes room for hot" in plan.moves[0].sentence
        assert plan.wait_saved_per_hour == pytest.approx(9540)


def test_a_cooling_table_does_not_change_spaces() -> None:
    """What may not move stays in its space too; the bound knows that nothing is to be gained then."""
    plan = planned(*(replace(unit, sync=100.0, cooling=60.0) for unit in IDLE), HOT)
    assert plan.moves == ()
    assert plan.bound_per_hour == 0


def in_domains(*units: Unit, room: dict[str, int], settings: PolicySettings = NO_HEAD_ROOM) -> Plan:
    """The plan where a and slow_a are of one domain, b and slow_b of another."""
    tiers = (("ssd", SSD, ("a", "b")), ("hdd", HDD, ("slow_a", "slow_b")))
    situation = Site(room=room, tiers=tiers).situation(units)
    spaces = tuple(replace(space, domain=space.name[-1]) for space in situation.spaces)
    return make_plan(replace(situation, spaces=spaces), settings)


def test_nothing_leaves_its_domain() -> None:
    """A hot table goes to the fast space of its own domain, though another has more room; so does what gives way."""
    room = {"a": 13 * GIB, "b": 900 * GIB, "slow_a": 10**15, "slow_b": 10**14}
    hot = [replace(HOT, key=f"hot_{end}", space=f"slow_{end}") for end in "ab"]
    plan = in_domains(*hot, room=room)
    assert {(move.key, move.to_space) for move in plan.moves} == {("hot_a", "a"), ("hot_b", "b")}
    full = {**room, "a": 3 * GIB}
    plan = in_domains(*hot, IDLE[0], room=full)
    assert {(move.key, move.to_space) for move in plan.moves} == {("hot_a", "a"), ("hot_b", "b"), ("idle_a", "slow_a")}
    assert in_domains(hot[0], room={**room, "a": 0}).moves == ()
    plan = in_domains(*hot, replace(hot[0], key="also_hot_a"), room=room)
    assert len(plan.moves) == 2
    assert plan.gap_ratio == pytest.approx(0, abs=1e-6)  # room of another domain is no room that the bound counts on


def test_the_room_that_is_left_is_that_of_its_domain() -> None:
    """What does not fit is not told of room where it cannot go."""
    tiers = (("ssd", SSD, ("a", "b")), ("hdd", HDD, ("slow_a", "slow_b")))
    situation = Site(room={"a": 0, "b": 900 * GIB, "slow_a": 10**15, "slow_b": 10**15}, tiers=tiers).situation(
        (replace(HOT, space="slow_a"),)
    )
    spaces = tuple(replace(space, domain=space.name[-1]) for space in situation.spaces)
    situation = replace(situation, spaces=spaces)
    said = explain_verdict(situation, make_plan(situation, NO_HEAD_ROOM), 0, NO_HEAD_ROOM)
    assert "900" not in said
    assert "ssd has 0 B left" in said


def test_many_units_of_two_domains_all_find_their_own() -> None:
    """Small units are drawn to one place of their tier each: of those of their domain."""
    room = {"a": 10**15, "b": 10**15, "slow_a": 10**15, "slow_b": 10**15}
    units = [Unit(key=f"u{n}", size=GIB, sync=50.0, space=f"slow_{'ab'[n % 2]}") for n in range(900)]
    plan = in_domains(*units, room=room, settings=replace(NO_HEAD_ROOM, maximum_moves=900))
    assert len(plan.moves) == 900
    assert all(move.from_space[-1] == move.to_space for move in plan.moves)


def test_a_space_that_could_take_everything_needs_no_place_of_its_own() -> None:
    """Where the room of a tier never matters, its spaces are one place; elsewhere each is one, the roomiest first."""
    names, tier_of = ["a", "b", "c", "d"], [0, 0, 1, 1]
    places = places_of(names, tier_of, [5, 7, 100, 20], [10, 10, 50, 50], 2)
    assert places == (Place(0, (1,)), Place(0, (0,)), Place(1, (2, 3)))
    assert place_of_spaces(places, tier_of) == [1, 0, 2, 2]


def test_many_spaces_share_the_last_place_and_unknown_room_takes_nothing() -> None:
    """The largest spaces count on their own; a space whose room is not known belongs to a place and is no target."""
    count = MOST_OF_A_TIER + 3
    names, tier_of = [f"s{at}" for at in range(count)] + ["slow"], [0] * count + [1]
    room = [*range(10, 10 + count - 1), None, 10**9]
    places = places_of(names, tier_of, room, [0] * count + [10**6], 2)
    assert [len(place.spaces) for place in places] == [1] * MOST_OF_A_TIER + [2, 1]
    assert places[0].spaces == (count - 2,)
    assert all(count - 1 not in place.spaces for place in places)
    assert place_of_spaces(places, tier_of)[count - 1] == 0
