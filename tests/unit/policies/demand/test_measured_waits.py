"""Demand by measured wait: priced at the read time of its interval, each unit waits as long as it did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from connectors.kit.counters import build_demand
from connectors.model.observation import SIGNALS, Catalog, Demand, Signal, SpaceFigures
from policies.evidence.counter_deltas import in_measured_waits
from tests.sqlserver.made import catalog, interval

SYNC = Signal.SYNC_READ
TWO = catalog(100, 100, homes=(0, 1))


def demand(reads: tuple[float, ...], waited: tuple[float, ...] | None, spaces: SpaceFigures | None = None) -> Demand:
    """Of units 10, 11, ... in ten seconds."""
    counts = np.zeros((SIGNALS, len(reads)))
    counts[SYNC] = reads
    seconds = None if waited is None else np.array(waited)
    seen = np.ones(len(reads), dtype=np.bool_)
    return build_demand(
        interval({}, units=len(reads)), counts, seen, estimated=frozenset(), spaces=spaces, waited_seconds=seconds
    )


def figures(**read_time: float) -> SpaceFigures:
    """100 reads a second each, that take so long."""
    reads = np.full(len(read_time), 100.0)
    seconds = reads * np.array(list(read_time.values()))
    return SpaceFigures(name=tuple(read_time), reads=reads, read_seconds=seconds, writes=reads, write_seconds=seconds)


def test_a_unit_counts_by_its_wait_at_the_read_time_of_its_space() -> None:
    """300 reads each; 90 s at 10 ms are 9000 whole reads, 3 s at 1 ms are 3000: 900 and 300 a second."""
    seen = in_measured_waits(demand((300, 300), (90.0, 3.0), figures(HDD=0.010, SSD=0.001)), TWO)
    assert seen.rates[SYNC].tolist() == pytest.approx([900.0, 300.0])


def test_without_read_times_of_spaces_all_waits_together_give_one() -> None:
    """93 s for 600 reads are 155 ms each, at which 90 s and 3 s are what they are."""
    seen = in_measured_waits(demand((300, 300), (90.0, 3.0)), TWO)
    assert (seen.rates[SYNC] * 0.155).tolist() == pytest.approx([9.0, 0.3])


def test_what_is_not_measured_keeps_its_count() -> None:
    """NaN for one unit, and for an engine that measures no unit, are no wait of 0."""
    seen = in_measured_waits(demand((300, 300), (90.0, np.nan), figures(HDD=0.010, SSD=0.001)), TWO)
    assert seen.rates[SYNC].tolist() == pytest.approx([900.0, 30.0])
    plain = demand((300, 300), None)
    assert in_measured_waits(plain, TWO) is plain


def test_a_read_time_that_is_not_known_changes_nothing() -> None:
    """Nothing to price by: no read, or a space that the catalog does not have."""
    assert in_measured_waits(demand((0, 0), (0.0, 0.0)), TWO).rates[SYNC].tolist() == [0.0, 0.0]
    none: Catalog = catalog(homes=())
    assert in_measured_waits(demand((5, 5), (1.0, 1.0)), none).rates[SYNC].tolist() == [0.5, 0.5]


def test_a_space_without_a_timed_read_is_taken_as_believed() -> None:
    """Sessions waited there for scans or large objects alone: at the 20 ms of its tier, not at the 10 ms next to it."""
    believed = np.array([0.005, 0.020])
    seen = in_measured_waits(demand((300, 0), (90.0, 3.0), figures(HDD=0.010)), TWO, believed)
    assert seen.rates[SYNC].tolist() == pytest.approx([900.0, 15.0])
    only_scans = in_measured_waits(demand((0, 0), (90.0, 3.0)), TWO, believed)
    assert only_scans.rates[SYNC].tolist() == pytest.approx([1800.0, 15.0])


def test_direct_reads_of_a_measured_unit_are_in_its_wait() -> None:
    """They count no second time; those of a unit that is not measured stay."""
    given = demand((300, 300), (90.0, np.nan), figures(HDD=0.010, SSD=0.001))
    given.rates[Signal.DIRECT_READ] = 50.0
    assert in_measured_waits(given, TWO).rates[Signal.DIRECT_READ].tolist() == [0.0, 50.0]


def test_waits_have_the_shape_of_the_units() -> None:
    """A column of another length is refused where it is made."""
    given = demand((5, 5), (1.0, 1.0))
    with pytest.raises(ValueError, match="waits have shape"):
        replace(given, waited=np.zeros(3))
