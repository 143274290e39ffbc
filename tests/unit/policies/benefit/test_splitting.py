"""What a split would bring."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.evidence.borders import Split, ValueBorder
from policies.evidence.capacity import room_bytes
from policies.evidence.range_heat import HeatShape, concentrate
from policies.evidence.splitting import Inside, SplitAnswer, splits_of
from policies.model.plan import Plan, Situation
from policies.model.settings import Pin, PolicySettings
from policies.placement.balancer import make_plan
from tests.examples import examples
from tests.property.strategies import Case, cases
from tests.unit.policies.block_heat.test_concentration import RANGES, heat, hot
from tests.unit.policies.situations import BARE, MIB, Site, Unit

NEWEST = heat(hot(90, 100, 21.0), 4_000)
INSIDE = Inside(heat=NEWEST, found=concentrate(NEWEST))


def stripes() -> Inside:
    """Hot ranges all over the file."""
    weight = np.ones(RANGES)
    weight[5::10] = 40.0
    found = heat(weight, 5_000)
    return Inside(heat=found, found=concentrate(found))


LARGE = Unit(key="orders", size=400 * MIB, sync=100.0)
SMALL = Unit(key="users", size=10 * MIB, sync=20.0, space="fast")


def split_of(units: list[Unit], room: int) -> Split:
    """The only split."""
    (only,) = answer_of(units, room).splits
    return only


def answer_of(units: list[Unit], room: int, **more: Inside) -> SplitAnswer:
    """What splits of a site would bring."""
    situation = Site(room={"fast": room * MIB, "slow": 10**15}).situation(units)
    return splits_of(situation, make_plan(situation, BARE), BARE, {"orders": INSIDE, **more})


def test_a_hot_tenth_saves_its_share_of_the_wait_in_a_tenth_of_the_bytes() -> None:
    """Seven tenths of what all of it would, which does not fit; memory saves the wait on the fast tier too."""
    found = split_of([LARGE], room=100)
    share = found.of_reads
    assert share == pytest.approx(0.7, abs=0.03)
    assert found.hot_bytes == pytest.approx(40 * MIB, rel=0.25)
    assert found.whole_saves_per_hour == pytest.approx(100 * (0.0055 - 0.0002) * 3600)
    assert found.saves_per_hour == pytest.approx(share * found.whole_saves_per_hour)
    assert found.saves_low_per_hour < found.saves_per_hour < found.saves_high_per_hour
    assert (found.fits, found.whole_fits) == (True, False)
    assert found.memory_saves_per_hour == pytest.approx(share * 100 * 0.0055 * 3600)


def test_what_gives_way_is_taken_off() -> None:
    """With room for the small unit only, it gives way; where that costs more than the split saves, there is none."""
    alone, shared = split_of([LARGE, SMALL], room=200), split_of([LARGE, SMALL], room=35)
    assert alone.saves_per_hour - shared.saves_per_hour == pytest.approx(20 * (0.0055 - 0.0002) * 3600)
    hotter = split_of([LARGE, replace(SMALL, sync=80.0)], room=35)
    assert (hotter.fits, hotter.saves_per_hour) == (True, 0.0)
    none = split_of([LARGE, replace(SMALL, pin=Pin.MUST)], room=35)
    assert (none.fits, none.saves_per_hour) == (False, 0.0)


def test_a_large_unit_that_loses_more_does_not_stand_before_a_small_one_that_loses_less() -> None:
    """The large one has less by the byte and more in all."""
    large, small = (replace(SMALL, key=key, size=size * MIB, sync=sync) for key, size, sync in
                    (("large", 90, 120.0), ("small", 45, 60.0)))  # fmt: skip
    found = split_of([LARGE, large, small], room=0)
    assert found.saves_per_hour == pytest.approx((100 * found.of_reads - 60) * (0.0055 - 0.0002) * 3600)


def test_a_border_counts_its_rows() -> None:
    """In place of the blocks that lie together."""
    border = ValueBorder(column="id", type_name="int", least="9", below=None, fit=0.9, of_rows=0.2, of_reads=0.6)
    situation = Site(room={"fast": 100 * MIB, "slow": 10**15}).situation([LARGE])
    inside = replace(INSIDE, border=border)
    (found,) = splits_of(situation, make_plan(situation, BARE), BARE, {"orders": inside}).splits
    assert (found.hot_bytes, found.of_reads, found.border) == (80 * MIB, 0.6, border)
    assert found.low_of_reads < 0.6 < found.high_of_reads


def test_a_border_of_rows_whose_reads_were_not_seen_is_no_split() -> None:
    """After a rewrite the heat begins again: the reads that an old border takes are unknown."""
    border = ValueBorder(column="id", type_name="int", least="9", below=None, fit=0.9, of_rows=0.2, of_reads=0.6)
    situation = Site(room={"fast": 100 * MIB, "slow": 10**15}).situation([LARGE])
    for seen in (0.0, 100.0):
        young = replace(NEWEST, seen=seen)
        inside = Inside(heat=young, found=concentrate(young), border=border)
        assert splits_of(situation, make_plan(situation, BARE), BARE, {"orders": inside}) == SplitAnswer()


def test_scattered_heat_is_no_split_and_says_what_helps() -> None:
    """Memory for the hottest tenth, or all of it."""
    answer = answer_of([LARGE, replace(LARGE, key="lines")], room=100, lines=stripes())
    assert [each.key for each in answer.splits] == ["orders"]
    (scattered,) = answer.unsplit
    assert (scattered.key, scattered.shape, scattered.whole_fits) == ("lines", HeatShape.SCATTERED, False)
    assert scattered.memory_bytes == pytest.approx(40 * MIB, rel=0.01)
    assert scattered.memory_saves_per_hour == pytest.approx(0.816 * 100 * 0.0055 * 3600, rel=0.05)


def test_splits_share_the_room() -> None:
    """The one that saves most by the byte comes first, and what it takes is gone."""
    cold = replace(LARGE, key="cold", sync=50.0)
    answer = answer_of([LARGE, cold], room=45, cold=INSIDE)
    assert [(each.key, each.fits) for each in answer.splits] == [("orders", True), ("cold", False)]
    assert answer.saves_per_hour == answer.splits[0].saves_per_hour


def test_what_the_plan_moves_as_a_whole_is_not_split() -> None:
    """It fits."""
    assert answer_of([LARGE], room=1000).splits == ()


@settings(deadline=None, max_examples=examples(60))
@given(cases(), st.lists(st.floats(1.0, 60.0), min_size=14, max_size=14))
def test_no_split_saves_more_than_the_unit_or_takes_more_room_than_there_is(case: Case, times: list[float]) -> None:
    """Whatever the situation; figures are ordered, and more room never makes the first split worse."""
    situation = case.situation()
    plan = make_plan(situation, case.settings)
    insides = {unit.key: newest(heats) for unit, heats in zip(case.units, times, strict=False)}
    answer = splits_of(situation, plan, case.settings, insides)
    for each in answer.splits:
        assert 0.0 <= each.saves_low_per_hour <= each.saves_per_hour <= each.saves_high_per_hour
        assert each.saves_per_hour <= each.of_reads * each.whole_saves_per_hour * (1 + 1e-9)
        assert each.hot_bytes <= each.whole_bytes
        assert each.memory_saves_per_hour >= each.saves_per_hour * (1 - 1e-9)
    room = room_left(situation, plan, case.settings)
    assert sum(each.hot_bytes for each in answer.splits if each.saves_per_hour > 0) <= max(0, room)
    ample = replace(
        situation, spaces=tuple(replace(space, free_bytes=10**16, capacity_bytes=10**16) for space in situation.spaces)
    )
    more = splits_of(ample, plan, case.settings, insides)
    assert more.saves_per_hour >= answer.saves_per_hour * (1 - 1e-9)


def newest(times: float) -> Inside:
    """A newest tenth that is so much hotter."""
    found = heat(hot(90, 100, times), 4_000)
    return Inside(heat=found, found=concentrate(found))


def room_left(situation: Situation, plan: Plan, chosen: PolicySettings) -> int:
    """Bytes of the fastest tier after the plan, with all that may give way gone."""
    fast = np.flatnonzero(situation.tier_of_space == 0).tolist()
    free = sum(room_bytes(situation.spaces[row], chosen.head_room_ratio) or 0 for row in fast)
    name = situation.tiers[0].name
    moved = sum(m.size_bytes * ((m.from_tier == name) - (m.to_tier == name)) for m in plan.moves)
    gives = plan.chosen & (situation.pin != Pin.MUST)
    return free + moved + int(situation.units.size_bytes[gives].sum())
