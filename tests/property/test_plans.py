"""What every plan keeps, whatever the situation."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.model.moves import MoveReason
from policies.model.plan import Plan, Situation, Verdict
from policies.model.settings import Pin
from policies.placement.balancer import make_plan
from policies.placement.granularity import WIDE_GAP
from policies.placement.verdicts import explain_verdict
from tests.examples import examples
from tests.property.strategies import TWO, Case, bare_cases, cases
from tests.unit.policies.referee import after, best_wait, best_wait_either_way, carried_out, present, wait_of
from tests.unit.policies.situations import BARE, MIB, Site, Unit

TINY = 1e-3  # seconds per hour: waits are counted in whole microseconds per hour


def relocations(case: Case, plan: Plan) -> list[tuple[frozenset[str], str]]:
    """Keys of the units of each move, and where to."""
    return [(frozenset(case.units[row].key for row in move.rows), move.to_space) for move in plan.moves]


def moved(case: Case, plan: Plan) -> Case:
    """The case once the plan has been carried out."""
    home = after(case.situation(), plan)
    units = tuple(replace(unit, space=space) for unit, space in zip(case.units, home, strict=True))
    room = {
        name: None if free is None else free + _held(case.units, name) - _held(units, name)
        for name, free in case.site.room.items()
    }
    return replace(case, units=units, site=replace(case.site, room=room))


def _held(units: tuple[Unit, ...], space: str) -> int:
    return sum(unit.size for unit in units if unit.space == space)


@settings(deadline=None, max_examples=examples(150))
@given(cases())
def test_every_prefix_fits_and_helps(case: Case) -> None:
    """No move overfills its target with both copies there, and after each group sessions wait less than before it."""
    situation = case.situation()
    plan = make_plan(situation, case.settings)
    least = wait_of(situation, present(situation), case.settings)
    waiting_for_a_promotion = False
    for move, wait in carried_out(situation, plan, case.settings):
        if move.reason in (MoveReason.MAKE_ROOM, MoveReason.LEVEL):
            waiting_for_a_promotion = True
        elif move.reason is MoveReason.PIN or wait < least:
            least, waiting_for_a_promotion = wait, False
        else:
            assert waiting_for_a_promotion, f"{move.key} does not help"
    assert not waiting_for_a_promotion, "something gave way for nothing"
    assert len(plan.moves) <= case.settings.maximum_moves


@settings(deadline=None, max_examples=examples(150))
@given(cases())
def test_guards_hold(case: Case) -> None:
    """Nothing that cools down or has no route moves, pins hold, and what is hardly known moves only by its pin."""
    situation = case.situation()
    plan = make_plan(situation, case.settings)
    fastest = situation.tiers[0].name
    for move in plan.moves:
        members = [case.units[row] for row in move.rows]
        pins = {unit.pin for unit in members}
        assert all(unit.cooling == 0 for unit in members)
        assert move.wide or move.key not in case.site.no_route
        if move.to_tier == fastest != move.from_tier:
            assert Pin.NEVER not in pins
        if move.from_tier == fastest != move.to_tier:
            assert Pin.MUST not in pins or Pin.NEVER in pins
        if move.reason is not MoveReason.PIN:
            assert all(unit.observed >= case.settings.minimum_history_seconds for unit in members)
            assert all(unit.space != "unmanaged" for unit in members)


@settings(deadline=None, max_examples=examples(100))
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_units_changes_nothing(case: Case, random: Random) -> None:
    """The same units listed in another order get the same plan, move by move, and the same verdicts."""
    shuffled = list(case.units)
    random.shuffle(shuffled)
    other = replace(case, units=tuple(shuffled))
    plan, again = make_plan(case.situation(), case.settings), make_plan(other.situation(), case.settings)
    assert relocations(case, plan) == relocations(other, again)
    assert plan.bound_per_hour == again.bound_per_hour
    verdicts = {unit.key: int(code) for unit, code in zip(case.units, plan.verdict, strict=True)}
    assert verdicts == {unit.key: int(code) for unit, code in zip(other.units, again.verdict, strict=True)}


@settings(deadline=None, max_examples=examples(75))
@given(cases(), st.sampled_from([2, 64, 1024]))
def test_the_unit_of_size_changes_nothing(case: Case, factor: int) -> None:
    """All sizes, rooms and the copy rate times the same number give the same plan."""
    large = Case(
        replace(case.site, room={name: None if r is None else r * factor for name, r in case.site.room.items()}),
        tuple(replace(unit, size=unit.size * factor) for unit in case.units),
        replace(case.settings, copy_bytes_per_second=case.settings.copy_bytes_per_second * factor),
    )
    plan = make_plan(case.situation(), case.settings)
    assert relocations(case, plan) == relocations(large, make_plan(large.situation(), large.settings))


@settings(deadline=None, max_examples=examples(60))
@given(bare_cases(), st.lists(st.sampled_from(["", "w1", "w2"]), min_size=10, max_size=10))
def test_two_ways_are_never_worse_than_one(case: Case, ways: list[str]) -> None:
    """A unit moves once, and the plan saves as much as with single units only, or with whole groups only."""
    units = tuple(
        replace(unit, wide=f"{way} of {unit.space}" if way else "") for unit, way in zip(case.units, ways, strict=False)
    )
    names = sorted({unit.wide for unit in units})
    both = make_plan(replace(case, units=units).situation(), case.settings)
    rows = [row for move in both.moves for row in move.rows]
    assert len(rows) == len(set(rows))
    together = tuple(replace(unit, bundle=names.index(unit.wide) if unit.wide else None, wide="") for unit in units)
    for other in (case, replace(case, units=together)):
        one = make_plan(other.situation(), case.settings)
        assert both.wait_saved_per_hour >= one.wait_saved_per_hour - TINY
        assert both.bound_per_hour >= one.wait_saved_per_hour - TINY
    assert both.wait_saved_per_hour <= both.bound_per_hour + TINY
    assert both.gap_ratio <= WIDE_GAP or not both.moves, "few enough to be proven best"


@pytest.mark.parametrize("first", [0, 100])
def test_few_units_and_whole_groups_are_placed_best(first: int) -> None:
    """No combination of units that move alone and groups that move as a whole waits less; the bound is above all."""
    for seed in range(first, first + 100):
        situation = _either_way(np.random.default_rng(seed))
        plan, best = make_plan(situation, BARE), best_wait_either_way(situation, BARE)
        assert plan.wait_per_hour - plan.wait_saved_per_hour == pytest.approx(best, abs=TINY), f"seed {seed}"
        assert plan.wait_per_hour - best <= plan.bound_per_hour + TINY, f"seed {seed}"
        assert plan.gap_ratio <= WIDE_GAP or not plan.moves, f"seed {seed}"


def _either_way(random: np.random.Generator) -> Situation:
    """Half a dozen units, many in groups and many without a route of their own, so that some pairs need both ways."""
    units, blocked = [], []
    for at in range(6):
        space, group = ("fast", "slow")[random.integers(2)], ("", "w1", "w2")[random.integers(3)]
        rate = float(random.choice([0.0, 0.0, 0.1, 1.0, 10.0, 100.0]) * random.uniform(0.5, 1.5))
        size = int(random.integers(1, 60)) * MIB
        units.append(Unit(key=f"u{at}", size=size, space=space, sync=rate, wide=group and f"{group} of {space}"))
        if random.random() < 0.4:
            blocked.append(f"u{at}")
    room = {"fast": int(random.integers(0, 40)) * MIB, "slow": 10**15}
    return Site(room=room, tiers=TWO, no_route=dict.fromkeys(blocked, "it is locked")).situation(units)


@settings(deadline=None, max_examples=examples(100))
@given(cases())
def test_never_worse_than_staying_and_never_better_than_the_bound(case: Case) -> None:
    """Without pins the value is not negative, and the bound is never below the value."""
    plan = make_plan(case.situation(), case.settings)
    if not any(move.reason is MoveReason.PIN for move in plan.moves):
        assert plan.wait_saved_per_hour >= 0
    assert plan.wait_saved_per_hour <= plan.bound_per_hour + TINY
    assert 0 <= plan.gap_ratio <= 1


@settings(deadline=None, max_examples=examples(100))
@given(cases())
def test_every_unit_has_a_verdict_and_a_sentence(case: Case) -> None:
    """Verdicts agree with the moves, and each can be explained."""
    situation = case.situation()
    plan = make_plan(situation, case.settings)
    rows = {row for move in plan.moves for row in move.rows}
    for row in range(len(case.units)):
        verdict = Verdict(int(plan.verdict[row]))
        assert (verdict in (Verdict.PROMOTE, Verdict.DEMOTE, Verdict.LEVELLED)) == (row in rows)
        assert explain_verdict(situation, plan, row, case.settings).endswith(".")


@settings(deadline=None, max_examples=examples(60))
@given(cases(at_most=10))
def test_constant_load_comes_to_rest(case: Case) -> None:
    """Plans made and carried out again and again under the same load end, and waits never rise but by pins."""
    wait = float("inf")
    for _ in range(len(case.units) * 4 + 4):
        situation = case.situation()
        plan = make_plan(situation, case.settings)
        if not plan.moves:
            return
        now = wait_of(situation, present(situation), case.settings)
        assert now < wait
        pinned = any(move.reason is MoveReason.PIN for move in plan.moves)
        wait = float("inf") if pinned else now
        case = moved(case, plan)
    pytest.fail("the load is constant and units still move")


@settings(deadline=None, max_examples=examples(100))
@given(bare_cases())
def test_small_plans_are_optimal(case: Case) -> None:
    """With two tiers and nothing but capacity to respect, no placement of ten units waits less, and the gap says so."""
    situation = case.situation()
    plan = make_plan(situation, case.settings)
    best = best_wait(situation, case.settings)
    assert plan.wait_per_hour - plan.wait_saved_per_hour == pytest.approx(best, abs=TINY)
    assert plan.wait_per_hour - best <= plan.bound_per_hour + TINY
    assert plan.gap_ratio <= WIDE_GAP or not plan.moves


@settings(deadline=None, max_examples=examples(60))
@given(bare_cases(at_most=14), st.integers(0, 100))
def test_more_room_never_saves_less(case: Case, more: int) -> None:
    """Up to as many units as are decided exactly, a larger fast tier never lowers the value.

    The bound does not fall by more than the gap at which nobody looks at it closely.
    """
    free = case.site.room["fast"] or 0
    larger = replace(case, site=replace(case.site, room={**case.site.room, "fast": free + more * MIB}))
    plan, roomier = make_plan(case.situation(), case.settings), make_plan(larger.situation(), case.settings)
    assert roomier.wait_saved_per_hour >= plan.wait_saved_per_hour - TINY
    assert roomier.bound_per_hour >= plan.bound_per_hour * (1 - WIDE_GAP) - TINY


@settings(deadline=None, max_examples=examples(20))
@given(st.integers(0, 2**32 - 1), st.integers(20, 400), st.sampled_from([5, 50, 10**6]))
def test_many_units_keep_the_promises_too(seed: int, count: int, limit: int) -> None:
    """Beyond exact sizes plans still fit, help and stay below the bound, with and without a limit of moves."""
    random = np.random.default_rng(seed)
    case = _many(random, count)
    case = replace(case, settings=replace(case.settings, maximum_moves=limit))
    situation = case.situation()
    plan = make_plan(situation, case.settings)
    for move, wait in carried_out(situation, plan, case.settings):
        assert move.reason in (MoveReason.MAKE_ROOM, MoveReason.LEVEL) or wait < plan.wait_per_hour
    assert 0 <= plan.wait_saved_per_hour <= plan.bound_per_hour + TINY
    assert len(plan.moves) <= limit
    if limit > count:
        largest = max((unit.sync for unit in case.units), default=0.0) * 0.0053 * 3600
        assert plan.bound_per_hour - plan.wait_saved_per_hour <= largest + TINY


def _many(random: np.random.Generator, count: int) -> Case:
    units = tuple(
        Unit(
            key=f"u{at}",
            size=int(random.lognormal(2.0, 1.5) * MIB) + 1,
            sync=float(random.pareto(1.1)) + 0.01,
            space="fast" if random.random() < 0.1 else "slow",
        )
        for at in range(count)
    )
    fast = sum(unit.size for unit in units) // 20
    return Case(Site(room={"fast": fast, "slow": 10**15}, tiers=TWO), units, BARE)
