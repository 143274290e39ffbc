"""Ranges of tables as options of a plan: which are weighed, when one is chosen, and the plan in rows of whole units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from connectors.model.observation import DatabaseDemand
from policies.evidence.borders import Split, ValueBorder
from policies.evidence.heat import index_of
from policies.evidence.range_heat import concentrate
from policies.evidence.splitting import Inside
from policies.model.moves import MoveReason, RouteCost
from policies.model.plan import Plan, Situation, Verdict
from policies.model.settings import Pin
from policies.placement.balancer import make_plan
from policies.placement.forecast import forecast_plan
from policies.placement.ranges import (
    MOST_RANGES,
    borne_costs,
    borne_share,
    key_of_part,
    of_whole_units,
    range_options,
    split_apart,
    with_ranges,
)
from tests.unit.policies.benefit.test_splitting import NEWEST
from tests.unit.policies.situations import BARE, GIB, Site, Unit

ORDERS = Unit(key="orders", size=300 * GIB, sync=100.0)
OTHERS = Unit(key="others", size=100 * GIB, sync=1.0)
BORDER = ValueBorder(column="id", type_name="bigint", least="9", below=None, fit=1.0, of_rows=0.1, of_reads=0.7)
INSIDE = Inside(heat=NEWEST, found=concentrate(NEWEST), border=BORDER)


def site(fast: int, units: tuple[Unit, ...] = (ORDERS, OTHERS)) -> Situation:
    """A fast space of so many bytes, and all units on the slow one."""
    demand = DatabaseDemand(reads=101.0, read_wait=0.56, write_wait=0.0, transactions=50.0, active=0.7)
    return Site(room={"fast": fast, "slow": 10**15}, database=demand).situation(units)


def options_of(situation: Situation, insides: dict[str, Inside], lasting: float = 1.0) -> tuple[Split, ...]:
    """What is weighed where nothing else is left to do, and quiet days have that share of what is read now."""
    nothing = replace(make_plan(situation, BARE), moves=())
    return range_options(situation, nothing, BARE, insides, lasting * index_of(situation.heat.rates))


def planned(situation: Situation, options: tuple[Split, ...]) -> tuple[Plan, tuple[Split, ...]]:
    """A plan, made again without what it does not split off, as the planner does."""
    while True:
        apart = with_ranges(situation, options, BARE)
        plan = make_plan(apart, BARE)
        kept = split_apart(plan, apart, options)
        if len(kept) == len(options):
            return plan, options
        options = kept


def test_the_hot_part_goes_where_the_whole_does_not_fit() -> None:
    """Its move stands in the plan with the border; the table's row says that it is split and stays where it is."""
    situation = site(40 * GIB)
    plan, options = planned(situation, options_of(situation, {"orders": INSIDE}))
    assert [each.key for each in options] == ["orders"]
    found = of_whole_units(plan, options, situation, BARE)
    (move,) = found.moves
    assert (move.key, move.rows, move.reason, move.to_space) == ("orders", (), MoveReason.SPLIT, "fast")
    assert move.part is not None
    assert (move.part.column, move.part.value, move.size_bytes) == ("id", "9", 30 * GIB)
    assert "70% of its reads" in move.sentence
    assert Verdict(int(found.verdict[0])) is Verdict.SPLIT
    assert not found.chosen.any()
    whole = make_plan(situation, BARE)
    assert not whole.moves
    assert found.wait_saved_per_hour == pytest.approx(0.7 * whole.wait_saved_if_moved[0], rel=0.01)
    assert found.benefit_per_hour == pytest.approx(whole.benefit_per_hour)
    assert forecast_plan(with_ranges(situation, options, BARE), BARE, plan).gain > 1


def test_what_fits_as_a_whole_is_not_split() -> None:
    """With room for all of it the plan is the one that is made without any parts."""
    situation = site(500 * GIB)
    plan, options = planned(situation, options_of(situation, {"orders": INSIDE}))
    assert options == ()
    assert plan.moves == make_plan(situation, BARE).moves
    assert of_whole_units(plan, options, situation, BARE) is plan


def test_a_part_makes_room_for_no_one_else_than_pays() -> None:
    """A resident that saves more by the byte than the part stays, and the part finds no room."""
    resident = Unit(key="resident", size=38 * GIB, sync=200.0, space="fast")
    situation = Site(room={"fast": 2 * GIB, "slow": 10**15}).situation((ORDERS, resident))
    plan, options = planned(situation, options_of(situation, {"orders": INSIDE}))
    assert (plan.moves, options) == ((), ())


