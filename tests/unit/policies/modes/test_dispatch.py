"""Plans of the balancer's modes beside plain hsm, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from connectors.model.moves import UnitKind
from policies.model.moves import MoveReason
from policies.model.plan import Plan, Verdict
from policies.model.settings import Pin, PolicySettings
from policies.placement.dispatch import (
    Capacity,
    Drain,
    Hsm,
    HsmSubtype,
    Mode,
    Preference,
    UnknownName,
    Usage,
    plan_mode,
)
from policies.placement.modes import PinState, pin_view
from policies.placement.verdicts import explain_verdict
from tests.unit.policies.referee import after, carried_out
from tests.unit.policies.situations import HDD, MIB, SSD, Site, Unit

SETTINGS = PolicySettings(head_room_ratio=0.0)
TWINS = (("ssd", SSD, ("fast", "fast2")), ("hdd", HDD, ("slow", "slow2")))


def planned(units: list[Unit], site: Site, mode: Mode, **more: float) -> Plan:
    """The plan, after the referee has carried it out."""
    situation = site.situation(units)
    plan = plan_mode(situation, SETTINGS, mode, **more)
    assert len(list(carried_out(situation, plan, SETTINGS))) == len(plan.moves)
    for row in range(len(units)):
        assert explain_verdict(situation, plan, row, SETTINGS).endswith(".")
    return plan


def relocations(plan: Plan) -> list[tuple[str, str]]:
    """Key and target of each move."""
    return [(move.key, move.to_space) for move in plan.moves]


def twins(fast: int = 0, fast2: int = 0, slow: int = 10**9, slow2: int = 10**9) -> Site:
    """Two tiers of two spaces each, with that many MiB free."""
    room = {"fast": fast, "fast2": fast2, "slow": slow, "slow2": slow2}
    return Site(room={name: free * MIB for name, free in room.items()}, tiers=TWINS)


def two(fast: int, slow: int = 10**9) -> Site:
    """Two tiers of one space each, with that many MiB free."""
    return Site(room={"fast": fast * MIB, "slow": slow * MIB})


def test_hdd_fills_free_room_and_takes_nothing_down() -> None:
    """The hot one that fits comes up; the hotter one that would need the cold resident's room does not."""
    units = [
        Unit(key="cold", size=50 * MIB, space="fast"),
        Unit(key="large", size=40 * MIB, sync=100.0),
        Unit(key="small", size=10 * MIB, sync=10.0),
    ]
    assert relocations(planned(units, two(10), Hsm(subtype=HsmSubtype.HDD))) == [("small", "fast")]
    assert {"cold", "large"} <= {key for key, _ in relocations(planned(units, two(10), Hsm()))}


def test_hdd_leaves_what_is_pinned_off_where_it_is() -> None:
    """Taking down is not asked for, not even for a pin."""
    units = [Unit(key="barred", space="fast", pin=Pin.NEVER)]
    assert relocations(planned(units, two(10), Hsm(subtype=HsmSubtype.HDD))) == []
    assert relocations(planned(units, two(10), Preference())) == [("barred", "slow")]


def test_ssd_clears_the_coldest_until_the_share_is_free() -> None:
    """Of 100 MiB 20 are to be free: two cold ones of 10 MiB go, the third and the hot one stay, nothing comes."""
    units = [Unit(key=f"cold{at}", size=10 * MIB, space="fast", sync=at * 1e-6) for at in range(3)]
    units += [Unit(key="hot", size=70 * MIB, space="fast", sync=100.0), Unit(key="wishes", sync=100.0)]
    plan = planned(units, two(0), Hsm(subtype=HsmSubtype.SSD, free_ratio=0.2))
    assert relocations(plan) == [("cold0", "slow"), ("cold1", "slow")]
    assert {move.reason for move in plan.moves} == {MoveReason.CLEAR}
    assert [Verdict(int(code)) for code in plan.verdict] == [Verdict.DEMOTE] * 2 + [Verdict.NOT_ASKED] * 3


def test_ssd_never_clears_what_is_hot() -> None:
    """Where everything is hot the share is not reached."""
    units = [Unit(key="hot", size=70 * MIB, space="fast", sync=100.0)]
    assert relocations(planned(units, two(0), Hsm(subtype=HsmSubtype.SSD, free_ratio=0.5))) == []


