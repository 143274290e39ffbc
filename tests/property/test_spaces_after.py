"""What spaces carry before and after plans of every mode."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from hypothesis import given, settings

from policies.placement.dispatch import Carried, Mode, Usage, spaces_after
from tests.examples import examples
from tests.property.strategies import Case, cases
from tests.property.test_modes import MODES, carried, plan_of
from tests.property.test_plans import moved


@settings(deadline=None, max_examples=examples(200))
@given(cases(), MODES)
def test_bytes_and_reads_only_change_their_place(case: Case, mode: Mode) -> None:
    """Their sums over all spaces are what they were, and nothing is ever less than nothing."""
    found = spaces_after(case.situation(), plan_of(case, mode))
    assert found.before.used_bytes.sum() == found.after.used_bytes.sum()
    assert np.isclose(found.before.reads_per_second.sum(), found.after.reads_per_second.sum(), rtol=1e-12)
    assert (found.after.used_bytes >= 0).all()
    assert not (found.after.fill_ratio > 1).any()


@settings(deadline=None, max_examples=examples(100))
@given(cases(), MODES)
def test_without_moves_nothing_changes(case: Case, mode: Mode) -> None:
    """Every figure of an empty plan is the same to the bit, unknown ones included."""
    found = spaces_after(case.situation(), replace(plan_of(case, mode), moves=()))
    assert all(np.array_equal(*pair, equal_nan=True) for pair in _columns(found.before, found.after))


@settings(deadline=None, max_examples=examples(200))
@given(cases(), MODES)
def test_after_is_what_will_be_before(case: Case, mode: Mode) -> None:
    """Carry the moves out, look again: what was foretold is what is there."""
    plan = plan_of(case, mode)
    foretold, there = spaces_after(case.situation(), plan).after, moved(case, plan).situation()
    found = spaces_after(there, replace(plan, moves=())).before
    assert all(np.allclose(*pair, rtol=1e-12, equal_nan=True) for pair in _columns(foretold, found))


@settings(deadline=None, max_examples=examples(100))
@given(cases(), MODES)
def test_read_time_is_what_usage_evens_out(case: Case, mode: Mode) -> None:
    """By tier and space it is the load that the referee of the mode adds up."""
    found = spaces_after(case.situation(), plan_of(case, mode))
    expected = {name: load for spaces in carried(case, Usage()).values() for name, load in spaces.items()}
    shown = dict(zip(found.space, found.before.read_seconds_per_second.tolist(), strict=True))
    assert expected.keys() <= shown.keys()
    assert np.allclose([shown[name] for name in expected], list(expected.values()), rtol=1e-12)


def _columns(one: Carried, other: Carried) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(getattr(one, column.name), getattr(other, column.name)) for column in fields(Carried)]