def test_only_what_rolls_is_weighed() -> None:
    """No border, one with an end, a table on the fast tier, one that is pinned, one that nobody reads: none is."""
    ended = replace(INSIDE, border=replace(BORDER, below="12"))
    units = (*(replace(ORDERS, key=key) for key in ("plain", "ended", "pinned")),
             replace(ORDERS, key="there", space="fast"), replace(ORDERS, key="idle", sync=0.0))  # fmt: skip
    situation = site(40 * GIB, units)
    situation = replace(situation, pin=np.array([Pin.NONE, Pin.NONE, Pin.NEVER, Pin.NONE, Pin.NONE], dtype=np.int8))
    inside = {"plain": replace(INSIDE, border=None), "ended": ended}
    inside |= dict.fromkeys(("pinned", "there", "idle"), INSIDE)
    assert options_of(situation, inside) == ()


def test_the_best_by_the_byte_are_weighed() -> None:
    """Ten of them at most."""
    units = tuple(replace(ORDERS, key=f"t{number:02}", sync=float(number)) for number in range(1, MOST_RANGES + 4))
    thin = replace(INSIDE, border=replace(BORDER, of_rows=0.02))
    found = options_of(site(100 * GIB, units), {each.key: thin for each in units})
    assert [each.key for each in found] == [f"t{number:02}" for number in range(MOST_RANGES + 3, 3, -1)]


def test_an_unsure_share_makes_both_sides_unsure() -> None:
    """The errors of part and rest grow by the half width of the share over its mean."""
    situation = site(40 * GIB)
    heat = replace(situation.heat, error=np.full(2, 0.1))
    situation = replace(situation, heat=heat)
    (option,) = options_of(situation, {"orders": INSIDE})
    found = with_ranges(situation, (option,), BARE).heat.error
    assert found is not None
    unsure = (option.of_reads - option.low_of_reads) / 1.645
    assert found[2] == pytest.approx(np.hypot(0.1, unsure / option.of_reads))
    assert found[0] == pytest.approx(np.hypot(0.1, unsure / (1 - option.of_reads)))
    assert found[1] == pytest.approx(0.1)


def test_who_may_not_move_is_not_split() -> None:
    """The reason against a move of the table bars its part."""
    situation = replace(site(40 * GIB), no_route={"orders": "it may not"})
    (option,) = options_of(situation, {"orders": INSIDE})
    assert with_ranges(situation, (option,), BARE).no_route[key_of_part(option.key)] == "it may not"
    assert planned(situation, (option,))[1] == ()


def test_no_index_of_a_split_table_moves_in_the_same_plan() -> None:
    """They wait for a later plan: the split's statements name the table's indexes where they are."""
    index = Unit(key="orders_pkey", size=4 * GIB, sync=50.0, parent=1000)
    situation = site(40 * GIB, (ORDERS, index))
    options = options_of(situation, {"orders": INSIDE})
    plan, kept = planned(situation, options)
    assert (kept, [move.key for move in plan.moves]) == (options, [key_of_part("orders")])
    assert [move.key for move in make_plan(situation, BARE).moves] == ["orders_pkey"]


def test_a_split_has_to_pay_on_quiet_days() -> None:
    """Ranked by what the table is read on quiet days; one that is not read then is not weighed."""
    situation = site(40 * GIB)
    assert options_of(situation, {"orders": INSIDE}, lasting=0.0) == ()
    (half,) = options_of(situation, {"orders": INSIDE}, lasting=0.5)
    (full,) = options_of(situation, {"orders": INSIDE}, lasting=3.0)
    assert half.saves_per_hour == pytest.approx(full.saves_per_hour / 2)


def test_whole_units_go_first() -> None:
    """As long as a plan has moves of its own, no range is weighed."""
    situation = site(500 * GIB)
    plan = make_plan(situation, BARE)
    assert plan.moves
    assert range_options(situation, plan, BARE, {"orders": INSIDE}, np.full(2, 1e9)) == ()


def test_a_horizon_bears_its_share_of_a_split() -> None:
    """A third of three days bears a third of all that a split costs, and no other move costs less by it."""
    situation = site(40 * GIB)
    plan, options = planned(situation, options_of(situation, {"orders": INSIDE}))
    settings = replace(BARE, horizon_seconds=86400.0)
    cost = RouteCost(log_seconds=3.0, blocked_seconds=6.0, follow_up_seconds=9.0, copy_seconds=12.0)
    assert borne_share(replace(BARE, horizon_seconds=1e9)) == 1.0
    (borne,) = borne_costs(plan, [cost], options, settings)
    assert (borne.log_seconds, borne.blocked_seconds, borne.follow_up_seconds, borne.copy_seconds) == (1, 2, 3, 4)
    assert borne_costs(plan, [cost], (), settings) == [cost]
