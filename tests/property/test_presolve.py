"""A plan from the units that it can depend on is the plan from all of them."""

from __future__ import annotations

from dataclasses import fields, replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.model import Signal
from policies.benefit import guards
from policies.model.plan import Plan, PolicySettings, Situation, TierLimits
from policies.placement import presolve
from policies.placement.balancer import make_plan
from policies.placement.presolve import make_presolved_plan
from tests.bench.policy import situation as large_situation
from tests.examples import examples
from tests.property.strategies import Case, cases

INEXACT = {
    "wait_saved_low_per_hour", "wait_saved_high_per_hour", "saved_ratio_low", "saved_ratio_high", "relief_per_hour",
}  # fmt: skip


def assert_same(narrow: Plan, whole: Plan) -> None:
    """Field by field; only intervals and queues may differ, in the last digits: added up in another order."""
    for name in (field.name for field in fields(Plan)):
        ours, theirs = getattr(narrow, name), getattr(whole, name)
        if name in INEXACT:
            assert ours == pytest.approx(theirs, rel=1e-12, nan_ok=True), name
        else:
            np.testing.assert_equal(ours, theirs, err_msg=name)


def two_at_a_time(rows: int) -> list[slice]:
    """Parts so small that even few units are several."""
    return [slice(first, first + 2) for first in range(0, rows, 2)]


def both(situation: Situation, rules: PolicySettings, *, demote: bool = True) -> tuple[Plan, Plan]:
    """The narrow plan, however little is left out, judged a few at a time, and the whole one."""
    with (
        patch.object(presolve, "WORTH_NARROWING", 1.0),
        patch.object(presolve, "AT_ONCE", 3),
        patch.object(guards, "row_chunks", two_at_a_time),
    ):
        narrow = make_presolved_plan(situation, rules, demote=demote)
    return narrow, make_plan(situation, rules, demote=demote)


@settings(deadline=None, max_examples=examples(150))
@given(cases(), st.sets(st.integers(0, 13)), st.booleans())
def test_what_is_left_out_changes_nothing(case: Case, hits_only: set[int], demote: bool) -> None:
    """With pins, cool-downs, bundles, spaces without a tier, three tiers: moves, figures and verdicts are the same."""
    alone = replace(case, units=tuple(replace(unit, wide="") for unit in case.units))
    situation = alone.situation()
    rates = situation.heat.rates.copy()
    rows = [row for row in hits_only if row < rates.shape[1]]
    for signal in Signal:
        rates[signal, rows] *= signal == Signal.LOGICAL_READ
    situation = replace(situation, heat=replace(situation.heat, rates=rates))
    assert_same(*both(situation, case.settings, demote=demote))


@settings(deadline=None, max_examples=examples(60))
@given(cases(), st.booleans())
def test_what_stays_beside_still_strains_its_tier_and_is_spared_its_queue(case: Case, demote: bool) -> None:
    """Limits of the slowest tier, queues and doubts count what is not weighed: it is told to the plan in sums."""
    alone = replace(case, units=tuple(replace(unit, wide="") for unit in case.units))
    situation = alone.situation()
    heat = replace(situation.heat, error=np.linspace(0.0, 0.5, len(situation.units)))
    limits = TierLimits(io_per_second=400.0, written_bytes_per_day=1e12)
    tiers = tuple(
        replace(tier, limits=limits, speed=replace(tier.speed, idle_read_seconds=tier.speed.random_read_seconds / 2))
        for tier in situation.tiers
    )
    assert_same(*both(replace(situation, heat=heat, tiers=tiers), case.settings, demote=demote))


def test_what_nobody_would_move_is_not_weighed() -> None:
    """Of 3,000 busy units that were watched for too short a time only those on fast storage go into the plan."""
    situation = large_situation(3000)
    young = replace(situation, heat=replace(situation.heat, observed_seconds=np.full(3000, 60.0)))
    narrow, whole = both(young, PolicySettings())
    assert_same(narrow, whole)
    assert whole.wait_per_hour > 0
    with patch.object(presolve, "make_plan", wraps=make_plan) as made:
        make_presolved_plan(young, PolicySettings())
    assert len(made.call_args.args[0].units) == np.count_nonzero(situation.units.space == 0)


def test_a_database_of_which_little_is_busy_is_planned_alike() -> None:
    """3,000 units, an eighth of them with I/O, fast storage full: the same 50 moves, and far fewer units weighed."""
    full = large_situation(3000)
    busy = np.random.default_rng(5).random(3000) < 0.125
    rates = np.where(busy | (full.units.space == 0), full.heat.rates, 0.0)
    situation = replace(full, heat=replace(full.heat, rates=rates))
    narrow, whole = both(situation, PolicySettings())
    assert_same(narrow, whole)
    assert len(whole.moves) > 10
    with patch.object(presolve, "make_plan", wraps=make_plan) as made:
        make_presolved_plan(situation, PolicySettings())
    assert len(made.call_args.args[0].units) < 2000
