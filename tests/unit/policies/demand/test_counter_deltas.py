"""Counter differences: what is evidence and what is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from connectors.model.observation import SIGNALS, DatabaseDemand, Demand, Interval, Signal, SpaceFigures
from policies.evidence.counter_deltas import (
    CLOCK_STOOD_STILL,
    CLOCKS_DISAGREE,
    OTHER_EPOCH,
    TOO_LATE,
    Gap,
    contradiction,
    difference,
)
from tests.unit.policies.situations import sample


def between(
    before: dict[int, int], after: dict[int, int], *, known: list[int] | None = None
) -> dict[int, float | None]:
    """Delta of each unit in the interval, None where it restarted."""
    interval = difference(
        sample(0, before),
        sample(60, after),
        longest_seconds=300,
        known=None if known is None else np.array(known, dtype=np.int64),
    )
    assert isinstance(interval, Interval)
    rows = zip(interval.physical_id, interval.deltas["reads"], interval.restarted, strict=True)
    return {int(unit): None if restarted else float(delta) for unit, delta, restarted in rows}


def test_deltas_are_differences() -> None:
    """A counter that rose gives its rise; a unit that did not move is left out."""
    assert between({1: 5, 2: 7, 3: 9}, {1: 5, 2: 17, 3: 10}) == {2: 10.0, 3: 1.0}


def test_a_unit_absent_before_had_zero() -> None:
    """What first appears had no counts before."""
    assert between({1: 5}, {1: 5, 2: 4}) == {2: 4.0}


def test_a_fallen_counter_is_a_restart() -> None:
    """A counter that fell, to something or to absence, is no evidence: neither a negative nor a total."""
    assert between({1: 500, 2: 8}, {1: 20, 3: 1}) == {1: None, 2: None, 3: 1.0}


def test_an_inherited_counter_is_no_demand() -> None:
    """A physical unit that the catalog did not know yet may have inherited its counters from the one it replaces."""
    assert between({1: 500}, {1: 501, 9: 480, 5: 3}, known=[1, 5]) == {1: 1.0, 5: 3.0, 9: None}


def test_a_unit_that_was_not_settled_before_is_no_evidence_though_it_had_counters() -> None:
    """A rebuilt index reads while it is built and gets the counters of the old one in the end."""
    interval = difference(
        sample(0, {1: 500, 7: 20, 9: 3}), sample(60, {1: 501, 7: 900_000, 9: 5}), longest_seconds=300,
        known=np.array([1]), units=np.array([1, 7]),
    )  # fmt: skip
    assert isinstance(interval, Interval)
    assert interval.physical_id.tolist() == [1, 7, 9]
    assert interval.restarted.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("units", "whole", "refused"),
    [(5000.0, 100.0, True), (5000.0, 5000.0, False), (5000.0, 1700.0, False), (900.0, 1.0, False),
     (5000.0, float("nan"), False), (5000.0, 0.0, True)],
)  # fmt: skip
def test_units_that_read_far_more_than_their_database_contradict_it(units: float, whole: float, refused: bool) -> None:
    """Reads of an interval of ten seconds; a database that counts none says nothing."""
    rates = np.zeros((SIGNALS, 2))
    rates[[Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.DIRECT_READ], [0, 1, 1]] = units / 30
    demand = Demand(
        ended_at=datetime(2026, 1, 1, tzinfo=UTC), seconds=10.0, physical_id=np.array([1, 2]), rates=rates,
        observed=np.array([True, True]), estimated=frozenset(), database=DatabaseDemand(reads=whole / 10),
    )  # fmt: skip
    assert (contradiction(demand) is not None) == refused


def test_one_fallen_counter_restarts_the_whole_unit() -> None:
    """If any counter of a unit fell, its other counters cannot be trusted either."""
    before, after = sample(0, {1: 10, 2: 10}), sample(60, {1: 30, 2: 30})
    before.counters["writes"] = np.array([5, 5], dtype=np.int64)  # type: ignore[index]  # columns of the test's own sample
    after.counters["writes"] = np.array([4, 6], dtype=np.int64)  # type: ignore[index]  # columns of the test's own sample
    interval = difference(before, after, longest_seconds=300)
    assert isinstance(interval, Interval)
    assert interval.restarted.tolist() == [True, False]
    assert interval.deltas["reads"].tolist() == [0.0, 20.0]


def test_a_counter_that_only_one_sample_has_is_left_out() -> None:
    """A counter that appears with a new privilege has no earlier value to be compared with."""
    before, after = sample(0, {1: 10}), sample(60, {1: 30})
    after.counters["writes"] = np.array([1000], dtype=np.int64)  # type: ignore[index]  # columns of the test's own sample
    interval = difference(before, after, longest_seconds=300)
    assert isinstance(interval, Interval)
    assert set(interval.deltas) == {"reads"}


@pytest.mark.parametrize(
    ("later", "code"),
    [
        (sample(60, {1: 9}, epoch="e2"), OTHER_EPOCH),
        (sample(0, {1: 9}), CLOCK_STOOD_STILL),
        (sample(-5, {1: 9}), CLOCK_STOOD_STILL),
        (sample(301, {1: 9}), TOO_LATE),
        (sample(60, {1: 9}, wall=4000), TOO_LATE),
        (sample(60, {1: 9}, wall=180), CLOCKS_DISAGREE),  # the machine slept for two minutes, the database did not
    ],
)
def test_what_is_no_interval(later: object, code: str) -> None:
    """Another epoch, a clock that stood still and missed samples say nothing."""
    gap = difference(sample(0, {1: 5}), later, longest_seconds=300)  # type: ignore[arg-type]  # as pytest gives it
    assert isinstance(gap, Gap)
    assert gap.code == code
    assert gap.sentence.endswith(".")


def test_a_wall_clock_set_back_does_no_harm() -> None:
    """The length of an interval comes from the monotonic clock."""
    interval = difference(sample(0, {1: 5}), sample(60, {1: 9}, wall=-3600), longest_seconds=300)
    assert isinstance(interval, Interval)
    assert interval.seconds == 60


def test_database_figures_that_fell_or_are_new_are_absent() -> None:
    """Only what rose or stayed between both samples is a difference."""
    before = sample(0, {}, database={"reads": 5, "wait": 9, "nan": float("nan")})
    after = sample(60, {}, database={"reads": 8, "wait": 2, "new": 4, "nan": 1})
    interval = difference(before, after, longest_seconds=300)
    assert isinstance(interval, Interval)
    assert interval.database == {"reads": 3}
    assert len(interval.physical_id) == 0


def test_space_figures_are_differences_too() -> None:
    """A figure that fell, and a space that is new, give NaN; the others their rise."""

    def figures(*names: str, reads: list[float]) -> SpaceFigures:
        column = np.array(reads)
        return SpaceFigures(name=names, reads=column, read_seconds=column / 10, writes=column, write_seconds=column)

    before = replace(sample(0, {1: 1}), spaces=figures("a", "b", reads=[10.0, 10.0]))
    after = replace(sample(60, {1: 2}), spaces=figures("b", "a", "c", reads=[4.0, 30.0, 7.0]))
    interval = difference(before, after, longest_seconds=300)
    assert isinstance(interval, Interval)
    assert interval.spaces is not None
    np.testing.assert_allclose(interval.spaces.reads, [np.nan, 20.0, np.nan])
    np.testing.assert_allclose(interval.spaces.read_seconds, [np.nan, 2.0, np.nan])
