"""Mechanisms that the bench leaves out are there to be left out, and are back afterwards."""

from __future__ import annotations

import pytest

from policies.placement.balancer import make_plan
from tests.bench.policy_mechanisms import MECHANISMS, Case, Mechanism, cases, plan_all
from tests.over import over


@pytest.fixture(scope="module")
def small() -> Case:
    """Ten units, two full fast spaces."""
    return next(case for case in cases(1, largest=40) if case.name == "2 fast spaces, 10 units, seed 4")


@over("mechanism", MECHANISMS)
def test_a_mechanism_can_be_left_out(mechanism: Mechanism, small: Case) -> None:
    """Plans without it are plans: they bring something and no more than is possible; then it is back."""
    whole, there = make_plan(small.situation, small.settings), getattr(mechanism.owner, mechanism.attribute)
    (value,), _, _ = plan_all([small], [mechanism])
    assert 0 < value <= whole.bound_per_hour * (1 + 1e-9)
    assert getattr(mechanism.owner, mechanism.attribute) is there
    assert mechanism.lines >= 0
