"""However many rows are worked on at a time, a plan is worth the same."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.model import columns
from policies.model.columns import CHUNK
from policies.placement.balancer import make_plan
from tests.bench.policy_instances import TAILS, instance
from tests.examples import examples
from tests.property.strategies import Case, cases


@given(st.integers(0, 3 * CHUNK))
def test_parts_cover_every_row_once(rows: int) -> None:
    """In order, none empty."""
    found = [row for part in columns.row_chunks(rows) for row in range(*part.indices(rows))]
    assert found == list(range(rows))
    assert all(part.indices(rows)[0] < rows for part in columns.row_chunks(rows))


@settings(deadline=None, max_examples=examples(100))
@given(cases(), st.integers(1, 5))
def test_few_rows_at_a_time_are_worth_the_same(case: Case, at_once: int) -> None:
    """Sums in another order differ in their last digits; verdicts that guards give do not differ at all."""
    situation = case.situation()
    whole = make_plan(situation, case.settings)
    with patch.object(columns, "CHUNK", at_once):
        torn = make_plan(situation, case.settings)
    assert torn.wait_saved_per_hour == pytest.approx(whole.wait_saved_per_hour, rel=1e-9, abs=1e-6)
    assert torn.bound_per_hour == pytest.approx(whole.bound_per_hour, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("tiers", [2, 3])
@pytest.mark.parametrize("tail", sorted(TAILS))
def test_many_units_a_few_at_a_time(tail: str, tiers: int) -> None:
    """3,000 units, 100 at a time: what the plan brings is within what a search may miss."""
    of = instance(3000, TAILS[tail], 3, tiers)
    whole = make_plan(of.situation, of.settings)
    with patch.object(columns, "CHUNK", 100):
        torn = make_plan(of.situation, of.settings)
    assert of.value(torn) == pytest.approx(of.value(whole), rel=1e-3)
    assert torn.bound_per_hour == pytest.approx(whole.bound_per_hour, rel=1e-6)