def test_usage_moves_what_lowers_the_busiest_most_per_byte() -> None:
    """90 reads/s against 10: of the three the small one that carries 30 goes, then 60 to 40 has no good move left."""
    units = [
        Unit(key="small", size=MIB, sync=30.0),
        Unit(key="large", size=10 * MIB, sync=30.0),
        Unit(key="heavy", size=10 * MIB, sync=30.0),
        Unit(key="other", size=MIB, sync=10.0, space="slow2"),
    ]
    plan = planned(units, twins(), Usage(tier="hdd"))
    assert relocations(plan) == [("small", "slow2")]
    assert plan.wait_saved_per_hour == 0
    assert Verdict(int(plan.verdict[0])) is Verdict.LEVELLED


@pytest.mark.parametrize(("load", "moves"), [(10.0, 0), (15.0, 1)])
def test_usage_rests_within_its_dead_band(load: float, moves: int) -> None:
    """100+load against 100: with 10 the busiest is 4.8 % above the mean and rests; 115+15 against 100 is 13 % above."""
    extra = 0.0 if moves == 0 else 15.0
    units = [
        Unit(key="rest", sync=100.0 + extra, cooling=1.0),
        Unit(key="loose", sync=load),
        Unit(key="other", sync=100.0, space="slow2"),
    ]
    assert len(relocations(planned(units, twins(), Usage()))) == moves


def test_usage_makes_no_move_that_improves_by_less_than_half_of_its_load() -> None:
    """100 against 20: moving all 100 gains nothing, 60 of it gains 20 which is less than 30, 50 gains 30 of 50."""
    other = Unit(key="other", sync=20.0, space="slow2")
    rest = Unit(key="rest", sync=40.0, cooling=1.0)
    assert relocations(planned([Unit(key="all", sync=100.0), other], twins(), Usage())) == []
    assert relocations(planned([rest, Unit(key="sixty", sync=60.0), other], twins(), Usage())) == []
    rest = replace(rest, sync=50.0)
    assert relocations(planned([rest, Unit(key="fifty", sync=50.0), other], twins(), Usage())) == [("fifty", "slow2")]


def test_usage_looks_at_the_next_space_when_the_busiest_has_nothing_to_give() -> None:
    """What cannot be moved out of the busiest space keeps the second one from nothing."""
    tiers = (("hdd", HDD, ("a", "b", "c")),)
    site = Site(room=dict.fromkeys("abc", 10**12), tiers=tiers)
    units = [Unit(key="stuck", sync=100.0, space="a", cooling=1.0)]
    units += [Unit(key=f"u{at}", sync=40.0, space="b") for at in range(2)]
    assert relocations(planned(units, site, Usage())) == [("u0", "c")]


def test_capacity_evens_out_fill_by_the_share_of_each_capacity() -> None:
    """80 of 100 MiB used against 0 of 300: 40 goes, which leaves 40 % against 13 %, then 20: 20 % against 20 %."""
    units = [Unit(key="forty", size=40 * MIB), Unit(key="left", size=20 * MIB), Unit(key="right", size=20 * MIB)]
    plan = planned(units, twins(slow=20, slow2=300), Capacity(tier="hdd"))
    assert relocations(plan) == [("forty", "slow2"), ("left", "slow2")]
    assert {move.reason for move in plan.moves} == {MoveReason.LEVEL}


def test_capacity_needs_no_history_and_usage_does() -> None:
    """Sizes are known at once, loads are not."""
    units = [Unit(key=f"u{at}", size=20 * MIB, sync=10.0, observed=0.0) for at in range(4)]
    site = twins(slow=20, slow2=100)
    assert len(relocations(planned(units, site, Capacity()))) == 2
    assert relocations(planned(units, site, Usage())) == []


def test_pinned_units_may_change_space_within_their_tier() -> None:
    """A pin is about the tier."""
    units = [Unit(key=f"u{at}", size=20 * MIB, space="fast", pin=Pin.MUST) for at in range(4)]
    assert len(relocations(planned(units, twins(fast=20, fast2=100), Capacity(tier="ssd")))) == 2


def test_preference_moves_pins_only_and_makes_room_for_them() -> None:
    """The pinned one comes and the cold one makes room; what is hot without a pin is not asked."""
    units = [
        Unit(key="cold", size=10 * MIB, space="fast"),
        Unit(key="wanted", size=10 * MIB, pin=Pin.MUST),
        Unit(key="hot", size=MIB, sync=100.0),
    ]
    plan = planned(units, two(0), Preference())
    assert relocations(plan) == [("cold", "slow"), ("wanted", "fast")]
    assert Verdict(int(plan.verdict[2])) is Verdict.NOT_ASKED


