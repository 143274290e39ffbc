"""A database whose units are split: its curve and its forecast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.model.observation import DatabaseDemand
from policies.evidence.borders import Split
from policies.evidence.splitting import Inside, splits_of
from policies.model.plan import HeatView
from policies.placement.balancer import make_plan
from policies.placement.forecast import forecast
from policies.placement.ranges import with_splits
from policies.placement.sizing import forecast_with_splits, size_with_splits, sizing
from tests.examples import examples
from tests.property.strategies import Case, bare_cases
from tests.unit.policies.benefit.test_splitting import INSIDE
from tests.unit.policies.situations import BARE, GIB, Site, Unit

UNITS = (Unit(key="orders", size=300 * GIB, sync=100.0), Unit(key="others", size=100 * GIB, sync=1.0))
SITE = Site(
    room={"fast": 40 * GIB, "slow": 10**15},
    database=DatabaseDemand(reads=101.0, read_wait=0.56, write_wait=0.0, transactions=50.0, active=0.7),
)


def splits(site: Site = SITE, units: tuple[Unit, ...] = UNITS, inside: Inside = INSIDE) -> tuple[Split, ...]:
    """Of the large unit."""
    situation = site.situation(units)
    return splits_of(situation, make_plan(situation, BARE), BARE, {"orders": inside}).splits


def test_a_small_tier_does_with_a_split_what_a_large_one_does_without() -> None:
    """40 GiB hold no whole table; its hot tenth saves seven tenths, for which all of it is needed without a split."""
    situation = SITE.situation(UNITS)
    curve = sizing(situation, BARE)
    found = size_with_splits(situation, BARE, splits(), curve)
    assert found is not None
    assert (found.units, found.size_bytes) == (1, 40 * GIB)
    assert found.saved_per_hour == 0.0
    assert found.split_saved_per_hour == pytest.approx(0.7 * curve.all_fast_per_hour, rel=0.05)
    assert found.alike_bytes == 300 * GIB
    assert size_with_splits(situation, BARE, (), curve) is None


def test_throughput_is_forecast_with_the_hot_part_on_the_fast_tier() -> None:
    """More than by the plan, which can move nothing, and less than with all of it there."""
    situation = SITE.situation(UNITS)
    plan = make_plan(situation, BARE)
    now = forecast(situation, BARE, np.array([1, 1]))
    split = forecast_with_splits(situation, BARE, plan, splits())
    whole = forecast(situation, BARE, np.array([0, 1]))
    assert now.transactions < split.transactions < whole.transactions
    assert split.gain > 1.5


@settings(deadline=None, max_examples=examples(60))
@given(bare_cases(), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_nothing_is_lost_or_made_by_splitting(case: Case, of_bytes: float, of_reads: float) -> None:
    """Bytes and demand add up to those before, each column has a row for each unit, and waits stay as they are."""
    situation = case.situation()
    if not len(situation.units):
        return
    plain = splits()[0]
    chosen = [
        replace(plain, key=key, hot_bytes=round(of_bytes * size), whole_bytes=size, of_reads=of_reads)
        for key, size in zip(situation.units.key, situation.units.size_bytes.tolist(), strict=True)
    ][::2]
    split = with_splits(situation, chosen)
    assert split.units.size_bytes.sum() == situation.units.size_bytes.sum()
    assert (split.units.size_bytes >= 0).all()
    assert split.heat.rates.sum(axis=1) == pytest.approx(situation.heat.rates.sum(axis=1))
    count = len(situation.units) + len(chosen)
    columns = (getattr(split.heat, name) for name in HeatView.__slots__)
    assert {column.shape[-1] for column in columns if column is not None} == {count}
    assert (len(split.units), len(split.pin), len(split.cooling_seconds)) == (count, count, count)
    before, after = sizing(situation, case.settings), sizing(split, case.settings)
    assert after.all_fast_per_hour == pytest.approx(before.all_fast_per_hour, rel=1e-6, abs=1e-3)
