"""What the plans of every mode keep, whatever the situation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.model.plan import Plan
from policies.model.settings import Pin, TierSpeed
from policies.placement.dispatch import Capacity, Drain, Hsm, HsmSubtype, Mode, Preference, Usage, plan_mode
from policies.placement.modes import NONE, PinState, pin_view
from policies.placement.verdicts import explain_verdict
from tests.examples import examples
from tests.property.strategies import Case, cases
from tests.property.test_plans import moved, relocations
from tests.unit.policies.referee import carried_out, limits

NEW_MODES = [
    Hsm(subtype=HsmSubtype.SSD, free_ratio=0.3),
    Hsm(subtype=HsmSubtype.HDD),
    Usage(),
    Capacity(),
    Preference(),
    Drain(space="fast"),
    Drain(space="slow"),
    Drain(space="unmanaged"),
]
MODES = st.sampled_from([Hsm(), *NEW_MODES])
EVEN = pytest.mark.parametrize("mode", [Usage(), Capacity()], ids=["usage", "capacity"])


def plan_of(case: Case, mode: Mode, seconds: float = float("inf")) -> Plan:
    """The plan of a case."""
    return plan_mode(case.situation(), case.settings, mode, time_limit_seconds=seconds)


@settings(deadline=None, max_examples=examples(300))
@given(cases(), MODES)
def test_every_prefix_fits_and_guards_hold(case: Case, mode: Mode) -> None:
    """No move overfills its target with both copies; cool-downs, pins, single routes and the limit of moves hold."""
    situation = case.situation()
    plan = plan_of(case, mode)
    fastest = situation.tiers[0].name
    for move, _ in carried_out(situation, plan, case.settings):
        members = [case.units[row] for row in move.rows]
        pins = {unit.pin for unit in members}
        assert all(unit.cooling == 0 for unit in members)
        assert move.wide or move.key not in case.site.no_route
        if fastest == move.to_tier != move.from_tier:
            assert Pin.NEVER not in pins
        if fastest == move.from_tier != move.to_tier:
            assert Pin.MUST not in pins or Pin.NEVER in pins
    assert len(plan.moves) <= case.settings.maximum_moves
    assert all(explain_verdict(situation, plan, row, case.settings).endswith(".") for row in range(len(case.units)))


@settings(deadline=None, max_examples=examples(150))
@given(cases(), MODES, st.randoms(use_true_random=False))
def test_the_order_of_units_changes_nothing(case: Case, mode: Mode, random: Random) -> None:
    """The same units listed in another order get the same plan, move by move, and leave the same behind."""
    shuffled = list(case.units)
    random.shuffle(shuffled)
    other = replace(case, units=tuple(shuffled))
    plan, again = plan_of(case, mode), plan_of(other, mode)
    assert relocations(case, plan) == relocations(other, again)
    assert [(left.key, left.why) for left in plan.left_behind] == [(left.key, left.why) for left in again.left_behind]


@settings(deadline=None, max_examples=examples(100))
@given(cases(), MODES, st.floats(0.0, 5.0))
def test_a_time_limit_is_kept(case: Case, mode: Mode, seconds: float) -> None:
    """Copies take no longer than the limit. Mode hsm makes the best of it, other modes cut the same plan."""
    whole, cut = plan_of(case, mode), plan_of(case, mode, seconds)
    assert sum(move.copy_seconds for move in cut.moves) <= seconds * (1 + 1e-9)
    if not isinstance(mode, Hsm) or mode.subtype is HsmSubtype.SSD:
        assert relocations(case, cut) == relocations(case, whole)[: len(cut.moves)]


@settings(deadline=None, max_examples=examples(150))
@given(cases())
def test_one_way_only(case: Case) -> None:
    """Subtype hdd takes nothing down, subtype ssd brings nothing up."""
    situation = case.situation()
    rank = {tier.name: row for row, tier in enumerate(situation.tiers)}
    up, down = plan_of(case, Hsm(subtype=HsmSubtype.HDD)), plan_of(case, Hsm(subtype=HsmSubtype.SSD))
    assert all(rank[move.to_tier] < rank[move.from_tier] for move in up.moves)
    assert all(rank[move.from_tier] == 0 < rank[move.to_tier] for move in down.moves)


@settings(deadline=None, max_examples=examples(150))
@given(cases(), st.sampled_from(["fast", "slow", "fast2", "middle"]))
def test_drain_leaves_nothing_behind_that_could_go(case: Case, space: str) -> None:
    """Every bundle of the space moves or is named; none that is named still fits anywhere it may go."""
    if space not in case.site.room:
        return
    situation, plan = case.situation(), plan_of(case, Drain(space=space))
    in_space = {row for row, unit in enumerate(case.units) if unit.space == space}
    rows = [row for move in plan.moves for row in move.rows]
    named = [row for left in plan.left_behind for row in left.rows]
    assert sorted([*rows, *named]) == sorted(in_space)
    if len(plan.moves) >= case.settings.maximum_moves:
        return
    free = {name: bound for name, bound in limits(situation, case.settings).items() if name != space}
    for row, unit in enumerate(case.units):
        home = {r: move.to_space for move in plan.moves for r in move.rows}.get(row, unit.space)
        free[home] = free.get(home, 0) - unit.size
    for left in plan.left_behind:
        members = [case.units[row] for row in left.rows]
        fixed = left.key in case.site.no_route or any(unit.cooling or unit.pin != Pin.NONE for unit in members)
        targets = [name for tier in situation.tiers for name in tier.spaces if name != space]
        known = [name for name in targets if case.site.room[name] is not None]
        assert fixed or all(free[name] < left.size_bytes for name in known), left.why


def carried(case: Case, mode: Mode) -> dict[str, dict[str, float]]:
    """Per tier what each of its spaces of known room carries of what the mode evens out."""
    return {
        tier: {name: _weight(case, name, mode, speed) for name in spaces if case.site.room[name] is not None}
        for tier, speed, spaces in case.site.tiers
    }


def _weight(case: Case, name: str, mode: Mode, speed: TierSpeed) -> float:
    units = [unit for unit in case.units if unit.space == name]
    if isinstance(mode, Capacity):
        used = sum(unit.size for unit in units)
        return used / max(1, used + (case.site.room[name] or 0))
    random_read, sequential = speed.random_read_seconds, speed.sequential_read_seconds
    return sum(unit.sync * random_read + unit.prefetched * sequential for unit in units)


def prefixes(case: Case, plan: Plan) -> Iterator[Case]:
    """The case after each move of the plan."""
    for count in range(len(plan.moves) + 1):
        yield moved(case, replace(plan, moves=plan.moves[:count]))


@EVEN
@settings(deadline=None, max_examples=examples(150))
@given(case=cases())
def test_the_maximum_never_rises(case: Case, mode: Mode) -> None:
    """After no prefix is the fullest space of any tier fuller than before it, and nothing changes tier."""
    plan = plan_of(case, mode)
    assert all(move.from_tier == move.to_tier for move in plan.moves)
    highest = {tier: float("inf") for tier, _, _ in case.site.tiers}
    for state in prefixes(case, plan):
        for tier, by_space in carried(state, mode).items():
            now = max(by_space.values(), default=0.0)
            assert now <= highest[tier] * (1 + 1e-9) + 1e-9
            highest[tier] = now


@settings(deadline=None, max_examples=examples(100))
@given(cases(at_most=10), st.sampled_from(NEW_MODES))
def test_constant_load_comes_to_rest(case: Case, mode: Mode) -> None:
    """Plans of a mode made and carried out again and again under the same load end."""
    for _ in range(len(case.units) * 8 + 4):
        plan = plan_of(case, mode)
        if not plan.moves:
            return
        case = moved(case, plan)
    pytest.fail("the load is constant and units still move")


@settings(deadline=None, max_examples=examples(150))
@given(cases())
def test_every_pin_has_a_state_that_is_true(case: Case) -> None:
    """Satisfied and planned are what the catalog and the plan say; every other state has a sentence."""
    situation, plan = case.situation(), plan_of(case, Preference())
    view = pin_view(situation, plan, case.settings)
    rows = {row for move in plan.moves for row in move.rows}
    for row, unit in enumerate(case.units):
        if unit.pin is Pin.NONE:
            assert view.state[row] == NONE
            continue
        state, fast = PinState(int(view.state[row])), situation.tier_of_space[situation.units.space[row]] == 0
        assert (state is PinState.SATISFIED) == (fast == (unit.pin is not Pin.NEVER))
        assert state is not PinState.PLANNED or row in rows
        assert state is not PinState.PARTLY
        assert view.sentence(row).endswith(".")
