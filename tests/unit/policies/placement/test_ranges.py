"""Ranges of tables as options of a plan: which are weighed, when one is chosen, and the plan in rows of whole units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from connectors.model.observation import DatabaseDemand
from policies.evidence.borders import ValueBorder
from policies.evidence.range_heat import concentrate
from policies.evidence.splitting import Inside
from policies.model.moves import MoveReason
from policies.model.plan import Plan, Situation, Verdict
from policies.model.settings import Pin
from policies.placement.balancer import make_plan
from policies.placement.forecast import forecast_plan
from policies.placement.ranges import (
    MOST_RANGES,
    RangeOption,
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


def planned(situation: Situation, options: tuple[RangeOption, ...]) -> tuple[Plan, tuple[RangeOption, ...]]:
    """A plan, made again without what it does not split off, as the planner does."""
    while True:
        apart = with_ranges(situation, options)
        plan = make_plan(apart, BARE)
        kept = split_apart(plan, apart, options)
        if len(kept) == len(options):
            return plan, options
        options = kept


def test_the_hot_part_goes_where_the_whole_does_not_fit() -> None:
    """Its move stands in the plan with the border; the table's row says that it is split and stays where it is."""
    situation = site(40 * GIB)
    plan, options = planned(situation, range_options(situation, BARE, {"orders": INSIDE}))
    assert [each.key for each in options] == ["orders"]
    found = of_whole_units(plan, options, situation)
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
    assert forecast_plan(with_ranges(situation, options), BARE, plan).gain > 1


def test_what_fits_as_a_whole_is_not_split() -> None:
    """With room for all of it the plan is the one that is made without any parts."""
    situation = site(500 * GIB)
    plan, options = planned(situation, range_options(situation, BARE, {"orders": INSIDE}))
    assert options == ()
    assert plan.moves == make_plan(situation, BARE).moves
    assert of_whole_units(plan, options, situation) is plan


def test_a_part_makes_room_for_no_one_else_than_pays() -> None:
    """A resident that saves more by the byte than the part stays, and the part finds no room."""
    resident = Unit(key="resident", size=38 * GIB, sync=200.0, space="fast")
    situation = Site(room={"fast": 2 * GIB, "slow": 10**15}).situation((ORDERS, resident))
    plan, options = planned(situation, range_options(situation, BARE, {"orders": INSIDE}))
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
    assert range_options(situation, BARE, inside) == ()


def test_the_best_by_the_byte_are_weighed() -> None:
    """Ten of them at most."""
    units = tuple(replace(ORDERS, key=f"t{number:02}", sync=float(number)) for number in range(1, MOST_RANGES + 4))
    found = range_options(site(40 * GIB, units), BARE, {each.key: INSIDE for each in units})
    assert [each.key for each in found] == [f"t{number:02}" for number in range(MOST_RANGES + 3, 3, -1)]


def test_an_unsure_share_makes_both_sides_unsure() -> None:
    """The errors of part and rest grow by the half width of the share over its mean."""
    situation = site(40 * GIB)
    heat = replace(situation.heat, error=np.full(2, 0.1))
    situation = replace(situation, heat=heat)
    (option,) = range_options(situation, BARE, {"orders": INSIDE})
    found = with_ranges(situation, (option,)).heat.error
    assert found is not None
    unsure = (option.of_reads - option.low_of_reads) / 1.645
    assert found[2] == pytest.approx(np.hypot(0.1, unsure / option.of_reads))
    assert found[0] == pytest.approx(np.hypot(0.1, unsure / (1 - option.of_reads)))
    assert found[1] == pytest.approx(0.1)


def test_who_may_not_move_is_not_split() -> None:
    """The reason against a move of the table bars its part."""
    situation = replace(site(40 * GIB), no_route={"orders": "it may not"})
    (option,) = range_options(situation, BARE, {"orders": INSIDE})
    assert with_ranges(situation, (option,)).no_route[option.part] == "it may not"
    assert planned(situation, (option,))[1] == ()


def test_no_index_of_a_split_table_moves_in_the_same_plan() -> None:
    """The split waits for a later plan: its statements name the table's indexes where they are."""
    index = Unit(key="orders_pkey", size=4 * GIB, sync=50.0, parent=1000)
    situation = site(40 * GIB, (ORDERS, index))
    plan, options = planned(situation, range_options(situation, BARE, {"orders": INSIDE}))
    assert options == ()
    assert [move.key for move in plan.moves] == ["orders_pkey"]
