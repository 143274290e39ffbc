"""What every sizing curve keeps, whatever the situation."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.model.observation import DatabaseDemand
from policies.evidence.prices import HOUR, Prices, most_waiting, present_waits, wait_per_hour
from policies.model.settings import Pin
from policies.placement.balancer import make_plan
from policies.placement.sizing import Sizing, sizing
from tests.examples import examples
from tests.property.strategies import Case, bare_cases, cases

TINY = 1e-3  # seconds per hour: waits are counted in whole microseconds per hour


def at_work(sessions: float, waiting: float, rate: float) -> DatabaseDemand:
    """So many sessions, of which that share waits for reads."""
    return DatabaseDemand(reads=100.0, read_wait=sessions * waiting, transactions=rate, active=sessions)


DATABASES = st.one_of(
    st.just(DatabaseDemand()),
    st.builds(at_work, st.floats(1.0, 500.0), st.floats(0.01, 0.999), st.floats(0.1, 1e5)),
)


@st.composite
def loaded_cases(draw: st.DrawFn) -> Case:
    """Cases whose sessions are counted, or not."""
    case = draw(cases())
    return replace(case, site=replace(case.site, database=draw(DATABASES)))


def curve(case: Case) -> Sizing:
    """The curve of a case."""
    return sizing(case.situation(), case.settings)


@settings(deadline=None, max_examples=examples(60))
@given(loaded_cases())
def test_more_room_never_saves_less(case: Case) -> None:
    """Both curves rise with the size, the reachable one never above the other, nor filled past its size."""
    z = curve(case)
    for before, after in pairwise(z.points):
        assert before.size_bytes < after.size_bytes
        assert before.saved_per_hour <= after.saved_per_hour
        assert before.bound_per_hour <= after.bound_per_hour + TINY
    for point in z.points:
        assert 0 <= point.saved_per_hour <= point.bound_per_hour + TINY
        assert point.saved_per_hour <= point.most_per_hour + TINY
        assert point.today_per_hour <= point.most_per_hour + TINY
        assert point.used_bytes <= point.size_bytes
        assert 0 <= z.share(point) <= 1 + 1e-9
    assert z.at(100).saved_per_hour == pytest.approx(z.all_fast_per_hour)


@settings(deadline=None, max_examples=examples(60))
@given(loaded_cases())
def test_the_upper_curve_is_concave(case: Case) -> None:
    """Beyond what is pinned each further byte saves no more than the one before, and the price says how much."""
    z = curve(case)
    points = [point for point in z.points if point.size_bytes >= z.pinned_bytes]
    for before, after in pairwise(points):
        gib = (after.size_bytes - before.size_bytes) / 2**30
        slope = (after.bound_per_hour - before.bound_per_hour) / gib
        assert slope <= before.shadow_price * (1 + 1e-6) + TINY / gib
        assert slope >= after.shadow_price * (1 - 1e-6) - TINY / gib


@settings(deadline=None, max_examples=examples(60))
@given(loaded_cases())
def test_no_tier_saves_more_than_is_waited(case: Case) -> None:
    """From everything on the slow tier: no less than at today's latencies, and never beyond the wait that there is."""
    case = replace(case, units=tuple(replace(unit, space="slow") for unit in case.units))
    situation = case.situation()
    speeds = [tier.speed for tier in situation.tiers]
    ceiling = wait_per_hour(situation.heat.rates, speeds, case.settings)[-1].sum()
    for point in curve(case).points:
        assert point.saved_per_hour >= point.today_per_hour * 0.98 - TINY, "a computing session is taken off the wait"
        assert max(point.saved_per_hour, point.most_per_hour) <= ceiling * 1.02 + TINY