def test_every_state_of_a_pin() -> None:
    """Satisfied, planned, left to heat, resting, waiting for room, impossible for four reasons; each says why."""
    units = [
        Unit(key="there", space="fast", pin=Pin.MUST, size=90 * MIB),
        Unit(key="coming", pin=Pin.MUST, size=10 * MIB),
        Unit(key="liked", pin=Pin.PREFER),
        Unit(key="resting", pin=Pin.MUST, cooling=60.0),
        Unit(key="waiting", pin=Pin.MUST, size=60 * MIB),
        Unit(key="giant", pin=Pin.MUST, size=101 * MIB),
        Unit(key="blocked", pin=Pin.MUST),
        Unit(key="elsewhere", pin=Pin.MUST, space="unmanaged"),
        Unit(key="torn", pin=Pin.MUST, bundle=7),
        Unit(key="barred", pin=Pin.NEVER, bundle=7),
        Unit(key="free"),
    ]
    room = {"fast": 10 * MIB, "slow": 10**15, "unmanaged": None}
    situation = Site(room=room, no_route={"blocked": "it is locked"}).situation(units)
    plan = plan_mode(situation, SETTINGS, Preference())
    view = pin_view(situation, plan, SETTINGS)
    expected = [
        (PinState.SATISFIED, "where its pin wants it"),
        (PinState.PLANNED, "by a move of the plan"),
        (PinState.LEFT_TO_HEAT, "its heat counts more"),
        (PinState.RESTING, "rests for another 1 min"),
        (PinState.WAITING_FOR_ROOM, "needs 60.0 MiB on ssd"),
        (PinState.IMPOSSIBLE, "more than any space on ssd"),
        (PinState.IMPOSSIBLE, "cannot be moved: it is locked"),
        (PinState.IMPOSSIBLE, "no tier is configured"),
        (PinState.IMPOSSIBLE, "moves together with a unit that is pinned off ssd"),
        (PinState.SATISFIED, "where its pin wants it"),
    ]
    for row, (state, words) in enumerate(expected):
        assert (units[row].key, PinState(int(view.state[row]))) == (units[row].key, state)
        assert words in view.sentence(row)
    assert view.state[10] == -1
    both = view.summary(np.array([0, 4], dtype=np.int64))
    assert (both.state, both.units, both.satisfied) == (PinState.PARTLY, 2, 1)
    assert both.why.startswith("waiting ")
    assert view.summary(np.array([0, 9], dtype=np.int64)).why == ""


def test_drain_prefers_its_own_tier_then_slower_then_faster() -> None:
    """Hot ones get the little room of the same tier, the rest goes down; from the slowest tier it goes up."""
    units = [
        Unit(key="hot", size=10 * MIB, space="fast", sync=10.0),
        Unit(key="cold", size=10 * MIB, space="fast"),
    ]
    plan = planned(units, twins(fast=0, fast2=10), Drain(space="fast"))
    assert relocations(plan) == [("hot", "fast2"), ("cold", "slow")]
    assert plan.left_behind == ()
    up = planned([Unit(key="u", size=MIB)], two(10), Drain(space="slow"))
    assert relocations(up) == [("u", "fast")]
    assert {move.reason for move in up.moves} == {MoveReason.DRAIN}


@pytest.mark.parametrize("mode", [Preference(), Drain(space="slow2")])
def test_an_index_goes_after_its_table(mode: Mode) -> None:
    """The index is denser and would go first, but it is built from its table."""
    units = [
        Unit(key="table", size=10 * MIB, space="slow2", pin=Pin.MUST, sync=1.0),
        Unit(key="index", size=MIB, space="slow2", pin=Pin.MUST, sync=9.0, kind=UnitKind.INDEX, parent=1000),
    ]
    assert [key for key, _ in relocations(planned(units, twins(fast=50), mode))] == ["table", "index"]


