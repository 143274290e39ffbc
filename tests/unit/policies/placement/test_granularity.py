"""Single units against all that shares their space: which way each goes, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from policies.model.plan import Plan
from policies.model.settings import Pin
from policies.placement.balancer import make_plan
from policies.placement.dispatch import Drain, Preference, plan_mode
from policies.placement.modes import PinState, pin_view
from policies.placement.verdicts import explain_verdict, figures_of
from tests.unit.policies.situations import BARE, MIB, Site, Unit

TS = "table space TS"


def tenants(*reads: float, size: int = 10, **other: object) -> list[Unit]:
    """Units that share a table space, with so many reads a second each."""
    return [Unit(key=f"t{at}", size=size * MIB, sync=rate, wide=TS, **other) for at, rate in enumerate(reads)]  # type: ignore[arg-type]  # fields by name


def moves(plan: Plan) -> list[tuple[str, str, int]]:
    """What each move is, where it goes, and how many units it moves."""
    return [(move.wide or move.key, move.to_space, len(move.rows)) for move in plan.moves]


def planned(units: Sequence[Unit], **site: object) -> Plan:
    """The plan of a site with room for 100 MiB above."""
    return make_plan(Site(**site).situation(units), BARE)  # type: ignore[arg-type]  # fields by name


def test_a_table_space_of_hot_tables_goes_as_a_whole_where_moves_are_few() -> None:
    """One move instead of ten; the value is that of all of them."""
    units = tenants(*[50.0] * 8)
    situation = Site().situation(units)
    plan = make_plan(situation, replace(BARE, maximum_moves=1))
    assert moves(plan) == [(TS, "fast", 8)]
    assert plan.gap_ratio == pytest.approx(0.0, abs=1e-9)
    assert explain_verdict(situation, plan, 3, BARE).startswith(
        f"t3 moves with {TS}. {TS} with t0 and 7 more (80.0 MiB)"
    )
    assert figures_of(situation, plan, 3, BARE).bundle_bytes == 80 * MIB


def test_one_hot_table_of_a_large_table_space_goes_alone() -> None:
    """The whole does not fit, and its cold bytes would be in the way of others."""
    units = [*tenants(50.0, 0.0, 0.0, size=30), Unit(key="other", size=60 * MIB, sync=40.0)]
    situation = Site().situation(units)
    plan = make_plan(situation, BARE)
    assert sorted(moves(plan)) == [("other", "fast", 1), ("t0", "fast", 1)]
    said = explain_verdict(situation, plan, 0, BARE)
    assert f"It does not move with {TS}: that would take 90.0 MiB" in said


def test_both_ways_in_one_plan() -> None:
    """With two moves left, one table space goes as a whole and of the other the only hot table."""
    units = [
        *tenants(30.0, 30.0, 30.0),
        *(
            Unit(key=f"u{at}", size=20 * MIB, sync=rate, wide="table space US")
            for at, rate in enumerate((60.0, 0.1, 0.1))
        ),
    ]
    plan = make_plan(Site(room={"fast": 60 * MIB, "slow": 10**15}).situation(units), replace(BARE, maximum_moves=2))
    assert sorted(moves(plan)) == [(TS, "fast", 3), ("u0", "fast", 1)]


def test_what_goes_down_has_both_ways_too() -> None:
    """With one move to make room, the cold table space leaves as a whole for a hot table."""
    cold = [replace(unit, space="fast") for unit in tenants(0.0, 0.0, 0.0, 0.0)]
    hot = Unit(key="hot", size=35 * MIB, sync=100.0)
    site = Site(room={"fast": 0, "slow": 10**15})
    plan = make_plan(site.situation([*cold, hot]), replace(BARE, maximum_moves=2))
    assert moves(plan) == [(TS, "slow", 4), ("hot", "fast", 1)]
    one_would_do = make_plan(site.situation([*cold, replace(hot, size=10 * MIB)]), BARE)
    assert [name for name, _, _ in moves(one_would_do)] in (
        [["t0", "hot"], ["t1", "hot"], ["t2", "hot"], ["t3", "hot"]]
    )


def test_a_table_space_makes_room_for_one_table_of_another() -> None:
    """The demotion is possible as a whole only and the promotion as a single table only; the bound knows of both."""
    cold = [Unit(key=f"c{at}", size=10 * MIB, space="fast", wide=TS) for at in range(4)]
    mixed = [Unit(key="hot", size=35 * MIB, sync=500.0, wide="U"), Unit(key="cold", size=100 * MIB, wide="U")]
    locked = {unit.key: "it is partitioned" for unit in cold}
    plan = planned([*cold, *mixed], room={"fast": 0, "slow": 10**15}, no_route=locked)
    assert moves(plan) == [(TS, "slow", 4), ("hot", "fast", 1)]
    assert plan.wait_saved_per_hour == plan.bound_per_hour == pytest.approx(9540)


def test_what_cannot_go_as_a_whole_goes_alone() -> None:
    """The reason is told beside."""
    units = tenants(50.0, 50.0)
    situation = Site(no_wide={TS: "pureScale does not rebalance"}).situation(units)
    plan = make_plan(situation, replace(BARE, maximum_moves=1))
    assert moves(plan) in ([("t0", "fast", 1)], [("t1", "fast", 1)])
    assert "cannot move with table space TS: pureScale does not rebalance." in explain_verdict(situation, plan, 0, BARE)


def test_what_cannot_go_alone_goes_with_the_whole() -> None:
    """A table without a way of its own is no reason to stay."""
    units = tenants(50.0, 1.0)
    plan = planned(units, no_route={"t0": "it is partitioned"})
    assert moves(plan) == [(TS, "fast", 2)]


def test_a_whole_of_one_bundle_is_the_wide_way() -> None:
    """There is nothing to choose, and the wide way is the kinder one."""
    assert moves(planned(tenants(50.0))) == [(TS, "fast", 1)]


@pytest.mark.parametrize(("pin", "expected"), [(Pin.MUST, [("t1", "fast", 1)]), (Pin.NEVER, [])], ids=["must", "never"])
def test_pins_speak_for_their_own_unit(pin: Pin, expected: list[tuple[str, str, int]]) -> None:
    """A pinned table neither drags its table space up, nor is dragged."""
    units = tenants(0.0, 0.0, 0.0)
    units[1] = replace(units[1], pin=pin)
    assert moves(planned(units)) == expected
    busy = [replace(unit, sync=50.0) for unit in units]
    assert all(name != TS for name, _, _ in moves(planned(busy)))


def test_a_pinned_table_without_a_way_takes_its_table_space_along() -> None:
    """Somebody asked for it, cost what it may; its pin is planned for, in every mode that looks at pins."""
    units = tenants(0.0, 0.0)
    units[1] = replace(units[1], pin=Pin.MUST)
    situation = Site(no_route={"t1": "it is partitioned"}).situation(units)
    for mode in (None, Preference()):
        plan = plan_mode(situation, BARE, mode)
        assert moves(plan) == [(TS, "fast", 2)]
        assert PinState(int(pin_view(situation, plan, BARE).state[1])) is PinState.PLANNED


def test_a_preferred_table_does_not_make_its_neighbours_preferred() -> None:
    """As a whole they count as they are; were all preferred, all would count more."""
    units = tenants(10.0, 10.0)
    rival = Unit(key="rival", size=20 * MIB, sync=25.0)
    site = Site(room={"fast": 20 * MIB, "slow": 10**15})
    once = replace(BARE, maximum_moves=1)
    one = [replace(units[0], pin=Pin.PREFER), units[1], rival]
    assert moves(make_plan(site.situation(one), once)) == [("rival", "fast", 1)]
    both = [*(replace(unit, pin=Pin.PREFER) for unit in units), rival]
    assert moves(make_plan(site.situation(both), once)) == [(TS, "fast", 2)]


def test_a_bundle_across_two_wholes_keeps_to_itself() -> None:
    """What one statement would tear apart is offered neither way but its own."""
    units = [replace(unit, bundle=7) for unit in tenants(50.0, 50.0)]
    units[1] = replace(units[1], wide="table space LOBS")
    assert moves(planned(units)) == [("t0", "fast", 2)]


def test_a_drain_takes_as_a_whole_what_it_can() -> None:
    """Everything leaves the space, partitioned tables too; where the whole does not fit, single ones go."""
    units = tenants(1.0, 1.0)
    for blocked in ({}, {"t0": "it is partitioned"}):
        plan = plan_mode(Site(no_route=blocked).situation(units), BARE, Drain(space="slow"))
        assert moves(plan) == [(TS, "fast", 2)]
        assert plan.left_behind == ()
    tight = Site(room={"fast": 15 * MIB, "slow": 10**15}).situation(units)
    plan = plan_mode(tight, BARE, Drain(space="slow"))
    assert [size for _, _, size in moves(plan)] == [1]
    assert [left.size_bytes for left in plan.left_behind] == [10 * MIB]
