"""What a budget for wear leaves of a plan: still sound, and no less than a plan cut at the first refusal."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from operator import itemgetter
from random import Random
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.evidence.bundles import Bundles
from policies.evidence.capacity import WEEK, turned_over
from policies.model.moves import Group, MoveReason
from policies.model.plan import Plan, Situation
from policies.model.settings import PolicySettings
from policies.placement import balancer
from policies.placement.balancer import make_plan
from policies.placement.plan_draft import fastest_bytes, within_turnover
from tests.examples import examples
from tests.property.strategies import RATES, TWO, Case, cases, units_in
from tests.unit.policies.referee import carried_out, present, wait_of
from tests.unit.policies.situations import MIB, Site

USED = st.sampled_from([0.0, 0.5, 0.9, 1.0, 3.0])  # of the week's budget, already


def dearly(settings_: PolicySettings, turnover: float) -> PolicySettings:
    """The same where copying costs sessions much, and nothing else is in the way of a small gain."""
    return replace(
        settings_,
        copy_bytes_per_second=50_000.0,
        payback_limit_seconds=1e9,
        minimum_wait_saved_per_hour=0.0,
        turnover_per_week=turnover,
    )


@st.composite
def full(draw: st.DrawFn) -> Case:
    """A fast tier with little room, where whoever comes sends others away, at a cost that matters."""
    units = draw(units_in(["fast", "slow"], 14, guards=False))
    busy = tuple(replace(unit, sync=draw(RATES)) for unit in units)
    room = {"fast": draw(st.integers(0, 40)) * MIB, "slow": 10**15}
    return Case(Site(room=room, tiers=TWO), busy, PolicySettings())


@st.composite
def dear(draw: st.DrawFn) -> tuple[Case, float]:
    """A case with a budget for wear, and how much of the week's is used."""
    case = draw(full() | full() | cases())
    turnover = draw(st.sampled_from([0.1, 0.25, 1.0]))
    return replace(case, settings=dearly(case.settings, turnover)), draw(USED)


def planned(case: Case, used: float) -> tuple[Situation, Plan]:
    """The situation with that much used of the week's budget, and its plan."""
    situation = replace(case.situation(), turned_over_ratio=used * (case.settings.turnover_per_week or 0.0))
    return situation, make_plan(situation, case.settings)


@settings(deadline=None, max_examples=examples(150))
@given(dear())
def test_every_prefix_fits_and_helps(given_: tuple[Case, float]) -> None:
    """Whatever was passed over, no move overfills its target, and after each group sessions wait less."""
    case, used = given_
    situation, plan = planned(case, used)
    least = wait_of(situation, present(situation), case.settings)
    gave_way = False
    for move, wait in carried_out(situation, plan, case.settings):
        if move.reason in {MoveReason.MAKE_ROOM, MoveReason.LEVEL}:  # to another tier, or to another space of its own
            gave_way = True
        elif move.reason is MoveReason.PIN or wait < least:
            least, gave_way = wait, False
        else:
            assert gave_way, f"{move.key} does not help"
    assert not gave_way, "something gave way for nothing"


@settings(deadline=None, max_examples=examples(150))
@given(dear())
def test_never_less_than_up_to_the_first_that_does_not_pay(given_: tuple[Case, float]) -> None:
    """What a plan would be if it ended there is where this one begins, and what follows only adds to it."""
    seen: list[tuple[list[Group], list[Group]]] = []

    def noted(groups: list[Group], bundles: Bundles, situation: Situation, *rest: Any) -> list[Group]:
        seen.append((list(groups), within_turnover(groups, bundles, situation, *rest)))
        return seen[-1][1]

    with patch.object(balancer, "within_turnover", noted):
        planned(*given_)
    for groups, kept in seen:
        stays = [any(group is each for each in kept) for group in groups]
        cut = [group for group, _ in takewhile(itemgetter(1), zip(groups, stays, strict=True))]
        assert kept[: len(cut)] == cut
        assert sum(group.saved for group in kept) >= sum(group.saved for group in cut)
        pins = [any(hop.reason is MoveReason.PIN for hop in group.relocations) for group in groups]
        assert all(there for there, pin in zip(stays, pins, strict=True) if pin)


@settings(deadline=None, max_examples=examples(100))
@given(dear(), st.randoms(use_true_random=False))
def test_the_order_of_units_changes_nothing(given_: tuple[Case, float], random: Random) -> None:
    """The same units listed in another order are passed over or moved alike."""
    case, used = given_
    shuffled = list(case.units)
    random.shuffle(shuffled)
    plans = [planned(each, used)[1] for each in (case, replace(case, units=tuple(shuffled)))]
    one, other = ([(move.key, move.to_space) for move in plan.moves] for plan in plans)
    assert one == other


@settings(deadline=None, max_examples=examples(150))
@given(dear())
def test_what_gives_way_keeps_to_the_budget_but_for_one_group(given_: tuple[Case, float]) -> None:
    """Without the last group that makes room, less than what was left of the budget gives way."""
    case, used = given_
    situation, plan = planned(case, used)
    gone: dict[int, int] = {}
    pinned = {move.group for move in plan.moves if move.reason is MoveReason.PIN}
    for move in plan.moves:
        if move.reason is MoveReason.MAKE_ROOM and move.from_tier == situation.tiers[0].name:
            gone[move.group] = gone.get(move.group, 0) + move.size_bytes
    paid = [size for group, size in gone.items() if group not in pinned]
    left = (1.0 - used) * (case.settings.turnover_per_week or 0.0) * fastest_bytes(situation)
    assert not paid or sum(paid) - max(paid) < left


MOVES = st.lists(st.tuples(st.floats(0, 60 * WEEK), st.floats(0, 0.5)), max_size=12)


@settings(deadline=None, max_examples=examples(200))
@given(MOVES, st.floats(0.01, 2), st.randoms(use_true_random=False))
def test_a_bucket_drains(moves: list[tuple[float, float]], per_week: float, random: Random) -> None:
    """It holds no more than what went in, in whatever order that is listed, and a week drains a week's budget."""
    level = turned_over(moves, per_week)
    shuffled = list(moves)
    random.shuffle(shuffled)
    assert abs(turned_over(shuffled, per_week) - level) < 1e-12
    assert 0.0 <= level <= sum(share for _, share in moves) + 1e-9
    later = [(age + WEEK, share) for age, share in moves]
    assert abs(turned_over(later, per_week) - max(0.0, level - per_week)) < 1e-9
    assert abs(turned_over([*moves, (0.0, 0.25)], per_week) - level - 0.25) < 1e-9


@settings(deadline=None, max_examples=examples(200))
@given(MOVES, st.floats(0.01, 2), st.integers(1, 60))
def test_no_stretch_of_weeks_turns_over_more_than_it_drains(
    moves: list[tuple[float, float]], per_week: float, weeks: int
) -> None:
    """What gave way in the last weeks is at most what they drain and what is left to drain."""
    recently = sum(share for age, share in moves if age < weeks * WEEK)
    assert recently <= weeks * per_week + turned_over(moves, per_week) + 1e-9