def test_drain_says_of_everything_that_stays_why() -> None:
    """Cool-down, no route, pin and want of room, the largest first."""
    units = [
        Unit(key="giant", size=200 * MIB, space="fast"),
        Unit(key="pinned", size=4 * MIB, space="fast", pin=Pin.MUST),
        Unit(key="blocked", size=3 * MIB, space="fast"),
        Unit(key="resting", size=2 * MIB, space="fast", cooling=60.0),
        Unit(key="goes", size=MIB, space="fast"),
    ]
    site = replace(two(0, slow=100), no_route={"blocked": "it is locked"})
    plan = planned(units, site, Drain(space="fast"))
    assert relocations(plan) == [("goes", "slow")]
    assert [(left.key, left.why) for left in plan.left_behind] == [
        ("giant", "no other space that it may go to has known room for 200.0 MiB"),
        ("pinned", "it is pinned to ssd, and no other space there has known room for 4.0 MiB"),
        ("blocked", "it is locked"),
        ("resting", "it was moved recently and is not moved again for another 1 min"),
    ]


def test_drain_takes_the_large_first_where_that_empties_more() -> None:
    """Hot first would fill the only target with the small one and strand the large one."""
    units = [
        Unit(key="hot", size=10 * MIB, space="fast", sync=10.0),
        Unit(key="large", size=95 * MIB, space="fast"),
    ]
    assert relocations(planned(units, two(0, slow=100), Drain(space="fast"))) == [("large", "slow")]


def test_drain_of_an_unmanaged_space_moves_nothing() -> None:
    """Nobody knows where its units may go, and that is said."""
    units = [Unit(key="u", space="other")]
    plan = planned(units, Site(room={"fast": MIB, "slow": 10**9, "other": 0}), Drain(space="other"))
    assert plan.moves == ()
    assert "no tier is configured for other" in plan.left_behind[0].why


@pytest.mark.parametrize(("seconds", "moves"), [(0.0, 0), (1.99, 1), (2.0, 2), (1e9, 3)])
def test_the_time_limit_keeps_the_longest_prefix_that_fits(seconds: float, moves: int) -> None:
    """50 MB at 50 MB/s are one second each; what waits for the next plan is named."""
    units = [Unit(key=f"u{at}", size=50_000_000, space="fast") for at in range(3)]
    plan = planned(units, two(0), Drain(space="fast"), time_limit_seconds=seconds)
    assert relocations(plan) == [(f"u{at}", "slow") for at in range(moves)]
    assert [left.why for left in plan.left_behind] == [
        "it waits for the next plan: this one has reached its limits"
    ] * (3 - moves)


def test_the_time_limit_never_parts_what_gives_way_from_what_comes() -> None:
    """A swap of one second down and one up needs two; with less the plan is empty and says who waits."""
    units = [
        Unit(key="cold", size=50_000_000, space="fast"),
        Unit(key="hot", size=50_000_000, sync=100.0),
    ]
    site = Site(room={"fast": 0, "slow": 10**15})
    assert len(planned(units, site, Hsm(), time_limit_seconds=2.0).moves) == 2
    plan = planned(units, site, Hsm(), time_limit_seconds=1.5)
    assert plan.moves == ()
    assert Verdict(int(plan.verdict[1])) is Verdict.WAITING
    assert "time limit" in explain_verdict(site.situation(units), plan, 1, SETTINGS)


@pytest.mark.parametrize("mode", [Usage(tier="tape"), Capacity(tier="tape"), Drain(space="tape")])
def test_a_name_that_does_not_exist_is_an_error(mode: Mode) -> None:
    """The message lists what there is."""
    with pytest.raises(UnknownName, match=r"'tape'; there are (ssd, hdd|fast, slow)"):
        plan_mode(two(1).situation([]), SETTINGS, mode)


@pytest.mark.parametrize("mode", [Hsm(), Hsm(subtype=HsmSubtype.SSD), Usage(), Capacity(), Preference()])
def test_nothing_to_decide(mode: Mode) -> None:
    """Without units or without tiers every plan is empty."""
    assert plan_mode(two(1).situation([]), SETTINGS, mode).moves == ()
    assert plan_mode(replace(two(1), tiers=()).situation([Unit(key="u")]), SETTINGS, mode).moves == ()


def test_a_drained_space_is_empty_afterwards() -> None:
    """Wherever there is room for everything, nothing is left."""
    units = [Unit(key=f"u{at}", size=(at + 1) * MIB, space="slow2", sync=at) for at in range(9)]
    situation = twins(fast=5, slow=100).situation(units)
    plan = plan_mode(situation, SETTINGS, Drain(space="slow2"))
    assert plan.left_behind == ()
    assert "slow2" not in after(situation, plan)