@settings(deadline=None, max_examples=examples(60))
@given(bare_cases())
def test_no_choice_of_objects_beats_it(case: Case) -> None:
    """With few objects the reachable curve is the optimum found by trying every choice; the bound is above it."""
    z = curve(case)
    situation = case.situation()
    alone = [sizing(case.site.situation([unit]), case.settings).all_fast_per_hour for unit in case.units]
    sizes = [int(size) for size in situation.units.size_bytes]
    choices = [
        (sum(s for at, s in enumerate(sizes) if mask >> at & 1), sum(v for at, v in enumerate(alone) if mask >> at & 1))
        for mask in range(2 ** len(sizes))
    ]
    for point in z.points[:: max(1, len(z.points) // 8)]:
        best = max(value for size, value in choices if size <= point.size_bytes)
        assert point.saved_per_hour == pytest.approx(best, abs=TINY)
        assert point.bound_per_hour >= best - TINY


@settings(deadline=None, max_examples=examples(60))
@given(bare_cases())
def test_a_plan_saves_what_the_curve_says(case: Case) -> None:
    """From everything on the slow tier, the plan for the present size saves what the curve has there."""
    case = replace(case, units=tuple(replace(unit, space="slow") for unit in case.units))
    z, plan = curve(case), make_plan(case.situation(), case.settings)
    assert plan.wait_saved_per_hour == pytest.approx(z.present.today_per_hour, abs=TINY)
    assert plan.bound_per_hour <= z.present.bound_per_hour + TINY


@settings(deadline=None, max_examples=examples(40))
@given(loaded_cases(), st.randoms(use_true_random=False))
def test_the_order_of_units_changes_nothing(case: Case, random: Random) -> None:
    """However the engine lists its units, the curve is the same."""
    shuffled = list(case.units)
    random.shuffle(shuffled)
    one, other = curve(case), curve(replace(case, units=tuple(shuffled)))
    assert [p.saved_per_hour for p in one.points] == [p.saved_per_hour for p in other.points]
    assert [p.size_bytes for p in one.points] == [p.size_bytes for p in other.points]


@settings(deadline=None, max_examples=examples(40))
@given(cases(), st.sampled_from([2, 16, 1024]))
def test_larger_bytes_change_no_share(case: Case, factor: int) -> None:
    """Everything so many times larger: the same shares and knee, and a price per GiB that much lower."""
    case = replace(case, site=replace(case.site, room=dict.fromkeys(case.site.room, 0)))
    one = curve(case)
    other = curve(replace(case, units=tuple(replace(unit, size=unit.size * factor) for unit in case.units)))
    for percent in (0, 10, 25, 50, 100):
        assert other.at(percent).saved_per_hour == pytest.approx(one.at(percent).saved_per_hour)
    assert other.knee.size_bytes == one.knee.size_bytes * factor
    assert other.knee_distance == pytest.approx(one.knee_distance)
    assert other.knee.shadow_price * factor == pytest.approx(one.knee.shadow_price)


@settings(deadline=None, max_examples=examples(40))
@given(cases(), st.sampled_from([2.0, 8.0, 256.0]))
def test_more_load_changes_no_share(case: Case, factor: float) -> None:
    """Every rate so many times higher: waits in proportion, the same shares."""
    one = curve(case)
    busier = [
        replace(unit, sync=unit.sync * factor, prefetched=unit.prefetched * factor, writes=unit.writes * factor)
        for unit in case.units
    ]
    other = curve(replace(case, units=tuple(busier)))
    assert other.all_fast_per_hour == pytest.approx(one.all_fast_per_hour * factor, abs=TINY * factor)
    for percent in (10, 25, 50):
        assert other.at(percent).saved_per_hour == pytest.approx(
            one.at(percent).saved_per_hour * factor, abs=TINY * factor
        )


@settings(deadline=None, max_examples=examples(40))
@given(loaded_cases())
def test_pins_hold_at_every_size(case: Case) -> None:
    """Wherever there is room for all that must be fast it is there, and what must never be adds nothing."""
    z = curve(case)
    kept = [unit for unit in case.units if unit.pin is not Pin.NEVER]
    alone = all(unit.bundle is not None and unit.bundle >= 10**6 for unit in case.units)
    # Beyond what sessions can wait, where units are or with all on the slowest tier, the wait of what stays takes its
    # share off everything that is said.
    situation, slowest = case.situation(), len(case.situation().tiers) - 1
    on_slowest = Prices.of(situation, case.settings).per_hour(situation.heat.rates)[slowest].sum() / HOUR
    if alone and max(present_waits(situation, case.settings).sum(), on_slowest) <= most_waiting(situation):
        without = sizing(case.site.situation(kept), case.settings)
        everything, rest = z.points[-1].today_per_hour, without.points[-1].today_per_hour
        assert everything == pytest.approx(rest, abs=TINY), "they only stand in the queue"
    for point in z.points:
        if point.size_bytes >= z.pinned_bytes:
            assert point.used_bytes >= z.pinned_bytes
